//! Findings about the lock file of modules, and about calls that it does not match.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_root::{AuditedRoot, VerifiedRoot, finding};
use super::file;
use super::installed_modules;
use super::requests::{self, LockedRequest};
use super::requirements::constraints_differ;
use crate::configuration::ModuleCall;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::lockfile::{
    Entry, EntryKind, LockedModule, MODULE_LOCK_FILE_NAME, ModuleLockFile, UNIT_ADDRESS,
    module_name,
};
use crate::modules::{ModuleSource, locked};
use crate::provider::Hash;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// A call and its entry.
type LockedCall<'a> = (&'a ModuleCall, &'a Entry<LockedModule>);

/// Checks the lock file of modules, by itself and beside the configuration.
pub(super) fn check(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(modules) = &root.modules else { return };
    report.findings.extend(modules.diagnostics.iter().cloned());
    let Some(lock_file) = &modules.lock_file else {
        return;
    };
    report.modules = lock_file.entries().len();
    report
        .findings
        .extend(file::hashes(lock_file.entries(), root.module.dialect));
    report.findings.extend(
        lock_file
            .entries()
            .iter()
            .flat_map(|entry| faults(root, entry)),
    );
    compare_calls(root, lock_file, report);
    let calls = locked_calls(root, lock_file);
    if root.online.is_some() {
        online(root, &calls, report);
    }
    // Terragrunt installs the modules of units in its own directories, among generated files.
    if root.options.check_installed && !root.module.is_unit() {
        installed_modules::check(root, &calls, report);
    }
}

/// Compares the calls of the configuration with the entries.
fn compare_calls(root: &AuditedRoot<'_>, lock_file: &ModuleLockFile, report: &mut VerifiedRoot) {
    let calls: Vec<_> = root.requirements().package_calls().collect();
    if root.module.module_lock_bytes.is_none() {
        report.findings.extend(missing(root, &calls));
        return;
    }
    report
        .findings
        .extend(calls.iter().filter_map(|call| compare(lock_file, call)));
    if !root.requirements().is_incomplete {
        let keys: BTreeSet<_> = calls.iter().map(|call| &call.key).collect();
        let not_called = lock_file
            .entries()
            .iter()
            .filter(|entry| !keys.contains(&entry.address));
        report.findings.extend(not_called.map(|entry| {
            let message = format!(
                "{} is locked, but the configuration does not call it",
                LockedModule::label_name(&entry.address)
            );
            let stale =
                finding(Code::ModuleLockStale, message, &entry.block, "").help(Remedy::LockModules);
            Diagnostic {
                severity: Severity::Warning,
                ..stale
            }
        }));
    }
}

/// The calls that match their entries.
fn locked_calls<'a>(
    root: &'a AuditedRoot<'_>,
    lock_file: &'a ModuleLockFile,
) -> Vec<LockedCall<'a>> {
    let calls = root.requirements().package_calls();
    let locked = calls.filter_map(|call| Some((call, lock_file.entry(&call.key)?)));
    let is_matched = |(call, entry): &LockedCall<'_>| {
        locked::refusal(
            &call.key,
            Some(&entry.locked),
            &call.source,
            &call.constraints,
        )
        .is_none()
            && locked::fault(&entry.locked, root.module.dialect).is_none()
    };
    locked.filter(is_matched).collect()
}

/// Faults of an entry that do not depend on the configuration.
fn faults(root: &AuditedRoot<'_>, entry: &Entry<LockedModule>) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let again = || Help::text("remove the entry, then run: ").and(Remedy::LockModules);
    let fault = locked::fault(&entry.locked, root.module.dialect).map(|why| {
        let error = finding(
            Code::ModulePackageForeign,
            format!("{name} {why}"),
            entry.package(),
            "",
        );
        error.help(again())
    });
    let has_hash = entry.locked.hashes.iter().any(Hash::is_known);
    let no_hash = (!has_hash).then(|| {
        let message = format!("{name} has no hash that could identify its package");
        finding(Code::NoHashes, message, &entry.block, "").help(again())
    });
    fault.into_iter().chain(no_hash).collect()
}

