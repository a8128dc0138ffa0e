//! Findings about changes of lock files under review, and about new providers, namespaces, hosts
//! and publishers.

use std::collections::BTreeSet;

use super::affected::is_affected;
use super::audited_root::{AuditedRoot, FileState, VerifiedRoot, finding};
use super::base::{Base, BaseFacts, BaseLockFile};
use crate::configuration::{Backend, Module};
use crate::diagnostic::words::{count, enumerate};
use crate::diagnostic::{
    Code, Diagnostic, Help, Location, Pattern, Reason, Remedy, RunOption, Severity,
};
use crate::lockfile::{
    self, Entry, EntryChange, EntryDiff, EntryKind, LFS_HELP, LOCK_FILE_NAME, LockFileOf,
    LockedModule, ProviderDiff, is_lfs_pointer,
};
use crate::modules::locked;
use crate::project::reviewed_change::UPLOAD_IGNORE_FILE;
use crate::project::root_module::{DialectReason, RootModule};
use crate::provider::{AddressParts, ConstraintList, Hash, HashScheme, ProviderAddress, Version};
use crate::system::{excludes_from_upload, files};

/// Compares the lock file with that of the base.
pub(super) fn check(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(Base { providers, .. }) = &root.base else {
        return;
    };
    if root.state != FileState::Readable
        || root.module.lock_bytes.as_deref() == Some(providers.bytes)
    {
        return;
    }
    check_changes(
        providers,
        &root.lock_file,
        report,
        |entry, change| match entry {
            Some(entry) => check_entry(root, entry, change),
            None => entry_removed(root, change).into_iter().collect(),
        },
    );
}

/// Checks each entry that the change adds, removes or alters. Warns if the file of the base cannot
/// be read.
pub(super) fn check_changes<T: EntryKind>(
    base: &BaseLockFile<'_, T>,
    lock_file: &LockFileOf<T>,
    report: &mut VerifiedRoot,
    check: impl Fn(Option<&Entry<T>>, &EntryDiff<T>) -> Vec<Diagnostic>,
) {
    let Some(before) = &base.parsed().lock_file else {
        return report.findings.extend(unreadable(base));
    };
    let differences = lockfile::diff(before.locks(), lock_file.locks());
    report.findings.extend(
        differences
            .changes()
            .flat_map(|change| check(lock_file.entry(&change.address), change)),
    );
}

/// The finding that a lock file cannot be compared, because that of the base cannot be read.
fn unreadable<T: EntryKind>(base: &BaseLockFile<'_, T>) -> Option<Diagnostic> {
    let warning = Diagnostic::warning(Code::LockFileSyntax, "")
        .naming(&base.path, |path| {
            format!("the change of {path} was not checked: the old file cannot be read")
        })
        .at(Location::of_file(&base.path), "");
    if is_lfs_pointer(base.bytes) {
        let error = Diagnostic {
            severity: Severity::Error,
            ..warning
        }
        .note("git keeps only its hash, because of LFS");
        let error = error.help(LFS_HELP);
        return base.is_altered.then_some(error);
    }
    let first = base
        .parsed()
        .diagnostics
        .iter()
        .find(|problem| problem.severity == Severity::Error);
    let warning = first.into_iter().fold(warning, |warning, problem| {
        warning.note(problem.message.clone())
    });
    Some(warning.help("review the change yourself"))
}

/// Hashes that the change replaces or adds although the release is the same. It points at the first
/// new hash for which `is_meant` returns `true`.
pub(super) fn hashes_replaced<T: EntryKind>(
    message: String,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    is_meant: impl Fn(&Hash) -> bool,
) -> Diagnostic {
    let added = change.hashes_added();
    let location = first_hash(entry, |hash| added.contains(hash) && is_meant(hash));
    finding(Code::HashesReplaced, message, location, "").help(Remedy::verify_online())
}

/// An entry that the change moves to an older version.
pub(super) fn downgrade<T: EntryKind>(
    name: &str,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    help: impl Into<Help>,
) -> Option<Diagnostic> {
    let (old, new) = (change.old.as_ref()?.version()?, entry.locked.version()?);
    let message = format!("{name} was downgraded from {old} to {new}");
    (new < old).then(|| finding(Code::Downgrade, message, entry.version(), "").help(help))
}

