//! Merging lock files.

use std::collections::BTreeSet;
use std::path::Path;

use provlock::lockfile::merge::{
    MarkerStyle, Merged, merge as merge_locks, split_conflicts, with_markers,
};
use provlock::lockfile::{LockFileOf, LockedModule, LockedProvider, LocksOf};

use crate::lockfile::generated::Sample;
use crate::lockfile::properties::read;

/// Splits a lock file of either kind with conflict markers, and merges its sides. If only one side
/// changed, the result is that side; both orders of the sides give the same; no hash is invented;
/// written conflicts are found again.
pub fn merge(data: &[u8]) -> bool {
    let [of_providers, of_modules] = [check::<LockedProvider>(data), check::<LockedModule>(data)];
    of_providers || of_modules
}

fn check<T: Sample>(data: &[u8]) -> bool {
    let path = Path::new(T::FILE_NAME);
    let Ok(Some(sides)) = split_conflicts(path, data) else {
        return false;
    };
    let [Ok(base), Ok(ours), Ok(theirs)] =
        [&sides.base, &sides.ours, &sides.theirs].map(|side| read::<T>(path, side))
    else {
        return false;
    };
    for locks in [ours.locks(), theirs.locks()] {
        let unchanged = Merged::<T> {
            locks: locks.clone(),
            conflicts: Vec::new(),
        };
        assert_eq!(merge_locks::<T>(locks, locks, locks), unchanged);
        assert_eq!(merge_locks::<T>(base.locks(), locks, locks), unchanged);
        assert_eq!(
            merge_locks::<T>(base.locks(), locks, base.locks()),
            unchanged
        );
        assert_eq!(
            merge_locks::<T>(base.locks(), base.locks(), locks),
            unchanged
        );
    }
    let merged = merge_locks::<T>(base.locks(), ours.locks(), theirs.locks());
    let swapped = merge_locks::<T>(base.locks(), theirs.locks(), ours.locks());
    assert_eq!(conflicts(&merged), conflicts(&swapped));
    assert!(merged.locks.keys().eq(swapped.locks.keys()));
    for (address, entry) in &merged.locks {
        assert_eq!(entry.hashes(), swapped.locks[address].hashes());
        let known: BTreeSet<_> = [&ours, &theirs]
            .iter()
            .filter_map(|side| side.locks().get(address))
            .flat_map(|side| side.hashes())
            .collect();
        assert!(
            entry.hashes().iter().all(|hash| known.contains(hash)),
            "{address}"
        );
    }
    check_markers(&ours, &theirs, &merged);
    true
}

fn conflicts<T: Sample>(merged: &Merged<T>) -> BTreeSet<&T::Address> {
    merged
        .conflicts
        .iter()
        .map(|conflict| &conflict.address)
        .collect()
}

fn check_markers<T: Sample>(ours: &LockFileOf<T>, theirs: &LockFileOf<T>, merged: &Merged<T>) {
    let path = Path::new(T::FILE_NAME);
    let Ok(marked) = with_markers(ours, theirs, merged, &MarkerStyle::default()) else {
        return;
    };
    let split = split_conflicts(path, &marked).expect("our markers belong together");
    let Some(sides) = split else {
        assert!(merged.conflicts.is_empty());
        assert_eq!(
            read::<T>(path, &marked).map(|file| file.locks().clone()),
            Ok(merged.locks.clone())
        );
        return;
    };
    let shown = String::from_utf8_lossy(&marked);
    for (side, is_ours) in [(&sides.ours, true), (&sides.theirs, false)] {
        let mut expected: LocksOf<T> = merged.locks.clone();
        expected.extend(merged.conflicts.iter().filter_map(|conflict| {
            let entry = if is_ours {
                &conflict.ours
            } else {
                &conflict.theirs
            };
            Some((conflict.address.clone(), entry.clone()?))
        }));
        assert_eq!(
            read::<T>(path, side).map(|file| file.locks().clone()),
            Ok(expected),
            "{shown}"
        );
    }
}
