//! Locks of directories: only one process of provlock at a time replaces files in one.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for which a process needs a lock.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// Text between the name of the replaced file and the random part of a temporary file's name.
const MARK: &str = ".provlock-";
/// Number of letters and digits in the random part.
const RANDOM: usize = 6;
/// Age after which a temporary file that nothing locks is left over from a killed run.
const OLD: Duration = Duration::from_hours(1);

/// The right to replace files in a directory, for as long as this lives. The directory itself is
/// locked, so no lock file is left behind. Only provlock asks for this lock.
pub(crate) struct DirectoryLock {
    /// `None` if the system cannot lock directories. Then no process waits.
    lock: Option<File>,
}

impl DirectoryLock {
    /// Waits until no other process holds the lock.
    ///
    /// # Errors
    /// Another process does not release the lock in time.
    pub(crate) fn wait(directory: &Path) -> io::Result<Self> {
        // Windows cannot open directories.
        let Ok(file) = File::open(directory) else {
            return Ok(Self { lock: None });
        };
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { lock: Some(file) }),
                Err(TryLockError::WouldBlock) if started.elapsed() < LONGEST_WAIT => {
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        ErrorKind::ResourceBusy,
                        "another process keeps its directory locked",
                    ));
                }
                // Not every file system has locks. Files are replaced in one step nevertheless.
                Err(TryLockError::Error(_)) => return Ok(Self { lock: None }),
            }
        }
    }

    /// Takes the lock if no other process holds it, and if the system can lock directories.
    pub(crate) fn take(directory: &Path) -> Option<Self> {
        let file = File::open(directory).ok()?;
        file.try_lock().ok().map(|()| Self { lock: Some(file) })
    }

    /// Removes the temporary files of processes that were killed while they replaced a file whose
    /// name `is_meant` accepts. While the lock is held, no process writes such files.
    pub(crate) fn remove_left_over(&self, directory: &Path, is_meant: impl Fn(&str) -> bool) {
        if self.lock.is_none() {
            return;
        }
        for (name, entry) in temporary_files(directory) {
            if replaced_name(&name).is_some_and(&is_meant) {
                // A file that cannot be removed does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Removes temporary files in a directory that are so old that no process is writing them.
pub(crate) fn remove_old(directory: &Path) {
    for (_, entry) in temporary_files(directory) {
        if let Ok(metadata) = entry.metadata()
            && let Ok(modified) = metadata.modified()
            && let Ok(age) = modified.elapsed()
            && age > OLD
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The files in a directory with names of temporary files, and their names, without links.
fn temporary_files(directory: &Path) -> impl Iterator<Item = (String, fs::DirEntry)> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_temporary = replaced_name(&name).is_some()
                && entry.file_type().is_ok_and(|kind| kind.is_file());
            is_temporary.then_some((name, entry))
        })
}

/// The prefix of a temporary file's name. It is hidden, so programs that read the directory skip
/// it.
pub(super) fn temporary_prefix(name: &str) -> String {
    format!(".{}{MARK}", without_dots(name))
}

/// The name of the file that a temporary file would replace, without leading dots; `None` for names
/// of other files.
fn replaced_name(name: &str) -> Option<&str> {
    let (replaced, random) = name.strip_prefix('.')?.rsplit_once(MARK)?;
    let is_random =
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_random.then_some(replaced)
}

/// A name without leading dots.
pub(super) fn without_dots(name: &str) -> &str {
    name.trim_start_matches('.')
}
