//! Numbers of root modules that a run checked and did not check, as JSON.

use provlock::project::{Coverage, DirectoryKind, RootStatus};
use serde::Serialize;

/// Numbers of findings by result, each root module counted once.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "counts", deny_unknown_fields)
)]
pub(crate) struct Counts {
    /// Root modules except for Terragrunt units.
    root_modules: CountsOfKind,
    /// Terragrunt units.
    units: CountsOfKind,
    /// Lock files in directories that are not root modules; --base checks them, too.
    other_lock_files: CountsOfKind,
    /// Modules that a pull request changes and that no root module calls; --base checks their
    /// requirements.
    changed_modules: CountsOfKind,
}

/// Numbers of one kind.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "counts_of_kind", deny_unknown_fields)
)]
struct CountsOfKind {
    with_errors: usize,
    /// Number with warnings and without errors.
    with_warnings: usize,
    /// Number without findings that were not checked completely.
    partly_checked: usize,
    /// Number with a lock file that was compared, and without findings.
    ok: usize,
    /// Number without a lock file where none is known to be necessary.
    without_lock_file: usize,
    /// Number without a lock file, which git would ignore.
    ignored: usize,
    /// Number without a lock file, which would have no entry.
    need_no_lock_file: usize,
    /// Number excluded by `[roots]` of provlock.toml.
    excluded: usize,
    /// Number that could not be checked.
    failed: usize,
}

impl CountsOfKind {
    fn new(coverage: &Coverage, kind: DirectoryKind) -> Self {
        Self {
            with_errors: coverage.number(kind, RootStatus::Errors),
            with_warnings: coverage.number(kind, RootStatus::Warnings),
            partly_checked: coverage.number(kind, RootStatus::PartlyChecked),
            ok: coverage.number(kind, RootStatus::Ok),
            without_lock_file: coverage.number(kind, RootStatus::NotLocked),
            ignored: coverage.number(kind, RootStatus::Ignored),
            need_no_lock_file: coverage.number(kind, RootStatus::NeedsNone),
            excluded: coverage.number(kind, RootStatus::Excluded),
            failed: coverage.number(kind, RootStatus::Failed),
        }
    }
}

impl From<&Coverage> for Counts {
    fn from(coverage: &Coverage) -> Self {
        let [root_modules, units, other_lock_files, changed_modules] =
            DirectoryKind::ALL.map(|kind| CountsOfKind::new(coverage, kind));
        Self {
            root_modules,
            units,
            other_lock_files,
            changed_modules,
        }
    }
}
