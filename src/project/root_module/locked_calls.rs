//! Resolving the calls of a configuration by a lock file of modules, for commands that only read.

use std::sync::Arc;

use crate::configuration::{ModuleCall, Resolution};
use crate::lockfile::{LockedModule, ModuleLocks, Parsed};
use crate::modules::fetched::{ModuleRequest, ReplacedPackage};
use crate::modules::locked;
use crate::project::root_module::RootModule;

/// Resolves the calls of a root module by its own lock file of modules, as far as that can be read.
/// `None` if its modules are not locked.
pub(in crate::project) fn following_own(
    root: &RootModule,
) -> Option<impl Fn(&ModuleCall) -> Resolution + Sync + use<>> {
    if !root.locks_modules() {
        return None;
    }
    Some(following(&root.parsed_module_lock_file()))
}

/// Resolves calls by a lock file as far as that can be read.
pub(in crate::project) fn following(
    modules: &Parsed<LockedModule>,
) -> impl Fn(&ModuleCall) -> Resolution + Sync + use<> {
    let mut locks = ModuleLocks::new();
    if let Some(lock_file) = &modules.lock_file {
        locks.clone_from(lock_file.locks());
    }
    move |call| resolve_by_entry(&locks, call)
}

/// Resolves a call by its entry if that is for the call and its package can be had, otherwise as
/// without a lock file.
fn resolve_by_entry(locks: &ModuleLocks, call: &ModuleCall) -> Resolution {
    match locks.get(&call.key) {
        Some(locked) if locked::is_allowed(locked, &call.source, &call.constraints) => {
            Resolution::Preferred(locked_request(call, locked, ReplacedPackage::Refused))
        }
        _ => Resolution::Unlocked,
    }
}

/// The request for the package of an entry.
pub(in crate::project) fn locked_request(
    call: &ModuleCall,
    locked: &Arc<LockedModule>,
    replaced: ReplacedPackage,
) -> ModuleRequest {
    ModuleRequest::Locked {
        source: call.source.clone(),
        locked: Arc::clone(locked),
        replaced,
    }
}
