//! What `upgrade` says: a table of versions, as those who know `npm outdated` expect it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use provlock::configuration::rewrite::ConstraintEdit;
use provlock::diagnostic::Location;
use provlock::lockfile::{Locked as _, LockedModule, VersionMove};
use provlock::packages::ReleaseInfo;
use provlock::project::plan::Reason;
use provlock::project::{HoldingConstraint, Move, RootModule, Subject, UpgradePlan, VersionLabel};
use provlock::provider::{ProviderAddress, Version};

use textwrap::{Options, WordSplitter};

use super::foreign::{capped, printable};
use super::held_back::held_back;
use super::lock::root_modules;
use super::style::{columns, count, enumerate};

/// Root modules in which a provider or a module can move in the same way, or is held back in the same way.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The provider, in each of the dialects that the root modules have.
    addresses: BTreeSet<ProviderAddress>,
    /// The path of the calls of a module.
    pub(crate) call: Option<String>,
    /// The version that is chosen; empty where that is the locked one.
    pub(crate) allowed: String,
    pub(crate) newest: String,
    pub(crate) roots: usize,
    pub(crate) first_root: String,
    chosen: VersionLabel,
    locked: BTreeSet<VersionLabel>,
    /// The constraints that hold it back, each with its place in the first root module and all of its places.
    constraints: Vec<(String, String, Places)>,
    /// What holds it back other than a constraint.
    otherwise: Option<&'static str>,
    releases: ReleaseInfo,
}

/// What many root modules have in common, collected one by one: rows by what tells one from another, which is their
/// texts and constraints, wherever these are written.
#[derive(Default)]
pub(crate) struct Outlooks(BTreeMap<Outlook, Row>);

type Outlook = (bool, [String; 3], Vec<String>, Option<&'static str>);
type Places = BTreeSet<(PathBuf, usize)>;

/// What a row of a table shows.
struct Cells {
    /// The lines of each cell.
    cells: Vec<Vec<String>>,
    /// Where to read more.
    pages: Vec<String>,
}

const RELEASED: &str = "released";
const ROOT_MODULES: &str = "root modules";
const HELD_BACK_BY: &str = "held back by";
const NEWEST: &str = "newest";
const CHANGE: &str = "change";

/// The columns that are there only if they have any text, and that go below their rows where lines would be too long,
/// the first of them first.
const BELOW: [&str; 5] = [HELD_BACK_BY, ROOT_MODULES, RELEASED, NEWEST, CHANGE];

/// Every provider and every module with its versions. A cell that would repeat the locked version is empty.
pub(crate) fn table(root: &RootModule, plan: &UpgradePlan, width: usize) -> String {
    let cells = |planned: &Move| Row::new(planned, root).shown(None);
    let providers: Vec<_> = plan.providers().map(cells).collect();
    let modules: Vec<_> = plan.modules().map(cells).collect();
    let shows_empty = modules.is_empty();
    let header = |subject| vec![subject, "locked", "allowed", CHANGE, RELEASED, NEWEST, HELD_BACK_BY];
    tables([(header("provider"), providers), (header("module"), modules)], shows_empty, width)
}

/// The tables of providers and modules, one below the other. A table without rows is left out, unless it is all there
/// is.
fn tables(tables: [(Vec<&str>, Vec<Cells>); 2], shows_empty: bool, width: usize) -> String {
    let tables = tables.into_iter().enumerate();
    let tables = tables.filter(|(index, (_, rows))| !rows.is_empty() || (shows_empty && *index == 0));
    tables.map(|(_, (header, rows))| aligned(&header, &rows, width)).collect::<Vec<_>>().join("\n")
}

impl Outlooks {
    pub(crate) fn add(&mut self, root: &RootModule, plan: &UpgradePlan) {
        for planned in plan.moves.iter().filter(|planned| planned.moves() || planned.is_held_back()) {
            let row = Row::new(planned, root);
            let constraints = row.constraints.iter().map(|(text, ..)| text.clone()).collect();
            let texts = [&row.name, &row.allowed, &row.newest].map(Clone::clone);
            let outlook = (row.call.is_some(), texts, constraints, row.otherwise);
            match self.0.entry(outlook) {
                Entry::Occupied(mut known) => known.get_mut().add(row),
                Entry::Vacant(entry) => _ = entry.insert(row),
            }
        }
    }

    /// Each way that a provider can move, or is held back, with the root modules in which that is so.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.0.values()
    }

    /// Those of providers, or of modules.
    pub(crate) fn rows_of(&self, modules: bool) -> impl Iterator<Item = &Row> {
        self.rows().filter(move |row| row.call.is_some() == modules)
    }

    /// `acme/gamma is held back from 2.0.0 by main.tf:4  ~> 1.0`, for each row of a provider whose reason is known.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let rows = self.rows_of(false).filter(|row| !row.reasons().is_empty());
        let text = |row: &Row| format!("{} is held back from {} by {}", row.name, row.newest, enumerate(row.reasons()));
        rows.map(|row| clean(&text(row))).collect()
    }

    /// Those that can move.
    pub(crate) fn moving(&self) -> impl Iterator<Item = &Row> {
        self.rows().filter(|row| !row.allowed.is_empty())
    }

    /// What can move as a table with a number for each row.
    pub(crate) fn choices(&self, width: usize) -> String {
        let numbered = |(index, row): (usize, &Row)| {
            let Cells { mut cells, pages } = row.shown(Some(row.place()));
            cells.insert(0, vec![(index + 1).to_string()]);
            Cells { cells, pages }
        };
        let rows: Vec<_> = self.moving().enumerate().map(numbered).collect();
        let header = ["", "", "locked", "allowed", CHANGE, RELEASED, NEWEST, ROOT_MODULES, HELD_BACK_BY];
        aligned(&header, &rows, width)
    }

    fn cells(&self, of_modules: bool) -> Vec<Cells> {
        self.rows_of(of_modules).map(|row| row.shown(Some(row.place()))).collect()
    }

    /// All rows as a table. Nothing where nothing moves and nothing is held back.
    pub(crate) fn table(&self, width: usize) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let header = |subject| vec![subject, "locked", "allowed", CHANGE, RELEASED, NEWEST, ROOT_MODULES, HELD_BACK_BY];
        tables([(header("provider"), self.cells(false)), (header("module"), self.cells(true))], false, width)
    }
}

