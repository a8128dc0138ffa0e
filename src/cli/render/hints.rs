//! Hints after the results of `lock` and `upgrade`: facts about root modules, one line for each
//! however many root modules share it.

use std::collections::BTreeSet;

use provlock::diagnostic::words::few;
use provlock::lockfile::EntryChange;
use provlock::project::plan::ProviderReport;
use provlock::project::{DialectReason, LockedRootModule, RootModule};
use provlock::provider::{Dialect, Platform};
use provlock::settings::PlatformSelection;

use super::lock::{h1_count, not_covered};
use super::verify::names;

/// Fact about a root module that was locked, in the order of the lines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    /// New entries contain only hashes of packages in the cache.
    Incomplete,
    /// An entry was written that may cover only the platform of this machine, and no platform was
    /// requested.
    OnePlatform,
    /// The lock file covers other platforms, but not this one.
    NotCovered(Platform),
    /// `--check` compared only these platforms, because no platform was requested.
    LookedAtOnly(String),
    /// `--check` did not compare these platforms of the settings.
    NotLookedAt(String),
    /// A new lock file is for this dialect, which was guessed.
    GuessedDialect(Dialect, DialectReason),
    /// Terragrunt would use an older lock file in this directory.
    StaleCache(String),
}

/// Returns the hints of `lock` and `upgrade` about a root module.
pub(crate) fn hints(locked: &LockedRootModule, is_offline: bool) -> Vec<Hint> {
    let RootModule {
        dialect,
        dialect_reason,
        lock_bytes,
        ..
    } = &locked.prepared.root;
    let is_new = |report: &ProviderReport| {
        matches!(
            report.difference.change,
            EntryChange::Added | EntryChange::Changed
        ) && !report.packages.is_empty()
    };
    let is_incomplete = is_offline && locked.changed && locked.outcome.providers.iter().any(is_new);
    let is_guessed = locked.written && lock_bytes.is_none() && dialect_reason.is_guess();
    let cache = if locked.changed && locked.written {
        locked.prepared.root.stale_cache()
    } else {
        None
    };
    let guessed = is_guessed.then_some(Hint::GuessedDialect(*dialect, *dialect_reason));
    let cache = cache.map(|cache| Hint::StaleCache(cache.display().to_string()));
    is_incomplete
        .then_some(Hint::Incomplete)
        .into_iter()
        .chain(guessed)
        .chain(cache)
        .collect()
}

/// Returns the hints of `lock` alone about a root module.
pub(crate) fn lock_hints(locked: &LockedRootModule, is_check: bool) -> impl Iterator<Item = Hint> {
    let providers = &locked.outcome.providers;
    let is_for_one = |report: &ProviderReport| {
        report.difference.change != EntryChange::Unchanged && h1_count(report) == 1
    };
    let is_unnamed = !locked.prepared.platforms_are_named;
    let is_for_one =
        is_unnamed && locked.changed && locked.written && providers.iter().any(is_for_one);
    let not_covered = providers
        .iter()
        .find_map(|report| not_covered(locked, report));
    let not_compared = is_check.then(|| not_compared(locked)).flatten();
    let one = is_for_one.then_some(Hint::OnePlatform);
    one.into_iter()
        .chain(not_covered.cloned().map(Hint::NotCovered))
        .chain(not_compared)
}

/// Returns the platforms that `--check` did not compare, as far as they are known: platforms of the
/// settings, or any other platform if none was requested.
fn not_compared(locked: &LockedRootModule) -> Option<Hint> {
    let (settings, compared) = (
        &locked.prepared.root.settings.platforms,
        &locked.prepared.platforms,
    );
    if !locked.prepared.platforms_are_named {
        return Some(Hint::LookedAtOnly(names(compared)));
    }
    match (settings, compared) {
        (Some(PlatformSelection::These(named)), PlatformSelection::These(compared)) => {
            let others: Vec<_> = named
                .iter()
                .filter(|platform| !compared.contains(platform))
                .cloned()
                .collect();
            (!others.is_empty())
                .then(|| Hint::NotLookedAt(names(&PlatformSelection::These(others))))
        }
        (Some(PlatformSelection::All), PlatformSelection::These(_)) => {
            Some(Hint::NotLookedAt("the other platforms".to_owned()))
        }
        _ => None,
    }
}

/// Returns a line for each hint, of several about platforms only for the first. `suggest` writes a
/// command.
pub(crate) fn lines(hints: &BTreeSet<Hint>, suggest: impl Fn(&[&str]) -> String) -> Vec<String> {
    let line = |hint: &Hint| match hint {
        Hint::Incomplete => {
            let lock = suggest(&["lock"]);
            format!(
                "The new entries contain only hashes of packages in the cache; to complete them, with network: {lock}"
            )
        }
        Hint::OnePlatform => {
            "Other platforms: in provlock.toml, platforms = [\"linux_amd64\", \"darwin_arm64\"]"
                .to_owned()
        }
        Hint::NotCovered(platform) => {
            let lock = suggest(&["lock", "-p", &platform.to_string()]);
            format!("The lock file does not cover {platform}; to add it: {lock}")
        }
        Hint::LookedAtOnly(platforms) => {
            let lock = suggest(&["lock", "--check", "-p", "all"]);
            format!(
                "Checked now: {platforms} only; set platforms in provlock.toml, or, for all: {lock}"
            )
        }
        Hint::NotLookedAt(platforms) => {
            format!("Not checked now: {platforms}, which provlock.toml lists but -p does not")
        }
        Hint::GuessedDialect(dialect, reason) => guessed(*dialect, *reason),
        Hint::StaleCache(_) => {
            let caches = few(hints.iter().filter_map(|hint| match hint {
                Hint::StaleCache(cache) => Some(cache),
                _ => None,
            }));
            format!(
                "Terragrunt would keep using the older lock file in {caches}: delete that directory, or run Terragrunt \
                with --source-update"
            )
        }
    };
    let is_shown = |(index, hint): &(usize, &Hint)| {
        let is_same_kind =
            |other: &Hint| std::mem::discriminant(other) == std::mem::discriminant(*hint);
        matches!(hint, Hint::GuessedDialect(..))
            || hints.iter().position(is_same_kind) == Some(*index)
    };
    hints
        .iter()
        .enumerate()
        .filter(is_shown)
        .map(|(_, hint)| line(hint))
        .collect()
}

/// Returns the tool that a new lock file is for, the reason, and the flag for the other tool.
fn guessed(dialect: Dialect, reason: DialectReason) -> String {
    let (tool, other) = match dialect {
        Dialect::Tofu => ("OpenTofu", Dialect::Terraform),
        Dialect::Terraform => ("Terraform", Dialect::Tofu),
    };
    let host = dialect.default_host_name();
    let why = match reason {
        DialectReason::OtherLockFiles => "like the nearest other lock files",
        DialectReason::Mentioned => "because a tracked file mentions OpenTofu",
        DialectReason::NotMentioned => "because no tracked file mentions OpenTofu",
        DialectReason::Program => "the only program in PATH",
        DialectReason::GitFailed => "because git cannot list the files that may mention Terraform",
        _ => "because nothing here mentions Terraform",
    };
    format!("Locked for {tool} ({host}), {why}; --dialect {other} changes that")
}
