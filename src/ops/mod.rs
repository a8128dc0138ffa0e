//! What the commands do: selecting versions, locking, verifying, upgrading.

mod lock;
pub mod parallel;
mod record;
mod roots;
mod schedule;
mod select;

pub use lock::{LockOutcome, LockRequest, LockedPackage, ProviderReport};
pub use roots::{RootSearch, find_roots};
pub use schedule::{Locked, lock, lock_all};
