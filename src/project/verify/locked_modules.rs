//! Findings about the lock file of modules, and about calls that it does not match.
//!
//! Codes: `module-not-locked`, `module-lock-stale`, `module-package-foreign`, `no-hashes`.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, VerifiedRoot, finding_at};
use super::file;
use super::installed_modules;
use super::requests::{self, LockedRequest};
use super::requirements::finding_constraints_differ;
use crate::configuration::ModuleCall;
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Help, Message, Remedy, Result, Severity};
use crate::lockfile::{
    Entry, EntryKind, LockedModule, MODULE_LOCK_FILE_NAME, ModuleLockFile, UNIT_ADDRESS,
    module_name,
};
use crate::modules::ModuleSource;
use crate::modules::locked::{self, RefusedEntry};
use crate::provider::Hash;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// A call and its entry.
type LockedCall<'a> = (&'a ModuleCall, &'a Entry<LockedModule>);

/// Checks the lock file of modules, by itself and beside the configuration.
pub(super) fn check_module_lock_file(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(parsed) = &root.module_lock_file else {
        return;
    };
    report.findings.extend(parsed.diagnostics.iter().cloned());
    let Some(lock_file) = &parsed.lock_file else {
        return;
    };
    let entries = lock_file.entries();
    report.modules = entries.len();
    report
        .findings
        .extend(file::findings_about_hashes(entries, root.module.dialect));
    for entry in entries {
        report.findings.extend(findings_about_faults(root, entry));
    }
    compare_calls(root, lock_file, report);

    let calls = locked_calls(root, lock_file);
    if root.online.is_some() {
        compare_with_published(root, &calls, report);
    }
    // Terragrunt installs the modules of units in its own directories, among generated files.
    if root.options.check_installed && !root.module.is_unit() {
        installed_modules::check_installed_copies(root, &calls, report);
    }
}

/// Compares the calls of the configuration with the entries.
fn compare_calls(root: &AuditedRoot<'_>, lock_file: &ModuleLockFile, report: &mut VerifiedRoot) {
    let calls: Vec<_> = root.requirements().package_calls().collect();
    if root.module.module_lock_bytes.is_none() {
        report
            .findings
            .extend(finding_missing_lock_file(root, &calls));
        return;
    }
    let mut keys = BTreeSet::new();
    for call in calls {
        report.findings.extend(finding_about_call(lock_file, call));
        keys.insert(&call.key);
    }
    // Unknown modules may have more calls.
    if root.requirements().is_incomplete {
        return;
    }
    for entry in lock_file.entries() {
        if keys.contains(&entry.address) {
            continue;
        }
        let message = format!(
            "{} is locked, but the configuration does not call it",
            LockedModule::label_name(&entry.address)
        );
        let mut warning = finding_at(Code::ModuleLockStale, message, &entry.block);
        warning.severity = Severity::Warning;
        report.findings.push(warning.help(Remedy::LockModules));
    }
}

/// The calls that match their entries.
fn locked_calls<'a>(
    root: &'a AuditedRoot<'_>,
    lock_file: &'a ModuleLockFile,
) -> Vec<LockedCall<'a>> {
    let mut locked_calls = Vec::new();
    for call in root.requirements().package_calls() {
        let Some(entry) = lock_file.entry(&call.key) else {
            continue;
        };
        let locked = &entry.locked;
        if locked::is_allowed(locked, &call.source, &call.constraints)
            && locked::fault(locked, root.module.dialect).is_none()
        {
            locked_calls.push((call, entry));
        }
    }
    locked_calls
}

/// Faults of an entry that do not depend on the configuration.
fn findings_about_faults(root: &AuditedRoot<'_>, entry: &Entry<LockedModule>) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let again = Help::text("remove the entry, then run: ").and(Remedy::LockModules);
    let mut findings = Vec::new();
    if let Some(why) = locked::fault(&entry.locked, root.module.dialect) {
        let code = Code::ModulePackageForeign;
        let error = finding_at(code, format!("{name} {why}"), entry.package());
        findings.push(error.help(again.clone()));
    }
    if !entry.locked.hashes.iter().any(Hash::is_known) {
        let message = format!("{name} has no hash that could identify its package");
        let error = finding_at(Code::NoHashes, message, &entry.block);
        findings.push(error.help(again));
    }
    findings
}

/// The finding about a missing lock file of modules: because of the calls, or because of the
/// settings, which may require the file without any call.
fn finding_missing_lock_file(root: &AuditedRoot<'_>, calls: &[&ModuleCall]) -> Option<Diagnostic> {
    const REQUIRED: &str = "is missing, but provlock.toml requires locked modules";
    let path = &root.module.module_lock_path;
    let is_required = root.module.settings.lock_modules == Some(true);
    // Without the setting, the base has the file, and the change removes it or moves away from it.
    let shared = if is_required {
        format!("{MODULE_LOCK_FILE_NAME} {REQUIRED}")
    } else {
        format!("{MODULE_LOCK_FILE_NAME} is missing, so called modules are not locked")
    };
    if let Some(first) = calls.first() {
        let names = first_few(calls.iter().map(|call| module_name(&call.key)));
        let verb = if calls.len() == 1 { "is" } else { "are" };
        let message = Message::naming(path, |path| {
            format!("{path} is missing, so {names} {verb} not locked")
        });
        let finding =
            Diagnostic::finding(Code::ModuleNotLocked, message).with_shared_message(shared);
        return Some(first.at_call(finding).help(Remedy::LockModules));
    }

    // A directory that is no root module needs no lock file.
    if !is_required || root.is_policy_only() {
        return None;
    }
    let message = Message::naming(path, |path| format!("{path} {REQUIRED}"));
    let finding = Diagnostic::finding(Code::ModuleNotLocked, message).with_shared_message(shared);
    Some(finding.help(Remedy::LockModules))
}

