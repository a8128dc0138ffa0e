//! The finding about a Terragrunt unit that a change adds to a root module.
//!
//! Code: `not-decided`.

use super::audited_root::AuditedRoot;
use crate::diagnostic::{Diagnostic, Message, Reason};

/// Returns the finding about a Terragrunt unit that replaces a root module, or overwrites files of
/// the directory.
pub(super) fn check_added_units(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let directories = root.module.former_roots(root.module_cache);
    let Some(directory) = directories.first() else {
        return Vec::new();
    };
    let message = Message::naming(directory, |directory| {
        format!(
            "the change lets Terragrunt run the root module in {directory}, which is checked with and without it"
        )
    });
    let finding = Diagnostic::not_decided(Reason::UnitAdded, message);
    vec![finding.help("make sure that Terragrunt should run it from now on")]
}
