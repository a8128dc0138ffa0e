//! Platforms that an entry of a lock file covers. The file does not say which platform an `h1:` is
//! for, but packages with known hashes do.

use std::collections::BTreeSet;

use crate::packages::archive::{HashesByPlatform, ReleasePlatforms};
use crate::provider::{Hash, HashScheme, Platform};

/// Whether an entry has a hash of a platform's package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::project) enum Covers {
    Yes,
    No,
    /// The package is unknown, and one of the recorded hashes may belong to it.
    Unknown,
}

/// The `h1:` of an entry beside the known packages of its release.
pub(in crate::project) struct EntryPlatforms<'a> {
    recorded: BTreeSet<&'a Hash>,
    known: ReleasePlatforms,
}

impl<'a> EntryPlatforms<'a> {
    pub(in crate::project) fn new(hashes: &'a BTreeSet<Hash>, known: ReleasePlatforms) -> Self {
        Self {
            recorded: hashes
                .iter()
                .filter(|hash| hash.is_well_formed_as(HashScheme::H1))
                .collect(),
            known,
        }
    }

    /// Compares an entry with packages that were published.
    pub(super) fn of_published(hashes: &'a BTreeSet<Hash>, published: HashesByPlatform) -> Self {
        Self::new(
            hashes,
            ReleasePlatforms {
                published,
                ..ReleasePlatforms::default()
            },
        )
    }

    pub(in crate::project) fn covers(&self, platform: &Platform) -> Covers {
        for known in [&self.known.published, &self.known.copies] {
            if let Some(hashes) = known.get(platform)
                && hashes.iter().any(|hash| self.recorded.contains(hash))
            {
                return Covers::Yes;
            }
        }
        if self.unexplained() == 0 || self.known.published.contains_key(platform) {
            Covers::No
        } else {
            Covers::Unknown
        }
    }

    /// The platforms that the entry is known to cover.
    pub(in crate::project) fn covered(&self) -> BTreeSet<Platform> {
        let mut covered = BTreeSet::new();
        for known in [&self.known.published, &self.known.copies] {
            for platform in known.keys() {
                if self.covers(platform) == Covers::Yes {
                    covered.insert(platform.clone());
                }
            }
        }
        covered
    }

    /// Number of recorded `h1:`. Each is for one platform.
    pub(in crate::project) fn recorded(&self) -> usize {
        self.recorded.len()
    }

    /// Number of recorded `h1:` that no published package has. A mirror may have packed the files
    /// anew, so its copies explain none.
    pub(in crate::project) fn unexplained(&self) -> usize {
        let mut unexplained = self.recorded.clone();
        for hashes in self.known.published.values() {
            unexplained.retain(|hash| !hashes.contains(*hash));
        }
        unexplained.len()
    }
}