/// Location of the first hash of an entry for which `is_meant` returns `true`, else of the entry.
pub(super) fn first_hash<T: EntryKind>(
    entry: &Entry<T>,
    is_meant: impl Fn(&Hash) -> bool,
) -> &Location {
    entry
        .hashes
        .iter()
        .find(|(hash, _)| is_meant(hash))
        .map_or(&entry.block, |(_, location)| location)
}

/// A lock file for the tool of the other dialect, which loads other files and takes packages from
/// elsewhere, or a lock file that determines no dialect any more, so that later changes could
/// choose it.
pub(super) fn dialect(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let RootModule {
        dialect,
        dialect_reason,
        lock_path,
        lock_bytes,
        ..
    } = root.module;
    let is_chosen = matches!(
        dialect_reason,
        DialectReason::Named | DialectReason::Settings
    );
    let Some((base, now)) = root.base.as_ref().zip(lock_bytes.as_deref()) else {
        return;
    };
    let what = match lockfile::detect_dialect(now) {
        _ if is_chosen => return,
        Some(now) if now != *dialect => format!("is for {} now", now.name()),
        None if root.state == FileState::Readable
            && lockfile::detect_dialect(base.providers.bytes).is_some() =>
        {
            format!("does not show any more that it is for {}", dialect.name())
        }
        _ => return,
    };
    let rules = format!(
        "this change is checked by the rules of {}, as the base is",
        dialect.name()
    );
    let finding =
        Diagnostic::not_decided(Reason::DialectChanged, "").at(Location::of_file(lock_path), "");
    let finding = finding.naming(lock_path, |path| format!("{path} {what}; {rules}"));
    let help =
        Help::text("if this is intended, set the dialect in provlock.toml first, or pass it with ");
    report
        .findings
        .push(finding.help(help.and(RunOption::Dialect(dialect.other()))));
}

/// Versions of Terraform before 0.14 read no lock file, so a change that requires one removes the
/// lock.
pub(super) fn lock_file_ignored(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let RootModule {
        canonical,
        lock_path,
        dialect,
        ..
    } = root.module;
    let Some(Base {
        facts, providers, ..
    }) = &root.base
    else {
        return;
    };
    let is_before_locks =
        |module: &Module| module.required_version.is_below(&Version::new(0, 14, 0));
    let before = facts.change.module_before(canonical, *dialect);
    let was_locked =
        !providers.bytes.is_empty() && before.is_some_and(|before| !is_before_locks(&before));
    if was_locked && is_before_locks(&root.module.module(root.packages)) {
        let message = "this change requires a version of Terraform that reads no lock file";
        let finding =
            Diagnostic::finding(Code::RootRemoved, message).at(Location::of_file(lock_path), "");
        report
            .findings
            .push(finding.help("require at least version 0.14 in required_version"));
    }
}

/// Patterns that the change adds and by which remote runs of HCP Terraform get no lock file.
pub(super) fn excluded_from_upload(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(Base {
        facts: BaseFacts { change, .. },
        ..
    }) = root.base
    else {
        return;
    };
    let module = root.module.module(root.packages);
    let runs_remotely = module.backend.as_ref().is_some_and(Backend::runs_remotely);
    if !runs_remotely || root.module.is_unit() {
        return;
    }
    let lock_file = root.module.lock_directory.join(LOCK_FILE_NAME);
    let directories = lock_file
        .ancestors()
        .skip(1)
        .take_while(|directory| directory.starts_with(&change.top));
    for directory in directories {
        let path = directory.join(UPLOAD_IGNORE_FILE);
        let excludes = |text: &[u8]| excludes_from_upload(directory, text, &lock_file);
        if !change.files_now.contains(path.as_os_str()) || !change.alters(&path) {
            continue;
        }
        let now = files::read(&path, lockfile::SIZE_LIMIT);
        if now.map_or(true, |now| excludes(&now))
            && !change.file_before(&path).is_some_and(excludes)
        {
            let shown = change.shown(&path);
            let message = format!(
                "{} excludes {} from remote runs",
                shown.display(),
                root.module.lock_path.display()
            );
            let finding =
                Diagnostic::finding(Code::RootRemoved, message).at(Location::of_file(shown), "");
            report
                .findings
                .push(finding.help("remove the pattern, so that remote runs use the lock file"));
        }
    }
}

