//! Packages in directories that are named after the hash of their files, and never change. So
//! concurrent runs can share them, and a package is checked when it is read: its files have the
//! hash.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checksum::text_digest;
use super::fetch_error::FetchResult;
use super::package_hash;
use crate::provider::Hash;
use crate::system::{TemporaryDirectory, files, storage};

/// The directory of packages.
const CONTENTS: &str = "contents";
/// The directory of unfinished packages.
const UNFINISHED: &str = "unfinished";

/// Packages below a directory.
#[derive(Debug)]
pub(super) struct PackageStore {
    pub(super) directory: PathBuf,
    readers: Readers,
}

/// Users for whom packages are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    /// The user of this run. A package to which other users can write is treated as absent.
    ThisUser,
    /// All users, who may run on a different machine.
    All,
}

/// The files of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) path: PathBuf,
    /// Hash of the files.
    pub(super) h1: Hash,
}

impl PackageStore {
    pub(super) fn new(directory: PathBuf, readers: Readers) -> Self {
        Self { directory, readers }
    }

    /// Creates a temporary directory for fetching and unpacking a package.
    pub(super) fn scratch(&self) -> io::Result<TemporaryDirectory> {
        let folder = self.directory.join(UNFINISHED);
        self.create(&folder)?;
        TemporaryDirectory::new_in(&folder)
    }

    /// Moves a package into the store.
    pub(super) fn put(&self, package: &Path) -> FetchResult<Content> {
        let content = self.content_of(package_hash::h1(package)?);
        self.create(&self.contents())?;
        let _uninterrupted = files::hold_off_interrupts();
        // The package of another run has the same hash, or is damaged.
        if !self.accepts(&content) {
            // It may not exist.
            let _ = remove(&content.path);
            fs::rename(package, &content.path).or_else(|error| {
                if self.accepts(&content) {
                    Ok(())
                } else {
                    Err(error)
                }
            })?;
        }
        Ok(content)
    }

    /// The directory of packages.
    pub(super) fn contents(&self) -> PathBuf {
        self.directory.join(CONTENTS)
    }

    /// The place of the package with a hash, which may be empty.
    pub(super) fn content_of(&self, h1: Hash) -> Content {
        Content {
            path: self.contents().join(text_digest(h1.as_str())),
            h1,
        }
    }

    /// Whether a package is there and may be used.
    pub(super) fn accepts(&self, content: &Content) -> bool {
        let is_safe = match self.readers {
            Readers::ThisUser => !storage::is_writable_by_others(&content.path),
            Readers::All => true,
        };
        is_safe && content.is_intact()
    }

    /// Removes the directories of unfinished packages of killed runs. No other run may be using
    /// them.
    pub(super) fn remove_unfinished(&self) {
        // It may not exist, and does no harm.
        let _ = remove(&self.directory.join(UNFINISHED));
    }

    fn create(&self, directory: &Path) -> io::Result<()> {
        match self.readers {
            Readers::ThisUser => storage::create_directory(directory),
            Readers::All => fs::create_dir_all(directory),
        }
    }
}

impl Content {
    /// Whether the directory is no link, and its files have the hash.
    pub(super) fn is_intact(&self) -> bool {
        self.path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_dir())
            && package_hash::h1(&self.path).ok().as_ref() == Some(&self.h1)
    }
}

/// Removes a directory, or a link or a file in its place.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}
