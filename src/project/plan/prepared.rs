//! A root module that was read to be locked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::moves::UpgradePlan;
use crate::configuration::Requirements;
use crate::diagnostic::Diagnostic;
use crate::lockfile::{LockFile, LockedProvider, ModuleLockFile, ModuleLocks};
use crate::packages::DemandedAge;
use crate::project::root_module::RootModule;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;

/// A root module with everything that locking it depends on.
pub struct Prepared {
    /// The root module.
    pub root: RootModule,
    /// Its lock file; empty if there is none.
    pub lock_file: LockFile,
    /// Its modules, if they are locked, too.
    pub(in crate::project) modules: Option<PreparedModules>,
    /// Requirements of its configuration.
    pub requirements: Requirements,
    /// The platforms to lock.
    pub platforms: PlatformSelection,
    /// Whether the user or the settings specify the platforms. Otherwise it is the current one,
    /// which is locked if the lock file covers no other.
    pub platforms_are_named: bool,
    /// Warnings about the lock file.
    pub warnings: Vec<Diagnostic>,
    /// Platforms that the lock file covers, determined if none are specified and an entry needs
    /// them.
    pub(in crate::project) covered: OnceLock<BTreeSet<Platform>>,
    /// The providers to lock; all required ones when empty.
    pub(in crate::project) named_providers: Vec<ProviderAddress>,
    /// Entries that new ones replace, besides those in the lock file: both sides of a conflict.
    pub(in crate::project) conflict_sides: BTreeMap<ProviderAddress, Vec<Arc<LockedProvider>>>,
    /// Minimum age of a version that is selected, by the options or else by the settings.
    pub(in crate::project) minimum_age: Option<DemandedAge>,
    /// Requested versions.
    pub(in crate::project) requested_versions: BTreeMap<ProviderAddress, Version>,
}

/// The modules of a root module, with the entries that lock them.
pub(in crate::project) struct PreparedModules {
    /// Their lock file; empty if there is none.
    pub(in crate::project) lock_file: ModuleLockFile,
    /// New entries. Entries of calls that were not read stay unchanged.
    pub(in crate::project) locks: ModuleLocks,
    /// Versions of the modules that move, and the edits of their calls.
    pub(in crate::project) plan: UpgradePlan,
}

impl Prepared {
    /// The selected providers that are required.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        self.requirements
            .providers
            .keys()
            .filter(|address| self.is_selected(address))
    }

    /// Whether the user selected a provider.
    pub(super) fn is_selected(&self, address: &ProviderAddress) -> bool {
        is_selected_by(&self.named_providers, address)
    }

    /// Errors about malformed hashes in entries for modules that stay.
    pub(super) fn malformed_module_hashes(&self) -> Vec<Diagnostic> {
        let Some(PreparedModules {
            lock_file, locks, ..
        }) = &self.modules
        else {
            return Vec::new();
        };
        lock_file.kept_malformed_hashes(|key, hash| {
            let entry = locks.get(key);
            entry.is_some_and(|entry| entry.hashes.contains(hash))
        })
    }

    /// The entry of the only side of a conflict with this version; `None` without a conflict, or if
    /// both sides have it. Its hashes are kept if the release has one of them.
    pub(super) fn only_conflict_side_with(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<&Arc<LockedProvider>> {
        let sides: Vec<_> = self
            .conflict_sides
            .get(address)?
            .iter()
            .filter(|side| side.version == *version)
            .collect();
        if let [side] = sides[..] {
            Some(side)
        } else {
            None
        }
    }
}

/// Whether a user selects a provider by naming providers: who names none selects all of them.
pub(in crate::project) fn is_selected_by(
    named_providers: &[ProviderAddress],
    address: &ProviderAddress,
) -> bool {
    named_providers.is_empty() || named_providers.contains(address)
}
