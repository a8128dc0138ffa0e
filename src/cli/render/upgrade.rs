//! What `upgrade` says: a table of versions, as those who know `npm outdated` expect it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use provlock::configuration::Declaration;
use provlock::diagnostic::Location;
use provlock::lockfile::VersionMove;
use provlock::project::RootModule;
use provlock::project::plan::{PlannedUpgrade, Reason, UpgradePlan};
use provlock::provider::{ProviderAddress, Version};

use super::foreign::{capped, printable};
use super::lock::root_modules;
use super::row::VersionChange;
use super::style::{columns, count};

/// Root modules in which a provider can move in the same way, or is held back in the same way.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The version that is chosen; empty where that is the locked one.
    pub(crate) allowed: String,
    pub(crate) newest: String,
    pub(crate) roots: usize,
    pub(crate) first_root: String,
    chosen: Version,
    locked: BTreeSet<Version>,
    /// The constraints that hold the provider back, each with its place in the first root module and all of its places.
    constraints: Vec<(String, String, Places)>,
    /// What holds the provider back other than a constraint.
    otherwise: Option<&'static str>,
}

/// What many root modules have in common, collected one by one: rows by what tells one from another, which is their
/// texts and constraints, wherever these are written.
#[derive(Default)]
pub(crate) struct Outlooks(BTreeMap<Outlook, Row>);

type Outlook = (String, String, String, Vec<String>, Option<&'static str>);
type Places = BTreeSet<(PathBuf, usize)>;

/// Every provider with its versions. A cell that would repeat the locked version is empty.
pub(crate) fn table(root: &RootModule, plan: &UpgradePlan) -> String {
    let cells =
        |row: Row| (vec![row.name.clone(), row.locked(), row.allowed.clone(), row.newest.clone()], row.reasons());
    aligned(
        &["provider", "locked", "allowed", "newest", "held back by"],
        plan.providers.iter().map(|planned| cells(Row::new(planned, root))),
    )
}

impl Outlooks {
    pub(crate) fn add(&mut self, root: &RootModule, plan: &UpgradePlan) {
        for planned in plan.providers.iter().filter(|planned| planned.moves() || planned.is_held_back()) {
            let row = Row::new(planned, root);
            let constraints = row.constraints.iter().map(|(text, ..)| text.clone()).collect();
            match self.0.entry((row.name.clone(), row.allowed.clone(), row.newest.clone(), constraints, row.otherwise))
            {
                Entry::Occupied(mut known) => known.get_mut().add(planned),
                Entry::Vacant(entry) => _ = entry.insert(row),
            }
        }
    }

    /// Each way that a provider can move, or is held back, with the root modules in which that is so.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.0.values()
    }

    /// All rows as a table. Nothing where nothing moves and nothing is held back.
    pub(crate) fn table(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let cells = |row: &Row| {
            let place = if row.roots == 1 { row.first_root.clone() } else { row.roots.to_string() };
            (vec![row.name.clone(), row.locked(), row.allowed.clone(), row.newest.clone(), place], row.reasons())
        };
        let header = ["provider", "locked", "allowed", "newest", "root modules", "held back by"];
        aligned(&header, self.rows().map(cells))
    }
}

impl Row {
    fn new(planned: &PlannedUpgrade, root: &RootModule) -> Self {
        let constraint =
            |held: &Declaration| (held.constraints.to_string(), shown(held.version_place()), BTreeSet::new());
        let mut row = Self {
            name: planned.address.short(root.dialect),
            allowed: if planned.moves() { planned.allowed.to_string() } else { String::new() },
            newest: planned.newest.to_string(),
            roots: 0,
            first_root: root.path.display().to_string(),
            chosen: planned.allowed.clone(),
            locked: BTreeSet::new(),
            constraints: planned.held_back_by.iter().map(constraint).collect(),
            otherwise: otherwise(planned),
        };
        row.add(planned);
        row
    }

    /// Adds another root module for which the row is the same.
    fn add(&mut self, planned: &PlannedUpgrade) {
        self.roots += 1;
        self.locked.extend(planned.locked.clone());
        for ((.., places), held) in self.constraints.iter_mut().zip(&planned.held_back_by) {
            let place = held.version_place();
            places.insert((place.path().to_owned(), place.span.start));
        }
    }

    /// The locked version, or the oldest and the newest of several; may be empty.
    pub(crate) fn locked(&self) -> String {
        match (self.locked.first(), self.locked.last()) {
            (Some(oldest), Some(newest)) if oldest != newest => format!("{oldest} … {newest}"),
            (oldest, _) => oldest.map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The farthest way from a locked version to the chosen one, if there is one to go.
    pub(crate) fn change(&self) -> Option<VersionChange> {
        let changes = self.locked.iter().filter_map(|locked| VersionMove::between(locked, &self.chosen));
        changes.min_by_key(|change| change.step).map(VersionChange::from)
    }

    /// What holds the provider back: the constraints where the first root module has them, and how many other places
    /// have the same.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let reason = |(text, first, places): &(String, String, Places)| match places.len() {
            1 => format!("{first}  {text}"),
            number => format!("{first}  {text}, and in {}", count(number - 1, "other place")),
        };
        let reasons = self.constraints.iter().map(reason);
        reasons.chain(self.otherwise.filter(|_| self.constraints.is_empty()).map(str::to_owned)).collect()
    }
}

