//! Findings that depend on registry data: versions that are younger than the settings demand, and facts about a
//! provider as a whole.

use super::root::{FileState, Named, Root};
use super::verified::{VerifiedRoot, finding};
use crate::diagnostic::{Code, Diagnostic, Remedy, Severity};
use crate::lockfile::Entry;
use crate::packages::DemandedAge;
use crate::project::root_module::RootModule;
use crate::settings::Settings;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Checks the age of every version that the change brings.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some(demanded) = root.min_age else { return };
    let check = |entry| check_entry(root, entry, demanded);
    report.findings.extend(parallel::map(new_versions(root), WAITING_REQUESTS, check).into_iter().flatten());
}

/// Entries with a version that the lock file of the base does not have. If that file cannot be read, all versions are
/// new.
fn new_versions<'a>(root: &'a Root<'_>) -> Vec<&'a Entry> {
    let RootModule { settings, dialect, .. } = root.module;
    let before = root.lock_file_before();
    let is_new = |entry: &&Entry| {
        let before = before.and_then(|before| before.locks().get(&entry.address));
        let is_known = before.is_some_and(|before| before.version == entry.locked.version);
        !is_known && !settings.policy.is_exempt_from_min_age(&entry.address, *dialect)
    };
    let has_changes = root.min_age.is_some() && root.base.is_some();
    if has_changes { root.entries().iter().filter(is_new).collect() } else { Vec::new() }
}

fn check_entry(root: &Root<'_>, entry: &Entry, demanded: DemandedAge) -> Option<Diagnostic> {
    let release = root.release(entry);
    let place = |message| finding(Code::VersionTooYoung, message, entry.version(), "");
    let Some((listings, source)) = root.online.and_then(|online| Some((online.listings?, online.source))) else {
        let warning = place(format!("{release} is new, and its age was not checked against min-age"));
        return Some(Diagnostic { severity: Severity::Warning, ..warning }.help(Remedy::verify_online()));
    };
    let not_old_enough =
        demanded.rejects(|| listings.dates.published(&entry.address, &entry.locked.version, source))?;
    let error = place(format!("{release} may not be used yet: {}", not_old_enough.why));
    Some(error.help("wait until it is old enough, or lock an older version"))
}

/// Asks about every provider if the policy depends on it, else about those whose dates are needed anyway.
pub(super) fn registry_data(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some((online, listings)) = root.online.and_then(|online| Some((online, online.listings?))) else { return };
    if root.state != FileState::Readable {
        return;
    }
    let RootModule { settings: Settings { policy, .. }, dialect, .. } = root.module;
    let of_age: Vec<_> = new_versions(root).into_iter().map(|entry| &entry.address).collect();
    let is_asked_for = |named: &Named<'_>| policy.judges_listings() || of_age.contains(&named.address);
    let check = |named: Named<'_>| {
        let errors = listings.against(named.address, policy, *dialect, online.source);
        let found = errors.into_iter().chain(listings.warnings(named.address));
        found.map(|finding| named.place(finding)).collect::<Vec<_>>()
    };
    let named = root.named().filter(is_asked_for).collect();
    report.findings.extend(parallel::map(named, WAITING_REQUESTS, check).into_iter().flatten());
}
