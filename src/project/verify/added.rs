//! Findings about providers, namespaces and hosts that are new in a change.

use super::root::{Named, Root};
use super::verified::VerifiedRoot;
use crate::diagnostic::{Code, Diagnostic};
use crate::project::change::KnownProviders;

/// Providers that are locked, or required by a line that the change adds, and that no lock file of the base contains.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some(known) = root.known_providers() else { return };
    let is_new = |named: &Named<'_>| !known.has(named.address) && is_of_the_change(root, named);
    let new = root.named().filter(is_new);
    report.findings.extend(new.flat_map(|named| check_address(root, known, named).map(move |one| named.place(one))));
}

/// Whether the change adds the provider. A provider that is not locked may have been required before.
fn is_of_the_change(root: &Root<'_>, named: &Named<'_>) -> bool {
    let declarations = named.requirement.map(|requirement| &requirement.declarations[..]).unwrap_or_default();
    let mut places = declarations.iter().flat_map(|one| one.source.iter().chain([&one.location]));
    named.entry.is_some() || places.any(|place| root.is_new(place))
}

fn check_address(
    root: &Root<'_>,
    known: &KnownProviders,
    Named { address, .. }: Named<'_>,
) -> impl Iterator<Item = Diagnostic> + use<> {
    let name = root.name(address);
    // The first lock file of a repository uses the default registry of its tool.
    let is_default = known.is_empty() && address.hostname.is_default_of(root.module.dialect);
    let host = (!known.has_host(&address.hostname) && !is_default).then(|| {
        let message = format!("the host {} is new: the base locks no provider from it", address.hostname);
        let help = "find out who runs the host, because it controls the packages";
        Diagnostic::finding(Code::HostAdded, message).help(help)
    });
    let namespace = (!known.has_namespace(address)).then(|| {
        let namespace = format!("{}/{}", address.hostname, address.namespace);
        let message = format!("the namespace {namespace} is new: the base locks no provider from it");
        Diagnostic::finding(Code::NamespaceAdded, message).help("find out whose namespace it is")
    });
    let message = format!("{name} is new: no lock file of the base contains it");
    let provider = Diagnostic::finding(Code::ProviderAdded, message);
    let provider = provider.help("make sure that this provider and its publisher are intended");
    [host, namespace, Some(provider)].into_iter().flatten()
}
