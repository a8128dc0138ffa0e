//! The dependency lock file: parsing with spans, format-preserving edits, canonical text, differences and merges
//! (spec section 3).
//!
//! [`parse`] gives the model together with the places it was read from. [`LockFile::edit`] takes the model that is
//! wanted and gives the bytes of the file with only that changed; [`file`] reads and writes them. Types of the HCL
//! parser stay inside this module.

mod canonical;
mod diff;
mod edit;
pub mod file;
pub mod merge;
mod parse;
mod recognise;
#[cfg(test)]
mod tests;
mod trivia;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::address::ProviderAddress;
use crate::constraint::ConstraintList;
use crate::diagnostic::{Diagnostic, Location, SourceFile};
use crate::dialect::Dialect;
use crate::hash::Hash;
use crate::version::Version;

pub use canonical::{canonical_text, detect_dialect};
pub use diff::{Change, Direction, LockDiff, ProviderDiff, Step, VersionMove, diff};
pub use parse::parse;

/// Name of the lock file, in every root module.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// What a lock file records about one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedProvider {
    /// The selected version.
    pub version: Version,
    /// The configuration's constraints when it was selected; may be empty.
    pub constraints: ConstraintList,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

/// What a lock file records, in the order in which it is written.
pub type Locks = BTreeMap<ProviderAddress, LockedProvider>;

/// A lock file that was read: its bytes, what they say, and where they say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    file: Arc<SourceFile>,
    bytes: Vec<u8>,
    dialect: Dialect,
    locks: Locks,
    entries: Vec<Entry>,
    /// Which entry is a provider's.
    places: BTreeMap<ProviderAddress, usize>,
    /// Every top-level block, in file order.
    blocks: Vec<TopLevelBlock>,
    /// Whether no file exists yet, so that a header has to be written even when nothing is locked.
    is_new: bool,
}

/// One `provider` block, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The provider.
    pub address: ProviderAddress,
    /// What is recorded about it.
    pub provider: LockedProvider,
    /// The block's label, the provider's address.
    pub block: Location,
    /// The value of `version`.
    pub version: Location,
    /// The value of `constraints`, if that is there.
    pub constraints: Option<Location>,
    /// The items of `hashes` in file order; a hash that is written twice is here twice.
    pub hashes: Vec<(Hash, Location)>,
    layout: BlockLayout,
}

/// What [`parse`] found: every problem at once, and the lock file when none of them is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The lock file, unless there is an error.
    pub lock_file: Option<LockFile>,
    /// Errors and warnings, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A top-level block's place, and which entry it is; none for a `module` block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TopLevelBlock {
    span: Range<usize>,
    entry: Option<usize>,
}

/// Where the parts of a `provider` block are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlockLayout {
    span: Range<usize>,
    /// Just behind the last label.
    label_end: usize,
    version: AttributeLayout,
    constraints: Option<AttributeLayout>,
    hashes: Option<AttributeLayout>,
}

/// Where the parts of an attribute are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AttributeLayout {
    key: Range<usize>,
    value: Range<usize>,
}

impl AttributeLayout {
    /// From the key to the end of the value.
    fn span(&self) -> Range<usize> {
        self.key.start..self.value.end
    }
}

impl LockFile {
    /// The lock file of a path where no file is yet. Editing it always gives a file with a header.
    pub fn empty(path: &Path, dialect: Dialect) -> Self {
        Self {
            file: SourceFile::new(path, ""),
            bytes: Vec::new(),
            dialect,
            locks: Locks::new(),
            entries: Vec::new(),
            places: BTreeMap::new(),
            blocks: Vec::new(),
            is_new: true,
        }
    }

    /// What the file records.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The `provider` blocks in file order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The `provider` block of one provider.
    pub fn entry(&self, address: &ProviderAddress) -> Option<&Entry> {
        self.places.get(address).map(|place| &self.entries[*place])
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
