//! Evidence about the hashes of a release: whether a hash is published, and for which platform. A
//! lock file does not contain it, but registries, packages and mirrors do. The platforms are kept
//! in the cache for checks without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::provider::{Hash, HashScheme, Platform};
use crate::system::{lock, storage};

/// The longest file, in bytes: a release for 100 platforms takes about 16 KiB.
const LONGEST_FILE: u64 = 64 * 1024;

/// Held while a file is read, changed and replaced, so that threads do not lose each other's
/// changes. Other processes may lose some, which later runs learn again.
static CHANGING: Mutex<()> = Mutex::new(());

/// The `h1:` of packages, by platform.
pub(crate) type HashesByPlatform = BTreeMap<Platform, BTreeSet<Hash>>;

/// Known platforms and hashes of a release, with which the entries of lock files are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReleaseEvidence {
    /// The platforms that the registry lists; `None` if that is not known.
    pub(crate) listed: Option<BTreeSet<Platform>>,
    /// The `h1:` of published packages. A platform without any may be published all the same.
    #[serde(rename = "published")]
    pub(crate) h1_by_platform: HashesByPlatform,
    /// The `h1:` of packages from mirrors, whose packages may differ from the published ones.
    pub(crate) copies: HashesByPlatform,
    /// Published hashes of no known platform, such as the `zh:` in SHA256SUMS.
    #[serde(skip)]
    pub(crate) hashes_of_no_platform: BTreeSet<Hash>,
    /// Schemes whose published hashes are all known.
    #[serde(skip)]
    pub(crate) complete_schemes: BTreeSet<HashScheme>,
}

/// Whether an entry has a hash of a platform's package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Covers {
    Yes,
    No,
    /// The package is unknown, and one of the recorded hashes may belong to it.
    Unknown,
}

/// Recorded hashes, compared with the published ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ComparedHashes {
    pub(crate) published: BTreeSet<Hash>,
    /// Hashes that are known to belong to no published package.
    pub(crate) unpublished: BTreeSet<Hash>,
    /// Number of hashes that could not be compared.
    pub(crate) unknown: usize,
}

impl ReleaseEvidence {
    /// Whether a hash is known to be published.
    fn is_published(&self, hash: &Hash) -> bool {
        let mut packages = self.h1_by_platform.values();
        self.hashes_of_no_platform.contains(hash) || packages.any(|hashes| hashes.contains(hash))
    }

