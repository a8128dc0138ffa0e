//! `verify`: whether a lock file meets its configuration, the project's policy and, with
//! `--online`, the published releases.
//!
//! Each check is an audit, a function that returns the findings about a root module. A finding has
//! a [`Code`]; an error is the reason why something could not be checked. Findings are errors if
//! `init -lockfile=readonly` or the installation fails, if something cannot be trusted, or if the
//! policy forbids it; all others are warnings or notes. A lock file does not say which platform a
//! hash is for. Packages whose hashes are known answer that; else it is reported as not known.

mod affected;
mod altered_reads;
mod atmos_stacks;
mod attributes;
mod audited_root;
mod backend_files;
mod base;
mod bundled_plugins;
mod called_source;
mod changed_entries;
mod changed_file;
mod changed_modules;
mod copied_state;
mod deciding_files;
mod deciding_kind;
mod deciding_names;
mod decisions;
mod dialect_changed;
mod file;
mod file_effect;
mod given_values;
mod ignore;
mod installed_modules;
mod installed_package_differs;
mod local_repositories;
mod locked_modules;
mod made_unknown;
mod module_not_allowed;
mod module_ref_floating;
mod moved_roots;
mod new_findings;
mod online;
mod outside_modules;
mod overrides;
mod platforms;
mod platforms_lost;
mod policy;
mod publisher_added;
mod readings;
mod requests;
mod requirements;
mod root_removed;
mod searched_text;
mod settings_change;
mod several_roots;
mod shared_lock_file;
mod terragrunt_cache;
mod text_effect;
mod tracked_data_directory;
mod unit_added;
mod unit_locks;
mod unlocked_requirements;
mod verify_roots;
mod version_too_young;
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
pub use deciding_kind::{is_searched, may_decide};
pub use settings_change::{SettingsEdit, what_changed};

use audited_root::{AuditedRoot, FileState};

