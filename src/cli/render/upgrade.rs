//! Text of `upgrade`: a table of versions, as users of `npm outdated` know it, and summaries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use provlock::configuration::rewrite::ConstraintEdit;
use provlock::diagnostic::Location;
use provlock::lockfile::{EntryKind as _, LockedModule, VersionMove};
use provlock::project::plan::SkipReason;
use provlock::project::{Move, RootModule, Subject, UpgradePlan};
use provlock::provider::{ProviderAddress, Version};
use serde::Serialize;

use super::foreign::safe_line;
use super::json::Place;
use super::style::{count, joined_with_and, non_zero_counts};
use super::table::{Cell, Piece, Table, TableRow};

/// Text about the upgrade of a root module.
pub(crate) struct PlanText {
    rows: Vec<MoveText>,
    pub(crate) edits: Vec<ConstraintEdit>,
    /// Numbers of providers and modules that can move.
    pub(crate) summary: Vec<String>,
    pub(crate) has_changes: bool,
}

/// Versions of a provider or a module in one root module.
pub(crate) struct MoveText {
    pub(crate) name: String,
    /// The move without its constraints, whose locations would keep the texts of all files in
    /// memory.
    pub(crate) planned: Move,
    constraints: Vec<HoldingText>,
}

struct HoldingText {
    text: String,
    /// `versions.tf:6`
    position: String,
    offset: usize,
    is_rewritable: bool,
}

/// Root modules in which a provider or a module can move, or is held back, in the same way.
pub(crate) struct MoveGroup<'a> {
    pub(crate) first: &'a MoveText,
    all: Vec<(&'a Path, &'a MoveText)>,
}

const RELEASED: &str = "released";
const ROOT_MODULES: &str = "root modules";
const HELD_BACK_BY: &str = "held back by";
const NEWEST: &str = "newest";
const CHANGE: &str = "change";

/// Columns that are shown only if they have text, and that move below their rows, in this order,
/// where lines would be too long.
const BELOW: [&str; 5] = [HELD_BACK_BY, ROOT_MODULES, RELEASED, NEWEST, CHANGE];

impl PlanText {
    /// Text about a root module. Providers and modules that neither move nor are held back have
    /// rows only if `shows_unmoved` is set.
    pub(crate) fn new(root: &RootModule, plan: &UpgradePlan, shows_unmoved: bool) -> Self {
        let mut rows = Vec::new();
        for planned in &plan.moves {
            if shows_unmoved || planned.moves() || planned.is_held_back() {
                rows.push(MoveText::new(planned, root));
            }
        }
        Self {
            rows,
            edits: plan.edits.clone(),
            summary: summary_lines(plan),
            has_changes: plan.has_changes(),
        }
    }

    /// Whether a provider or a module of the root module moves.
    pub(crate) fn moves_any(&self) -> bool {
        self.rows.iter().any(|row| row.planned.moves())
    }

    pub(crate) fn is_held_back(&self) -> bool {
        self.rows.iter().any(|row| row.planned.is_held_back())
    }

    /// Returns a table of all providers and modules. A cell that would repeat the locked version is
    /// empty.
    pub(crate) fn table(&self, root: &Path, width: usize) -> String {
        let groups: Vec<_> = self
            .rows
            .iter()
            .map(|row| MoveGroup {
                first: row,
                all: vec![(root, row)],
            })
            .collect();
        let mut tables = make_tables(&groups, false);
        if tables.is_empty() {
            tables.push(Table {
                header: column_names("provider", false),
                rows: Vec::new(),
            });
        }
        draw(&tables, width)
    }
}

/// Groups the moves of root modules by their texts and constraints, wherever the constraints are
/// written. Providers and modules that neither move nor are held back are omitted.
pub(crate) fn group_moves<'a>(
    plans: impl Iterator<Item = (&'a Path, &'a PlanText)>,
) -> Vec<MoveGroup<'a>> {
    let mut groups: BTreeMap<_, MoveGroup<'a>> = BTreeMap::new();
    for (path, plan) in plans {
        for row in &plan.rows {
            if !row.planned.moves() && !row.planned.is_held_back() {
                continue;
            }
            let texts = [&row.name, row.allowed(), &row.planned.newest.text];
            let constraints: Vec<_> = row
                .constraints
                .iter()
                .map(|constraint| &constraint.text)
                .collect();
            let key = (
                row.planned.is_of_module(),
                texts,
                constraints,
                row.other_reason(),
            );
            let group = groups.entry(key).or_insert_with(|| MoveGroup {
                first: row,
                all: Vec::new(),
            });
            group.all.push((path, row));
        }
    }
    groups.into_values().collect()
}

