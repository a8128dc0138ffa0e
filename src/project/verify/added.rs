//! Findings about providers that a change brings.

use super::subject::{Named, Subject};
use crate::diagnostic::{Code, Diagnostic};
use crate::project::change::KnownProviders;

/// What is locked, or required in a line that the change adds, and no lock file of the base names.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(known) = subject.request.known else { return Vec::new() };
    let is_new = |named: &Named<'_>| !known.has(named.address) && is_of_the_change(subject, named);
    let new = subject.named().filter(is_new);
    new.flat_map(|named| judge(subject, known, named).map(move |finding| named.place(finding))).collect()
}

/// Whether the change names it: what is not locked may have been required before.
fn is_of_the_change(subject: &Subject<'_>, named: &Named<'_>) -> bool {
    let declarations = named.requirement.map(|requirement| &requirement.declarations[..]).unwrap_or_default();
    let mut places = declarations.iter().flat_map(|one| one.source.iter().chain([&one.location]));
    named.entry.is_some() || places.any(|place| (subject.request.is_new)(place))
}

fn judge(
    subject: &Subject<'_>,
    known: &KnownProviders,
    Named { address, .. }: Named<'_>,
) -> impl Iterator<Item = Diagnostic> + use<> {
    let name = subject.name(address);
    // A repository that begins to lock does so in the registry of its program.
    let is_default = known.is_empty() && address.hostname.is_default_of(subject.request.root.dialect);
    let host = (!known.has_host(&address.hostname) && !is_default).then(|| {
        let message = format!("the host {} is new: the base locks no provider from it", address.hostname);
        let help = "find out who runs the host; it decides what its packages are";
        Diagnostic::finding(Code::HostAdded, message).help(help)
    });
    let namespace = (!known.has_namespace(address)).then(|| {
        let namespace = format!("{}/{}", address.hostname, address.namespace);
        let message = format!("the namespace {namespace} is new: the base locks no provider from it");
        Diagnostic::finding(Code::NamespaceAdded, message).help("find out whose namespace it is")
    });
    let message = format!("{name} is new: the base locks it nowhere");
    let provider = Diagnostic::finding(Code::ProviderAdded, message);
    let provider = provider.help("make sure that this provider is meant, and that its publisher is");
    [host, namespace, Some(provider)].into_iter().flatten()
}
