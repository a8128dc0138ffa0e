//! Findings about the lock file of modules, and about calls that it does not match.

mod change;
mod installed;
mod online;

use std::collections::BTreeMap;

use super::file;
use super::root::Root;
use super::verified::{VerifiedRoot, finding};
use crate::configuration::ModuleCall;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity};
use crate::lockfile::{Entry, Locked, LockedModule, MODULE_LOCK_FILE_NAME, ModuleLockFile, module_name};
use crate::modules::locked;
use crate::provider::Hash;

/// Checks the lock file of modules, by itself and beside the configuration.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    report.findings.extend(change::added(root));
    let Some(modules) = &root.modules else { return };
    report.findings.extend(modules.diagnostics.iter().cloned());
    let Some(lock_file) = &modules.lock_file else { return };
    report.modules = lock_file.entries().len();
    report.findings.extend(offline(root, lock_file));
    report.findings.extend(change::check(root, lock_file));
    if root.online.is_some() {
        online::check(root, lock_file, report);
    }
    // Terragrunt installs the modules of units in its own directories, among generated files.
    if root.options.check_installed && !root.module.is_unit() {
        installed::check(root, lock_file, report);
    }
}

fn offline(root: &Root<'_>, lock_file: &ModuleLockFile) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    findings.extend(file::hashes(lock_file.entries(), root.module.dialect));
    findings.extend(lock_file.entries().iter().flat_map(|entry| faults(root, entry)));
    let calls: Vec<_> = root.requirements().package_calls().collect();
    if root.module.module_lock_bytes.is_none() {
        findings.extend(missing(root, &calls));
        return findings;
    }
    findings.extend(calls.iter().filter_map(|call| compare(lock_file, call)));
    if !root.requirements().is_incomplete {
        let calls: BTreeMap<_, _> = calls.iter().map(|call| (&call.key, call)).collect();
        let gone = lock_file.entries().iter().filter(|entry| !calls.contains_key(&entry.address));
        findings.extend(gone.map(not_called));
    }
    findings
}

/// Faults of an entry that do not depend on the configuration.
fn faults(root: &Root<'_>, entry: &Entry<LockedModule>) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let again = || Help::text("remove the entry, then run: ").and(Remedy::LockModules);
    let fault = locked::fault(&entry.locked, root.module.dialect).map(|why| {
        let error = finding(Code::ModulePackageForeign, format!("{name} {why}"), entry.package(), "");
        error.help(again())
    });
    let has_hash = entry.locked.hashes.iter().any(Hash::is_known);
    let no_hash = (!has_hash).then(|| {
        let message = format!("{name} has no hash that could identify its package");
        finding(Code::NoHashes, message, &entry.block, "").help(again())
    });
    fault.into_iter().chain(no_hash).collect()
}

/// The missing lock file of modules.
fn missing(root: &Root<'_>, calls: &[&ModuleCall]) -> Option<Diagnostic> {
    let first = calls.first()?;
    let names = few(calls.iter().map(|call| module_name(&call.key)));
    let error = Diagnostic::finding(Code::ModuleNotLocked, "")
        .naming(&root.module.module_lock_path, |path| {
            format!("{path} is missing, so {names} {} not locked", if calls.len() == 1 { "is" } else { "are" })
        })
        .shared(format!("{MODULE_LOCK_FILE_NAME} is missing, but provlock.toml requires locked modules"));
    Some(first.located(error).help(Remedy::LockModules))
}

/// Compares a call with its entry.
fn compare(lock_file: &ModuleLockFile, call: &ModuleCall) -> Option<Diagnostic> {
    let ModuleCall { key, source, constraints, .. } = call;
    let entry = lock_file.entry(key);
    let known = entry.map(|entry| &*entry.locked);
    if let Some((code, message)) = locked::refusal(key, known, source, constraints) {
        let error = Diagnostic::finding(code, message);
        let place = entry.map(|entry| place(entry, code));
        let error = place.into_iter().fold(error, |error, place| error.at(place.clone(), ""));
        return Some(call.located(error).help(Remedy::LockModules));
    }
    let (entry, recorded) = (entry?, &known?.constraints);
    if recorded == constraints {
        return None;
    }
    let shown = |text: String| if text.is_empty() { "none".to_owned() } else { format!("{text:?}") };
    let (recorded, now) = (shown(recorded.to_string()), shown(constraints.to_string()));
    let message =
        format!("the lock file records the constraints {recorded} for {}, but its call has {now}", module_name(key));
    let location = entry.constraints().unwrap_or(&entry.block);
    let stale = Diagnostic { severity: Severity::Warning, ..finding(Code::ModuleLockStale, message, location, "") };
    let note = format!("the locked version {} meets the constraints of the call", entry.locked.release());
    Some(call.located(stale).note(note).help(Remedy::LockModules))
}

/// Location of the attribute that a finding is about.
fn place(entry: &Entry<LockedModule>, code: Code) -> &Location {
    match code {
        Code::ModuleLockStale => entry.source(),
        _ => entry.version(),
    }
}

/// An entry without a call.
fn not_called(entry: &Entry<LockedModule>) -> Diagnostic {
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} is locked, but the configuration does not call it");
    let stale = Diagnostic { severity: Severity::Warning, ..finding(Code::ModuleLockStale, message, &entry.block, "") };
    stale.help(Remedy::LockModules)
}
