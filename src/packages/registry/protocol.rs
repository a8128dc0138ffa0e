//! Requests to registries and their answers: the provider registry protocol
//! (<https://opentofu.org/docs/internals/provider-registry-protocol/>;
//! OpenTofu's `internal/getproviders/registry_client.go`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use url::{Origin, Url};

use super::discovery::Discovery;
use super::service::Service;
use crate::diagnostic::{Code, Diagnostic};
use crate::net::{Client, RequestError, RequestErrorKind};
use crate::packages::archive::PackageId;
use crate::packages::authentication::packages::reported;
use crate::packages::authentication::{OpenPgpKey, PackageReport};
use crate::packages::available::{
    AvailableVersion, AvailableVersions, LONGEST_VERSION, Platforms, unsupported_protocols,
};
use crate::packages::error::{Result, SourceError};
use crate::provider::{Dialect, Hash, Hostname, ProviderAddress, Version};
use crate::system::bounded::{List, Map};
use crate::system::{OnceMap, SafeUrl};

/// A version list is not larger than this; the largest known one is below 1 MiB.
const MAXIMUM_VERSIONS_BYTES: u64 = 4 << 20;
/// The metadata of a package contains keys and, from some registries, two hashes per platform.
const MAXIMUM_METADATA_BYTES: u64 = 512 << 10;
/// The provider with most versions has about 700.
const MOST_VERSIONS: usize = 10_000;
/// Go builds for about 50 platforms.
const MOST_PLATFORMS: usize = 256;
/// Of protocols, warnings and keys.
const MOST_OTHERS: usize = 64;
/// The most characters of a warning that are kept.
const LONGEST_WARNING: usize = 2000;

/// Asks registries, for the metadata of each package once.
pub(super) struct Protocol {
    client: Client,
    discovery: Arc<Discovery>,
    metadata: OnceMap<PackageId, Result<Arc<Metadata>>>,
}

/// A registry's metadata of a package.
pub(super) struct Metadata {
    pub(super) package: PackageId,
    pub(super) response: PackageResponse,
    /// The registry that says it.
    pub(super) service: Origin,
    /// Base of relative URLs.
    base: Url,
}

/// Answer to a request.
struct Answer<T> {
    /// The requested URL, without secrets.
    asked: String,
    /// The document, and the URL that it comes from.
    result: std::result::Result<(Url, T), RequestError>,
}

impl Protocol {
    pub(super) fn new(client: Client, discovery: Arc<Discovery>) -> Self {
        Self {
            client,
            discovery,
            metadata: OnceMap::default(),
        }
    }

    /// Origin of the URL of a host's registry.
    pub(super) fn registry_origin(&self, host: &Hostname) -> Result<Origin> {
        let service = self.discovery.registry_url(host, Service::Providers)?;
        Ok(service.origin())
    }

