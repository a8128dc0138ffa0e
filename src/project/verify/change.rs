//! Findings about what a change did to the lock file.

use std::path::Path;

use super::subject::{Subject, VerifyRequest, finding};
use crate::configuration::ModuleCache;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity};
use crate::lockfile::{self, Direction, Entry, EntryChange, Locks, ProviderDiff};
use crate::project::root_module::{DialectReason, RootModule};
use crate::provider::{Hash, ProviderAddress};

/// How many places are shown that nobody can read.
const UNKNOWN_SHOWN: usize = 3;

/// Compares the lock file with what it was before. If that cannot be read, nothing can be said of the change, which is
/// said.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let request = subject.request;
    let Some(bytes) = request.base.filter(|bytes| request.root.lock_bytes.as_deref() != Some(*bytes)) else {
        return Vec::new();
    };
    let parsed = lockfile::parse(&request.root.lock_path, bytes, request.root.dialect);
    let Some(base) = parsed.lock_file else {
        return vec![unreadable(&request.root.lock_path, parsed.diagnostics)];
    };
    let differences = lockfile::diff(base.locks(), subject.lock_file.locks());
    differences.changes().flat_map(|change| judge(subject, base.locks(), change)).collect()
}

/// The lock file is one of the other dialect's, whose program reads other files and takes packages from elsewhere.
pub(super) fn dialect(request: &VerifyRequest<'_>) -> Option<Diagnostic> {
    let root = request.root;
    let is_chosen = matches!(root.dialect_reason, DialectReason::Named | DialectReason::Settings);
    let now = root.lock_bytes.as_deref().filter(|_| request.base.is_some() && !is_chosen);
    let now = now.and_then(lockfile::detect_dialect).filter(|now| *now != root.dialect)?;
    let (now_name, before_name) = (now.name(), root.dialect.name());
    let finding = Diagnostic::finding(Code::DialectChanged, "").at(Location::of_file(&root.lock_path), "");
    let finding = finding.naming(&root.lock_path, |path| {
        format!("{path} is for {now_name} now; this change is checked by the rules of {before_name}, as the base is")
    });
    let help = Help::text("if this is meant, set the dialect in provlock.toml first, or name it with ");
    Some(finding.help(help.and(Remedy::Dialect(now))))
}

/// A Terragrunt unit takes the place of a root module, or puts other files over those of the directory.
pub(super) fn unit(root: &RootModule, modules: &ModuleCache) -> Option<Diagnostic> {
    let directory = *root.staying(modules).first()?;
    let message = |path: &Path| {
        let path = path.display();
        format!("the change lets Terragrunt run the root module in {path}, which is checked with and without it")
    };
    let finding = Diagnostic::finding(Code::UnitAdded, message(directory));
    Some(finding.help("make sure that Terragrunt is meant to run it from now on"))
}

/// What the root module requires is less known than before the change, because of these places.
pub(super) fn unknown(places: &[&Location]) -> Option<Diagnostic> {
    let message = "because of this change it is not known what the configuration requires";
    let finding = Diagnostic::finding(Code::MadeUnknown, message);
    let shown = places.iter().take(UNKNOWN_SHOWN).copied();
    let finding =
        finding.at_each(shown, "cannot be read").help("use a source that provlock can read, or let the job read it");
    let finding = match places.len().saturating_sub(UNKNOWN_SHOWN) {
        0 => finding,
        more => finding.note(format!("and {more} more")),
    };
    (!places.is_empty()).then_some(finding)
}

/// [`unknown`] where a unit of the base runs the same module, which could not be read there either.
pub(super) fn unknown_as_before(places: &[&Location]) -> Option<Diagnostic> {
    let finding =
        unknown(places)?.note("units of the base have the same source, so their requirements are unknown, too");
    Some(Diagnostic { severity: Severity::Warning, ..finding })
}

/// The change of a lock file could not be checked.
pub(super) fn unreadable(lock_path: &Path, why: Vec<Diagnostic>) -> Diagnostic {
    let warning = Diagnostic::warning(Code::LockFileSyntax, "")
        .naming(lock_path, |path| format!("the change of {path} was not checked: the old file cannot be read"));
    let why = why.into_iter().filter(|reason| reason.severity == Severity::Error);
    let warning = why.take(1).fold(warning, |warning, reason| warning.note(reason.message));
    warning.help("review the change yourself")
}

