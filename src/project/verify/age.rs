//! Findings about versions that a change brings before they are old enough.

use super::subject::{Subject, finding};
use crate::diagnostic::{Code, Diagnostic, Remedy, Severity};
use crate::lockfile::Entry;
use crate::packages::DemandedAge;
use crate::project::root_module::RootModule;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Asks about every version that the change brings.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(demanded) = subject.request.age else { return Vec::new() };
    let judge = |entry| judge(subject, entry, demanded);
    parallel::map(judged(subject), WAITING_REQUESTS, judge).into_iter().flatten().collect()
}

/// The entries whose version must have an age: those with a version that the lock file did not have before the change.
/// Where it cannot be read as it was, all versions are new.
pub(super) fn judged<'a>(subject: &Subject<'a>) -> Vec<&'a Entry> {
    let request = subject.request;
    if request.age.is_none() || request.base.is_none() {
        return Vec::new();
    }
    let RootModule { settings, dialect, .. } = request.root;
    let before = request.lock_file_before();
    let locked_before = |entry: &Entry| Some(&before.as_ref()?.locks().get(&entry.address)?.version);
    let is_exempt = |entry: &Entry| settings.policy.is_exempt_from_min_age(&entry.address, *dialect);
    let is_new = |entry: &&Entry| locked_before(entry) != Some(&entry.locked.version) && !is_exempt(entry);
    subject.lock_file.entries().iter().filter(is_new).collect()
}

fn judge(subject: &Subject<'_>, entry: &Entry, demanded: DemandedAge) -> Option<Diagnostic> {
    let release = subject.release(entry);
    let place = |message| finding(Code::VersionTooYoung, message, entry.version(), "");
    let Some((listings, source)) = subject.request.online.and_then(|online| Some((online.listings?, online.source)))
    else {
        let warning = place(format!("{release} is new, and nobody was asked whether it is as old as min-age demands"));
        return Some(Diagnostic { severity: Severity::Warning, ..warning }.help(Remedy::verify_online()));
    };
    let not_old_enough =
        demanded.rejects(|| listings.dates.published(&entry.address, &entry.locked.version, source))?;
    let error = place(format!("{release} may not be used yet: {}", not_old_enough.why));
    Some(error.help("wait until it is old enough, or lock an older version"))
}
