//! Object names of blobs, to compare files with the objects of git.

#![expect(
    clippy::disallowed_methods,
    reason = "git's objects are compared with the files of the work tree themselves"
)]

use std::fmt::LowerHex;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use provlock::system::canonicalize;
use sha1::Sha1;
use sha2::{Digest, Sha256, digest};

/// Whether bytes are the blob with this object name (git-hash-object(1)).
pub(crate) fn is_blob(bytes: &[u8], object: &str) -> bool {
    is_blob_of(bytes.len() as u64, bytes, object).is_ok_and(|is_blob| is_blob)
}

/// Whether a file has exactly the bytes of the blob with this object name. Git converts some files
/// at checkout; these differ from their blobs. A symbolic link, or a path through one, is not a
/// file here.
pub(crate) fn is_blob_on_disk(path: &Path, object: &str) -> bool {
    if !canonicalize(path).is_ok_and(|canonical| canonical == path) {
        return false;
    }
    let file = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let Ok((metadata, file)) = file else {
        return false;
    };
    metadata.is_file() && is_blob_of(metadata.len(), file, object).is_ok_and(|is_blob| is_blob)
}

fn is_blob_of(length: u64, content: impl Read, object: &str) -> std::io::Result<bool> {
    fn hex<D: Digest + Write>(length: u64, mut content: impl Read) -> std::io::Result<String>
    where
        digest::Output<D>: LowerHex,
    {
        let mut hasher = D::new_with_prefix(format!("blob {length}\0"));
        std::io::copy(&mut content, &mut hasher)?;
        Ok(format!("{:x}", hasher.finalize()))
    }
    let content = content.take(length);
    let digest = if object.len() == 40 {
        hex::<Sha1>(length, content)
    } else {
        hex::<Sha256>(length, content)
    };
    Ok(digest? == object)
}
