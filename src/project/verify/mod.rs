//! `verify`: whether a lock file meets its configuration, the project's policy and, with
//! `--online`, the published releases.
//!
//! Each check is an audit, a function that adds the findings about a root module to its report. A
//! finding has a [`Code`]; an error is the reason why something could not be checked. Findings are
//! errors if `init -lockfile=readonly` or the installation fails, if something cannot be trusted,
//! or if the policy forbids it; all others are warnings or notes. A lock file does not say which
//! platform a hash is for. Packages whose hashes are known answer that; else it is reported as not
//! known.

mod affected;
mod atmos_stacks;
mod audited_root;
mod base;
mod deciding_files;
mod deciding_kind;
mod decisions;
mod file;
mod file_effect;
mod ignore;
mod installed_modules;
mod locked_modules;
mod made_unknown;
mod moved_roots;
mod new_findings;
mod online;
mod overrides;
mod platforms;
mod platforms_lost;
mod policy;
mod readings;
mod requests;
mod requirements;
mod root_change;
mod settings_change;
mod several_roots;
mod shared_lock_file;
mod verify_roots;
mod whole_change;

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Label};
use crate::lockfile::ModuleLockFile;
use crate::provider::{Dialect, ProviderAddress};

pub use audited_root::{
    Obstacle, OnlineOptions, Suppressed, Tracked, Tracking, VerifiedRoot, VerifyOptions,
    VersionControl,
};
pub use deciding_kind::may_decide;
pub use settings_change::{SettingsEdit, what_changed};

use audited_root::{AuditedRoot, FileState};

/// Adds the findings of one check to the report of a root module.
type Audit = fn(&AuditedRoot<'_>, &mut VerifiedRoot);

/// All audits, in the order in which their findings are reported. The lock file is empty if it is
/// missing or cannot be read.
const AUDITS: &[Audit] = &[
    policy::bundled_plugins,
    policy::tracked_data,
    file::checks_without_git,
    policy::unpinned_modules,
    policy::modules_not_allowed,
    file::untracked_modules,
    made_unknown::added_publishers,
    locked_modules::check,
    root_change::check_modules,
    file::state,
    file::draft,
    root_change::dialect,
    policy::addresses,
    root_change::added_providers,
    file::provider_hashes,
    requirements::check,
    requirements::refused,
    shared_lock_file::check,
    root_change::check,
    decisions::check,
    policy::check_ages,
    platforms::installed,
    policy::registry_data,
    online::check,
    platforms::check,
    platforms_lost::check,
];

/// Audits of the change under review as a whole. No comment in a lock file ignores their findings.
const CHANGE_AUDITS: &[Audit] = &[
    root_change::unit_added,
    root_change::lock_file_ignored,
    root_change::excluded_from_upload,
    made_unknown::check,
    requests::check,
];

/// Runs all audits. Writes nothing, and asks nothing but `root.online`.
fn verify(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let is_readable = root.state != FileState::Unreadable;
    count_entries(root, report);
    if is_readable {
        let declared = &root.requirements().providers;
        for address in root.dev_overrides.keys() {
            if declared.contains_key(address) {
                report.dev_overrides.push(address.clone());
            }
        }
        if !root.is_policy_only() {
            report.registry = Dialect::only(|dialect| {
                let mut entries = root.entries().iter();
                entries.any(|entry| entry.address.hostname.is_default_of(dialect))
            });
        }
    }
    report.exempted = platforms::exempted(root);

    for audit in AUDITS {
        audit(root, report);
    }
    if is_readable {
        name_providers(root, &mut report.findings);
        apply_comments(root, report);
    }
    sort(root, &mut report.findings);
    // No comment suppresses the findings of these.
    for audit in CHANGE_AUDITS {
        audit(root, report);
    }
}

/// Notes the number and the versions of the entries in both lock files.
fn count_entries(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    report.unread = usize::from(root.state == FileState::Unreadable);
    report.entries = root.entries().len();
    for entry in root.entries() {
        let version = entry.locked.version.clone();
        report.locked.insert(entry.address.clone(), version);
    }
    let Some(modules) = &root.modules else {
        return;
    };
    let Some(lock_file) = &modules.lock_file else {
        report.unread += 1;
        return;
    };
    for entry in lock_file.entries() {
        let version = entry.locked.version.clone();
        report.locked_modules.insert(entry.address.clone(), version);
    }
}

/// Names the provider in each finding about an entry.
fn name_providers(root: &AuditedRoot<'_>, findings: &mut [Diagnostic]) {
    for finding in findings {
        let Some(Label { location, .. }) = finding.labels.first() else {
            continue;
        };
        if !finding.providers.is_empty() || !Arc::ptr_eq(&location.file, root.lock_file.file()) {
            continue;
        }
        if let Some(entry) = root.lock_file.entry_at(location.span.start) {
            finding.providers.push(entry.address.clone());
        }
    }
}

/// Removes the findings that comments in the lock files ignore, and adds findings about comments.
fn apply_comments(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let dialect = root.module.dialect;
    let base = root.base.as_ref();
    // A comment is unused only if this run would have found what it ignores.
    let is_complete = report.errors.is_empty() && report.mirrors.is_empty();
    let mut looked_for = Code::FINDINGS.to_vec();
    looked_for.retain(|code| root.looks_for(*code, is_complete));

    let of_comments = ignore::apply(
        &root.lock_file,
        base.map(|base| &base.providers),
        dialect,
        &looked_for,
        report,
        only_provider,
    );
    for (address, mut finding) in of_comments {
        finding.providers.extend(address);
        report.findings.push(finding);
    }

    let Some(modules) = &root.modules else {
        return;
    };
    let Some(lock_file) = &modules.lock_file else {
        return;
    };
    let of_comments = ignore::apply(
        lock_file,
        base.map(|base| &base.modules),
        dialect,
        &looked_for,
        report,
        |finding| only_module(finding, lock_file, &root.module.module_lock_path),
    );
    for (_, finding) in of_comments {
        report.findings.push(finding);
    }
}

/// The provider that a finding is about; `None` if it is about several.
fn only_provider(finding: &Diagnostic) -> Option<ProviderAddress> {
    match &finding.providers[..] {
        [provider] => Some(provider.clone()),
        _ => None,
    }
}

/// The module that a finding is about: its first location is in the entry, and no other location is
/// in a different one.
fn only_module(
    finding: &Diagnostic,
    lock_file: &ModuleLockFile,
    lock_path: &Path,
) -> Option<String> {
    let mut module = None;
    for Label { location, .. } in &finding.labels {
        let mut entry = None;
        if location.path() == lock_path {
            entry = lock_file.entry_at(location.span.start);
        }
        match (&module, entry) {
            (None, None) => return None,
            (None, Some(entry)) => module = Some(entry.address.clone()),
            (Some(module), Some(entry)) if entry.address != *module => return None,
            (Some(_), _) => {}
        }
    }
    module
}

/// Sorts findings: those without a location, those in the lock file, those in other files.
fn sort(root: &AuditedRoot<'_>, findings: &mut [Diagnostic]) {
    findings.sort_by_cached_key(|finding| {
        let location = finding.labels.first().map(|label| &label.location);
        location.map(|location| {
            (
                location.path() != root.module.lock_path,
                location.path().to_owned(),
                location.span.start,
            )
        })
    });
}
