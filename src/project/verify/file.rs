//! Findings about the lock file itself.
//!
//! Codes: `lock-file-missing`, `untracked-lock-file`, `lock-file-syntax`, `unknown-hash-scheme`,
//! `unsorted-hashes`.

use std::collections::BTreeSet;
use std::path::Path;

use super::audited_root::{
    AuditedRoot, FileState, LockFileNeed, Obstacle, Tracking, VerifiedRoot, finding_at,
};
use crate::configuration::{DATA_DIRECTORY, Requirements};
use crate::diagnostic::{
    Code, Diagnostic, Help, Location, Message, Pattern, Remedy, RunOption, Severity,
};
use crate::lockfile::{
    DRAFT_LOCK_FILE_NAME, Entry, EntryKind, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, malformed_hash,
};
use crate::provider::Dialect;
use crate::system::files;

/// A lock file that is missing, untracked or ignored. Without a lock file, files that lead out of
/// the repository are reported here, even if a lock file may be omitted.
pub(super) fn check_lock_file_state(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    if root.lock_file_state == FileState::Missing {
        for warning in &root.requirements().warnings {
            if warning.severity == Severity::Error {
                report.findings.push(warning.clone());
            }
        }
        report.not_shared = findings_about_missing_lock_file(root);
        report.needs_lock_file = root.needs_lock_file();
        return;
    }
    let path = &root.module.lock_path;
    match root.tracked.lock_file {
        Tracking::Untracked => report
            .findings
            .push(finding_untracked_file(path, LOCK_FILE_NAME)),
        Tracking::Ignored => report.not_shared = vec![finding_ignored_file(path, LOCK_FILE_NAME)],
        Tracking::Tracked | Tracking::Unknown => {}
    }
}

/// Findings about the missing lock file of a configuration that requires providers, and about
/// requirements that are not known. None if a lock file may be omitted.
fn findings_about_missing_lock_file(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    if root.lock_file_need != LockFileNeed::Always {
        return Vec::new();
    }
    let Requirements {
        providers,
        warnings,
        is_incomplete,
        ..
    } = root.requirements();
    let mut declarations = Vec::new();
    let mut provider_count = 0;
    for (address, requirement) in providers {
        if !root.dev_overrides.contains_key(address) {
            declarations.extend(&requirement.declarations);
            provider_count += 1;
        }
    }
    let required = if provider_count == 1 {
        "a provider".to_owned()
    } else {
        format!("{provider_count} providers")
    };

    let mut findings = Vec::new();
    // A declaration of the user's own is shown rather than one of a called module.
    declarations.sort_by_key(|declaration| {
        let path = declaration.location.path();
        (declaration.own_call.is_some(), path)
    });
    if let Some(first) = declarations.first() {
        let message = Message::naming(&root.module.lock_path, |path| {
            format!("{path} is missing, and the configuration requires {required}")
        });
        let finding = Diagnostic::finding(Code::LockFileMissing, message)
            .with_shared_message(format!(
                "{LOCK_FILE_NAME} is missing, and the configuration requires providers"
            ))
            .help(root.lock_remedy());
        findings.push(first.add_location(finding, &first.location, "required here"));
    }
    if *is_incomplete {
        for warning in warnings {
            // Errors are reported even if a lock file may be omitted.
            if warning.severity != Severity::Error {
                findings.push(warning.clone());
            }
        }
    }
    findings
}

/// A lock file of modules that git does not track.
pub(super) fn check_untracked_module_lock_file(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let path = &root.module.module_lock_path;
    let has_file = root.module_lock_file.is_some() && root.module.module_lock_bytes.is_some();
    match root.tracked.module_lock_file {
        Tracking::Untracked if has_file => {
            vec![finding_untracked_file(path, MODULE_LOCK_FILE_NAME)]
        }
        Tracking::Ignored if has_file => vec![finding_ignored_file(path, MODULE_LOCK_FILE_NAME)],
        _ => Vec::new(),
    }
}

/// A lock file of a draft of OpenTofu beside the lock file, which is not read.
pub(super) fn check_draft(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let path = root.module.lock_path.with_file_name(DRAFT_LOCK_FILE_NAME);
    // The draft is beside the lock file of a root module, not beside a copy of it.
    let is_copied = root.module.found.lock_name.is_some();
    if is_copied || !root.module_cache.tree().has(&path) {
        return Vec::new();
    }
    let message = format!("{} is not read: its format is a draft", path.display());
    let warning =
        Diagnostic::warning(Code::LockFileSyntax, message).at_location(Location::of_file(&path));
    vec![warning.help(format!(
        "providers are checked by {LOCK_FILE_NAME}; remove the draft unless OpenTofu reads it"
    ))]
}

/// Malformed, unknown and unsorted hashes of providers.
pub(super) fn check_provider_hashes(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    findings_about_hashes(root.entries(), root.module.dialect)
}

