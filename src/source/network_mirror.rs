//! The provider network mirror protocol (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use url::Url;

use super::download::{Downloaded, Downloader};
use super::{AvailableVersion, AvailableVersions, Fetched, PackageId, ProgressSink, SourceError};
use crate::address::{Hostname, ProviderAddress};
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::hash::{Hash, HashScheme};
use crate::net::{Purpose, RequestError, RequestErrorKind, SafeUrl};
use crate::once_map::OnceMap;
use crate::platform::Platform;
use crate::version::Version;

/// The index of the provider with most versions is below 1 MiB.
const MAXIMUM_DOCUMENT_BYTES: u64 = 32 << 20;

/// A server that holds packages of providers of any registry.
pub struct NetworkMirror {
    downloader: Downloader,
    base: SafeUrl,
    host: Hostname,
    dialect: Dialect,
    trust_all_hashes: bool,
    archives: OnceMap<(ProviderAddress, Version), Result<Archives>>,
}

#[derive(Deserialize)]
struct Index {
    versions: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct VersionDocument {
    archives: BTreeMap<String, Archive>,
}

#[derive(Clone, Deserialize)]
struct Archive {
    url: String,
    #[serde(default)]
    hashes: Option<Vec<String>>,
}

/// The packages of a version, with the URL that their URLs are relative to.
#[derive(Clone)]
struct Archives {
    base: Url,
    by_platform: BTreeMap<String, Archive>,
}

impl Archives {
    /// The well-formed hashes of all packages.
    fn reported(&self) -> impl Iterator<Item = Hash> {
        let texts = self.by_platform.values().flat_map(|archive| archive.hashes.iter().flatten());
        let hashes = texts.filter_map(|text| text.parse::<Hash>().ok());
        hashes.filter(|hash| hash.scheme() != HashScheme::Unknown && hash.is_well_formed())
    }
}

impl NetworkMirror {
    /// The mirror at `url`, an `https` URL; its documents are asked for with the credentials of its host.
    pub fn new(downloader: Downloader, url: &str, dialect: Dialect) -> Result<Self> {
        let invalid = |shown: &dyn std::fmt::Display, problem: &str| {
            let message = format!("{shown} is not the URL of a network mirror: {problem}");
            Diagnostic::error(Code::InvalidArgument, message).help("write it as https://HOST/PATH/")
        };
        // A text that is no URL may hold a password anywhere.
        let mut base = Url::parse(url).map_err(|error| invalid(&"the text that was given", &error.to_string()))?;
        if base.scheme() != "https" {
            return Err(invalid(&SafeUrl::from(base), "it does not start with https").into());
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let host = base.host_str().ok_or_else(|| invalid(&SafeUrl::from(&base), "it has no host"))?;
        let authority = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let (host, archives) = (Hostname::known(&authority), OnceMap::default());
        Ok(Self { downloader, base: base.into(), host, dialect, trust_all_hashes: false, archives })
    }

    /// The same mirror, whose word is taken for hashes of packages that were not downloaded (`trust_all_hashes` of an
    /// installation method, which only OpenTofu has).
    #[must_use]
    pub fn trusting_all_hashes(mut self) -> Self {
        self.trust_all_hashes = true;
        self
    }

    pub(super) fn versions(&self, address: &ProviderAddress) -> std::result::Result<AvailableVersions, SourceError> {
        let url = self.document(address, "index.json").map_err(SourceError::Failed)?;
        match self.downloader.client.get_json::<Index>(
            &url,
            Some(&self.host),
            MAXIMUM_DOCUMENT_BYTES,
            Purpose::Metadata,
        ) {
            Ok((_, index)) => {
                let versions = index.versions.into_keys().filter_map(|text| text.parse::<Version>().ok());
                Ok(AvailableVersions {
                    versions: versions.map(|v| (v, AvailableVersion::default())).collect(),
                    warnings: Vec::new(),
                })
            }
            Err(error) if matches!(error.kind, RequestErrorKind::NotFound) => {
                let message = format!("the mirror {} has no package of {address}", self.base);
                let diagnostic = Diagnostic::error(Code::ProviderNotFound, message)
                    .note(format!("asked for {}", SafeUrl::from(&url)));
                Err(SourceError::NoSuchProvider(diagnostic.into()))
            }
            Err(error) => Err(SourceError::Failed(error.into_diagnostic(&address.to_string()))),
        }
    }

    pub(super) fn package(&self, wanted: &PackageId, progress: ProgressSink<'_>) -> Result<Fetched> {
        let archives = self.archives(&wanted.address, &wanted.version)?;
        let Some(archive) = archives.by_platform.get(&wanted.platform.to_string()) else {
            return Err(wanted.not_available(archives.by_platform.keys()).into());
        };
        let failed = |problem: String| wanted.error(Code::RequestFailed, problem);
        let url = archives.base.join(&archive.url);
        let url = url.map_err(|error| failed(format!("the mirror sent a package's URL that is none: {error}")))?;
        let package = self.downloader.package(wanted, &url, progress)?;
        let reported = archive.hashes.as_deref().unwrap_or_default();
        let reported = check_reported(reported, &package).map_err(|problem| {
            wanted.error(Code::PackageNotAuthentic, problem).note(format!("package: {}", SafeUrl::from(&url)))
        })?;

        let mut recordable = BTreeSet::from([package.h1.clone()]);
        if self.dialect == Dialect::Tofu {
            recordable.extend(reported.iter().filter(|hash| hash.scheme() == HashScheme::Zh).cloned());
            if self.trust_all_hashes {
                recordable.extend(archives.reported());
            }
        }
        Ok(Fetched {
            confirmed: BTreeSet::from([package.h1.clone(), package.zh]),
            h1: package.h1,
            recordable,
            authentication: if reported.is_empty() {
                Authentication::Unauthenticated
            } else {
                Authentication::HashesChecked
            },
            warnings: Vec::new(),
            downloaded: package.transferred,
            reported: false,
        })
    }

    pub(super) fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        let archives = self.archives(address, version)?;
        Ok(archives.by_platform.keys().filter_map(|platform| platform.parse().ok()).collect())
    }