/// Returns the moves of several root modules as a table; empty if nothing moves and nothing is held
/// back.
pub(crate) fn table(groups: &[MoveGroup<'_>], width: usize) -> String {
    draw(&make_tables(groups, true), width)
}

/// Returns the groups that can move as a table with a number for each.
pub(crate) fn numbered_table(groups: &[&MoveGroup<'_>], width: usize) -> String {
    let mut rows = Vec::new();
    let mut modules = 0;
    for (index, group) in groups.iter().enumerate() {
        let with_roots = true;
        let mut row = group.table_row(with_roots);
        row.cells.insert(0, Cell::own((index + 1).to_string()));
        rows.push(row);
        if group.first.planned.is_of_module() {
            modules += 1;
        }
    }
    let subject = if modules == 0 {
        "provider"
    } else if modules == groups.len() {
        "module"
    } else {
        "name"
    };
    let with_roots = true;
    let mut header = column_names(subject, with_roots);
    header.insert(0, "#");
    Table { header, rows }.text(&BELOW, width)
}

/// Returns the tables of providers and of modules that have rows.
pub(crate) fn make_tables(groups: &[MoveGroup<'_>], with_roots: bool) -> Vec<Table> {
    let mut tables = Vec::new();
    for (subject, is_of_modules) in [("provider", false), ("module", true)] {
        let mut rows = Vec::new();
        for group in groups {
            if group.first.planned.is_of_module() == is_of_modules {
                rows.push(group.table_row(with_roots));
            }
        }
        if !rows.is_empty() {
            tables.push(Table {
                header: column_names(subject, with_roots),
                rows,
            });
        }
    }
    tables
}

fn column_names(subject: &'static str, with_roots: bool) -> Vec<&'static str> {
    let mut names = vec![subject, "locked", "allowed", CHANGE, RELEASED, NEWEST];
    if with_roots {
        names.push(ROOT_MODULES);
    }
    names.push(HELD_BACK_BY);
    names
}

fn draw(tables: &[Table], width: usize) -> String {
    let texts: Vec<_> = tables
        .iter()
        .map(|table| table.text(&BELOW, width))
        .collect();
    texts.join("\n")
}

/// `acme/gamma is held back from 2.0.0 by main.tf:4  ~> 1.0`, for each provider whose reason is
/// known.
pub(crate) fn lines_about_held_back_providers(groups: &[MoveGroup<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in groups {
        let MoveText { name, planned, .. } = group.first;
        let reasons = group.reasons_in_words();
        if planned.is_of_module() || reasons.is_empty() {
            continue;
        }
        lines.push(safe_line(&format!(
            "{name} is held back from {} by {}",
            planned.newest.text,
            joined_with_and(reasons)
        )));
    }
    lines
}

/// Providers and modules that are held back.
pub(crate) struct HeldBack {
    /// `2 providers and 1 module`
    pub(crate) numbers: String,
    pub(crate) has_modules: bool,
}

/// Counts the providers and modules that are held back; `None` if there are none. With
/// `by_own_constraints`, counts only providers and modules held back by constraints that
/// can be rewritten.
pub(crate) fn count_held_back(
    groups: &[MoveGroup<'_>],
    by_own_constraints: bool,
) -> Option<HeldBack> {
    let mut providers = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for (_, row) in groups.iter().flat_map(|group| &group.all) {
        if !row.planned.is_held_back() || (by_own_constraints && !row.has_own_constraints()) {
            continue;
        }
        match &row.planned.subject {
            Subject::Provider(address) => _ = providers.insert(address),
            module @ Subject::Module { .. } => _ = modules.insert(module),
        }
    }
    let numbers = non_zero_counts([(providers.len(), "provider"), (modules.len(), "module")]);
    if numbers.is_empty() {
        return None;
    }
    Some(HeldBack {
        numbers,
        has_modules: !modules.is_empty(),
    })
}

impl MoveText {
    fn new(planned: &Move, root: &RootModule) -> Self {
        let name = match &planned.subject {
            Subject::Provider(address) => address.short(root.dialect),
            Subject::Module { key, .. } => LockedModule::label_name(key).into_owned(),
        };
        let mut constraints = Vec::new();
        for constraint in &planned.held_back_by {
            let location = &constraint.location;
            constraints.push(HoldingText {
                text: constraint.text.clone(),
                position: format!("{}:{}", location.path().display(), location.line_column().0),
                offset: location.span.start,
                is_rewritable: constraint.is_rewritable,
            });
        }
        Self {
            name,
            planned: Move {
                // Locations keep their files in memory, so only the texts above stay.
                held_back_by: Vec::new(),
                ..planned.clone()
            },
            constraints,
        }
    }

    /// Chosen version; empty if it is the locked one.
    pub(crate) fn allowed(&self) -> &str {
        if self.planned.moves() {
            &self.planned.selected.text
        } else {
            ""
        }
    }

    /// Returns the reason other than a constraint that holds a provider or a module back; `None` if
    /// a constraint does, or nothing.
    fn other_reason(&self) -> Option<&'static str> {
        if !self.constraints.is_empty() || !self.planned.is_held_back() {
            return None;
        }
        if self.planned.stays_for_state {
            return Some("the state, which alone needs it");
        }
        match self.planned.skipped {
            Some(SkipReason::TooYoung) => Some("its age"),
            Some(SkipReason::AgeNotKnown) => Some("an unknown publication date"),
            Some(SkipReason::NotAllowed) => Some("the policy"),
            Some(SkipReason::Incomplete) => Some("packages that are not in the cache"),
            None => {
                let is_prerelease = self
                    .planned
                    .newest
                    .version
                    .as_ref()
                    .is_some_and(Version::is_prerelease);
                is_prerelease.then_some("a prerelease must be named exactly")
            }
        }
    }
}

impl MoveGroup<'_> {
    /// Providers with the version that they move to; empty for a module.
    pub(crate) fn provider_moves(&self) -> Vec<(ProviderAddress, Version)> {
        let mut moves = Vec::new();
        let Some(version) = &self.first.planned.selected.version else {
            return moves;
        };
        for (_, row) in &self.all {
            if let Subject::Provider(address) = &row.planned.subject {
                moves.push((address.clone(), version.clone()));
            }
        }
        moves
    }

    /// Returns the row of a table: name, versions, the change between them, and, if `with_roots`,
    /// the root modules.
    fn table_row(&self, with_roots: bool) -> TableRow {
        let Move {
            selected,
            newest,
            releases,
            ..
        } = &self.first.planned;
        let mut locked: Vec<_> = self
            .all
            .iter()
            .filter_map(|(_, row)| row.planned.locked.as_ref())
            .collect();
        locked.sort();
        let range = match (locked.first(), locked.last()) {
            (Some(oldest), Some(latest)) if oldest != latest => {
                format!("{} … {}", oldest.text, latest.text)
            }
            (Some(oldest), _) => oldest.text.clone(),
            (None, _) => String::new(),
        };

        let mut notes = None;
        let mut comparison = None;
        if let Some(repository) = &releases.repository
            && let Some(version) = &selected.version
        {
            notes = Some(repository.release_notes(version));
            if let Some(oldest) = locked.first()
                && let Some(oldest) = &oldest.version
            {
                comparison = Some(repository.comparison(oldest, version));
            }
        }
        let mut change = String::new();
        if let Some(version_change) = self.greatest_change() {
            change = version_change.to_string();
        }
        let mut released = String::new();
        if let Some(time) = releases.published {
            released = time.strftime("%Y-%m-%d").to_string();
        }
        let mut cells = vec![
            Cell::foreign(&self.first.name),
            Cell::foreign(range),
            Cell::foreign(self.first.allowed()).with_page(notes),
            Cell::own(change).with_page(comparison),
            Cell::own(released),
            Cell::foreign(&newest.text),
        ];
        if with_roots {
            cells.push(match &self.all[..] {
                [(path, _)] => Cell::foreign(path.display().to_string()),
                all => Cell::own(all.len().to_string()),
            });
        }
        cells.push(Cell::new(
            self.reasons_in_words().into_iter().map(Piece::Foreign),
        ));
        TableRow {
            cells,
            ..TableRow::default()
        }
    }

    /// Greatest change from a locked version to the chosen one, if one changes.
    fn greatest_change(&self) -> Option<VersionMove> {
        let selected = self.first.planned.selected.version.as_ref()?;
        let mut changes = Vec::new();
        for (_, row) in &self.all {
            if let Some(locked) = &row.planned.locked
                && let Some(version) = &locked.version
            {
                changes.extend(VersionMove::between(version, selected));
            }
        }
        // A change of the major version is the first of the steps.
        changes.into_iter().min_by_key(|change| change.step)
    }

    /// Returns the reasons that hold it back: constraints with their position in the first root
    /// module, and the number of other positions with the same constraint.
    fn reasons_in_words(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (index, constraint) in self.first.constraints.iter().enumerate() {
            let HoldingText { text, position, .. } = constraint;
            let mut positions = BTreeSet::new();
            for (_, row) in &self.all {
                if let Some(other) = row.constraints.get(index) {
                    positions.insert((&other.position, other.offset));
                }
            }
            let mut reason = format!("{position}  {text}");
            if positions.len() > 1 {
                let others = count(positions.len() - 1, "other place");
                let _ = write!(reason, ", and in {others}");
            }
            reasons.push(reason);
        }
        reasons.extend(self.first.other_reason().map(str::to_owned));
        reasons
    }
}

/// Returns the numbers of providers and modules that can move and that are held back, and of other
/// changes.
fn summary_lines(plan: &UpgradePlan) -> Vec<String> {
    let mut providers = 0;
    let mut modules = 0;
    let mut held_back = 0;
    for planned in &plan.moves {
        if planned.moves() && planned.is_of_module() {
            modules += 1;
        } else if planned.moves() {
            providers += 1;
        }
        if planned.is_held_back() {
            held_back += 1;
        }
    }
    let downgrades = plan
        .providers()
        .filter(|planned| planned.is_downgrade())
        .count();

    let mut lines = Vec::new();
    if providers + modules + held_back > 0 {
        let mut line = providers_and_modules(plan, providers, modules) + " can move ";
        line += if plan.edits.is_empty() {
            "within the constraints"
        } else {
            "with new constraints"
        };
        if downgrades > 0 {
            let _ = write!(line, " ({})", count(downgrades, "downgrade"));
        }
        if held_back > 0 {
            let _ = write!(line, "; {held_back} held back");
        }
        lines.push(line);
    } else if !plan.has_changes() {
        let what = providers_and_modules(plan, plan.providers().count(), plan.modules().count());
        lines.push(format!("Up to date: {what}"));
    }
    // The constraints of what moves are part of the first line.
    if providers + modules == 0 && !plan.edits.is_empty() {
        let edits = count(plan.edits.len(), "version constraint");
        lines.push(format!("{edits} to rewrite"));
    }
    if !plan.pruned.is_empty() {
        let pruned = count(plan.pruned.len(), "entry");
        lines.push(format!("{pruned} to remove, as it is not required"));
    }
    lines
}

/// Numbers of providers and modules; of one kind alone if the plan has no others.
fn providers_and_modules(plan: &UpgradePlan, providers: usize, modules: usize) -> String {
    let providers = count(providers, "provider");
    let modules = count(modules, "module");
    if plan.modules().next().is_none() {
        providers
    } else if plan.providers().next().is_none() {
        modules
    } else {
        format!("{providers} and {modules}")
    }
}

impl MoveText {
    /// Whether it is held back only by constraints that can be rewritten.
    fn has_own_constraints(&self) -> bool {
        !self.constraints.is_empty()
            && self
                .constraints
                .iter()
                .all(|constraint| constraint.is_rewritable)
    }
}

/// A version constraint that was rewritten.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "constraint_edit", extend("additionalProperties" = false)))]
pub(crate) struct EditText {
    #[serde(flatten)]
    place: Place,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl EditText {
    /// `main.tf:3`
    pub(crate) fn position(&self) -> String {
        format!("{}:{}", self.place.file, self.place.line)
    }

    /// `  ~ main.tf:3   ~> 1.0 → ~> 2.0`, or `  + main.tf:3   ~> 2.0` if there was nothing before.
    pub(crate) fn text(&self) -> String {
        let Self { old, new, .. } = self;
        let position = self.position();
        safe_line(&if old.trim().is_empty() {
            format!("  + {position}   {}", new.trim())
        } else {
            format!("  ~ {position}   {old} → {new}")
        })
    }
}

pub(crate) fn texts_of_edits(edits: &[ConstraintEdit]) -> impl Iterator<Item = EditText> {
    edits.iter().map(|edit| {
        // The comment after a source is part of the edit, but not the closing quote before it.
        let Location { file, span } = &edit.location;
        let old = file.text.get(span.clone()).unwrap_or_default();
        let quotes = usize::from(old.contains('"'));
        let [old, new] = [old, edit.new.as_str()].map(|text| text.replacen('"', "", quotes));
        EditText {
            place: Place::from(&edit.location),
            old,
            new,
        }
    })
}
