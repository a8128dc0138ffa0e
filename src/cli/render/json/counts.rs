//! How many root modules a run looked at, and how many it did not, as JSON.

use provlock::project::{Coverage, Kind, RootStatus};
use serde::Serialize;

/// What became of everything that was found, each root module counted once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "counts", deny_unknown_fields))]
pub(crate) struct Counts {
    /// Root modules but for units of Terragrunt's.
    root_modules: CountsOfKind,
    /// Units of Terragrunt's.
    units: CountsOfKind,
    /// Lock files in directories that are not root modules; --base looks at them, too.
    other_lock_files: CountsOfKind,
    /// Modules that a change touches and that no root module calls; --base looks at what they require.
    changed_modules: CountsOfKind,
}

/// How many there are of a kind.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "counts_of_kind", deny_unknown_fields))]
struct CountsOfKind {
    with_errors: usize,
    /// And without errors.
    with_warnings: usize,
    /// Without findings, but not everything could be checked.
    partly_checked: usize,
    /// With a lock file that was compared, and without findings.
    ok: usize,
    /// Without a lock file, and nothing says that there must be one.
    without_lock_file: usize,
    /// Without a lock file, which git would ignore.
    ignored: usize,
    /// Without a lock file, which would have nothing to lock.
    need_no_lock_file: usize,
    /// By `[roots]` of provlock.toml.
    excluded: usize,
    /// They could not be checked.
    failed: usize,
}

impl From<&Coverage> for Counts {
    fn from(coverage: &Coverage) -> Self {
        let [root_modules, units, other_lock_files, changed_modules] = Kind::ALL.map(|kind| {
            let number = |status| coverage.number(kind, status);
            CountsOfKind {
                with_errors: number(RootStatus::Errors),
                with_warnings: number(RootStatus::Warnings),
                partly_checked: number(RootStatus::PartlyChecked),
                ok: number(RootStatus::Ok),
                without_lock_file: number(RootStatus::NotLocked),
                ignored: number(RootStatus::Ignored),
                need_no_lock_file: number(RootStatus::NeedsNone),
                excluded: number(RootStatus::Excluded),
                failed: number(RootStatus::Failed),
            }
        });
        Self { root_modules, units, other_lock_files, changed_modules }
    }
}
