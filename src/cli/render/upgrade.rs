//! Text of `upgrade`: a table of versions, as users of `npm outdated` know it, and summaries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use provlock::configuration::rewrite::ConstraintEdit;
use provlock::diagnostic::Location;
use provlock::lockfile::{EntryKind as _, LockedModule, VersionMove};
use provlock::project::plan::SkipReason;
use provlock::project::{HoldingConstraint, Move, RootModule, Subject, UpgradePlan};
use provlock::provider::{ProviderAddress, Version};
use serde::Serialize;

use super::foreign::safe_line;
use super::json::Place;
use super::style::{count, counted, enumerate};
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
    is_own: bool,
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
    /// Text about a root module; of one of many only about what can move or is held back, unless
    /// `all` is set.
    pub(crate) fn new(root: &RootModule, plan: &UpgradePlan, all: bool) -> Self {
        let moves = plan
            .moves
            .iter()
            .filter(|planned| all || planned.moves() || planned.is_held_back());
        Self {
            rows: moves.map(|planned| MoveText::new(planned, root)).collect(),
            edits: plan.edits.clone(),
            summary: summary(plan),
            has_changes: plan.has_changes(),
        }
    }

    pub(crate) fn moves(&self) -> bool {
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
        let mut tables = tables(&groups, false);
        if tables.is_empty() {
            tables.push(Table {
                header: header("provider", false),
                rows: Vec::new(),
            });
        }
        drawn(&tables, width)
    }
}

/// Groups the moves of root modules by their texts and constraints, wherever the constraints are
/// written.
pub(crate) fn groups<'a>(
    plans: impl Iterator<Item = (&'a Path, &'a PlanText)>,
) -> Vec<MoveGroup<'a>> {
    let mut groups: BTreeMap<_, MoveGroup<'a>> = BTreeMap::new();
    for (path, row) in plans.flat_map(|(path, plan)| plan.rows.iter().map(move |row| (path, row))) {
        if row.planned.moves() || row.planned.is_held_back() {
            let constraints: Vec<_> = row
                .constraints
                .iter()
                .map(|constraint| &constraint.text)
                .collect();
            let texts = [&row.name, row.allowed(), &row.planned.newest.text];
            let key = (
                row.planned.is_of_module(),
                texts,
                constraints,
                row.otherwise(),
            );
            groups
                .entry(key)
                .or_insert_with(|| MoveGroup {
                    first: row,
                    all: Vec::new(),
                })
                .all
                .push((path, row));
        }
    }
    groups.into_values().collect()
}

