//! Findings about entries of modules that a change alters.

use std::collections::BTreeSet;

use super::audited_root::{AuditedRoot, finding_at};
use super::base::BaseFacts;
use super::changed_entries::{check_changes, downgrade, hashes_replaced};
use super::publisher_added::new_publisher;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::lockfile::{Entry, EntryDiff, EntryKind as _, LockedModule};
use crate::modules::locked;
use crate::provider::{Hash, HashScheme};

/// Compares the lock file of modules with that of the base.
pub(super) fn check(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let lock_file = root
        .modules
        .as_ref()
        .and_then(|modules| modules.lock_file.as_ref());
    let Some((base, lock_file)) = root.base.as_ref().zip(lock_file) else {
        return Vec::new();
    };
    check_changes(&base.module_lock_file, lock_file, |entry, change| {
        entry
            .map(|entry| check_module(root, entry, change))
            .unwrap_or_default()
    })
}

/// Returns the findings about a locked module that the change adds or alters.
fn check_module(
    root: &AuditedRoot<'_>,
    entry: &Entry<LockedModule>,
    change: &EntryDiff<LockedModule>,
) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let mut findings = Vec::new();
    // A branch moves on purpose.
    let may_move = locked::may_move(&entry.locked, root.module.dialect);
    let replaced = |message: String, note: String| {
        let error = finding_at(Code::HashesReplaced, message, entry.package(), "").note(note);
        let error = error.help(Remedy::verify_online());
        if may_move {
            Diagnostic {
                severity: Severity::Warning,
                ..error
            }
        } else {
            error
        }
    };
    if change.package_replaced()
        && let Some(old) = &change.old
    {
        let what = if old.version.is_some() {
            "version"
        } else {
            "source"
        };
        let message = format!("the package of {name} changed although its {what} did not");
        findings.push(replaced(message, format!("before: {}", old.package)));
    } else if let Some(scheme) = change
        .old
        .as_ref()
        .and_then(|old| scheme_replaced(old, &entry.locked))
    {
        let message = format!("the {scheme} hashes of {name} changed although its package did not");
        findings.push(hashes_replaced(message, entry, change, |_| true));
    } else if let Some(base) = &root.base
        && let Some(known) = different_package(base.facts, change.old.as_deref(), &entry.locked)
    {
        let message =
            format!("the package of {name} differs from that of the same source in the base");
        findings.push(replaced(message, format!("in the base: {}", known.package)));
    }
    // Hashes that are certainly wrong need no other check.
    if findings.is_empty() {
        findings.extend(module_not_checked(root, entry, change));
    }
    let help = Help::text("check the older version").and_owner_allows(Code::Downgrade);
    findings.extend(downgrade(&name, entry, change, help));
    findings.extend(new_publisher(root, entry));
    findings
}

/// The finding about a package whose hashes nothing on this machine confirms: no lock file of the
/// base, and no cached package. With `--online` the published package is compared.
fn module_not_checked(
    root: &AuditedRoot<'_>,
    entry: &Entry<LockedModule>,
    change: &EntryDiff<LockedModule>,
) -> Option<Diagnostic> {
    let locked = &entry.locked;
    let is_added = change
        .old
        .as_ref()
        .is_none_or(|old| old.hashes != locked.hashes);
    if root.online.is_some() || locked.hashes.is_empty() || !is_added {
        return None;
    }
    let base = root.base.as_ref()?;
    for known in &base.facts.modules_before {
        if known.package == locked.package && locked.hashes.is_subset(&known.hashes) {
            return None;
        }
    }
    if let Some(fetcher) = &root.packages.fetcher {
        for call in root.declared.package_calls() {
            if call.key == entry.address && fetcher.confirms(&call.source, locked) {
                return None;
            }
        }
    }
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} was locked, and nothing on this machine confirms its hashes");
    let warning = finding_at(Code::HashNotChecked, message, entry.package(), "");
    Some(warning.help(Remedy::verify_online()))
}

/// An entry of the base for the source and version of a new entry, if all such entries have a
/// different package or different hashes.
fn different_package<'a>(
    facts: &'a BaseFacts<'_>,
    old: Option<&LockedModule>,
    new: &LockedModule,
) -> Option<&'a LockedModule> {
    if old.is_some_and(|old| is_same_version(old, new)) {
        return None;
    }
    let mut different = None;
    for before in &facts.modules_before {
        if !is_same_version(before, new) {
            continue;
        }
        if before.package == new.package && scheme_replaced(before, new).is_none() {
            return None;
        }
        different = different.or(Some(before.as_ref()));
    }
    different
}

fn is_same_version(one: &LockedModule, other: &LockedModule) -> bool {
    one.source == other.source && one.version == other.version
}

/// The scheme whose hashes changed while the package did not. A package has one hash of each
/// scheme, so none may be added or replaced. An `h1:` may not be removed either, because it decides
/// what is installed.
fn scheme_replaced(old: &LockedModule, new: &LockedModule) -> Option<&'static str> {
    if !old.is_same_release(new) {
        return None;
    }
    for (scheme, name) in [(HashScheme::H1, "h1"), (HashScheme::Zh, "zh")] {
        let before = hashes_of(old, scheme);
        let after = hashes_of(new, scheme);
        let is_removed = after.is_empty();
        if before.is_empty() || before == after || (is_removed && scheme != HashScheme::H1) {
            continue;
        }
        return Some(name);
    }
    None
}

fn hashes_of(locked: &LockedModule, scheme: HashScheme) -> BTreeSet<&Hash> {
    let hashes = locked.hashes.iter();
    hashes.filter(|hash| hash.scheme() == scheme).collect()
}
