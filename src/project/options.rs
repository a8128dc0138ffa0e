//! What the caller chooses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::provider::{ProviderAddress, ProviderSpec, Version};
use crate::settings::PlatformSelection;

/// What is locked, and how.
#[derive(Clone, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct LockOptions {
    /// Only these providers; all that are required when empty.
    pub providers: Vec<ProviderSpec>,
    /// The platforms whose packages are recorded; else those of the settings, else those that the lock file covers,
    /// else the one that this program runs on.
    pub platforms: Option<PlatformSelection>,
    /// Whether the test files of root modules are left out.
    pub ignore_tests: bool,
    /// Whether a module that is not installed is a warning only.
    pub allow_missing_modules: bool,
    /// Whether entries that are not required go.
    pub prune: bool,
    /// Whether hashes that are not those of the published release are replaced instead of refused.
    pub accept_changed_hashes: bool,
    /// Whether the modules are locked, too, where neither the settings nor a lock file of modules says so.
    pub modules: bool,
    /// How old a version must be to be chosen; else what the settings say.
    pub min_age: Option<Duration>,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// What is upgraded, and how far.
#[derive(Clone, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct UpgradeOptions {
    /// What is locked, and how. Providers with a version move to it, others to the newest that is allowed.
    pub lock: LockOptions,
    /// Whether prereleases count as the newest version. One is chosen only where a constraint names exactly it, because
    /// OpenTofu and Terraform accept no other.
    pub prereleases: bool,
    /// Whether a provider may go to a lower version although the constraints and the policy allow the locked one.
    pub allow_downgrade: bool,
    /// Whether constraints are rewritten so that the newest version is allowed.
    pub rewrite_constraints: bool,
    /// Whether it is only found out where providers and modules can move: no package is fetched, and nothing written.
    pub plan_only: bool,
    /// Whether the recorded hashes of providers that stay are compared with what is published, if it is only planned.
    pub compare_hashes: bool,
    /// The moves that were chosen: what is locked goes to one of these versions, or stays. Without any, all are made.
    pub moves: Option<BTreeSet<(ProviderAddress, Version)>>,
    /// Whether it is asked when the versions that providers move to were published, and where they are released.
    pub release_info: bool,
    /// Whether all modules move, too. Those that move are locked.
    pub modules: bool,
    /// The calls of modules that move, by their paths, such as `network.endpoints`; some with the version or tag that
    /// they are to have. If there are any, and no providers, then providers stay.
    pub calls: BTreeMap<String, Option<String>>,
}

impl UpgradeOptions {
    /// Whether any module moves.
    pub(super) fn moves_modules(&self) -> bool {
        self.modules || !self.calls.is_empty()
    }

    /// Whether any provider moves.
    pub(super) fn moves_providers(&self) -> bool {
        self.calls.is_empty() || self.modules || !self.lock.providers.is_empty()
    }
}
