//! Findings about the lock file itself.

use std::collections::BTreeSet;
use std::path::Path;

use super::audited_root::{AuditedRoot, FileState, LockFileNeed, Tracking, VerifiedRoot, finding};
use crate::configuration::Requirements;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity};
use crate::lockfile::{Entry, EntryKind, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, malformed_hash};
use crate::provider::Dialect;

/// A lock file that is missing, untracked or ignored. Without a lock file, files that lead out of
/// the repository are reported here, even if a lock file may be omitted.
pub(super) fn state(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    match root.tracked.lock_file {
        _ if root.state == FileState::Missing => {
            let unread = root
                .requirements()
                .warnings
                .iter()
                .filter(|warning| warning.severity == Severity::Error);
            report.findings.extend(unread.cloned());
            report.not_shared = missing(root);
            report.needs_lock_file = root.needs_lock_file();
        }
        Tracking::Untracked => report
            .findings
            .push(untracked_file(&root.module.lock_path, LOCK_FILE_NAME)),
        Tracking::Ignored => {
            report.not_shared = vec![ignored_file(&root.module.lock_path, LOCK_FILE_NAME)];
        }
        Tracking::Tracked | Tracking::Unknown => {}
    }
}

/// The missing lock file of a configuration that requires providers, and warnings about
/// requirements that are not known.
fn missing(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    if root.expected != LockFileNeed::Always {
        return Vec::new();
    }
    let Requirements {
        providers,
        warnings,
        is_incomplete,
        ..
    } = root.requirements();
    let required = providers
        .iter()
        .filter(|(address, _)| !root.dev_overrides.contains_key(address));
    let count = required.clone().count();
    let what = if count == 1 {
        "a provider".to_owned()
    } else {
        format!("{count} providers")
    };
    // A declaration of the user's own is shown rather than one of a called module.
    let first = required
        .flat_map(|(_, requirement)| &requirement.declarations)
        .min_by_key(|declaration| (declaration.call.is_some(), declaration.location.path()));
    let finding = Diagnostic::finding(Code::LockFileMissing, "")
        .naming(&root.module.lock_path, |path| {
            format!("{path} is missing, and the configuration requires {what}")
        })
        .shared(format!(
            "{LOCK_FILE_NAME} is missing, and the configuration requires providers"
        ))
        .help(root.lock_remedy());
    let missing = first.map(|first| first.mark(finding, &first.location, "required here"));
    let warnings = warnings
        .iter()
        .filter(|warning| *is_incomplete && warning.severity != Severity::Error);
    missing.into_iter().chain(warnings.cloned()).collect()
}

/// A lock file of modules that git does not track.
pub(super) fn untracked_modules(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let path = &root.module.module_lock_path;
    let has_file = root.modules.is_some() && root.module.module_lock_bytes.is_some();
    match root.tracked.module_lock_file {
        Tracking::Untracked if has_file => report
            .findings
            .push(untracked_file(path, MODULE_LOCK_FILE_NAME)),
        Tracking::Ignored if has_file => report
            .findings
            .push(ignored_file(path, MODULE_LOCK_FILE_NAME)),
        _ => {}
    }
}

/// Malformed, unknown and unsorted hashes of providers.
pub(super) fn provider_hashes(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    report
        .findings
        .extend(hashes(root.entries(), root.module.dialect));
}

fn untracked_file(path: &Path, name: &'static str) -> Diagnostic {
    about_file(path, name, "git does not track").help(Remedy::AddToGit { name, force: false })
}

fn ignored_file(path: &Path, name: &'static str) -> Diagnostic {
    let help =
        Help::from(Remedy::AddToGit { name, force: true }).and_text(", and correct .gitignore");
    about_file(path, name, "git ignores").help(help)
}

fn about_file(path: &Path, name: &str, what: &str) -> Diagnostic {
    let message = format!("{what} {}", path.display());
    let finding =
        Diagnostic::finding(Code::UntrackedLockFile, message).at(Location::of_file(path), "");
    finding.shared(format!("{what} {name}"))
}

/// Faults of hashes that are visible in the file.
pub(super) fn hashes<T: EntryKind>(entries: &[Entry<T>], dialect: Dialect) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for entry in entries {
        for (hash, location) in &entry.hashes {
            if !hash.is_known() {
                let message = format!("unknown scheme of the hash {hash}");
                let warning = finding(Code::UnknownHashScheme, message, location, "");
                findings.push(warning.help("remove the hash unless a newer tool recorded it"));
            } else if !hash.is_well_formed() {
                findings.push(malformed_hash::<T>(hash, location));
            }
        }
        findings.extend(order(entry, dialect));
    }
    findings
}

/// The first hash of an entry that is unsorted or duplicated.
fn order<T: EntryKind>(entry: &Entry<T>, dialect: Dialect) -> Option<Diagnostic> {
    if entry.hashes.is_sorted_by(|(one, _), (next, _)| one < next) {
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut label = |hash| match (seen.last() > Some(&hash), seen.insert(hash)) {
        (_, false) => Some("listed above already"),
        (true, true) => Some("should be further up"),
        (false, true) => None,
    };
    let (location, label) = entry
        .hashes
        .iter()
        .find_map(|(hash, location)| Some((location, label(hash)?)))?;
    let message = format!(
        "the hashes of {} are unsorted or duplicated",
        T::name(&entry.address, dialect)
    );
    let warning = finding(Code::UnsortedHashes, message, location, label);
    Some(warning.help("sort the list and remove duplicates"))
}
