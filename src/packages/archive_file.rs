//! Keeps the archive of a package while it is hashed.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Mutex;

use super::error::SourceError;
use crate::diagnostic::Diagnostic;
use crate::packages::archive::{Limits, PackageDigest, PackageError, hash_zip_file};
use crate::system::lock;

/// A file to which the archive of a package is written while it is hashed.
pub(crate) struct ArchiveFile<'a> {
    file: &'a File,
    path: &'a Path,
    /// The error while writing.
    failure: Mutex<Option<io::Error>>,
}

impl<'a> ArchiveFile<'a> {
    /// A file that is open for reading and writing, and its path for errors.
    pub(crate) fn new(file: &'a File, path: &'a Path) -> Self {
        Self {
            file,
            path,
            failure: Mutex::new(None),
        }
    }

    /// Copies an archive, and hashes the copy.
    pub(super) fn copy_and_hash(
        &self,
        archive: impl Read,
        provider_type: &str,
    ) -> Result<PackageDigest, PackageError> {
        let limits = Limits::default();
        // One byte more than is allowed makes it too large.
        let mut archive = archive.take(limits.archive_bytes + 1);
        self.restart()
            .and_then(|()| io::copy(&mut archive, &mut &*self))
            .map_err(PackageError::Read)?;
        hash_zip_file(&mut { self.file }, provider_type, &limits)
    }

    /// The error if the file could not be written.
    pub(super) fn write_error(&self) -> Option<SourceError> {
        let failure = lock(&self.failure).take();
        failure.map(|error| Diagnostic::io("write", self.path, &error).into())
    }

    /// Empties the file, because an archive starts again from its beginning.
    pub(super) fn restart(&self) -> io::Result<()> {
        let mut file = self.file;
        self.noting_error(
            file.set_len(0)
                .and_then(|()| file.seek(SeekFrom::Start(0)).map(drop)),
        )
    }

    /// The same result; its error is kept for [`Self::write_error`].
    fn noting_error(&self, result: io::Result<()>) -> io::Result<()> {
        result.map_err(|error| {
            let failed = io::Error::from(error.kind());
            lock(&self.failure).get_or_insert(error);
            failed
        })
    }
}

/// Errors are kept for `ArchiveFile::write_error`.
impl io::Write for &ArchiveFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file;
        self.noting_error(file.write_all(bytes))
            .map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
