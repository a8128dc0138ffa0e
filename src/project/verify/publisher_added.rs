//! Findings about providers, namespaces, hosts and publishers of modules that the base does not
//! lock.

use super::affected::may_be_affected;
use super::audited_root::AuditedRoot;
use super::base::{Base, BaseFacts};
use crate::diagnostic::words::joined_with_and;
use crate::diagnostic::{Diagnostic, Location, Pattern, Reason, Severity};
use crate::lockfile::{Entry, EntryKind as _, LockedModule};
use crate::modules::locked;
use crate::provider::{AddressParts, ProviderAddress};

/// Providers that are locked, or required by a line that the change adds, and that no lock file of
/// the base contains.
pub(super) fn check_new_providers(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(Base { facts, .. }) = root.base else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for named in root.named_providers() {
        if facts.providers.contains(named.address) {
            continue;
        }
        // A provider that is not locked may have been required before.
        if named.entry.is_none()
            && (!may_be_affected(root, facts) || is_required_at_base(root, named.address))
        {
            continue;
        }
        for finding in findings_about_new_provider(root, facts, named.address) {
            findings.push(named.add_locations(finding));
        }
    }
    findings
}

/// Whether the root module requires a provider at the base.
pub(super) fn is_required_at_base(root: &AuditedRoot<'_>, address: &ProviderAddress) -> bool {
    let Some(base) = &root.base else {
        return false;
    };
    let before = base.requirements_before(root.module);
    before.providers.contains_key(address)
}

/// Findings about the host, the namespace and the name of a provider that the base does not lock.
fn findings_about_new_provider(
    root: &AuditedRoot<'_>,
    facts: &BaseFacts<'_>,
    address: &ProviderAddress,
) -> Vec<Diagnostic> {
    let AddressParts {
        hostname,
        namespace,
        ..
    } = &**address;
    let mut has_host = false;
    let mut has_namespace = false;
    for known in &facts.providers {
        if known.hostname == *hostname {
            has_host = true;
            has_namespace |= known.namespace == *namespace;
        }
    }
    let mut findings = Vec::new();

    // The first lock file of a repository uses the default registry of its tool.
    let is_default = facts.providers.is_empty() && hostname.is_default_of(root.module.dialect);
    if !has_host && !is_default {
        let message = format!("the host {hostname} is new: the base locks no provider from it");
        let mut finding = Diagnostic::publisher_added(Reason::HostAdded, message);
        if root.module.settings.policy.denies_new_hosts() {
            finding.severity = Severity::Error;
        }
        let help = "find out who runs the host, because it controls the packages";
        findings.push(finding.help(help));
    }

    if !has_namespace {
        let message = format!(
            "the namespace {hostname}/{namespace} is new: the base locks no provider from it"
        );
        let finding = Diagnostic::publisher_added(Reason::NamespaceAdded, message);
        findings.push(finding.help("find out whose namespace it is"));
    }

    let message = format!(
        "{} is new: no lock file of the base contains it",
        root.provider_name(address)
    );
    let finding = Diagnostic::publisher_added(Reason::ProviderAdded, message);
    findings.push(finding.help("make sure that this provider and its publisher are intended"));
    findings
}

/// Returns the findings about calls of publishers that the base does not use. Where the base locks
/// modules, entries are checked instead.
pub(super) fn check_module_publishers(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    let facts = base.facts;
    let are_entries_checked =
        root.module_lock_file.is_some() && !facts.module_publishers.is_empty();
    if are_entries_checked || !may_be_affected(root, facts) {
        return Vec::new();
    }
    let mut new = Vec::new();
    for call in root.declared.own_package_calls() {
        if let Some(request) = call.request()
            && let Some(publisher) = locked::publisher(&request)
            && !facts.module_publishers.contains(&publisher)
        {
            new.push((call, publisher));
        }
    }
    if new.is_empty() {
        return Vec::new();
    }
    // The base is read only for publishers that its lock files do not have: first this root module,
    // which is cheaper, then all.
    let before = base.requirements_before(root.module);
    new.retain(|(_, publisher)| !before.publishers.contains(publisher));
    if new.is_empty() {
        return Vec::new();
    }
    let called = &facts.readings.whole_base().publishers;
    new.retain(|(_, publisher)| !called.contains(publisher));

    let mut findings = Vec::new();
    for (call, publisher) in new {
        let origin = format!(" from {publisher}, which is new: the base calls no module from it");
        let name = call.name().into_owned();
        let is_host_known = called
            .iter()
            .any(|known| host_of_publisher(known) == host_of_publisher(&publisher));
        findings.push(finding_source_added(
            name,
            origin,
            &call.location,
            is_host_known,
        ));
    }
    findings
}

/// The finding about a module from a host or publisher from which the base neither locked nor
/// called a module. `None` if no lock file of the base contains modules:
/// [`check_module_publishers`] checks the calls then.
pub(super) fn finding_new_publisher(
    root: &AuditedRoot<'_>,
    entry: &Entry<LockedModule>,
) -> Option<Diagnostic> {
    let facts = root.base.as_ref()?.facts;
    let mut new = locked::publishers(&entry.locked);
    new.retain(|publisher| !facts.module_publishers.contains(publisher));
    if facts.module_publishers.is_empty() || new.is_empty() {
        return None;
    }
    // The base is read only for publishers that its lock files do not have.
    let called = &facts.readings.whole_base().publishers;
    new.retain(|publisher| !called.contains(publisher));
    if new.is_empty() {
        return None;
    }
    let name = LockedModule::label_name(&entry.address).into_owned();
    let origin = format!(
        " from {}, which is new: the base locks no module from it",
        joined_with_and(&new)
    );
    let mut known = facts.module_publishers.iter().chain(called);
    let is_host_known = known.any(|known| {
        new.iter()
            .all(|new| host_of_publisher(new) == host_of_publisher(known))
    });
    Some(finding_source_added(
        name,
        origin,
        entry.source(),
        is_host_known,
    ))
}

/// The finding about a module of a new publisher. The findings about all its modules are folded.
/// A new host is a warning.
fn finding_source_added(
    name: String,
    origin: String,
    location: &Location,
    is_host_known: bool,
) -> Diagnostic {
    let pattern = Pattern::text("")
        .and_names("module", [name])
        .and_verb(" comes", " come")
        .and_text(origin);
    let mut finding = Diagnostic::publisher_added(Reason::ModuleSourceAdded, pattern);
    if !is_host_known {
        finding.severity = Severity::Warning;
    }
    finding
        .at_location(location.clone())
        .help("make sure that you trust the publisher")
}

/// The host of a publisher of modules, such as `github.com` of `github.com/acme`.
fn host_of_publisher(publisher: &str) -> &str {
    let start = publisher
        .find("://")
        .map_or(0, |scheme| scheme + "://".len());
    match publisher[start..].find('/') {
        Some(end) => &publisher[..start + end],
        None => publisher,
    }
}