    /// Requests the versions of a provider ("List Available Versions" in the protocol).
    pub(super) fn versions(&self, address: &ProviderAddress) -> Result<AvailableVersions> {
        let Answer { asked, result } = self.request(
            address,
            "versions",
            MAXIMUM_VERSIONS_BYTES,
            |list: VersionList| list.into_available().with_weight(),
        )?;
        match result {
            Ok((_, versions)) => Ok(versions),
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                let message = format!("{} has no provider {address}", address.hostname);
                let error = Diagnostic::error(Code::ProviderNotFound, message)
                    .note(format!("asked for {asked}"));
                let searched = vec![error.help("correct its source in required_providers")];
                Err(SourceError::ProviderNotFound {
                    address: address.clone(),
                    searched,
                    in_registry: true,
                })
            }
            Err(error) => Err(SourceError::request_failed(address, error)),
        }
    }

    /// The metadata of a package ("Find a Provider Package" in the protocol), once in a run.
    pub(super) fn metadata(&self, package: &PackageId) -> Result<Arc<Metadata>> {
        self.metadata
            .get_or_compute(package, || self.fetch_metadata(package).map(Arc::new))
    }

    /// Requests the metadata of a package. They must be about its platform, and for a protocol that
    /// provlock supports.
    fn fetch_metadata(&self, package: &PackageId) -> Result<Metadata> {
        let PackageId {
            address,
            version,
            platform,
        } = package.clone();
        let path = format!("{version}/download/{}/{}", platform.os, platform.arch);
        let Answer { asked, result } = self.request(
            &address,
            &path,
            MAXIMUM_METADATA_BYTES,
            PackageResponse::with_weight,
        )?;
        let (base, response) = match result {
            Ok(answer) => answer,
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                return Err(SourceError::platform_not_at(package, &asked));
            }
            Err(error) => return Err(SourceError::request_failed(package, error)),
        };
        // A package of a different platform would be recorded as one for this platform.
        if (&response.os, &response.arch) != (&platform.os, &platform.arch) {
            let problem = format!(
                "{asked} returned a package for {}_{}",
                response.os, response.arch
            );
            return Err(SourceError::invalid_response(package, problem));
        }
        let protocols = match &response.protocols {
            Some(protocols) => protocols.0.as_slice(),
            None => &[],
        };
        if let Some(protocols) = unsupported_protocols(protocols) {
            return Err(SourceError::unsupported_protocol(
                &address, &version, &protocols,
            ));
        }
        let service = self.registry_origin(&address.hostname)?;
        Ok(Metadata {
            package: package.clone(),
            response,
            service,
            base,
        })
    }

    /// Sends a request to one of a provider's endpoints. `convert` is passed to
    /// [`Client::get_json`].
    fn request<J: DeserializeOwned, T>(
        &self,
        address: &ProviderAddress,
        path: &str,
        limit: u64,
        convert: impl Fn(J) -> (T, usize),
    ) -> Result<Answer<T>> {
        let path = format!("{}/{}/{path}", address.namespace, address.name);
        let (url, result) = self.discovery.request_from_registry(
            &address.hostname,
            Service::Providers,
            &path,
            |url, host| self.client.get_json(url, host, limit, &convert),
        )?;
        Ok(Answer {
            asked: SafeUrl::from(url).to_string(),
            result,
        })
    }
}

impl Metadata {
    /// The absolute URL of a URL in the response.
    pub(super) fn absolute_url(&self, reference: &str) -> Result<Url> {
        self.base.join(reference).map_err(|error| {
            SourceError::invalid_response(
                &self.package,
                format!("the registry sent the URL {reference:?}: {error}"),
            )
        })
    }

    /// The keys that may sign the release.
    pub(super) fn signing_keys(&self) -> &[OpenPgpKey] {
        &self.response.signing_keys.gpg_public_keys.0
    }

    /// The `packages` map, which only OpenTofu looks at.
    pub(super) fn reports(&self, dialect: Dialect) -> Result<BTreeMap<String, PackageReport>> {
        let packages = if dialect == Dialect::Tofu {
            self.response.packages.as_deref()
        } else {
            None
        };
        read_reports(packages).map_err(|problem| SourceError::not_authentic(&self.package, problem))
    }
}

/// The answer to "list available versions".
#[derive(Deserialize)]
struct VersionList {
    versions: List<VersionEntry, MOST_VERSIONS>,
    #[serde(default)]
    warnings: Option<List<String, MOST_OTHERS>>,
}

#[derive(Deserialize)]
struct VersionEntry {
    version: Option<String>,
    #[serde(default)]
    protocols: Protocols,
    #[serde(default)]
    platforms: Platforms,
}

/// The plugin protocols of a version. Only what an error needs is kept, because a registry may list
/// many versions with many of them.
#[derive(Default)]
struct Protocols {
    unsupported: Option<Box<str>>,
}

#[derive(Deserialize)]
struct PlatformEntry {
    os: String,
    arch: String,
}

/// The answer to "find a provider package".
#[derive(Deserialize)]
pub(super) struct PackageResponse {
    protocols: Option<List<String, MOST_OTHERS>>,
    os: String,
    arch: String,
    pub(super) filename: String,
    pub(super) download_url: String,
    pub(super) shasums_url: String,
    pub(super) shasums_signature_url: String,
    pub(super) shasum: String,
    #[serde(default)]
    signing_keys: SigningKeys,
    /// Not read before it is needed, so that an error in it does not matter elsewhere.
    packages: Option<Box<RawValue>>,
}