/// The missing lock file of modules. The settings may require one without any call.
fn missing(root: &AuditedRoot<'_>, calls: &[&ModuleCall]) -> Option<Diagnostic> {
    let shared =
        format!("{MODULE_LOCK_FILE_NAME} is missing, but provlock.toml requires locked modules");
    let Some(first) = calls.first() else {
        let is_required = root.module.settings.lock_modules == Some(true) && !root.is_policy_only();
        let error = Diagnostic::finding(Code::ModuleNotLocked, "")
            .naming(&root.module.module_lock_path, |path| {
                format!("{path} is missing, but provlock.toml requires locked modules")
            })
            .shared(shared);
        return is_required.then(|| error.help(Remedy::LockModules));
    };
    let names = few(calls.iter().map(|call| module_name(&call.key)));
    let error = Diagnostic::finding(Code::ModuleNotLocked, "")
        .naming(&root.module.module_lock_path, |path| {
            format!(
                "{path} is missing, so {names} {} not locked",
                if calls.len() == 1 { "is" } else { "are" }
            )
        })
        .shared(shared);
    Some(first.located(error).help(Remedy::LockModules))
}

/// Compares a call with its entry.
fn compare(lock_file: &ModuleLockFile, call: &ModuleCall) -> Option<Diagnostic> {
    let ModuleCall {
        key,
        source,
        constraints,
        ..
    } = call;
    let entry = lock_file.entry(key);
    let known = entry.map(|entry| &*entry.locked);
    if let Some((code, message)) = locked::refusal(key, known, source, constraints) {
        let location = entry.map(|entry| match code {
            Code::ModuleLockStale => entry.source(),
            _ => entry.version(),
        });
        let error = Diagnostic::finding(code, message).at_each(location, "");
        return Some(call.located(error).help(Remedy::LockModules));
    }
    let (entry, recorded) = (entry?, &known?.constraints);
    if recorded == constraints {
        return None;
    }
    let code = Code::ModuleLockStale;
    let finding = constraints_differ(
        code,
        entry,
        &module_name(key),
        recorded,
        constraints,
        "its call",
    );
    let warning = Diagnostic {
        severity: Severity::Warning,
        ..finding
    };
    Some(call.located(warning).help(Remedy::LockModules))
}

/// Compares locked modules with their published packages. Fetches every package once for all calls
/// that use it, several at a time.
fn online(root: &AuditedRoot<'_>, calls: &[LockedCall<'_>], report: &mut VerifiedRoot) {
    let mut groups: BTreeMap<_, Vec<LockedCall<'_>>> = BTreeMap::new();
    for &(call, entry) in calls {
        let package = package_of(&call.source);
        let asked_for = (
            package,
            &entry.locked.package,
            &entry.locked.version,
            &entry.locked.hashes,
        );
        groups.entry(asked_for).or_default().push((call, entry));
    }
    let groups: Vec<_> = groups.into_values().collect();
    let ask = |calls: &Vec<LockedCall<'_>>| {
        let (call, entry) = calls.first()?;
        if root.packages.refuses(&call.source, call.entry.is_some()) {
            return None;
        }
        match requests::of_locked(root, call, &entry.locked) {
            LockedRequest::Allowed => {}
            LockedRequest::CallRefused => return None,
            LockedRequest::PackageRefused(finding) => return Some(Ok(vec![*finding])),
        }
        let fetcher = root.packages.fetcher.as_ref()?;
        Some(fetcher.compare_published(root.module.dialect, &call.source, &entry.locked))
    };
    let asked = parallel::map(groups.iter().collect(), WAITING_REQUESTS, ask);
    report.unconfirmed_modules = report.modules;
    for (calls, published) in groups.iter().zip(asked) {
        let is_of_unit = calls.iter().all(|(call, _)| call.key == UNIT_ADDRESS);
        let located = |mut finding: Diagnostic| {
            if is_of_unit && finding.code == Code::ModuleMoved {
                let help = "find out why; to keep Terragrunt at the locked commit, write it as the ref of the source";
                finding = finding.help(help);
            }
            for (call, entry) in calls {
                finding = finding.at(entry.package().clone(), module_name(&call.key));
            }
            for (call, _) in calls {
                finding = call.located(finding);
            }
            finding
        };
        if matches!(&published, Some(Ok(findings)) if findings.is_empty()) {
            let keys: BTreeSet<_> = calls.iter().map(|(_, entry)| &entry.address).collect();
            report.unconfirmed_modules = report.unconfirmed_modules.saturating_sub(keys.len());
        }
        match published {
            Some(Ok(findings)) => report.findings.extend(findings.into_iter().map(located)),
            Some(Err(errors)) => report.errors.extend(errors),
            None => {}
        }
    }
}

/// The package of a source, without the directory in it.
fn package_of(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.clone(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.package.clone(),
    }
}
