//! A lock file: its text, its entries and their places.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location, Result, SourceFile};
use crate::provider::{ConstraintList, Dialect, Hash, ProviderAddress, Version};
use crate::system::files;

use super::raw_entry::AttributeLayout;

/// Name of the lock file, in every root module.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// The size in bytes of the largest lock file that is read: hundreds of times a large one, and small enough that even
/// the worst file of this size takes less than a gigabyte to parse.
pub const SIZE_LIMIT: u64 = 4 * 1024 * 1024;

/// Reads a lock file's bytes; `None` if the file does not exist.
///
/// # Errors
/// It is not a regular file, is larger than [`SIZE_LIMIT`] or cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match files::read(path, SIZE_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Diagnostic::io("read", path, &error).into()),
    }
}

/// The entry of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedProvider {
    /// The selected version.
    pub version: Version,
    /// The configuration's constraints when it was selected; may be empty.
    pub constraints: ConstraintList,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

/// The entries of a lock file, in the order in which they are written. Lock files may share equal entries.
pub type Locks = BTreeMap<ProviderAddress, Arc<LockedProvider>>;

/// A lock file that was read: its bytes, its entries and their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    pub(super) file: Arc<SourceFile>,
    pub(super) bytes: Vec<u8>,
    pub(super) dialect: Dialect,
    pub(super) locks: Locks,
    pub(super) entries: Vec<Entry>,
    /// The index of each provider's entry.
    pub(super) indexes: BTreeMap<ProviderAddress, usize>,
    /// Every top-level block, in file order.
    pub(super) blocks: Vec<TopLevelBlock>,
    /// Whether the file does not exist yet, so that a header is written even if nothing is locked.
    pub(super) is_new: bool,
}

/// One `provider` block, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version, constraints and hashes.
    pub provider: Arc<LockedProvider>,
    /// The block's label, the provider's address.
    pub block: Location,
    /// The value of `version`.
    pub version: Location,
    /// The value of `constraints`, if that is there.
    pub constraints: Option<Location>,
    /// The items of `hashes` in file order; a hash that is written twice is here twice.
    pub hashes: Vec<(Hash, Location)>,
    pub(super) layout: BlockLayout,
}

/// The result of [`parse`](super::parse()): all problems, and the lock file if they are warnings only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The lock file, unless there is an error.
    pub lock_file: Option<LockFile>,
    /// Errors and warnings, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A top-level block's place, and the index of its entry; `None` for a `module` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopLevelBlock {
    pub(super) span: Range<usize>,
    pub(super) entry: Option<usize>,
}

/// Where the parts of a `provider` block are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockLayout {
    pub(super) span: Range<usize>,
    /// Just after the last label.
    pub(super) label_end: usize,
    pub(super) version: AttributeLayout,
    pub(super) constraints: Option<AttributeLayout>,
    pub(super) hashes: Option<AttributeLayout>,
}

impl LockFile {
    /// The lock file of a path without a file. An edit of it always gives a file with a header.
    pub fn empty(path: &Path, dialect: Dialect) -> Self {
        Self {
            file: SourceFile::new(path, ""),
            bytes: Vec::new(),
            dialect,
            locks: Locks::new(),
            entries: Vec::new(),
            indexes: BTreeMap::new(),
            blocks: Vec::new(),
            is_new: true,
        }
    }

    /// The providers that the file locks.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The `provider` blocks in file order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The `provider` block of one provider.
    pub fn entry(&self, address: &ProviderAddress) -> Option<&Entry> {
        self.indexes.get(address).map(|index| &self.entries[*index])
    }

    /// The bytes that were read, with a byte order mark if there was one.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text that locations refer to, which is without a byte order mark.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }
}
