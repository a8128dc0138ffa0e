//! Text of `lock`: a row for each entry, then a summary.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use provlock::diagnostic::words::{MOST_NAMED, few};
use provlock::lockfile::{Direction, EntryChange, EntryDiff, LockedModule};
use provlock::packages::Fetched;
use provlock::project::plan::ProviderReport;
use provlock::project::{LockedRootModule, UpgradePlan};
use provlock::provider::{Authentication, Dialect, Platform, ProviderAddress};

use super::causes::Many;
use super::json::AsText;
use super::row::{Row, symbol};
use super::style::{Symbol, TextStyle, bytes, count, enumerate, numbers, symbol_rows};

/// Text about a root module that was locked.
pub(crate) struct LockedText {
    pub(crate) rows: Vec<Arc<EntryRow>>,
    /// `Locked 3 providers for linux_amd64 (3 added)`
    pub(crate) summary: String,
    /// Whether a lock file changed, or would change.
    pub(crate) is_changed: bool,
    /// Number of entries that stay although the configuration does not require them.
    pub(crate) stale: usize,
    downloads: Vec<Arc<Fetched>>,
}

/// Row of a provider or module. Root modules share equal rows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryRow {
    cells: [String; 4],
    symbol: Symbol,
}

/// Rows of root modules so far.
#[derive(Default)]
pub(crate) struct KnownRows {
    rows: BTreeSet<Arc<EntryRow>>,
    /// The last row of each provider. Most root modules share the entries that it was made from.
    last: HashMap<ProviderAddress, ProviderRow>,
}

/// Row of a provider, with its report and the facts about the root module that it was made from.
struct ProviderRow {
    report: ProviderReport,
    dialect: Dialect,
    includes_state: bool,
    row: Arc<EntryRow>,
}

const CHANGES: [(EntryChange, &str); 4] = [
    (EntryChange::Added, "added"),
    (EntryChange::Changed, "changed"),
    (EntryChange::Removed, "removed"),
    (EntryChange::Unchanged, "unchanged"),
];

impl LockedText {
    /// Text about a root module. Unchanged entries have rows, and one of many a summary, if `style`
    /// is verbose. `known` contains the rows of other root modules.
    pub(crate) fn new(
        locked: &LockedRootModule,
        style: TextStyle,
        is_one_of_many: bool,
        known: &mut KnownRows,
    ) -> Self {
        let providers = &locked.outcome.providers;
        let shown = providers.iter().filter(|report| {
            report.difference.change != EntryChange::Unchanged || style.verbose || !report.required
        });
        let modules = locked.module_changes.iter();
        let modules =
            modules.filter(|change| change.change != EntryChange::Unchanged || style.verbose);
        let mut rows: Vec<_> = shown
            .map(|report| known.provider(locked, report, style.verbose))
            .collect();
        rows.extend(modules.map(|change| known.share(module_row(change))));
        let packages = providers.iter().flat_map(|report| report.packages.values());
        Self {
            rows,
            summary: if style.verbose || !is_one_of_many {
                summary(locked)
            } else {
                String::new()
            },
            is_changed: locked.changed,
            stale: providers.iter().filter(|report| is_stale(report)).count(),
            downloads: packages
                .filter(|package| package.downloaded > 0)
                .cloned()
                .collect(),
        }
    }
}

impl KnownRows {
    /// Returns the row of a provider.
    fn provider(
        &mut self,
        locked: &LockedRootModule,
        report: &ProviderReport,
        in_full: bool,
    ) -> Arc<EntryRow> {
        let dialect = locked.prepared.root.dialect;
        let includes_state = locked.prepared.requirements.includes_state();
        let address = &report.difference.address;
        let last = self
            .last
            .get(address)
            .filter(|last| last.dialect == dialect);
        if let Some(last) =
            last.filter(|last| last.includes_state == includes_state && last.is_for(report))
        {
            return Arc::clone(&last.row);
        }
        let row = self.share(provider_row(locked, report, in_full));
        let last = ProviderRow {
            report: report.clone(),
            dialect,
            includes_state,
            row: Arc::clone(&row),
        };
        self.last.insert(address.clone(), last);
        row
    }

    /// Returns the known row that is equal to `row`.
    fn share(&mut self, row: EntryRow) -> Arc<EntryRow> {
        let row = self
            .rows
            .get(&row)
            .cloned()
            .unwrap_or_else(|| Arc::new(row));
        self.rows.insert(Arc::clone(&row));
        row
    }
}

