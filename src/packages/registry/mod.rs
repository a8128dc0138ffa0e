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

/// Facts about packages that are trusted if one of the keys has signed them.
#[derive(Clone)]
pub(super) struct TrustedFacts {
    pub(super) facts: Arc<SharedFacts>,
    pub(super) trusted_keys: Vec<PublicKey>,
}

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

/// A verified release, and the registry's reports about its packages.
struct Release {
    signed: Arc<SignedSums>,
    reports: Reports,
}

/// The hashes of a package, and the release that contains it.
struct Proof {
    release: Release,
    h1: Hash,
    /// The known hashes of the package itself.
    hashes: HashDispositions,
    /// All hashes, if this run has computed them or got them from shared facts.
    digest: Option<PackageDigest>,
    /// Downloaded bytes.
    downloaded: u64,
}

/// The hashes of a registry's report about a package, each of whose `zh:` SHA256SUMS lists.
struct ConfirmedReport {
    zh: BTreeSet<Hash>,
    h1: BTreeSet<Hash>,
}

impl Release {
    /// Checks a package against the reports. `shasum` is the text that the registry sent.
    fn check_package(
        &self,
        platform: &Platform,
        shasum: &str,
        digest: &PackageDigest,
    ) -> std::result::Result<(), String> {
        check_against_reports(&self.reports, platform, shasum, digest)
    }
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
    pub(super) fn fetch_with_reports(
        &self,
        fetch: &Fetch<'_>,
    ) -> Result<(Fetched, HashesByPlatform)> {
        let proof = self.cheapest_proof(fetch)?;
        Ok(self.fetched_with_reports(fetch.package, proof))
    }

    /// The cheapest proof of a package's hashes:
    ///
    /// 1. an earlier run, if the release still contains the package;
    /// 2. the registry's report, if the user trusts reports;
    /// 3. facts that another machine has computed, and signed with a trusted key;
    /// 4. the archive.
    ///
    /// SHA256SUMS must list each of them. An archive that goes to a file is downloaded in any case.
    fn cheapest_proof(&self, fetch: &Fetch<'_>) -> Result<Proof> {
        let package = fetch.package;
        if fetch.archive_file.is_some() {
            let metadata = self.protocol.metadata(package)?;
            return self.proof_by_package(&metadata, fetch);
        }

        if let Some(proof) = self.proof_by_earlier_run(package) {
            return Ok(proof);
        }
        let metadata = self.metadata_with_facts(package)?;
        if self.trusts_reports
            && let Some(proof) = self.proof_by_report(&metadata)?
        {
            return Ok(proof);
        }
        self.proof_by_package(&metadata, fetch)
    }

