//! Providers in OCI registries, as OpenTofu 1.10 and later lay them out (OpenTofu's documentation, "Provider Mirrors in OCI
//! Registries").
//!
//! A template gives each provider its repository. The tags of a repository are versions, with `_` for `+`. A tag names an
//! index, the index a manifest for each platform, and the manifest one layer, the zip archive.

mod authorization;
mod challenge;
mod client;
mod credential_helper;
mod credentials;
mod docker_config;
mod http;
mod manifest;
mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

pub use client::OciRegistries;
pub use credentials::OciLogins;
pub use template::{Repository, RepositoryError, RepositoryTemplate};

use self::client::RepositoryClient;
use self::manifest::{Reference, Targets};
use super::download::{Counted, Downloader};
use super::once_map::OnceMap;
use super::{Available, Fetched, Offer, Progress, ProgressSink, SourceError, Wanted};
use crate::address::ProviderAddress;
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::package::{Limits, PackageDigest, PackageError, hash_zip, hash_zip_spooled};
use crate::platform::Platform;
use crate::version::Version;

/// The registry that its users call so, although it is at another host.
const DOCKER_HUB: &str = "docker.io";

/// Repositories of OCI registries that hold the packages of providers of any registry.
pub struct OciMirror {
    downloader: Arc<Downloader>,
    registries: Arc<OciRegistries>,
    template: RepositoryTemplate,
    dialect: Dialect,
    /// Which provider a repository is for: it cannot be for two.
    owners: Mutex<HashMap<Repository, ProviderAddress>>,
    targets: OnceMap<(ProviderAddress, Version), Result<Arc<Targets>>>,
}

impl OciMirror {
    /// The repositories that `template` leads to.
    pub fn new(
        downloader: Arc<Downloader>,
        registries: Arc<OciRegistries>,
        template: RepositoryTemplate,
        dialect: Dialect,
    ) -> Self {
        let (owners, targets) = (Mutex::default(), OnceMap::default());
        Self { downloader, registries, template, dialect, owners, targets }
    }

    /// The versions of a provider. The platforms of a version are not known without its index.
    pub fn versions(&self, address: &ProviderAddress) -> std::result::Result<Available, SourceError> {
        let client = self.client(address).map_err(SourceError::Failed)?;
        match client.tags() {
            Ok(Some(tags)) => {
                let versions = tags.iter().filter_map(|tag| version_of_tag(tag));
                Ok(Available { versions: versions.map(|v| (v, Offer::default())).collect(), warnings: Vec::new() })
            }
            Ok(None) => {
                let message = format!("the OCI registry has no repository {} for {address}", client.repository());
                let diagnostic = Diagnostic::error(Code::ProviderNotFound, message);
                Err(SourceError::NoSuchProvider(Box::new(
                    diagnostic.note(format!("by the template {}", self.template)),
                )))
            }
            Err(error) => Err(SourceError::Failed(client.diagnostic(error, &address.to_string()))),
        }
    }

