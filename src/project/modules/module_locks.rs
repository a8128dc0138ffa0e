//! Lock files of modules: how `lock` and `get` resolve the calls of a configuration by one, and the
//! entries that it should have.

use std::sync::Arc;

use super::module_choices::ModuleChoices;
use super::module_edit::RequestedModule;
use crate::configuration::{ModuleCall, Requirements, Resolution};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result, RunOption};
use crate::lockfile::{LOCK_FILE_NAME, LockedModule, ModuleLocks, UNIT_ADDRESS, module_name};
use crate::modules::fetched::{FetchedModule, ModuleRequest, ReplacedPackage};
use crate::modules::locked;
use crate::project::root_module::locked_calls::locked_request;
use crate::provider::ConstraintList;
use crate::system::Secrets;

/// Resolves a call for `get` by its entry. A call without an entry, or whose entry is for a
/// different source or version, is an error.
pub(in crate::project) fn resolve_locked(locks: &ModuleLocks, call: &ModuleCall) -> Resolution {
    if let Some(error) = impossible_directory_error(call) {
        return Resolution::Refused(error);
    }
    let locked = locks.get(&call.key);
    match locked::accepted_entry(&call.key, locked, &call.source, &call.constraints) {
        Ok(locked) => Resolution::Only(locked_request(call, locked, ReplacedPackage::Refused)),
        Err(refused) => {
            let error = Diagnostic::error(refused.code, refused.message);
            let help = Help::text("lock it with ").and(Remedy::LockModules);
            Resolution::Refused(call.at_call(error).help(help))
        }
    }
}

/// Resolves a call for `lock`: by its entry while that is for the call, otherwise by a package that
/// can be locked. `choices` has the version of a call that moves; a call without one yet is not
/// read. `replaced` is whether a locked package may have been replaced.
pub(in crate::project) fn resolve_to_lock(
    locks: &ModuleLocks,
    choices: &ModuleChoices<'_>,
    replaced: ReplacedPackage,
    call: &ModuleCall,
) -> Resolution {
    if let Some(error) = impossible_directory_error(call) {
        return Resolution::Refused(error);
    }
    let Some(requested) = choices.requested_by(call) else {
        return Resolution::NotRead;
    };
    let call = &ModuleCall {
        source: requested.source.clone(),
        constraints: requested.constraints.clone(),
        ..call.clone()
    };
    // The lock file is committed, and would publish a secret in the address.
    if Secrets::may_be_in(&call.source.lock_file_text()) {
        let error = secret_in_address_error(&module_name(&call.key));
        return Resolution::Refused(call.at_call(error));
    }
    // A locked package stays as long as its entry is for the call.
    if let Some(locked) = locks.get(&call.key)
        && requested.is_met_by(locked)
    {
        return Resolution::Only(locked_request(call, locked, replaced));
    }
    let constraints = match &requested.version {
        Some(version) => ConstraintList::exactly(version),
        None => call.constraints.clone(),
    };
    match ModuleRequest::new(call.source.clone(), constraints) {
        Some(request) => Resolution::Only(request.into_request_to_lock()),
        None => Resolution::NotRead,
    }
}

