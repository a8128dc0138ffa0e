//! A root module with all that has been read to lock it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::moves::UpgradePlan;
use super::options::LockOptions;
use super::root_module::RootModule;
use crate::configuration::Requirements;
use crate::diagnostic::Diagnostic;
use crate::lockfile::{LockFile, LockedProvider, ModuleLockFile, ModuleLocks};
use crate::provider::{Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;

/// A root module with all that has been read to lock it.
pub struct Prepared {
    /// The root module.
    pub root: RootModule,
    /// Its lock file; empty if there is none.
    pub lock_file: LockFile,
    /// Its lock file of modules, empty if there is none, where its modules are locked, too.
    pub module_lock_file: Option<ModuleLockFile>,
    /// Entries that the lock file of modules is to have. Entries of calls that were not read stay as they are.
    pub(super) module_locks: ModuleLocks,
    /// Versions of the modules that move, and the edits of their calls.
    pub(super) module_plan: UpgradePlan,
    /// Requirements of its configuration.
    pub requirements: Requirements,
    /// The platforms to lock.
    pub platforms: PlatformSelection,
    /// Whether somebody named the platforms; else it is the one that this program runs on, which is locked where the
    /// lock file covers no other.
    pub platforms_are_named: bool,
    /// What the user should know of the lock file.
    pub warnings: Vec<Diagnostic>,
    /// The platforms that the lock file covers, found out where nobody names any and an entry needs them.
    pub(super) covered: OnceLock<BTreeSet<Platform>>,
    pub(super) only: Vec<ProviderAddress>,
    /// Entries that new ones take the place of, besides those in the lock file: of a conflict both sides.
    pub(super) replaced: BTreeMap<ProviderAddress, Vec<Arc<LockedProvider>>>,
    /// The versions that some of them are to have.
    pub(super) versions: BTreeMap<ProviderAddress, Version>,
}

impl Prepared {
    /// The providers that are named and required; all that are required when none is named.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        let only = &self.only;
        self.requirements.providers.keys().filter(move |address| only.is_empty() || only.contains(address))
    }

    /// The entry of a side of a conflict that alone has this version: its hashes stay if the release has one of them.
    pub(super) fn side_with(&self, address: &ProviderAddress, version: &Version) -> Option<&Arc<LockedProvider>> {
        let mut sides = self.replaced.get(address)?.iter().filter(|side| side.version == *version);
        sides.next().filter(|_| sides.next().is_none())
    }

    /// The age that the options demand, else the settings; none when none is demanded.
    pub(super) fn minimum_age(&self, options: &LockOptions) -> Option<Duration> {
        options.min_age.or(self.root.settings.policy.min_age()).filter(|age| !age.is_zero())
    }
}
