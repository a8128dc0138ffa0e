//! What the commands do: selecting versions, locking, verifying, upgrading.

mod lock;
mod parallel;
mod record;
mod select;

pub use lock::{LockOutcome, LockRequest, LockedPackage, ProviderReport, lock};
