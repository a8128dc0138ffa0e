//! Temporary directories.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::files::DirectoryLock;
use super::temporary_paths::Temporary;

/// A temporary directory, which is removed with all that is in it.
pub(crate) struct TemporaryDirectory {
    directory: Temporary<TempDir>,
    /// By which other runs see that this one has not ended; none if the system cannot lock
    /// directories.
    _lock: Option<DirectoryLock>,
}

impl TemporaryDirectory {
    /// Makes one where the system has temporary files.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            directory: Temporary::make(tempfile::tempdir)?,
            _lock: None,
        })
    }

    /// Makes a directory in `directory`, which must not contain anything else, and removes
    /// directories that killed runs have left there.
    pub(crate) fn new_in(directory: &Path) -> io::Result<Self> {
        // So no other run has made a directory that it has not locked yet.
        let _turn = DirectoryLock::wait(directory)?;
        for entry in fs::read_dir(directory)?.flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && DirectoryLock::take(&entry.path()).is_some() {
                // A directory that cannot be removed does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let made = Temporary::make(|| tempfile::tempdir_in(directory))?;
        let lock = DirectoryLock::take(made.path());
        Ok(Self {
            directory: made,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}