/// Adds the finding about a Terragrunt unit that replaces a root module, or overwrites files of the
/// directory.
pub(super) fn unit_added(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let directories = root.module.former_roots(root.packages);
    let Some(directory) = directories.first() else {
        return;
    };
    let finding = Diagnostic::not_decided(Reason::UnitAdded, "").naming(directory, |directory| {
        format!("the change lets Terragrunt run the root module in {directory}, which is checked with and without it")
    });
    report
        .findings
        .push(finding.help("make sure that Terragrunt should run it from now on"));
}

fn check_entry(root: &AuditedRoot<'_>, entry: &Entry, change: &ProviderDiff) -> Vec<Diagnostic> {
    let mut findings = same_version_other_hashes(root, entry, change);
    if findings.is_empty() {
        findings.extend(contradicts_base(root, entry, change));
    }
    // Hashes that are certainly wrong need no other check.
    if findings.is_empty() {
        findings.extend(not_checked(root, entry, change));
    }
    // The decision about the version names the constraints.
    if demanded_by(root, change).is_none() {
        // A revert is a downgrade that owners want.
        let name = root.name(&change.address);
        let help = Help::from(Remedy::upgrade(name.clone())).and_owner_allows(Code::Downgrade);
        findings.extend(downgrade(&name, entry, change, help));
    }
    findings.extend(host_changed(root, entry, change));
    findings
}

