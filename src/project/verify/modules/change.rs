//! Findings about changes of a lock file of modules.

use std::collections::BTreeSet;

use crate::configuration::ModuleCall;
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Location, Remedy, Severity};
use crate::lockfile::{Entry, EntryDiff, Locked, LockedModule, ModuleLockFile, UNIT_ADDRESS};
use crate::modules::locked;
use crate::project::verify::base::Base;
use crate::project::verify::change::{check_changes, downgrade, hashes_replaced};
use crate::project::verify::root::Root;
use crate::project::verify::verified::{VerifiedRoot, finding};
use crate::provider::{Hash, HashScheme};

/// Compares the lock file with that of the base.
pub(super) fn check(root: &Root<'_>, lock_file: &ModuleLockFile, report: &mut VerifiedRoot) {
    let Some(base) = &root.base else { return };
    check_changes(&base.modules, lock_file, report, |entry, change| {
        entry.map(|entry| check_entry(root, entry, change)).unwrap_or_default()
    });
}

fn check_entry(root: &Root<'_>, entry: &Entry<LockedModule>, change: &EntryDiff<LockedModule>) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let mut findings = Vec::new();
    if let Some(old) = change.old.as_ref().filter(|_| change.package_replaced()) {
        let what = if old.version.is_some() { "version" } else { "source" };
        let message = format!("the package of {name} changed although its {what} did not");
        let error = finding(Code::HashesReplaced, message, entry.package(), "");
        let error = error.note(format!("before: {}", old.package)).help(Remedy::verify_online());
        // A branch moves on purpose.
        let may_move = locked::may_move(&entry.locked, root.module.dialect);
        findings.push(if may_move { Diagnostic { severity: Severity::Warning, ..error } } else { error });
    } else if let Some(scheme) = change.old.as_ref().and_then(|old| scheme_replaced(old, &entry.locked)) {
        let message = format!("the {scheme} hashes of {name} changed although its package did not");
        findings.push(hashes_replaced(message, entry, change, |_| true));
    }
    findings.extend(downgrade(&name, entry, change, "make sure that the older version is intended"));
    findings.extend(new_publisher(root, entry));
    findings
}

/// The scheme whose hashes changed while the package did not. A package has one hash of each scheme, so none may be
/// added or replaced. An `h1:` may not be removed either, because it decides what is installed.
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

/// A module from a host or publisher from which the base neither locked nor called a module. Nothing is reported if no
/// lock file of the base contains modules: [`added`] checks the calls.
fn new_publisher(root: &Root<'_>, entry: &Entry<LockedModule>) -> Option<Diagnostic> {
    let facts = root.base.as_ref()?.facts;
    let mut new = locked::publishers(&entry.locked);
    new.retain(|publisher| !facts.locked.contains(publisher));
    if facts.locked.is_empty() || new.is_empty() {
        return None;
    }
    new.retain(|publisher| !facts.called().contains(publisher));
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} comes from {}, which is new: the base locks no module from it", enumerate(&new));
    (!new.is_empty()).then(|| source_added(message, entry.source()))
}

/// Calls that the change adds or alters, from hosts or publishers from which the base called none. Nothing is reported
/// if the base called none at all. Where the base locks modules, [`new_publisher`] checks the entries.
pub(super) fn added(root: &Root<'_>, report: &mut VerifiedRoot) {
    let Some(Base { facts, .. }) = root.base else { return };
    if root.modules.is_some() && !facts.locked.is_empty() {
        return;
    }
    let calls = root.declared.own_package_calls().into_iter();
    let calls = calls.filter_map(|call| Some((call, locked::publisher(&call.request()?)?)));
    let is_new = |call: &ModuleCall| match &*call.key {
        UNIT_ADDRESS => root.module.units.iter().any(|unit| facts.may_alter_source(unit.directory())),
        _ => facts.change.alters(&[&call.location], &call.origin),
    };
    let (new, kept): (Vec<_>, Vec<_>) = calls.partition(|(call, _)| is_new(call));
    if new.is_empty() {
        return;
    }
    let called = facts.called().iter().chain(facts.run());
    let known: BTreeSet<_> = facts.locked.iter().chain(called).chain(kept.iter().map(|(_, name)| name)).collect();
    for (call, publisher) in new.iter().filter(|(_, publisher)| !known.is_empty() && !known.contains(publisher)) {
        let message = format!("{} comes from {publisher}, which is new: the base calls no module from it", call.name());
        report.findings.push(source_added(message, &call.location));
    }
}

fn source_added(message: String, place: &Location) -> Diagnostic {
    let warning = finding(Code::ModuleSourceAdded, message, place, "");
    warning.help("make sure that you trust the publisher")
}
