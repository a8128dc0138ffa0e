//! Keeping the archive of a package while it is hashed.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::error::SourceError;
use super::fetched::Fetched;
use crate::packages::archive::{Limits, PackageDigest, PackageError, hash_zip_file};

/// A file that the archive of a package is written to while it is hashed.
pub(crate) struct ArchiveFile<'a> {
    file: &'a File,
    path: &'a Path,
    /// Why it could not be written.
    failure: Mutex<Option<io::Error>>,
}

/// A package that was fetched, with the hashes of its archive.
#[derive(Debug)]
pub(crate) struct Archived {
    /// The hashes and the size of the archive.
    pub(crate) digest: PackageDigest,
    /// What the source knows of it.
    pub(crate) fetched: Fetched,
}

/// A reader whose bytes are written to a file, if there is one, as they are read.
pub(super) struct Copied<'a, R> {
    inner: R,
    into: Option<&'a ArchiveFile<'a>>,
}

impl<'a> ArchiveFile<'a> {
    /// A file that is open for reading and writing, and its path for errors.
    pub(crate) fn new(file: &'a File, path: &'a Path) -> Self {
        Self { file, path, failure: Mutex::new(None) }
    }

    /// Copies an archive, and hashes the copy.
    pub(super) fn copy(&self, archive: impl Read, provider_type: &str) -> Result<PackageDigest, PackageError> {
        let limits = Limits::default();
        let archive = Copied::new(archive, Some(self)).map_err(PackageError::Read)?;
        // One byte more than is allowed makes it too large.
        io::copy(&mut archive.take(limits.archive_bytes + 1), &mut io::sink()).map_err(PackageError::Read)?;
        hash_zip_file(&mut { self.file }, provider_type, &limits)
    }

    /// Why it could not be written, if that is so.
    pub(super) fn failure(&self) -> Option<SourceError> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map(|error| SourceError::io("write", self.path, &error))
    }

    /// Empties it: what is read from now on is an archive from its beginning.
    fn start(&self) -> io::Result<()> {
        let mut file = self.file;
        self.noted(file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)).map(drop)))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.file;
        self.noted(file.write_all(bytes))
    }

    fn noted(&self, result: io::Result<()>) -> io::Result<()> {
        result.map_err(|error| {
            let failed = io::Error::from(error.kind());
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            failed
        })
    }
}

impl<'a, R> Copied<'a, R> {
    /// The bytes of an archive from its beginning.
    pub(super) fn new(inner: R, into: Option<&'a ArchiveFile<'a>>) -> io::Result<Self> {
        into.map_or(Ok(()), ArchiveFile::start)?;
        Ok(Self { inner, into })
    }
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.into.map_or(Ok(()), |archive| archive.append(&buffer[..count]))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use provlock_test::archive::{Packing, pack, provider_files, zh};

    use super::*;

    #[test]
    fn the_file_has_the_bytes_of_the_last_pass_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.zip");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let into = ArchiveFile::new(&file, &path);
        let read = |text: &str| {
            io::copy(&mut Copied::new(text.as_bytes(), Some(&into)).unwrap(), &mut io::sink()).unwrap();
            fs::read_to_string(&path).unwrap()
        };
        assert_eq!((read("longer than the other"), read("short")), ("longer than the other".into(), "short".into()));

        let archive = pack(&provider_files("null", "1.0.0", "linux_amd64", "seed", 10_000), Packing::Deflated);
        assert_eq!(into.copy(&*archive, "null").unwrap().zh.as_str(), zh(&archive));
        assert_eq!(fs::read(&path).unwrap(), archive);
        assert!(into.failure().is_none());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_what_went_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.zip");
        fs::write(&path, "").unwrap();
        let file = File::open(&path).unwrap();
        let into = ArchiveFile::new(&file, &path);
        assert!(into.copy(&b"bytes"[..], "null").is_err());
        let failure = into.failure().unwrap().to_string();
        assert!(failure.starts_with(&format!("cannot write {}", path.display())), "{failure}");
    }
}
