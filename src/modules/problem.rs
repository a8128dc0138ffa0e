//! Limits of packages, and the reasons why a package cannot be used.

use std::io::{self, ErrorKind};

/// The directory of a repository, or the file of a submodule, in which git keeps its data. It is not part of a package.
pub(crate) const GIT: &str = ".git";
/// The largest size of an unpacked archive, in bytes.
pub(super) const MOST_BYTES: u64 = 1 << 30;
/// The most entries of a package.
pub(super) const MOST_ENTRIES: usize = 100_000;
/// The longest name of an entry and the longest target of a link, in bytes. No system opens a longer path.
pub(super) const LONGEST_NAME: usize = 4096;
/// How deep a directory may lie.
pub(super) const MOST_PARTS: usize = 100;
/// The most bytes of all names, including those of the directories around entries.
pub(super) const MOST_NAMES: usize = 16 << 20;
/// The most bytes of the names and targets of all links. The system looks up every part of them.
pub(super) const MOST_LINKS: usize = 1 << 20;

/// A reason why a package cannot be used or locked. The text continues a message that names the package.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("its entry {0:?} leads out of the package")]
    Outside(String),
    #[error("its entry {0:?} is a link to {1:?}, which leads out of the package")]
    LinkOutside(String, String),
    #[error("its entry {0:?} does not have a name of one line of text")]
    Name(String),
    #[error("its entry {0:?} differs from another one in case only, and this file system does not tell them apart")]
    Case(String),
    #[error("its entry {0:?} is configuration in a {GIT} directory, which is not part of a package")]
    InGit(String),
    #[error("its entry {0:?} has a name that Windows reserves")]
    Special(String),
    #[error("its entry {0:?} is a file or a link, and a directory as well")]
    Conflict(String),
    #[error("it contains more than {MOST_ENTRIES} entries")]
    TooMany,
    #[error("it contains more than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    #[error("it contains a name that is longer than {LONGEST_NAME} bytes or has more than {MOST_PARTS} parts")]
    LongName,
    #[error("the names of its entries take more than {} MiB", MOST_NAMES >> 20)]
    TooManyNames,
    #[error("its links take more than {} MiB", MOST_LINKS >> 20)]
    TooManyLinks,
    #[error("it is empty")]
    Empty,
    #[error("it has no commit")]
    NoCommit,
    #[error("it cannot be read: {0}")]
    Damaged(String),
    #[error("it cannot be unpacked: {0}")]
    Io(#[from] io::Error),
}

/// Whether OpenTofu or Terraform reads a file of this name as configuration.
pub(crate) fn is_configuration(name: &str) -> bool {
    [".tf", ".tofu", ".tf.json", ".tofu.json"].iter().any(|extension| name.ends_with(extension))
}

impl Problem {
    /// A failure to create an entry whose name is new.
    pub(super) fn of_creating(error: io::Error, name: &str) -> Self {
        if error.kind() == ErrorKind::AlreadyExists { Self::Case(name.to_owned()) } else { Self::Io(error) }
    }

    /// A failure to read or write a part of the package.
    pub(super) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => Self::TooLarge,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::PermissionDenied => {
                Self::Io(error)
            }
            _ => Self::Damaged(error.to_string()),
        }
    }
}