    /// The proof by the package itself, or by shared facts about it. SHA256SUMS is fetched at the
    /// same time.
    fn proof_by_package(&self, metadata: &Metadata, fetch: &Fetch<'_>) -> Result<Proof> {
        let package = &metadata.package;
        let shasum = &metadata.response.shasum;
        let zh = Sha256Sums::advertised(shasum)
            .map_err(|error| SourceError::not_authentic(package, error))?;
        let is_refused = AtomicBool::new(false);
        // The signature is checked while the package arrives. A release that is refused ends the
        // download.
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                if self.releases.verified_sums(metadata).is_err() {
                    is_refused.store(true, Ordering::Relaxed);
                }
            });
            self.shared_or_downloaded(metadata, fetch, &zh, &is_refused)
        });

        // A release that is refused outranks a package that could not be downloaded.
        self.releases
            .verified_sums(metadata)?
            .confirmed_zh(metadata)?;
        let release = self.verified_release(metadata)?;
        let Downloaded {
            digest,
            transferred,
            is_shared,
        } = received?;
        release
            .check_package(&package.platform, shasum, &digest)
            .map_err(|error| SourceError::not_authentic(package, error))?;
        // The cache contains only hashes computed here: a different project may not trust the same
        // keys.
        if !is_shared && let Some(cache) = &self.downloader.cache {
            cache.store_by_provider(package, &digest);
        }
        Ok(Proof {
            release,
            h1: digest.h1.clone(),
            hashes: listed_dispositions(&digest),
            digest: Some(digest),
            downloaded: transferred,
        })
    }

    /// The hashes of a package: from shared facts, or of its archive, which is downloaded until
    /// `is_refused`.
    fn shared_or_downloaded(
        &self,
        metadata: &Metadata,
        fetch: &Fetch<'_>,
        zh: &Hash,
        is_refused: &AtomicBool,
    ) -> Result<Downloaded> {
        if fetch.archive_file.is_none()
            && let Some(digest) = self.shared_digest(metadata, zh)
        {
            return Ok(Downloaded {
                digest,
                transferred: 0,
                is_shared: true,
            });
        }

        let url = metadata.absolute_url(&metadata.response.download_url)?;
        // Reports that cannot be read are an error once SHA256SUMS is verified.
        let reports = metadata.reports(self.policy.dialect).unwrap_or_default();
        let report = reports.get(&metadata.package.platform.to_string());
        let archive = Archive {
            size: report.and_then(|report| report.package_size),
            expected: Some(Expected {
                zh,
                stated_by: "SHA256SUMS",
            }),
            is_wanted: &|| !is_refused.load(Ordering::Relaxed),
            ..Archive::at_url(&url)
        };
        self.downloader.cached_or_downloaded(fetch, &url, &archive)
    }

    /// The verified release of a package, with the registry's reports.
    fn verified_release(&self, metadata: &Metadata) -> Result<Release> {
        Ok(Release {
            signed: self.releases.verified_sums(metadata)?,
            reports: metadata.reports(self.policy.dialect)?,
        })
    }

    /// The metadata of a package. If the package may have to be downloaded, the shared facts about
    /// it are requested at the same time, and kept.
    fn metadata_with_facts(&self, package: &PackageId) -> Result<Arc<Metadata>> {
        std::thread::scope(|scope| {
            if let Some(TrustedFacts { facts, .. }) = &self.facts
                && self.downloader.cached_digest(package).is_none()
            {
                scope.spawn(|| facts.request_envelope(&package.address, &package.version));
            }
            self.protocol.metadata(package)
        })
    }

    /// The shared facts about a package that is not in the cache. Like a download they are used
    /// only if SHA256SUMS lists the `zh:`. Facts that contradict the registry's report are not
    /// used: the package itself decides.
    fn shared_digest(&self, metadata: &Metadata, zh: &Hash) -> Option<PackageDigest> {
        let Metadata {
            package, response, ..
        } = metadata;
        let TrustedFacts {
            facts,
            trusted_keys,
        } = self.facts.as_ref()?;
        if let Some(cache) = &self.downloader.cache
            && cache.digest_by_zh(zh, &package.address.name).is_some()
        {
            return None;
        }
        let digest = facts.signed_digest(package, zh, trusted_keys)?;
        let reports = metadata.reports(self.policy.dialect).ok()?;
        check_against_reports(&reports, &package.platform, &response.shasum, &digest).ok()?;
        facts.count_use();
        Some(digest)
    }

    /// The proof by the registry's report, once the report matches the signed sums; none if the
    /// registry does not report an `h1:`.
    fn proof_by_report(&self, metadata: &Metadata) -> Result<Option<Proof>> {
        let Metadata {
            package, response, ..
        } = metadata;
        let zh = self
            .releases
            .verified_sums(metadata)?
            .confirmed_zh(metadata)?;
        let release = self.verified_release(metadata)?;
        let h1 = packages::reported_h1_to_record(
            &release.reports,
            &package.platform,
            &response.shasum,
            &release.signed.sums.packages().collect(),
        )
        .map_err(|error| SourceError::not_authentic(package, error))?;
        let Some(h1) = h1 else {
            return Ok(None);
        };

        let mut hashes = HashDispositions::default();
        hashes.add(HashDisposition::Listed, [zh]);
        hashes.add(HashDisposition::ReportedByRegistry, [h1.clone()]);
        Ok(Some(Proof {
            release,
            h1,
            hashes,
            digest: None,
            downloaded: 0,
        }))
    }

    /// The hashes of a package that an earlier run has verified, if its metadata is not needed: the
    /// SHA256SUMS that another platform's metadata names shows whether the package is still
    /// published. There are none for the platform that the run requests first, or if the user
    /// trusts the registry's reports.
    fn verified_before(&self, package: &PackageId) -> Option<PackageDigest> {
        if self.trusts_reports || !self.is_release_known(package) {
            return None;
        }
        let digest = self.downloader.cached_digest(package)?;
        if self.first_platform(package) == package.platform {
            return None;
        }
        Some(digest)
    }

    /// Whether an earlier run has seen the release of a package.
    fn is_release_known(&self, package: &PackageId) -> bool {
        let PackageId {
            address, version, ..
        } = package;
        match self.protocol.registry_origin(&address.hostname) {
            Ok(service) => self.releases.was_seen_before(&service, address, version),
            Err(_) => false,
        }
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

    /// The proof by an earlier run, if the published release contains the package.
    fn proof_by_earlier_run(&self, package: &PackageId) -> Option<Proof> {
        let digest = self.verified_before(package)?;
        let first_asked = PackageId {
            platform: self.first_platform(package),
            ..package.clone()
        };
        // The metadata of one platform lead to SHA256SUMS, which lists the packages of all.
        let metadata = self.protocol.metadata(&first_asked).ok()?;
        let release = self.verified_release(&metadata).ok()?;
        // The registry may report a different package now.
        release
            .check_package(&package.platform, digest.zh.value(), &digest)
            .ok()?;
        // An earlier run may have seen a release that was replaced since.
        if !release.signed.sums.packages().any(|zh| zh == digest.zh) {
            return None;
        }
        Some(Proof {
            release,
            hashes: listed_dispositions(&digest),
            h1: digest.h1,
            digest: None,
            downloaded: 0,
        })
    }

    /// A package with proven hashes, and the `h1:` that the registry reports for its release.
    fn fetched_with_reports(
        &self,
        package: &PackageId,
        proof: Proof,
    ) -> (Fetched, HashesByPlatform) {
        let Proof {
            release: Release { signed, reports },
            h1,
            mut hashes,
            digest,
            downloaded,
        } = proof;
        hashes.extend(signed.sums.dispositions());
        let mut warnings = signed.expiry_warnings(package);
        // As in OpenTofu: reports without a signature are believed of its own registry only.
        if package.address.hostname.is_default_of(self.policy.dialect) {
            let reported = packages::reported(&reports);
            warnings.extend(unlisted_warning(package, &reported, &signed.sums));
            hashes.add(HashDisposition::ReportedByRegistry, reported);
        }
        let fetched = Fetched {
            h1,
            digest,
            hashes,
            authentication: signed.authentication.clone(),
            warnings,
            downloaded,
        };
        let zh = signed.sums.lines().map(|(_, zh)| zh.clone()).collect();
        (fetched, reported_h1(&reports, &zh))
    }

    /// The `zh:` of a package in the verified SHA256SUMS; the package is not fetched.
    pub(super) fn listed_zh(&self, package: &PackageId) -> Result<Hash> {
        let metadata = self.protocol.metadata(package)?;
        self.releases
            .verified_sums(&metadata)?
            .confirmed_zh(&metadata)
    }

    /// Returns what is known of a published version without fetching a package: the signed hashes,
    /// and the `h1:` that the registry reports.
    pub(super) fn published_release(&self, package: &PackageId) -> Result<Published> {
        let metadata = self.protocol.metadata(package)?;
        let signed = self.releases.verified_sums(&metadata)?;
        let mut published = Published::of(
            &signed.sums,
            signed.authentication.clone(),
            signed.expiry_warnings(package),
        );
        let reports = metadata.reports(self.policy.dialect)?;
        for report in reports.values() {
            let Some(confirmed) = confirmed_report(report, &published.zh) else {
                continue;
            };
            for zh in &confirmed.zh {
                if let Some(hashes) = published.packages.get_mut(zh) {
                    hashes.extend(confirmed.h1.iter().cloned());
                }
            }
        }
        published.h1 = reported_h1(&reports, &published.zh);
        Ok(published)
    }

    /// The time of the last change of the SHA256SUMS of a package, if its server sends it.
    pub(super) fn sums_modified(&self, package: &PackageId) -> Result<Option<Timestamp>> {
        let metadata = self.protocol.metadata(package)?;
        Ok(self.releases.verified_sums(&metadata)?.last_modified)
    }

    /// Fetches SHA256SUMS and its signature from where they were in an earlier run, in case they
    /// are still there.
    pub(super) fn prefetch_release(&self, address: &ProviderAddress, version: &Version) {
        if let Ok(service) = self.protocol.registry_origin(&address.hostname) {
            self.releases
                .prefetch_from_known_urls(&service, address, version);
        }
    }

    /// Fetches the signed facts about a package.
    pub(super) fn prefetch(&self, package: &PackageId) {
        if self.verified_before(package).is_none()
            && let Ok(metadata) = self.metadata_with_facts(package)
        {
            drop(self.releases.verified_sums(&metadata));
        }
    }
}