    /// Compares recorded hashes with the published ones. A hash is unpublished only if all
    /// published hashes of its scheme are known.
    pub(crate) fn compare<'h>(
        &self,
        recorded: impl IntoIterator<Item = &'h Hash>,
    ) -> ComparedHashes {
        let mut compared = ComparedHashes::default();
        for hash in recorded {
            if self.is_published(hash) {
                compared.published.insert(hash.clone());
            } else if self.complete_schemes.contains(&hash.scheme()) {
                compared.unpublished.insert(hash.clone());
            } else {
                compared.unknown += 1;
            }
        }
        compared
    }

    /// Whether an entry with these hashes covers a platform.
    pub(crate) fn covers(&self, recorded: &BTreeSet<Hash>, platform: &Platform) -> Covers {
        for packages in [&self.h1_by_platform, &self.copies] {
            if let Some(hashes) = packages.get(platform)
                && !hashes.is_disjoint(recorded)
            {
                return Covers::Yes;
            }
        }
        if self.h1_by_platform.contains_key(platform) || self.unexplained_h1(recorded).is_empty() {
            Covers::No
        } else {
            Covers::Unknown
        }
    }

    /// The platforms that an entry with these hashes is known to cover.
    pub(crate) fn platforms_covered_by(&self, recorded: &BTreeSet<Hash>) -> BTreeSet<Platform> {
        let mut covered = BTreeSet::new();
        for packages in [&self.h1_by_platform, &self.copies] {
            for (platform, hashes) in packages {
                if !hashes.is_disjoint(recorded) {
                    covered.insert(platform.clone());
                }
            }
        }
        covered
    }

    /// The platform whose package has a hash.
    pub(crate) fn platform_of(&self, hash: &Hash) -> Option<&Platform> {
        for packages in [&self.h1_by_platform, &self.copies] {
            for (platform, hashes) in packages {
                if hashes.contains(hash) {
                    return Some(platform);
                }
            }
        }
        None
    }

    /// Recorded `h1:`, each of one platform, that no published package has. A mirror may have
    /// packed the files anew, so its copies explain none.
    pub(crate) fn unexplained_h1(&self, recorded: &BTreeSet<Hash>) -> BTreeSet<Hash> {
        let mut unexplained = recorded.clone();
        unexplained.retain(|hash| {
            let mut packages = self.h1_by_platform.values();
            hash.is_well_formed_as(HashScheme::H1) && !packages.any(|hashes| hashes.contains(hash))
        });
        unexplained
    }

    /// Reads a file; nothing is known if it is missing or damaged.
    pub(super) fn read(path: &Path) -> Self {
        let Some(evidence) = storage::read_json::<Self>(path, LONGEST_FILE) else {
            return Self::default();
        };
        for hashes in evidence
            .h1_by_platform
            .values()
            .chain(evidence.copies.values())
        {
            if !hashes
                .iter()
                .all(|hash| hash.is_well_formed_as(HashScheme::H1))
            {
                return Self::default();
            }
        }
        evidence
    }

    /// Adds the packages that another source knows.
    pub(crate) fn add_evidence(&mut self, more: Self) {
        for (platform, hashes) in more.h1_by_platform {
            self.h1_by_platform
                .entry(platform)
                .or_default()
                .extend(hashes);
        }
        for (platform, hashes) in more.copies {
            self.copies.entry(platform).or_default().extend(hashes);
        }
        if self.listed.is_none() {
            self.listed = more.listed;
        }
        self.hashes_of_no_platform
            .extend(more.hashes_of_no_platform);
        self.complete_schemes.extend(more.complete_schemes);
    }

    /// Changes a file, if possible.
    pub(super) fn change(path: &Path, change: impl FnOnce(&mut Self)) {
        let _changing = lock(&CHANGING);
        let before = Self::read(path);
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return;
        }
        let text = serde_json::to_string(&after).ok();
        if let Some(text) = text.filter(|text| text.len() as u64 <= LONGEST_FILE) {
            // A cache that cannot be written must not stop the run.
            let _ = storage::replace(path, text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(name: &str) -> Platform {
        name.parse().unwrap()
    }

    #[test]
    fn written_entries_are_read_and_damaged_ones_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/1.0.0");
        assert_eq!(ReleaseEvidence::read(&path), ReleaseEvidence::default());
        let hashes = |byte: u8| BTreeSet::from([Hash::h1(&[byte; 32])]);
        let expected = ReleaseEvidence {
            listed: Some(BTreeSet::from([
                platform("linux_amd64"),
                platform("darwin_arm64"),
            ])),
            h1_by_platform: BTreeMap::from([(platform("linux_amd64"), hashes(1))]),
            copies: BTreeMap::from([(platform("linux_amd64"), hashes(2))]),
            ..ReleaseEvidence::default()
        };
        ReleaseEvidence::change(&path, |platforms| {
            platforms.h1_by_platform = expected.h1_by_platform.clone();
        });
        ReleaseEvidence::change(&path, |platforms| {
            platforms.listed = expected.listed.clone();
        });
        ReleaseEvidence::change(&path, |platforms| {
            platforms.copies = expected.copies.clone();
        });
        assert_eq!(ReleaseEvidence::read(&path), expected);
        for damaged in [
            "{\"listed\":[\"linux\"]}",
            "{\"listed\":1}",
            "{\"copies\":{\"linux_amd64\":[\"zh:00\"]}}",
            "{\"published\":{\"linux_amd64\":[\"h1:short\"]}}",
            "{\"published\":{\"../linux_amd64\":[]}}",
        ] {
            storage::replace(&path, damaged.as_bytes()).unwrap();
            assert_eq!(
                ReleaseEvidence::read(&path),
                ReleaseEvidence::default(),
                "{damaged}"
            );
        }
    }

    #[test]
    fn a_file_does_not_grow_without_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.0.0");
        let add = |numbers: std::ops::Range<u32>| {
            let hash = |number: u32| {
                Hash::h1(&std::array::from_fn(|index| {
                    number.to_be_bytes()[index % 4]
                }))
            };
            ReleaseEvidence::change(&path, |platforms| {
                platforms
                    .copies
                    .entry(platform("linux_amd64"))
                    .or_default()
                    .extend(numbers.map(hash));
            });
        };
        add(0..1_001);
        (1_001..1_300).for_each(|number| add(number..number + 1));
        assert!(std::fs::metadata(&path).unwrap().len() <= LONGEST_FILE);
        assert!(ReleaseEvidence::read(&path).copies[&platform("linux_amd64")].len() > 1_000);
    }
}
