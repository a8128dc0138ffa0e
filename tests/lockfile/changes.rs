//! What a command may do to the locks of a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use provlock::lockfile::{LockedProvider, Locks};
use provlock::provider::{ConstraintList, Hash, ProviderAddress, Version};

use super::generated;
use super::rng::Rng;

/// One change. Numbers choose a provider or hash by its place, counted round.
#[derive(Debug)]
pub enum Change {
    Add(ProviderAddress, LockedProvider),
    Remove(usize),
    RemoveAll,
    Version(usize, Version),
    Constraints(usize, ConstraintList),
    AddHash(usize, Hash),
    RemoveHash(usize, usize),
    ReplaceHashes(usize, BTreeSet<Hash>),
    /// A new version with new hashes for every provider.
    UpgradeAll(Version, BTreeSet<Hash>),
}

pub fn apply(mut locks: Locks, change: &Change) -> Locks {
    use Change::*;
    match change {
        Add(address, provider) => _ = locks.insert(address.clone(), provider.clone().into()),
        RemoveAll => locks.clear(),
        Remove(place) => {
            if let Some(address) = address_at(&locks, *place) {
                locks.remove(&address);
            }
        }
        UpgradeAll(version, hashes) => {
            for provider in locks.values_mut().map(Arc::make_mut) {
                (provider.version, provider.hashes) = (version.clone(), hashes.clone());
            }
        }
        Version(place, version) => edit(&mut locks, *place, |p| p.version = version.clone()),
        Constraints(place, list) => edit(&mut locks, *place, |p| p.constraints = list.clone()),
        AddHash(place, hash) => edit(&mut locks, *place, |p| _ = p.hashes.insert(hash.clone())),
        ReplaceHashes(place, hashes) => edit(&mut locks, *place, |p| p.hashes.clone_from(hashes)),
        RemoveHash(place, index) => edit(&mut locks, *place, |provider| {
            let chosen = provider.hashes.iter().nth(index % provider.hashes.len().max(1)).cloned();
            chosen.map(|hash| provider.hashes.remove(&hash));
        }),
    }
    locks
}

fn address_at(locks: &Locks, place: usize) -> Option<ProviderAddress> {
    locks.keys().nth(place % locks.len().max(1)).cloned()
}

fn edit(locks: &mut Locks, place: usize, change: impl FnOnce(&mut LockedProvider)) {
    let address = address_at(locks, place);
    address.and_then(|address| locks.get_mut(&address)).map(Arc::make_mut).map(change);
}

pub fn random(rng: &mut Rng, count: usize) -> Vec<Change> {
    (0..count).map(|_| random_change(rng)).collect()
}

fn random_change(rng: &mut Rng) -> Change {
    let place = rng.below(20);
    match rng.below(16) {
        0..=2 => Change::Add(generated::address(rng), generated::provider(rng)),
        3..=4 => Change::Remove(place),
        5 => Change::Version(place, generated::version(rng)),
        6 => Change::Constraints(place, ConstraintList::default()),
        7..=8 => Change::Constraints(place, generated::constraints(rng)),
        9..=10 => Change::AddHash(place, generated::hash(rng)),
        11..=12 => Change::RemoveHash(place, rng.below(30)),
        13 => Change::ReplaceHashes(place, BTreeSet::new()),
        14 => Change::ReplaceHashes(place, generated::hashes(rng)),
        _ => Change::UpgradeAll(generated::version(rng), generated::hashes(rng)),
    }
}

/// Changes that every file is put through, each on its own.
pub fn always(rng: &mut Rng, providers: usize) -> Vec<Change> {
    let mut changes = vec![
        Change::RemoveAll,
        Change::UpgradeAll(generated::version(rng), generated::hashes(rng)),
        Change::Add("a.example/first/first".parse_address(), generated::provider(rng)),
        Change::Add("registry.opentofu.org/middle/middle".parse_address(), generated::provider(rng)),
        Change::Add("zz.example/last/last".parse_address(), generated::provider(rng)),
    ];
    for place in 0..providers {
        changes.extend([
            Change::Remove(place),
            Change::Version(place, generated::version(rng)),
            Change::Constraints(place, ConstraintList::default()),
            Change::Constraints(place, generated::constraints(rng)),
            Change::AddHash(place, generated::hash(rng)),
            Change::RemoveHash(place, rng.below(30)),
            Change::ReplaceHashes(place, BTreeSet::new()),
            Change::ReplaceHashes(place, generated::hashes(rng)),
        ]);
    }
    changes
}

trait ParseAddress {
    fn parse_address(&self) -> ProviderAddress;
}

impl ParseAddress for str {
    fn parse_address(&self) -> ProviderAddress {
        ProviderAddress::parse_canonical(self, provlock::provider::Dialect::Tofu).unwrap()
    }
}