/// Returns the moves of several root modules as a table; empty if nothing moves and nothing is held
/// back.
pub(crate) fn table(groups: &[MoveGroup<'_>], width: usize) -> String {
    drawn(&tables(groups, true), width)
}

/// Returns the groups that can move as a table with a number for each.
pub(crate) fn choices(groups: &[&MoveGroup<'_>], width: usize) -> String {
    let modules = groups
        .iter()
        .filter(|group| group.first.planned.is_of_module())
        .count();
    let subject = if modules == 0 {
        "provider"
    } else if modules == groups.len() {
        "module"
    } else {
        "name"
    };
    let numbered = |(index, group): (usize, &&MoveGroup<'_>)| {
        let mut row = group.row(true);
        row.cells.insert(0, Cell::own((index + 1).to_string()));
        row
    };
    let header = ["#"].into_iter().chain(header(subject, true)).collect();
    Table {
        header,
        rows: groups.iter().enumerate().map(numbered).collect(),
    }
    .text(&BELOW, width)
}

/// Returns the tables of providers and of modules that have rows.
pub(crate) fn tables(groups: &[MoveGroup<'_>], with_roots: bool) -> Vec<Table> {
    let table = |(subject, of_modules): (&'static str, bool)| {
        let rows = groups
            .iter()
            .filter(|group| group.first.planned.is_of_module() == of_modules);
        Table {
            header: header(subject, with_roots),
            rows: rows.map(|group| group.row(with_roots)).collect(),
        }
    };
    [("provider", false), ("module", true)]
        .map(table)
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

fn header(subject: &'static str, with_roots: bool) -> Vec<&'static str> {
    let versions = [subject, "locked", "allowed", CHANGE, RELEASED, NEWEST];
    versions
        .into_iter()
        .chain(with_roots.then_some(ROOT_MODULES))
        .chain([HELD_BACK_BY])
        .collect()
}

fn drawn(tables: &[Table], width: usize) -> String {
    tables
        .iter()
        .map(|table| table.text(&BELOW, width))
        .collect::<Vec<_>>()
        .join("\n")
}

/// `acme/gamma is held back from 2.0.0 by main.tf:4  ~> 1.0`, for each provider whose reason is
/// known.
pub(crate) fn reasons(groups: &[MoveGroup<'_>]) -> Vec<String> {
    let groups = groups
        .iter()
        .filter(|group| !group.first.planned.is_of_module() && !group.reasons().is_empty());
    let text = |group: &MoveGroup<'_>| {
        let MoveText { name, planned, .. } = group.first;
        safe_line(&format!(
            "{name} is held back from {} by {}",
            planned.newest.text,
            enumerate(group.reasons())
        ))
    };
    groups.map(text).collect()
}

/// `2 providers and 1 module`: the number of held back ones; `None` if it is zero. If
/// `by_own_constraints`, counts only what is held back by constraints that can be rewritten. Also
/// returns whether modules are among them.
pub(crate) fn held_back(
    groups: &[MoveGroup<'_>],
    by_own_constraints: bool,
) -> Option<(String, bool)> {
    let rows = groups
        .iter()
        .flat_map(|group| &group.all)
        .map(|(_, row)| row);
    let is_meant = |row: &&&MoveText| {
        let is_constrained = !row.constraints.is_empty()
            && row.constraints.iter().all(|constraint| constraint.is_own);
        row.planned.is_held_back() && (is_constrained || !by_own_constraints)
    };
    let subjects = rows.filter(is_meant).map(|row| &row.planned.subject);
    let (modules, providers): (BTreeSet<_>, BTreeSet<_>) =
        subjects.partition(|subject| matches!(subject, Subject::Module { .. }));
    let what = counted([(providers.len(), "provider"), (modules.len(), "module")]);
    (!what.is_empty()).then_some((what, !modules.is_empty()))
}

impl MoveText {
    fn new(planned: &Move, root: &RootModule) -> Self {
        let name = match &planned.subject {
            Subject::Provider(address) => address.short(root.dialect),
            Subject::Module { key, .. } => LockedModule::label_name(key).into_owned(),
        };
        let text = |HoldingConstraint {
                        text,
                        location,
                        is_own,
                    }: &HoldingConstraint| HoldingText {
            text: text.clone(),
            position: format!("{}:{}", location.path().display(), location.line_column().0),
            offset: location.span.start,
            is_own: *is_own,
        };
        let constraints = planned.held_back_by.iter().map(text).collect();
        Self {
            name,
            planned: Move {
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

    /// Returns the reason other than a constraint that holds a provider or a module back.
    fn otherwise(&self) -> Option<&'static str> {
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
    /// Providers with the version that they move to.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (ProviderAddress, Version)> {
        let address = |row: &MoveText| match &row.planned.subject {
            Subject::Provider(address) => Some(address.clone()),
            Subject::Module { .. } => None,
        };
        let version = self.first.planned.selected.version.clone();
        self.all
            .iter()
            .filter_map(move |(_, row)| address(row))
            .zip(std::iter::repeat(version).flatten())
    }

    /// Name, versions, the change between them, and, if `with_roots`, the root modules.
    fn row(&self, with_roots: bool) -> TableRow {
        let Move {
            selected,
            newest,
            releases,
            ..
        } = &self.first.planned;
        let locked = || {
            self.all
                .iter()
                .filter_map(|(_, row)| row.planned.locked.as_ref())
        };
        let (oldest, latest) = (locked().min(), locked().max());
        let range = match (oldest, latest) {
            (Some(oldest), Some(latest)) if oldest != latest => {
                format!("{} … {}", oldest.text, latest.text)
            }
            (oldest, _) => oldest
                .map(|release| release.text.clone())
                .unwrap_or_default(),
        };
        let repository = releases.repository.as_ref().zip(selected.version.as_ref());
        let notes = repository.map(|(repository, selected)| repository.release_notes(selected));
        let comparison = repository.zip(oldest.and_then(|oldest| oldest.version.as_ref()));
        let comparison = comparison
            .map(|((repository, selected), oldest)| repository.comparison(oldest, selected));
        let released = releases
            .published
            .map(|time| time.strftime("%Y-%m-%d").to_string());
        let roots = match &self.all[..] {
            [(path, _)] => Cell::foreign(path.display().to_string()),
            all => Cell::own(all.len().to_string()),
        };
        let cells = [
            Cell::foreign(&self.first.name),
            Cell::foreign(range),
            Cell::foreign(self.first.allowed()).with_page(notes),
            Cell::own(
                self.change()
                    .map(|change| change.to_string())
                    .unwrap_or_default(),
            )
            .with_page(comparison),
            Cell::own(released.unwrap_or_default()),
            Cell::foreign(&newest.text),
        ];
        let reasons = Cell::new(self.reasons().into_iter().map(Piece::Foreign));
        let cells = cells
            .into_iter()
            .chain(with_roots.then_some(roots))
            .chain([reasons])
            .collect();
        TableRow {
            cells,
            ..TableRow::default()
        }
    }

    /// Greatest change from a locked version to the chosen one, if one changes.
    fn change(&self) -> Option<VersionMove> {
        let selected = self.first.planned.selected.version.as_ref()?;
        let locked = self
            .all
            .iter()
            .filter_map(|(_, row)| row.planned.locked.as_ref()?.version.as_ref());
        locked
            .filter_map(|locked| VersionMove::between(locked, selected))
            .min_by_key(|change| change.step)
    }

    /// Reasons that hold it back: constraints with their position in the first root module, and the
    /// number of other positions with the same constraint.
    fn reasons(&self) -> Vec<String> {
        let reason = |(index, HoldingText { text, position, .. }): (usize, &HoldingText)| {
            let positions = self
                .all
                .iter()
                .filter_map(|(_, row)| row.constraints.get(index));
            let positions: BTreeSet<_> = positions
                .map(|holding| (&holding.position, holding.offset))
                .collect();
            match positions.len() {
                1 => format!("{position}  {text}"),
                number => format!(
                    "{position}  {text}, and in {}",
                    count(number - 1, "other place")
                ),
            }
        };
        let reasons = self.first.constraints.iter().enumerate().map(reason);
        reasons
            .chain(self.first.otherwise().map(str::to_owned))
            .collect()
    }
}

/// Returns the numbers of providers and modules that can move and that are held back, and of other
/// changes.
fn summary(plan: &UpgradePlan) -> Vec<String> {
    let moving =
        |moves: &mut dyn Iterator<Item = &Move>| moves.filter(|planned| planned.moves()).count();
    let (all_providers, all_modules) = (plan.providers().count(), plan.modules().count());
    let (providers, modules) = (moving(&mut plan.providers()), moving(&mut plan.modules()));
    let held_back = plan
        .moves
        .iter()
        .filter(|planned| planned.is_held_back())
        .count();
    let number = |providers: usize, modules: usize| match (all_providers, all_modules) {
        (_, 0) => count(providers, "provider"),
        (0, _) => count(modules, "module"),
        _ => format!(
            "{} and {}",
            count(providers, "provider"),
            count(modules, "module")
        ),
    };
    let constraints = if plan.edits.is_empty() {
        "within the constraints"
    } else {
        "with new constraints"
    };
    let downgrades = match plan
        .providers()
        .filter(|planned| planned.is_downgrade())
        .count()
    {
        0 => String::new(),
        down => format!(" ({})", count(down, "downgrade")),
    };
    let held_back_text = if held_back == 0 {
        String::new()
    } else {
        format!("; {held_back} held back")
    };
    let first = match providers + modules + held_back {
        0 if plan.has_changes() => None,
        0 => Some(format!(
            "Up to date: {}",
            number(all_providers, all_modules)
        )),
        _ => {
            let what = number(providers, modules);
            Some(format!(
                "{what} can move {constraints}{downgrades}{held_back_text}"
            ))
        }
    };
    let edits = if providers + modules == 0 {
        plan.edits.len()
    } else {
        0
    };
    let others = [
        (edits, "version constraint", "rewrite"),
        (plan.pruned.len(), "entry", "remove, as it is not required"),
    ];
    let others = others.into_iter().filter(|(number, ..)| *number > 0);
    first
        .into_iter()
        .chain(others.map(|(number, noun, verb)| format!("{} to {verb}", count(number, noun))))
        .collect()
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

pub(crate) fn edited(edits: &[ConstraintEdit]) -> impl Iterator<Item = EditText> {
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
