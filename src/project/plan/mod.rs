//! Planning: selecting versions, recording hashes, upgrading.

mod age;
mod compared;
mod confirmation;
pub(super) mod explained;
pub(super) mod implied_source;
pub(super) mod kept_platforms;
pub(super) mod listing;
mod lock;
mod needed;
mod record;
mod schedule;
mod select;
mod upgrade;

pub use age::Reason;
pub use lock::{LockOutcome, ProviderReport};
pub use upgrade::{PlannedUpgrade, UpgradePlan};

pub(crate) use age::MinimumAge;
pub(crate) use listing::Listings;
pub(crate) use lock::LockRequest;
pub(crate) use schedule::{lock, lock_all};
pub(crate) use upgrade::plan_upgrades;
