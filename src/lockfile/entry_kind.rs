//! Kinds of lock file entries. A file contains entries of one kind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::diagnostic::{Code, Remedy};
use crate::provider::{Dialect, Hash, Version};

use super::raw_entry::{PerAttribute, Problems, Text};

/// The entries of a lock file, in the order in which they are written. Lock files may share equal
/// entries.
pub type LocksOf<T> = BTreeMap<<T as EntryKind>::Address, Arc<T>>;

/// An attribute that an entry may have.
#[derive(Clone, Copy, Debug)]
pub struct AttributeRule {
    /// Its name.
    pub name: &'static str,
    /// Every entry must have it.
    pub is_required: bool,
}

/// Reason why two sides exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictReason {
    /// They are at different versions, or have different packages.
    Versions,
    /// Each gave the entry other constraints.
    Constraints,
    /// Each has other hashes of a package that can have only one.
    Hashes,
    /// We removed the entry, they changed it.
    RemovedByUs,
    /// They removed the entry, we changed it.
    RemovedByThem,
    /// Each side removed the hashes that the other kept, so that none would be left and any package
    /// would be accepted.
    NoHashLeft,
}

/// A kind of entry, with its content and its form in the file. There are two: a provider and a
/// module.
pub trait EntryKind: Clone + fmt::Debug + Eq + Send + Sync {
    /// Address in the label of an entry.
    type Address: Clone + fmt::Debug + fmt::Display + Ord + Send + Sync;

    /// The name of such lock files.
    const FILE_NAME: &'static str;
    /// The type of the blocks that are entries.
    const BLOCK: &'static str;
    /// The type of other blocks, which are ignored with a warning.
    const IGNORED_BLOCK: &'static str;
    /// Unknown attributes are kept and only cause a warning. Otherwise they are errors.
    const KEEPS_UNKNOWN_ATTRIBUTES: bool;
    /// Description of the label in messages.
    const LABEL: &'static str;
    /// The attributes but `hashes`, in the order in which they are written. The first is required.
    const ATTRIBUTES: &'static [AttributeRule];
    /// Help for addresses, versions and constraints that are not in canonical form.
    const CANONICAL_HELP: &'static str;
    /// The code of the error about two entries with one address.
    const DUPLICATE: Code;

    /// The values of the attributes; `None` for a missing attribute.
    fn attributes(&self) -> PerAttribute<Cow<'_, str>>;

    /// The packages that are accepted; may be empty.
    fn hashes(&self) -> &BTreeSet<Hash>;

    /// The version, if the entry has one.
    fn version(&self) -> Option<&Version>;

    /// Displayed version, or the package if there is no version.
    fn release(&self) -> Cow<'_, str>;

    /// Whether two entries with the same address are for the same release and may share hashes.
    fn is_same_release(&self, other: &Self) -> bool;

    /// Merges an entry that two sides changed. Both sides are for the same release, and the merged
    /// entry has these hashes.
    ///
    /// # Errors
    /// The sides exclude each other.
    fn merge_same_release(
        base: Option<&Self>,
        ours: &Self,
        theirs: &Self,
        hashes: BTreeSet<Hash>,
    ) -> Result<Self, ConflictReason>;

    /// Name of an entry in messages.
    fn name(address: &Self::Address, dialect: Dialect) -> String;

    /// Name of an entry in messages, by its label, which need not be a valid address.
    fn label_name(label: &str) -> Cow<'_, str>;

    /// The lines that such a file begins with.
    fn header(dialect: Dialect) -> [&'static str; 2];

    /// Whether a comment is a line of such a header.
    fn is_header_line(comment: &str) -> bool {
        let dialects = [Dialect::Tofu, Dialect::Terraform];
        dialects
            .into_iter()
            .any(|dialect| Self::header(dialect).contains(&comment.trim_end()))
    }

    /// Command that writes such a file.
    fn remedy() -> Remedy;

    /// Reads the label of an entry, and reports its defects.
    fn read_address(
        label: &Text<'_>,
        dialect: Dialect,
        problems: &mut Problems,
    ) -> Option<Self::Address>;

    /// Reads the values of an entry, and reports their defects. Missing values were reported
    /// before.
    fn read_values(
        name: &str,
        values: PerAttribute<Text<'_>>,
        hashes: BTreeSet<Hash>,
        problems: &mut Problems,
    ) -> Option<Self>;
}

/// The items that both sides have, and the items that either side added to the base.
pub(super) fn merge_sets<'a, T, S>(base: &'a S, ours: &'a S, theirs: &'a S) -> Vec<&'a T>
where
    T: Eq + std::hash::Hash + 'a,
    S: ?Sized,
    &'a S: IntoIterator<Item = &'a T>,
{
    let in_base: HashSet<&T> = base.into_iter().collect();
    let in_theirs: HashSet<&T> = theirs.into_iter().collect();
    let mut merged = Vec::new();
    for item in ours {
        if in_theirs.contains(item) || !in_base.contains(item) {
            merged.push(item);
        }
    }
    for item in theirs {
        if !in_base.contains(item) {
            merged.push(item);
        }
    }
    merged
}

/// The value of the side that changed it; `None` if both changed it, to different values.
pub(super) fn merge_value<'a, T: Eq>(
    base: Option<&T>,
    ours: &'a T,
    theirs: &'a T,
) -> Option<&'a T> {
    if ours == theirs || base == Some(theirs) {
        return Some(ours);
    }
    (base == Some(ours)).then_some(theirs)
}