impl Row {
    fn new(planned: &Move, root: &RootModule) -> Self {
        let (name, addresses, call) = match &planned.subject {
            Subject::Provider(address) => (address.short(root.dialect), BTreeSet::from([address.clone()]), None),
            Subject::Module { key, .. } => {
                (LockedModule::label_name(key).into_owned(), BTreeSet::new(), Some(key.clone()))
            }
        };
        let constraints = planned.held_back_by.iter().map(|HoldingConstraint { text, location, .. }| {
            let places = BTreeSet::from([(location.path().to_owned(), location.span.start)]);
            (text.clone(), shown(location), places)
        });
        Self {
            name,
            addresses,
            call,
            allowed: if planned.moves() { planned.selected.text.clone() } else { String::new() },
            newest: planned.newest.text.clone(),
            roots: 1,
            first_root: root.path().display().to_string(),
            chosen: planned.selected.clone(),
            locked: planned.locked.iter().cloned().collect(),
            constraints: constraints.collect(),
            otherwise: otherwise(planned),
            releases: planned.releases.clone(),
        }
    }

    /// Adds another root module for which the row is the same.
    fn add(&mut self, other: Self) {
        self.roots += 1;
        self.locked.extend(other.locked);
        self.addresses.extend(other.addresses);
        for ((.., places), (.., more)) in self.constraints.iter_mut().zip(other.constraints) {
            places.extend(more);
        }
    }

