//! Findings about new versions that are younger than the policy allows.

use super::audited_root::{AuditedRoot, Online, finding_at};
use crate::diagnostic::{Code, Diagnostic, Remedy, Severity};
use crate::lockfile::Entry;
use crate::packages::DemandedAge;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Checks the age of every version that the change brings.
pub(super) fn check_ages(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(demanded) = root.min_age else {
        return Vec::new();
    };
    let mut entries = new_versions(root);
    entries.retain(|entry| root.is_requested(&entry.address));
    let findings = parallel::map(entries, WAITING_REQUESTS, |entry| {
        check_age(root, entry, demanded)
    });
    findings.into_iter().flatten().collect()
}

/// Entries with a version that the lock file of the base does not have. If that file cannot be
/// read, all versions are new. None without a minimum age or a base, and none that the policy
/// exempts from it.
pub(super) fn new_versions<'a>(root: &'a AuditedRoot<'_>) -> Vec<&'a Entry> {
    if root.min_age.is_none() || root.base.is_none() {
        return Vec::new();
    }
    let policy = &root.module.settings.policy;
    let before = root.lock_file_before();
    let mut entries = Vec::new();
    for entry in root.entries() {
        if policy.is_exempt_from_min_age(&entry.address, root.module.dialect) {
            continue;
        }
        // The age of a version was checked when the base was approved.
        if let Some(before) = before
            && let Some(old) = before.locks().get(&entry.address)
            && old.version == entry.locked.version
        {
            continue;
        }
        entries.push(entry);
    }
    entries
}

/// Returns the finding about a new entry that is not old enough, or, offline, whose age was not
/// checked.
fn check_age(root: &AuditedRoot<'_>, entry: &Entry, demanded: DemandedAge) -> Option<Diagnostic> {
    let release = root.release_name(entry);
    let Some(Online {
        source,
        registry_data: Some(registry_data),
        ..
    }) = root.online
    else {
        let message = format!("{release} is new, and its age was not checked against min-age");
        let mut warning = finding_at(Code::VersionTooYoung, message, entry.version());
        warning.severity = Severity::Warning;
        return Some(warning.help(Remedy::verify_online()));
    };
    let dates = registry_data.dates;
    let not_old_enough = demanded.why_not_old_enough(|| {
        dates.publication_date(&entry.address, &entry.locked.version, source)
    })?;
    let message = format!("{release} may not be used yet: {}", not_old_enough.why);
    let error = finding_at(Code::VersionTooYoung, message, entry.version());
    Some(error.help("wait until it is old enough, or lock an older version"))
}
