//! Whether a change may alter the requirements of a root module.

use std::path::Path;

use super::audited_root::AuditedRoot;
use super::base::BaseFacts;
use crate::configuration::UnknownCall;

/// Whether the change may alter what a root module requires: a file that was read for it, or that
/// may have been.
pub(super) fn is_affected(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let change = facts.change;
    let module = root.module;
    let is_touched = |directory: &Path| {
        change.touched.contains(directory) || change.touched.contains(&directory.join("tests"))
    };
    let mut called = root.declared.modules.iter();
    if is_touched(&module.canonical)
        || is_touched(&module.lock_directory)
        || called.any(|module| is_touched(&module.canonical))
        || facts.may_alter_values(module)
    {
        return true;
    }

    // Parts that cannot be read may come from any file.
    let declared = &root.declared;
    let has_unknown = !declared.unknown.is_empty() || !declared.variable.is_empty();
    let is_emptied = |unknown: &UnknownCall| match &unknown.directory {
        Some(directory) => change.empties(directory),
        None => false,
    };
    (has_unknown && change.alters_other_files())
        || declared.unknown.iter().any(is_emptied)
        || reads_altered_files(root, facts)
        || module
            .units
            .iter()
            .any(|unit| unit.is_made_unreadable(change))
}

/// Whether something that is not known for a root module depends on files that the change alters.
fn reads_altered_files(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>) -> bool {
    let change = facts.change;
    let declared = &root.declared;
    let mut unknown = declared.unknown.iter().map(|part| &part.origin.files);
    let mut variable = declared.variable.iter().map(|call| &call.origin.files);
    let mut storages = declared.storages.iter().map(|storage| &storage.reads);
    unknown.any(|files| change.may_alter_files(files))
        || variable.any(|files| change.may_alter_files(files))
        || storages.any(|files| change.may_alter_files(files))
}
