//! Findings about what a registry says of a provider as a whole.

use super::age;
use super::subject::{Named, Online, Subject};
use crate::diagnostic::Diagnostic;
use crate::project::root_module::RootModule;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Asks about every provider where the policy depends on it, else about those whose dates are asked for anyway.
pub(super) fn check(subject: &Subject<'_>, online: Online<'_>) -> Vec<Diagnostic> {
    let Some(listings) = online.listings else { return Vec::new() };
    let RootModule { settings, dialect, .. } = subject.request.root;
    let policy = &settings.policy;
    let of_age: Vec<_> = age::judged(subject).into_iter().map(|entry| &entry.address).collect();
    let is_asked_for = |named: &Named<'_>| policy.judges_listings() || of_age.contains(&named.address);
    let judge = |named: Named<'_>| {
        let errors = listings.against(named.address, policy, *dialect, online.source);
        let found = errors.into_iter().chain(listings.warnings(named.address));
        found.map(|finding| named.place(finding)).collect::<Vec<_>>()
    };
    let named = subject.named().filter(is_asked_for).collect();
    parallel::map(named, WAITING_REQUESTS, judge).into_iter().flatten().collect()
}
