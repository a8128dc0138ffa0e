//! Changes that commands make to the locks of a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use provlock::lockfile::LocksOf;
use provlock::provider::Hash;

use super::generated::{self, Sample};
use super::rng::Rng;

/// One change. Numbers choose an entry or hash by its place, counted round.
#[derive(Debug)]
pub enum Change<T: Sample> {
    Add(T::Address, T),
    Remove(usize),
    RemoveAll,
    /// Another value of one attribute, chosen by a number.
    Vary(usize, u64),
    AddHash(usize, Hash),
    RemoveHash(usize, usize),
    ReplaceHashes(usize, BTreeSet<Hash>),
    /// Other attributes and hashes for every entry.
    ReplaceAll(T),
}

pub fn apply<T: Sample>(mut locks: LocksOf<T>, change: &Change<T>) -> LocksOf<T> {
    use Change::*;
    match change {
        Add(address, entry) => _ = locks.insert(address.clone(), entry.clone().into()),
        RemoveAll => locks.clear(),
        Remove(place) => {
            if let Some(address) = address_at::<T>(&locks, *place) {
                locks.remove(&address);
            }
        }
        ReplaceAll(entry) => locks
            .values_mut()
            .for_each(|locked| *locked = entry.clone().into()),
        Vary(place, seed) => {
            edit::<T>(&mut locks, *place, |entry| entry.vary(&mut Rng::new(*seed)));
        }
        AddHash(place, hash) => edit::<T>(&mut locks, *place, |entry| {
            _ = entry.hashes_mut().insert(hash.clone());
        }),
        ReplaceHashes(place, hashes) => edit::<T>(&mut locks, *place, |entry| {
            entry.hashes_mut().clone_from(hashes);
        }),
        RemoveHash(place, index) => edit::<T>(&mut locks, *place, |entry| {
            let chosen = entry
                .hashes()
                .iter()
                .nth(index % entry.hashes().len().max(1))
                .cloned();
            chosen.map(|hash| entry.hashes_mut().remove(&hash));
        }),
    }
    locks
}

fn address_at<T: Sample>(locks: &LocksOf<T>, place: usize) -> Option<T::Address> {
    locks.keys().nth(place % locks.len().max(1)).cloned()
}

fn edit<T: Sample>(locks: &mut LocksOf<T>, place: usize, change: impl FnOnce(&mut T)) {
    let address = address_at::<T>(locks, place);
    address
        .and_then(|address| locks.get_mut(&address))
        .map(Arc::make_mut)
        .map(change);
}

pub fn random<T: Sample>(rng: &mut Rng, count: usize) -> Vec<Change<T>> {
    (0..count).map(|_| random_change(rng)).collect()
}

fn random_change<T: Sample>(rng: &mut Rng) -> Change<T> {
    let place = rng.below(20);
    match rng.below(16) {
        0..=2 => Change::Add(T::address(rng), T::entry(rng)),
        3..=4 => Change::Remove(place),
        5..=8 => Change::Vary(place, rng.next()),
        9..=10 => Change::AddHash(place, generated::hash(rng)),
        11..=12 => Change::RemoveHash(place, rng.below(30)),
        13 => Change::ReplaceHashes(place, BTreeSet::new()),
        14 => Change::ReplaceHashes(place, generated::hashes(rng)),
        _ => Change::ReplaceAll(T::entry(rng)),
    }
}

/// Changes that every file is put through, each on its own.
pub fn always<T: Sample>(rng: &mut Rng, entries: usize) -> Vec<Change<T>> {
    let mut changes = vec![Change::RemoveAll, Change::ReplaceAll(T::entry(rng))];
    changes.extend(T::places().map(|address| Change::Add(address, T::entry(rng))));
    for place in 0..entries {
        changes.extend([
            Change::Remove(place),
            Change::Vary(place, rng.next()),
            Change::Vary(place, rng.next()),
            Change::Vary(place, rng.next()),
            Change::AddHash(place, generated::hash(rng)),
            Change::RemoveHash(place, rng.below(30)),
            Change::ReplaceHashes(place, BTreeSet::new()),
            Change::ReplaceHashes(place, generated::hashes(rng)),
        ]);
    }
    changes
}