    /// The providers with the version that they move to.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (ProviderAddress, Version)> {
        self.addresses.iter().cloned().zip(std::iter::repeat(self.chosen.version.clone()).flatten())
    }

    /// The locked version, or the oldest and the newest of several; may be empty.
    pub(crate) fn locked(&self) -> String {
        match (self.locked.first(), self.locked.last()) {
            (Some(oldest), Some(newest)) if oldest != newest => format!("{} … {}", oldest.text, newest.text),
            (oldest, _) => oldest.map(|release| release.text.clone()).unwrap_or_default(),
        }
    }

    /// Its name, its versions with the way between them, and the root modules if there may be several.
    fn shown(&self, place: Option<String>) -> Cells {
        let change = self.change().map(|change| change.to_string()).unwrap_or_default();
        let cells = [self.name.clone(), self.locked(), self.allowed.clone(), change, self.released()];
        let cells = cells.into_iter().chain([self.newest.clone()]).chain(place);
        let cells = cells.map(|text| Some(text).filter(|text| !text.is_empty()).into_iter().collect());
        let pages = self.release_notes().into_iter().chain(self.comparison()).collect();
        Cells { cells: cells.chain([self.reasons()]).collect(), pages }
    }

    /// The only root module, or how many there are.
    fn place(&self) -> String {
        if self.roots == 1 { self.first_root.clone() } else { self.roots.to_string() }
    }

    /// The day on which the chosen version was published, if that is known.
    pub(crate) fn released(&self) -> String {
        self.releases.published.map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
    }

    /// The page of the chosen version.
    pub(crate) fn release_notes(&self) -> Option<String> {
        Some(self.releases.repository.as_ref()?.release_notes(self.chosen.version.as_ref()?))
    }

    /// The page with what has changed since the oldest version that is locked.
    pub(crate) fn comparison(&self) -> Option<String> {
        let locked = self.locked.first()?.version.as_ref()?;
        Some(self.releases.repository.as_ref()?.comparison(locked, self.chosen.version.as_ref()?))
    }

    /// The farthest way from a locked version to the chosen one, if there is one to go.
    pub(crate) fn change(&self) -> Option<VersionMove> {
        let chosen = self.chosen.version.as_ref()?;
        let changes = self.locked.iter().filter_map(|locked| VersionMove::between(locked.version.as_ref()?, chosen));
        changes.min_by_key(|change| change.step)
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
fn otherwise(planned: &Move) -> Option<&'static str> {
    if !planned.held_back_by.is_empty() || !planned.is_held_back() {
        return None;
    }
    match planned.skipped {
        Some(Reason::TooYoung) => Some("its age"),
        Some(Reason::AgeNotKnown) => Some("an unknown publication date"),
        Some(Reason::NotAllowed) => Some("the policy"),
        Some(Reason::Incomplete) => Some("packages that are not in the cache"),
        None => planned
            .newest
            .version
            .as_ref()
            .is_some_and(Version::is_prerelease)
            .then_some("a prerelease must be named exactly"),
    }
}

/// Rows in columns below a header. As many columns as need be go below their rows, so that the lines are as long as
/// `width` at most.
fn aligned(header: &[&str], rows: &[Cells], width: usize) -> String {
    let layout = |below| layout(header, rows, &BELOW[..below], width);
    let fits = |(_, longest): &(String, usize)| *longest <= width;
    (0..BELOW.len()).map(layout).find(fits).unwrap_or_else(|| layout(BELOW.len())).0
}

/// Rows in columns without those that go below them, and how long the longest of their lines is.
fn layout(header: &[&str], rows: &[Cells], below: &[&str], width: usize) -> (String, usize) {
    let wrap = Options::new(width).initial_indent("  ").subsequent_indent("    ");
    let wrap = wrap.word_splitter(WordSplitter::NoHyphenation).break_words(false);
    let has_text = |column: usize| rows.iter().any(|row| row.cells[column].iter().any(|text| !text.is_empty()));
    let is_beside = |column: &usize| match header[*column] {
        name if below.contains(&name) => false,
        name => !BELOW.contains(&name) || has_text(*column),
    };
    let beside: Vec<_> = (0..header.len()).filter(is_beside).collect();
    let mut lines = vec![beside.iter().map(|column| header[*column].to_owned()).collect::<Vec<_>>()];
    // What goes below each of the lines.
    let mut after = vec![Vec::new()];
    for Cells { cells, pages } in rows {
        let height = beside.iter().map(|column| cells[*column].len()).max().unwrap_or_default().max(1);
        let text = |column: &usize, line: usize| cells[*column].get(line).map(|text| clean(text)).unwrap_or_default();
        lines.extend((0..height).map(|line| beside.iter().map(|column| text(column, line)).collect()));
        let named = header.iter().zip(cells).filter(|(name, _)| below.contains(name));
        let named = named.flat_map(|(name, texts)| {
            let texts = texts.iter().filter(|text| !text.is_empty());
            texts.map(move |text| format!("{name} {text}"))
        });
        after.resize(lines.len() - 1, Vec::new());
        let named = named.chain(pages.iter().cloned()).map(|text| textwrap::fill(&clean(&text), &wrap));
        after.push(named.collect());
    }
    let lines = columns(&lines);
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let lines = lines.into_iter().zip(after).flat_map(|(line, after)| [line].into_iter().chain(after));
    (lines.map(|line| line + "\n").collect(), longest)
}

