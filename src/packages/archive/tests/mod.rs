//! Tests of package hashing. Every archive is hashed in all ways there are, and they must agree.

mod ambiguous;
mod archives;
mod central;
mod differential;
mod hash_cache;
mod limits;
mod recorded;
mod unpacked;

use std::io::{self, Cursor, Read};

use super::*;

/// The digest of an archive, or the reason why it was refused.
type Answer = Result<(Hash, Hash, Hash, u64), (Option<Hash>, Refusal)>;

fn answer(result: Result<PackageDigest, PackageError>) -> Answer {
    match result {
        Ok(digest) => Ok((
            digest.zh,
            digest.h1,
            digest.h1_with_directories,
            digest.size,
        )),
        Err(PackageError::Refused { zh, refusal }) => Err((zh, refusal)),
        Err(other) => panic!("{other:?}"),
    }
}

/// Hashes the zip archive that `open` yields, as a download does: it is opened a second time if it
/// cannot be hashed in one pass, which happens with odd archives only.
fn hash_zip_with<R: Read>(
    mut open: impl FnMut() -> R,
    provider_type: &str,
    limits: &Limits,
) -> Result<PackageDigest, PackageError> {
    match hash_zip(open(), provider_type, limits) {
        Err(PackageError::NotStreamable(_)) => hash_zip_spooled(open(), provider_type, limits),
        result => result,
    }
}

/// Hashes the archive through its central directory, and checks that all other ways give the same
/// answer. The second value tells whether one pass over the bytes was enough.
fn hash_every_way(archive: &[u8], provider_type: &str, limits: &Limits) -> (Answer, bool) {
    let expected = answer(hash_zip_file(
        &mut Cursor::new(archive),
        provider_type,
        limits,
    ));
    assert_eq!(
        answer(hash_zip_spooled(archive, provider_type, limits)),
        expected,
        "spooled"
    );
    let streamed = hash_zip_with(|| archive, provider_type, limits);
    assert_eq!(answer(streamed), expected, "streamed");
    let small_reads = hash_zip_with(|| OneByte(archive), provider_type, limits);
    assert_eq!(answer(small_reads), expected, "streamed in single bytes");
    let mut source = Source::new(archive, limits);
    let streamed = match streaming::hash_in_one_pass(&mut source, provider_type, limits) {
        Err(PackageError::NotStreamable(_)) => false,
        result => {
            assert_eq!(
                answer(digest(result, source.finish())),
                expected,
                "streamed alone"
            );
            true
        }
    };
    (expected, streamed)
}

/// Yields one byte at a time.
struct OneByte<'a>(&'a [u8]);

impl Read for OneByte<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}
