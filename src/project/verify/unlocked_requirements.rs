//! Decisions about requirements of providers that no lock file fixes, so that `init` installs what
//! the requirements allow.
//!
//! Code: `decision-changed`.

use std::collections::BTreeSet;

use super::affected::may_be_affected;
use super::audited_root::{AuditedRoot, FileState};
use super::base::Base;
use super::decisions::{decision_note, is_new_root};
use crate::configuration::Requirement;
use crate::diagnostic::{Diagnostic, Location};
use crate::project::coverage::DirectoryKind;
use crate::provider::{ConstraintList, ProviderAddress};

/// Returns a note for each provider that neither revision locks, and that is required in a
/// different way than at the base.
pub(super) fn check_unlocked_requirements(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    // A module is no root module, and its callers have its requirements.
    let is_root = ![DirectoryKind::ChangedModule, DirectoryKind::OtherLockFile]
        .contains(&root.module.found.kind);
    let is_readable = root.lock_file_state != FileState::Unreadable;
    if !is_root || !is_readable || is_new_root(root, base) || !may_be_affected(root, base.facts) {
        return Vec::new();
    }
    let before = base.requirements_before(root.module);
    let declared = &root.declared;
    let mut addresses: BTreeSet<&ProviderAddress> = declared.providers.keys().collect();
    // A part that is not known may still require the provider.
    if !declared.is_incomplete {
        addresses.extend(before.providers.keys());
    }
    let mut notes = Vec::new();
    for address in addresses {
        if is_locked(root, base, address) {
            continue;
        }
        let name = root.provider_name(address);
        let requirement = declared.providers.get(address);
        let old = before.providers.get(address);
        let message = match (old, requirement) {
            (Some(old), Some(new)) if *old == new.constraints => continue,
            (Some(old), Some(new)) => {
                let old = shown(old);
                let new = shown(&new.constraints);
                format!("the requirement of {name}, which is not locked: {old} → {new}")
            }
            // A finding about a new provider says the same.
            (None, Some(_)) if !base.facts.providers.contains(address) => continue,
            (None, Some(new)) => {
                let new = shown(&new.constraints);
                format!("{name} ({new}) is required, and not locked")
            }
            // The base may be read in both dialects.
            (Some(_), None) if address.hostname.is_default_of(root.module.dialect.other()) => {
                continue;
            }
            (Some(_), None) => format!("{name} is no longer required"),
            (None, None) => continue,
        };
        let note = decision_note(message, &location(root, requirement));
        notes.push(note.about(address));
    }
    notes
}

/// Whether a lock file of either revision has an entry for a provider.
fn is_locked(root: &AuditedRoot<'_>, base: &Base<'_>, address: &ProviderAddress) -> bool {
    if root.lock_file.locks().contains_key(address) {
        return true;
    }
    match &base.lock_file.parsed().lock_file {
        Some(before) => before.locks().contains_key(address),
        None => false,
    }
}

/// The location of a version that is required, or of the root module.
fn location(root: &AuditedRoot<'_>, requirement: Option<&Requirement>) -> Location {
    let declarations = requirement.map(|requirement| &requirement.declarations);
    match declarations.and_then(|declarations| declarations.first()) {
        Some(declaration) => declaration.location.clone(),
        None => Location::of_file(root.module.path()),
    }
}

fn shown(constraints: &ConstraintList) -> String {
    if constraints.is_empty() {
        return "any version".to_owned();
    }
    constraints.to_string()
}
