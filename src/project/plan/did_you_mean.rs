//! Which provider is meant by an address that its registry does not know, and by one without a source: that is taken
//! for a provider of hashicorp, although the lock file may have one of the same type from elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use crate::configuration::{DeclarationKind, Requirement};
use crate::diagnostic::Diagnostic;
use crate::lockfile::{Entry, LockFile};
use crate::project::path_meant::path_meant;
use crate::project::well_known;
use crate::provider::{Dialect, ProviderAddress};

/// How many of the providers in the lock file and the configuration an address is compared with.
const MOST_COMPARED: usize = 1_000;

/// The provider, as it is written in a source: one of the lock file, of the configuration, or a well-known one. Its
/// name differs in few letters, or only in the namespace if the address has that of providers without a source.
pub(super) fn provider_meant(
    address: &ProviderAddress,
    lock_file: &LockFile,
    required: &BTreeMap<ProviderAddress, Requirement>,
    dialect: Dialect,
) -> Option<String> {
    let well_known: Vec<_> =
        well_known::providers().filter_map(|text| ProviderAddress::parse(text, dialect).ok()).collect();
    if well_known.contains(address) {
        return None;
    }
    let named = lock_file.locks().keys().chain(required.keys()).take(MOST_COMPARED).cloned();
    let known: Vec<_> =
        named.chain(well_known).filter(|known| known != address && known.hostname == address.hostname).collect();
    let near = known.iter().filter_map(|known| Some((distance(address, known)?, known))).min();
    let has_no_source = |known: &&ProviderAddress| address.namespace == "hashicorp" && known.name == address.name;
    let meant = near.map(|(_, known)| known).or_else(|| known.iter().find(has_no_source));
    meant.map(|known| known.short(dialect))
}

/// Help for a provider that is named on the command line and not required: a required provider with nearly the same
/// name, or a path, since a path that does not exist may look like the address of a provider.
pub(super) fn required_or_path(
    address: &ProviderAddress,
    required: &BTreeMap<ProviderAddress, Requirement>,
    dialect: Dialect,
) -> String {
    let others = required.keys().take(MOST_COMPARED).filter(|known| known.hostname == address.hostname);
    let near = others.clone().filter_map(|known| Some((distance(address, known)?, known))).min();
    let has_no_namespace = address.namespace == "hashicorp" && address.hostname.is_default_of(dialect);
    let has_its_name = |known: &&ProviderAddress| has_no_namespace && address.name == known.name;
    if let Some(known) = near.map(|(_, known)| known).or_else(|| others.clone().find(has_its_name)) {
        return format!("did you mean {}?", known.short(dialect));
    }
    let typed = if has_no_namespace { address.name.clone() } else { address.short(dialect) };
    match path_meant(Path::new(&typed)) {
        Some(path) => format!("did you mean the path {}?", path.display()),
        None if has_no_namespace => {
            format!("choose a provider that required_providers lists; there is no file or directory {typed} either")
        }
        None => "choose a provider that required_providers lists".to_owned(),
    }
}

/// How many letters two addresses differ in, unless that is too many to take one for the other.
fn distance(one: &ProviderAddress, other: &ProviderAddress) -> Option<usize> {
    let parts = [(&one.namespace, &other.namespace), (&one.name, &other.name)];
    parts
        .into_iter()
        .map(|(one, other)| {
            let most = match other.chars().count() {
                0..3 => 0,
                3..8 => 1,
                _ => 2,
            };
            Some(strsim::osa_distance(one, other)).filter(|distance| *distance <= most)
        })
        .sum()
}

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

/// Says why the provider is taken for one of hashicorp.
pub(in crate::project) fn explained(error: Diagnostic) -> Diagnostic {
    error.note("required_providers has no source for it, so it is assumed to be a hashicorp provider")
}

/// Says which source is missing, if the entry is what is meant.
pub(in crate::project) fn with_source(error: Diagnostic, entry: &Entry, dialect: Dialect) -> Diagnostic {
    let name = &entry.address.name;
    let help = format!("add {name} = {{ source = \"{}\" }} to required_providers", entry.address.short(dialect));
    error.at(entry.block.clone(), "this one is locked").help(help)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_provider_whose_name_is_nearly_the_same_is_meant() {
        let lock_file = LockFile::empty(Path::new(".terraform.lock.hcl"), Dialect::Tofu);
        let address = |text| ProviderAddress::parse(text, Dialect::Tofu).unwrap();
        let required = BTreeMap::from([(address("acme/gamma"), Requirement::default())]);
        for (text, meant) in [
            ("hashicrop/aws", Some("hashicorp/aws")),
            ("hashicorp/kuberentes", Some("hashicorp/kubernetes")),
            ("hashicorp/azurrm", Some("hashicorp/azurerm")),
            ("acme/gama", Some("acme/gamma")),
            ("hashicorp/datadog", Some("datadog/datadog")),
            ("acme/gamma", None),
            ("acme/beta", None),
            ("acme/aws", None),
            ("hashicorp/aws", None),
            ("registry.example.com/hashicrop/aws", None),
        ] {
            let found = provider_meant(&address(text), &lock_file, &required, Dialect::Tofu);
            assert_eq!(found.as_deref(), meant, "{text}");
        }
    }
}
