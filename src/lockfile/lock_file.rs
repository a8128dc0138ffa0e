//! A lock file: its text, its entries and their places.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location, Result, SourceFile};
use crate::provider::{Dialect, Hash};
use crate::system::Tree;

use super::entry_kind::{EntryKind, LocksOf};
use super::module::LockedModule;
use super::provider::LockedProvider;
use super::raw_entry::{AttributeLayout, PerAttribute};

/// The size in bytes of the largest lock file that is read: hundreds of times a large one, and
/// small enough that even the worst file of this size takes less than a gigabyte to parse.
pub const SIZE_LIMIT: u64 = 4 * 1024 * 1024;

/// Reads a lock file's bytes; `None` if the file does not exist.
///
/// # Errors
/// It is not a regular file, is larger than [`SIZE_LIMIT`] or cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_in(&Tree::Work, path)
}

/// [`read`] for a lock file in a tree.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_in(tree: &Tree, path: &Path) -> Result<Option<Vec<u8>>> {
    match tree.read(path, SIZE_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Diagnostic::io("read", path, &error).into()),
    }
}

/// The entries of a lock file of providers.
pub type Locks = LocksOf<LockedProvider>;

/// The entries of a lock file of modules, by the path of the calls, such as `network.endpoints`.
pub type ModuleLocks = LocksOf<LockedModule>;

/// A lock file of providers.
pub type LockFile = LockFileOf<LockedProvider>;

/// A lock file of modules.
pub type ModuleLockFile = LockFileOf<LockedModule>;

/// A lock file that was read: its text, its entries and their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFileOf<T: EntryKind> {
    pub(super) file: Arc<SourceFile>,
    /// The byte order mark that the file begins with; empty without one.
    pub(super) byte_order_mark: &'static [u8],
    pub(super) dialect: Dialect,
    pub(super) locks: LocksOf<T>,
    pub(super) entries: Vec<Entry<T>>,
    /// The index of each address's entry.
    pub(super) indexes: BTreeMap<T::Address, usize>,
    /// Every top-level block, in file order.
    pub(super) blocks: Vec<TopLevelBlock>,
    /// `true` if there is no file yet. Its header is written even if nothing is locked.
    pub(super) is_new: bool,
}

/// One entry, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T: EntryKind = LockedProvider> {
    /// The provider, or the path of a module's calls.
    pub address: T::Address,
    /// The recorded values.
    pub locked: Arc<T>,
    /// The block's label, the address.
    pub block: Location,
    /// The values of the attributes that are there.
    pub(super) attributes: PerAttribute<Location>,
    /// The items of `hashes` in file order; a hash that is written twice is here twice.
    pub hashes: Vec<(Hash, Location)>,
    pub(super) layout: BlockLayout,
}

/// The result of [`parse`](super::parse()): all problems, and the lock file if they are warnings
/// only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed<T: EntryKind = LockedProvider> {
    /// The lock file, unless there is an error.
    pub lock_file: Option<LockFileOf<T>>,
    /// Errors and warnings, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A top-level block's place, and the index of its entry; `None` for a block that is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopLevelBlock {
    pub(super) span: Range<usize>,
    pub(super) entry: Option<usize>,
}

/// Positions of the parts of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockLayout {
    pub(super) span: Range<usize>,
    /// Just after the last label.
    pub(super) label_end: usize,
    pub(super) attributes: PerAttribute<AttributeLayout>,
    pub(super) hashes: Option<AttributeLayout>,
    /// Attributes that this version of provlock does not know.
    pub(super) unknown_attributes: Vec<Range<usize>>,
}

/// A line with a comment only.
pub(crate) struct CommentLine<'a, T: EntryKind = LockedProvider> {
    /// The comment, with `#` or `//`.
    pub text: &'a str,
    /// Position of the comment.
    pub location: Location,
    /// The entry directly below, with at most other such lines between.
    pub entry: Option<&'a Entry<T>>,
}

impl<T: EntryKind> LockFileOf<T> {
    /// The lock file of a path without a file. An edit of it always gives a file with a header.
    pub fn empty(path: &Path, dialect: Dialect) -> Self {
        Self {
            file: SourceFile::new(path, ""),
            byte_order_mark: &[],
            dialect,
            locks: LocksOf::<T>::new(),
            entries: Vec::new(),
            indexes: BTreeMap::new(),
            blocks: Vec::new(),
            is_new: true,
        }
    }

    /// The entries by address.
    pub fn locks(&self) -> &LocksOf<T> {
        &self.locks
    }

    /// The entries in file order.
    pub fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    /// The entry of one address.
    pub fn entry(&self, address: &T::Address) -> Option<&Entry<T>> {
        self.indexes.get(address).map(|index| &self.entries[*index])
    }

    /// The bytes that were read, with a byte order mark if there was one.
    pub fn bytes(&self) -> Vec<u8> {
        [self.byte_order_mark, self.file.text.as_bytes()].concat()
    }

    /// The text that locations refer to, which is without a byte order mark.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The lines with a comment only, in file order, each with the entry that it belongs to.
    pub(crate) fn comment_lines(&self) -> Vec<CommentLine<'_, T>> {
        let mut comments: Vec<CommentLine<'_, T>> = Vec::new();
        // Number of comments whose entry is known, or that belong to none.
        let mut settled = 0;
        let mut start = 0;
        for line in self.file.text.split_inclusive('\n') {
            let text = line.trim();
            let first = start + line.len() - line.trim_start().len();
            if text.starts_with('#') || text.starts_with("//") {
                let location = Location::new(&self.file, first..first + text.len());
                comments.push(CommentLine {
                    text,
                    location,
                    entry: None,
                });
            } else {
                // Comments belong to the entry that starts on the next line. A blank line between
                // them ends this.
                if !text.is_empty()
                    && let Some(entry) = self.entry_at(first)
                    && entry.layout.span.start == first
                {
                    for comment in &mut comments[settled..] {
                        comment.entry = Some(entry);
                    }
                }
                settled = comments.len();
            }
            start += line.len();
        }
        comments
    }

    /// The text of the entry that a place in it is in.
    pub(crate) fn text_at(&self, offset: usize) -> Option<&str> {
        self.entry_at(offset)
            .map(|entry| &self.file.text[entry.layout.span.clone()])
    }

    /// The entry that a place in the text is in.
    pub(crate) fn entry_at(&self, offset: usize) -> Option<&Entry<T>> {
        let index = self
            .entries
            .partition_point(|entry| entry.layout.span.start <= offset);
        let entry = self.entries.get(index.checked_sub(1)?)?;
        entry.layout.span.contains(&offset).then_some(entry)
    }
}

impl<T: EntryKind> Entry<T> {
    /// The value of an attribute, if that is there.
    fn place(&self, name: &str) -> Option<&Location> {
        let index = T::ATTRIBUTES.iter().position(|rule| rule.name == name)?;
        self.attributes[index].as_ref()
    }

    /// The value of `version`, or the block's label if that is not there.
    pub fn version(&self) -> &Location {
        self.place("version").unwrap_or(&self.block)
    }

    /// The value of `constraints`, if that is there.
    pub fn constraints(&self) -> Option<&Location> {
        self.place("constraints")
    }
}

impl Entry<LockedModule> {
    /// The value of `source`.
    pub fn source(&self) -> &Location {
        self.place("source").unwrap_or(&self.block)
    }

    /// The value of `package`.
    pub fn package(&self) -> &Location {
        self.place("package").unwrap_or(&self.block)
    }
}