/// A check of a root module. A file that does not have the name of its [`Code`] lists its codes.
enum Audit {
    /// Returns its findings.
    Findings(fn(&AuditedRoot<'_>) -> Vec<Diagnostic>),
    /// Adds its findings to the report, and numbers, or reasons why it could not check something,
    /// or looks at earlier findings.
    Numbers(fn(&AuditedRoot<'_>, &mut VerifiedRoot)),
}

/// All audits, in the order in which their findings are reported. The lock file is empty if it is
/// missing or cannot be read.
const AUDITS: &[Audit] = &[
    Audit::Findings(bundled_plugins::check_bundled_plugins),
    Audit::Findings(tracked_data_directory::check_tracked_data),
    Audit::Numbers(file::report_checks_without_git),
    Audit::Findings(module_ref_floating::check_unpinned_modules),
    Audit::Findings(module_not_allowed::check_allowed_modules),
    Audit::Findings(file::check_untracked_module_lock_file),
    Audit::Findings(publisher_added::check_module_publishers),
    Audit::Numbers(locked_modules::check_module_lock_file),
    Audit::Findings(changed_modules::check_changed_modules),
    Audit::Numbers(file::check_lock_file_state),
    Audit::Findings(file::check_draft),
    Audit::Findings(dialect_changed::check_dialect),
    Audit::Findings(policy::check_addresses),
    Audit::Findings(publisher_added::check_new_providers),
    Audit::Findings(file::check_provider_hashes),
    Audit::Findings(requirements::check_requirements),
    Audit::Numbers(outside_modules::lower_errors),
    Audit::Findings(requirements::check_refused_requirements),
    Audit::Findings(shared_lock_file::check_shared_lock_file),
    Audit::Findings(changed_entries::check_changed_entries),
    Audit::Findings(decisions::check_decisions),
    Audit::Findings(unlocked_requirements::check_unlocked_requirements),
    Audit::Findings(version_too_young::check_ages),
    Audit::Numbers(installed_package_differs::check_installed_packages),
    Audit::Findings(policy::check_registry_data),
    Audit::Numbers(online::check_entries_online),
    Audit::Numbers(platforms::check_required_platforms),
    Audit::Numbers(platforms_lost::check_lost_platforms),
];

/// Audits of the change under review as a whole. No comment in a lock file ignores their findings.
const CHANGE_AUDITS: &[Audit] = &[
    Audit::Findings(unit_added::check_added_units),
    Audit::Findings(root_removed::check_lock_file_is_read),
    Audit::Findings(root_removed::check_upload_exclusion),
    Audit::Numbers(made_unknown::check_unknown_requirements),
    Audit::Findings(requests::check_refused_requests),
];

impl Audit {
    fn run(&self, root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
        match self {
            Self::Findings(check) => report.findings.extend(check(root)),
            Self::Numbers(check) => check(root, report),
        }
    }
}

/// Runs all audits. Writes nothing, and asks nothing but `root.online`.
fn verify(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let is_readable = root.lock_file_state != FileState::Unreadable;
    count_entries(root, report);
    if is_readable {
        let declared = &root.requirements().providers;
        for address in root.dev_overrides.keys() {
            if declared.contains_key(address) {
                report.dev_overrides.push(address.clone());
            }
        }
        if !root.is_policy_only() {
            // The default registry from which the locked providers come shows the tool.
            report.registry = Dialect::only_one_where(|dialect| {
                let mut entries = root.entries().iter();
                entries.any(|entry| entry.address.hostname.is_default_of(dialect))
            });
        }
    }
    report.exempted = platforms::exempted_platforms(root);

    for audit in AUDITS {
        audit.run(root, report);
    }
    if is_readable {
        name_providers(root, &mut report.findings);
        apply_comments(root, report);
    }
    sort_by_location(root, &mut report.findings);
    // No comment suppresses the findings of these.
    for audit in CHANGE_AUDITS {
        audit.run(root, report);
    }
}

/// Notes the number and the versions of the entries in both lock files.
fn count_entries(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    report.unread = usize::from(root.lock_file_state == FileState::Unreadable);
    report.entries = root.entries().len();
    for entry in root.entries() {
        let version = entry.locked.version.clone();
        report.locked.insert(entry.address.clone(), version);
    }
    let Some(parsed) = &root.module_lock_file else {
        return;
    };
    let Some(lock_file) = &parsed.lock_file else {
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
    // A mirror was asked in place of the registry: what it does not know may still be found.
    let is_complete = report.errors.is_empty() && report.asked_mirrors.is_empty();
    // A comment is unused only if this run would have found what it ignores.
    let mut looked_for = Code::FINDINGS.to_vec();
    looked_for.retain(|code| root.looks_for(*code, is_complete));

    let about_comments = ignore::apply(
        &root.lock_file,
        base.map(|base| &base.lock_file),
        dialect,
        &looked_for,
        report,
        the_only_provider_of,
    );
    for (address, mut finding) in about_comments {
        finding.providers.extend(address);
        report.findings.push(finding);
    }

    let Some(parsed) = &root.module_lock_file else {
        return;
    };
    let Some(lock_file) = &parsed.lock_file else {
        return;
    };
    let about_comments = ignore::apply(
        lock_file,
        base.map(|base| &base.module_lock_file),
        dialect,
        &looked_for,
        report,
        |finding| the_only_module_of(finding, lock_file, &root.module.module_lock_path),
    );
    for (_, finding) in about_comments {
        report.findings.push(finding);
    }
}

/// The provider that a finding is about; `None` if it is about several.
fn the_only_provider_of(finding: &Diagnostic) -> Option<ProviderAddress> {
    match &finding.providers[..] {
        [provider] => Some(provider.clone()),
        _ => None,
    }
}

/// The module that a finding is about: its first location is in the entry, and no other location is
/// in a different one. `None` for a finding about no entry, or about several.
fn the_only_module_of(
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
fn sort_by_location(root: &AuditedRoot<'_>, findings: &mut [Diagnostic]) {
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
