//! Filling a mirror: a directory of packages in the packed layout (OpenTofu's `internal/getproviders/filesystem_search.go`),
//! with the documents of a network mirror beside them, as `internal/command/providers_mirror.go` writes both.
//!
//! A package gets its name in the mirror only when it was authenticated and has a hash that a lock file records. One that is
//! there already is hashed, and stays if a lock file records it, so that a run which was killed goes on where it was.

mod directory;
mod documents;
mod lock_files;
mod mirrored;
mod prune;
mod releases;
mod request;
mod wanted;

use std::collections::BTreeMap;

use crate::diagnostic::Result;
use directory::MirrorDirectory;
use documents::Documents;

pub use lock_files::MirrorOptions;
pub use mirrored::{MirrorAction, Mirrored, MirroredPackage, RemovedFile};
pub(crate) use releases::{Record, Releases};
pub(crate) use request::MirrorRequest;

/// Puts the packages that lock files name into a mirror, each once. What else is there stays, unless it is to be removed.
///
/// # Errors
/// The directory cannot be used. What is wrong with single packages and documents is in the result.
pub(crate) fn fill(releases: &Releases, request: MirrorRequest<'_>) -> Result<Mirrored> {
    let directory = MirrorDirectory::open(request.directory, request.dry_run)?;
    let mut mirrored = Mirrored::default();
    let mut documents = BTreeMap::new();
    for (address, versions) in releases.by_provider() {
        let read = directory.of_provider(address).and_then(|path| Documents::read(path, versions.keys()));
        match read {
            Ok(read) => _ = documents.insert(address, read),
            Err(errors) => mirrored.errors.extend(errors),
        }
    }
    let folders = documents.iter().map(|(address, documents)| (*address, documents.directory.clone())).collect();
    let (wanted, errors) = wanted::all(releases, &folders, request);
    mirrored.errors.extend(errors);
    for result in wanted::put_all(wanted, &directory, request) {
        match result {
            Ok(put) => {
                let package = &put.package.package;
                if let (Some(digest), Some(documents)) = (&put.digest, documents.get_mut(&package.address)) {
                    documents.add(package, digest);
                }
                mirrored.warnings.extend(put.warnings);
                mirrored.errors.extend(put.errors);
                mirrored.packages.push(put.package);
            }
            Err(errors) => mirrored.errors.extend(errors),
        }
    }
    if !request.dry_run {
        let written = documents.into_values().map(|documents| documents.write());
        mirrored.errors.extend(written.filter_map(Result::err).flatten());
    }
    if request.prune {
        let (removed, errors) = prune::prune(&directory, releases, request.dry_run);
        mirrored.removed = removed;
        mirrored.errors.extend(errors);
    }
    Ok(mirrored)
}
