//! Whether a change may alter the requirements of a root module.

use std::path::Path;

use super::audited_root::AuditedRoot;
use super::base::BaseFacts;
use crate::project::reviewed_change::ReviewedChange;

/// Whether the change may alter what a root module requires: a file that was read for it, or that
/// may have been.
pub(super) fn is_affected(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let change = facts.change;
    let module = root.module;
    let declared = &root.declared;
    if is_touched(change, &module.canonical)
        || is_touched(change, &module.lock_directory)
        || facts.may_alter_values(module)
    {
        return true;
    }
    let mut modules = declared.modules.iter();
    if modules.any(|module| is_touched(change, &module.canonical)) {
        return true;
    }

    // Parts that cannot be read may come from any file.
    let has_unknown = !declared.unknown.is_empty() || !declared.variable.is_empty();
    if has_unknown && change.alters_other_files() {
        return true;
    }
    for part in &declared.unknown {
        if let Some(directory) = &part.directory
            && change.empties(directory)
        {
            return true;
        }
    }
    let mut units = module.units.iter();
    reads_altered_files(root, facts) || units.any(|unit| unit.is_made_unreadable(change))
}

/// Whether the change alters a file of a module or of its tests.
fn is_touched(change: &ReviewedChange, directory: &Path) -> bool {
    change.touched.contains(directory) || change.touched.contains(&directory.join("tests"))
}

/// Whether an unknown part of a root module depends on files that the change alters.
fn reads_altered_files(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let declared = &root.declared;
    let mut reads = Vec::new();
    for part in &declared.unknown {
        reads.push(&part.origin.files);
    }
    for call in &declared.variable {
        reads.push(&call.origin.files);
    }
    for storage in &declared.storages {
        reads.push(&storage.reads);
    }
    reads
        .into_iter()
        .any(|files| facts.change.may_alter_files(files))
}
