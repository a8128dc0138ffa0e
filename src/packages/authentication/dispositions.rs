//! Facts about each hash of a release, and the hashes that may be recorded because of them
//! (OpenTofu's `HashDispositions`, `internal/getproviders/hash.go`).

use std::collections::{BTreeMap, BTreeSet};

use crate::provider::{Hash, HashScheme};

/// A fact about a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HashDisposition {
    /// It was computed from the package.
    Computed,
    /// SHA256SUMS, whose signature was verified or skipped, lists it for the package.
    Listed,
    /// SHA256SUMS lists it for a package of the release.
    ListedForRelease,
    /// SHA256SUMS lists it for a package of the release, and has malformed lines.
    ListedWithMalformedLines,
    /// SHA256SUMS lists it for a file that is not a package, such as the manifest, which is often
    /// the same in every release.
    ListedForOtherFile,
    /// A registry whose reports are trusted reports it for a package of the release.
    ReportedByRegistry,
    /// A mirror whose reports are trusted reports it for a package of the release.
    ReportedByMirror,
}

/// The hashes of a release, each with all facts about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashDispositions(BTreeMap<Hash, BTreeSet<HashDisposition>>);

impl HashDisposition {
    /// Whether this fact permits recording the hash. A hash over the bytes of an archive must be
    /// listed or reported, because a mirror may have repacked the files.
    fn permits(self, hash: &Hash) -> bool {
        match self {
            Self::Computed => match hash.scheme() {
                HashScheme::H1 => true,
                HashScheme::Zh | HashScheme::Unknown => false,
            },
            Self::ListedWithMalformedLines => false,
            _ => true,
        }
    }

    /// Whether this fact proves that an entry with the hash is about this release.
    fn confirms(self) -> bool {
        !matches!(self, Self::ListedForOtherFile | Self::ReportedByMirror)
    }
}

impl HashDispositions {
    /// Hashes that were computed from a package.
    pub fn computed(hashes: impl IntoIterator<Item = Hash>) -> Self {
        let mut dispositions = Self::default();
        dispositions.add(HashDisposition::Computed, hashes);
        dispositions
    }

    /// Adds a fact to each of these hashes.
    pub(crate) fn add(
        &mut self,
        disposition: HashDisposition,
        hashes: impl IntoIterator<Item = Hash>,
    ) {
        self.extend(hashes.into_iter().map(|hash| (hash, disposition)));
    }

    /// The hashes that may be recorded in a lock file.
    pub fn recordable(&self) -> impl Iterator<Item = &Hash> {
        self.0
            .iter()
            .filter(|(hash, known)| known.iter().any(|disposition| disposition.permits(hash)))
            .map(|(hash, _)| hash)
    }

    /// Whether an entry with the hash is about this release, even if the hash may not be recorded.
    pub(crate) fn confirms(&self, hash: &Hash) -> bool {
        self.0
            .get(hash)
            .is_some_and(|known| known.iter().any(|disposition| disposition.confirms()))
    }

    /// Whether there are facts about the hash.
    pub fn contains(&self, hash: &Hash) -> bool {
        self.0.contains_key(hash)
    }

    /// Whether the hash was computed from the package, not only reported.
    pub(crate) fn is_computed(&self, hash: &Hash) -> bool {
        self.0
            .get(hash)
            .is_some_and(|known| known.contains(&HashDisposition::Computed))
    }
}

impl Extend<(Hash, HashDisposition)> for HashDispositions {
    fn extend<T: IntoIterator<Item = (Hash, HashDisposition)>>(&mut self, hashes: T) {
        for (hash, disposition) in hashes {
            self.0.entry(hash).or_default().insert(disposition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_disposition_decides_the_use_of_a_hash() {
        use HashDisposition as D;
        let (h1, zh) = (Hash::h1(&[7; 32]), Hash::zh(&[7; 32]));
        for (disposition, h1_is_recordable, zh_is_recordable, confirms) in [
            (D::Computed, true, false, true),
            (D::Listed, true, true, true),
            (D::ListedForRelease, true, true, true),
            (D::ListedWithMalformedLines, false, false, true),
            (D::ListedForOtherFile, true, true, false),
            (D::ReportedByRegistry, true, true, true),
            (D::ReportedByMirror, true, true, false),
        ] {
            for (hash, is_recordable) in [(&h1, h1_is_recordable), (&zh, zh_is_recordable)] {
                let mut dispositions = HashDispositions::default();
                dispositions.add(disposition, [hash.clone()]);
                assert_eq!(
                    dispositions.recordable().eq([hash]),
                    is_recordable,
                    "{disposition:?} {hash}"
                );
                assert_eq!(
                    dispositions.confirms(hash),
                    confirms,
                    "{disposition:?} {hash}"
                );
                assert_eq!(dispositions.is_computed(hash), disposition == D::Computed);
            }
        }
    }

    #[test]
    fn what_is_known_of_a_hash_adds_up() {
        let zh = Hash::zh(&[7; 32]);
        let mut dispositions = HashDispositions::computed([zh.clone()]);
        assert_eq!(dispositions.recordable().count(), 0);
        dispositions.add(HashDisposition::ReportedByMirror, [zh.clone()]);
        assert!(
            dispositions.recordable().eq([&zh])
                && dispositions.confirms(&zh)
                && dispositions.is_computed(&zh)
        );
        assert!(!dispositions.contains(&Hash::zh(&[8; 32])));
    }
}
