//! What `lock` says: one line per provider, then a summary.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use provlock::lockfile::{Direction, EntryChange, EntryDiff, LockedModule};
use provlock::packages::Fetched;
use provlock::project::plan::ProviderReport;
use provlock::project::{Locked, Move, UpgradePlan};
use provlock::provider::{Authentication, Platform};
use provlock::settings::PlatformSelection;

use super::foreign::{capped, printable};
use super::row::{HashCounts, Row, symbol};
use super::style::{Color, TextStyle, bytes, columns, count, enumerate, numbers, paint};
use super::verify::names;

/// What is said of a root module that was locked.
pub(crate) struct Report<'a>(pub(crate) &'a Locked);

/// What became of an entry, in words.
const CHANGES: [(EntryChange, &str); 4] = [
    (EntryChange::Added, "added"),
    (EntryChange::Changed, "changed"),
    (EntryChange::Removed, "removed"),
    (EntryChange::Unchanged, "unchanged"),
];

/// Up to how many root modules are named.
const FEW: usize = 3;

/// The word for what is locked.
const ROOT_MODULE: &str = "root module";

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    cells: [String; 4],
    symbol: (&'static str, Color),
}

impl Report<'_> {
    /// The lines for stderr.
    pub(crate) fn lines(&self, style: TextStyle) -> Vec<String> {
        let mut downloads = Downloads::default();
        downloads.add(self.0);
        let downloaded = if self.0.changed { downloads.text() } else { String::new() };
        self.rows(style).into_iter().chain([self.summary() + &downloaded]).collect()
    }

    fn rows(&self, style: TextStyle) -> Vec<String> {
        let providers = self.shown(style).map(|report| self.line(report, style.verbose));
        let lines: Vec<_> = providers.chain(module_lines(self.0, style)).map(|line| (line, String::new())).collect();
        aligned(&lines, style)
    }

    /// The providers of which there is something to say.
    fn shown(&self, style: TextStyle) -> impl Iterator<Item = &ProviderReport> {
        let is_shown = move |report: &&ProviderReport| {
            let unchanged = report.difference.change == EntryChange::Unchanged;
            !unchanged || style.verbose || !report.required
        };
        self.0.outcome.providers.iter().filter(is_shown)
    }

    /// [`Report::lines`] below the name of the root module, without what was downloaded for all of them.
    pub(crate) fn lines_with_heading(&self, style: TextStyle) -> Vec<String> {
        let heading = printable(&format!("{}:", self.0.prepared.root.path().display()));
        [heading].into_iter().chain(self.rows(style)).chain([self.summary()]).collect()
    }

    /// Whether an entry was written that can only be sure to fit one platform.
    pub(crate) fn has_written_for_one_platform(&self) -> bool {
        let is_for_one = |report: &ProviderReport| {
            let hashes = report.difference.new.iter().flat_map(|provider| &provider.hashes);
            let h1 = HashCounts::of(hashes).h1;
            report.difference.change != EntryChange::Unchanged && h1 == 1
        };
        self.0.changed && self.0.written && self.0.outcome.providers.iter().any(is_for_one)
    }

    /// The platforms of the packages that were looked at, without one that the entry does not cover.
    fn covered<'b>(&self, report: &'b ProviderReport) -> impl Iterator<Item = &'b Platform> {
        let not_covered = self.not_covered_by(report);
        report.packages.keys().filter(move |platform| Some(*platform) != not_covered)
    }

    /// The platform of this machine where nobody has named it and an entry covers others only.
    fn not_covered_by<'b>(&self, report: &'b ProviderReport) -> Option<&'b Platform> {
        let entry = report.difference.new.as_deref().filter(|_| !self.0.prepared.platforms_are_named)?;
        let is_missing = |package: &Fetched| !entry.hashes.contains(&package.h1);
        let covers_others = HashCounts::of(&entry.hashes).h1 > 0;
        let mut packages = report.packages.iter().filter(|(_, package)| covers_others && is_missing(package));
        packages.next().map(|(platform, _)| platform)
    }

    /// [`Report::not_covered_by`] any entry.
    pub(crate) fn not_covered(&self) -> Option<&Platform> {
        self.0.outcome.providers.iter().find_map(|report| self.not_covered_by(report))
    }

    /// Whether platforms are not named, and an unchanged entry has more `h1:` than `platforms`.
    fn covers_more_than(&self, platforms: usize) -> bool {
        let hashes =
            |report: &ProviderReport| report.difference.new.as_ref().map_or(0, |new| HashCounts::of(&new.hashes).h1);
        let has_more = |report: &ProviderReport| report.required && hashes(report) > platforms;
        !self.0.changed && !self.0.prepared.platforms_are_named && self.0.outcome.providers.iter().any(has_more)
    }

    /// Platforms that every required entry covers; `None` if an entry has an `h1:` of an unknown platform.
    fn covered_by_all(&self) -> Option<BTreeSet<Platform>> {
        let required = self.0.outcome.providers.iter().filter(|report| report.required);
        let covered: Vec<_> = required.map(|report| report.covered.clone()).collect::<Option<_>>()?;
        covered.into_iter().reduce(|all, one| &all & &one)
    }

    /// Whether new entries were made without the network, so that they have only hashes of packages in the cache.
    pub(crate) fn has_new_entry(&self) -> bool {
        let is_new = |report: &ProviderReport| {
            matches!(report.difference.change, EntryChange::Added | EntryChange::Changed) && !report.packages.is_empty()
        };
        self.0.changed && self.0.outcome.providers.iter().any(is_new)
    }

    fn line(&self, report: &ProviderReport, in_full: bool) -> Line {
        let row = Row::new(&report.difference, self.0.prepared.root.dialect);
        let shown = |found: &Authentication| match report.difference.change {
            _ if in_full => found.in_full(),
            EntryChange::Unchanged => found.to_string(),
            _ => found.with_key(),
        };
        let authentication: BTreeSet<String> =
            report.packages.values().map(|package| shown(&package.authentication)).collect();
        let authentication = authentication.into_iter().collect::<Vec<_>>().join("; ");
        let advice = self.advice(report);
        let (versions, changes) = (row.versions(), what_changed(report, &row, advice));
        let cells = [row.name, versions, authentication, changes].map(|cell| printable(&capped(&cell)));
        Line { symbol: symbol(row.action), cells }
    }

    /// The advice about an entry that stays although the configuration does not require it.
    fn advice(&self, report: &ProviderReport) -> Option<&'static str> {
        is_stale(report).then_some(if self.0.prepared.requirements.includes_state() {
            "required neither by the configuration nor by its state; --prune removes it"
        } else {
            "not required by the configuration; --prune removes it, also if a state still needs it"
        })
    }

    /// The consequence of entries that stay although the configuration does not require them.
    fn stale(&self) -> Option<String> {
        let number = self.0.outcome.providers.iter().filter(|report| is_stale(report)).count();
        let (are, them) = if number == 1 { ("entry is", "it") } else { ("entries are", "them") };
        let dialect = self.0.prepared.root.dialect;
        let knows_state = self.0.prepared.requirements.includes_state();
        let unless = if knows_state { String::new() } else { format!(", unless a state needs {them}") };
        let fails = format!("{dialect} init -lockfile=readonly fails because of {them}{unless}");
        (number > 0).then(|| format!("{number} {are} not required, and {fails}"))
    }

    fn summary(&self) -> String {
        let providers = &self.0.outcome.providers;
        let required = providers.iter().filter(|report| report.required).count();
        let platforms: BTreeSet<&Platform> = providers.iter().flat_map(|report| self.covered(report)).collect();
        let platforms: Vec<String> = platforms.into_iter().map(ToString::to_string).collect();
        let what = count(required, "provider");
        let what = match platforms.len() {
            0 => what,
            looked_at if self.covers_more_than(looked_at) => {
                let covered: Option<Vec<_>> =
                    self.covered_by_all().map(|all| all.iter().map(Platform::to_string).collect());
                let covered = covered.filter(|covered| !covered.is_empty() && *covered != platforms);
                let covered = covered.map(|covered| format!(" for {}", enumerate(&covered))).unwrap_or_default();
                format!("{what}{covered}, looked at for {} only", enumerate(&platforms))
            }
            _ => format!("{what} for {}", enumerate(&platforms)),
        };
        if !self.0.changed {
            let stale = self.stale().map(|stale| format!("; {stale}")).unwrap_or_default();
            let is_held_back = self.0.plan.iter().flat_map(UpgradePlan::providers).any(Move::is_held_back);
            let summary = if is_held_back { "No newer version within the constraints" } else { "Up to date" };
            return format!("{summary}: {what}{stale}");
        }
        let number = |change| providers.iter().filter(|report| report.difference.change == change).count();
        let changes = numbers(CHANGES.map(|(change, word)| (number(change), word)));
        let changes = if changes.is_empty() { changes } else { format!(" ({changes})") };
        let verb = match (self.0.written, self.0.plan.is_some()) {
            (true, true) => "Upgraded",
            (true, false) => "Locked",
            (false, true) => "Would upgrade",
            (false, false) => "Would lock",
        };
        let modules = changed_modules(self.0).map(|modules| format!(" and {modules}")).unwrap_or_default();
        format!("{verb} {what}{changes}{modules}")
    }
}

