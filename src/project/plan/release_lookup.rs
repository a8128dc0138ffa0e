//! Comparison of an entry with the packages of its release: packages that this run and earlier ones
//! have seen, and others if they are needed.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::Candidate;
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy};
use crate::packages::archive::{
    ComparedHashes, HashCache, PackageDigest, PackageId, ReleaseEvidence,
};
use crate::packages::{Fetched, Packages, ProgressSink, Published, Source, SourceError};
use crate::provider::{
    Authentication, Hash, HashScheme, HashesByScheme, Platform, ProviderAddress, Version,
};
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Packages that are usually locked, which are checked first.
const COMMON: [&str; 5] = [
    "linux_amd64",
    "darwin_arm64",
    "darwin_amd64",
    "windows_amd64",
    "linux_arm64",
];

/// A release whose packages are checked.
#[derive(Clone, Copy)]
pub(in crate::project) struct ReleaseLookup<'a> {
    pub(in crate::project) address: &'a ProviderAddress,
    pub(in crate::project) version: &'a Version,
    pub(in crate::project) source: &'a Source,
    pub(in crate::project) cache: Option<&'a HashCache>,
    pub(in crate::project) progress: ProgressSink<'a>,
}

/// Whether an entry is for the published release. An entry without `zh:` hashes does not show which
/// archives were locked, so only a package with a recorded hash proves that the same release was
/// locked.
pub(super) enum Confirmation {
    /// A package has a recorded hash.
    Confirmed,
    /// No package has a recorded hash. If the entry has `h1:` hashes only, these are all packages
    /// of the release.
    Contradicted,
    /// No checked package has a recorded hash. Contains the reasons why other packages could not be
    /// checked.
    Incomplete(Vec<String>),
}

