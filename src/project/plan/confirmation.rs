//! Search for a package that has a recorded `h1:` hash. An entry without `zh:` hashes does not tell which archives were
//! locked, so only a package with a recorded hash proves that the release is the one that was locked.

use std::collections::BTreeSet;

use super::explained::{ReleaseLookup, likely_first};
use crate::packages::archive::HashCache;
use crate::packages::{Fetched, Packages, Published};
use crate::provider::{Hash, HashesByScheme};

/// Result of comparing an entry with the packages of its release.
pub(super) enum Confirmation {
    /// A package has a recorded hash.
    Confirmed,
    /// None of the packages has a recorded hash. If the entry has `h1:` hashes only, these are all packages of the
    /// release.
    Contradicted,
    /// No package that could be looked at has a recorded hash. Holds why the others could not be looked at.
    Incomplete(Vec<String>),
}

impl Confirmation {
    /// Compares recorded hashes with the fetched packages. If none has a recorded hash and the entry has `h1:` hashes
    /// only, looks at the other packages of the release until one has: first in the report of the registry, then at
    /// packages that the cache knows, then at downloads.
    pub(super) fn find(
        recorded: &BTreeSet<Hash>,
        release: &ReleaseLookup<'_>,
        packages: &Packages,
        cache: Option<&HashCache>,
    ) -> Self {
        if packages.values().any(|package| recorded.iter().any(|hash| package.hashes.confirms(hash))) {
            return Self::Confirmed;
        }
        if !has_only_h1(recorded) {
            return Self::Contradicted;
        }
        if packages.values().any(|package| has_recorded(package, recorded)) {
            return Self::Confirmed;
        }
        Self::of_other_packages(recorded, release, packages, cache)
    }

    fn of_other_packages(
        recorded: &BTreeSet<Hash>,
        release: &ReleaseLookup<'_>,
        packages: &Packages,
        cache: Option<&HashCache>,
    ) -> Self {
        let fetched = packages.keys().next();
        let published = fetched.map(|platform| release.source.published(&release.package(platform)));
        let published = published.and_then(Result::ok).flatten();
        if published.as_ref().is_some_and(|published| is_known(recorded, release, published, cache)) {
            return Self::Confirmed;
        }
        let platforms = match release.source.platforms(release.address, release.version) {
            Ok(platforms) => platforms,
            Err(error) => return Self::Incomplete(vec![error.to_string()]),
        };
        let (mut seen, mut not_seen) = (packages.len(), Vec::new());
        for platform in likely_first(platforms.iter().filter(|platform| !packages.contains_key(platform))) {
            match release.source.package(&release.package(platform), release.progress) {
                Ok(package) if has_recorded(&package, recorded) => return Self::Confirmed,
                Ok(_) => seen += 1,
                Err(error) => not_seen.push(format!("cannot look at the package for {platform}: {error}")),
            }
        }
        let listed = published.map_or(0, |published| published.packages.len());
        if listed > seen && not_seen.is_empty() {
            not_seen.push(format!("SHA256SUMS lists {listed} packages, and the registry lists {seen} of them"));
        }
        if not_seen.is_empty() { Self::Contradicted } else { Self::Incomplete(not_seen) }
    }
}

/// Whether an entry has `h1:` hashes and no `zh:` hashes.
fn has_only_h1(recorded: &BTreeSet<Hash>) -> bool {
    let HashesByScheme { h1, zh, unknown: _ } = recorded.iter().collect();
    !h1.is_empty() && zh.is_empty()
}

/// Whether the registry reports a recorded hash, or the cache has a published package with a recorded hash.
fn is_known(
    recorded: &BTreeSet<Hash>,
    release: &ReleaseLookup<'_>,
    published: &Published,
    cache: Option<&HashCache>,
) -> bool {
    let mut cached = cache.into_iter().flat_map(|cache| cache.packages_of(release.address, release.version));
    published.h1.values().flatten().any(|hash| recorded.contains(hash))
        // The cache may have a package that was replaced since.
        || cached.any(|(_, digest)| digest.is_recorded_in(recorded) && published.packages.contains_key(&digest.zh))
}

fn has_recorded(package: &Fetched, recorded: &BTreeSet<Hash>) -> bool {
    let is_recorded = package.digest.as_ref().is_some_and(|digest| digest.is_recorded_in(recorded));
    is_recorded || recorded.iter().any(|hash| package.hashes.confirms(hash))
}
