//! The provider registry protocol (<https://opentofu.org/docs/internals/provider-registry-protocol/>).

mod discovery;
mod discovery_cache;
pub(super) mod protocol;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

pub use discovery::Discovery;
pub use discovery_cache::DiscoveryCache;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use url::Url;

use super::download::{Downloaded, Downloader};
use super::release_urls::ReleaseUrls;
use super::{AvailableVersions, Fetched, NOT_AUTHENTIC_HELP, PackageId, ProgressSink, Published, SourceError};
use crate::address::ProviderAddress;
use crate::authentication::packages::{self, PackageReport};
use crate::authentication::{Authentication, AuthenticationPolicy, Expired, Sha256Sums, SigningKey, authenticate_sums};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::hash::{Hash, HashScheme};
use crate::net::{Document, Purpose, RequestError, RequestErrorKind, SafeUrl};
use crate::once_map::OnceMap;
use crate::package::cache::CachedPackage;
use crate::platform::Platform;
use crate::version::Version;
use protocol::{KeyEntry, PackageMetadata, VersionList, speaks_supported_protocol, unsupported_protocol};

/// A version list is not larger than this; the largest known one is below 1 MiB.
const MAXIMUM_VERSIONS_BYTES: u64 = 32 << 20;
/// The metadata of a package holds keys and, from some registries, two hashes per platform.
const MAXIMUM_METADATA_BYTES: u64 = 2 << 20;
/// SHA256SUMS has a line of about 120 bytes per platform. All of them fit into a lock file.
const MAXIMUM_SUMS_BYTES: u64 = 1 << 20;
/// A signature is a few hundred bytes per key.
const MAXIMUM_SIGNATURE_BYTES: u64 = 1 << 20;

/// The registries that provider addresses name.
pub struct Registry {
    downloader: Downloader,
    discovery: Arc<Discovery>,
    policy: RegistryPolicy,
    places: Option<ReleaseUrls>,
    metadata: OnceMap<PackageId, Result<Arc<(PackageMetadata, Url)>>>,
    /// The platform of each version that was asked about first.
    first_platforms: OnceMap<(ProviderAddress, Version), Platform>,
    documents: OnceMap<(Url, Url), std::result::Result<Arc<Documents>, RequestError>>,
    signed: OnceMap<SumsKey, Result<Arc<SignedSums>>>,
}

/// SHA256SUMS and its signature, not verified.
struct Documents {
    sums: Document,
    signature: Document,
}

/// What decides how packages of a registry are authenticated.
#[derive(Clone, Copy, Debug)]
pub struct RegistryPolicy {
    /// Whose rules apply.
    pub dialect: Dialect,
    /// `OPENTOFU_ENFORCE_GPG_VALIDATION=true`: a provider without signing keys is refused.
    pub enforce_validation: bool,
    /// `OPENTOFU_ENFORCE_GPG_EXPIRATION=true`: expired keys and signatures are refused.
    pub enforce_expiration: bool,
    /// Whether hashes that a registry reports are recorded without a look at the packages, once they fit to what is signed.
    pub trust_registry: bool,
    /// The time that expiry is judged by.
    pub now: SystemTime,
}

/// A SHA256SUMS document is fetched and verified once for all platforms that name the same one with the same keys.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SumsKey {
    sums: Url,
    signature: Url,
    keys: Vec<String>,
    /// Without keys, it is accepted from the default host only.
    is_default_host: bool,
}

/// A SHA256SUMS document whose signature was checked.
struct SignedSums {
    sums: Sha256Sums,
    authentication: Authentication,
    expired: Vec<Expired>,
    last_modified: Option<Timestamp>,
}

impl SignedSums {
    /// The `zh:` of every package. Other lines, such as that of the manifest, are often the same for every release.
    fn zh(&self) -> BTreeSet<Hash> {
        let is_archive = |name: &str| Path::new(name).extension().is_some_and(|extension| extension == "zip");
        self.sums.lines().filter(|(name, _)| is_archive(name)).map(|(_, sum)| Hash::zh(&sum)).collect()
    }

