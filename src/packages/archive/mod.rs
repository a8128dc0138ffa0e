//! Packages: a zip archive or a directory to its `zh:` and `h1:` hashes, as OpenTofu's
//! `internal/getproviders/hash.go` defines them.
//!
//! An archive is hashed in one pass while it arrives ([`hash_zip`]): its bytes feed SHA-256 and the
//! inflater at once, each entry feeds its own SHA-256 as it inflates, and nothing is written. Local
//! headers are not trusted; the entries that they lead to are compared with the central directory
//! at the end. If the comparison is not possible, the archive is read a second time through its
//! central directory, which alone decides. The first 128 KiB are kept in memory, so an archive that
//! is small or odd near its start goes into an unnamed temporary file without a second download;
//! for others the caller gets [`PackageError::NotStreamable`] and fetches the archive again
//! (`hash_zip_spooled`). Both ways refuse the same archives.
//!
//! The rules follow OpenTofu: Go's `archive/zip` reads the archives, and they are hashed as
//! extracted.

mod central;
mod content;
mod contents;
mod digest;
mod error;
mod hash_cache;
mod id;
mod limits;
mod release_evidence;
mod seeking;
mod sha256;
mod source;
mod streaming;
mod unpacked;

#[cfg(test)]
mod tests;

use std::io::{Read, Seek, SeekFrom, Write};

pub(crate) use central::Entry;
pub use digest::PackageDigest;
pub use error::{EntryProblem, PackageError, Refusal};
pub use hash_cache::HashCache;
pub use id::PackageId;
pub use limits::Limits;
pub(crate) use release_evidence::{ComparedHashes, Covers, HashesByPlatform, ReleaseEvidence};
pub(crate) use seeking::unpack;
pub(crate) use unpacked::hash_directory;

use crate::provider::Hash;
use contents::Hashes;
use source::{ArchiveSum, Source};

/// Hashes the zip archive that `reader` yields, in one pass. If its layout does not allow that and
/// its first bytes are still kept, the archive goes into an unnamed temporary file.
///
/// # Errors
/// [`PackageError::NotStreamable`] if `hash_zip_spooled` must read the archive again.
pub fn hash_zip(
    reader: impl Read,
    provider_type: &str,
    limits: &Limits,
) -> Result<PackageDigest, PackageError> {
    let mut source = Source::new(reader, limits);
    match streaming::hash_in_one_pass(&mut source, provider_type, limits) {
        Err(PackageError::NotStreamable(reason)) => match source.take_kept_start() {
            Some(kept) => hash_in_temporary_file(&kept, source, provider_type, limits),
            None => Err(PackageError::NotStreamable(reason)),
        },
        result => digest(result, source.finish()),
    }
}

/// Hashes the zip archive that `reader` yields, by way of an unnamed temporary file.
pub(crate) fn hash_zip_spooled(
    reader: impl Read,
    provider_type: &str,
    limits: &Limits,
) -> Result<PackageDigest, PackageError> {
    let mut source = Source::new(reader, limits);
    source.take_kept_start();
    hash_in_temporary_file(&[], source, provider_type, limits)
}

/// Hashes the zip archive that is the whole of `file`.
pub fn hash_zip_file(
    file: &mut (impl Read + Seek),
    provider_type: &str,
    limits: &Limits,
) -> Result<PackageDigest, PackageError> {
    file.seek(SeekFrom::Start(0)).map_err(PackageError::Read)?;
    let mut source = Source::new(&mut *file, limits);
    source.take_kept_start();
    source.read_rest(|_| Ok(()))?;
    let sum = source.finish();
    digest(
        seeking::hash_by_central_directory(file, provider_type, limits),
        sum,
    )
}

/// Hashes an archive: `kept` is its start, which was read already, and `source` yields the rest.
fn hash_in_temporary_file<R: Read>(
    kept: &[u8],
    mut source: Source<R>,
    provider_type: &str,
    limits: &Limits,
) -> Result<PackageDigest, PackageError> {
    let mut file = tempfile::tempfile().map_err(PackageError::TemporaryFile)?;
    file.write_all(kept).map_err(PackageError::TemporaryFile)?;
    source.read_rest(|bytes| file.write_all(bytes).map_err(PackageError::TemporaryFile))?;
    let hashes =
        seeking::hash_by_central_directory(&mut file, provider_type, limits).map_err(|error| {
            match error {
                PackageError::Read(error) => PackageError::TemporaryFile(error),
                other => other,
            }
        });
    digest(hashes, source.finish())
}

/// Joins the hashes over the content of an archive, or the refusal, with the hash and the number of
/// its bytes.
fn digest(
    hashes: Result<Hashes, PackageError>,
    sum: ArchiveSum,
) -> Result<PackageDigest, PackageError> {
    let Hashes {
        h1,
        h1_with_directories,
    } = hashes.map_err(|error| error.with_zh(&sum.sha256))?;
    Ok(PackageDigest {
        zh: Hash::zh(&sum.sha256),
        h1,
        h1_with_directories,
        size: sum.size,
    })
}
