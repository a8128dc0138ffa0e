//! Reasons why a package has no hash.

use std::io;

use crate::provider::Hash;

/// The reason why a package could not be hashed.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The package's bytes could not be read. Reading it again may help.
    #[error("the package could not be read: {0}")]
    Read(#[source] io::Error),
    /// The temporary file with the package failed.
    #[error("a temporary file for the package could not be used: {0}")]
    TemporaryFile(#[source] io::Error),
    /// The central directory is needed before the entries can be read, and the first bytes of the
    /// archive are no longer kept. `hash_zip_spooled` must read it again from its start.
    #[error("the zip archive cannot be hashed while it arrives: {0}")]
    NotStreamable(&'static str),
    /// The zip archive has more bytes than [`super::Limits`] allow. It was not read to its end.
    #[error("the zip archive is larger than {0} bytes")]
    TooLarge(u64),
    /// The package can be read, but OpenTofu would not install it.
    #[error("{refusal}")]
    Refused {
        /// The hash of the zip archive; `None` for a directory. If it is not the expected hash,
        /// report that instead.
        zh: Option<Hash>,
        /// The rule that the package breaks.
        refusal: Refusal,
    },
}

/// A rule for packages that a package breaks, because OpenTofu, or Go's `archive/zip` in it,
/// refuses to install it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The structure of the zip archive is broken.
    #[error("it is not a valid zip archive: {0}")]
    Archive(&'static str),
    /// The zip archive is empty.
    #[error("it is an empty zip archive")]
    Empty,
    /// No file at the top has the name of a provider's executable.
    #[error("it has no top-level file {0}, nor one whose name continues with \"_\" or \".\"")]
    NoExecutable(String),
    /// The central directory has more bytes than [`super::Limits`] allow.
    #[error("its central directory is larger than {0} bytes")]
    DirectoryTooLarge(u64),
    /// The files have together more bytes than [`super::Limits`] allow, packed or extracted.
    #[error("its files are together larger than {0} bytes")]
    FilesTooLarge(u64),
    /// An entry of the zip archive, or a file of the directory, is not acceptable.
    #[error("its entry \"{name}\" {problem}")]
    Entry {
        /// The entry's name, made printable.
        name: String,
        /// The problem with it.
        problem: EntryProblem,
    },
}

/// A problem with one entry of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// A part of the name is `..`.
    #[error("has \"..\" in its name")]
    ParentDirectory,
    /// The name contains a line feed, which would make the hashed list ambiguous.
    #[error("has a line break in its name")]
    Newline,
    /// The name contains a zero byte.
    #[error("has a zero byte in its name")]
    Nul,
    /// The name is longer than file systems allow.
    #[error("has a name that is too long for a file")]
    LongName,
    /// A directory has the same name.
    #[error("is both a file and a directory")]
    FileAndDirectory,
    /// Compressed by a method other than stored and deflate.
    #[error("is compressed by the unsupported method {0}")]
    Method(u16),
    /// There is no local header at the offset in the central directory.
    #[error("has no header at the offset in the central directory")]
    LocalHeader,
    /// The archive, or the entry's data, ends too early.
    #[error("is truncated")]
    Truncated,
    /// The compressed data is not a deflate stream.
    #[error("contains damaged compressed data")]
    Deflate,
    /// The length of the content differs from the central directory.
    #[error("does not have the size that the central directory says")]
    Size,
    /// The CRC-32 of the content differs from the recorded one.
    #[error("fails its CRC-32 check")]
    Checksum,
    /// Several extra fields with 64-bit sizes: each version of Go uses a different field.
    #[error("has two zip64 fields, which versions of Go read differently")]
    SecondZip64Field,
    /// Not a regular file, and no symbolic link to one.
    #[error("is not a regular file")]
    NotRegular,
}

impl Refusal {
    /// A refusal because of the entry with that name.
    pub(super) fn entry(name: &[u8], problem: EntryProblem) -> Self {
        Self::Entry {
            name: printable(name),
            problem,
        }
    }
}

impl From<Refusal> for PackageError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { zh: None, refusal }
    }
}

impl PackageError {
    /// Adds the archive's hash to a refusal.
    pub(super) fn with_zh(self, digest: &[u8; 32]) -> Self {
        match self {
            Self::Refused { refusal, .. } => Self::Refused {
                zh: Some(Hash::zh(digest)),
                refusal,
            },
            other => other,
        }
    }
}

/// A name as text that is safe to show: no control characters, at most 200 characters.
fn printable(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let mut shown: String = text
        .chars()
        .take(200)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}