    /// The platforms that there are packages of a version for.
    pub fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        let targets = self.targets(address, version)?;
        Ok(targets.iter().map(|(platform, _)| platform.clone()).collect())
    }

    /// Fetches a package. What its manifest says of it is checked; nobody vouches for it beyond that.
    pub fn package(&self, wanted: &Wanted, progress: ProgressSink<'_>) -> Result<Fetched> {
        let client = self.client(&wanted.address)?;
        let target = self.target(wanted)?;
        let manifest = client.manifest_by_digest(&target.digest, manifest::MANIFEST);
        let manifest = manifest.map_err(|error| client.diagnostic(error, &wanted.to_string()))?;
        let layer = manifest::read_manifest(&manifest).map_err(|problem| {
            let message = format!("{}@{} {problem}", client.repository(), target.digest);
            Box::new(wanted.error(Code::RequestFailed, message))
        })?;
        let digest = self.fetch(&client, wanted, &layer, progress)?;
        let zh = layer.digest.as_zh();
        if digest.zh != *zh || digest.size != layer.size {
            let problem = format!("the package is not the layer {} of {} bytes", layer.digest, layer.size);
            let error = wanted.error(Code::PackageNotAuthentic, problem);
            let note = format!("{} sent {} bytes with the hash {}", client.repository(), digest.size, digest.zh);
            return Err(Box::new(error.note(note)));
        }
        let mut recordable = BTreeSet::from([digest.h1.clone()]);
        if self.dialect == Dialect::Tofu {
            recordable.insert(digest.zh.clone());
        }
        Ok(Fetched {
            h1: digest.h1,
            recordable,
            confirmed: BTreeSet::from([digest.zh]),
            authentication: Authentication::Unauthenticated,
            warnings: Vec::new(),
            downloaded: digest.size,
        })
    }

    /// Downloads and hashes a layer; once more in full if its archive cannot be hashed as it arrives.
    fn fetch(
        &self,
        client: &RepositoryClient<'_>,
        wanted: &Wanted,
        layer: &Reference,
        progress: ProgressSink<'_>,
    ) -> Result<PackageDigest> {
        let _permit = self.downloader.permit();
        let limits = Limits::default();
        let mut spooled = false;
        loop {
            let hashed = client.blob(&layer.digest, limits.archive_bytes, |body, length| {
                progress(wanted, Progress::Started(length));
                let body = Counted { inner: body, wanted, progress };
                let hash = if spooled { hash_zip_spooled } else { hash_zip };
                hash(body, &wanted.address.name, &limits)
            });
            match hashed.map_err(|error| client.diagnostic(error, &wanted.to_string()))? {
                Ok(digest) => return Ok(digest),
                Err(PackageError::NotStreamable(_)) if !spooled => spooled = true,
                Err(error) => {
                    let error = wanted.error(Code::InvalidPackage, error);
                    return Err(Box::new(error.note(format!(
                        "downloaded from {}@{}",
                        client.repository(),
                        layer.digest
                    ))));
                }
            }
        }
    }

    /// The manifest of a platform: the only one there is.
    fn target(&self, wanted: &Wanted) -> Result<Reference> {
        let targets = self.targets(&wanted.address, &wanted.version)?;
        let mut fitting = targets.iter().filter(|(platform, _)| *platform == wanted.platform);
        match (fitting.next(), fitting.next()) {
            (Some((_, target)), None) => Ok(target.clone()),
            (None, _) => {
                Err(wanted.not_available(targets.iter().map(|(platform, _)| platform).collect::<BTreeSet<_>>()))
            }
            (Some(_), Some(_)) => {
                let problem = "the index in the OCI registry lists several manifests for this platform";
                Err(Box::new(wanted.error(Code::RequestFailed, problem)))
            }
        }
    }

    fn targets(&self, address: &ProviderAddress, version: &Version) -> Result<Arc<Targets>> {
        let key = (address.clone(), version.clone());
        self.targets.get_or_compute(key, || {
            let client = self.client(address)?;
            let tag = tag_of_version(version);
            let index = client.manifest_by_tag(&tag, manifest::ACCEPT_INDEX);
            let index = index.map_err(|error| client.diagnostic(error, &format!("{address} {version}")))?;
            manifest::read_index(&index).map(Arc::new).map_err(|problem| {
                let message = format!("{address} {version}: {}:{tag} {problem}", client.repository());
                let error = Diagnostic::error(Code::RequestFailed, message);
                Box::new(error.help("lay it out as OpenTofu's documentation on OCI registries says"))
            })
        })
    }

    fn client(&self, address: &ProviderAddress) -> Result<RepositoryClient<'_>> {
        let repository = self.template.resolve(address)?;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.entry(repository.clone()).or_insert_with(|| address.clone());
        if owner != address {
            let message =
                format!("the OCI mirror's template gives {owner} and {address} the same repository {repository}");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            let help = format!("use hostname, namespace and type in the template {} where they differ", self.template);
            return Err(Box::new(error.help(help)));
        }
        Ok(self.registries.client(repository))
    }
}

/// A tag is a version in its canonical text, with `_` in the place of `+`, which a tag cannot hold.
fn version_of_tag(tag: &str) -> Option<Version> {
    tag.replace('_', "+").parse().ok()
}

fn tag_of_version(version: &Version) -> String {
    version.to_string().replace('+', "_")
}

/// What a user can do who is not let in.
fn login_help(repository: &Repository) -> String {
    let registry = &repository.registry;
    format!(
        "log in with docker login {registry} or podman login {registry}, or add an oci_credentials block to the CLI configuration"
    )
}
