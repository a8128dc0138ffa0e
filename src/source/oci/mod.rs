//! Providers in OCI registries, as OpenTofu 1.10 and later lay them out
//! (<https://opentofu.org/docs/cli/oci_registries/provider-mirror/>).
//!
//! A template gives each provider its repository. The tags of a repository are versions, with `_` for `+`. A tag names an
//! index, the index a manifest for each platform, and the manifest one layer, the zip archive.

mod authorization;
mod challenge;
mod client;
mod credential_helper;
mod credentials;
mod docker_config;
mod manifest;
mod refusal;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use client::OciRegistries;
pub use credentials::OciLogins;
pub use template::{Repository, RepositoryError, RepositoryTemplate};

use self::client::RepositoryClient;
use self::manifest::{Reference, Targets};
use super::download::{Archive, Downloader, Expected};
use super::{AvailableVersion, AvailableVersions, Fetched, PackageId, ProgressSink, SourceError};
use crate::address::ProviderAddress;
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::once_map::OnceMap;
use crate::package::Limits;
use crate::platform::Platform;
use crate::version::Version;

/// The registry that its users call so, although it is at another host.
const DOCKER_HUB: &str = "docker.io";

/// Repositories of OCI registries that hold the packages of providers of any registry.
pub struct OciMirror {
    downloader: Downloader,
    registries: Arc<OciRegistries>,
    template: RepositoryTemplate,
    dialect: Dialect,
    /// Which provider a repository is for: it cannot be for two.
    owners: OnceMap<Repository, ProviderAddress>,
    targets: OnceMap<(ProviderAddress, Version), Result<Arc<Targets>>>,
}

impl OciMirror {
    /// The repositories that `template` leads to.
    pub fn new(
        downloader: Downloader,
        registries: Arc<OciRegistries>,
        template: RepositoryTemplate,
        dialect: Dialect,
    ) -> Self {
        let (owners, targets) = (OnceMap::default(), OnceMap::default());
        Self { downloader, registries, template, dialect, owners, targets }
    }

    /// The versions of a provider. The platforms of a version are not known without its index.
    pub(super) fn versions(&self, address: &ProviderAddress) -> std::result::Result<AvailableVersions, SourceError> {
        let client = self.client(address).map_err(SourceError::Failed)?;
        match client.tags() {
            Ok(Some(tags)) => {
                let versions = tags.iter().filter_map(|tag| version_of_tag(tag));
                Ok(AvailableVersions {
                    versions: versions.map(|v| (v, AvailableVersion::default())).collect(),
                    warnings: Vec::new(),
                })
            }
            Ok(None) => {
                let message = format!("the OCI registry has no repository {} for {address}", client.repository());
                let diagnostic = Diagnostic::error(Code::ProviderNotFound, message);
                Err(SourceError::NoSuchProvider(diagnostic.note(format!("by the template {}", self.template)).into()))
            }
            Err(error) => Err(SourceError::Failed(client.diagnostic(error, &address.to_string()))),
        }
    }

    /// The platforms that there are packages of a version for.
    pub(super) fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        let targets = self.targets(address, version)?;
        Ok(targets.iter().map(|(platform, _)| platform.clone()).collect())
    }

    /// Fetches a package. What its manifest says of it is checked; nobody vouches for it beyond that.
    pub(super) fn package(&self, wanted: &PackageId, progress: ProgressSink<'_>) -> Result<Fetched> {
        let client = self.client(&wanted.address)?;
        let target = self.target(wanted)?;
        let manifest = client.manifest_by_digest(&target.digest, manifest::MANIFEST);
        let manifest = manifest.map_err(|error| client.diagnostic(error, &wanted.to_string()))?;
        let layer = manifest::read_manifest(&manifest).map_err(|problem| {
            let message = format!("{}@{} {problem}", client.repository(), target.digest);
            wanted.error(Code::RequestFailed, message)
        })?;
        let origin = format!("{}@{}", client.repository(), layer.digest);
        let expected = Some(Expected { zh: layer.digest.as_zh(), by: "its manifest" });
        let archive = Archive {
            origin: &origin,
            host: &client.repository().registry,
            size: Some(layer.size),
            expected,
            is_wanted: &|| true,
        };
        let package = self.downloader.fetch(wanted, &archive, progress, |hash| {
            let hashed = client.blob(&layer.digest, Limits::default().archive_bytes, hash);
            hashed.map_err(|error| client.diagnostic(error, &wanted.to_string()))
        })?;
        if package.size != layer.size {
            let problem = format!("the package has {} bytes, but its manifest says {}", package.size, layer.size);
            let error = wanted.error(Code::PackageNotAuthentic, problem);
            return Err(error.note(format!("downloaded from {origin}")).into());
        }
        let mut recordable = BTreeSet::from([package.h1.clone()]);
        if self.dialect == Dialect::Tofu {
            recordable.insert(package.zh.clone());
        }
        Ok(Fetched {
            confirmed: BTreeSet::from([package.h1.clone(), package.zh]),
            h1: package.h1,
            recordable,
            authentication: Authentication::Unauthenticated,
            warnings: Vec::new(),
            downloaded: package.transferred,
            reported: false,
        })
    }

    /// The manifest of a platform: the only one there is.
    fn target(&self, wanted: &PackageId) -> Result<Reference> {
        let targets = self.targets(&wanted.address, &wanted.version)?;
        let mut fitting = targets.iter().filter(|(platform, _)| *platform == wanted.platform);
        match (fitting.next(), fitting.next()) {
            (Some((_, target)), None) => Ok(target.clone()),
            (None, _) => {
                Err(wanted.not_available(targets.iter().map(|(platform, _)| platform).collect::<BTreeSet<_>>()).into())
            }
            (Some(_), Some(_)) => {
                let problem = "the index in the OCI registry lists several manifests for this platform";
                Err(wanted.error(Code::RequestFailed, problem).into())
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
                error.help("lay it out as OpenTofu's documentation on OCI registries says").into()
            })
        })
    }

    fn client(&self, address: &ProviderAddress) -> Result<RepositoryClient<'_>> {
        let repository = self.template.resolve(address)?;
        let owner = self.owners.get_or_compute(repository.clone(), || address.clone());
        if owner != *address {
            let message =
                format!("the OCI mirror's template gives {owner} and {address} the same repository {repository}");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            let help = format!("use hostname, namespace and type in the template {} where they differ", self.template);
            return Err(error.help(help).into());
        }
        self.registries.client(repository)
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
