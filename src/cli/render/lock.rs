//! Text of `lock`: a row for each entry, then a summary.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use provlock::diagnostic::words::{MOST_NAMED, first_few};
use provlock::lockfile::{Direction, EntryChange, EntryDiff, LockedModule};
use provlock::packages::Fetched;
use provlock::project::plan::ProviderReport;
use provlock::project::{LockedRootModule, UpgradePlan};
use provlock::provider::{Dialect, Platform, ProviderAddress};

use super::causes::SeveralRoots;
use super::json::AsText;
use super::row::{Row, symbol_of};
use super::style::{
    Symbol, TextStyle, align_rows_with_symbols, bytes, count, joined_with_and, non_zero_numbers,
};

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
    /// Text about a root module. With a verbose `style`, unchanged entries have rows, too, and one
    /// of several root modules has a summary. `known` contains the rows of other root modules.
    pub(crate) fn new(
        locked: &LockedRootModule,
        style: TextStyle,
        is_one_of_several: bool,
        known: &mut KnownRows,
    ) -> Self {
        let providers = &locked.outcome.providers;
        let mut rows = Vec::new();
        let mut downloads = Vec::new();
        for report in providers {
            let is_changed = report.difference.change != EntryChange::Unchanged;
            // An entry that nothing requires is shown although it stays, with what removes it.
            if is_changed || style.verbose || !report.required {
                rows.push(known.shared_provider_row(locked, report, style.verbose));
            }
            for package in report.packages.values() {
                if package.downloaded > 0 {
                    downloads.push(package.clone());
                }
            }
        }
        for change in &locked.module_changes {
            if change.change != EntryChange::Unchanged || style.verbose {
                rows.push(known.share_equal(draw_module_row(change)));
            }
        }
        Self {
            rows,
            summary: if style.verbose || !is_one_of_several {
                summary_line(locked)
            } else {
                String::new()
            },
            is_changed: locked.changed,
            stale: providers.iter().filter(|report| is_stale(report)).count(),
            downloads,
        }
    }
}

impl KnownRows {
    /// Returns the row of a provider. It is drawn only if the last root module with the provider
    /// has a different one.
    fn shared_provider_row(
        &mut self,
        locked: &LockedRootModule,
        report: &ProviderReport,
        in_full: bool,
    ) -> Arc<EntryRow> {
        let dialect = locked.prepared.root.dialect;
        let includes_state = locked.prepared.requirements.includes_state();
        let address = &report.difference.address;
        // Many root modules have the same entry, whose row is drawn once.
        if let Some(last) = self.last.get(address)
            && last.dialect == dialect
            && last.includes_state == includes_state
            && last.is_for(report)
        {
            return Arc::clone(&last.row);
        }
        let row = self.share_equal(draw_provider_row(locked, report, in_full));
        let entry = ProviderRow {
            report: report.clone(),
            dialect,
            includes_state,
            row: Arc::clone(&row),
        };
        self.last.insert(address.clone(), entry);
        row
    }

    /// Returns the known row that is equal to `row`, which becomes known.
    fn share_equal(&mut self, row: EntryRow) -> Arc<EntryRow> {
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
        *difference == report.difference
            && *required == report.required
            && *carried_over_from == report.carried_over_from
            && Arc::ptr_eq(packages, &report.packages)
    }
}

/// Returns the rows of a root module as lines.
pub(crate) fn rows_as_lines(rows: &[Arc<EntryRow>], style: TextStyle) -> Vec<String> {
    let rows = rows.iter().map(|row| (row.symbol, row.cells.to_vec()));
    align_rows_with_symbols(rows.collect(), style)
}

/// Returns the rows of the root modules that changed as lines. Equal rows are one line with their
/// root modules at its end.
pub(crate) fn lines_of_several<'a>(
    results: impl Iterator<Item = (&'a Path, &'a LockedText)>,
    several: SeveralRoots<'_>,
    style: TextStyle,
) -> Vec<String> {
    let mut roots_by_row: BTreeMap<&EntryRow, Vec<&Path>> = BTreeMap::new();
    for (path, text) in results {
        if text.is_changed {
            for row in &text.rows {
                roots_by_row.entry(row).or_default().push(path);
            }
        }
    }
    let mut rows = Vec::new();
    for (row, paths) in roots_by_row {
        let mut roots = count(paths.len(), several.noun());
        if paths.len() <= MOST_NAMED {
            let mut names = Vec::new();
            for path in paths {
                names.push(several.invocation.user_path(path).display().to_string());
            }
            roots = first_few(names);
        }
        let mut cells = row.cells.to_vec();
        cells.push(format!("in {roots}"));
        rows.push((row.symbol, cells));
    }
    align_rows_with_symbols(rows, style)
}