/// What holds a provider back other than a constraint.
fn otherwise(planned: &PlannedUpgrade) -> Option<&'static str> {
    if !planned.held_back_by.is_empty() || !planned.is_held_back() {
        return None;
    }
    match planned.skipped {
        Some(Reason::TooYoung) => Some("its age"),
        Some(Reason::AgeNotKnown) => Some("an unknown publication date"),
        Some(Reason::Incomplete) => Some("packages that are not in the cache"),
        None => planned.newest.is_prerelease().then_some("a prerelease must be named exactly"),
    }
}

/// Rows in columns below a header. The last column holds the reasons, each in a row of its own.
fn aligned(header: &[&str], rows: impl Iterator<Item = (Vec<String>, Vec<String>)>) -> String {
    let mut lines = vec![header.iter().map(ToString::to_string).collect::<Vec<_>>()];
    for (mut cells, reasons) in rows {
        let blank = vec![String::new(); cells.len()];
        let mut reasons = reasons.into_iter();
        cells.push(reasons.next().unwrap_or_default());
        lines.push(cells);
        lines.extend(reasons.map(|reason| blank.iter().cloned().chain([reason]).collect()));
    }
    for cell in lines.iter_mut().flatten() {
        *cell = printable(&capped(cell));
    }
    columns(&lines).into_iter().map(|line| line + "\n").collect()
}

/// `versions.tf:6`
fn shown(place: &Location) -> String {
    format!("{}:{}", place.path().display(), place.line_column().0)
}

/// How many providers can move, and how many are held back; then what else would change.
pub(crate) fn summary(plan: &UpgradePlan) -> Vec<String> {
    let moving = plan.providers.iter().filter(|planned| planned.moves()).count();
    let held_back = plan.providers.iter().filter(|planned| planned.is_held_back()).count();
    let verb = match moving {
        _ if !plan.edits.is_empty() => "with new constraints",
        1 => "within its constraints",
        _ => "within their constraints",
    };
    let first = match (moving, held_back) {
        (0, 0) if plan.moves() => None,
        (0, 0) => Some(format!("Up to date: {}", count(plan.providers.len(), "provider"))),
        (moving, 0) => Some(format!("{} can move {verb}", count(moving, "provider"))),
        (moving, held_back) => Some(format!("{} can move {verb}; {held_back} held back", count(moving, "provider"))),
    };
    let rewritten = (moving == 0 && !plan.edits.is_empty())
        .then(|| format!("{} would be rewritten", count(plan.edits.len(), "version constraint")));
    let pruned = match plan.pruned.len() {
        0 => None,
        1 => Some("1 entry is not required and would be removed".to_owned()),
        number => Some(format!("{number} entries are not required and would be removed")),
    };
    first.into_iter().chain(rewritten).chain(pruned).collect()
}

/// How many root modules can move.
#[derive(Default)]
pub(crate) struct Moving {
    moving: usize,
    unmoved: usize,
}

impl Moving {
    pub(crate) fn add(&mut self, plan: &UpgradePlan) {
        *(if plan.moves() { &mut self.moving } else { &mut self.unmoved }) += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.moving + self.unmoved == 0
    }

    pub(crate) fn any(&self) -> bool {
        self.moving > 0
    }

    /// `3 root modules: 2 can move, 1 up to date`
    pub(crate) fn summary(&self, failed: usize) -> String {
        root_modules([(self.moving, "can move"), (self.unmoved, "up to date")], failed)
    }
}

/// A constraint that was rewritten: its place, the old and the new text.
pub(crate) fn edit([place, old, new]: &[String; 3]) -> String {
    printable(&capped(&format!("  ~ {place}   {old} → {new}")))
}

/// Of each constraint that is rewritten the place, the old and the new text.
pub(crate) fn edited(plan: &UpgradePlan) -> impl Iterator<Item = [String; 3]> {
    plan.edits.iter().map(|edit| {
        let old = edit.location.file.text.get(edit.location.span.clone()).unwrap_or_default();
        [shown(&edit.location), old.to_owned(), edit.new.clone()]
    })
}

/// The providers of which there is a newer version than the one that is chosen.
pub(crate) fn held_back(plan: &UpgradePlan) -> impl Iterator<Item = &ProviderAddress> {
    plan.providers.iter().filter(|planned| planned.is_held_back()).map(|planned| &planned.address)
}

/// That more would be possible, if it would.
pub(crate) fn more_is_possible(held_back: &BTreeSet<ProviderAddress>, recursive: bool) -> Option<String> {
    let flag = if recursive { " --recursive" } else { "" };
    let number = (!held_back.is_empty()).then(|| count(held_back.len(), "provider"))?;
    Some(format!("{number} held back from the newest version; see: provlock upgrade{flag} --dry-run"))
}
