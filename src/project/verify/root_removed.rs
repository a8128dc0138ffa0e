//! Findings about changes by which a lock file no longer applies.

use super::audited_root::AuditedRoot;
use super::base::{Base, BaseFacts};
use crate::configuration::{Backend, Module};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::project::reviewed_change::UPLOAD_IGNORE_FILE;
use crate::provider::Version;
use crate::system::{excludes_from_upload, files};

/// Versions of Terraform before 0.14 read no lock file, so a change that requires one removes the
/// lock.
pub(super) fn check_lock_file_is_read(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    let is_before_locks =
        |module: &Module| module.required_version.is_below(&Version::new(0, 14, 0));
    if base.lock_file.bytes.is_empty() || !is_before_locks(&root.module.module(root.module_cache)) {
        return Vec::new();
    }
    let before = base.module(root.module);
    if before.is_none_or(|before| is_before_locks(&before)) {
        return Vec::new();
    }
    let message = "this change requires a version of Terraform that reads no lock file";
    let finding = Diagnostic::finding(Code::RootRemoved, message)
        .at_location(Location::of_file(&root.module.lock_path));
    vec![finding.help("require at least version 0.14 in required_version")]
}

/// Findings about patterns that the change adds and by which remote runs of HCP Terraform get no
/// lock file. None if the root module does not run remotely.
pub(super) fn check_upload_exclusion(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(Base {
        facts: BaseFacts { change, .. },
        ..
    }) = root.base
    else {
        return Vec::new();
    };
    let module = root.module.module(root.module_cache);
    let runs_remotely = module.backend.as_ref().is_some_and(Backend::runs_remotely);
    if !runs_remotely || root.module.is_unit() {
        return Vec::new();
    }
    let lock_file = root.module.lock_directory.join(LOCK_FILE_NAME);
    let directories = lock_file
        .ancestors()
        .skip(1)
        .take_while(|directory| directory.starts_with(&change.top));
    let mut findings = Vec::new();
    for directory in directories {
        let path = directory.join(UPLOAD_IGNORE_FILE);
        if !change.read_files_now.contains(path.as_os_str()) || !change.alters(&path) {
            continue;
        }
        // Patterns that cannot be read may exclude it.
        let excludes_now = match files::read(&path, lockfile::SIZE_LIMIT) {
            Ok(now) => excludes_from_upload(directory, &now, &lock_file),
            Err(_) => true,
        };
        let excluded_before = match change.file_before(&path) {
            Some(before) => excludes_from_upload(directory, before, &lock_file),
            None => false,
        };
        if excludes_now && !excluded_before {
            let shown = change.shown_path(&path);
            let message = format!(
                "{} excludes {} from remote runs",
                shown.display(),
                root.module.lock_path.display()
            );
            let finding = Diagnostic::finding(Code::RootRemoved, message)
                .at_location(Location::of_file(shown));
            findings
                .push(finding.help("remove the pattern, so that remote runs use the lock file"));
        }
    }
    findings
}
