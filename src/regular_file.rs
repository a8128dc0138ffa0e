//! Reading a file that anybody may have put into a repository.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// Reads a regular file of at most `limit` bytes, a whole number of MiB.
///
/// A pipe would block when it is opened, and a device might never end; both are errors, as are directories.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    // With room for the end of the file, one call reads it all.
    let length = usize::try_from(metadata.len().min(limit)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length + 1);
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(bytes)
}
