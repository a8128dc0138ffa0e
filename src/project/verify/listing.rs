//! Findings about facts that a registry lists of a provider as a whole.

use super::age;
use super::root::{Named, Root};
use super::verified::VerifiedRoot;
use crate::project::root_module::RootModule;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Asks about every provider if the policy depends on it, else about those whose dates are needed anyway.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some(online) = root.online else { return };
    let Some(listings) = online.listings else { return };
    let RootModule { settings, dialect, .. } = root.module;
    let policy = &settings.policy;
    let of_age: Vec<_> = age::new_versions(root).into_iter().map(|entry| &entry.address).collect();
    let is_asked_for = |named: &Named<'_>| policy.judges_listings() || of_age.contains(&named.address);
    let check = |named: Named<'_>| {
        let errors = listings.against(named.address, policy, *dialect, online.source);
        let found = errors.into_iter().chain(listings.warnings(named.address));
        found.map(|finding| named.place(finding)).collect::<Vec<_>>()
    };
    let named = root.named().filter(is_asked_for).collect();
    report.findings.extend(parallel::map(named, WAITING_REQUESTS, check).into_iter().flatten());
}
