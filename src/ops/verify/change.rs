//! Findings about what a change did to the lock file.

use super::subject::{Subject, finding};
use crate::address::ProviderAddress;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::hash::Hash;
use crate::lockfile::{self, Change, Direction, Locks, ProviderDiff};

/// Compares the lock file with what it was before. If that cannot be read, nothing can be said of the change, which is said.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let request = subject.request;
    let Some(bytes) = request.base else { return Vec::new() };
    let parsed = lockfile::parse(request.lock_path, bytes, request.dialect);
    let Some(base) = parsed.lock_file else {
        let message =
            format!("the change of {} is not judged: it could not be read before", request.lock_path.display());
        let warning = Diagnostic { severity: Severity::Warning, ..Diagnostic::error(Code::LockFileSyntax, message) };
        let why = parsed.diagnostics.into_iter().filter(|reason| reason.severity == Severity::Error);
        let warning = why.take(1).fold(warning, |warning, reason| warning.note(reason.message));
        return vec![warning.help("look at the change yourself")];
    };
    let differences = lockfile::diff(base.locks(), subject.lock_file.locks());
    differences.changes().flat_map(|change| judge(subject, base.locks(), change)).collect()
}

fn judge(subject: &Subject<'_>, base: &Locks, change: &ProviderDiff) -> Vec<Diagnostic> {
    let Some(entry) = subject.lock_file.entry(&change.address) else { return Vec::new() };
    let name = subject.name(&change.address);
    let mut findings = Vec::new();
    let which = match change.zh_replaced() {
        _ if change.hashes_replaced() => Some("the hashes".to_owned()),
        Some(1) => Some("1 zh hash".to_owned()),
        removed => removed.map(|number| format!("{number} zh hashes")),
    };
    if let Some(which) = which {
        let verb = if which.starts_with("1 ") { "was" } else { "were" };
        let message = format!("{which} of {name} {} {verb} replaced, and its version stayed", entry.provider.version);
        let new = change.hashes_added();
        let is_it = |hash: &Hash| new.contains(hash) && (change.hashes_replaced() || hash.is_of_archive());
        let location = entry.hashes.iter().find(|(hash, _)| is_it(hash)).map_or(&entry.block, |(_, place)| place);
        let error = finding(Severity::Error, Code::HashesReplaced, message, location, "");
        findings.push(error.help(subject.request.command(["verify", "--online"])));
    }
    let downgrade = change.version_move().is_some_and(|step| step.direction == Direction::Downgrade);
    if let Some(old) = change.old.as_ref().filter(|_| downgrade) {
        let message = format!("{name} went back from {} to {}", old.version, entry.provider.version);
        let warning = finding(Severity::Warning, Code::Downgrade, message, &entry.version, "");
        findings.push(warning.help(subject.request.command(["upgrade", &name])));
    }
    if change.change == Change::Added
        && let Some(previous) = base.keys().find(|previous| moved(subject, previous, &change.address))
    {
        let message = format!("{previous} has become {}", change.address);
        let warning = finding(Severity::Warning, Code::HostChanged, message, &entry.block, "");
        findings.push(warning.help("make sure that the new host is intended; its packages are different ones"));
    }
    findings
}

/// Whether a provider that is no longer locked has the same name on another host.
fn moved(subject: &Subject<'_>, previous: &ProviderAddress, now: &ProviderAddress) -> bool {
    previous.namespace == now.namespace
        && previous.name == now.name
        && !subject.lock_file.locks().contains_key(previous)
}
