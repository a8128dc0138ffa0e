//! `verify`: whether a lock file fits its configuration, the project's policy and, if asked, the world.
//!
//! What is wrong is a finding, a value with a [`Code`]; an error means that something could not be checked. An error
//! weighs what makes `init -lockfile=readonly` or the install fail, what cannot be trusted, and what the policy
//! forbids; everything else is a warning. Nothing is guessed: a lock file does not say which platform a hash is of, so
//! that is answered from packages whose hashes are known, or reported as not known.

mod added;
mod age;
mod all;
mod before;
mod change;
mod configuration;
mod consequences;
mod file;
mod ignore;
mod levels;
mod listing;
mod mirrored;
mod mixed;
mod modules;
mod online;
mod platforms;
pub(super) mod policy;
mod subject;
mod unshared;
mod verified;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic};
use crate::lockfile::{self, LockFile};

pub use all::{OnlineOptions, VerifyOptions};
pub(crate) use subject::{Expected, Online, Verified, VerifyRequest};
pub use verified::{Suppressed, Tracked, Tracking, VerifiedRoot, VersionControl};

use subject::Subject;

/// Says of findings in an entry which provider they are about.
fn name_providers(subject: &Subject<'_>, findings: &mut [Diagnostic]) {
    for finding in findings.iter_mut().filter(|finding| finding.providers.is_empty()) {
        let place = finding.labels.first().map(|label| &label.location);
        let place = place.filter(|place| Arc::ptr_eq(&place.file, subject.lock_file.file()));
        let entry = place.and_then(|place| subject.lock_file.entry_at(place.span.start));
        finding.providers.extend(entry.map(|entry| entry.address.clone()));
    }
}

/// Adds what is wrong with the entries of a lock file.
fn check_entries(subject: &Subject<'_>, verified: &mut Verified) {
    let (request, findings) = (subject.request, &mut verified.findings);
    findings.extend(file::hashes(subject.entries(), request.root.dialect));
    findings.extend(configuration::check(subject));
    findings.extend(change::check(subject));
    findings.extend(age::check(subject));
    if request.check_installed {
        let installed = platforms::installed(subject);
        findings.extend(installed.findings);
        verified.errors.extend(installed.errors);
        verified.installed += installed.compared;
        verified.not_installed = subject.entries().len() - installed.compared;
    }
    if let Some(online) = request.online {
        findings.extend(listing::check(subject, online));
        let asked = online::check(subject, online);
        findings.extend(asked.findings);
        verified.authentications = asked.authentications;
        verified.has_unknown_platforms = asked.has_unknown_platforms;
        verified.mirrors = asked.mirrors;
        verified.errors.extend(asked.errors);
    } else if !request.is_only_judged {
        let checked = platforms::check(subject);
        findings.extend(checked.findings);
        verified.has_unknown_platforms = checked.has_unknown;
    }
}

/// Verifies the lock file of one root module. Nothing is written, and nothing is asked but `request.online`.
pub(crate) fn verify(request: &VerifyRequest<'_>) -> Verified {
    let mut verified = Verified::default();
    let findings = &mut verified.findings;
    findings.extend(policy::bundled_plugins(request));
    findings.extend(policy::tracked_data(request));
    findings.extend(policy::unpinned_modules(request));
    if let Some(modules) = request.modules {
        findings.extend(file::unshared_modules(request));
        let checked = modules::check(request, modules);
        findings.extend(checked.findings);
        verified.errors.extend(checked.errors);
        verified.modules = checked.modules;
        verified.installed = checked.installed;
    } else {
        findings.extend(modules::added(request));
    }
    let lock_file = match &request.root.lock_bytes {
        None => {
            verified.unshared = file::missing(request);
            verified.needs_lock_file = request.needs_lock_file();
            LockFile::empty(&request.root.lock_path, request.root.dialect)
        }
        Some(bytes) => {
            let parsed = lockfile::parse(&request.root.lock_path, bytes, request.root.dialect);
            findings.extend(parsed.diagnostics);
            findings.extend(file::untracked(request));
            findings.extend(change::dialect(request));
            verified.unshared = file::ignored(request).into_iter().collect();
            match parsed.lock_file {
                Some(lock_file) => lock_file,
                None => return verified.sorted(&request.root.lock_path),
            }
        }
    };
    verified.entries = lock_file.entries().len();
    let required = &request.requirements.providers;
    verified.dev_overrides = request.dev_overrides.keys().filter(|one| required.contains_key(one)).cloned().collect();
    let subject = Subject { request, lock_file: &lock_file };
    verified.registry = subject.registry().filter(|_| !request.is_only_judged);
    let findings = &mut verified.findings;
    findings.extend(policy::check(&subject));
    findings.extend(added::check(&subject));
    if request.root.lock_bytes.is_some() {
        check_entries(&subject, &mut verified);
    }
    name_providers(&subject, &mut verified.findings);
    let is_complete = verified.errors.is_empty() && verified.mirrors.is_empty();
    let is_looked_for = |code: &Code| request.looks_for(*code, is_complete);
    verified.looked_for = Code::FINDINGS.iter().copied().filter(is_looked_for).collect();
    ignore::apply(request, &lock_file, &mut verified);
    if let Some(modules) = request.modules.and_then(|modules| modules.lock_file.as_ref()) {
        ignore::apply_to_modules(request, modules, &mut verified);
    }
    verified.sorted(&request.root.lock_path)
}