/// Whether a call is the other call, or is below it.
pub(in crate::project) fn is_below(key: &str, other: &str) -> bool {
    key.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The error for a call whose path cannot be the name of a directory of installed modules.
fn impossible_directory_error(call: &ModuleCall) -> Option<Diagnostic> {
    let is_hidden = call.key.starts_with('.') && call.key != UNIT_ADDRESS;
    if !is_hidden && !call.key.contains(['/', '\\', '\0']) {
        return None;
    }
    let message = format!(
        "{} has a name that cannot be that of a directory",
        module_name(&call.key)
    );
    Some(call.at_call(Diagnostic::error(Code::InvalidConfiguration, message)))
}

/// The entries for the calls whose packages were read. While requirements are incomplete, the `old`
/// entries of other calls stay.
///
/// # Errors
/// A source depends on an input of the run, an address contains a parameter that may be a secret,
/// or units that share the lock file call different modules by the same name.
pub(in crate::project) fn new_entries(
    requirements: &Requirements,
    old: &ModuleLocks,
    choices: &ModuleChoices<'_>,
) -> Result<ModuleLocks> {
    let mut locks = ModuleLocks::new();
    let mut errors = input_errors(requirements);
    for call in requirements.package_calls() {
        let (Some(requested), Some(module)) = (choices.requested_by(call), &call.module) else {
            continue;
        };
        let old_entry = old
            .get(&call.key)
            .filter(|locked| requested.is_met_by(locked));
        let Some(entry) = entry_of_call(old_entry.map(AsRef::as_ref), &requested, module) else {
            continue;
        };
        // A registry may have added a secret to the address from which the package comes.
        if Secrets::may_be_in(&entry.package) {
            errors.push(call.at_call(secret_in_address_error(&module_name(&call.key))));
            continue;
        }
        let entry = Arc::new(entry);
        let first = locks
            .entry(call.key.clone())
            .or_insert_with(|| Arc::clone(&entry));
        // Units that share the lock file may use one name for different modules.
        if *first != entry {
            errors.push(different_modules_error(&call.key, first, &entry));
        }
    }
    // A module that was not read may have the other calls.
    if requirements.is_incomplete {
        for (key, locked) in old {
            locks
                .entry(key.clone())
                .or_insert_with(|| Arc::clone(locked));
        }
    }
    errors.into_result(locks)
}

/// The entry of a call whose package was read: the old one, if the package has one of its hashes,
/// or else a new one. `None` for a package that is not whole.
fn entry_of_call(
    old_entry: Option<&LockedModule>,
    requested: &RequestedModule,
    module: &FetchedModule,
) -> Option<LockedModule> {
    let identity = module.identity();
    let constraints = requested.constraints.clone();
    if let Some(old_entry) = old_entry {
        let has_hash = match &identity {
            Some((_, hashes)) => !hashes.is_disjoint(&old_entry.hashes),
            None => true,
        };
        // An entry may accept several packages, and keeps the others.
        if has_hash {
            return Some(LockedModule {
                constraints,
                ..old_entry.clone()
            });
        }
    }
    let (package, hashes) = identity?;
    Some(LockedModule {
        source: requested.source.lock_file_text(),
        version: module.version().cloned(),
        constraints,
        package,
        hashes,
    })
}

/// Errors for calls that another run may resolve to a different module, so that an entry would be
/// right for this run only. Values from a flag are intended, and cause no error.
fn input_errors(requirements: &Requirements) -> Diagnostics {
    let mut errors = Diagnostics::default();
    for call in &requirements.variable_calls {
        if call.input.is_flag {
            continue;
        }
        let message = format!(
            "{} cannot be locked: {} decides from where it comes",
            module_name(&call.key),
            call.input.name
        );
        let help = Help::text("write its source as plain text, or set the value with ")
            .and(RunOption::SetVariable);
        errors.push(
            Diagnostic::error(Code::InvalidConfiguration, message)
                .at_each_location(&call.locations)
                .help(help),
        );
    }
    errors
}

/// The error for a module whose entry would contain a secret. Logins are omitted from entries,
/// parameters are not.
fn secret_in_address_error(name: &str) -> Diagnostic {
    let message =
        format!("{name} cannot be locked: its address has a parameter that may be a secret");
    let error = Diagnostic::error(Code::InvalidConfiguration, message);
    let error =
        error.note("the lock file of modules contains the address, so everybody who reads the repository would see it");
    error
        .help("remove the parameter, and put the login into ~/.netrc or a credential helper of git")
}

/// The error for units that share a lock file, and call different modules by the same name.
fn different_modules_error(key: &str, one: &LockedModule, other: &LockedModule) -> Diagnostic {
    let name = module_name(key);
    let message = format!(
        "{name} cannot be locked for all units that share the lock file: they call different modules"
    );
    Diagnostic::error(Code::InvalidConfiguration, message)
        .note(format!(
            "one calls {}, another calls {}",
            source_and_constraints(one),
            source_and_constraints(other)
        ))
        .help(format!("give one of them a {LOCK_FILE_NAME} of its own"))
}

/// The source and the constraints of the calls of a module.
fn source_and_constraints(locked: &LockedModule) -> String {
    let text = format!("{} {}", locked.source, locked.constraints);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_call_is_below_itself_and_its_callers() {
        assert!(is_below("a.b", "a"));
        assert!(is_below("a", "a"));
        assert!(!is_below("a-b", "a"));
        assert!(!is_below("a", "a.b"));
    }
}
