//! The finding about a lock file that a change makes one of the other tool.

use super::audited_root::{AuditedRoot, FileState};
use crate::diagnostic::{Diagnostic, Help, Location, Reason, RunOption};
use crate::lockfile;
use crate::project::root_module::{DialectReason, RootModule};

/// A lock file for the tool of the other dialect, which loads other files and takes packages from
/// elsewhere, or a lock file that determines no dialect any more, so that later changes could
/// choose it.
pub(super) fn check(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let RootModule {
        dialect,
        dialect_reason,
        lock_path,
        lock_bytes,
        ..
    } = root.module;
    let is_chosen = matches!(
        dialect_reason,
        DialectReason::Named | DialectReason::Settings
    );
    let Some((base, now)) = root.base.as_ref().zip(lock_bytes.as_deref()) else {
        return Vec::new();
    };
    let what = match lockfile::detect_dialect(now) {
        _ if is_chosen => return Vec::new(),
        Some(now) if now != *dialect => format!("is for {} now", now.name()),
        None if root.state == FileState::Readable
            && lockfile::detect_dialect(base.providers.bytes).is_some() =>
        {
            format!("does not show any more that it is for {}", dialect.name())
        }
        _ => return Vec::new(),
    };
    let rules = format!(
        "this change is checked by the rules of {}, as the base is",
        dialect.name()
    );
    let finding =
        Diagnostic::not_decided(Reason::DialectChanged, "").at(Location::of_file(lock_path), "");
    let finding = finding.naming(lock_path, |path| format!("{path} {what}; {rules}"));
    let help =
        Help::text("if this is intended, set the dialect in provlock.toml first, or pass it with ");
    vec![finding.help(help.and(RunOption::Dialect(dialect.other())))]
}
