//! Comparison of recorded hashes with the packages that this run and earlier ones have seen, without fetching more.

use std::collections::BTreeSet;

use super::candidate::Candidate;
use super::explained::ReleaseLookup;
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy};
use crate::packages::archive::HashCache;
use crate::packages::{Fetched, Packages, Published};
use crate::provider::{Authentication, Hash, HashScheme, HashesByScheme, Version};

/// Result of comparing the recorded hashes of a release.
#[derive(Default)]
pub(super) struct Compared {
    /// Those that are known to belong to no published package: a `zh:` that SHA256SUMS does not have, and an `h1:` if
    /// those of all packages are known.
    pub(super) unpublished: BTreeSet<Hash>,
    /// Number of hashes that could not be compared.
    pub(super) unknown: usize,
}

impl Compared {
    /// Compares with the packages of this run, with what the registry publishes, and with those packages in the cache
    /// that it publishes.
    pub(super) fn with(
        recorded: &BTreeSet<Hash>,
        release: &ReleaseLookup<'_>,
        packages: &Packages,
        cache: Option<&HashCache>,
    ) -> Self {
        let is_seen = |hash: &Hash| packages.values().any(|package| package.hashes.contains(hash));
        let unseen: Vec<_> = recorded.iter().filter(|hash| hash.is_known() && !is_seen(hash)).collect();
        if unseen.is_empty() {
            return Self::default();
        }
        let published = published(release, packages);
        let has_sums = published.is_some() || packages.values().any(|package| has_sums(package));
        let mut of_packages = published.as_ref().map(|published| published.packages.clone()).unwrap_or_default();
        let fetched = packages.values().filter_map(|package| package.digest.clone());
        let cached = cache.into_iter().flat_map(|cache| cache.packages_of(release.address, release.version));
        for digest in fetched.chain(cached.map(|(_, digest)| digest)) {
            // A package in the cache may be one that was replaced since.
            if let Some(hashes) = of_packages.get_mut(&digest.zh) {
                hashes.extend([digest.h1, digest.h1_with_directories]);
            }
        }
        let has_all_h1 = !of_packages.is_empty() && of_packages.values().all(|hashes| !hashes.is_empty());
        let is_published = |hash: &Hash| {
            let is_listed = published.as_ref().is_some_and(|published| published.zh.contains(hash));
            is_listed || of_packages.values().any(|hashes| hashes.contains(hash))
        };
        let mut compared = Self::default();
        for hash in unseen.into_iter().filter(|hash| !is_published(hash)) {
            let is_compared = match hash.scheme() {
                HashScheme::Zh => has_sums,
                HashScheme::H1 => has_all_h1,
                HashScheme::Unknown => continue,
            };
            if is_compared {
                compared.unpublished.insert(hash.clone());
            } else {
                compared.unknown += 1;
            }
        }
        compared
    }

    /// The warning about hashes that belong to no published package.
    pub(super) fn warning(&self, candidate: &Candidate<'_>, version: &Version) -> Option<Diagnostic> {
        let first = self.unpublished.first()?;
        let name = candidate.address.short(candidate.dialect);
        let (hash, compared) = match self.unpublished.iter().collect::<HashesByScheme<'_>>().only() {
            Some(HashScheme::Zh) => ("zh: hash", "SHA256SUMS"),
            Some(HashScheme::H1) => ("h1: hash", "the packages of all its platforms"),
            Some(HashScheme::Unknown) | None => ("hash", "SHA256SUMS and the packages of all its platforms"),
        };
        let message = match self.unpublished.len() {
            1 => format!("a recorded {hash} belongs to no published package of {name} {version}"),
            count => format!("{count} recorded {hash}es belong to no published package of {name} {version}"),
        };
        let warning = Diagnostic::warning(Code::HashNotPublished, message).note(format!("compared with {compared}"));
        let entry = candidate.lock_file.entry(candidate.address);
        let place = entry.and_then(|entry| entry.hashes.iter().find(|(hash, _)| hash == first));
        let warning = warning.at_each(place.map(|(_, location)| location), "");
        Some(warning.help(Help::text("find out who added it; to remove it: ").and(accept(name))))
    }
}

/// To lock a provider again with the hashes that are published.
pub(super) fn accept(name: String) -> LockRemedy {
    LockRemedy { providers: vec![name], accept_changed_hashes: true, ..LockRemedy::default() }
}

/// What is published about a release, if that is about all its packages: a registry may have a SHA256SUMS for each.
fn published(release: &ReleaseLookup<'_>, packages: &Packages) -> Option<Published> {
    let platforms = || release.source.platforms(release.address, release.version).ok();
    let seen_from = match packages.keys().next() {
        Some(platform) => platform.clone(),
        None => platforms()?.pop_first()?,
    };
    let published = release.source.published(&release.package(&seen_from)).ok()??;
    (published.packages.len() >= platforms()?.len()).then_some(published)
}

fn has_sums(package: &Fetched) -> bool {
    matches!(package.authentication, Authentication::Signed { .. } | Authentication::SigningSkipped)
}
