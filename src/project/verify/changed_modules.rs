//! Findings about entries of modules that a change alters.
//!
//! Codes: `hashes-replaced`, `downgrade`, `hash-not-checked`.

use std::collections::BTreeSet;

use super::audited_root::{AuditedRoot, finding_at};
use super::base::BaseFacts;
use super::changed_entries::{check_changes, finding_downgrade, finding_hashes_replaced};
use super::publisher_added::finding_new_publisher;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::lockfile::{Entry, EntryDiff, EntryKind as _, LockedModule};
use crate::modules::locked;
use crate::provider::{Hash, HashScheme};

/// Compares the lock file of modules with that of the base.
pub(super) fn check_changed_modules(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    let Some(parsed) = &root.module_lock_file else {
        return Vec::new();
    };
    let Some(lock_file) = &parsed.lock_file else {
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
    if change.package_replaced()
        && let Some(old) = &change.old
    {
        let unchanged = if old.version.is_some() {
            "version"
        } else {
            "source"
        };
        let message = format!("the package of {name} changed although its {unchanged} did not");
        let note = format!("before: {}", old.package);
        findings.push(finding_package_replaced(root, entry, message, note));
    } else if let Some(scheme) = change
        .old
        .as_ref()
        .and_then(|old| scheme_replaced(old, &entry.locked))
    {
        let message = format!("the {scheme} hashes of {name} changed although its package did not");
        findings.push(finding_hashes_replaced(message, entry, change, |_| true));
    } else if let Some(base) = &root.base
        && let Some(known) = different_package(base.facts, change.old.as_deref(), &entry.locked)
    {
        let message =
            format!("the package of {name} differs from that of the same source in the base");
        let note = format!("in the base: {}", known.package);
        findings.push(finding_package_replaced(root, entry, message, note));
    }
    // Hashes that are certainly wrong need no other check.
    if findings.is_empty() {
        findings.extend(finding_module_not_checked(root, entry, change));
    }
    let help = Help::text("check the older version").and_owner_allows(Code::Downgrade);
    findings.extend(finding_downgrade(&name, entry, change, help));
    findings.extend(finding_new_publisher(root, entry));
    findings
}

/// The finding about a package that is not the one of the base: a warning for a source that may
/// lead to different packages on purpose, such as a branch, else an error.
fn finding_package_replaced(
    root: &AuditedRoot<'_>,
    entry: &Entry<LockedModule>,
    message: String,
    note: String,
) -> Diagnostic {
    let mut finding = finding_at(Code::HashesReplaced, message, entry.package());
    if locked::may_move(&entry.locked, root.module.dialect) {
        finding.severity = Severity::Warning;
    }
    finding.note(note).help(Remedy::verify_online())
}

/// The finding about a package whose hashes nothing on this machine confirms: no lock file of the
/// base, and no cached package. `None` with `--online`, which compares the published package.
fn finding_module_not_checked(
    root: &AuditedRoot<'_>,
    entry: &Entry<LockedModule>,
    change: &EntryDiff<LockedModule>,
) -> Option<Diagnostic> {
    let locked = &entry.locked;
    let are_hashes_new = match &change.old {
        Some(old) => old.hashes != locked.hashes,
        None => true,
    };
    if root.online.is_some() || locked.hashes.is_empty() || !are_hashes_new {
        return None;
    }
    let base = root.base.as_ref()?;
    for known in &base.facts.locked_modules {
        if known.package == locked.package && locked.hashes.is_subset(&known.hashes) {
            return None;
        }
    }
    if let Some(fetcher) = &root.module_cache.fetcher {
        for call in root.declared.package_calls() {
            if call.key == entry.address && fetcher.is_in_cache(&call.source, locked) {
                return None;
            }
        }
    }
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} was locked, and nothing on this machine confirms its hashes");
    let warning = finding_at(Code::HashNotChecked, message, entry.package());
    Some(warning.help(Remedy::verify_online()))
}

/// An entry of the base for the source and version of a new entry, if all such entries have a
/// different package or different hashes. `None` for an entry that was locked for this version
/// before.
fn different_package<'a>(
    facts: &'a BaseFacts<'_>,
    old: Option<&LockedModule>,
    new: &LockedModule,
) -> Option<&'a LockedModule> {
    if old.is_some_and(|old| is_same_version(old, new)) {
        return None;
    }
    let mut different = None;
    for before in &facts.locked_modules {
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
