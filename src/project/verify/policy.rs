//! Findings about providers that the project's policy does not allow, and registry data about
//! providers.
//!
//! Codes: `host-not-allowed`, `namespace-not-allowed`, `provider-not-allowed`,
//! `version-not-allowed`, `look-alike`, `tier-not-allowed`, `provider-too-young`,
//! `provider-warning`.

use std::collections::BTreeSet;

use super::audited_root::{AuditedRoot, FileState, Named};
use super::version_too_young::new_versions;
use crate::diagnostic::Diagnostic;
use crate::lockfile::Entry;
use crate::project::similar_names::finding_imitation;
use crate::provider::Authentication;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Addresses and versions that the policy does not allow, and addresses that look like well-known
/// ones.
pub(super) fn check_addresses(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for named in root.named_providers() {
        findings.extend(check_address(root, named));
    }
    findings
}

fn check_address(root: &AuditedRoot<'_>, named: Named<'_>) -> Vec<Diagnostic> {
    let policy = &root.module.settings.policy;
    let dialect = root.module.dialect;
    let address = named.address;
    let mut errors = policy.against_address(address, dialect);
    if let Some(requirement) = named.requirement {
        errors.extend(policy.against_constraints(address, dialect, &requirement.constraints));
    }
    if let Some(entry) = named.entry {
        errors.extend(policy.against_version(address, dialect, &entry.locked.version));
    }
    let providers_of_base = root.base.as_ref().map(|base| &base.facts.providers);
    errors.extend(finding_imitation(
        address,
        policy,
        dialect,
        providers_of_base,
    ));
    errors
        .into_iter()
        .map(|error| named.add_locations(error))
        .collect()
}

/// Signatures of an entry's release that the policy does not accept.
pub(super) fn check_signature(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    authentication: &Authentication,
) -> Vec<Diagnostic> {
    let policy = &root.module.settings.policy;
    let release = root.release_name(entry);
    let errors = policy.against_signature(
        &entry.address,
        root.module.dialect,
        &release,
        authentication,
    );
    errors
        .into_iter()
        .map(|error| Named::of_entry(entry).add_locations(error))
        .collect()
}

/// Findings about what registries say of providers, several requested at a time: of every provider
/// if the policy depends on it, else of those with a new version, whose date is needed anyway. None
/// offline.
pub(super) fn check_registry_data(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    if root.lock_file_state != FileState::Readable {
        return Vec::new();
    }
    let Some(online) = root.online else {
        return Vec::new();
    };
    let Some(registry_data) = online.registry_data else {
        return Vec::new();
    };
    let policy = &root.module.settings.policy;
    let dialect = root.module.dialect;

    let mut with_dates = BTreeSet::new();
    for entry in new_versions(root) {
        with_dates.insert(&entry.address);
    }
    let mut providers = Vec::new();
    for named in root.named_providers() {
        let is_needed = policy.depends_on_registry_data() || with_dates.contains(named.address);
        if is_needed && root.is_requested(named.address) {
            providers.push(named);
        }
    }

    let results = parallel::map(providers, WAITING_REQUESTS, |named| {
        let mut findings =
            registry_data.policy_violations(named.address, policy, dialect, online.source);
        findings.extend(registry_data.registry_warnings(named.address));
        (named, findings)
    });
    let mut all = Vec::new();
    for (named, findings) in results {
        for finding in findings {
            all.push(named.add_locations(finding));
        }
    }
    all
}