fn clean(text: &str) -> String {
    printable(&capped(text))
}

/// `versions.tf:6`
fn shown(place: &Location) -> String {
    format!("{}:{}", place.path().display(), place.line_column().0)
}

/// How many providers and modules can move, and how many are held back; then what else would change.
pub(crate) fn summary(plan: &UpgradePlan) -> Vec<String> {
    let (all_providers, all_modules) = (plan.providers().count(), plan.modules().count());
    let providers = plan.providers().filter(|planned| planned.moves()).count();
    let modules = plan.modules().filter(|planned| planned.moves()).count();
    let held_back = held_back(plan).count();
    let moving = providers + modules;
    let verb = match moving {
        _ if !plan.edits.is_empty() => "with new constraints",
        1 => "within its constraints",
        _ => "within their constraints",
    };
    let number = |providers: usize, modules: usize| match (all_providers, all_modules) {
        (_, 0) => count(providers, "provider"),
        (0, _) => count(modules, "module"),
        _ => format!("{} and {}", count(providers, "provider"), count(modules, "module")),
    };
    let verb = match plan.providers().filter(|planned| planned.is_downgrade()).count() {
        0 => verb.to_owned(),
        down => format!("{verb} ({})", count(down, "downgrade")),
    };
    let what = number(providers, modules);
    let first = match (moving, held_back) {
        (0, 0) if plan.has_changes() => None,
        (0, 0) => Some(format!("Up to date: {}", number(all_providers, all_modules))),
        (_, 0) => Some(format!("{what} can move {verb}")),
        (_, held_back) => Some(format!("{what} can move {verb}; {held_back} held back")),
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
    can_move: usize,
    up_to_date: usize,
    held_back: usize,
}

impl Moving {
    pub(crate) fn add(&mut self, plan: &UpgradePlan) {
        *match held_back(plan).next() {
            _ if plan.has_changes() => &mut self.can_move,
            Some(_) => &mut self.held_back,
            None => &mut self.up_to_date,
        } += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.can_move + self.up_to_date + self.held_back == 0
    }

    pub(crate) fn any(&self) -> bool {
        self.can_move > 0
    }

    /// `3 root modules: 2 can move, 1 up to date`
    pub(crate) fn summary(&self, failed: usize, noun: &str) -> String {
        root_modules([(self.can_move, "can move"), (self.up_to_date, "up to date")], self.held_back, failed, noun)
    }
}

/// A constraint or source that was rewritten. In order: as in the files.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edited {
    path: String,
    line: usize,
    start: usize,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Edited {
    /// `main.tf:3`
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }

    /// `  ~ main.tf:3   ~> 1.0 → ~> 2.0`
    pub(crate) fn text(&self) -> String {
        printable(&capped(&format!("  ~ {}   {} → {}", self.place(), self.old, self.new)))
    }
}

pub(crate) fn edited(edits: &[ConstraintEdit]) -> impl Iterator<Item = Edited> {
    edits.iter().map(|edit| {
        let [old, new] = old_and_new(edit);
        let (path, line) = (edit.location.path().display().to_string(), edit.location.line_column().0);
        Edited { path, line, start: edit.location.span.start, old, new }
    })
}

/// The text that is edited and the one in its place. The comment after a source is part of the edit, but not the
/// closing quote before it.
pub(crate) fn old_and_new(edit: &ConstraintEdit) -> [String; 2] {
    let Location { file, span } = &edit.location;
    let old = file.text.get(span.clone()).unwrap_or_default();
    let quotes = usize::from(old.contains('"'));
    [old, edit.new.as_str()].map(|text| text.replacen('"', "", quotes))
}