    pub(super) fn prepare(&self, wanted: &PackageId) {
        drop(self.archives(&wanted.address, &wanted.version));
    }

    fn archives(&self, address: &ProviderAddress, version: &Version) -> Result<Archives> {
        let key = (address.clone(), version.clone());
        self.archives.get_or_compute(key, || self.fetch_archives(address, version))
    }

    fn fetch_archives(&self, address: &ProviderAddress, version: &Version) -> Result<Archives> {
        let url = self.document(address, &format!("{version}.json"))?;
        let failed = |error: RequestError| error.into_diagnostic(&format!("{address} {version}"));
        let answer = self.downloader.client.get_json::<VersionDocument>(
            &url,
            Some(&self.host),
            MAXIMUM_DOCUMENT_BYTES,
            Purpose::Metadata,
        );
        let (base, document) = answer.map_err(failed)?;
        Ok(Archives { base, by_platform: document.archives })
    }

    fn document(&self, address: &ProviderAddress, name: &str) -> Result<Url> {
        let path = format!("{}/{}/{}/{name}", address.hostname.as_ascii(), address.namespace, address.name);
        self.base.join(&path).map_err(|error| {
            let message = format!("{address} gives no URL below {}: {error}", self.base);
            Diagnostic::error(Code::RequestFailed, message).into()
        })
    }
}

/// The hashes that a mirror reports for a package, all of known schemes and all true of it.
///
/// An `h1:` over the directory entries of the archive too is accepted, because `providers mirror` writes such.
fn check_reported(reported: &[String], package: &Downloaded) -> std::result::Result<Vec<Hash>, String> {
    let hashes = reported.iter().map(|text| text.parse::<Hash>().map_err(|error| error.to_string()));
    let hashes: Vec<Hash> = hashes.collect::<std::result::Result<_, _>>()?;
    let known: Vec<_> = hashes.into_iter().filter(|hash| hash.scheme() != HashScheme::Unknown).collect();
    if known.is_empty() && !reported.is_empty() {
        return Err(format!("the mirror reports only hashes of unknown schemes: {}", reported.join(", ")));
    }
    let genuine = [&package.h1, &package.h1_with_directories, &package.zh];
    match known.iter().find(|hash| !genuine.contains(hash)) {
        Some(wrong) => Err(format!("the mirror reports the hash {wrong}, the package has {}", package.h1)),
        None => Ok(known),
    }
}