/// Whether an entry stays although the configuration does not require it.
fn is_stale(report: &ProviderReport) -> bool {
    !report.required && report.difference.change != EntryChange::Removed
}

/// The modules of which there is something to say, a line each.
fn module_lines(locked: &Locked, style: TextStyle) -> impl Iterator<Item = Line> {
    let is_shown = move |change: &&EntryDiff<LockedModule>| change.change != EntryChange::Unchanged || style.verbose;
    locked.module_changes.iter().filter(is_shown).map(module_line)
}

/// The version of a module or the start of its commit, and its source if it is not the one before.
fn module_line(change: &EntryDiff<LockedModule>) -> Line {
    const SHORT: usize = 12;
    let row = Row::of_module(change);
    let commit = |entry: &LockedModule| {
        let (_, commit) = entry.package.split_once("ref=")?;
        Some(commit.chars().take(SHORT).collect::<String>())
    };
    let commit = |entry: &Option<Arc<LockedModule>>| entry.as_deref().and_then(commit);
    let versions = match (row.versions(), commit(&change.old), commit(&change.new)) {
        (version, ..) if !version.is_empty() => version,
        (_, Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (_, old, new) => new.or(old).unwrap_or_default(),
    };
    let source = row.source.new.clone().filter(|source| row.source.old.as_ref() != Some(source));
    let constraints = row.constraints.new.as_ref().filter(|new| row.constraints.old.as_ref() != Some(new));
    let constraints = constraints.filter(|_| row.action == EntryChange::Changed && source.is_none());
    let constraints = constraints.map(|new| format!("constraints {new}"));
    let changes = row.replaced.clone().or(source).or(constraints).unwrap_or_default();
    let cells = [row.name, versions, String::new(), changes].map(|cell| printable(&capped(&cell)));
    Line { symbol: symbol(row.action), cells }
}

/// `2 modules (1 added, 1 changed)`, if any changed.
fn changed_modules(locked: &Locked) -> Option<String> {
    let changes = &locked.module_changes;
    let number = |kind| changes.iter().filter(|change| change.change == kind).count();
    let parts = CHANGES.into_iter().filter(|(change, _)| *change != EntryChange::Unchanged);
    let parts = numbers(parts.map(|(change, word)| (number(change), word)));
    let left = changes.iter().filter(|change| change.new.is_some()).count();
    (!parts.is_empty()).then(|| format!("{} ({parts})", count(left, "module")))
}

/// What is said of many root modules: what happened to a provider in several of those that changed is one line.
#[derive(Default)]
pub(crate) struct LinesOfMany {
    lines: BTreeMap<Line, Places>,
    /// The word for root modules, if it is another one.
    pub(crate) noun: Option<&'static str>,
}

#[derive(Default)]
struct Places {
    first: Vec<String>,
    number: usize,
}

impl LinesOfMany {
    pub(crate) fn add(&mut self, locked: &Locked, style: TextStyle) {
        if !locked.changed {
            return;
        }
        let report = Report(locked);
        let providers = report.shown(style).map(|provider| report.line(provider, false));
        for line in providers.chain(module_lines(locked, style)) {
            let places = self.lines.entry(line).or_default();
            places.number += 1;
            if places.first.len() < FEW {
                places.first.push(printable(&locked.prepared.root.path().display().to_string()));
            }
        }
    }

    /// The lines for stderr.
    pub(crate) fn lines(self, style: TextStyle) -> Vec<String> {
        let noun = self.noun.unwrap_or(ROOT_MODULE);
        let place = |Places { first, number }: &Places| {
            if *number > FEW { format!("in {}", count(*number, noun)) } else { format!("in {}", enumerate(first)) }
        };
        let lines = self.lines.into_iter().map(|(line, places)| (line, place(&places)));
        aligned(&lines.collect::<Vec<_>>(), style)
    }
}

/// Lines in columns, each with what comes last.
fn aligned(lines: &[(Line, String)], style: TextStyle) -> Vec<String> {
    let cells = |(line, last): &(Line, String)| line.cells.iter().chain([last]).cloned().collect();
    let rows = columns(&lines.iter().map(cells).collect::<Vec<_>>());
    let symbol = |line: &Line| paint(style.color, line.symbol.1, line.symbol.0);
    lines.iter().zip(rows).map(|((line, _), row)| format!("  {} {row}", symbol(line))).collect()
}

/// Which platforms `--check` did not look at in a root module, as far as that can be told: those of the settings, or
/// any other where nobody names one.
pub(crate) fn not_looked_at(locked: &Locked) -> Option<String> {
    let (settings, looked_at) = (&locked.prepared.root.settings.platforms, &locked.prepared.platforms);
    if !locked.prepared.platforms_are_named {
        let platform = names(looked_at);
        return Some(format!(
            "Looked at {platform} only; for others: provlock lock --check -p all, or set platforms in provlock.toml"
        ));
    }
    let others = match (settings, looked_at) {
        (Some(PlatformSelection::These(named)), PlatformSelection::These(looked_at)) => {
            let others: Vec<_> = named.iter().filter(|platform| !looked_at.contains(platform)).cloned().collect();
            (!others.is_empty()).then(|| names(&PlatformSelection::These(others)))
        }
        (Some(PlatformSelection::All), PlatformSelection::These(_)) => Some("the other platforms".to_owned()),
        _ => None,
    };
    others.map(|others| format!("Did not look at {others}, which provlock.toml names and -p does not"))
}

#[derive(Default)]
pub(crate) struct Tally {
    changed: usize,
    unchanged: usize,
    /// Those that did not change although there are newer versions.
    held_back: usize,
    pub(crate) failed: usize,
    /// Whether nothing is written.
    is_dry: bool,
    /// Entries that stay although the configuration does not require them.
    stale: usize,
    /// The word for root modules, if it is another one.
    pub(crate) noun: Option<&'static str>,
    downloads: Downloads,
}

/// Packages that were downloaded, each once, however many root modules need it.
#[derive(Default)]
struct Downloads {
    /// By their place in memory; kept, so that no other package gets it.
    packages: HashMap<usize, Arc<Fetched>>,
}

impl Downloads {
    fn add(&mut self, locked: &Locked) {
        let packages = locked.outcome.providers.iter().flat_map(|report| report.packages.values());
        let downloaded = packages.filter(|package| package.downloaded > 0);
        self.packages.extend(downloaded.map(|package| (Arc::as_ptr(package).addr(), Arc::clone(package))));
    }

    /// `; 118.40 MiB downloaded`, if anything was.
    fn text(&self) -> String {
        match self.packages.values().map(|package| package.downloaded).sum() {
            0 => String::new(),
            number => format!("; {} downloaded", bytes(number)),
        }
    }
}

impl Tally {
    pub(crate) fn add(&mut self, locked: &Locked) {
        let mut moves = locked.plan.iter().flat_map(|plan| &plan.moves);
        *match moves.any(Move::is_held_back) {
            _ if locked.changed => &mut self.changed,
            true => &mut self.held_back,
            false => &mut self.unchanged,
        } += 1;
        self.is_dry |= !locked.written;
        self.stale += locked.outcome.providers.iter().filter(|report| is_stale(report)).count();
        self.downloads.add(locked);
    }

    /// `Locked 998 of 1000 root modules: 3 changed, 995 up to date; 2 failed; 118.40 MiB downloaded`. The verbs are for
    /// what was written and what would be.
    pub(crate) fn summary(&self, verbs: [&str; 2]) -> String {
        let parts = [(self.changed, "changed"), (self.unchanged, "up to date")];
        let modules = root_modules(parts, self.held_back, self.failed, self.noun.unwrap_or(ROOT_MODULE));
        let stale = match self.stale {
            0 => String::new(),
            1 => "; 1 entry is not required".to_owned(),
            number => format!("; {number} entries are not required"),
        };
        format!("{} {modules}{stale}{}", verbs[usize::from(self.is_dry)], self.downloads.text())
    }
}

/// `998 of 1000 root modules: 3 changed, 995 up to date; 2 failed`
pub(crate) fn root_modules(parts: [(usize, &str); 2], held_back: usize, failed: usize, noun: &str) -> String {
    let [(first, is_first), (second, is_second)] = parts;
    let done = first + second + held_back;
    let all = count(done + failed, noun);
    let (number, failed) = match failed {
        0 => (String::new(), String::new()),
        failed => (format!("{done} of "), format!("; {failed} failed")),
    };
    let held_back = if held_back == 0 { String::new() } else { format!(", {held_back} held back") };
    format!("{number}{all}: {first} {is_first}, {second} {is_second}{held_back}{failed}")
}

/// The last column: where the entry came from, and what is new in it.
fn what_changed(report: &ProviderReport, row: &Row, advice: Option<&str>) -> String {
    let downgrade = row.version_change.filter(|change| change.direction == Direction::Downgrade);
    let mut parts: Vec<_> = downgrade.iter().map(ToString::to_string).collect();
    let reported = report.packages.values().filter(|package| package.is_reported()).count();
    if reported > 0 {
        let them = if reported == 1 { "it" } else { "them" };
        parts.push(format!("{} as the registry reports {them}, not downloaded", count(reported, "package")));
    }
    if let Some(origin) = &report.carried_over_from {
        parts.push(format!("version taken over from {origin}, without its hashes"));
    }
    if row.action != EntryChange::Added && row.keeps_version() {
        parts.extend(hash_changes(report, row));
        if let Some(constraints) = row.constraints.new.as_ref().filter(|new| row.constraints.old.as_ref() != Some(new))
        {
            parts.push(format!("constraints {}", if constraints.is_empty() { "removed" } else { constraints }));
        }
    } else {
        parts.extend(row.hash_counts.new.map(|counts| counts.to_string()));
    }
    parts.extend(advice.map(str::to_owned));
    parts.join(", ")
}

/// `h1 for darwin_arm64 added`, and how many other hashes came or went.
fn hash_changes(report: &ProviderReport, row: &Row) -> Vec<String> {
    let added: BTreeSet<&str> = row.hashes.added.iter().map(String::as_str).collect();
    let packages = report.packages.iter().filter(|(_, package)| added.contains(package.h1.as_str()));
    let platforms: Vec<String> = packages.clone().map(|(platform, _)| platform.to_string()).collect();
    let named: BTreeSet<&str> = packages.map(|(_, package)| package.h1.as_str()).collect();
    let mut parts = Vec::new();
    if !platforms.is_empty() {
        parts.push(format!("h1 for {} added", enumerate(&platforms)));
    }
    let rest = added.len() - named.len();
    if rest > 0 {
        parts.push(format!("{} added", count(rest, "hash")));
    }
    let removed = row.hashes.removed.len();
    if removed > 0 {
        parts.push(format!("{} removed", count(removed, "hash")));
    }
    parts
}