impl ReleaseLookup<'_> {
    pub(in crate::project) fn package(&self, platform: &Platform) -> PackageId {
        PackageId::new(self.address, self.version, platform)
    }

    /// Checks packages until every recorded `h1:` is explained or there are no more; as many at a
    /// time as there are hashes to explain. Returns why packages could not be checked.
    pub(in crate::project) fn fetch_until_explained(
        &self,
        recorded: &BTreeSet<Hash>,
        platforms: &BTreeSet<Platform>,
        evidence: &mut ReleaseEvidence,
    ) -> Vec<SourceError> {
        let mut errors = Vec::new();
        let known = &evidence.h1_by_platform;
        let mut unchecked = likely_first(
            platforms
                .iter()
                .filter(|platform| !known.contains_key(platform)),
        );
        while !unchecked.is_empty() {
            let unexplained = evidence.unexplained_h1(recorded).len();
            if unexplained == 0 {
                break;
            }
            let number = unexplained.min(unchecked.len());
            let next = unchecked.drain(..number).cloned().collect();
            errors.extend(self.fetch_h1(next, evidence));
        }
        errors
    }

    /// Fetches packages and notes their hashes. Returns why some that exist could not be fetched.
    pub(in crate::project) fn fetch_h1(
        &self,
        platforms: Vec<Platform>,
        evidence: &mut ReleaseEvidence,
    ) -> Vec<SourceError> {
        let results = parallel::map(platforms, WAITING_REQUESTS, |platform| {
            let package = self.package(&platform);
            (platform, self.source.fetch_once(&package, self.progress))
        });
        let mut errors = Vec::new();
        for (platform, result) in results {
            match result {
                Ok(package) => {
                    let hashes = evidence.h1_by_platform.entry(platform).or_default();
                    hashes.insert(package.h1.clone());
                }
                // The release has no package for it.
                Err(error) if error.is_platform_missing() => {}
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// Hashes of the packages that are in the cache. A package there may have been replaced since.
    pub(super) fn cached_evidence(&self) -> ReleaseEvidence {
        let mut evidence = ReleaseEvidence::default();
        for (package, digest) in self.cached_packages() {
            let h1 = BTreeSet::from(digest.into_h1());
            evidence.h1_by_platform.insert(package.platform, h1);
        }
        evidence
    }

    fn cached_packages(&self) -> impl Iterator<Item = (PackageId, PackageDigest)> {
        self.cache
            .into_iter()
            .flat_map(|cache| cache.packages_of(self.address, self.version))
    }

    /// Returns the published facts about the release for one platform; `None` if a mirror supplies
    /// it, or if they cannot be requested.
    pub(super) fn published_facts(&self, platform: &Platform) -> Option<Published> {
        self.source
            .published_release(&self.package(platform))
            .ok()?
    }

    /// Compares recorded hashes with the fetched packages. If none has a recorded hash and the
    /// entry has `h1:` hashes only, looks at the other packages of the release until one has: first
    /// in the report of the registry, then at packages that the cache knows, then at downloads.
    pub(super) fn find_confirmation(
        &self,
        recorded: &BTreeSet<Hash>,
        packages: &Packages,
    ) -> Confirmation {
        if packages
            .values()
            .any(|package| recorded.iter().any(|hash| package.hashes.confirms(hash)))
        {
            return Confirmation::Confirmed;
        }
        // Other packages are of the same release, and have no other `zh:`.
        let by_scheme: HashesByScheme<'_> = recorded.iter().collect();
        if by_scheme.h1.is_empty() || !by_scheme.zh.is_empty() {
            return Confirmation::Contradicted;
        }
        if packages
            .values()
            .any(|package| has_recorded_hash(package, recorded))
        {
            return Confirmation::Confirmed;
        }
        self.confirm_by_others(recorded, packages)
    }

    /// Looks for a recorded hash in the registry's report, in the cache, and in the packages of
    /// other platforms, which are fetched one by one.
    fn confirm_by_others(&self, recorded: &BTreeSet<Hash>, packages: &Packages) -> Confirmation {
        let published = packages
            .keys()
            .next()
            .and_then(|platform| self.published_facts(platform));
        let mut listed = 0;
        if let Some(published) = &published {
            if self.is_any_published(recorded, published) {
                return Confirmation::Confirmed;
            }
            listed = published.packages.len();
        }

        let platforms = match self.source.platforms(self.address, self.version) {
            Ok(platforms) => platforms,
            Err(error) => return Confirmation::Incomplete(vec![error.to_string()]),
        };
        let mut seen = packages.len();
        let mut why_not_seen = Vec::new();
        let others = platforms
            .iter()
            .filter(|platform| !packages.contains_key(platform));
        for platform in likely_first(others) {
            match self
                .source
                .fetch_once(&self.package(platform), self.progress)
            {
                Ok(package) if has_recorded_hash(&package, recorded) => {
                    return Confirmation::Confirmed;
                }
                Ok(_) => seen += 1,
                Err(error) => why_not_seen.push(format!(
                    "cannot look at the package for {platform}: {error}"
                )),
            }
        }
        // A package that the registry does not list may have the hash.
        if listed > seen && why_not_seen.is_empty() {
            why_not_seen.push(format!(
                "SHA256SUMS lists {listed} packages, and the registry lists {seen} of them"
            ));
        }
        if why_not_seen.is_empty() {
            Confirmation::Contradicted
        } else {
            Confirmation::Incomplete(why_not_seen)
        }
    }

    /// Whether the registry's report, or a published package in the cache, has a recorded hash.
    fn is_any_published(&self, recorded: &BTreeSet<Hash>, published: &Published) -> bool {
        if published
            .h1
            .values()
            .flatten()
            .any(|hash| recorded.contains(hash))
        {
            return true;
        }
        for (_, digest) in self.cached_packages() {
            if digest.is_recorded_in(recorded) && published.packages.contains_key(&digest.zh) {
                return true;
            }
        }
        false
    }

    /// Compares recorded hashes with the packages of this run, and with other evidence if these do
    /// not have all of them. Fetches no package. Malformed hashes, which need no comparison, are
    /// omitted.
    pub(super) fn compare_hashes(
        &self,
        recorded: &BTreeSet<Hash>,
        packages: &Packages,
    ) -> ComparedHashes {
        let mut unseen = Vec::new();
        for hash in recorded {
            let mut packages = packages.values();
            if hash.is_well_formed() && !packages.any(|package| package.hashes.contains(hash)) {
                unseen.push(hash);
            }
        }
        if unseen.is_empty() {
            return ComparedHashes::default();
        }
        self.collect_evidence(packages).compare(unseen)
    }

    /// Collects what the registry publishes, and the `h1:` of published packages that this run has
    /// fetched or that are in the cache. All `h1:` of the release are known if each published
    /// package has one.
    fn collect_evidence(&self, packages: &Packages) -> ReleaseEvidence {
        let mut evidence = ReleaseEvidence::default();
        // The hashes of each published package, by its `zh:`.
        let mut hashes_of_packages = BTreeMap::new();
        let mut has_all_zh = packages
            .values()
            .any(|package| is_compared_with_sums(package));
        if let Some(published) = self.published_in_full(packages) {
            has_all_zh = true;
            hashes_of_packages = published.packages;
            evidence.hashes_of_no_platform = published.zh;
        }
        let mut digests = Vec::new();
        for package in packages.values() {
            digests.extend(package.digest.clone());
        }
        digests.extend(self.cached_packages().map(|(_, digest)| digest));
        for digest in digests {
            if let Some(hashes) = hashes_of_packages.get_mut(&digest.zh) {
                hashes.extend(digest.into_h1());
            }
        }

        if has_all_zh {
            evidence.complete_schemes.insert(HashScheme::Zh);
        }
        let mut published_packages = hashes_of_packages.values();
        if published_packages.len() > 0 && published_packages.all(|hashes| !hashes.is_empty()) {
            evidence.complete_schemes.insert(HashScheme::H1);
        }
        for hashes in hashes_of_packages.into_values() {
            evidence.hashes_of_no_platform.extend(hashes);
        }
        evidence
    }

    /// Published facts, if they are about all packages of the release: a registry may have a
    /// SHA256SUMS for each.
    fn published_in_full(&self, packages: &Packages) -> Option<Published> {
        let mut platform = packages.keys().next().cloned();
        if platform.is_none() {
            let mut platforms = self.source.platforms(self.address, self.version).ok()?;
            platform = platforms.pop_first();
        }
        let published = self.published_facts(&platform?)?;
        let platforms = self.source.platforms(self.address, self.version).ok()?;
        if published.packages.len() < platforms.len() {
            return None;
        }
        Some(published)
    }
}

/// The warning about recorded hashes that belong to no published package; `None` if there are none.
pub(super) fn unpublished_warning(
    candidate: &Candidate<'_>,
    version: &Version,
    unpublished: &BTreeSet<Hash>,
) -> Option<Diagnostic> {
    let first = unpublished.first()?;
    let name = candidate.name();
    let (hash, compared) = match unpublished.iter().collect::<HashesByScheme<'_>>().only() {
        Some(HashScheme::Zh) => ("zh: hash", "SHA256SUMS"),
        Some(HashScheme::H1) => ("h1: hash", "the packages of all its platforms"),
        Some(HashScheme::Unknown) | None => {
            ("hash", "SHA256SUMS and the packages of all its platforms")
        }
    };
    let message = match unpublished.len() {
        1 => format!("a recorded {hash} belongs to no published package of {name} {version}"),
        count => {
            format!("{count} recorded {hash}es belong to no published package of {name} {version}")
        }
    };
    let warning = Diagnostic::warning(Code::HashNotPublished, message)
        .note(format!("compared with {compared}"));
    let warning = warning.at_each_location(candidate.location_of_hash(|hash| hash == first));
    Some(
        warning
            .help(Help::text("find out who added it; to remove it: ").and(remedy_to_accept(name))),
    )
}

/// Command that locks a provider again with the published hashes.
pub(super) fn remedy_to_accept(name: String) -> LockRemedy {
    LockRemedy {
        providers: vec![name],
        accept_changed_hashes: true,
        ..LockRemedy::default()
    }
}

/// Whether a package was compared with SHA256SUMS, which a mirror does not have.
fn is_compared_with_sums(package: &Fetched) -> bool {
    matches!(
        package.authentication,
        Authentication::Signed { .. } | Authentication::SigningSkipped
    )
}

/// Whether a package has one of the recorded hashes.
fn has_recorded_hash(package: &Fetched, recorded: &BTreeSet<Hash>) -> bool {
    let is_recorded = package
        .digest
        .as_ref()
        .is_some_and(|digest| digest.is_recorded_in(recorded));
    is_recorded || recorded.iter().any(|hash| package.hashes.confirms(hash))
}

/// Platforms in the order in which their packages are checked.
fn likely_first<'a>(platforms: impl Iterator<Item = &'a Platform>) -> Vec<&'a Platform> {
    let mut sorted: Vec<_> = platforms.collect();
    sorted.sort_by_key(|platform| {
        let name = platform.to_string();
        let rank = COMMON.iter().position(|common| *common == name);
        rank.unwrap_or(COMMON.len())
    });
    sorted
}
