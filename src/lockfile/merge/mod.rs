//! Three-way merge of lock files, entry by entry, and the conflict markers that git leaves in them.

mod markers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic};
use crate::provider::{ConstraintList, Dialect, ProviderAddress};

use crate::lockfile::{LockedProvider, Locks};

pub use super::marker::MARKER_SIZE;
pub use markers::{MarkerStyle, Sides, split_conflicts, with_markers};

/// The result of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The merged entries. Providers in `conflicts` have no entry here, so that locking them again starts from nothing.
    pub locks: Locks,
    /// The providers that the user has to decide on, in address order.
    pub conflicts: Vec<Conflict>,
}

/// A provider that the two sides changed in ways that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The provider.
    pub address: ProviderAddress,
    /// Why the sides exclude each other.
    pub reason: ConflictReason,
    /// The common ancestor's entry.
    pub base: Option<Arc<LockedProvider>>,
    /// Our entry.
    pub ours: Option<Arc<LockedProvider>>,
    /// Their entry.
    pub theirs: Option<Arc<LockedProvider>>,
}

/// Why two sides exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictReason {
    /// They are at different versions.
    Versions,
    /// We removed the entry, they changed it.
    RemovedByUs,
    /// They removed the entry, we changed it.
    RemovedByThem,
    /// Each removed what the other kept, so that no hash would be left and any package would be accepted.
    NoHashLeft,
}

/// Merges two descendants of `base`. Without a common ancestor, `base` is empty.
///
/// An entry that only one side changed is taken from that side. Where both have the same version, their hashes and
/// constraint terms are united, except terms and hashes of the base that one side removed. Everything else is a
/// conflict. That includes a side that moved to another version while the other side only added hashes, which would be
/// lost.
pub fn merge(base: &Locks, ours: &Locks, theirs: &Locks) -> Merged {
    let addresses: BTreeSet<_> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let mut merged = Merged::default();
    for address in addresses {
        let (base, ours, theirs) = (base.get(address), ours.get(address), theirs.get(address));
        match merge_entry(base, ours, theirs) {
            Ok(entry) => merged.locks.extend(entry.map(|entry| (address.clone(), entry))),
            Err(reason) => merged.conflicts.push(Conflict {
                address: address.clone(),
                reason,
                base: base.cloned(),
                ours: ours.cloned(),
                theirs: theirs.cloned(),
            }),
        }
    }
    merged
}

fn merge_entry(
    base: Option<&Arc<LockedProvider>>,
    ours: Option<&Arc<LockedProvider>>,
    theirs: Option<&Arc<LockedProvider>>,
) -> Result<Option<Arc<LockedProvider>>, ConflictReason> {
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
    if ours.version != theirs.version {
        return Err(ConflictReason::Versions);
    }
    let (version, constraints, hashes) = (ours.version.clone(), ConstraintList::default(), BTreeSet::new());
    let empty = LockedProvider { version, constraints, hashes };
    let before = base.map_or(&empty, Arc::as_ref);
    // Hashes belong to one version.
    let same_release = if before.version == ours.version { before } else { &empty };
    let hashes: BTreeSet<_> =
        merge_sets(&same_release.hashes, &ours.hashes, &theirs.hashes).into_iter().cloned().collect();
    if hashes.is_empty() && !ours.hashes.is_empty() && !theirs.hashes.is_empty() {
        return Err(ConflictReason::NoHashLeft);
    }
    let terms = merge_sets(before.constraints.terms(), ours.constraints.terms(), theirs.constraints.terms());
    let constraints: ConstraintList = terms.into_iter().cloned().collect();
    Ok(Some(LockedProvider { version: ours.version.clone(), constraints, hashes }.into()))
}

/// The items that both sides have, and the items that either side added to the base.
fn merge_sets<'a, T, S>(base: &'a S, ours: &'a S, theirs: &'a S) -> Vec<&'a T>
where
    T: Eq + std::hash::Hash + 'a,
    S: ?Sized,
    &'a S: IntoIterator<Item = &'a T>,
{
    let set = |items: &'a S| items.into_iter().collect::<HashSet<&T>>();
    let (before, other) = (set(base), set(theirs));
    let kept = ours.into_iter().filter(|item| other.contains(item) || !before.contains(item));
    let added = theirs.into_iter().filter(|item| !before.contains(item));
    kept.chain(added).collect()
}

impl Conflict {
    /// The conflict as a diagnostic, which names the provider by the rules of `dialect`.
    pub fn diagnostic(&self, dialect: Dialect) -> Diagnostic {
        let name = self.address.short(dialect);
        let version = |entry: &Option<Arc<LockedProvider>>| match entry {
            Some(entry) => entry.version.to_string(),
            None => "not locked".to_owned(),
        };
        let message = match self.reason {
            ConflictReason::Versions => {
                format!("conflict: ours has {name} {}, theirs {}", version(&self.ours), version(&self.theirs))
            }
            ConflictReason::RemovedByUs => {
                format!("conflict: ours removed {name}, theirs changed it (now {})", version(&self.theirs))
            }
            ConflictReason::RemovedByThem => {
                format!("conflict: theirs removed {name}, ours changed it (now {})", version(&self.ours))
            }
            ConflictReason::NoHashLeft => {
                format!("conflict: no hash of {name} {} is left that both sides kept", version(&self.ours))
            }
        };
        let diagnostic = Diagnostic::error(Code::MergeConflict, message);
        match &self.base {
            Some(base) => diagnostic.note(format!("locked at {} before", base.version)),
            None => diagnostic,
        }
    }
}