/// The finding about a call that its entry is not for: it is missing, or for a different source,
/// version or constraints.
fn finding_about_call(lock_file: &ModuleLockFile, call: &ModuleCall) -> Option<Diagnostic> {
    let ModuleCall {
        key,
        source,
        constraints,
        ..
    } = call;
    let Some(entry) = lock_file.entry(key) else {
        let missing = RefusedEntry::missing(key);
        let finding = Diagnostic::finding(missing.code, missing.message);
        return Some(call.at_call(finding).help(Remedy::LockModules));
    };
    if let Err(refused) = locked::check_entry(key, &entry.locked, source, constraints) {
        let location = match refused.code {
            Code::ModuleLockStale => entry.source(),
            _ => entry.version(),
        };
        let finding =
            Diagnostic::finding(refused.code, refused.message).at_location(location.clone());
        return Some(call.at_call(finding).help(Remedy::LockModules));
    }
    let recorded = &entry.locked.constraints;
    if recorded == constraints {
        return None;
    }
    let mut warning = finding_constraints_differ(
        Code::ModuleLockStale,
        entry,
        &module_name(key),
        recorded,
        constraints,
        "its call",
    );
    warning.severity = Severity::Warning;
    Some(call.at_call(warning).help(Remedy::LockModules))
}

/// Adds findings about locked modules that differ from their published packages. Fetches every
/// package once for all calls that use it, several at a time.
fn compare_with_published(
    root: &AuditedRoot<'_>,
    calls: &[LockedCall<'_>],
    report: &mut VerifiedRoot,
) {
    let mut by_package: BTreeMap<_, Vec<LockedCall<'_>>> = BTreeMap::new();
    for &(call, entry) in calls {
        let LockedModule {
            package,
            version,
            hashes,
            ..
        } = &*entry.locked;
        let release = (package_of(&call.source), package, version, hashes);
        by_package.entry(release).or_default().push((call, entry));
    }
    let groups: Vec<_> = by_package.into_values().collect();
    let results = parallel::map(groups.iter().collect(), WAITING_REQUESTS, |calls| {
        compare_package(root, calls)
    });

    // Only calls that were compared without a finding are confirmed.
    report.unconfirmed_modules = report.modules;
    for (calls, result) in groups.iter().zip(results) {
        match result {
            Some(Ok(findings)) => {
                if findings.is_empty() {
                    let keys: BTreeSet<_> = calls.iter().map(|(_, entry)| &entry.address).collect();
                    report.unconfirmed_modules =
                        report.unconfirmed_modules.saturating_sub(keys.len());
                }
                for finding in findings {
                    report.findings.push(located_at_calls(finding, calls));
                }
            }
            Some(Err(errors)) => report.errors.extend(errors),
            // Nothing was requested.
            None => {}
        }
    }
}

/// Compares the package that calls share with the published one. `None` if it is not requested, or
/// if only a mirror is there, which does not know what is published.
fn compare_package(
    root: &AuditedRoot<'_>,
    calls: &[LockedCall<'_>],
) -> Option<Result<Vec<Diagnostic>>> {
    let (call, entry) = calls.first()?;
    if root.module_cache.never_fetches(call) {
        return None;
    }
    match requests::locked_request(root, call, &entry.locked) {
        LockedRequest::Allowed => {}
        LockedRequest::CallRefused => return None,
        LockedRequest::PackageRefused(finding) => return Some(Ok(vec![*finding])),
    }
    let fetcher = root.module_cache.fetcher.as_ref()?;
    if fetcher.reads_mirror() {
        return None;
    }
    Some(fetcher.compare_published(root.module.dialect, &call.source, &entry.locked))
}

/// Adds the entries and the calls to a finding about their package.
fn located_at_calls(mut finding: Diagnostic, calls: &[LockedCall<'_>]) -> Diagnostic {
    let is_of_unit = calls.iter().all(|(call, _)| call.key == UNIT_ADDRESS);
    if is_of_unit && finding.code == Code::ModuleMoved {
        let help = "find out why; to keep Terragrunt at the locked commit, write it as the ref of the source";
        finding = finding.help(help);
    }
    for (call, entry) in calls {
        finding = finding.at(entry.package().clone(), module_name(&call.key));
    }
    for (call, _) in calls {
        finding = call.at_call(finding);
    }
    finding
}

/// The package of a source, without the directory in it.
fn package_of(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.clone(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.package.clone(),
    }
}
