//! Findings about entries of providers that a change alters, and checks of changed entries of both
//! kinds.
//!
//! Codes: `hashes-replaced`, `downgrade`, `hash-not-checked`, `not-decided`, `publisher-added`.

use std::collections::{BTreeSet, HashSet};

use super::audited_root::{AuditedRoot, FileState, finding_at};
use super::base::{Base, BaseLockFile};
use super::publisher_added::is_required_at_base;
use crate::configuration::Requirements;
use crate::diagnostic::words::count;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Message, Reason, Remedy, Severity};
use crate::lockfile::{
    self, Entry, EntryChange, EntryDiff, EntryKind, LFS_HELP, LockFileOf, ProviderDiff,
    is_lfs_pointer,
};
use crate::provider::{ConstraintList, Hash, HashScheme, ProviderAddress};

/// Compares the lock file with that of the base.
pub(super) fn check_changed_entries(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    if root.lock_file_state != FileState::Readable
        || root.module.lock_bytes.as_deref() == Some(base.lock_file.bytes)
    {
        return Vec::new();
    }
    check_changes(
        &base.lock_file,
        &root.lock_file,
        |entry, change| match entry {
            Some(entry) => check_entry(root, entry, change),
            None => finding_entry_removed(root, change).into_iter().collect(),
        },
    )
}

/// Checks each entry that the change adds, removes or alters. Warns if the file of the base cannot
/// be read.
pub(super) fn check_changes<T: EntryKind>(
    base: &BaseLockFile<'_, T>,
    lock_file: &LockFileOf<T>,
    check: impl Fn(Option<&Entry<T>>, &EntryDiff<T>) -> Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let Some(before) = &base.parsed().lock_file else {
        return finding_unreadable_base(base).into_iter().collect();
    };
    let mut findings = Vec::new();
    for change in lockfile::diff(before.locks(), lock_file.locks()).changes() {
        findings.extend(check(lock_file.entry(&change.address), change));
    }
    findings
}

/// The finding that a lock file cannot be compared, because that of the base cannot be read: a
/// warning with the first error in it. For a file that git LFS stores elsewhere it is an error;
/// `None` if the change does not alter such a file.
fn finding_unreadable_base<T: EntryKind>(base: &BaseLockFile<'_, T>) -> Option<Diagnostic> {
    let message = Message::naming(&base.path, |path| {
        format!("the change of {path} was not checked: the old file cannot be read")
    });
    let mut warning = Diagnostic::warning(Code::LockFileSyntax, message)
        .at_location(Location::of_file(&base.path));
    if is_lfs_pointer(base.bytes) {
        if !base.is_altered {
            return None;
        }
        let mut error = warning;
        error.severity = Severity::Error;
        let error = error.note("git keeps only its hash, because of LFS");
        return Some(error.help(LFS_HELP));
    }
    let mut problems = base.parsed().diagnostics.iter();
    if let Some(first) = problems.find(|problem| problem.severity == Severity::Error) {
        warning = warning.note(first.message.clone());
    }
    Some(warning.help("review the change yourself"))
}

/// The finding about hashes that the change replaces or adds although the release is the same. It
/// points at the first new hash for which `is_meant` returns `true`.
pub(super) fn finding_hashes_replaced<T: EntryKind>(
    message: String,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    is_meant: impl Fn(&Hash) -> bool,
) -> Diagnostic {
    let added = change.hashes_added();
    let location = location_of_first_hash(entry, |hash| added.contains(hash) && is_meant(hash));
    finding_at(Code::HashesReplaced, message, location).help(Remedy::verify_online())
}

/// The finding about an entry that the change moves to an older version.
pub(super) fn finding_downgrade<T: EntryKind>(
    name: &str,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    help: impl Into<Help>,
) -> Option<Diagnostic> {
    let (old, new) = (change.old.as_ref()?.version()?, entry.locked.version()?);
    let message = format!("{name} was downgraded from {old} to {new}");
    (new < old).then(|| finding_at(Code::Downgrade, message, entry.version()).help(help))
}

/// Location of the first hash of an entry for which `is_meant` returns `true`, else of the entry.
pub(super) fn location_of_first_hash<T: EntryKind>(
    entry: &Entry<T>,
    is_meant: impl Fn(&Hash) -> bool,
) -> &Location {
    entry
        .hashes
        .iter()
        .find(|(hash, _)| is_meant(hash))
        .map_or(&entry.block, |(_, location)| location)
}

