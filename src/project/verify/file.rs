//! Findings about the lock file itself.

use std::collections::BTreeSet;
use std::path::Path;

use super::root::{Expected, FileState, Root};
use super::verified::{Tracking, VerifiedRoot, finding};
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy};
use crate::lockfile::{Entry, LOCK_FILE_NAME, Locked, MODULE_LOCK_FILE_NAME};
use crate::provider::Dialect;

/// Problems of the lock file as a whole.
pub(super) fn state(root: &Root<'_>, report: &mut VerifiedRoot) {
    if root.state == FileState::Missing {
        report.not_shared = missing(root);
        report.needs_lock_file = root.needs_lock_file();
        return;
    }
    report.findings.extend(root.problems.iter().cloned());
    match root.tracked.lock_file {
        Tracking::Untracked => report.findings.push(untracked_file(&root.module.lock_path, LOCK_FILE_NAME)),
        Tracking::Ignored => report.not_shared = vec![ignored_file(&root.module.lock_path, LOCK_FILE_NAME)],
        Tracking::Tracked | Tracking::Unknown => {}
    }
}

/// The missing lock file of a configuration that requires providers, and requirements that are not known.
fn missing(root: &Root<'_>) -> Vec<Diagnostic> {
    if root.expected != Expected::Always {
        return Vec::new();
    }
    let requirements = root.requirements();
    let required = requirements.providers.iter();
    let required: Vec<_> = required.filter(|(address, _)| !root.dev_overrides.contains_key(address)).collect();
    let count = required.len();
    let what = if count == 1 { "a provider".to_owned() } else { format!("{count} providers") };
    let declarations = required.into_iter().flat_map(|(_, requirement)| &requirement.declarations);
    let finding = Diagnostic::finding(Code::LockFileMissing, "")
        .naming(&root.module.lock_path, |path| format!("{path} is missing, and the configuration requires {what}"))
        .shared(format!("{LOCK_FILE_NAME} is missing, and the configuration requires providers"))
        .help(root.lock_remedy());
    let first = declarations.map(|declaration| &declaration.location).min_by_key(|location| location.path());
    let missing = (count > 0).then(|| finding.at_each(first, "required here"));
    let unknown = requirements.warnings.iter().filter(|_| requirements.is_incomplete);
    missing.into_iter().chain(unknown.cloned()).collect()
}

/// A lock file of modules that git does not track.
pub(super) fn untracked_modules(root: &Root<'_>, report: &mut VerifiedRoot) {
    let path = &root.module.module_lock_path;
    if root.modules.is_none() || root.module.module_lock_bytes.is_none() {
        return;
    }
    report.findings.extend(match root.tracked.module_lock_file {
        Tracking::Untracked => Some(untracked_file(path, MODULE_LOCK_FILE_NAME)),
        Tracking::Ignored => Some(ignored_file(path, MODULE_LOCK_FILE_NAME)),
        Tracking::Tracked | Tracking::Unknown => None,
    });
}

/// Malformed, unknown and unsorted hashes of providers.
pub(super) fn provider_hashes(root: &Root<'_>, report: &mut VerifiedRoot) {
    report.findings.extend(hashes(root.entries(), root.module.dialect));
}

fn untracked_file(path: &Path, name: &'static str) -> Diagnostic {
    about_file(path, name, "git does not track").help(Remedy::AddToGit { name, force: false })
}

fn ignored_file(path: &Path, name: &'static str) -> Diagnostic {
    let help = Help::from(Remedy::AddToGit { name, force: true }).and_text(", and correct .gitignore");
    about_file(path, name, "git ignores").help(help)
}

fn about_file(path: &Path, name: &str, what: &str) -> Diagnostic {
    let message = format!("{what} {}", path.display());
    let finding = Diagnostic::finding(Code::UntrackedLockFile, message).at(Location::of_file(path), "");
    finding.shared(format!("{what} {name}"))
}

/// Faults of hashes that are visible in the file.
pub(super) fn hashes<T: Locked>(entries: &[Entry<T>], dialect: Dialect) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for entry in entries {
        for (hash, location) in &entry.hashes {
            if !hash.is_known() {
                let message = format!("unknown scheme of the hash {hash}");
                let warning = finding(Code::UnknownHashScheme, message, location, "");
                findings.push(warning.help("remove the hash unless a newer tool recorded it"));
            } else if !hash.is_well_formed() {
                let form = hash.scheme().form();
                let message = format!("the hash {hash} cannot match any package: it is not {form}");
                let error = finding(Code::MalformedHash, message, location, "");
                findings.push(error.help(Help::text("remove the hash, then run: ").and(T::remedy())));
            }
        }
        findings.extend(order(entry, dialect));
    }
    findings
}

/// The first hash of an entry that is unsorted or duplicated.
fn order<T: Locked>(entry: &Entry<T>, dialect: Dialect) -> Option<Diagnostic> {
    if entry.hashes.is_sorted_by(|(one, _), (next, _)| one < next) {
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut greatest = None;
    for (hash, location) in &entry.hashes {
        let label = if !seen.insert(hash) {
            Some("listed above already")
        } else if greatest.is_some_and(|greatest| greatest > hash) {
            Some("should be further up")
        } else {
            None
        };
        if let Some(label) = label {
            let message = format!("the hashes of {} are unsorted or duplicated", T::name(&entry.address, dialect));
            let warning = finding(Code::UnsortedHashes, message, location, label);
            return Some(warning.help("sort the list and remove duplicates"));
        }
        greatest = Some(hash);
    }
    None
}