    /// What has expired, as the user is told.
    fn warnings(&self, wanted: &PackageId) -> Vec<Diagnostic> {
        let subject = format!("{} {}", wanted.address, wanted.version);
        self.expired.iter().map(|expired| expired.warning(&subject)).collect()
    }
}

/// A document and where it came from in the end, or why there is none.
type Answer<T> = std::result::Result<(Url, T), RequestError>;

impl Registry {
    /// Registries that `discovery` finds and that are asked through `downloader`. `places` says where releases were in
    /// earlier runs.
    pub fn new(
        downloader: Downloader,
        discovery: Arc<Discovery>,
        policy: RegistryPolicy,
        places: Option<ReleaseUrls>,
    ) -> Self {
        Self {
            downloader,
            discovery,
            policy,
            places,
            metadata: OnceMap::default(),
            first_platforms: OnceMap::default(),
            documents: OnceMap::default(),
            signed: OnceMap::default(),
        }
    }

    pub(super) fn versions(&self, address: &ProviderAddress) -> std::result::Result<AvailableVersions, SourceError> {
        let failed = SourceError::Failed;
        let (url, answer) = self.ask::<VersionList>(address, "versions", MAXIMUM_VERSIONS_BYTES).map_err(failed)?;
        match answer {
            Ok((_, list)) => Ok(list.into()),
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                let message = format!("{} has no provider {address}", address.hostname);
                let diagnostic = Diagnostic::error(Code::ProviderNotFound, message)
                    .note(format!("asked for {url}"))
                    .help("correct its source in required_providers");
                Err(SourceError::NoSuchProvider(diagnostic.into()))
            }
            Err(error) => Err(failed(error.into_diagnostic(&address.to_string()))),
        }
    }

    pub(super) fn package(&self, wanted: &PackageId, progress: ProgressSink<'_>) -> Result<Fetched> {
        if let Some(package) = self.remembered(wanted)
            && let Some(fetched) = self.confirmed(wanted, package)
        {
            return Ok(fetched);
        }
        let (metadata, base) = &*self.metadata(wanted)?;
        if self.policy.trust_registry
            && let Some(fetched) = self.authenticated(wanted, metadata, base)?
        {
            return Ok(fetched);
        }
        let zh = Sha256Sums::advertised(&metadata.shasum).map_err(|error| not_authentic(wanted, &error))?;
        let (signed, package) = self.signed_and_downloaded(wanted, metadata, base, &Hash::zh(&zh), progress);
        let signed = signed?;
        let sum = signed.sums.confirm(&metadata.filename, &metadata.shasum);
        let sum = sum.map_err(|error| not_authentic(wanted, &error))?;
        let reports = self.reports(metadata).map_err(|problem| not_authentic(wanted, &problem))?;
        let package = package?;
        packages::check(&reports, &wanted.platform, &metadata.shasum, package.size, &package.h1)
            .map_err(|error| not_authentic(wanted, &error))?;
        self.downloader.remember(wanted, &package);
        let fetched = self.fetched(wanted, &signed, &reports, Hash::zh(&sum), package.h1);
        Ok(Fetched { downloaded: package.transferred, ..fetched })
    }

    /// What is signed about a package, and the package, which has come while that was being asked for.
    fn signed_and_downloaded(
        &self,
        wanted: &PackageId,
        metadata: &PackageMetadata,
        base: &Url,
        zh: &Hash,
        progress: ProgressSink<'_>,
    ) -> (Result<Arc<SignedSums>>, Result<Downloaded>) {
        let is_refused = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let signed = scope.spawn(|| {
                let signed = self.signed_sums(wanted, metadata, base);
                is_refused.store(signed.is_err(), Ordering::Relaxed);
                signed
            });
            let is_wanted = || !is_refused.load(Ordering::Relaxed);
            let report =
                self.reports(metadata).ok().and_then(|reports| reports.get(&wanted.platform.to_string()).cloned());
            let size = report.and_then(|report| report.package_size);
            let package = resolve(wanted, base, &metadata.download_url)
                .and_then(|url| self.downloader.listed_package(wanted, &url, zh, size, &is_wanted, progress));
            (signed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), package)
        })
    }

    /// A package as the registry vouches for it, once that fits to what is signed; none if it does not vouch for it.
    fn authenticated(&self, wanted: &PackageId, metadata: &PackageMetadata, base: &Url) -> Result<Option<Fetched>> {
        let signed = self.signed_sums(wanted, metadata, base)?;
        let sum = signed.sums.confirm(&metadata.filename, &metadata.shasum);
        let sum = sum.map_err(|error| not_authentic(wanted, &error))?;
        let reports = self.reports(metadata).map_err(|problem| not_authentic(wanted, &problem))?;
        let h1 = packages::authenticated(&reports, &wanted.platform, &metadata.shasum, &signed.zh())
            .map_err(|error| not_authentic(wanted, &error))?;
        let fetched = |h1| self.fetched(wanted, &signed, &reports, Hash::zh(&sum), h1);
        Ok(h1.map(|h1| Fetched { reported: true, ..fetched(h1) }))
    }

    /// A package that need not be asked about, because an earlier run has verified it, and because the SHA256SUMS that
    /// another platform's metadata names will tell whether it is still published.
    fn remembered(&self, wanted: &PackageId) -> Option<CachedPackage> {
        let PackageId { address, version, platform } = wanted;
        let places = self.places.as_ref().filter(|_| !self.policy.trust_registry)?;
        let package = self.downloader.cached(wanted).filter(|_| places.get(address, version).is_some());
        package.filter(|_| self.first_platform(wanted) != *platform)
    }

    /// The platform whose metadata is asked for in any case.
    fn first_platform(&self, wanted: &PackageId) -> Platform {
        let PackageId { address, version, platform } = wanted;
        self.first_platforms.get_or_compute((address.clone(), version.clone()), || platform.clone())
    }

    /// A remembered package, if the release that is published now holds it.
    fn confirmed(&self, wanted: &PackageId, package: CachedPackage) -> Option<Fetched> {
        let first = PackageId { platform: self.first_platform(wanted), ..wanted.clone() };
        let (metadata, base) = &*self.metadata(&first).ok()?;
        let signed = self.signed_sums(&first, metadata, base).ok()?;
        let reports = self.reports(metadata).ok()?;
        let CachedPackage { zh, h1, size, .. } = package;
        packages::check(&reports, &wanted.platform, zh.value(), size, &h1).ok()?;
        signed.zh().contains(&zh).then(|| self.fetched(wanted, &signed, &reports, zh, h1))
    }

    /// What may be recorded of a package that has these hashes.
    fn fetched(
        &self,
        wanted: &PackageId,
        signed: &SignedSums,
        reports: &BTreeMap<String, PackageReport>,
        zh: Hash,
        h1: Hash,
    ) -> Fetched {
        let mut recordable: BTreeSet<_> = signed.sums.recordable().into_iter().collect();
        let mut confirmed = BTreeSet::from([zh, h1.clone()]);
        recordable.extend(confirmed.iter().cloned());
        if self.is_default_host(wanted) {
            let reported = packages::recordable(reports);
            recordable.extend(reported.iter().cloned());
            confirmed.extend(reported);
        }
        confirmed.extend(signed.zh());
        Fetched {
            h1,
            recordable,
            confirmed,
            authentication: signed.authentication.clone(),
            warnings: signed.warnings(wanted),
            downloaded: 0,
            reported: false,
        }
    }

    /// What the registry says of a version without a package being fetched.
    pub(super) fn published(&self, wanted: &PackageId) -> Result<Published> {
        let found = self.metadata(wanted)?;
        let (metadata, base) = &*found;
        let signed = self.signed_sums(wanted, metadata, base)?;
        let zh: BTreeSet<_> = signed.sums.lines().map(|(_, sum)| Hash::zh(&sum)).collect();
        let reports = self
            .reports(metadata)
            .map_err(|problem| wanted.error(Code::PackageNotAuthentic, problem).help(NOT_AUTHENTIC_HELP))?;
        let of_scheme = |report: &PackageReport, scheme| -> BTreeSet<Hash> {
            report.hashes.iter().filter(|hash| hash.scheme() == scheme).cloned().collect()
        };
        let h1 = reports.into_iter().filter_map(|(platform, report)| {
            let sums = of_scheme(&report, HashScheme::Zh);
            let is_signed = !sums.is_empty() && sums.is_subset(&zh);
            is_signed.then(|| Some((platform.parse().ok()?, of_scheme(&report, HashScheme::H1)))).flatten()
        });
        let h1 = h1.filter(|(_, hashes)| !hashes.is_empty()).collect();
        Ok(Published { h1, zh, authentication: signed.authentication.clone(), warnings: signed.warnings(wanted) })
    }

    /// When the SHA256SUMS of a package changed last, if its server says so.
    pub(super) fn sums_modified(&self, wanted: &PackageId) -> Result<Option<Timestamp>> {
        let (metadata, base) = &*self.metadata(wanted)?;
        Ok(self.signed_sums(wanted, metadata, base)?.last_modified)
    }

    /// The `packages` map, which only OpenTofu looks at.
    fn reports(&self, metadata: &PackageMetadata) -> std::result::Result<BTreeMap<String, PackageReport>, String> {
        let Some(packages) = metadata.packages.as_ref().filter(|_| self.dialect() == Dialect::Tofu) else {
            return Ok(BTreeMap::new());
        };
        protocol::read_reports(packages)
    }

    /// Fetches SHA256SUMS and its signature from where they were in an earlier run, in case they are still there.
    pub(super) fn prepare_release(&self, address: &ProviderAddress, version: &Version) {
        if let Some((sums, signature)) = self.places.as_ref().and_then(|places| places.get(address, version)) {
            drop(self.documents(&sums, &signature));
        }
    }

    /// Fetches what is signed about a package.
    pub(super) fn prepare(&self, wanted: &PackageId) {
        if self.remembered(wanted).is_some() {
            return;
        }
        if let Ok(answer) = self.metadata(wanted) {
            let (metadata, base) = &*answer;
            drop(self.signed_sums(wanted, metadata, base));
        }
    }

    /// The download metadata, with the URL that its relative URLs are relative to.
    fn metadata(&self, wanted: &PackageId) -> Result<Arc<(PackageMetadata, Url)>> {
        self.metadata.get_or_compute(wanted.clone(), || self.fetch_metadata(wanted).map(Arc::new))
    }

    fn fetch_metadata(&self, wanted: &PackageId) -> Result<(PackageMetadata, Url)> {
        let Platform { os, arch } = &wanted.platform;
        let path = format!("{}/download/{os}/{arch}", wanted.version);
        let (url, answer) = self.ask::<PackageMetadata>(&wanted.address, &path, MAXIMUM_METADATA_BYTES)?;
        let (base, metadata) = match answer {
            Ok(answer) => answer,
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                return Err(wanted.not_available(std::iter::empty::<String>()).into());
            }
            Err(error) => return Err(error.into_diagnostic(&wanted.to_string())),
        };
        if (&metadata.os, &metadata.arch) != (os, arch) {
            let problem = format!("the registry answered for {}_{}", metadata.os, metadata.arch);
            return Err(wanted.error(Code::RequestFailed, problem).note(format!("asked for {url}")).into());
        }
        if !speaks_supported_protocol(&metadata.protocols) {
            return Err(unsupported_protocol(&wanted.address, &wanted.version, &metadata.protocols).into());
        }
        Ok((metadata, base))
    }

    fn signed_sums(&self, wanted: &PackageId, metadata: &PackageMetadata, base: &Url) -> Result<Arc<SignedSums>> {
        let key = |key: &KeyEntry| SigningKey { ascii_armor: key.ascii_armor.clone(), key_id: key.key_id.clone() };
        let keys: Vec<_> = metadata.signing_keys.gpg_public_keys.iter().map(key).collect();
        let key = SumsKey {
            sums: resolve(wanted, base, &metadata.shasums_url)?,
            signature: resolve(wanted, base, &metadata.shasums_signature_url)?,
            keys: keys.iter().map(|key| key.ascii_armor.clone()).collect(),
            is_default_host: self.is_default_host(wanted),
        };
        self.signed.get_or_compute(key.clone(), || self.fetch_signed_sums(wanted, &key, &keys).map(Arc::new))
    }

    fn fetch_signed_sums(&self, wanted: &PackageId, key: &SumsKey, keys: &[SigningKey]) -> Result<SignedSums> {
        let documents = self.documents(&key.sums, &key.signature);
        let documents = documents.map_err(|error| error.into_diagnostic(&wanted.to_string()))?;
        let Documents { sums, signature } = &*documents;
        let policy = AuthenticationPolicy {
            dialect: self.dialect(),
            default_host: key.is_default_host,
            enforce_validation: self.policy.enforce_validation,
            enforce_expiration: self.policy.enforce_expiration,
        };
        let (authentication, expired) = authenticate_sums(&sums.bytes, &signature.bytes, keys, policy, self.policy.now)
            .map_err(|error| {
                let diagnostic = error.diagnostic(&format!("{} {}", wanted.address, wanted.version));
                let diagnostic = diagnostic.note(format!("checksums: {}", SafeUrl::from(&key.sums)));
                diagnostic.note(format!("signature: {}", SafeUrl::from(&key.signature)))
            })?;
        if let Some(places) = &self.places {
            places.put(&wanted.address, &wanted.version, &key.sums, &key.signature);
        }
        let last_modified = sums.last_modified;
        Ok(SignedSums { sums: Sha256Sums::parse(&sums.bytes), authentication, expired, last_modified })
    }

    fn documents(&self, sums: &Url, signature: &Url) -> std::result::Result<Arc<Documents>, RequestError> {
        self.documents.get_or_compute((sums.clone(), signature.clone()), || {
            let get = |url: &Url, limit| self.downloader.client.get(url, None, limit, Purpose::Download);
            let (sums, signature) = std::thread::scope(|scope| {
                let signature = scope.spawn(|| get(signature, MAXIMUM_SIGNATURE_BYTES));
                let sums = get(sums, MAXIMUM_SUMS_BYTES);
                (sums, signature.join())
            });
            let signature = signature.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok(Arc::new(Documents { sums: sums?, signature }))
        })
    }

    /// Asks one of a provider's endpoints, and says which URL that was.
    fn ask<T: DeserializeOwned>(
        &self,
        address: &ProviderAddress,
        path: &str,
        limit: u64,
    ) -> Result<(SafeUrl, Answer<T>)> {
        let client = &self.downloader.client;
        let get = |url: &Url| client.get_json::<T>(url, Some(&address.hostname), limit, Purpose::Metadata);
        let service = self.discovery.providers(&address.hostname)?;
        let url = endpoint(&service, address, path)?;
        let answer = get(&url);
        if answer.is_err()
            && let Some(moved) = self.discovery.moved_providers(&address.hostname, &service)
        {
            let url = endpoint(&moved, address, path)?;
            return Ok((SafeUrl::from(&url), get(&url)));
        }
        Ok((SafeUrl::from(&url), answer))
    }

    fn dialect(&self) -> Dialect {
        self.policy.dialect
    }

    fn is_default_host(&self, wanted: &PackageId) -> bool {
        wanted.address.hostname.as_ascii() == self.dialect().default_host_name()
    }
}

/// The error about a package that is not what its publisher signed.
fn not_authentic(wanted: &PackageId, problem: &dyn std::fmt::Display) -> Diagnostic {
    wanted.error(Code::PackageNotAuthentic, problem).help(NOT_AUTHENTIC_HELP)
}

/// The URL of one of a provider's endpoints.
fn endpoint(service: &Url, address: &ProviderAddress, path: &str) -> Result<Url> {
    // Relative to the base as links are: its last segment goes unless it ends with a slash.
    let path = format!("{}/{}/{path}", address.namespace, address.name);
    service.join(&path).map_err(|error| {
        let message = format!("{} offers providers at {service}, which gives no URL: {error}", address.hostname);
        Diagnostic::error(Code::RequestFailed, message).into()
    })
}

fn resolve(wanted: &PackageId, base: &Url, reference: &str) -> Result<Url> {
    base.join(reference).map_err(|error| {
        wanted.error(Code::RequestFailed, format!("the registry sent the URL {reference:?}: {error}")).into()
    })
}
