//! What the commands do: selecting versions, locking, verifying, upgrading.

mod lock;
mod parallel;
mod record;
mod select;
mod upgrade;

pub use lock::{LockOutcome, LockRequest, LockedPackage, ProviderReport, lock};
pub use upgrade::{MinimumAge, Outlook, Survey, UpgradeRequest, survey};
