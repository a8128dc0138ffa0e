//! Where the packages of a provider are in a mirror: in a directory, or in a repository of an OCI registry.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::mirrored::{MirrorAction, MirroredPackage};
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::packages::SourceError;
use crate::packages::archive::{PackageDigest, PackageId};
use crate::project::session::Session;
use crate::provider::{Dialect, Hash};

/// The place of one provider in a mirror.
pub(super) trait Place: Sync {
    /// Result of storing a package, which publishing needs.
    type Pushed: Send;

    /// Number of packages that are found or stored at the same time.
    const SIDE_BY_SIDE: usize;

    /// Returns the name of a package for users.
    fn path(&self, package: &PackageId) -> PathBuf;

    /// Looks for the archive of a package.
    fn find(&self, package: &PackageId) -> Result<Found>;

    /// Creates the file that a package is downloaded into.
    fn temporary_file(&self, package: &PackageId) -> Result<NamedTempFile>;

    /// Stores a package that was verified. Clients do not see it before it is published.
    fn put(&self, package: &PackageId, file: NamedTempFile, digest: &PackageDigest) -> Result<Self::Pushed>;

    /// Makes the stored packages visible to clients, and removes the others from the list. `failed` are packages that
    /// could not be stored, whose errors are reported.
    fn publish(
        self,
        stored: &mut Vec<Stored<Self::Pushed>>,
        failed: &BTreeSet<PackageId>,
        session: &Session<'_>,
    ) -> Diagnostics;
}

/// What a mirror has under the name of a package.
pub(super) enum Found {
    Nothing,
    Archive(Archive),
    /// Something that cannot be the package.
    Other,
}

pub(super) struct Archive {
    pub(super) zh: Hash,
    /// Size in bytes.
    pub(super) size: u64,
    /// All hashes, if the archive was read.
    pub(super) digest: Option<PackageDigest>,
}

/// A package that is in its place.
pub(super) struct Stored<P> {
    pub(super) package: MirroredPackage,
    /// Its hashes, if they are known.
    pub(super) digest: Option<PackageDigest>,
    /// Set if this run has stored it.
    pub(super) pushed: Option<P>,
    /// Hints for the user.
    pub(super) warnings: Vec<Diagnostic>,
    /// Reasons why some lock files do not accept the package, while another one does.
    pub(super) errors: Vec<Diagnostic>,
}

impl<P> Stored<P> {
    pub(super) fn new(package: PackageId, dialect: Dialect, path: PathBuf, action: MirrorAction) -> Self {
        let package = MirroredPackage { package, dialect, path, action, size: None, authentication: None };
        Self { package, digest: None, pushed: None, warnings: Vec::new(), errors: Vec::new() }
    }
}

/// Whether an archive with this hash is the package, according to an earlier run that verified it or to SHA256SUMS;
/// `None` if neither contains the package. Lock files do not say which platform a hash is for.
///
/// # Errors
/// The registry cannot be asked.
pub(super) fn is_package(
    package: &PackageId,
    zh: &Hash,
    dialect: Dialect,
    session: &Session<'_>,
) -> Result<Option<bool>> {
    if let Some(known) = session.hash_cache.as_ref().and_then(|cache| cache.lookup(package)) {
        return Ok(Some(known.zh == *zh));
    }
    match session.source(dialect, None)?.listed(package) {
        Ok(listed) => Ok(listed.map(|listed| listed == *zh)),
        Err(SourceError::ProviderNotFound { .. }) => Ok(None),
        Err(error) if error.is_platform_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
