//! Temporary files and directories, which do not outlive the program, even if it is interrupted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

use super::lock::lock;

/// The temporary files and directories of this process.
static PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Number of attempts to remove a directory whose files a killed process may still be writing, and
/// the pause between.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A temporary file or directory, which is removed when this is dropped, or by an interrupt.
pub(crate) struct Temporary<T> {
    // It is removed before its path leaves the list: an interrupt meanwhile removes the rest.
    made: T,
    listed: Listed,
}

/// A path in the list, as long as this lives.
struct Listed(PathBuf);

impl<T: AsRef<Path>> Temporary<T> {
    /// Makes one with `create`, and lists its path.
    pub(crate) fn make(create: impl FnOnce() -> io::Result<T>) -> io::Result<Self> {
        // An interrupt waits until the path is listed.
        let mut paths = lock(&PATHS);
        let made = create()?;
        let path = made.as_ref().to_owned();
        paths.push(path.clone());
        let listed = Listed(path);
        Ok(Self { made, listed })
    }

    pub(super) fn path(&self) -> &Path {
        &self.listed.0
    }
}

impl Temporary<NamedTempFile> {
    pub(crate) fn as_file(&self) -> &File {
        self.made.as_file()
    }

    /// Gives the file a different name with `rename`.
    pub(super) fn rename(
        self,
        rename: impl FnOnce(NamedTempFile) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { made, listed } = self;
        let renamed = rename(made);
        drop(listed);
        renamed
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&PATHS).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files and directories. While the result lives, none is made, and a thread
/// that gives one up waits.
pub(super) fn remove_all() -> MutexGuard<'static, Vec<PathBuf>> {
    let paths = lock(&PATHS);
    for path in paths.iter() {
        for _ in 0..ATTEMPTS {
            if remove(path).is_ok() || !path.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    paths
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_removes_a_directory_that_is_being_removed() {
        let directory = Temporary::make(tempfile::tempdir).unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("a"), "").unwrap();
        let paths = lock(&PATHS);
        let removing = thread::spawn(move || drop(directory));
        for _ in 0..ATTEMPTS {
            if !path.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
        assert!(!path.exists());
        assert!(paths.contains(&path));
        drop(paths);
        removing.join().unwrap();
        assert!(!lock(&PATHS).contains(&path));
    }
}