/// `; 118.40 MiB downloaded`, if anything was: each package once, however many root modules need
/// it.
pub(crate) fn words_about_downloads<'a>(results: impl Iterator<Item = &'a LockedText>) -> String {
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
    pub(crate) fn in_words(&self, changed: &str, noun: &str) -> String {
        let done = self.changed + self.unchanged + self.held_back + self.changed_otherwise;
        let mut text = count(done + self.failed, noun);
        if self.failed > 0 {
            text = format!("{done} of {text}");
        }
        let _ = write!(
            text,
            ": {} {changed}, {} up to date",
            self.changed, self.unchanged
        );
        if self.held_back > 0 {
            let _ = write!(text, ", {} held back", self.held_back);
        }
        if self.changed_otherwise > 0 {
            let _ = write!(text, ", {} with other changes", self.changed_otherwise);
        }
        if self.failed > 0 {
            let _ = write!(text, "; {} failed", self.failed);
        }
        text
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
pub(crate) fn find_not_covered<'a>(
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

/// Draws the row of a provider, `in_full` with all details about the authentication of its
/// packages.
fn draw_provider_row(
    locked: &LockedRootModule,
    report: &ProviderReport,
    in_full: bool,
) -> EntryRow {
    let row = Row::new(&report.difference, locked.prepared.root.dialect);
    let mut authentications = BTreeSet::new();
    for package in report.packages.values() {
        let authentication = &package.authentication;
        authentications.insert(if in_full {
            authentication.in_full()
        } else if report.difference.change == EntryChange::Unchanged {
            authentication.to_string()
        } else {
            authentication.with_key()
        });
    }
    let authentications: Vec<_> = authentications.into_iter().collect();

    let mut advice = None;
    if is_stale(report) {
        advice = Some(if locked.prepared.requirements.includes_state() {
            "required neither by the configuration nor by its state; --prune removes it"
        } else {
            "not required by the configuration; --prune removes it, also if a state still needs it"
        });
    }
    let versions = row.versions();
    let changes = origin_and_changes(report, &row, advice);
    EntryRow {
        symbol: symbol_of(row.action),
        cells: [row.name, versions, authentications.join("; "), changes],
    }
}

/// Draws the row of a module: its version or the start of its commit or digest, and its source if
/// that has changed.
fn draw_module_row(change: &EntryDiff<LockedModule>) -> EntryRow {
    let row = Row::of_module(change);
    let mut versions = row.versions();
    if versions.is_empty() {
        let old_revision = change.old.as_deref().and_then(short_revision);
        let new_revision = change.new.as_deref().and_then(short_revision);
        versions = match (old_revision, new_revision) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (_, Some(new)) => new,
            (Some(old), None) => old,
            (None, None) => String::new(),
        };
    }

    // A replaced release matters more than a new source, and that more than a new constraint.
    let mut changes = String::new();
    if let Some(warning) = row.warning_if_replaced() {
        changes = warning;
    } else if let Some(source) = row.source.changed() {
        source.clone_into(&mut changes);
    } else if row.action == EntryChange::Changed
        && let Some(constraints) = row.constraints.changed()
    {
        changes = format!("constraints {constraints}");
    }
    EntryRow {
        symbol: symbol_of(row.action),
        cells: [row.name, versions, String::new(), changes],
    }
}

/// Returns the start of a locked commit or digest.
fn short_revision(entry: &LockedModule) -> Option<String> {
    const SHORT: usize = 12;
    if let Some((_, digest)) = entry.package.split_once("?digest=sha256:") {
        let start: String = digest.chars().take(SHORT).collect();
        return Some(format!("sha256:{start}"));
    }
    let (_, commit) = entry.package.split_once("ref=")?;
    Some(commit.chars().take(SHORT).collect())
}

/// Returns the last line about a root module: `Locked 2 providers for linux_amd64 (1 added)`.
fn summary_line(locked: &LockedRootModule) -> String {
    let checked = providers_and_platforms(locked);
    if !locked.changed {
        let reason = reason_of_no_change(locked);
        let mut text = format!("{reason}: {checked}");
        if let Some(stale) = words_about_stale_entries(locked) {
            let _ = write!(text, "; {stale}");
        }
        return text;
    }

    let verb = match (locked.written, locked.plan.is_some()) {
        (true, true) => "Upgraded",
        (true, false) => "Locked",
        (false, true) => "Would upgrade",
        (false, false) => "Would lock",
    };
    let changes = non_zero_numbers(CHANGES.map(|(change, word)| (number_of(locked, change), word)));
    let mut text = format!("{verb} {checked}");
    if !changes.is_empty() {
        let _ = write!(text, " ({changes})");
    }
    if let Some(modules) = words_about_modules(locked) {
        let _ = write!(text, " and {modules}");
    }
    text
}

/// The reason why nothing changed. Versions that the policy or their age exclude outrank
/// constraints.
fn reason_of_no_change(locked: &LockedRootModule) -> &'static str {
    let mut reason = "Up to date";
    for planned in locked.plan.iter().flat_map(UpgradePlan::providers) {
        if !planned.is_held_back() {
            continue;
        }
        if planned.skipped.is_some() {
            return "No newer version is allowed";
        }
        reason = "No newer version within the constraints";
    }
    reason
}

