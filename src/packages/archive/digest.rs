//! The hashes of a package.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::provider::{Hash, HashScheme};

/// The hashes of a package that is a zip archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDigest {
    /// Over the archive's bytes.
    pub zh: Hash,
    /// Over the files as extracted.
    pub h1: Hash,
    /// Over the archive's entries as they are, directories as empty files, as `providers mirror`
    /// writes it (OpenTofu's `PackageHashV1` of a `PackageLocalArchive`,
    /// `internal/getproviders/hash.go`). The same as `h1` unless there are directories, unclean or
    /// repeated names.
    pub h1_with_directories: Hash,
    /// Bytes of the archive.
    pub size: u64,
}

impl PackageDigest {
    /// Whether the hashes are well-formed hashes of their schemes.
    pub(crate) fn is_well_formed(&self) -> bool {
        let Self {
            zh,
            h1,
            h1_with_directories,
            size: _,
        } = self;
        zh.is_well_formed_as(HashScheme::Zh)
            && h1.is_well_formed_as(HashScheme::H1)
            && h1_with_directories.is_well_formed_as(HashScheme::H1)
    }

    /// The hashes of the package in a lock file.
    pub fn hashes(&self) -> [&Hash; 2] {
        [&self.h1, &self.zh]
    }

    /// All hashes over its files, as any program computes them.
    pub(crate) fn into_h1(self) -> [Hash; 2] {
        [self.h1, self.h1_with_directories]
    }

    /// Whether this is a hash of the package, as any program computes it.
    pub fn has(&self, hash: &Hash) -> bool {
        self.hashes().contains(&hash) || self.h1_with_directories == *hash
    }

    /// Whether a lock file with these hashes records the files of the package.
    pub(crate) fn is_recorded_in(&self, recorded: &BTreeSet<Hash>) -> bool {
        recorded.contains(&self.h1) || recorded.contains(&self.h1_with_directories)
    }
}
