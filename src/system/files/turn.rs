//! Turns: one process of provlock at a time replaces files in a directory.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Nobody needs a turn for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// What the names of temporary files have behind the name of the file that they are to replace.
const MARK: &str = ".provlock-";

/// The right to replace files in a directory, for as long as this lives. It is a lock of the directory itself, which only
/// provlock asks for, and which leaves no file behind.
pub(crate) struct Turn {
    /// None where the system cannot lock directories: then nobody waits.
    lock: Option<File>,
}

impl Turn {
    /// Waits for a turn.
    ///
    /// # Errors
    /// When another process does not give its turn back.
    pub(crate) fn wait(directory: &Path) -> io::Result<Self> {
        // Windows does not open directories.
        let Ok(file) = File::open(directory) else { return Ok(Self { lock: None }) };
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { lock: Some(file) }),
                Err(TryLockError::WouldBlock) if started.elapsed() < LONGEST_WAIT => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(ErrorKind::ResourceBusy, "another process keeps its directory locked"));
                }
                Err(TryLockError::Error(_)) => return Ok(Self { lock: None }),
            }
        }
    }

    /// Removes the temporary files of processes that were killed while they replaced a file whose name is meant. During a
    /// turn there are no others.
    pub(crate) fn remove_left_over(&self, directory: &Path, is_meant: impl Fn(&str) -> bool) {
        if self.lock.is_none() {
            return;
        }
        let is_left_over =
            |entry: &fs::DirEntry| entry.file_name().to_str().and_then(replaced_name).is_some_and(&is_meant);
        for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(is_left_over) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// How the name of a temporary file begins. Programs that read the directory skip hidden files.
pub(super) fn temporary_prefix(name: &str) -> String {
    format!(".{}{MARK}", without_dots(name))
}

/// The name of the file that a temporary file was to replace, without dots at its beginning; none if it is not the name of a
/// temporary file.
pub(crate) fn replaced_name(name: &str) -> Option<&str> {
    Some(name.strip_prefix('.')?.rsplit_once(MARK)?.0)
}

/// A name without the dots at its beginning.
pub(super) fn without_dots(name: &str) -> &str {
    name.trim_start_matches('.')
}
