//! Findings about what a change does to a lock file of modules.

use std::collections::BTreeSet;

use crate::configuration::ModuleCall;
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Location, Remedy, Severity};
use crate::lockfile::{self, Entry, EntryDiff, Locked, LockedModule, ModuleLockFile};
use crate::modules::locked;
use crate::project::verify::change::unreadable;
use crate::project::verify::subject::{VerifyRequest, finding};
use crate::provider::{Hash, HashScheme};

/// Compares the lock file with what it was before.
pub(super) fn check(request: &VerifyRequest<'_>, lock_file: &ModuleLockFile) -> Vec<Diagnostic> {
    let Some(bytes) = request.module_base else { return Vec::new() };
    let path = &request.root.module_lock_path;
    let parsed = ModuleLockFile::parse(path, bytes);
    let Some(base) = parsed.lock_file else {
        return vec![unreadable(path, parsed.diagnostics).at(Location::of_file(path), "")];
    };
    let differences = lockfile::diff(base.locks(), lock_file.locks());
    let judge = |change: &EntryDiff<LockedModule>| {
        let entry = lock_file.entry(&change.address);
        entry.map(|entry| judge(request, entry, change)).unwrap_or_default()
    };
    differences.changes().flat_map(judge).collect()
}

fn judge(
    request: &VerifyRequest<'_>,
    entry: &Entry<LockedModule>,
    change: &EntryDiff<LockedModule>,
) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let mut findings = Vec::new();
    if let Some(old) = change.old.as_ref().filter(|_| change.package_replaced()) {
        let what = if old.version.is_some() { "version" } else { "source" };
        let message = format!("the package of {name} changed although its {what} did not");
        let error = finding(Code::HashesReplaced, message, entry.package(), "");
        let error = error.note(format!("before: {}", old.package)).help(Remedy::verify_online());
        // A branch is meant to move.
        let may_move = locked::may_move(&entry.locked, request.root.dialect);
        findings.push(if may_move { Diagnostic { severity: Severity::Warning, ..error } } else { error });
    } else if let Some(scheme) = change.old.as_ref().and_then(|old| scheme_replaced(old, &entry.locked)) {
        let added = change.hashes_added();
        let place = entry.hashes.iter().find(|(hash, _)| added.contains(hash));
        let message = format!("the {scheme} hashes of {name} changed although its package did not");
        let error = finding(Code::HashesReplaced, message, place.map_or(&entry.block, |(_, place)| place), "");
        findings.push(error.help(Remedy::verify_online()));
    }
    let versions = (change.old.as_ref().and_then(|old| old.version.as_ref()), &entry.locked.version);
    if let (Some(old), Some(new)) = versions
        && new < old
    {
        let message = format!("{name} was downgraded from {old} to {new}");
        let warning = finding(Code::Downgrade, message, entry.version(), "");
        findings.push(warning.help("make sure that the older version is intended"));
    }
    findings.extend(new_publisher(request, entry));
    findings
}

/// The scheme whose hashes changed while the package stayed. A package has one hash of each, so that none may be added
/// to another or take its place; and `h1:` decides what is installed, so that it may not go either.
fn scheme_replaced(old: &LockedModule, new: &LockedModule) -> Option<&'static str> {
    let of = |locked: &LockedModule, scheme| -> BTreeSet<Hash> {
        locked.hashes.iter().filter(|hash| hash.scheme() == scheme).cloned().collect()
    };
    let is_replaced = |scheme| {
        let (before, after) = (of(old, scheme), of(new, scheme));
        !before.is_empty() && before != after && (scheme == HashScheme::H1 || !after.is_empty())
    };
    let schemes = [(HashScheme::H1, "h1"), (HashScheme::Zh, "zh")];
    let replaced = schemes.into_iter().find(|(scheme, _)| old.is_same_release(new) && is_replaced(*scheme));
    replaced.map(|(_, name)| name)
}

/// A module comes from a host or publisher that no lock file of modules named before, if any named some.
fn new_publisher(request: &VerifyRequest<'_>, entry: &Entry<LockedModule>) -> Option<Diagnostic> {
    let known = &request.known_publishers?.locked;
    let new: Vec<_> = locked::publishers(&entry.locked).into_iter().filter(|name| !known.contains(name)).collect();
    if known.is_empty() || new.is_empty() {
        return None;
    }
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} comes from {}, from where no module was locked before", enumerate(&new));
    Some(source_added(message, entry.source()))
}

/// Where modules are not locked: a line of the change calls a module from a host or publisher from where none was
/// called before, if any was called.
pub(in crate::project::verify) fn added(request: &VerifyRequest<'_>) -> Vec<Diagnostic> {
    // What Terragrunt's files named before is not known.
    let Some(before) = request.known_publishers.filter(|_| !request.root.is_unit()) else { return Vec::new() };
    let calls = request.judged.calls.iter().filter_map(|call| Some((call, locked::publisher(&call.request)?)));
    let (new, kept): (Vec<_>, Vec<_>) = calls.partition(|(call, _)| (request.is_new)(&call.location));
    let known: BTreeSet<_> =
        before.locked.iter().chain(&before.called).chain(kept.iter().map(|(_, name)| name)).collect();
    let is_added = |publisher: &String| !known.is_empty() && !known.contains(publisher);
    let added = new.iter().filter(|(_, publisher)| is_added(publisher));
    let finding = |(call, publisher): &(&ModuleCall, String)| {
        let message = format!("{} comes from {publisher}, from where no module was called before", call.name);
        source_added(message, &call.location)
    };
    added.map(finding).collect()
}

fn source_added(message: String, place: &Location) -> Diagnostic {
    let warning = finding(Code::ModuleSourceAdded, message, place, "");
    warning.help("make sure that you trust whoever publishes there")
}
