//! Three-way merge of lock files, entry by entry, and the conflict markers that git leaves in them.

mod markers;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic};
use crate::lockfile::entry_kind::{EntryKind, LocksOf, merge_sets};
use crate::lockfile::provider::LockedProvider;
use crate::provider::Dialect;

pub use crate::lockfile::conflicts::{
    MARKER_SIZE, MarkerStyle, Sides, TAKE_ONE_SIDE, split_conflicts,
};
pub use crate::lockfile::entry_kind::ConflictReason;
pub use markers::with_markers;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged<T: EntryKind = LockedProvider> {
    /// The merged entries, without entries in `conflicts`, so that locking these again starts from
    /// nothing.
    pub locks: LocksOf<T>,
    /// The entries that the user has to decide on, in address order.
    pub conflicts: Vec<Conflict<T>>,
}

/// An entry that the two sides changed in ways that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict<T: EntryKind = LockedProvider> {
    /// The provider, or the path of a module's calls.
    pub address: T::Address,
    /// Reason why the sides exclude each other.
    pub reason: ConflictReason,
    /// The common ancestor's entry.
    pub base: Option<Arc<T>>,
    /// Our entry.
    pub ours: Option<Arc<T>>,
    /// Their entry.
    pub theirs: Option<Arc<T>>,
}

/// Merges two descendants of `base`. Without a common ancestor, `base` is empty.
///
/// An entry that only one side changed is taken from that side. Where both have the same version,
/// their hashes and, of providers, constraint terms are united, except terms and hashes of the base
/// that one side removed. Everything else is a conflict. That includes a side that moved to another
/// version while the other side only added hashes, which would be lost.
pub fn merge<T: EntryKind>(base: &LocksOf<T>, ours: &LocksOf<T>, theirs: &LocksOf<T>) -> Merged<T> {
    let mut addresses: BTreeSet<_> = base.keys().collect();
    addresses.extend(ours.keys());
    addresses.extend(theirs.keys());

    let mut merged = Merged {
        locks: LocksOf::<T>::new(),
        conflicts: Vec::new(),
    };
    for address in addresses {
        let base_entry = base.get(address);
        let our_entry = ours.get(address);
        let their_entry = theirs.get(address);
        match merge_entry(base_entry, our_entry, their_entry) {
            Ok(Some(entry)) => {
                merged.locks.insert(address.clone(), entry);
            }
            // It was removed.
            Ok(None) => {}
            Err(reason) => merged.conflicts.push(Conflict {
                address: address.clone(),
                reason,
                base: base_entry.cloned(),
                ours: our_entry.cloned(),
                theirs: their_entry.cloned(),
            }),
        }
    }
    merged
}

fn shown_version<T: EntryKind>(entry: Option<&T>) -> String {
    match entry {
        Some(entry) => entry.release().into_owned(),
        None => "not locked".to_owned(),
    }
}

/// Merges an entry of three versions of a file; `None` is an entry that a version does not have.
///
/// # Errors
/// Both sides changed it in ways that exclude each other.
fn merge_entry<T: EntryKind>(
    base: Option<&Arc<T>>,
    ours: Option<&Arc<T>>,
    theirs: Option<&Arc<T>>,
) -> Result<Option<Arc<T>>, ConflictReason> {
    // Only one side changed the entry, or both made the same change.
    if ours == theirs || theirs == base {
        return Ok(ours.cloned());
    }
    if ours == base {
        return Ok(theirs.cloned());
    }
    let (ours, theirs) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        (None, _) => return Err(ConflictReason::RemovedByUs),
        (_, None) => return Err(ConflictReason::RemovedByThem),
    };
    // Hashes of one version say nothing about the package of a different one.
    if !ours.is_same_release(theirs) {
        return Err(ConflictReason::Versions);
    }
    // Hashes belong to one release.
    let mut base_hashes = &BTreeSet::new();
    if let Some(base) = base
        && base.is_same_release(ours)
    {
        base_hashes = base.hashes();
    }
    let hashes: BTreeSet<_> = merge_sets(base_hashes, ours.hashes(), theirs.hashes())
        .into_iter()
        .cloned()
        .collect();
    // Each side removed the hashes that the other kept. Without any hash, `init` would accept every
    // package.
    if hashes.is_empty() && !ours.hashes().is_empty() && !theirs.hashes().is_empty() {
        return Err(ConflictReason::NoHashLeft);
    }
    let merged = T::merge_same_release(base.map(Arc::as_ref), ours, theirs, hashes)?;
    Ok(Some(merged.into()))
}

impl<T: EntryKind> Conflict<T> {
    /// The conflict as a diagnostic, which names a provider by the rules of `dialect`.
    pub fn diagnostic(&self, dialect: Dialect) -> Diagnostic {
        let name = T::name(&self.address, dialect);
        let our_version = shown_version(self.ours.as_deref());
        let their_version = shown_version(self.theirs.as_deref());
        let message = match self.reason {
            ConflictReason::Versions => {
                format!("conflict: ours has {name} {our_version}, theirs {their_version}")
            }
            ConflictReason::Constraints => {
                format!("conflict: each side gave {name} other constraints")
            }
            ConflictReason::Hashes => {
                format!("conflict: each side has other hashes of the package of {name}")
            }
            ConflictReason::RemovedByUs => {
                format!("conflict: ours removed {name}, theirs changed it (now {their_version})")
            }
            ConflictReason::RemovedByThem => {
                format!("conflict: theirs removed {name}, ours changed it (now {our_version})")
            }
            ConflictReason::NoHashLeft => {
                format!("conflict: no hash of {name} {our_version} is left that both sides kept")
            }
        };
        let diagnostic = Diagnostic::error(Code::MergeConflict, message);
        match &self.base {
            Some(base) => diagnostic.note(format!("locked at {} before", base.release())),
            None => diagnostic,
        }
    }
}