#[derive(Deserialize, Default)]
struct SigningKeys {
    #[serde(default)]
    gpg_public_keys: List<OpenPgpKey, MOST_OTHERS>,
}

impl PackageResponse {
    /// The answer and its approximate memory, in bytes.
    fn with_weight(self) -> (Self, usize) {
        /// Memory of a key without its texts, which are kept once more beside the document that it
        /// has signed.
        const KEY: usize = 128;
        let mut weight = 0;
        for text in [
            &self.filename,
            &self.download_url,
            &self.shasums_url,
            &self.shasums_signature_url,
            &self.shasum,
        ] {
            weight += text.len();
        }
        for key in &self.signing_keys.gpg_public_keys.0 {
            weight += KEY + 2 * (key.key_id.len() + key.ascii_armor.len());
        }
        if let Some(packages) = &self.packages {
            weight += packages.get().len();
        }
        (self, weight)
    }
}

/// The versions in an answer to "list available versions".
pub fn read_versions(answer: &[u8]) -> serde_json::Result<AvailableVersions> {
    serde_json::from_slice(answer).map(VersionList::into_available)
}

/// The hashes of packages in an answer to "find a provider package"; none if it cannot be read.
pub fn read_reported_hashes(answer: &[u8]) -> Option<BTreeSet<Hash>> {
    let packages = serde_json::from_slice::<PackageResponse>(answer)
        .ok()?
        .packages;
    read_reports(packages.as_deref())
        .ok()
        .map(|reports| reported(&reports))
}

/// Reads the `packages` map, if there is one. The error does not quote it: a registry may echo the
/// token that it received.
fn read_reports(
    packages: Option<&RawValue>,
) -> std::result::Result<BTreeMap<String, PackageReport>, &'static str> {
    let Some(packages) = packages else {
        return Ok(BTreeMap::new());
    };
    let reports = serde_json::from_str::<Map<PackageReport, MOST_PLATFORMS>>(packages.get());
    reports
        .map(|reports| reports.0)
        .map_err(|_| "the registry's report of packages does not have the expected form")
}

impl VersionList {
    /// The versions in the answer. A version that is listed again has the platforms of all its
    /// entries, and the protocols of the last, as in OpenTofu and Terraform.
    fn into_available(self) -> AvailableVersions {
        let mut versions = BTreeMap::new();
        for entry in self.versions.0 {
            // Unreadable versions are skipped, as if the registry had not listed them.
            let text = entry.version.unwrap_or_default();
            if text.len() > LONGEST_VERSION {
                continue;
            }
            let Some(version) = Version::parse_listed(&text) else {
                continue;
            };
            let listed: &mut AvailableVersion = versions.entry(version).or_default();
            *listed = AvailableVersion {
                platforms: listed
                    .platforms
                    .iter()
                    .chain(entry.platforms.iter())
                    .collect(),
                unsupported_protocols: entry.protocols.unsupported,
            };
        }

        let mut warnings = Vec::new();
        for warning in self.warnings.unwrap_or_default().0 {
            warnings.push(warning.chars().take(LONGEST_WARNING).collect());
        }
        AvailableVersions {
            versions,
            warnings,
            ..AvailableVersions::default()
        }
    }
}

impl<'de> Deserialize<'de> for Protocols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let listed = Option::<List<String, MOST_OTHERS>>::deserialize(deserializer)?;
        Ok(Self {
            unsupported: unsupported_protocols(&listed.unwrap_or_default().0),
        })
    }
}

/// Entries without a platform are skipped, too.
impl<'de> Deserialize<'de> for Platforms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let entries = Option::<List<PlatformEntry, MOST_PLATFORMS>>::deserialize(deserializer)?;
        Ok(entries
            .unwrap_or_default()
            .0
            .into_iter()
            .filter_map(|entry| format!("{}_{}", entry.os, entry.arch).parse().ok())
            .collect())
    }
}
