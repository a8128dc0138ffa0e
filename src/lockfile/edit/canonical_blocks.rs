//! Canonical blocks that many lock files have in common: each is written once, and read again once.

use std::path::Path;
use std::sync::Arc;

use crate::lockfile::canonical::{header, push_block};
use crate::lockfile::entry_kind::{EntryKind, LocksOf};
use crate::lockfile::parse::parse_as;
use crate::lockfile::provider::LockedProvider;
use crate::provider::Dialect;
use crate::system::OnceMap;

/// Maximum number of blocks that are kept, each with about 3 KiB. Most root modules record one of
/// the same few entries.
const MOST_KEPT: usize = 1_000;

/// The blocks of entries that lock files share, by the address of the entry in memory.
pub(crate) struct CanonicalBlocks<T: EntryKind = LockedProvider> {
    blocks: OnceMap<usize, Arc<Block<T>>>,
}

struct Block<T: EntryKind> {
    address: T::Address,
    /// Kept, so that no other entry gets its place.
    locked: Arc<T>,
    text: String,
    /// `true` if the text was parsed again and records the entry.
    is_checked: bool,
}

impl<T: EntryKind> Default for CanonicalBlocks<T> {
    fn default() -> Self {
        Self {
            blocks: OnceMap::default(),
        }
    }
}

impl<T: EntryKind> CanonicalBlocks<T> {
    /// Returns the same as [`canonical_text`](crate::lockfile::canonical_text), unless a block did
    /// not record its entry when it was parsed again.
    pub(super) fn checked_text(&self, locks: &LocksOf<T>, dialect: Dialect) -> Option<String> {
        let blocks: Vec<_> = locks
            .iter()
            .map(|(address, locked)| self.kept_or_new(address, locked))
            .collect();
        let header = header::<T>(dialect);
        let length = blocks
            .iter()
            .map(|block| 1 + block.text.len())
            .sum::<usize>();
        let mut text = String::with_capacity(header.len() + length);
        text.push_str(&header);
        for block in &blocks {
            text.push('\n');
            text.push_str(&block.text);
        }
        blocks.iter().all(|block| block.is_checked).then_some(text)
    }

    /// Returns the block of an entry, which is written at most once for each entry in memory.
    fn kept_or_new(&self, address: &T::Address, locked: &Arc<T>) -> Arc<Block<T>> {
        self.blocks.forget_more_than(MOST_KEPT);
        let kept = self.blocks.get_or_compute(&Arc::as_ptr(locked).addr(), || {
            Arc::new(Block::new(address, locked))
        });
        // Providers with equal entries share one entry in memory, under several addresses.
        if kept.address == *address && Arc::ptr_eq(&kept.locked, locked) {
            return kept;
        }
        Arc::new(Block::new(address, locked))
    }
}

impl<T: EntryKind> Block<T> {
    fn new(address: &T::Address, locked: &Arc<T>) -> Self {
        let mut text = String::new();
        push_block(&mut text, address, &**locked);
        let locks = [(address.clone(), Arc::clone(locked))].into();
        Self {
            address: address.clone(),
            locked: Arc::clone(locked),
            is_checked: records_exactly::<T>(text.as_bytes(), &locks),
            text,
        }
    }
}