/// Errors for checks that only git can make, that could not be made, and whose findings would be
/// errors here.
pub(super) fn report_checks_without_git(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(obstacle) = &root.tracked.obstacle else {
        return;
    };
    let mut codes = Vec::new();
    let has_module_lock_file =
        root.module_lock_file.is_some() && root.module.module_lock_bytes.is_some();
    let has_lock_file = root.module.lock_bytes.is_some() || has_module_lock_file;
    if has_lock_file && would_be_error(Code::UntrackedLockFile, obstacle, root, report) {
        codes.push(Code::UntrackedLockFile);
    }
    // Git need not know a data directory that is not there.
    if has_data_directory(root)
        && would_be_error(Code::TrackedDataDirectory, obstacle, root, report)
    {
        codes.push(Code::TrackedDataDirectory);
    }
    if codes.is_empty() {
        return;
    }
    let names = codes.iter().map(Code::to_string).collect::<Vec<_>>();
    let note = format!(
        "could not check {}, which is an error here",
        names.join(" and ")
    );
    let error = match obstacle {
        Obstacle::Failed(reason) => reason.as_ref().clone(),
        Obstacle::NoRepository => {
            Diagnostic::error(Code::Io, "the root module is in no git repository")
                .help(Help::text("run in a clone, or with ").and(RunOption::Warn(codes[0])))
        }
    };
    report.errors.push(error.note(note));
}

/// Whether a finding with this code would be an error. Outside of a repository nothing is tracked,
/// which is an error only if the code itself is denied.
fn would_be_error(
    code: Code,
    obstacle: &Obstacle,
    root: &AuditedRoot<'_>,
    report: &VerifiedRoot,
) -> bool {
    let mut finding = Diagnostic::finding(code, "");
    if matches!(obstacle, Obstacle::NoRepository) {
        if code == Code::TrackedDataDirectory {
            return false;
        }
        finding.severity = Severity::Note;
    }
    let reported = root.options.levels.applied(finding, &report.overrides);
    reported.is_some_and(|finding| finding.severity == Severity::Error)
}

/// Whether a data directory contains anything.
fn has_data_directory(root: &AuditedRoot<'_>) -> bool {
    let names = [Path::new(DATA_DIRECTORY), &root.module.data_directory];
    names.into_iter().any(|name| {
        let path = files::join(&root.module.lock_directory, name);
        let entries = root.module_cache.tree().entries(&path);
        entries.is_ok_and(|entries| !entries.is_empty())
    })
}

fn finding_untracked_file(path: &Path, name: &str) -> Diagnostic {
    let add = Remedy::AddToGit {
        files: vec![path.to_owned()],
        force: false,
    };
    about_file(path, name, "git does not track").help(add)
}

fn finding_ignored_file(path: &Path, name: &str) -> Diagnostic {
    let add = Remedy::AddToGit {
        files: vec![path.to_owned()],
        force: true,
    };
    let help = Help::from(add).and_text(", and correct .gitignore");
    about_file(path, name, "git ignores").help(help)
}

fn about_file(path: &Path, name: &str, what: &str) -> Diagnostic {
    let message = format!("{what} {}", path.display());
    let finding =
        Diagnostic::finding(Code::UntrackedLockFile, message).at_location(Location::of_file(path));
    finding.with_shared_message(format!("{what} {name}"))
}

/// Faults of hashes that are visible in the file.
pub(super) fn findings_about_hashes<T: EntryKind>(
    entries: &[Entry<T>],
    dialect: Dialect,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for entry in entries {
        for (hash, location) in &entry.hashes {
            if !hash.is_known() {
                let message = format!("unknown scheme of the hash {hash}");
                let warning = finding_at(Code::UnknownHashScheme, message, location);
                findings.push(warning.help("remove the hash unless a newer tool recorded it"));
            } else if !hash.is_well_formed() {
                findings.push(malformed_hash::<T>(hash, location));
            }
        }
        findings.extend(finding_unsorted_hashes(entry, dialect));
    }
    findings
}

/// The finding about the first hash of an entry that is unsorted or duplicated.
fn finding_unsorted_hashes<T: EntryKind>(entry: &Entry<T>, dialect: Dialect) -> Option<Diagnostic> {
    if entry
        .hashes
        .is_sorted_by(|(hash, _), (next, _)| hash < next)
    {
        return None;
    }

    let mut seen = BTreeSet::new();
    for (hash, location) in &entry.hashes {
        let is_unsorted = seen.last().is_some_and(|last| *last > hash);
        let label = if !seen.insert(hash) {
            "listed above already"
        } else if is_unsorted {
            "should be further up"
        } else {
            continue;
        };
        let pattern = Pattern::text("the hashes of ")
            .and_names(T::BLOCK, [T::name(&entry.address, dialect)])
            .and_text(" are unsorted or duplicated");
        let warning =
            Diagnostic::finding(Code::UnsortedHashes, pattern).at(location.clone(), label);
        return Some(warning.help(Remedy::RepairLockFile));
    }
    None
}
