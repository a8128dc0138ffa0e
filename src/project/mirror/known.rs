//! Whether a file in the mirror is the package that its name says. Lock files do not say which platform a hash is for.

use std::fs;
use std::path::Path;

use crate::diagnostic::Result;
use crate::packages::SourceError;
use crate::packages::archive::{Limits, PackageDigest, PackageId, hash_zip_file};
use crate::project::session::Session;
use crate::provider::{Dialect, Hash};
use crate::system::files;

/// The hashes of a file, if it is a package of this provider. A symbolic link is not followed: it is something else.
pub(super) fn digest(path: &Path, package: &PackageId) -> Option<PackageDigest> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let mut file = metadata.is_file().then(|| files::open(path).ok())??;
    hash_zip_file(&mut file, &package.address.name, &Limits::default()).ok()
}

/// Whether an archive with this hash is a package, as an earlier run has verified it or SHA256SUMS lists it; none if
/// neither says anything about it.
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
