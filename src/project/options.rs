//! What the caller chooses.

use std::time::Duration;

use jiff::Timestamp;

use crate::provider::ProviderSpec;
use crate::settings::PlatformSelection;

/// What is locked, and how.
#[derive(Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct LockOptions {
    /// Only these providers; all that are required when empty.
    pub providers: Vec<ProviderSpec>,
    /// The platforms whose packages are recorded; else those of the settings, else the one that this program runs on.
    pub platforms: Option<PlatformSelection>,
    /// Whether what only test files require counts for nothing.
    pub ignore_tests: bool,
    /// Whether a module that is not installed is a warning only.
    pub allow_missing_modules: bool,
    /// Whether entries that are not required go.
    pub prune: bool,
    /// Whether hashes that are not those of the published release are replaced instead of refused.
    pub accept_changed_hashes: bool,
    /// How old a version must be to be chosen; else what the settings say.
    pub min_age: Option<Duration>,
    /// The time at which ages are measured.
    pub now: Timestamp,
    /// Whether nothing is written.
    pub dry_run: bool,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            providers: Vec::new(),
            platforms: None,
            ignore_tests: false,
            allow_missing_modules: false,
            prune: false,
            accept_changed_hashes: false,
            min_age: None,
            now: Timestamp::now(),
            dry_run: false,
        }
    }
}
