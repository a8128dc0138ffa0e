//! The finding about root modules that share a lock file although they require different providers.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, FileState};
use crate::diagnostic::words::{MOST_NAMED, first_few};
use crate::diagnostic::{Code, Diagnostic, Location};

/// Warns that OpenTofu and Terraform cannot share a file whose providers not all root modules
/// require. Only the first of the root modules with the file has the warning. `init` writes the
/// providers of one root module, and a file of its own in place of a link.
pub(super) fn check_shared_lock_file(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let requirements = root.requirements();
    let by_root = &requirements.by_root;
    let Some(lock_file) = &root.module.found.linked_lock_file else {
        return Vec::new();
    };
    if root.lock_file_state != FileState::Readable || root.module.found.is_sharing_reported {
        return Vec::new();
    }
    // Unknown modules may require the missing providers.
    if requirements.is_incomplete {
        return Vec::new();
    }
    let required: BTreeSet<_> = by_root.values().flatten().collect();
    // Providers that only some root modules require, by the names of these.
    let mut by_requiring = BTreeMap::<String, Vec<String>>::new();
    for address in required {
        let mut requiring = Vec::new();
        for (path, addresses) in by_root {
            if addresses.contains(address) {
                requiring.push(path.display());
            }
        }
        if requiring.len() < by_root.len() {
            let addresses = by_requiring.entry(first_few(requiring)).or_default();
            addresses.push(root.provider_name(address));
        }
    }
    if by_requiring.is_empty() {
        return Vec::new();
    }

    let paths: Vec<_> = by_root.keys().map(|path| path.display()).collect();
    let tool = root.module.dialect.name();
    let message = format!(
        "{} share the lock file {}, but require different providers",
        first_few(paths),
        lock_file.display()
    );
    let mut warning = Diagnostic::finding(Code::SharedLockFile, message)
        .at_location(Location::of_file(&root.module.lock_path));
    for (requiring, addresses) in by_requiring.iter().take(MOST_NAMED) {
        warning = warning.note(format!(
            "required only by {requiring}: {}",
            first_few(addresses)
        ));
    }
    let warning = warning.note(format!(
        "{tool} init replaces the link by a file of its own, and {tool} init -lockfile=readonly fails"
    ));
    vec![warning.help(
        "give each of them a lock file of its own, or require the same providers in all of them",
    )]
}
