//! The provider network mirror protocol
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

use crate::diagnostic::{Code, Diagnostic};
use crate::net::RequestErrorKind;
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::authentication::HashDisposition;
use crate::packages::available::{AvailableVersions, LONGEST_VERSION};
use crate::packages::download::{self, Downloader};
use crate::packages::error::{Result, SourceError};
use crate::packages::fetched::{Fetch, Fetched};
use crate::provider::{
    Authentication, Dialect, Hash, HashesByScheme, Hostname, Platform, ProviderAddress, Version,
};
use crate::system::bounded::{List, Map};
use crate::system::{OnceMap, SafeUrl};

/// The largest known index of a provider is smaller than 1 MiB.
const MAXIMUM_INDEX_BYTES: u64 = 4 << 20;
const MOST_VERSIONS: usize = 10_000;
/// A document with the packages of a version has several hundred bytes for each.
const MAXIMUM_ARCHIVES_BYTES: u64 = 512 << 10;
/// Go builds for about 50 platforms.
const MOST_PLATFORMS: usize = 256;
const MOST_HASHES: usize = 16;

/// A server with packages of providers of any registry.
pub(crate) struct NetworkMirror {
    downloader: Downloader,
    pub(in crate::packages) base: SafeUrl,
    host: Hostname,
    dialect: Dialect,
    trust_all_hashes: bool,
    documents: OnceMap<(ProviderAddress, Version), Result<Arc<LocatedDocument>>>,
}

#[derive(Deserialize)]
struct Index {
    versions: Map<IgnoredAny, MOST_VERSIONS>,
}

/// A document about a version.
struct LocatedDocument {
    /// The URL that the URLs of packages are relative to, with the mirror's login.
    base: Url,
    document: VersionDocument,
}

#[derive(Deserialize)]
struct VersionDocument {
    archives: Map<Archive, MOST_PLATFORMS>,
}

#[derive(Deserialize)]
struct Archive {
    url: String,
    #[serde(default)]
    hashes: Option<List<String, MOST_HASHES>>,
}

impl Index {
    /// The versions and their approximate memory, in bytes. Texts that are not versions are
    /// skipped.
    fn available_with_weight(self) -> (AvailableVersions, usize) {
        let mut versions = Vec::new();
        for text in self.versions.0.into_keys() {
            if text.len() <= LONGEST_VERSION {
                versions.extend(Version::parse_listed(&text));
            }
        }
        versions
            .into_iter()
            .collect::<AvailableVersions>()
            .with_weight()
    }
}

impl Archive {
    /// The hashes that the mirror reports for the package.
    fn hashes(&self) -> &[String] {
        match &self.hashes {
            Some(hashes) => &hashes.0,
            None => &[],
        }
    }
}

impl VersionDocument {
    /// The document and its approximate memory, in bytes.
    fn with_weight(self) -> (Self, usize) {
        /// Bytes of a text.
        const TEXT: usize = 64;
        let mut weight = 0;
        for (platform, archive) in &self.archives.0 {
            weight += TEXT + platform.len();
            weight += TEXT + archive.url.len();
            for hash in archive.hashes() {
                weight += TEXT + hash.len();
            }
        }
        (self, weight)
    }

    fn platforms(&self) -> BTreeSet<Platform> {
        self.archives
            .0
            .keys()
            .filter_map(|platform| platform.parse().ok())
            .collect()
    }

    /// The well-formed hashes of all packages.
    fn hashes_of_all_packages(&self) -> Vec<Hash> {
        let mut reported = Vec::new();
        for archive in self.archives.0.values() {
            for text in archive.hashes() {
                if let Ok(hash) = text.parse::<Hash>()
                    && hash.is_known()
                    && hash.is_well_formed()
                {
                    reported.push(hash);
                }
            }
        }
        reported
    }
}

impl NetworkMirror {
    /// The mirror at `base`, an `https` URL with a slash at its end; its documents are requested
    /// with the credentials of its host. `trust_all_hashes` (of an installation method, which only
    /// OpenTofu has) trusts hashes that it reports for packages that were not downloaded.
    pub(in crate::packages) fn new(
        downloader: Downloader,
        base: SafeUrl,
        dialect: Dialect,
        trust_all_hashes: bool,
    ) -> Self {
        let name = base.host_str().unwrap_or_default();
        let host = match base.port() {
            Some(port) => Hostname::known(format!("{name}:{port}")),
            None => Hostname::known(name.to_owned()),
        };
        Self {
            downloader,
            base,
            host,
            dialect,
            trust_all_hashes,
            documents: OnceMap::default(),
        }
    }

