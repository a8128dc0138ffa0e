//! The finding about a lock file that a change makes one of the other tool.
//!
//! Code: `not-decided`.

use super::audited_root::{AuditedRoot, FileState};
use crate::diagnostic::{Diagnostic, Help, Location, Message, Reason, RunOption};
use crate::lockfile;
use crate::project::root_module::{DialectReason, RootModule};

/// Reports a lock file that the change makes one of the other tool, or that no longer shows for
/// which tool it is.
///
/// The other tool loads other files and takes packages from elsewhere. A file that shows none would
/// let later changes choose.
pub(super) fn check_dialect(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let RootModule {
        dialect,
        dialect_reason,
        lock_path,
        lock_bytes,
        ..
    } = root.module;
    // The user has chosen the dialect.
    if matches!(
        dialect_reason,
        DialectReason::Named | DialectReason::Settings
    ) {
        return Vec::new();
    }
    let Some(base) = &root.base else {
        return Vec::new();
    };
    let Some(now) = lock_bytes else {
        return Vec::new();
    };
    let showed_dialect = lockfile::detect_dialect(base.lock_file.bytes).is_some();
    let difference = match lockfile::detect_dialect(now) {
        Some(other) if other != *dialect => format!("is for {} now", other.name()),
        None if root.lock_file_state == FileState::Readable && showed_dialect => {
            format!("does not show any more that it is for {}", dialect.name())
        }
        _ => return Vec::new(),
    };
    let rules = format!(
        "this change is checked by the rules of {}, as the base is",
        dialect.name()
    );
    let message = Message::naming(lock_path, |path| format!("{path} {difference}; {rules}"));
    let help =
        Help::text("if this is intended, set the dialect in provlock.toml first, or pass it with ");
    let finding = Diagnostic::not_decided(Reason::DialectChanged, message)
        .at_location(Location::of_file(lock_path))
        .help(help.and(RunOption::Dialect(dialect.other())));
    vec![finding]
}
