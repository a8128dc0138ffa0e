//! Ends a program in the middle of its work.

use std::path::PathBuf;
use std::sync::{MutexGuard, RwLockWriteGuard};

use super::files::wait_for_writes;
use super::process::{self, Running};
use super::temporary_paths;

/// A program whose work is stopped while this lives.
pub struct Stopped {
    _writes: RwLockWriteGuard<'static, ()>,
    _helpers: MutexGuard<'static, Running>,
    _temporary: MutexGuard<'static, Vec<PathBuf>>,
}

/// Waits until no file is being replaced, ends the programs that this one has started, and removes
/// its temporary files and directories. A program that ends because of an interrupt calls this
/// first.
pub fn stop() -> Stopped {
    Stopped {
        _writes: wait_for_writes(),
        _helpers: process::kill_all(),
        _temporary: temporary_paths::remove_all(),
    }
}
