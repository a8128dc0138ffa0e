//! `verify`: whether a lock file meets its configuration, the project's policy and, with `--online`, the published
//! releases.
//!
//! Each check is an audit, a function that adds the findings about a root module to its report. A finding has a
//! [`Code`]; an error is the reason why something could not be checked. Findings are errors if `init
//! -lockfile=readonly` or the installation fails, if something cannot be trusted, or if the policy forbids it; all
//! others are warnings or notes. A lock file does not say which platform a hash is for. Packages whose hashes are known
//! answer that; else it is reported as not known.

mod added;
mod age;
mod all;
mod base;
mod change;
mod configuration;
mod file;
mod ignore;
mod modules;
mod new_findings;
mod online;
mod overrides;
mod platforms;
pub(super) mod policy;
mod publishers;
mod root;
mod several_roots;
mod verified;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic};

pub use verified::{OnlineOptions, Suppressed, Tracked, Tracking, VerifiedRoot, VerifyOptions, VersionControl};

use root::{FileState, Root};

/// Adds the findings of one check to the report of a root module.
type Audit = fn(&Root<'_>, &mut VerifiedRoot);

/// State of the lock file that an audit needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requires {
    Nothing,
    /// The lock file can be read, or is missing.
    Entries,
    /// The lock file exists and can be read.
    LockFile,
}

/// All audits, in the order in which their findings are reported.
const AUDITS: &[(Requires, Audit)] = &[
    (Requires::Nothing, policy::bundled_plugins),
    (Requires::Nothing, policy::tracked_data),
    (Requires::Nothing, policy::unpinned_modules),
    (Requires::Nothing, file::untracked_modules),
    (Requires::Nothing, modules::check),
    (Requires::Nothing, file::state),
    (Requires::Nothing, change::dialect),
    (Requires::Entries, policy::addresses),
    (Requires::Entries, added::check),
    (Requires::LockFile, file::provider_hashes),
    (Requires::LockFile, configuration::check),
    (Requires::LockFile, change::check),
    (Requires::LockFile, age::check),
    (Requires::LockFile, platforms::installed),
    (Requires::LockFile, age::registry_data),
    (Requires::LockFile, online::check),
    (Requires::LockFile, platforms::check),
];

/// Audits of the change under review as a whole. No comment in a lock file ignores their findings.
const CHANGE_AUDITS: &[Audit] = &[change::unit_added, change::made_unknown];

/// Runs all audits. Writes nothing, and asks nothing but `root.online`.
fn verify(root: &Root<'_>, report: &mut VerifiedRoot) {
    report.entries = root.entries().len();
    let is_readable = root.state != FileState::Unreadable;
    if is_readable {
        let declared = &root.requirements().providers;
        report.dev_overrides = root.dev_overrides.keys().filter(|one| declared.contains_key(one)).cloned().collect();
        report.registry = root.registry().filter(|_| !root.is_policy_only);
    }
    for (requires, audit) in AUDITS {
        let has_required = match requires {
            Requires::Nothing => true,
            Requires::Entries => is_readable,
            Requires::LockFile => root.state == FileState::Readable,
        };
        if has_required {
            audit(root, report);
        }
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
fn name_providers(root: &Root<'_>, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.providers.is_empty()) {
        let location = finding.labels.first().map(|label| &label.location);
        let location = location.filter(|location| Arc::ptr_eq(&location.file, root.lock_file.file()));
        let entry = location.and_then(|location| root.lock_file.entry_at(location.span.start));
        finding.providers.extend(entry.map(|entry| entry.address.clone()));
    }
}

/// Removes the findings that comments in the lock files ignore.
fn apply_comments(root: &Root<'_>, report: &mut VerifiedRoot) {
    let is_complete = report.errors.is_empty() && report.mirrors.is_empty();
    let looked_for = Code::FINDINGS.iter().copied().filter(|code| root.looks_for(*code, is_complete));
    let looked_for: Vec<Code> = looked_for.collect();
    ignore::apply(root, &looked_for, report);
    if let Some(lock_file) = root.modules.as_ref().and_then(|modules| modules.lock_file.as_ref()) {
        ignore::apply_to_modules(root, lock_file, &looked_for, report);
    }
}

/// Sorts findings: those without a location, those in the lock file, those in other files.
fn sort(root: &Root<'_>, findings: &mut [Diagnostic]) {
    findings.sort_by_cached_key(|finding| {
        let location = finding.labels.first().map(|label| &label.location);
        let key = |location: &crate::diagnostic::Location| {
            (location.path() != root.module.lock_path, location.path().to_owned(), location.span.start)
        };
        location.map(key)
    });
}