/// Whether bytes that were just written record exactly these locks when they are parsed again.
pub(super) fn records_exactly<T: EntryKind>(bytes: &[u8], locks: &LocksOf<T>) -> bool {
    // Each address has its host, so defaults do not matter; in this dialect a namespace may contain
    // underscores.
    parse_as::<T>(Path::new(""), bytes, Dialect::Terraform)
        .lock_file
        .is_some_and(|lock_file| lock_file.locks == *locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockfile::{Locks, canonical_text};
    use crate::provider::{ConstraintList, ProviderAddress, Version};

    #[test]
    fn the_text_is_canonical_though_two_providers_share_an_entry() {
        let address = |name: &str| ProviderAddress::parse(name, Dialect::Tofu).unwrap();
        let entry = |hash: &str| {
            let (version, constraints) = (Version::new(1, 0, 0), ConstraintList::default());
            Arc::new(LockedProvider {
                version,
                constraints,
                hashes: [hash.parse().unwrap()].into(),
            })
        };
        let (shared, own) = (entry("h1:a"), entry("h1:b"));
        let one = Locks::from([
            (address("aws"), Arc::clone(&shared)),
            (address("null"), Arc::clone(&shared)),
        ]);
        let other = Locks::from([(address("aws"), own), (address("null"), shared)]);
        let blocks = CanonicalBlocks::<LockedProvider>::default();
        for locks in [&one, &other, &one] {
            assert_eq!(
                blocks.checked_text(locks, Dialect::Tofu).unwrap(),
                canonical_text(locks, Dialect::Tofu)
            );
        }
    }

    #[test]
    fn no_more_blocks_are_kept_than_the_limit() {
        let address = ProviderAddress::parse("null", Dialect::Tofu).unwrap();
        let blocks = CanonicalBlocks::<LockedProvider>::default();
        for number in 0..2 * MOST_KEPT as u64 {
            let (version, constraints) = (Version::new(number, 0, 0), ConstraintList::default());
            let entry = LockedProvider {
                version,
                constraints,
                hashes: ["h1:a".parse().unwrap()].into(),
            };
            let locks = Locks::from([(address.clone(), Arc::new(entry))]);
            assert_eq!(
                blocks.checked_text(&locks, Dialect::Tofu).unwrap(),
                canonical_text(&locks, Dialect::Tofu)
            );
            assert!(blocks.blocks.values().len() <= MOST_KEPT + 1, "{number}");
        }
    }

    #[test]
    fn a_text_says_what_it_was_made_from_and_nothing_else() {
        let digits = "0123456789abcdef".repeat(4);
        let entry = |name: &str, version: &str, constraints: &str, hashes: &[&str]| {
            let address = ProviderAddress::parse(&format!("acme/{name}"), Dialect::Tofu).unwrap();
            let hashes = hashes.iter().map(|hash| hash.parse().unwrap()).collect();
            let (version, constraints) = (version.parse().unwrap(), constraints.parse().unwrap());
            (
                address,
                Arc::new(LockedProvider {
                    version,
                    constraints,
                    hashes,
                }),
            )
        };
        let zh = format!("zh:{digits}");
        let other = zh.replace('0', "f");
        let gamma = entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &zh]);
        let null = entry("null", "3.2.4", "", &[]);
        let locks = Locks::from([gamma.clone(), null.clone()]);
        let text = canonical_text(&locks, Dialect::Tofu);
        assert!(records_exactly(text.as_bytes(), &locks));
        for wrong in [
            vec![gamma.clone()],
            vec![gamma.clone(), null.clone(), entry("zeta", "1.0.0", "", &[])],
            vec![
                entry("delta", "1.0.0", "~> 1.0", &["h1:a", &zh]),
                null.clone(),
            ],
            vec![
                entry("gamma", "1.0.1", "~> 1.0", &["h1:a", &zh]),
                null.clone(),
            ],
            vec![
                entry("gamma", "1.0.0", "~> 1.1", &["h1:a", &zh]),
                null.clone(),
            ],
            vec![entry("gamma", "1.0.0", "", &["h1:a", &zh]), null.clone()],
            vec![
                entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &other]),
                null.clone(),
            ],
            vec![entry("gamma", "1.0.0", "~> 1.0", &["h1:a"]), null.clone()],
            vec![gamma.clone(), entry("null", "3.2.4", "", &["h1:a"])],
        ] {
            assert!(
                !records_exactly(text.as_bytes(), &Locks::from_iter(wrong.clone())),
                "{wrong:?}"
            );
        }
        assert!(!records_exactly(
            text.replace("version", "vision").as_bytes(),
            &locks
        ));
    }
}
