//! Registries: what they offer, and packages authenticated as OpenTofu does it
//! (`internal/getproviders/registry_source.go` and `package_authentication.go`).

mod cache;
mod cloud_hosts;
mod discovery;
mod protocol;
mod service;
mod signed;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use cache::RegistryCache;
pub(crate) use cloud_hosts::CloudHosts;
pub(crate) use discovery::Discovery;
use jiff::Timestamp;

#[doc(hidden)]
pub use protocol::{read_reported_hashes, read_versions};
pub(crate) use service::Service;

use super::available::AvailableVersions;
use super::download::{Archive, Downloaded, Downloader, Expected};
use super::error::{Result, SourceError};
use super::fetched::{Fetch, Fetched, Published};
use super::shared_facts::SharedFacts;
use crate::diagnostic::{Code, Diagnostic};
use crate::packages::archive::{HashesByPlatform, PackageDigest, PackageId};
use crate::packages::authentication::packages::{self, PackageReport};
use crate::packages::authentication::{
    HashDisposition, HashDispositions, Sha256Sums, SignaturePolicy,
};
use crate::provider::{Hash, HashesByScheme, Platform, ProviderAddress, PublicKey, Version};
use crate::system::OnceMap;
use protocol::{Metadata, Protocol};
use signed::{SignedReleases, SignedSums};

/// Facts about packages, and the trusted keys: a key among them must have signed the facts.
pub(super) type TrustedFacts = (Arc<SharedFacts>, Vec<PublicKey>);

/// A registry's reports about packages, by platform.
type Reports = BTreeMap<String, PackageReport>;

/// The registries that provider addresses name.
pub(crate) struct Registry {
    downloader: Downloader,
    policy: SignaturePolicy,
    /// Whether hashes that a registry reports are recorded without downloading the packages, once
    /// they match the signed sums.
    trusts_reports: bool,
    protocol: Protocol,
    releases: SignedReleases,
    /// The platform of each version that was asked about first.
    first_platforms: OnceMap<(ProviderAddress, Version), Platform>,
    /// Facts about packages that other machines have published.
    facts: Option<TrustedFacts>,
}

impl Registry {
    /// Registries that `discovery` finds and that are asked through `downloader`. `cache` says
    /// where releases were in earlier runs. Packages that `facts` are about need not be downloaded.
    pub(super) fn new(
        downloader: Downloader,
        discovery: Arc<Discovery>,
        policy: SignaturePolicy,
        trusts_reports: bool,
        cache: Option<RegistryCache>,
        facts: Option<TrustedFacts>,
    ) -> Self {
        let protocol = Protocol::new(downloader.client.clone(), discovery);
        let releases = SignedReleases::new(downloader.client.clone(), policy, cache);
        Self {
            downloader,
            policy,
            trusts_reports,
            protocol,
            releases,
            first_platforms: OnceMap::default(),
            facts,
        }
    }

    pub(super) fn versions(&self, address: &ProviderAddress) -> Result<AvailableVersions> {
        self.protocol.versions(address)
    }

    /// Fetches a package, and returns it with the `h1:` that the registry reports for the release.
    /// If its archive goes to a file, it is downloaded, whatever is remembered or reported of it.
    pub(super) fn package(&self, fetch: &Fetch<'_>) -> Result<(Fetched, HashesByPlatform)> {
        let package = fetch.package;
        if fetch.archive_file.is_some() {
            return self.fetch(&*self.protocol.metadata(package)?, fetch);
        }
        if let Some(digest) = self.remembered(package)
            && let Some(fetched) = self.still_published(package, digest)
        {
            return Ok(fetched);
        }
        let metadata = &*self.metadata(package)?;
        if self.trusts_reports
            && let Some(fetched) = self.reported(metadata)?
        {
            return Ok(fetched);
        }
        self.fetch(metadata, fetch)
    }

