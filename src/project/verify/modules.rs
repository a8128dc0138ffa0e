//! Findings about the lock file of modules, and the calls that it is for.

mod change;
mod installed;
mod online;

use std::collections::BTreeMap;

use super::file;
use super::subject::{Verified, VerifyRequest, finding};
use crate::configuration::CallToLock;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity};
use crate::lockfile::{Entry, Locked, LockedModule, MODULE_LOCK_FILE_NAME, ModuleLockFile, Parsed, module_name};
use crate::modules::locked;
use crate::provider::Hash;

pub(super) use change::added;

/// What is wrong with a lock file of modules by itself, and where it does not fit the configuration.
pub(super) fn check(request: &VerifyRequest<'_>, modules: &Parsed<LockedModule>) -> Verified {
    let mut verified = Verified { findings: modules.diagnostics.clone(), ..Verified::default() };
    let Some(lock_file) = &modules.lock_file else { return verified };
    verified.modules = lock_file.entries().len();
    verified.findings.extend(offline(request, lock_file));
    verified.findings.extend(change::check(request, lock_file));
    let asked = request.online.map(|_| online::check(request, lock_file));
    // Terragrunt installs those of its units in directories of its own, among the files that it generates.
    let is_installed_here = request.check_installed && !request.root.is_unit();
    let compared = is_installed_here.then(|| installed::check(request, lock_file));
    for more in asked.into_iter().chain(compared) {
        verified.findings.extend(more.findings);
        verified.errors.extend(more.errors);
        verified.installed += more.installed;
    }
    verified
}

fn offline(request: &VerifyRequest<'_>, lock_file: &ModuleLockFile) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    findings.extend(file::hashes(lock_file.entries(), request.root.dialect));
    findings.extend(lock_file.entries().iter().flat_map(|entry| faults(request, entry)));
    let calls = &request.requirements.locked.calls;
    if request.root.module_lock_bytes.is_none() {
        findings.extend(missing(request, calls));
        return findings;
    }
    findings.extend(calls.iter().filter_map(|call| compare(lock_file, call)));
    if !request.requirements.is_incomplete {
        let calls: BTreeMap<_, _> = calls.iter().map(|call| (&call.key, call)).collect();
        let gone = lock_file.entries().iter().filter(|entry| !calls.contains_key(&entry.address));
        findings.extend(gone.map(not_called));
    }
    findings
}

/// What makes an entry useless, whatever the configuration is.
fn faults(request: &VerifyRequest<'_>, entry: &Entry<LockedModule>) -> Vec<Diagnostic> {
    let name = LockedModule::label_name(&entry.address);
    let again = || Help::text("remove the entry, then run: ").and(Remedy::LockModules);
    let fault = locked::fault(&entry.locked, request.root.dialect).map(|why| {
        let error = finding(Code::ModulePackageForeign, format!("{name} {why}"), entry.package(), "");
        error.help(again())
    });
    let has_hash = entry.locked.hashes.iter().any(Hash::is_known);
    let no_hash = (!has_hash).then(|| {
        let message = format!("no hash is recorded for {name} by which its package could be known");
        finding(Code::NoHashes, message, &entry.block, "").help(again())
    });
    fault.into_iter().chain(no_hash).collect()
}

/// There is no file, and there should be one.
fn missing(request: &VerifyRequest<'_>, calls: &[CallToLock]) -> Option<Diagnostic> {
    let first = calls.first()?;
    let names = few(calls.iter().map(|call| module_name(&call.key)));
    let error = Diagnostic::finding(Code::ModuleNotLocked, "")
        .naming(&request.root.module_lock_path, |path| {
            format!("{path} is missing, so that {names} {} not locked", if calls.len() == 1 { "is" } else { "are" })
        })
        .shared(format!("{MODULE_LOCK_FILE_NAME} is missing, and modules are to be locked"));
    Some(first.located(error).help(Remedy::LockModules))
}

/// Compares a call with its entry.
fn compare(lock_file: &ModuleLockFile, call: &CallToLock) -> Option<Diagnostic> {
    let CallToLock { key, source, constraints, .. } = call;
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

/// The value of an entry that a finding is about.
fn place(entry: &Entry<LockedModule>, code: Code) -> &Location {
    match code {
        Code::ModuleLockStale => entry.source(),
        _ => entry.version(),
    }
}

/// An entry is for a call that there is not.
fn not_called(entry: &Entry<LockedModule>) -> Diagnostic {
    let name = LockedModule::label_name(&entry.address);
    let message = format!("{name} is locked, but the configuration does not call it");
    let stale = Diagnostic { severity: Severity::Warning, ..finding(Code::ModuleLockStale, message, &entry.block, "") };
    stale.help(Remedy::LockModules)
}
