//! A root module that was locked.

use super::plan::LockOutcome;
use super::prepared::Prepared;

/// A root module that was locked.
#[non_exhaustive]
pub struct Locked<'a> {
    /// The root module.
    pub prepared: &'a Prepared,
    /// What the lock file holds now, and how that came about.
    pub outcome: LockOutcome,
    /// The lock file's bytes.
    pub bytes: Vec<u8>,
    /// Whether they differ from those before.
    pub changed: bool,
    /// Whether a difference was written.
    pub written: bool,
}

/// What locking a root module came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockedRoot {
    /// Whether the lock file has changed, or would.
    pub changed: bool,
}