fn check_entry(root: &AuditedRoot<'_>, entry: &Entry, change: &ProviderDiff) -> Vec<Diagnostic> {
    let mut findings = same_version_other_hashes(root, entry, change);
    if findings.is_empty() {
        findings.extend(finding_contradicts_base(root, entry, change));
    }
    // Hashes that are certainly wrong need no other check.
    if findings.is_empty() {
        findings.extend(finding_hashes_not_checked(root, entry, change));
    }
    // The decision about the version names the constraints.
    if demanding_constraints(root, change).is_none() {
        // A revert is a downgrade that owners want.
        let name = root.provider_name(&change.address);
        let help = Help::from(Remedy::upgrade(name.clone())).and_owner_allows(Code::Downgrade);
        findings.extend(finding_downgrade(&name, entry, change, help));
    }
    findings.extend(finding_host_changed(root, entry, change));
    findings
}

/// The findings about hashes that change although the version stays.
fn same_version_other_hashes(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Vec<Diagnostic> {
    let release = root.release_name(entry);
    let mut findings = Vec::new();
    if change.hashes_replaced() {
        let message = format!("the hashes of {release} changed although the version did not");
        findings.push(finding_hashes_replaced(message, entry, change, |_| true));
    } else if let Some(number) = change.zh_replaced() {
        let hashes = count(number, "zh hash");
        let message = format!("{hashes} of {release} changed although the version did not");
        findings.push(finding_hashes_replaced(message, entry, change, is_zh));
    }
    if let Some(number) = change.zh_added() {
        let hashes = count(number, "zh hash");
        let verb = if number == 1 { "was" } else { "were" };
        let message =
            format!("{hashes} of {release} {verb} added although the version did not change");
        findings.push(finding_hashes_replaced(message, entry, change, is_zh));
    }
    findings
}

/// The finding about an entry for a release that lock files of the base record with other `zh:`
/// hashes. These are the hashes of one document, SHA256SUMS, so that one lock file may have fewer
/// of them than another, but none that the other lacks.
fn finding_contradicts_base(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Option<Diagnostic> {
    let version = &entry.locked.version;
    // An entry whose version stays is compared with itself.
    if let Some(old) = &change.old
        && old.version == *version
    {
        return None;
    }
    let facts = root.base.as_ref()?.facts;
    let hashes_in_base = facts.versions().get(&entry.address)?.get(version)?;
    let zh_in_base: BTreeSet<&Hash> = hashes_in_base.iter().filter(|hash| is_zh(hash)).collect();
    let hashes = entry.locked.hashes.iter();
    let own_zh: BTreeSet<&Hash> = hashes.filter(|hash| is_zh(hash)).collect();
    if zh_in_base.is_empty() || own_zh.is_subset(&zh_in_base) || zh_in_base.is_subset(&own_zh) {
        return None;
    }
    let release = root.release_name(entry);
    let message =
        format!("the zh hashes of {release} differ from those in the lock files of the base");
    let location = location_of_first_hash(entry, |hash| is_zh(hash) && !zh_in_base.contains(hash));
    Some(finding_at(Code::HashesReplaced, message, location).help(Remedy::verify_online()))
}

fn is_zh(hash: &Hash) -> bool {
    hash.scheme() == HashScheme::Zh
}

/// The finding about a new entry of a provider that was locked from a different host.
fn finding_host_changed(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Option<Diagnostic> {
    if change.change != EntryChange::Added {
        return None;
    }
    let before = root.lock_file_before()?.locks();
    let previous = before
        .keys()
        .find(|previous| moved(root, previous, &change.address))?;
    let message = format!("{previous} was replaced by {}", change.address);
    let help = "make sure that the new host is intended; it serves different packages";
    let finding = Diagnostic::publisher_added(Reason::HostChanged, message);
    Some(finding.at_location(entry.block.clone()).help(help))
}

/// The constraints of the configuration that exclude the old version of an entry and not the new
/// one, if there are any.
pub(super) fn demanding_constraints(
    root: &AuditedRoot<'_>,
    change: &ProviderDiff,
) -> Option<ConstraintList> {
    let old = &change.old.as_ref()?.version;
    let new = &change.new.as_ref()?.version;
    let requirement = root.requirements().providers.get(&change.address)?;
    let constraints = &requirement.constraints;
    let is_demanded = !constraints.allows(old) && constraints.allows(new);
    is_demanded.then(|| constraints.clone())
}

/// The finding about an entry that the change removes although the configuration may require its
/// provider. `None` if the configuration is known in full, or certainly requires the provider:
/// other findings cover this.
fn finding_entry_removed(root: &AuditedRoot<'_>, change: &ProviderDiff) -> Option<Diagnostic> {
    let requirements = root.requirements();
    let requirement = requirements.providers.get(&change.address);
    let is_certain = requirement.is_some_and(|requirement| requirement.is_certain);
    if !requirements.is_incomplete || root.is_policy_only() || is_certain {
        return None;
    }
    // The other tool has its packages from a different default registry.
    let mut locked = root.lock_file.locks().keys();
    if locked.any(|address| is_of_other_tool(root, &change.address, address)) {
        return None;
    }
    // The entry leaves together with its requirement.
    if requirement.is_none() && is_required_at_base(root, &change.address) {
        return None;
    }
    let name = root.provider_name(&change.address);
    let old = change.old.as_ref()?;
    let message = format!(
        "{name} {} is no longer locked, and the configuration may still require it",
        old.version
    );
    let lock_file = Location::of_file(&root.module.lock_path);
    let mut finding = Diagnostic::not_decided(Reason::EntryRemoved, message);
    let mut help = "restore the entry, or give the job access to the unknown modules";
    // As a version of a module that was not fetched.
    if root.online.is_none() && are_only_packages_unread(&root.declared) {
        finding.severity = Severity::Warning;
        help = "restore the entry, or let --online fetch the unknown modules";
    }
    let finding = finding.at_location(lock_file).about(&change.address);
    Some(finding.help(help))
}

/// Whether nothing of a configuration is unknown but packages of modules that `--online` would
/// fetch.
fn are_only_packages_unread(requirements: &Requirements) -> bool {
    let mut warnings = requirements.warnings.iter();
    let has_skipped = warnings.any(|warning| warning.code == Code::OutsideRepository);
    if has_skipped || !requirements.unknown_calls.is_empty() {
        return false;
    }
    let read: HashSet<&str> = requirements
        .call_tree
        .iter()
        .map(|called| called.key.as_str())
        .collect();
    let mut calls = requirements.package_calls();
    calls.any(|call| call.module.is_none() && !read.contains(call.key.as_str()))
}

/// The finding about added hashes that neither a cached package nor a lock file of the base
/// confirms. `None` with `--online`, which compares all hashes with the registry.
fn finding_hashes_not_checked(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Option<Diagnostic> {
    if root.online.is_some() {
        return None;
    }
    let address = &entry.address;
    let version = &entry.locked.version;
    // Hashes of unknown schemes are never compared.
    let mut added = change.hashes_added();
    added.retain(|hash| hash.is_known());
    if let Some(cache) = root.cache {
        for (_, digest) in cache.packages_of(address, version) {
            let confirmed = digest.hashes();
            added.retain(|hash| !confirmed.contains(hash));
        }
    }
    // A different lock file of the base records the same hash for the same version.
    if let Some(Base { facts, .. }) = &root.base {
        added.retain(|hash| !facts.records(address, version, hash));
    }
    if added.is_empty() {
        return None;
    }
    let release = root.release_name(entry);
    let message = match added.len() {
        1 => format!("a hash of {release} was added, and nothing on this machine confirms it"),
        count => format!(
            "{count} hashes of {release} were added, and nothing on this machine confirms them"
        ),
    };
    let location = location_of_first_hash(entry, |hash| added.contains(hash));
    let warning = finding_at(Code::HashNotChecked, message, location);
    Some(warning.help(Remedy::verify_online()))
}

/// Whether `previous` is no longer locked and differs from `now` only in the host.
fn moved(root: &AuditedRoot<'_>, previous: &ProviderAddress, now: &ProviderAddress) -> bool {
    if is_of_other_tool(root, previous, now) {
        return false;
    }
    previous.namespace == now.namespace
        && previous.name == now.name
        && !root.lock_file.locks().contains_key(previous)
}

/// Whether two addresses differ only in the default registries of the two tools. `previous` belongs
/// to the tool that a root module leaves.
fn is_of_other_tool(
    root: &AuditedRoot<'_>,
    previous: &ProviderAddress,
    now: &ProviderAddress,
) -> bool {
    let dialect = root.module.dialect;
    previous.hostname.is_default_of(dialect.other())
        && now.hostname.is_default_of(dialect)
        && previous.namespace == now.namespace
        && previous.name == now.name
}
