//! Facts about the platforms of a release: the platforms, and the `h1:` of each. A lock file does
//! not contain them, but registries, packages and mirrors do. They are kept in the cache for checks
//! without a network.

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

/// Platforms of a release, with the hashes of their packages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReleasePlatforms {
    /// The platforms that the registry lists; `None` if that is not known.
    pub(crate) listed: Option<BTreeSet<Platform>>,
    /// The hashes of published packages. A platform without any may be published all the same.
    pub(crate) published: HashesByPlatform,
    /// The hashes of packages from mirrors, whose packages may differ from the published ones.
    pub(crate) copies: HashesByPlatform,
}

impl ReleasePlatforms {
    /// Reads a file; nothing is known if it is missing or damaged.
    pub(super) fn read(path: &Path) -> Self {
        let Some(platforms) = storage::read_json::<Self>(path, LONGEST_FILE) else {
            return Self::default();
        };
        for hashes in platforms
            .published
            .values()
            .chain(platforms.copies.values())
        {
            if !hashes
                .iter()
                .all(|hash| hash.is_well_formed_as(HashScheme::H1))
            {
                return Self::default();
            }
        }
        platforms
    }

    /// Adds the packages that another source knows.
    pub(crate) fn learn(&mut self, more: Self) {
        for (platform, hashes) in more.published {
            self.published.entry(platform).or_default().extend(hashes);
        }
        for (platform, hashes) in more.copies {
            self.copies.entry(platform).or_default().extend(hashes);
        }
        if self.listed.is_none() {
            self.listed = more.listed;
        }
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
        assert_eq!(ReleasePlatforms::read(&path), ReleasePlatforms::default());
        let hashes = |byte: u8| BTreeSet::from([Hash::h1(&[byte; 32])]);
        let expected = ReleasePlatforms {
            listed: Some(BTreeSet::from([
                platform("linux_amd64"),
                platform("darwin_arm64"),
            ])),
            published: BTreeMap::from([(platform("linux_amd64"), hashes(1))]),
            copies: BTreeMap::from([(platform("linux_amd64"), hashes(2))]),
        };
        ReleasePlatforms::change(&path, |platforms| {
            platforms.published = expected.published.clone();
        });
        ReleasePlatforms::change(&path, |platforms| {
            platforms.listed = expected.listed.clone();
        });
        ReleasePlatforms::change(&path, |platforms| {
            platforms.copies = expected.copies.clone();
        });
        assert_eq!(ReleasePlatforms::read(&path), expected);
        for damaged in [
            "{\"listed\":[\"linux\"]}",
            "{\"listed\":1}",
            "{\"copies\":{\"linux_amd64\":[\"zh:00\"]}}",
            "{\"published\":{\"linux_amd64\":[\"h1:short\"]}}",
            "{\"published\":{\"../linux_amd64\":[]}}",
        ] {
            storage::replace(&path, damaged.as_bytes()).unwrap();
            assert_eq!(
                ReleasePlatforms::read(&path),
                ReleasePlatforms::default(),
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
            ReleasePlatforms::change(&path, |platforms| {
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
        assert!(ReleasePlatforms::read(&path).copies[&platform("linux_amd64")].len() > 1_000);
    }
}
