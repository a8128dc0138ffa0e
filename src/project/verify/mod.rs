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
mod audited_root;
mod base;
mod deciding_files;
mod decisions;
mod file;
mod ignore;
mod installed_modules;
mod locked_modules;
mod made_unknown;
mod new_findings;
mod online;
mod overrides;
mod platforms;
mod platforms_lost;
pub(super) mod policy;
mod readings;
mod requests;
mod requirements;
mod root_change;
mod settings_change;
mod several_roots;
mod shared_lock_file;
mod verify_roots;
mod whole_change;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Label};
use crate::lockfile::LockFileOf;
use crate::provider::Dialect;

pub use audited_root::{
    Obstacle, OnlineOptions, Suppressed, Tracked, Tracking, VerifiedRoot, VerifyOptions,
    VersionControl,
};
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
    let is_module_file_unread = root
        .modules
        .as_ref()
        .is_some_and(|modules| modules.lock_file.is_none());
    report.unread = usize::from(!is_readable) + usize::from(is_module_file_unread);
    report.entries = root.entries().len();
    for entry in root.entries() {
        let version = entry.locked.version.clone();
        report.locked.insert(entry.address.clone(), version);
    }
    let module_lock_file = root.modules.as_ref().and_then(|one| one.lock_file.as_ref());
    for entry in module_lock_file.map_or(&[][..], LockFileOf::entries) {
        let version = entry.locked.version.clone();
        report.locked_modules.insert(entry.address.clone(), version);
    }
    if is_readable {
        let declared = &root.requirements().providers;
        report.dev_overrides = root
            .dev_overrides
            .keys()
            .filter(|one| declared.contains_key(one))
            .cloned()
            .collect();
        let has = |dialect| {
            root.entries()
                .iter()
                .any(|entry| entry.address.hostname.is_default_of(dialect))
        };
        report.registry = if root.is_policy_only() {
            None
        } else {
            Dialect::only(has)
        };
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
    for audit in CHANGE_AUDITS {
        audit(root, report);
    }
}

/// Names the provider in each finding about an entry.
fn name_providers(root: &AuditedRoot<'_>, findings: &mut [Diagnostic]) {
    for finding in findings
        .iter_mut()
        .filter(|finding| finding.providers.is_empty())
    {
        let location = finding.labels.first().map(|label| &label.location);
        let location =
            location.filter(|location| Arc::ptr_eq(&location.file, root.lock_file.file()));
        let entry = location.and_then(|location| root.lock_file.entry_at(location.span.start));
        finding
            .providers
            .extend(entry.map(|entry| entry.address.clone()));
    }
}

/// Removes the findings that comments in the lock files ignore, and adds findings about comments.
fn apply_comments(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let (dialect, base) = (root.module.dialect, root.base.as_ref());
    let is_complete = report.errors.is_empty() && report.mirrors.is_empty();
    let looked_for = Code::FINDINGS
        .iter()
        .copied()
        .filter(|code| root.looks_for(*code, is_complete));
    let looked_for: Vec<Code> = looked_for.collect();
    let about = |finding: &Diagnostic| match &finding.providers[..] {
        [provider] => Some(provider.clone()),
        _ => None,
    };
    let base_file = base.map(|base| &base.providers);
    for (address, finding) in ignore::apply(
        &root.lock_file,
        base_file,
        dialect,
        &looked_for,
        report,
        about,
    ) {
        report
            .findings
            .push(address.iter().fold(finding, Diagnostic::about));
    }
    let Some(lock_file) = root
        .modules
        .as_ref()
        .and_then(|modules| modules.lock_file.as_ref())
    else {
        return;
    };
    // A finding is about an entry if its first location is in that entry, and no other location is
    // in a different one.
    let about = |finding: &Diagnostic| {
        let mut entries = finding.labels.iter().map(|Label { location, .. }| {
            let is_here = location.path() == root.module.module_lock_path;
            if is_here {
                lock_file.entry_at(location.span.start)
            } else {
                None
            }
        });
        let first = entries.next()??;
        entries
            .flatten()
            .all(|entry| entry.address == first.address)
            .then(|| first.address.clone())
    };
    let found = ignore::apply(
        lock_file,
        base.map(|base| &base.modules),
        dialect,
        &looked_for,
        report,
        about,
    );
    report
        .findings
        .extend(found.into_iter().map(|(_, finding)| finding));
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
