//! Temporary directories, which do not outlive the program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::files::DirectoryLock;

use crate::system::lock;

/// The temporary directories of this process.
static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Number of attempts to remove a directory whose files a killed process may still be writing, and
/// the pause between.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A temporary directory, which is removed with all that is in it.
pub(crate) struct TemporaryDirectory {
    directory: TempDir,
    /// By which other runs see that this one has not ended; none if the system cannot lock
    /// directories.
    lock: Option<DirectoryLock>,
}

impl TemporaryDirectory {
    /// Makes one where the system has temporary files.
    pub(crate) fn new() -> io::Result<Self> {
        Self::make(tempfile::tempdir)
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
        let mut made = Self::make(|| tempfile::tempdir_in(directory))?;
        made.lock = DirectoryLock::take(made.path());
        Ok(made)
    }

    fn make(make: impl FnOnce() -> io::Result<TempDir>) -> io::Result<Self> {
        let mut directories = lock(&DIRECTORIES);
        let directory = make()?;
        directories.push(directory.path().to_owned());
        Ok(Self {
            directory,
            lock: None,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // An interrupt meanwhile removes the rest.
        let _ = fs::remove_dir_all(self.path());
        lock(&DIRECTORIES).retain(|directory| directory != self.path());
    }
}

/// Removes the temporary directories. While the result lives, no directory is made, and a thread
/// that gives up a directory waits.
pub(super) fn remove_all() -> MutexGuard<'static, Vec<PathBuf>> {
    let directories = lock(&DIRECTORIES);
    for directory in directories.iter() {
        for _ in 0..ATTEMPTS {
            if fs::remove_dir_all(directory).is_ok() || !directory.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_removes_a_directory_that_is_being_removed() {
        let directory = TemporaryDirectory::new().unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("a"), "").unwrap();
        let directories = lock(&DIRECTORIES);
        let removing = thread::spawn(move || drop(directory));
        for _ in 0..ATTEMPTS {
            if !path.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
        assert!(directories.contains(&path));
        assert!(!path.exists());
        drop(directories);
        removing.join().unwrap();
        assert!(!lock(&DIRECTORIES).contains(&path));
    }
}