    /// A package that SHA256SUMS lists.
    fn fetch(&self, metadata: &Metadata, fetch: &Fetch<'_>) -> Result<(Fetched, HashesByPlatform)> {
        let package = &metadata.package;
        let (signed, downloaded) = self.signed_and_downloaded(metadata, fetch)?;
        let signed = signed?;
        signed.confirm(metadata)?;
        let reports = metadata.reports(self.policy.dialect)?;
        let Downloaded {
            digest,
            transferred,
            is_shared,
        } = downloaded?;
        packages::check(
            &reports,
            &package.platform,
            &metadata.response.shasum,
            digest.size,
            &digest.h1,
        )
        .map_err(|error| SourceError::not_authentic(package, error, None))?;
        // The cache contains only hashes computed here: a different project may not trust the same
        // keys.
        if !is_shared && let Some(cache) = &self.downloader.cache {
            cache.put_by_provider(package, &digest);
        }
        let hashes = listed(&digest);
        let (fetched, reported) =
            self.fetched(package, &signed, &reports, digest.h1.clone(), hashes);
        Ok((
            Fetched {
                downloaded: transferred,
                digest: Some(digest),
                ..fetched
            },
            reported,
        ))
    }

    /// The signed sums of a package, and the package, which are fetched at the same time.
    fn signed_and_downloaded(
        &self,
        metadata: &Metadata,
        fetch: &Fetch<'_>,
    ) -> Result<(Result<Arc<SignedSums>>, Result<Downloaded>)> {
        let Metadata {
            package, response, ..
        } = metadata;
        let zh = Sha256Sums::advertised(&response.shasum)
            .map_err(|error| SourceError::not_authentic(package, error, None))?;
        let is_refused = AtomicBool::new(false);
        let is_wanted = || !is_refused.load(Ordering::Relaxed);
        let report = metadata
            .reports(self.policy.dialect)
            .unwrap_or_default()
            .remove(&package.platform.to_string());
        let size = report.and_then(|report| report.package_size);
        Ok(std::thread::scope(|scope| {
            let signed = scope.spawn(|| {
                let signed = self.releases.get(metadata);
                is_refused.store(signed.is_err(), Ordering::Relaxed);
                signed
            });
            let shared = if fetch.archive_file.is_none() {
                self.shared(metadata, &zh)
            } else {
                None
            };
            let downloaded = match shared {
                Some(digest) => Ok(Downloaded {
                    digest,
                    transferred: 0,
                    is_shared: true,
                }),
                None => metadata.url(&response.download_url).and_then(|url| {
                    let expected = Some(Expected {
                        zh: &zh,
                        by: "SHA256SUMS",
                    });
                    let archive = Archive {
                        size,
                        expected,
                        is_wanted: &is_wanted,
                        ..Archive::at(&url)
                    };
                    self.downloader.package(fetch, &url, &archive)
                }),
            };
            (
                signed
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                downloaded,
            )
        }))
    }

    /// The metadata of a package. If the package may have to be downloaded, requests the shared
    /// facts at the same time.
    fn metadata(&self, package: &PackageId) -> Result<Arc<Metadata>> {
        std::thread::scope(|scope| {
            if let Some((facts, _)) = &self.facts
                && self.downloader.cached(package).is_none()
            {
                scope.spawn(|| facts.envelope(&package.address, &package.version));
            }
            self.protocol.metadata(package)
        })
    }

    /// The shared facts about a package that is not in the cache. Like a download they are used
    /// only if SHA256SUMS lists the `zh:`. Facts that contradict the registry's report are not
    /// used: the package itself decides.
    fn shared(&self, metadata: &Metadata, zh: &Hash) -> Option<PackageDigest> {
        let Metadata {
            package, response, ..
        } = metadata;
        let (facts, keys) = self.facts.as_ref()?;
        if self
            .downloader
            .cache
            .as_ref()
            .is_some_and(|cache| cache.get(zh, &package.address.name).is_some())
        {
            return None;
        }
        let digest = facts.digest(package, zh, keys)?;
        let reports = metadata.reports(self.policy.dialect).ok()?;
        packages::check(
            &reports,
            &package.platform,
            &response.shasum,
            digest.size,
            &digest.h1,
        )
        .ok()?;
        facts.count_use();
        Some(digest)
    }

