//! Calls of modules that a lock file of modules records.

use std::path::PathBuf;
use std::sync::Arc;

use super::planned_module::{ModulePlan, ModuleUpgrades};
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::lockfile::{self, LOCK_FILE_NAME, LockedModule, ModuleLocks, Parsed};
use crate::modules::ModuleSource;
use crate::provider::{ConstraintList, Version};

/// The modules that a lock file records, and what happens with calls of other ones.
#[derive(Clone, Debug)]
pub(crate) struct ModuleLocking {
    pub(crate) locks: ModuleLocks,
    pub(crate) mode: LockingMode,
    /// Which calls move to newer versions when they are locked.
    pub(crate) upgrades: Option<ModuleUpgrades>,
}

impl ModuleLocking {
    /// What follows a lock file, as far as that can be read.
    pub(crate) fn following(modules: &Parsed<LockedModule>) -> Self {
        let locks = modules.lock_file.as_ref().map(|file| file.locks().clone()).unwrap_or_default();
        Self { locks, mode: LockingMode::Follow, upgrades: None }
    }
}

/// What a configuration with locked modules is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockingMode {
    /// Calls that are not locked, or not as they should be, are to be locked.
    Lock {
        /// Whether a package may have changed since it was locked.
        may_change: bool,
    },
    /// The locked modules are to be installed, and all must be locked.
    Install,
    /// Calls are to be pinned. The modules that they lead to are not read.
    Pin {
        /// Whether modules of registries are pinned, too.
        with_registry: bool,
    },
    /// The installed modules are compared with those that are locked. Nothing is fetched.
    Compare,
    /// The packages that are locked are read if they are here or may be fetched. Other calls are followed as if there
    /// were no lock file.
    Follow,
}

/// What reading a configuration with locked modules found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockedCalls {
    /// The entries that its lock file should have.
    pub(crate) locks: ModuleLocks,
    /// All calls, as `modules.json` lists them.
    pub(crate) records: Vec<ModuleRecord>,
    /// Where the modules of calls move.
    pub(crate) plan: ModulePlan,
    /// The packages of calls, by their paths.
    pub(crate) packages: Vec<LockedPackage>,
    /// The calls that should be locked, where they are only followed.
    pub(crate) calls: Vec<CallToLock>,
}

impl LockedCalls {
    /// Adds what another configuration calls for the same lock file.
    ///
    /// # Errors
    /// It calls another module by a path that is taken.
    pub(super) fn add(&mut self, other: Self) -> Result<()> {
        for (key, locked) in other.locks {
            let known = self.locks.entry(key.clone()).or_insert_with(|| Arc::clone(&locked));
            if *known != locked {
                return Err(differing(&key, known, &locked).into());
            }
        }
        add_new(&mut self.records, other.records);
        add_new(&mut self.plan.modules, other.plan.modules);
        add_new(&mut self.plan.edits, other.plan.edits);
        add_new(&mut self.packages, other.packages);
        add_new(&mut self.calls, other.calls);
        Ok(())
    }
}

fn add_new<T: PartialEq>(known: &mut Vec<T>, others: Vec<T>) {
    for other in others {
        if !known.contains(&other) {
            known.push(other);
        }
    }
}

/// The error for units that share a lock file, and call different modules by the same name.
fn differing(key: &str, one: &LockedModule, other: &LockedModule) -> Diagnostic {
    let called = |locked: &LockedModule| format!("{} {}", locked.source, locked.constraints).trim_end().to_owned();
    let name = lockfile::module_name(key);
    let message =
        format!("{name} cannot be locked for all units that share the lock file: they call different modules");
    let error = Diagnostic::error(Code::InvalidConfiguration, message);
    let error = error.note(format!("one calls {}, another one {}", called(one), called(other)));
    error.help(format!("give one of them a {LOCK_FILE_NAME} of its own"))
}

/// A call of a module that is not local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallToLock {
    /// The names of the calls that lead to it.
    pub(crate) key: String,
    /// Its source, with logins.
    pub(crate) source: ModuleSource,
    /// The versions that it allows.
    pub(crate) constraints: ConstraintList,
    /// Where its source is written.
    pub(crate) location: Location,
    /// The call from which the user's own modules lead to it, if it is not theirs.
    pub(crate) entry: Option<Location>,
}

impl CallToLock {
    /// A diagnostic with the places of the call.
    pub(crate) fn located(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(self.location.clone(), "called here").at_each(&self.entry, "from here")
    }
}

/// A call as `modules.json` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleRecord {
    /// The names of the calls that lead to it.
    pub(crate) key: String,
    /// The source, normalised.
    pub(crate) source: String,
    /// The version of a registry module.
    pub(crate) version: Option<Version>,
    /// The module's directory, from the root module.
    pub(crate) directory: PathBuf,
}

/// The package of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockedPackage {
    /// The names of the calls that lead to it.
    pub(crate) key: String,
    /// Where it is; none if it is not installed as it is locked, and nothing is fetched.
    pub(crate) top: Option<PathBuf>,
    /// Whether it is installed as it is locked.
    pub(crate) is_installed: bool,
    /// What the lock file records.
    pub(crate) locked: Arc<LockedModule>,
    /// The source of the call, with logins.
    pub(crate) source: ModuleSource,
}

/// Where a module is, or would be, installed.
#[derive(Clone, Debug)]
pub(super) struct InstalledAt {
    /// Its directory, from the root module.
    pub(super) directory: PathBuf,
    /// The directory of its package.
    pub(super) package: Option<PathBuf>,
}

impl InstalledAt {
    pub(super) fn root() -> Self {
        Self { directory: PathBuf::from("."), package: None }
    }
}
