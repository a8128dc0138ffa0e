//! The location of a mirror, and the packages in it.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Result};
use crate::packages::RepositoryTemplate;
use crate::packages::archive::PackageId;
use crate::provider::{Authentication, Dialect};

/// Location of a mirror.
#[derive(Clone, Debug, derive_more::Display)]
pub enum MirrorTarget {
    /// In a directory, which need not exist yet.
    #[display("{}", _0.display())]
    Directory(PathBuf),
    /// In OCI registries, in a repository for each provider.
    #[display("oci://{_0}")]
    Repositories(RepositoryTemplate),
}

impl MirrorTarget {
    /// Parses a directory, or `oci://` and the template of repositories.
    ///
    /// # Errors
    /// The text after `oci://` is not such a template.
    pub fn parse(text: &Path) -> Result<Self> {
        match text.to_str().and_then(|text| text.strip_prefix("oci://")) {
            Some(template) => RepositoryTemplate::parse_url_path(template).map(Self::Repositories),
            None => Ok(Self::Directory(text.to_owned())),
        }
    }
}

/// Result of filling a mirror, or of a dry run.
#[derive(Debug, Default)]
pub struct Mirrored {
    /// The packages in lock files, in order, without packages that could not be mirrored.
    pub packages: Vec<MirroredPackage>,
    /// Number of documents of a network mirror that were written, or would be.
    pub documents: usize,
    /// The files that no lock file records, if they are removed.
    pub removed: Vec<RemovedFile>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Reasons why something could not be done.
    pub errors: Vec<Diagnostic>,
}

/// A package that is in a mirror, or would be after a dry run.
#[derive(Debug)]
pub struct MirroredPackage {
    /// The package.
    pub package: PackageId,
    /// The dialect of the first lock file that names it.
    pub dialect: Dialect,
    /// Its archive; in an OCI registry the address of its tag.
    pub path: PathBuf,
    /// Change of the mirror.
    pub action: MirrorAction,
    /// Size of its archive in bytes; `None` if that is unknown, because it was not fetched.
    pub size: Option<u64>,
    /// Authentication of the package, if it was fetched.
    pub authentication: Option<Authentication>,
}

/// Change of a mirror for a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MirrorAction {
    /// The package was in the mirror before, and a lock file records it.
    Kept,
    /// The package was not in the mirror.
    Added,
    /// A file that no lock file records had its name.
    Replaced,
}

/// A file that was removed from a mirror, or would be.
#[derive(Debug, PartialEq, Eq)]
pub struct RemovedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}
