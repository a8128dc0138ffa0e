//! Hints after the results of `lock` and `upgrade`: facts about root modules, one line for each
//! however many root modules share it.

use std::collections::{BTreeSet, HashSet};

use provlock::diagnostic::words::first_few;
use provlock::lockfile::EntryChange;
use provlock::project::plan::ProviderReport;
use provlock::project::{DialectReason, LockedRootModule, RootModule};
use provlock::provider::{Dialect, Platform};
use provlock::settings::PlatformSelection;

use super::lock::{find_not_covered, h1_count};
use super::verify::platforms_in_words;

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
    CheckedOnly(String),
    /// `--check` did not compare these platforms of the settings.
    NotCheckedNow(String),
    /// A new lock file is for this dialect, which was guessed.
    GuessedDialect(Dialect, DialectReason),
    /// Terragrunt would use an older lock file in this directory.
    StaleCache(String),
}

/// Returns the hints of `lock` and `upgrade` about a root module.
pub(crate) fn hints_about_root(locked: &LockedRootModule, is_offline: bool) -> Vec<Hint> {
    let RootModule {
        dialect,
        dialect_reason,
        lock_bytes,
        ..
    } = &locked.prepared.root;
    let mut hints = Vec::new();
    // Offline, a new entry has only hashes of packages in the cache.
    if is_offline && locked.changed && locked.outcome.providers.iter().any(is_new_from_cache) {
        hints.push(Hint::Incomplete);
    }
    // A lock file that existed has shown the dialect already.
    if locked.written && lock_bytes.is_none() && dialect_reason.is_guess() {
        hints.push(Hint::GuessedDialect(*dialect, *dialect_reason));
    }
    if locked.changed
        && locked.written
        && let Some(cache) = locked.prepared.root.stale_cache()
    {
        hints.push(Hint::StaleCache(cache.display().to_string()));
    }
    hints
}

fn is_new_from_cache(report: &ProviderReport) -> bool {
    let is_new = matches!(
        report.difference.change,
        EntryChange::Added | EntryChange::Changed
    );
    is_new && !report.packages.is_empty()
}

/// Returns the hints of `lock` alone about a root module.
pub(crate) fn lock_hints(locked: &LockedRootModule, is_check: bool) -> Vec<Hint> {
    let providers = &locked.outcome.providers;
    let mut hints = Vec::new();
    let is_written_unnamed =
        !locked.prepared.platforms_are_named && locked.changed && locked.written;
    // An entry with one `h1:` covers the platform of this machine only.
    if is_written_unnamed
        && providers.iter().any(|report| {
            report.difference.change != EntryChange::Unchanged && h1_count(report) == 1
        })
    {
        hints.push(Hint::OnePlatform);
    }
    let not_covered = providers
        .iter()
        .find_map(|report| find_not_covered(locked, report));
    hints.extend(not_covered.cloned().map(Hint::NotCovered));
    if is_check {
        hints.extend(hint_about_uncompared_platforms(locked));
    }
    hints
}

/// Returns the hint about the platforms that `--check` did not compare: platforms of the settings
/// that were not requested, or, if no platforms were requested, all others. `None` if all of the
/// settings were compared, or the settings have none.
fn hint_about_uncompared_platforms(locked: &LockedRootModule) -> Option<Hint> {
    let of_settings = &locked.prepared.root.settings.platforms;
    let compared = &locked.prepared.platforms;
    if !locked.prepared.platforms_are_named {
        return Some(Hint::CheckedOnly(platforms_in_words(compared)));
    }
    match (of_settings, compared) {
        (Some(PlatformSelection::These(of_settings)), PlatformSelection::These(compared)) => {
            let mut others = of_settings.clone();
            others.retain(|platform| !compared.contains(platform));
            if others.is_empty() {
                return None;
            }
            Some(Hint::NotCheckedNow(platforms_in_words(
                &PlatformSelection::These(others),
            )))
        }
        (Some(PlatformSelection::All), PlatformSelection::These(_)) => {
            Some(Hint::NotCheckedNow("the other platforms".to_owned()))
        }
        _ => None,
    }
}

/// Returns a line for each kind of hint, and for each guessed dialect. Of several hints of a kind,
/// such as about different platforms, the first has the line. `suggest` writes a command.
pub(crate) fn lines_of_hints(
    hints: &BTreeSet<Hint>,
    suggest: impl Fn(&[&str]) -> String,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown_kinds = HashSet::new();
    for hint in hints {
        let is_first = shown_kinds.insert(std::mem::discriminant(hint));
        if !is_first && !matches!(hint, Hint::GuessedDialect(..)) {
            continue;
        }
        lines.push(match hint {
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
            Hint::CheckedOnly(platforms) => {
                let lock = suggest(&["lock", "--check", "-p", "all"]);
                format!(
                    "Checked now: {platforms} only; set platforms in provlock.toml, or, for all: {lock}"
                )
            }
            Hint::NotCheckedNow(platforms) => {
                format!("Not checked now: {platforms}, which provlock.toml lists but -p does not")
            }
            Hint::GuessedDialect(dialect, reason) => line_about_guess(*dialect, *reason),
            Hint::StaleCache(_) => {
                let caches = first_few(hints.iter().filter_map(|hint| match hint {
                    Hint::StaleCache(cache) => Some(cache),
                    _ => None,
                }));
                format!(
                    "Terragrunt would keep using the older lock file in {caches}: delete that directory, or run Terragrunt \
                    with --source-update"
                )
            }
        });
    }
    lines
}

/// Returns the tool that a new lock file is for, the reason, and the flag for the other tool.
fn line_about_guess(dialect: Dialect, reason: DialectReason) -> String {
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
