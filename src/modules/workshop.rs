//! Where a package is assembled before the cache keeps it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;

use sha2::Sha256;

use super::archive::{self, Format};
use super::cache::{PackageCache, Stored};
use super::checksum::hexadecimal;
use super::contents::{Extent, MOST_BYTES, Problem};
use crate::system::{TemporaryDirectory, storage};

/// A temporary directory for assembling a package.
pub(super) struct Workshop<'a> {
    cache: &'a PackageCache,
    pub(super) directory: TemporaryDirectory,
}

impl<'a> Workshop<'a> {
    pub(super) fn new(cache: &'a PackageCache) -> io::Result<Self> {
        Ok(Self { cache, directory: cache.workshop()? })
    }

    pub(super) fn new_directory(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.directory.path().join(name);
        storage::create_directory(&path)?;
        Ok(path)
    }

    /// Unpacks an archive and keeps the package under `key`, or the whole package under the address `whole`; without a
    /// format, its first bytes decide.
    pub(super) fn unpack(
        &self,
        mut archive: File,
        format: Option<Format>,
        key: &str,
        whole: Option<String>,
    ) -> std::result::Result<Stored, Problem> {
        let format = match format {
            Some(format) => Some(format),
            None => Format::of_content(&beginning(&mut archive)?),
        };
        let format = format.ok_or_else(|| Problem::Damaged("it is not an archive".to_owned()))?;
        let digits = hexadecimal::<Sha256>(&mut archive)?;
        let package = self.new_directory("package")?;
        let Some(address) = whole else {
            archive::unpack(archive, format, MOST_BYTES, &package, Extent::Configuration)?;
            return self.cache.put(key, &format!("{format:?} {digits}"), &package);
        };
        archive::unpack(archive, format, MOST_BYTES, &package, Extent::Whole)?;
        self.cache.put_whole(&address, format!("zh:{digits}").parse().ok(), &package)
    }
}

/// The first bytes of a file, which is left at its start.
fn beginning(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(8).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start)
}
