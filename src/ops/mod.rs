//! What the commands do: selecting versions, locking, verifying, upgrading.

mod agreement;
mod lock;
mod objection;
pub mod parallel;
mod policy;
mod record;
mod roots;
mod schedule;
mod select;
mod upgrade;
pub mod verify;

pub use agreement::{Disagreement, agree};
pub use lock::{LockOutcome, LockRequest, ProviderReport};
pub use objection::{MinimumAge, Reason};
pub use policy::Rules;
pub use roots::{RootSearch, find_roots};
pub use schedule::{Locked, lock, lock_all};
pub use upgrade::{Outlook, Survey, UpgradeRequest, survey_all};
