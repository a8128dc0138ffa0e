//! Options of `lock` and `upgrade`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::provider::{ProviderAddress, ProviderSpec, Version};
use crate::settings::PlatformSelection;

/// Options of [`Session::lock`](super::Session::lock).
#[derive(Clone, Default)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is independent of the others"
)]
pub struct LockOptions {
    /// Providers to lock; all required ones when empty.
    pub providers: Vec<ProviderSpec>,
    /// Platforms whose packages are recorded. Without any, these are the platforms of the settings,
    /// or else the platforms that the lock file covers, or else the current one.
    pub platforms: Option<PlatformSelection>,
    /// Whether the test files of root modules are ignored.
    pub ignore_tests: bool,
    /// Whether a module that is not installed is a warning only.
    pub allow_missing_modules: bool,
    /// Whether entries that are not required are removed.
    pub prune: bool,
    /// Whether hashes that do not belong to the published release are replaced instead of refused.
    pub accept_changed_hashes: bool,
    /// Whether modules are locked, even without such a setting or a lock file of modules.
    pub modules: bool,
    /// Minimum age of a version that is selected; else that of the settings.
    pub min_age: Option<Duration>,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// Options of [`Session::upgrade`](super::Session::upgrade).
#[derive(Clone, Default)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is independent of the others"
)]
pub struct UpgradeOptions {
    /// Options of locking. Providers with a version move to it, others to the newest that is
    /// allowed.
    pub lock: LockOptions,
    /// Whether a prerelease may be the newest version. It is selected only if a constraint names
    /// exactly it, because OpenTofu and Terraform accept no other.
    pub prereleases: bool,
    /// Whether a provider may move to a lower version although the constraints and the policy allow
    /// the locked one.
    pub allow_downgrade: bool,
    /// Whether constraints are rewritten so that the newest version is allowed.
    pub rewrite_constraints: bool,
    /// Whether moves are only planned: no package is fetched, and nothing is written.
    pub plan_only: bool,
    /// Whether the recorded hashes of providers that do not move are compared with the published
    /// release, in a plan.
    pub compare_hashes: bool,
    /// Moves that the user chose: a locked provider moves to one of these versions, or not at all.
    /// `None` makes all.
    pub moves: Option<BTreeSet<(ProviderAddress, Version)>>,
    /// Whether publication dates and release pages of new versions are requested.
    pub release_info: bool,
    /// Whether all modules move, too. Modules that move are locked.
    pub modules: bool,
    /// Module calls that move, by path, such as `network.endpoints`; some with the version or tag
    /// to move to. If there are any, and no providers, then providers do not move.
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