impl ProviderRow {
    /// Whether a report has the same row: its entries are equal, and its packages are the same
    /// values in memory.
    fn is_for(&self, report: &ProviderReport) -> bool {
        let ProviderReport {
            difference,
            required,
            carried_over_from,
            packages,
            ..
        } = &self.report;
        (difference, required, carried_over_from)
            == (
                &report.difference,
                &report.required,
                &report.carried_over_from,
            )
            && Arc::ptr_eq(packages, &report.packages)
    }
}

/// Returns the rows of a root module as lines.
pub(crate) fn lines(rows: &[Arc<EntryRow>], style: TextStyle) -> Vec<String> {
    symbol_rows(
        rows.iter()
            .map(|row| (row.symbol, row.cells.to_vec()))
            .collect(),
        style,
    )
}

/// Returns the rows of the root modules that changed as lines, equal rows as one with the root
/// modules at its end.
pub(crate) fn lines_of_many<'a>(
    results: impl Iterator<Item = (&'a Path, &'a LockedText)>,
    many: Many<'_>,
    style: TextStyle,
) -> Vec<String> {
    let mut places: BTreeMap<&EntryRow, Vec<&Path>> = BTreeMap::new();
    for (path, text) in results.filter(|(_, text)| text.is_changed) {
        text.rows
            .iter()
            .for_each(|row| places.entry(row).or_default().push(path));
    }
    let place = |paths: Vec<&Path>| match paths.len() {
        number if number > MOST_NAMED => format!("in {}", count(number, many.noun())),
        _ => format!(
            "in {}",
            few(paths
                .iter()
                .map(|path| many.invocation.shown(path).display().to_string()))
        ),
    };
    let row = |(row, paths): (&EntryRow, Vec<&Path>)| {
        (
            row.symbol,
            [row.cells.to_vec(), vec![place(paths)]].concat(),
        )
    };
    symbol_rows(places.into_iter().map(row).collect(), style)
}

/// `; 118.40 MiB downloaded`, if anything was: each package once, however many root modules need
/// it.
pub(crate) fn downloaded<'a>(results: impl Iterator<Item = &'a LockedText>) -> String {
    let packages: BTreeMap<_, _> = results
        .flat_map(|text| &text.downloads)
        .map(|package| (Arc::as_ptr(package), package.downloaded))
        .collect();
    match packages.values().sum() {
        0 => String::new(),
        number => format!("; {} downloaded", bytes(number)),
    }
}

/// Numbers of root modules by result.
#[derive(Default)]
pub(crate) struct RootCounts {
    pub(crate) changed: usize,
    pub(crate) unchanged: usize,
    /// Root modules that did not change although there are newer versions.
    pub(crate) held_back: usize,
    /// Root modules in which no version moves, but entries are removed or get hashes, or
    /// constraints are rewritten.
    pub(crate) changed_otherwise: usize,
    pub(crate) failed: usize,
}

impl RootCounts {
    /// `998 of 1000 root modules: 3 changed, 995 up to date; 2 failed`
    pub(crate) fn text(&self, changed: &str, noun: &str) -> String {
        let done = self.changed + self.unchanged + self.held_back + self.changed_otherwise;
        let all = count(done + self.failed, noun);
        let (number, failed) = match self.failed {
            0 => (String::new(), String::new()),
            failed => (format!("{done} of "), format!("; {failed} failed")),
        };
        let part = |number: usize, words: &str| {
            if number == 0 {
                String::new()
            } else {
                format!(", {number} {words}")
            }
        };
        let others =
            part(self.held_back, "held back") + &part(self.changed_otherwise, "with other changes");
        format!(
            "{number}{all}: {} {changed}, {} up to date{others}{failed}",
            self.changed, self.unchanged
        )
    }
}

/// Whether an entry stays although the configuration does not require it.
fn is_stale(report: &ProviderReport) -> bool {
    !report.required && report.difference.change != EntryChange::Removed
}

/// Number of platforms that an entry may cover.
pub(crate) fn h1_count(report: &ProviderReport) -> usize {
    report
        .difference
        .new
        .as_ref()
        .map_or(0, |new| new.platform_hashes().count())
}

