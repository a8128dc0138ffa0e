//! Merging lock files.

use std::collections::BTreeSet;
use std::path::Path;

use provlock::lockfile::merge::{MarkerStyle, Merged, merge as merge_locks, split_conflicts, with_markers};
use provlock::lockfile::{LockFile, Locks};
use provlock::provider::ProviderAddress;

use crate::lockfile::properties::read;

/// Takes a lock file with conflict markers apart, and merges its sides. A side that nobody else changed stays as it is;
/// both orders of the sides give the same; no hash is invented; conflicts that are written as markers are found there
/// again.
pub fn merge(data: &[u8]) -> bool {
    let path = Path::new(".terraform.lock.hcl");
    let Ok(Some(sides)) = split_conflicts(path, data) else { return false };
    let [Ok(base), Ok(ours), Ok(theirs)] = [&sides.base, &sides.ours, &sides.theirs].map(|side| read(path, side))
    else {
        return false;
    };
    for locks in [ours.locks(), theirs.locks()] {
        let unchanged = Merged { locks: locks.clone(), conflicts: Vec::new() };
        assert_eq!(merge_locks(locks, locks, locks), unchanged);
        assert_eq!(merge_locks(base.locks(), locks, locks), unchanged);
        assert_eq!(merge_locks(base.locks(), locks, base.locks()), unchanged);
        assert_eq!(merge_locks(base.locks(), base.locks(), locks), unchanged);
    }
    let merged = merge_locks(base.locks(), ours.locks(), theirs.locks());
    let swapped = merge_locks(base.locks(), theirs.locks(), ours.locks());
    assert_eq!(conflicts(&merged), conflicts(&swapped));
    assert!(merged.locks.keys().eq(swapped.locks.keys()));
    for (address, provider) in &merged.locks {
        assert_eq!(provider.hashes, swapped.locks[address].hashes);
        let known: BTreeSet<_> = [&ours, &theirs]
            .iter()
            .filter_map(|side| side.locks().get(address))
            .flat_map(|side| &side.hashes)
            .collect();
        assert!(provider.hashes.iter().all(|hash| known.contains(hash)), "{address}");
    }
    check_markers(&ours, &theirs, &merged);
    true
}

fn conflicts(merged: &Merged) -> BTreeSet<&ProviderAddress> {
    merged.conflicts.iter().map(|conflict| &conflict.address).collect()
}

fn check_markers(ours: &LockFile, theirs: &LockFile, merged: &Merged) {
    let path = Path::new(".terraform.lock.hcl");
    let Ok(marked) = with_markers(ours, theirs, merged, &MarkerStyle::default()) else { return };
    let split = split_conflicts(path, &marked).expect("our markers belong together");
    let Some(sides) = split else {
        assert!(merged.conflicts.is_empty());
        assert_eq!(read(path, &marked).map(|file| file.locks().clone()), Ok(merged.locks.clone()));
        return;
    };
    let shown = String::from_utf8_lossy(&marked);
    for (side, is_ours) in [(&sides.ours, true), (&sides.theirs, false)] {
        let mut expected: Locks = merged.locks.clone();
        expected.extend(merged.conflicts.iter().filter_map(|conflict| {
            let entry = if is_ours { &conflict.ours } else { &conflict.theirs };
            Some((conflict.address.clone(), entry.clone()?))
        }));
        assert_eq!(read(path, side).map(|file| file.locks().clone()), Ok(expected), "{shown}");
    }
}