fn judge(subject: &Subject<'_>, base: &Locks, change: &ProviderDiff) -> Vec<Diagnostic> {
    let Some(entry) = subject.lock_file.entry(&change.address) else {
        return entry_removed(subject, change).into_iter().collect();
    };
    let name = subject.name(&change.address);
    let mut findings = Vec::new();
    let which = match change.zh_replaced() {
        _ if change.hashes_replaced() => Some("the hashes".to_owned()),
        Some(1) => Some("1 zh hash".to_owned()),
        removed => removed.map(|number| format!("{number} zh hashes")),
    };
    if let Some(which) = which {
        let message = format!("{which} of {name} {} changed although the version did not", entry.locked.version);
        let new = change.hashes_added();
        let is_it = |hash: &Hash| new.contains(hash) && (change.hashes_replaced() || hash.is_of_archive());
        let location = first_of(entry, is_it);
        let error = finding(Code::HashesReplaced, message, location, "");
        findings.push(error.help(Remedy::verify_online()));
    }
    if let Some(number) = change.zh_added() {
        let (hashes, verb) = if number == 1 { ("hash", "was") } else { ("hashes", "were") };
        let version = &entry.locked.version;
        let message =
            format!("{number} zh {hashes} of {name} {version} {verb} added although the version did not change");
        let location = first_of(entry, |hash| hash.is_of_archive() && change.hashes_added().contains(hash));
        let error = finding(Code::HashesReplaced, message, location, "");
        findings.push(error.help(Remedy::verify_online()));
    }
    if findings.is_empty() {
        findings.extend(not_checked(subject, entry, change));
    }
    let downgrade = change.version_move().is_some_and(|step| step.direction == Direction::Downgrade);
    if let Some(old) = change.old.as_ref().filter(|_| downgrade) {
        let message = format!("{name} was downgraded from {} to {}", old.version, entry.locked.version);
        let warning = finding(Code::Downgrade, message, entry.version(), "");
        findings.push(warning.help(Remedy::upgrade(name)));
    }
    if change.change == EntryChange::Added
        && let Some(previous) = base.keys().find(|previous| moved(subject, previous, &change.address))
    {
        let message = format!("{previous} was replaced by {}", change.address);
        let warning = finding(Code::HostChanged, message, &entry.block, "");
        findings.push(warning.help("make sure that the new host is intended; it serves different packages"));
    }
    findings
}

/// An entry that the change removes although the configuration may require its provider. If the configuration is known
/// in full, or certainly requires the provider, other findings cover this.
fn entry_removed(subject: &Subject<'_>, change: &ProviderDiff) -> Option<Diagnostic> {
    let VerifyRequest { requirements, root, is_only_judged, .. } = subject.request;
    let is_required = requirements.providers.get(&change.address).is_some_and(|requirement| requirement.is_certain);
    let old = change.old.as_ref().filter(|_| requirements.is_incomplete && !is_only_judged && !is_required)?;
    let name = subject.name(&change.address);
    let message = format!(
        "{name} {} is no longer locked, and it is not known whether the configuration requires it",
        old.version
    );
    let error = finding(Code::EntryRemoved, message, &Location::of_file(&root.lock_path), "");
    Some(error.about(&change.address).help("restore the entry, or let the job read the modules that are not known"))
}

/// Added hashes that no package whose hashes are known confirms, unless all are to be compared with what is published.
fn not_checked(subject: &Subject<'_>, entry: &Entry, change: &ProviderDiff) -> Option<Diagnostic> {
    let (address, version) = (&entry.address, &entry.locked.version);
    let cached = subject.request.cache.map(|cache| cache.packages_of(address, version)).unwrap_or_default();
    let is_confirmed = |hash: &Hash| cached.iter().any(|(_, digest)| digest.hashes().contains(&hash));
    let mut added = change.hashes_added();
    added.retain(|hash| hash.is_known() && !is_confirmed(hash));
    if added.is_empty() || subject.request.online.is_some() {
        return None;
    }
    let release = subject.release(entry);
    let message = match added.len() {
        1 => format!("a hash of {release} was added, and nothing on this machine confirms it"),
        count => format!("{count} hashes of {release} were added, and nothing on this machine confirms them"),
    };
    let location = first_of(entry, |hash| added.contains(hash));
    let warning = finding(Code::HashNotChecked, message, location, "");
    Some(warning.help(Remedy::verify_online()))
}

/// Where the first such hash of an entry is.
fn first_of(entry: &Entry, is_it: impl Fn(&Hash) -> bool) -> &Location {
    entry.hashes.iter().find(|(hash, _)| is_it(hash)).map_or(&entry.block, |(_, place)| place)
}

/// Whether a provider that is no longer locked has the same name on another host.
fn moved(subject: &Subject<'_>, previous: &ProviderAddress, now: &ProviderAddress) -> bool {
    previous.namespace == now.namespace
        && previous.name == now.name
        && !subject.lock_file.locks().contains_key(previous)
}