/// The findings about hashes that change although the version stays.
fn same_version_other_hashes(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Vec<Diagnostic> {
    let release = root.release(entry);
    let mut findings = Vec::new();
    if change.hashes_replaced() {
        let message = format!("the hashes of {release} changed although the version did not");
        findings.push(hashes_replaced(message, entry, change, |_| true));
    } else if let Some(number) = change.zh_replaced() {
        let hashes = count(number, "zh hash");
        let message = format!("{hashes} of {release} changed although the version did not");
        findings.push(hashes_replaced(message, entry, change, is_zh));
    }
    if let Some(number) = change.zh_added() {
        let hashes = count(number, "zh hash");
        let verb = if number == 1 { "was" } else { "were" };
        let message =
            format!("{hashes} of {release} {verb} added although the version did not change");
        findings.push(hashes_replaced(message, entry, change, is_zh));
    }
    findings
}

/// The finding about an entry for a release that lock files of the base record with other `zh:`
/// hashes. These are the hashes of one document, SHA256SUMS, so that one lock file may have fewer
/// of them than another, but none that the other lacks.
fn contradicts_base(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    change: &ProviderDiff,
) -> Option<Diagnostic> {
    let version = &entry.locked.version;
    if change
        .old
        .as_ref()
        .is_some_and(|old| old.version == *version)
    {
        return None;
    }
    let facts = root.base.as_ref()?.facts;
    let recorded = facts.versions().get(&entry.address)?.get(version)?;
    let recorded: BTreeSet<&Hash> = recorded.iter().filter(|hash| is_zh(hash)).collect();
    let own: BTreeSet<&Hash> = entry
        .locked
        .hashes
        .iter()
        .filter(|hash| is_zh(hash))
        .collect();
    if recorded.is_empty() || own.is_subset(&recorded) || recorded.is_subset(&own) {
        return None;
    }
    let release = root.release(entry);
    let message =
        format!("the zh hashes of {release} differ from those in the lock files of the base");
    let location = first_hash(entry, |hash| is_zh(hash) && !recorded.contains(hash));
    Some(finding(Code::HashesReplaced, message, location, "").help(Remedy::verify_online()))
}

fn is_zh(hash: &Hash) -> bool {
    hash.scheme() == HashScheme::Zh
}

/// The finding about a new entry of a provider that was locked from a different host.
fn host_changed(
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
    Some(finding.at(entry.block.clone(), "").help(help))
}

/// The constraints of the configuration that exclude the old version of an entry and not the new
/// one, if there are any.
pub(super) fn demanded_by(root: &AuditedRoot<'_>, change: &ProviderDiff) -> Option<ConstraintList> {
    let old = &change.old.as_ref()?.version;
    let new = &change.new.as_ref()?.version;
    let requirement = root.requirements().providers.get(&change.address)?;
    let constraints = &requirement.constraints;
    let is_demanded = !constraints.allows(old) && constraints.allows(new);
    is_demanded.then(|| constraints.clone())
}

/// An entry that the change removes although the configuration may require its provider. If the
/// configuration is known in full, or certainly requires the provider, other findings cover this.
fn entry_removed(root: &AuditedRoot<'_>, change: &ProviderDiff) -> Option<Diagnostic> {
    let requirements = root.requirements();
    let is_required = requirements
        .providers
        .get(&change.address)
        .is_some_and(|requirement| requirement.is_certain);
    if !requirements.is_incomplete || root.is_policy_only() || is_required {
        return None;
    }
    // The entry leaves together with its requirement.
    let is_required_now = requirements.providers.contains_key(&change.address);
    // The other tool has its packages from a different default registry.
    let mut now = root.lock_file.locks().keys();
    if now.any(|now| is_of_other_tool(root, &change.address, now)) {
        return None;
    }
    if !is_required_now && is_required_at_base(root, &change.address) {
        return None;
    }
    let (name, old) = (root.name(&change.address), change.old.as_ref()?);
    let message = format!(
        "{name} {} is no longer locked, and the configuration may still require it",
        old.version
    );
    let lock_file = Location::of_file(&root.module.lock_path);
    let error = Diagnostic::not_decided(Reason::EntryRemoved, message).at(lock_file, "");
    Some(
        error
            .about(&change.address)
            .help("restore the entry, or give the job access to the unknown modules"),
    )
}

/// Added hashes that no cached package confirms. With `--online` all hashes are compared with the
/// registry instead.
fn not_checked(root: &AuditedRoot<'_>, entry: &Entry, change: &ProviderDiff) -> Option<Diagnostic> {
    let (address, version) = (&entry.address, &entry.locked.version);
    let cached = root
        .cache
        .map(|cache| cache.packages_of(address, version))
        .unwrap_or_default();
    let is_confirmed = |hash: &Hash| {
        cached
            .iter()
            .any(|(_, digest)| digest.hashes().contains(&hash))
    };
    let mut added = change.hashes_added();
    added.retain(|hash| hash.is_known() && !is_confirmed(hash));
    // A different lock file of the base records the same hash for the same version.
    if let Some(Base { facts, .. }) = &root.base {
        added.retain(|hash| !facts.records(address, version, hash));
    }
    if added.is_empty() || root.online.is_some() {
        return None;
    }
    let release = root.release(entry);
    let message = match added.len() {
        1 => format!("a hash of {release} was added, and nothing on this machine confirms it"),
        count => format!(
            "{count} hashes of {release} were added, and nothing on this machine confirms them"
        ),
    };
    let location = first_hash(entry, |hash| added.contains(hash));
    let warning = finding(Code::HashNotChecked, message, location, "");
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

/// Providers that are locked, or required by a line that the change adds, and that no lock file of
/// the base contains.
pub(super) fn added_providers(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(Base { facts, .. }) = root.base else {
        return;
    };
    for named in root
        .named()
        .filter(|named| !facts.providers.contains(named.address))
    {
        // A provider that is not locked may have been required before.
        let is_required_before =
            || !is_affected(root, facts) || is_required_at_base(root, named.address);
        if named.entry.is_none() && is_required_before() {
            continue;
        }
        for finding in new_provider(root, facts, named.address) {
            report.findings.push(named.place(finding));
        }
    }
}

/// Whether the root module requires a provider at the base.
fn is_required_at_base(root: &AuditedRoot<'_>, address: &ProviderAddress) -> bool {
    let Some(base) = &root.base else {
        return false;
    };
    let before = base.reading(root.module);
    before.providers.contains(address)
}

/// Findings about the host, the namespace and the name of a provider that the base does not lock.
fn new_provider(
    root: &AuditedRoot<'_>,
    facts: &BaseFacts<'_>,
    address: &ProviderAddress,
) -> Vec<Diagnostic> {
    let AddressParts {
        hostname,
        namespace,
        ..
    } = &**address;
    let mut has_host = false;
    let mut has_namespace = false;
    for known in &facts.providers {
        if known.hostname == *hostname {
            has_host = true;
            has_namespace |= known.namespace == *namespace;
        }
    }
    let mut findings = Vec::new();

    // The first lock file of a repository uses the default registry of its tool.
    let is_default = facts.providers.is_empty() && hostname.is_default_of(root.module.dialect);
    if !has_host && !is_default {
        let message = format!("the host {hostname} is new: the base locks no provider from it");
        let mut finding = Diagnostic::publisher_added(Reason::HostAdded, message);
        if root.module.settings.policy.denies_new_hosts() {
            finding.severity = Severity::Error;
        }
        let help = "find out who runs the host, because it controls the packages";
        findings.push(finding.help(help));
    }

    if !has_namespace {
        let message = format!(
            "the namespace {hostname}/{namespace} is new: the base locks no provider from it"
        );
        let finding = Diagnostic::publisher_added(Reason::NamespaceAdded, message);
        findings.push(finding.help("find out whose namespace it is"));
    }

    let message = format!(
        "{} is new: no lock file of the base contains it",
        root.name(address)
    );
    let finding = Diagnostic::publisher_added(Reason::ProviderAdded, message);
    findings.push(finding.help("make sure that this provider and its publisher are intended"));
    findings
}

/// Compares the lock file of modules with that of the base.
pub(super) fn check_modules(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let lock_file = root
        .modules
        .as_ref()
        .and_then(|modules| modules.lock_file.as_ref());
    let Some((base, lock_file)) = root.base.as_ref().zip(lock_file) else {
        return;
    };
    check_changes(&base.modules, lock_file, report, |entry, change| {
        entry
            .map(|entry| check_module(root, entry, change))
            .unwrap_or_default()
    });
}

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
        let error = finding(Code::HashesReplaced, message, entry.package(), "").note(note);
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
    let warning = finding(Code::HashNotChecked, message, entry.package(), "");
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

/// A module from a host or publisher from which the base neither locked nor called a module.
/// Nothing is reported if no lock file of the base contains modules: [`added_modules`] checks the
/// calls.
fn new_publisher(root: &AuditedRoot<'_>, entry: &Entry<LockedModule>) -> Option<Diagnostic> {
    let facts = root.base.as_ref()?.facts;
    let mut new = locked::publishers(&entry.locked);
    new.retain(|publisher| !facts.locked.contains(publisher));
    if facts.locked.is_empty() || new.is_empty() {
        return None;
    }
    new.retain(|publisher| !facts.readings.whole().publishers.contains(publisher));
    if new.is_empty() {
        return None;
    }
    let name = LockedModule::label_name(&entry.address).into_owned();
    let origin = format!(
        " from {}, which is new: the base locks no module from it",
        enumerate(&new)
    );
    let mut known = facts
        .locked
        .iter()
        .chain(&facts.readings.whole().publishers);
    let is_host_known = known.any(|known| new.iter().all(|new| host(new) == host(known)));
    Some(source_added(name, origin, entry.source(), is_host_known))
}

/// The finding about a module of a new publisher. The findings about all its modules are folded.
/// A new host is a warning.
pub(super) fn source_added(
    name: String,
    origin: String,
    location: &Location,
    is_host_known: bool,
) -> Diagnostic {
    let pattern = Pattern::text("")
        .and_names("module", [name])
        .and_verb(" comes", " come")
        .and_text(origin);
    let mut finding = Diagnostic::publisher_added(Reason::ModuleSourceAdded, "");
    if !is_host_known {
        finding.severity = Severity::Warning;
    }
    finding
        .at(location.clone(), "")
        .with_pattern(pattern)
        .help("make sure that you trust the publisher")
}

/// The host of a publisher of modules, such as `github.com` of `github.com/acme`.
pub(super) fn host(publisher: &str) -> &str {
    let start = publisher
        .find("://")
        .map_or(0, |scheme| scheme + "://".len());
    match publisher[start..].find('/') {
        Some(end) => &publisher[..start + end],
        None => publisher,
    }
}
