//! What became of a mirror.

use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::packages::archive::PackageId;
use crate::provider::{Authentication, Dialect};

/// What became of a mirror, or would become of it.
#[derive(Debug, Default)]
pub struct Mirrored {
    /// The packages that lock files name, in their order, without those that could not be put there.
    pub packages: Vec<MirroredPackage>,
    /// The files that no lock file names; none unless they are to be removed.
    pub removed: Vec<RemovedFile>,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
    /// What could not be done.
    pub errors: Vec<Diagnostic>,
}

/// A package that is in a mirror, or would be.
#[derive(Debug)]
pub struct MirroredPackage {
    /// The package.
    pub package: PackageId,
    /// The dialect of the first lock file that names it.
    pub dialect: Dialect,
    /// Its archive; in an OCI registry the address of its tag.
    pub path: PathBuf,
    /// What happened to it, or would happen.
    pub action: MirrorAction,
    /// Bytes of its archive; none where they are not known, since it was not fetched.
    pub size: Option<u64>,
    /// How it was authenticated, if it was fetched.
    pub authentication: Option<Authentication>,
}

/// What happens to a package in a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MirrorAction {
    /// It was there, and a lock file records it.
    Kept,
    /// It was not there.
    Added,
    /// Something that no lock file records had its name.
    Replaced,
}

/// A file that was removed from a mirror, or would be.
#[derive(Debug, PartialEq, Eq)]
pub struct RemovedFile {
    /// Where it was.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
}
