//! The hashes of a package.

use crate::hash::Hash;

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