/// Number of providers with this change. Unchanged ones count if this run checked them.
fn number_of(locked: &LockedRootModule, change: EntryChange) -> usize {
    let mut number = 0;
    for report in &locked.outcome.providers {
        let is_counted = report.is_checked || change != EntryChange::Unchanged;
        if is_counted && report.difference.change == change {
            number += 1;
        }
    }
    number
}

/// `2 providers for linux_amd64`, or, if the entries cover more platforms than this run checked,
/// `2 providers, covered: darwin_arm64 and linux_amd64, checked now: linux_amd64`.
fn providers_and_platforms(locked: &LockedRootModule) -> String {
    let mut checked: Vec<_> = locked.outcome.providers.iter().collect();
    checked.retain(|report| report.is_checked);
    let providers = count(checked.len(), "provider");

    // Platforms that this run checked.
    let mut platforms: BTreeSet<Platform> = BTreeSet::new();
    for report in &locked.outcome.providers {
        let not_covered = find_not_covered(locked, report);
        for platform in report.packages.keys() {
            if Some(platform) != not_covered {
                platforms.insert(platform.clone());
            }
        }
    }
    if platforms.is_empty() {
        return providers;
    }
    let covers_no_others = checked
        .iter()
        .all(|report| h1_count(report) <= platforms.len());
    if locked.prepared.platforms_are_named || covers_no_others {
        return format!("{providers} for {}", joined_with_and(&platforms));
    }

    let mut text = providers;
    if let Some(covered) = covered_by_all(&checked)
        && !covered.is_empty()
        && covered != platforms
    {
        let _ = write!(text, ", covered: {}", joined_with_and(&covered));
    }
    text + &format!(", checked now: {}", joined_with_and(&platforms))
}

/// The platforms that the entries of all these providers cover; none unless the platform of each
/// `h1:` is known.
fn covered_by_all(reports: &[&ProviderReport]) -> Option<BTreeSet<Platform>> {
    let mut all: Option<BTreeSet<Platform>> = None;
    for report in reports {
        let covered = report.covered.as_ref()?;
        all = Some(match all {
            Some(all) => &all & covered,
            None => covered.clone(),
        });
    }
    all
}

/// `not required: 2 entries, so tofu init -lockfile=readonly fails`, if there are any.
fn words_about_stale_entries(locked: &LockedRootModule) -> Option<String> {
    let reports = locked.outcome.providers.iter();
    let number = reports.filter(|report| is_stale(report)).count();
    if number == 0 {
        return None;
    }
    let unless = if locked.prepared.requirements.includes_state() {
        ""
    } else {
        ", unless a state needs them"
    };
    let entries = count(number, "entry");
    let program = locked.prepared.root.dialect;
    Some(format!(
        "not required: {entries}, so {program} init -lockfile=readonly fails{unless}"
    ))
}

/// `2 modules (1 added, 1 changed)`; `None` if none changed.
fn words_about_modules(locked: &LockedRootModule) -> Option<String> {
    let changes = &locked.module_changes;
    let mut parts = Vec::new();
    for (kind, word) in CHANGES {
        if kind != EntryChange::Unchanged {
            let number = changes
                .iter()
                .filter(|change| change.change == kind)
                .count();
            parts.push((number, word));
        }
    }
    let parts = non_zero_numbers(parts);
    if parts.is_empty() {
        return None;
    }
    let present = changes.iter().filter(|change| change.new.is_some()).count();
    Some(format!("{} ({parts})", count(present, "module")))
}

/// Returns the last column: the origin of the entry, and its changes.
fn origin_and_changes(report: &ProviderReport, row: &Row<'_>, advice: Option<&str>) -> String {
    let mut parts = Vec::new();
    // The versions have a column; only a downgrade needs words as well.
    if let Some(change) = row.version_change
        && change.direction == Direction::Downgrade
    {
        parts.push(change.to_string());
    }
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
        parts.extend(words_about_hashes(report, row));
        if let Some(AsText(constraints)) = row.constraints.changed() {
            if constraints.is_empty() {
                parts.push("constraints removed".to_owned());
            } else {
                parts.push(format!("constraints {constraints}"));
            }
        }
    } else {
        parts.extend(row.hash_counts.new.map(|counts| counts.to_string()));
    }
    parts.extend(advice.map(str::to_owned));
    parts.join(", ")
}

/// `h1 for darwin_arm64 added`, and the numbers of other hashes that were added or removed.
fn words_about_hashes(report: &ProviderReport, row: &Row<'_>) -> Vec<String> {
    let added = &row.hashes.added;
    let mut platforms = Vec::new();
    let mut h1_of_platforms = BTreeSet::new();
    for (platform, package) in report.packages.iter() {
        if added.contains(&package.h1) {
            platforms.push(platform.to_string());
            h1_of_platforms.insert(&package.h1);
        }
    }

    let mut changes = Vec::new();
    if !platforms.is_empty() {
        changes.push(format!("h1 for {} added", joined_with_and(&platforms)));
    }
    for (number, verb) in [
        (added.len() - h1_of_platforms.len(), "added"),
        (row.hashes.removed.len(), "removed"),
    ] {
        if number > 0 {
            changes.push(format!("{} {verb}", count(number, "hash")));
        }
    }
    changes
}
