//! Canonical blocks that many lock files have in common: each is written once, and read again once.

use std::path::Path;
use std::sync::Arc;

use crate::lockfile::canonical::{header, push_block};
use crate::lockfile::{LockedProvider, Locks, parse};
use crate::provider::{Dialect, ProviderAddress};
use crate::system::OnceMap;

/// The blocks of entries that lock files share, by the place of the entry in memory.
#[derive(Default)]
pub(crate) struct CanonicalBlocks {
    blocks: OnceMap<usize, Arc<Block>>,
}

struct Block {
    address: ProviderAddress,
    /// Kept, so that no other entry gets its place.
    provider: Arc<LockedProvider>,
    text: String,
    /// Whether the text was read again and says what it should.
    is_checked: bool,
}

impl CanonicalBlocks {
    /// What [`canonical_text`](crate::lockfile::canonical_text) gives, if all of it was read again and says what it
    /// should.
    pub(super) fn checked_text(&self, locks: &Locks, dialect: Dialect) -> Option<String> {
        let blocks: Vec<_> = locks.iter().map(|(address, provider)| self.block(address, provider)).collect();
        let header = header(dialect);
        let length = blocks.iter().map(|block| 1 + block.text.len()).sum::<usize>();
        let mut text = String::with_capacity(header.len() + length);
        text.push_str(&header);
        for block in &blocks {
            text.push('\n');
            text.push_str(&block.text);
        }
        blocks.iter().all(|block| block.is_checked).then_some(text)
    }

    fn block(&self, address: &ProviderAddress, provider: &Arc<LockedProvider>) -> Arc<Block> {
        let block = || Arc::new(Block::new(address, provider));
        let known = self.blocks.get_or_compute(&Arc::as_ptr(provider).addr(), block);
        let is_it = known.address == *address && Arc::ptr_eq(&known.provider, provider);
        if is_it { known } else { block() }
    }
}

impl Block {
    fn new(address: &ProviderAddress, provider: &Arc<LockedProvider>) -> Self {
        let mut text = String::new();
        push_block(&mut text, address, provider);
        let (address, provider) = (address.clone(), Arc::clone(provider));
        let is_checked = says(text.as_bytes(), &Locks::from([(address.clone(), Arc::clone(&provider))]));
        Self { address, provider, text, is_checked }
    }
}

/// Whether bytes that were just written record just these locks.
pub(super) fn says(bytes: &[u8], locks: &Locks) -> bool {
    // Each address has its host, so defaults do not matter; in this dialect a namespace may hold underscores.
    parse(Path::new(""), bytes, Dialect::Terraform).lock_file.is_some_and(|lock_file| lock_file.locks == *locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockfile::canonical_text;
    use crate::provider::{ConstraintList, Version};

    #[test]
    fn the_text_is_canonical_though_two_providers_share_an_entry() {
        let address = |name: &str| ProviderAddress::parse(name, Dialect::Tofu).unwrap();
        let entry = |hash: &str| {
            let (version, constraints) = (Version::new(1, 0, 0), ConstraintList::default());
            Arc::new(LockedProvider { version, constraints, hashes: [hash.parse().unwrap()].into() })
        };
        let (shared, own) = (entry("h1:a"), entry("h1:b"));
        let one = Locks::from([(address("aws"), Arc::clone(&shared)), (address("null"), Arc::clone(&shared))]);
        let other = Locks::from([(address("aws"), own), (address("null"), shared)]);
        let blocks = CanonicalBlocks::default();
        for locks in [&one, &other, &one] {
            assert_eq!(blocks.checked_text(locks, Dialect::Tofu).unwrap(), canonical_text(locks, Dialect::Tofu));
        }
    }

    #[test]
    fn a_text_says_what_it_was_made_from_and_nothing_else() {
        let digits = "0123456789abcdef".repeat(4);
        let entry = |name: &str, version: &str, constraints: &str, hashes: &[&str]| {
            let address = ProviderAddress::parse(&format!("acme/{name}"), Dialect::Tofu).unwrap();
            let hashes = hashes.iter().map(|hash| hash.parse().unwrap()).collect();
            let (version, constraints) = (version.parse().unwrap(), constraints.parse().unwrap());
            (address, Arc::new(LockedProvider { version, constraints, hashes }))
        };
        let zh = format!("zh:{digits}");
        let other = zh.replace('0', "f");
        let gamma = entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &zh]);
        let null = entry("null", "3.2.4", "", &[]);
        let locks = Locks::from([gamma.clone(), null.clone()]);
        let text = canonical_text(&locks, Dialect::Tofu);
        assert!(says(text.as_bytes(), &locks));
        for wrong in [
            vec![gamma.clone()],
            vec![gamma.clone(), null.clone(), entry("zeta", "1.0.0", "", &[])],
            vec![entry("delta", "1.0.0", "~> 1.0", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.1", "~> 1.0", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.1", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "", &["h1:a", &zh]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.0", &["h1:a", &other]), null.clone()],
            vec![entry("gamma", "1.0.0", "~> 1.0", &["h1:a"]), null.clone()],
            vec![gamma.clone(), entry("null", "3.2.4", "", &["h1:a"])],
        ] {
            assert!(!says(text.as_bytes(), &Locks::from_iter(wrong.clone())), "{wrong:?}");
        }
        assert!(!says(text.replace("version", "vision").as_bytes(), &locks));
    }
}