/// The `h1:` that a registry reports, by platform. `sums` are the `zh:` of SHA256SUMS.
fn reported_h1(reports: &Reports, sums: &BTreeSet<Hash>) -> HashesByPlatform {
    let mut reported = HashesByPlatform::new();
    for (platform, report) in reports {
        // Users cannot select a platform whose name is not valid.
        if let Some(confirmed) = confirmed_report(report, sums)
            && let Ok(platform) = platform.parse()
        {
            reported.insert(platform, confirmed.h1);
        }
    }
    reported
}

/// The hashes of a report that has an `h1:` and a `zh:`. A report is ignored as a whole if
/// SHA256SUMS lacks a `zh:` of it.
fn confirmed_report(report: &PackageReport, sums: &BTreeSet<Hash>) -> Option<ConfirmedReport> {
    let HashesByScheme {
        h1,
        zh,
        unknown: _,
        malformed,
    } = report.hashes.0.iter().collect();
    if h1.is_empty() || zh.is_empty() || !malformed.is_empty() {
        return None;
    }
    if zh.iter().any(|zh| !sums.contains(*zh)) {
        return None;
    }
    Some(ConfirmedReport {
        zh: zh.into_iter().cloned().collect(),
        h1: h1.into_iter().cloned().collect(),
    })
}

/// Checks a package against the registry's reports. `shasum` is the text that the registry sent.
fn check_against_reports(
    reports: &Reports,
    platform: &Platform,
    shasum: &str,
    digest: &PackageDigest,
) -> std::result::Result<(), String> {
    packages::check_report(reports, platform, shasum, digest.size, &digest.h1)
}

/// A warning about `zh:` that a registry reports and SHA256SUMS does not list. They are recorded,
/// as OpenTofu does.
fn unlisted_warning(
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
fn listed_dispositions(digest: &PackageDigest) -> HashDispositions {
    let mut hashes = HashDispositions::computed(digest.hashes().map(Clone::clone));
    hashes.add(HashDisposition::Listed, [digest.zh.clone()]);
    hashes
}
