//! Providers without a source in `required_providers`. They are assumed to be hashicorp's, although the lock file may
//! have one of the same type from elsewhere.

use crate::configuration::{DeclarationKind, Requirement};
use crate::diagnostic::Diagnostic;
use crate::lockfile::{Entry, LockFile};
use crate::provider::{Dialect, ProviderAddress};

/// Whether no `required_providers` block names the provider.
pub(in crate::project) fn is_implied(requirement: &Requirement) -> bool {
    let is_explicit = |kind| matches!(kind, DeclarationKind::RequiredProviders | DeclarationKind::State);
    !requirement.declarations.iter().any(|declaration| is_explicit(declaration.kind))
}

/// The only entry that such a provider can be meant to be.
pub(in crate::project) fn namesake<'a>(
    address: &ProviderAddress,
    requirement: &Requirement,
    lock_file: &'a LockFile,
) -> Option<&'a Entry> {
    let is_other = |entry: &&Entry| entry.address.name == address.name && entry.address.namespace != address.namespace;
    let others: Vec<_> = lock_file.entries().iter().filter(is_other).collect();
    match others[..] {
        [entry] if is_implied(requirement) => Some(entry),
        _ => None,
    }
}

/// Adds why the provider is assumed to be one of hashicorp.
pub(in crate::project) fn explained(error: Diagnostic) -> Diagnostic {
    error.note("required_providers has no source for it, so it is assumed to be a hashicorp provider")
}

/// Adds the missing source, taken from the entry that is probably meant.
pub(in crate::project) fn with_source(error: Diagnostic, entry: &Entry, dialect: Dialect) -> Diagnostic {
    let name = &entry.address.name;
    let help = format!("add {name} = {{ source = \"{}\" }} to required_providers", entry.address.short(dialect));
    error.at(entry.block.clone(), "this one is locked").help(help)
}
