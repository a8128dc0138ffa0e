//! Whether a change may alter the requirements of a root module.

use std::path::Path;

use super::audited_root::AuditedRoot;
use super::base::BaseFacts;
use crate::project::reviewed_change::ReviewedChange;

/// Whether the change may alter what a root module requires: a file that was read for it, or that
/// may have been.
pub(super) fn may_be_affected(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let change = facts.change;
    let module = root.module;
    let declared = &root.declared;
    // Anything may be read through a link, so both readings are compared.
    if !change.altered_links.is_empty() {
        return true;
    }
    if is_touched(change, &module.canonical) || is_touched(change, &module.lock_directory) {
        return true;
    }
    if facts.may_alter_values(module) {
        return true;
    }
    for called in &declared.modules {
        if is_touched(change, &called.canonical) {
            return true;
        }
    }

    // Calls that cannot be read may depend on any file.
    let has_unknown = !declared.unknown_calls.is_empty() || !declared.variable_calls.is_empty();
    if has_unknown && change.alters_files_of_other_kinds() {
        return true;
    }
    for call in &declared.unknown_calls {
        if let Some(directory) = &call.directory
            && change.may_have_emptied(directory)
        {
            return true;
        }
    }
    if reads_altered_files(root, facts) {
        return true;
    }
    let mut units = module.units.iter();
    units.any(|unit| unit.reads_altered_unreadable_path(change))
}

/// Whether the change alters a file of a module or of its tests.
fn is_touched(change: &ReviewedChange, directory: &Path) -> bool {
    change.touched.contains(directory) || change.touched.contains(&directory.join("tests"))
}

/// Whether an unknown call, a call that depends on an input, or the place of the state depends on
/// files that the change alters.
fn reads_altered_files(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let declared = &root.declared;
    let mut reads = Vec::new();
    for call in &declared.unknown_calls {
        reads.push(&call.origin.files);
    }
    for call in &declared.variable_calls {
        reads.push(&call.origin.files);
    }
    for storage in &declared.storages {
        reads.push(&storage.reads);
    }
    reads.into_iter().any(|files| facts.may_alter_files(files))
}