    /// A package as the registry reports it, once the report matches the signed sums; none if it
    /// does not report an `h1:`.
    fn reported(&self, metadata: &Metadata) -> Result<Option<(Fetched, HashesByPlatform)>> {
        let Metadata {
            package, response, ..
        } = metadata;
        let signed = self.releases.get(metadata)?;
        let zh = signed.confirm(metadata)?;
        let reports = metadata.reports(self.policy.dialect)?;
        let h1 = packages::authenticated(
            &reports,
            &package.platform,
            &response.shasum,
            &signed.sums.packages().collect(),
        )
        .map_err(|error| SourceError::not_authentic(package, error, None))?;
        Ok(h1.map(|h1| {
            let mut hashes = HashDispositions::default();
            hashes.add(HashDisposition::Listed, [zh]);
            hashes.add(HashDisposition::ReportedByRegistry, [h1.clone()]);
            self.fetched(package, &signed, &reports, h1, hashes)
        }))
    }

    /// The hashes of a package that an earlier run has verified. Its metadata is not needed: the
    /// SHA256SUMS that another platform's metadata names shows whether the package is still
    /// published.
    fn remembered(&self, package: &PackageId) -> Option<PackageDigest> {
        let PackageId {
            address, version, ..
        } = package;
        let is_known = || {
            let service = self.protocol.origin(&address.hostname);
            service.is_ok_and(|service| self.releases.is_known(&service, address, version))
        };
        if self.trusts_reports || !is_known() {
            return None;
        }
        let digest = self.downloader.cached(package)?;
        (self.first_platform(package) != package.platform).then_some(digest)
    }

    /// The platform whose metadata is fetched in any case.
    fn first_platform(&self, package: &PackageId) -> Platform {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        self.first_platforms
            .get_or_compute(&(address.clone(), version.clone()), || platform.clone())
    }

    /// A cached package, if the published release contains it.
    fn still_published(
        &self,
        package: &PackageId,
        digest: PackageDigest,
    ) -> Option<(Fetched, HashesByPlatform)> {
        let first = PackageId {
            platform: self.first_platform(package),
            ..package.clone()
        };
        let metadata = self.protocol.metadata(&first).ok()?;
        let signed = self.releases.get(&metadata).ok()?;
        let reports = metadata.reports(self.policy.dialect).ok()?;
        packages::check(
            &reports,
            &package.platform,
            digest.zh.value(),
            digest.size,
            &digest.h1,
        )
        .ok()?;
        let is_listed = signed.sums.packages().any(|zh| zh == digest.zh);
        let hashes = listed(&digest);
        is_listed.then(|| self.fetched(package, &signed, &reports, digest.h1, hashes))
    }

    /// A package of a release, with the known hashes of the package itself, and the `h1:` that the
    /// registry reports for the release.
    fn fetched(
        &self,
        package: &PackageId,
        signed: &SignedSums,
        reports: &Reports,
        h1: Hash,
        mut hashes: HashDispositions,
    ) -> (Fetched, HashesByPlatform) {
        hashes.extend(signed.sums.dispositions());
        let mut not_listed = None;
        if package.address.hostname.is_default_of(self.policy.dialect) {
            let reported = packages::reported(reports);
            not_listed = unlisted(package, &reported, &signed.sums);
            hashes.add(HashDisposition::ReportedByRegistry, reported);
        }
        let authentication = signed.authentication.clone();
        let warnings = signed
            .warnings(package)
            .into_iter()
            .chain(not_listed)
            .collect();
        let zh = signed.sums.lines().map(|(_, zh)| zh.clone()).collect();
        (
            Fetched {
                h1,
                digest: None,
                hashes,
                authentication,
                warnings,
                downloaded: 0,
            },
            reported_h1(reports, &zh),
        )
    }

    /// The `zh:` of a package in the verified SHA256SUMS; the package is not fetched.
    pub(super) fn listed(&self, package: &PackageId) -> Result<Hash> {
        let metadata = self.protocol.metadata(package)?;
        self.releases.get(&metadata)?.confirm(&metadata)
    }