/// Returns the platform of this machine if no platforms were requested and an entry covers only
/// others.
pub(crate) fn not_covered<'a>(
    locked: &LockedRootModule,
    report: &'a ProviderReport,
) -> Option<&'a Platform> {
    let entry = report.difference.new.as_deref()?;
    if locked.prepared.platforms_are_named || h1_count(report) == 0 {
        return None;
    }
    report
        .packages
        .iter()
        .find(|(_, package)| !entry.hashes.contains(&package.h1))
        .map(|(platform, _)| platform)
}

fn provider_row(locked: &LockedRootModule, report: &ProviderReport, in_full: bool) -> EntryRow {
    let row = Row::new(&report.difference, locked.prepared.root.dialect);
    let shown = |found: &Authentication| match report.difference.change {
        _ if in_full => found.in_full(),
        EntryChange::Unchanged => found.to_string(),
        _ => found.with_key(),
    };
    let authentication: BTreeSet<String> = report
        .packages
        .values()
        .map(|package| shown(&package.authentication))
        .collect();
    let authentication = authentication.into_iter().collect::<Vec<_>>().join("; ");
    let advice = is_stale(report).then_some(if locked.prepared.requirements.includes_state() {
        "required neither by the configuration nor by its state; --prune removes it"
    } else {
        "not required by the configuration; --prune removes it, also if a state still needs it"
    });
    let (versions, changes) = (row.versions(), what_changed(report, &row, advice));
    EntryRow {
        symbol: symbol(row.action),
        cells: [row.name, versions, authentication, changes],
    }
}

/// Returns the row of a module: its version or the start of its commit, and its source if that has
/// changed.
fn module_row(change: &EntryDiff<LockedModule>) -> EntryRow {
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
    let source = row.source.changed().map(str::to_owned);
    let constraints = if row.action == EntryChange::Changed {
        row.constraints.changed()
    } else {
        None
    };
    let constraints = constraints.map(|new| format!("constraints {new}"));
    let changes = row
        .replaced()
        .or(source)
        .or(constraints)
        .unwrap_or_default();
    EntryRow {
        symbol: symbol(row.action),
        cells: [row.name, versions, String::new(), changes],
    }
}

fn summary(locked: &LockedRootModule) -> String {
    let providers = &locked.outcome.providers;
    let what = providers_and_platforms(locked);
    if !locked.changed {
        let stale = stale(locked)
            .map(|stale| format!("; {stale}"))
            .unwrap_or_default();
        let held_back = || {
            locked
                .plan
                .iter()
                .flat_map(UpgradePlan::providers)
                .filter(|one| one.is_held_back())
        };
        let summary = match held_back().next() {
            None => "Up to date",
            Some(_) if held_back().any(|one| one.skipped.is_some()) => {
                "No newer version is allowed"
            }
            Some(_) => "No newer version within the constraints",
        };
        return format!("{summary}: {what}{stale}");
    }
    let number = |change| {
        let is_counted =
            |report: &&ProviderReport| report.is_checked || change != EntryChange::Unchanged;
        providers
            .iter()
            .filter(is_counted)
            .filter(|report| report.difference.change == change)
            .count()
    };
    let changes = numbers(CHANGES.map(|(change, word)| (number(change), word)));
    let changes = if changes.is_empty() {
        changes
    } else {
        format!(" ({changes})")
    };
    let verb = match (locked.written, locked.plan.is_some()) {
        (true, true) => "Upgraded",
        (true, false) => "Locked",
        (false, true) => "Would upgrade",
        (false, false) => "Would lock",
    };
    let modules = changed_modules(locked)
        .map(|modules| format!(" and {modules}"))
        .unwrap_or_default();
    format!("{verb} {what}{changes}{modules}")
}

