//! What the commands do: selecting versions, locking, verifying, upgrading.

mod age;
mod lock;
mod record;
mod schedule;
mod select;
mod shared_constraints;
mod upgrade;
pub mod verify;

pub use age::{MinimumAge, Reason};
pub use lock::{LockOutcome, LockRequest, ProviderReport};
pub use schedule::{lock, lock_all};
pub use shared_constraints::{ConstraintConflict, agree};
pub use upgrade::{PlannedUpgrade, UpgradePlan, UpgradeRequest, plan_upgrades};