    /// Returns the release of a version; no package is fetched.
    pub(super) fn published(&self, package: &PackageId) -> Result<Published> {
        let metadata = self.protocol.metadata(package)?;
        let signed = self.releases.get(&metadata)?;
        let mut published = Published::of(
            &signed.sums,
            signed.authentication.clone(),
            signed.warnings(package),
        );
        let reports = metadata.reports(self.policy.dialect)?;
        for (platform, report) in &reports {
            let Some((sums, hashes)) = listed_report(report, &published.zh) else {
                continue;
            };
            for (_, known) in published
                .packages
                .iter_mut()
                .filter(|(sum, _)| sums.contains(sum))
            {
                known.extend(hashes.iter().cloned());
            }
            if let Ok(platform) = platform.parse() {
                published.h1.insert(platform, hashes);
            }
        }
        Ok(published)
    }

    /// The time of the last change of the SHA256SUMS of a package, if its server sends it.
    pub(super) fn sums_modified(&self, package: &PackageId) -> Result<Option<Timestamp>> {
        let metadata = self.protocol.metadata(package)?;
        Ok(self.releases.get(&metadata)?.last_modified)
    }

    /// Fetches SHA256SUMS and its signature from where they were in an earlier run, in case they
    /// are still there.
    pub(super) fn prepare_release(&self, address: &ProviderAddress, version: &Version) {
        if let Ok(service) = self.protocol.origin(&address.hostname) {
            self.releases.prepare(&service, address, version);
        }
    }

    /// Fetches the signed facts about a package.
    pub(super) fn prepare(&self, package: &PackageId) {
        if self.remembered(package).is_none()
            && let Ok(metadata) = self.metadata(package)
        {
            drop(self.releases.get(&metadata));
        }
    }
}

/// The `h1:` that a registry reports for the packages in SHA256SUMS, which has these `zh:`.
fn reported_h1(reports: &Reports, sums: &BTreeSet<Hash>) -> HashesByPlatform {
    let of_platform = |(platform, report): (&String, &PackageReport)| {
        let (_, h1) = listed_report(report, sums)?;
        Some((platform.parse().ok()?, h1))
    };
    reports.iter().filter_map(of_platform).collect()
}

/// The `zh:` and the `h1:` that a registry reports for a package, if SHA256SUMS has the `zh:`.
fn listed_report(
    report: &PackageReport,
    sums: &BTreeSet<Hash>,
) -> Option<(BTreeSet<Hash>, BTreeSet<Hash>)> {
    let HashesByScheme {
        h1,
        zh,
        unknown: _,
        malformed,
    } = report.hashes.0.iter().collect();
    let has_unknown = !malformed.is_empty() || zh.iter().any(|zh| !sums.contains(*zh));
    let is_listed = !zh.is_empty() && !has_unknown;
    let owned = |hashes: Vec<&Hash>| hashes.into_iter().cloned().collect();
    (is_listed && !h1.is_empty()).then(|| (owned(zh), owned(h1)))
}

/// A warning about `zh:` that a registry reports and SHA256SUMS does not list. They are recorded,
/// as OpenTofu does.
fn unlisted(
    package: &PackageId,
    reported: &BTreeSet<Hash>,
    sums: &Sha256Sums,
) -> Option<Diagnostic> {
    let listed: HashSet<_> = sums.lines().map(|(_, zh)| zh).collect();
    let HashesByScheme {
        h1: _,
        zh,
        unknown: _,
        malformed: _,
    } = reported.iter().collect();
    let count = zh.into_iter().filter(|hash| !listed.contains(hash)).count();
    let PackageId {
        address, version, ..
    } = package;
    if count == 0 {
        return None;
    }
    let host = &address.hostname;
    let message = format!(
        "SHA256SUMS does not list {count} of the zh: hashes that {host} reports for {address} {version}"
    );
    let warning = Diagnostic::warning(Code::HashNotPublished, message);
    Some(
        warning
            .note("they are recorded because the registry reports them; no signature covers them"),
    )
}

/// Facts about the hashes of a package that SHA256SUMS lists.
fn listed(digest: &PackageDigest) -> HashDispositions {
    let mut hashes = HashDispositions::computed(digest.hashes().map(Clone::clone));
    hashes.add(HashDisposition::Listed, [digest.zh.clone()]);
    hashes
}