/// `2 providers for linux_amd64`, or, if the entries cover more platforms than this run checked,
/// `2 providers, covered: darwin_arm64 and linux_amd64, checked now: linux_amd64`.
fn providers_and_platforms(locked: &LockedRootModule) -> String {
    let providers = &locked.outcome.providers;
    let checked = || providers.iter().filter(|report| report.is_checked);
    let covered = |report: &'_ ProviderReport| {
        let not_covered = not_covered(locked, report).cloned();
        report
            .packages
            .keys()
            .filter(|platform| Some(*platform) != not_covered.as_ref())
            .cloned()
            .collect::<Vec<_>>()
    };
    let platforms: BTreeSet<Platform> = providers.iter().flat_map(covered).collect();
    let what = count(checked().count(), "provider");
    let is_unnamed = !locked.prepared.platforms_are_named;
    if platforms.is_empty() {
        what
    } else if is_unnamed && checked().any(|report| h1_count(report) > platforms.len()) {
        // Platforms are shown only if the platform of each `h1:` is known.
        let of_each: Option<Vec<_>> = checked().map(|report| report.covered.clone()).collect();
        let of_all = of_each.into_iter().flatten().reduce(|all, one| &all & &one);
        let shown = of_all.filter(|covered| !covered.is_empty() && *covered != platforms);
        let shown = shown
            .map(|covered| format!(", covered: {}", enumerate(&covered)))
            .unwrap_or_default();
        format!("{what}{shown}, checked now: {}", enumerate(&platforms))
    } else {
        format!("{what} for {}", enumerate(&platforms))
    }
}

/// `2 entries are not required, and tofu init -lockfile=readonly fails because of them`
fn stale(locked: &LockedRootModule) -> Option<String> {
    let number = locked
        .outcome
        .providers
        .iter()
        .filter(|report| is_stale(report))
        .count();
    let unless = if locked.prepared.requirements.includes_state() {
        ""
    } else {
        ", unless a state needs them"
    };
    let fails = format!(
        "{} init -lockfile=readonly fails{unless}",
        locked.prepared.root.dialect
    );
    (number > 0).then(|| format!("not required: {}, so {fails}", count(number, "entry")))
}

/// `2 modules (1 added, 1 changed)`, if any changed.
fn changed_modules(locked: &LockedRootModule) -> Option<String> {
    let changes = &locked.module_changes;
    let number = |kind| {
        changes
            .iter()
            .filter(|change| change.change == kind)
            .count()
    };
    let parts = CHANGES
        .into_iter()
        .filter(|(change, _)| *change != EntryChange::Unchanged);
    let parts = numbers(parts.map(|(change, word)| (number(change), word)));
    let left = changes.iter().filter(|change| change.new.is_some()).count();
    (!parts.is_empty()).then(|| format!("{} ({parts})", count(left, "module")))
}

/// Returns the last column: the origin of the entry, and its changes.
fn what_changed(report: &ProviderReport, row: &Row<'_>, advice: Option<&str>) -> String {
    let downgrade = row
        .version_change
        .filter(|change| change.direction == Direction::Downgrade);
    let mut parts: Vec<_> = downgrade.iter().map(ToString::to_string).collect();
    let reported = report
        .packages
        .values()
        .filter(|package| package.is_reported())
        .count();
    if reported > 0 {
        parts.push(format!(
            "{} not downloaded (hashes reported by the registry)",
            count(reported, "package")
        ));
    }
    if let Some(origin) = &report.carried_over_from {
        parts.push(format!(
            "version taken over from {origin}, without its hashes"
        ));
    }
    if row.action != EntryChange::Added && row.keeps_version() {
        parts.extend(hash_changes(report, row));
        if let Some(AsText(constraints)) = row.constraints.changed() {
            let constraints =
                Some(constraints.to_string()).filter(|constraints| !constraints.is_empty());
            parts.push(format!(
                "constraints {}",
                constraints.as_deref().unwrap_or("removed")
            ));
        }
    } else {
        parts.extend(row.hash_counts.new.map(|counts| counts.to_string()));
    }
    parts.extend(advice.map(str::to_owned));
    parts.join(", ")
}

/// `h1 for darwin_arm64 added`, and the numbers of other hashes that were added or removed.
fn hash_changes(report: &ProviderReport, row: &Row<'_>) -> Vec<String> {
    let added = &row.hashes.added;
    let packages = report
        .packages
        .iter()
        .filter(|(_, package)| added.contains(&package.h1));
    let platforms: Vec<String> = packages
        .clone()
        .map(|(platform, _)| platform.to_string())
        .collect();
    let named: BTreeSet<_> = packages.map(|(_, package)| &package.h1).collect();
    let of_platforms =
        (!platforms.is_empty()).then(|| format!("h1 for {} added", enumerate(&platforms)));
    let others = [
        (added.len() - named.len(), "added"),
        (row.hashes.removed.len(), "removed"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    let others = others.map(|(number, verb)| format!("{} {verb}", count(number, "hash")));
    of_platforms.into_iter().chain(others).collect()
}
