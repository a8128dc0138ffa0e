//! The canonical block of an entry, which is checked once for all new lock files that contain it.

use std::path::Path;
use std::sync::Arc;

use crate::lockfile::canonical::{header, push_block};
use crate::lockfile::entry_kind::{EntryKind, LocksOf};
use crate::lockfile::parse::parse_as;
use crate::provider::Dialect;

/// The text of an entry in canonical form.
pub(crate) struct CanonicalBlock {
    text: String,
    /// `true` if the text was parsed again and records the entry.
    is_checked: bool,
}

impl CanonicalBlock {
    pub(crate) fn new<T: EntryKind>(address: &T::Address, locked: &Arc<T>) -> Self {
        let mut text = String::new();
        push_block(&mut text, address, &**locked);
        let locks = [(address.clone(), Arc::clone(locked))].into();
        Self {
            is_checked: records_exactly::<T>(text.as_bytes(), &locks),
            text,
        }
    }
}

/// Returns the text of a lock file with these blocks, which is the same as
/// [`canonical_text`](crate::lockfile::canonical_text) of their entries. `None` if a block did not
/// record its entry when it was parsed again.
pub(super) fn checked_text<T: EntryKind>(
    blocks: &[&CanonicalBlock],
    dialect: Dialect,
) -> Option<String> {
    let mut text = header::<T>(dialect);
    let length: usize = blocks.iter().map(|block| 1 + block.text.len()).sum();
    text.reserve_exact(length);
    for block in blocks {
        if !block.is_checked {
            return None;
        }
        text.push('\n');
        text.push_str(&block.text);
    }
    Some(text)
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
    use crate::lockfile::{LockedProvider, Locks, canonical_text};
    use crate::provider::{ConstraintList, ProviderAddress, Version};

    #[test]
    fn checked_blocks_make_the_canonical_text() {
        let address = |name: &str| ProviderAddress::parse(name, Dialect::Tofu).unwrap();
        let entry = |hash: &str| {
            let (version, constraints) = (Version::new(1, 0, 0), ConstraintList::default());
            Arc::new(LockedProvider {
                version,
                constraints,
                hashes: [hash.parse().unwrap()].into(),
            })
        };
        let locks = Locks::from([
            (address("aws"), entry("h1:a")),
            (address("null"), entry("h1:b")),
        ]);
        let blocks: Vec<_> = locks
            .iter()
            .map(|(address, locked)| CanonicalBlock::new(address, locked))
            .collect();
        let mut blocks: Vec<_> = blocks.iter().collect();
        let text = checked_text::<LockedProvider>(&blocks, Dialect::Tofu).unwrap();
        assert_eq!(text, canonical_text(&locks, Dialect::Tofu));

        let wrong = CanonicalBlock {
            text: "provider \"registry.opentofu.org/acme/null\" {\n}\n".to_owned(),
            is_checked: false,
        };
        blocks.push(&wrong);
        let text = checked_text::<LockedProvider>(&blocks, Dialect::Tofu);
        assert_eq!(text, None);
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
