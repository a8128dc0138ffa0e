//! The hashes of a package.

use std::collections::BTreeSet;

use crate::provider::{Hash, HashScheme};

/// The hashes of a package that is a zip archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageDigest {
    /// Over the archive's bytes.
    pub zh: Hash,
    /// Over the files as extracted.
    pub h1: Hash,
    /// Over the archive's entries as they are, directories as empty files, as `providers mirror` writes it (OpenTofu's
    /// `PackageHashV1` of a `PackageLocalArchive`, `internal/getproviders/hash.go`). The same as `h1` unless there are
    /// directories, unclean or repeated names.
    pub h1_with_directories: Hash,
    /// Bytes of the archive.
    pub size: u64,
}

impl PackageDigest {
    /// Reads a digest from the texts of its hashes; none unless all are well-formed hashes of their schemes.
    pub(crate) fn read(zh: &str, h1: &str, h1_with_directories: &str, size: u64) -> Option<Self> {
        let hash = |text: &str, scheme| {
            let hash: Hash = text.parse().ok()?;
            (hash.scheme() == scheme && hash.is_well_formed()).then_some(hash)
        };
        let h1_with_directories = hash(h1_with_directories, HashScheme::H1)?;
        Some(Self { zh: hash(zh, HashScheme::Zh)?, h1: hash(h1, HashScheme::H1)?, h1_with_directories, size })
    }

    /// The hashes that a lock file has of a package.
    pub fn hashes(&self) -> [&Hash; 2] {
        [&self.h1, &self.zh]
    }

    /// Whether it is one of the package's hashes, as any program computes them.
    pub fn has(&self, hash: &Hash) -> bool {
        self.hashes().contains(&hash) || self.h1_with_directories == *hash
    }

    /// Whether a lock file with these hashes records the files of the package.
    pub(crate) fn is_recorded_in(&self, recorded: &BTreeSet<Hash>) -> bool {
        recorded.contains(&self.h1) || recorded.contains(&self.h1_with_directories)
    }
}
