//! The difference between two sets of locks.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::provider::{Hash, HashScheme, Version};

use super::entry_kind::{EntryKind, LocksOf};
use super::provider::LockedProvider;

/// Difference between two sets of locks: every entry of either, in address order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockDiff<T: EntryKind = LockedProvider> {
    /// One for each address, unchanged ones included.
    pub entries: Vec<EntryDiff<T>>,
}

/// One provider's entries before and after.
pub type ProviderDiff = EntryDiff<LockedProvider>;

/// The entries of one address before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDiff<T: EntryKind> {
    /// The provider, or the path of a module's calls.
    pub address: T::Address,
    /// Kind of change.
    pub change: EntryChange,
    /// The entry before.
    pub old: Option<Arc<T>>,
    /// The entry after.
    pub new: Option<Arc<T>>,
}

/// Kind of change of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryChange {
    /// The address was not locked before.
    Added,
    /// The address is no longer locked.
    Removed,
    /// Attributes or hashes differ.
    Changed,
    /// Nothing differs.
    Unchanged,
}

/// A change of version. As text `minor`, or `major downgrade`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, derive_more::Display,
)]
#[display("{step}{}", if *direction == Direction::Downgrade { " downgrade" } else { "" })]
pub struct VersionMove {
    /// Upgrade or downgrade.
    pub direction: Direction,
    /// The first number that differs.
    pub step: Step,
}

impl VersionMove {
    /// Direction and size of the step from one version to another; `None` if they are equal.
    pub fn between(old: &Version, new: &Version) -> Option<Self> {
        let direction = match new.cmp(old) {
            Ordering::Equal => return None,
            Ordering::Greater => Direction::Upgrade,
            Ordering::Less => Direction::Downgrade,
        };
        Some(Self {
            direction,
            step: step(old, new),
        })
    }
}

/// Direction of a change of version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To a newer version.
    Upgrade,
    /// To an older version.
    Downgrade,
}

/// Size of a change of version.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, derive_more::Display,
)]
#[serde(rename_all = "lowercase")]
#[display(rename_all = "lowercase")]
pub enum Step {
    /// The first number differs.
    Major,
    /// The second number is the first that differs.
    Minor,
    /// Only the third number, the prerelease or the build metadata differ.
    Patch,
}

/// Compares two sets of locks.
pub fn diff<T: EntryKind>(old: &LocksOf<T>, new: &LocksOf<T>) -> LockDiff<T> {
    let addresses: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut entries = Vec::with_capacity(addresses.len());
    for address in addresses {
        entries.push(EntryDiff::new(address, old.get(address), new.get(address)));
    }
    LockDiff { entries }
}

impl<T: EntryKind> LockDiff<T> {
    /// The entries that differ.
    pub fn changes(&self) -> impl Iterator<Item = &EntryDiff<T>> {
        self.entries
            .iter()
            .filter(|entry| entry.change != EntryChange::Unchanged)
    }
}

impl<T: EntryKind> EntryDiff<T> {
    fn new(address: &T::Address, old: Option<&Arc<T>>, new: Option<&Arc<T>>) -> Self {
        let change = match (old, new) {
            (None, _) => EntryChange::Added,
            (_, None) => EntryChange::Removed,
            (old, new) if old == new => EntryChange::Unchanged,
            _ => EntryChange::Changed,
        };
        Self {
            address: address.clone(),
            change,
            old: old.cloned(),
            new: new.cloned(),
        }
    }

    /// The hashes that only the new entry has.
    pub fn hashes_added(&self) -> BTreeSet<&Hash> {
        only_in(self.new.as_deref(), self.old.as_deref())
    }

    /// The hashes that only the old entry has.
    pub fn hashes_removed(&self) -> BTreeSet<&Hash> {
        only_in(self.old.as_deref(), self.new.as_deref())
    }

    /// Change of the version; `None` if it is the same or an entry has none.
    pub fn version_move(&self) -> Option<VersionMove> {
        VersionMove::between(self.old.as_ref()?.version()?, self.new.as_ref()?.version()?)
    }

    /// `true` if the release is the same but none of its `h1:` and `zh:` hashes, although both
    /// entries have some: the release was replaced after it was locked, or the file was tampered
    /// with.
    pub fn hashes_replaced(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old, &self.new) else {
            return false;
        };
        let before = known_hashes(&**old);
        let after = known_hashes(&**new);
        old.is_same_release(new)
            && !before.is_empty()
            && !after.is_empty()
            && before.is_disjoint(&after)
    }

    /// Number of `zh:` hashes that were replaced although the release is the same; `None` if there
    /// are none.
    ///
    /// A release has one list of `zh:` hashes, so none of them may be replaced. An `h1:` may: each
    /// platform has its own, and locking again on a different platform records a different one.
    pub fn zh_replaced(&self) -> Option<usize> {
        let [removed, added] = self.zh_moved()?;
        (removed > 0 && added > 0).then_some(removed)
    }

    /// Number of `zh:` hashes that were added although the release is the same and no `zh:` hash
    /// was removed; `None` if there are none.
    pub(crate) fn zh_added(&self) -> Option<usize> {
        let [removed, added] = self.zh_moved()?;
        let had_some = count_zh(self.old.as_ref()?.hashes()) > 0;
        (had_some && removed == 0 && added > 0).then_some(added)
    }

    /// Whether both entries have `zh:` hashes, but not the same ones, although the release is the
    /// same.
    pub fn zh_differ(&self) -> bool {
        let sides = [&self.old, &self.new].into_iter().flatten();
        let have_zh = sides.filter(|entry| count_zh(entry.hashes()) > 0).count() == 2;
        have_zh && self.zh_moved().is_some_and(|numbers| numbers != [0, 0])
    }

    /// Numbers of removed and added `zh:` hashes of the same release.
    fn zh_moved(&self) -> Option<[usize; 2]> {
        let is_same_release = self.old.as_ref()?.is_same_release(self.new.as_ref()?);
        is_same_release.then(|| {
            [
                count_zh(self.hashes_removed()),
                count_zh(self.hashes_added()),
            ]
        })
    }
}

fn count_zh<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> usize {
    hashes
        .into_iter()
        .filter(|hash| hash.scheme() == HashScheme::Zh)
        .count()
}

fn only_in<'a, T: EntryKind>(entry: Option<&'a T>, other: Option<&T>) -> BTreeSet<&'a Hash> {
    let Some(entry) = entry else {
        return BTreeSet::new();
    };
    let mut hashes: BTreeSet<_> = entry.hashes().iter().collect();
    if let Some(other) = other {
        hashes.retain(|hash| !other.hashes().contains(*hash));
    }
    hashes
}

fn known_hashes<T: EntryKind>(entry: &T) -> BTreeSet<&Hash> {
    entry
        .hashes()
        .iter()
        .filter(|hash| hash.is_known())
        .collect()
}

fn step(old: &Version, new: &Version) -> Step {
    if old.major != new.major {
        Step::Major
    } else if old.minor != new.minor {
        Step::Minor
    } else {
        Step::Patch
    }
}
