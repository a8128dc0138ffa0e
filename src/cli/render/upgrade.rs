//! What `upgrade` says: a table of versions, as those who know `npm outdated` expect it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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
    /// The locked version, or the oldest and the newest of several; may be empty.
    pub(crate) locked: String,
    /// The version that is chosen; empty where that is the locked one.
    pub(crate) allowed: String,
    pub(crate) newest: String,
    /// The farthest way from a locked version to the chosen one, if there is one to go.
    pub(crate) change: Option<VersionChange>,
    /// How many root modules these are.
    pub(crate) roots: usize,
    /// The first of them.
    pub(crate) first_root: String,
    /// What holds the provider back; of a reason that is in several places the first one.
    pub(crate) reasons: Vec<String>,
}

/// What many root modules have in common, collected one by one.
#[derive(Default)]
pub(crate) struct Outlooks(BTreeMap<Outlook, Same>);

/// What tells one row from another, wherever the constraints are written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Outlook {
    name: String,
    allowed: String,
    newest: String,
    constraints: Vec<String>,
    otherwise: Option<&'static str>,
}

/// The root modules with the same outlook.
struct Same {
    chosen: Version,
    locked: BTreeSet<Version>,
    first: String,
    roots: usize,
    /// Of each constraint the place where the first root module has it, and all of its places.
    places: Vec<(String, BTreeSet<(PathBuf, usize)>)>,
}

/// Every provider with its versions. A cell that would repeat the locked version is empty.
pub(crate) fn table(root: &RootModule, plan: &UpgradePlan) -> String {
    let row = |planned| {
        let (outlook, same) = (Outlook::new(planned, root), Same::new(planned, root));
        Row::new(&outlook, &same)
    };
    let cells = |row: Row| (vec![row.name, row.locked, row.allowed, row.newest], row.reasons);
    aligned(&["provider", "locked", "allowed", "newest", "held back by"], plan.providers.iter().map(row).map(cells))
}

impl Outlooks {
    pub(crate) fn add(&mut self, root: &RootModule, plan: &UpgradePlan) {
        for planned in plan.providers.iter().filter(|planned| planned.moves() || planned.is_held_back()) {
            let outlook = Outlook::new(planned, root);
            match self.0.entry(outlook) {
                Entry::Occupied(mut same) => same.get_mut().add(planned),
                Entry::Vacant(entry) => _ = entry.insert(Same::new(planned, root)),
            }
        }
    }

    /// Each way that a provider can move, or is held back, with the root modules in which that is so.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.0.iter().map(|(outlook, same)| Row::new(outlook, same)).collect()
    }

    /// All rows as a table. Nothing where nothing moves and nothing is held back.
    pub(crate) fn table(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let cells = |row: Row| {
            let place = if row.roots == 1 { row.first_root } else { row.roots.to_string() };
            (vec![row.name, row.locked, row.allowed, row.newest, place], row.reasons)
        };
        let header = ["provider", "locked", "allowed", "newest", "root modules", "held back by"];
        aligned(&header, self.rows().into_iter().map(cells))
    }
}

impl Outlook {
    fn new(planned: &PlannedUpgrade, root: &RootModule) -> Self {
        Self {
            name: planned.address.short(root.dialect),
            allowed: allowed(planned),
            newest: planned.newest.to_string(),
            constraints: planned.held_back_by.iter().map(|held| held.constraints.to_string()).collect(),
            otherwise: otherwise(planned),
        }
    }
}

impl Same {
    fn new(planned: &PlannedUpgrade, root: &RootModule) -> Self {
        let first = root.path.display().to_string();
        let places = planned.held_back_by.iter().map(|held| (shown(held.version_place()), BTreeSet::new())).collect();
        let mut same = Self { chosen: planned.allowed.clone(), locked: BTreeSet::new(), first, roots: 0, places };
        same.add(planned);
        same
    }

    /// Adds another root module with the same outlook.
    fn add(&mut self, planned: &PlannedUpgrade) {
        self.roots += 1;
        self.locked.extend(planned.locked.clone());
        for ((_, places), held) in self.places.iter_mut().zip(&planned.held_back_by) {
            let place = held.version_place();
            places.insert((place.path().to_owned(), place.span.start));
        }
    }
}

impl Row {
    fn new(outlook: &Outlook, same: &Same) -> Self {
        let Outlook { name, allowed, newest, .. } = outlook;
        let changes = same.locked.iter().filter_map(|locked| VersionMove::between(locked, &same.chosen));
        Self {
            name: name.clone(),
            allowed: allowed.clone(),
            newest: newest.clone(),
            change: changes.min_by_key(|change| change.step).map(VersionChange::from),
            locked: match (same.locked.first(), same.locked.last()) {
                (Some(oldest), Some(newest)) if oldest != newest => format!("{oldest} … {newest}"),
                (oldest, _) => oldest.map(ToString::to_string).unwrap_or_default(),
            },
            roots: same.roots,
            first_root: same.first.clone(),
            reasons: reasons(outlook, same),
        }
    }
}

fn allowed(planned: &PlannedUpgrade) -> String {
    if planned.moves() { planned.allowed.to_string() } else { String::new() }
}

/// What holds a provider back: the constraints where the first root module has them, and how many other places have the same.
fn reasons(outlook: &Outlook, same: &Same) -> Vec<String> {
    let reason = |((first, places), constraints): (&(String, BTreeSet<_>), &String)| {
        let reason = format!("{first}  {constraints}");
        match places.len() {
            1 => reason,
            number => format!("{reason}, and in {}", count(number - 1, "other place")),
        }
    };
    let reasons: Vec<_> = same.places.iter().zip(&outlook.constraints).map(reason).collect();
    if reasons.is_empty() { outlook.otherwise.into_iter().map(str::to_owned).collect() } else { reasons }
}

/// What holds a provider back if it is no constraint.
fn otherwise(planned: &PlannedUpgrade) -> Option<&'static str> {
    if !planned.held_back_by.is_empty() || !planned.is_held_back() {
        return None;
    }
    match planned.skipped {
        Some(Reason::TooYoung) => Some("its age"),
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