    /// Requests the versions of a provider: its `index.json`.
    pub(in crate::packages) fn versions(
        &self,
        address: &ProviderAddress,
    ) -> Result<AvailableVersions> {
        let url = self.document_url(address, "index.json")?;
        let answer = self.downloader.client.get_json(
            &url,
            Some(&self.host),
            MAXIMUM_INDEX_BYTES,
            Index::available_with_weight,
        );
        match answer {
            Ok((_, versions)) => Ok(versions),
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                let message = format!("the mirror {} has no package of {address}", self.base);
                let error = Diagnostic::error(Code::ProviderNotFound, message)
                    .note(format!("asked for {}", SafeUrl::from(&url)));
                Err(SourceError::provider_not_found(address, error))
            }
            Err(error) => Err(SourceError::request_failed(address, error)),
        }
    }

    /// Fetches a package; its archive goes to a file if there is one.
    pub(in crate::packages) fn fetch(&self, fetch: &Fetch<'_>) -> Result<Fetched> {
        let package = fetch.package;
        let located = self.request_document(&package.address, &package.version)?;
        let LocatedDocument { base, document } = &*located;
        let Some(archive) = document.archives.0.get(&package.platform.to_string()) else {
            return Err(SourceError::platform_not_among(
                package,
                document.platforms(),
            ));
        };
        let url = base.join(&archive.url).map_err(|error| {
            SourceError::invalid_response(
                package,
                format!("the mirror sent an invalid URL for the package: {error}"),
            )
        })?;
        let downloaded =
            self.downloader
                .cached_or_downloaded(fetch, &url, &download::Archive::at_url(&url))?;
        let own_hashes =
            checked_hashes(archive.hashes(), &downloaded.digest).map_err(|problem| {
                SourceError::not_authentic_from(
                    package,
                    problem,
                    format!("downloaded from {}", SafeUrl::from(&url)),
                )
            })?;
        let mut fetched = Fetched {
            downloaded: downloaded.transferred,
            ..Fetched::of_archive(downloaded.digest)
        };
        // Terraform records only the `h1:` that it computes itself.
        if self.dialect == Dialect::Tofu {
            let HashesByScheme {
                h1: _,
                zh,
                unknown: _,
                malformed: _,
            } = own_hashes.iter().collect();
            fetched
                .hashes
                .add(HashDisposition::ReportedByMirror, zh.into_iter().cloned());
            if self.trust_all_hashes {
                fetched.hashes.add(
                    HashDisposition::ReportedByMirror,
                    document.hashes_of_all_packages(),
                );
            }
        }
        if !own_hashes.is_empty() {
            fetched.authentication = Authentication::HashesChecked;
        }
        Ok(fetched)
    }

    pub(in crate::packages) fn platforms(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<BTreeSet<Platform>> {
        self.request_document(address, version)
            .map(|located| located.document.platforms())
    }

    pub(in crate::packages) fn prefetch(&self, package: &PackageId) {
        drop(self.request_document(&package.address, &package.version));
    }

    /// Requests the document about a version, such as `1.0.0.json`, once in a run.
    fn request_document(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<Arc<LocatedDocument>> {
        self.documents
            .get_or_compute(&(address.clone(), version.clone()), || {
                let url = self.document_url(address, &format!("{version}.json"))?;
                let answer = self.downloader.client.get_json(
                    &url,
                    Some(&self.host),
                    MAXIMUM_ARCHIVES_BYTES,
                    VersionDocument::with_weight,
                );
                match answer {
                    Ok((url, document)) => Ok(Arc::new(LocatedDocument {
                        base: self.with_login(url),
                        document,
                    })),
                    Err(error) => Err(SourceError::request_failed(
                        format_args!("{address} {version}"),
                        error,
                    )),
                }
            })
    }

    /// The URL of a document with the login of the mirror's URL. Go keeps the login in the URL of
    /// an answer, so that relative URLs in it have the login, and absolute URLs do not. A document
    /// of a different server, after a redirect, has none.
    fn with_login(&self, mut url: Url) -> Url {
        if url.origin() == self.base.origin() {
            // This fails only for a URL that cannot have a user name.
            let _ = url.set_username(self.base.username());
            let _ = url.set_password(self.base.password());
        }
        url
    }

    fn document_url(&self, address: &ProviderAddress, name: &str) -> Result<Url> {
        let path = format!(
            "{}/{}/{}/{name}",
            address.hostname.as_ascii(),
            address.namespace,
            address.name
        );
        self.base.join(&path).map_err(|error| {
            let problem = format!("no URL for it below {}: {error}", self.base);
            SourceError::invalid_response(address, problem)
        })
    }
}

/// The hashes of known schemes that a mirror reports for a package.
///
/// # Errors
/// One of them is not a hash of the package, or all reported hashes have unknown schemes.
fn checked_hashes(
    reported: &[String],
    package: &PackageDigest,
) -> std::result::Result<Vec<Hash>, String> {
    let mut hashes = Vec::new();
    for text in reported {
        let hash: Hash = text.parse().map_err(|error| format!("{error}"))?;
        if hash.is_known() {
            hashes.push(hash);
        }
    }
    if hashes.is_empty() && !reported.is_empty() {
        return Err(format!(
            "the mirror reports only hashes of unknown schemes: {}",
            reported.join(", ")
        ));
    }
    // An `h1:` over the directory entries of the archive belongs to it, too, because
    // `providers mirror` writes such hashes.
    match hashes.iter().find(|hash| !package.has(hash)) {
        Some(wrong) => Err(format!(
            "the mirror reports the hash {wrong}, but the package has {}",
            package.h1
        )),
        None => Ok(hashes),
    }
}
