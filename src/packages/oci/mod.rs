//! Providers in OCI registries, as OpenTofu 1.10 and later lay them out
//! (<https://opentofu.org/docs/cli/oci_registries/provider-mirror/>).
//!
//! A template gives each provider its repository. The tags of a repository are versions, with `_`
//! for `+`. A tag names an index, the index a manifest for each platform, and the manifest one
//! layer, the zip archive.

mod authorization;
mod challenge;
mod client;
mod credential_helper;
mod credentials;
mod docker_config;
pub(super) mod facts;
mod login;
mod manifest;
mod module_package;
mod provider_tag;
mod push;
mod refusal;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use client::OciRegistries;
pub(crate) use credentials::OciLogins;
pub(crate) use module_package::{ModuleManifest, ModulePackage, ModulePackageError};
pub(crate) use provider_tag::{ProviderTag, PushedPackage};
pub(crate) use push::Content;
pub use template::RepositoryTemplate;

use self::authorization::Access;
use self::client::{ManifestName, RepositoryClient};
use self::manifest::{PROVIDER_TARGET, Reference, Targets};
use super::available::AvailableVersions;
use super::download::{Archive, Downloader, Expected};
use super::error::{Result, SourceError};
use super::fetched::{Fetch, Fetched};
use crate::diagnostic::{Code, Diagnostic};
use crate::packages::archive::{Limits, PackageId};
use crate::packages::authentication::HashDisposition;
use crate::provider::{Dialect, OciRepository, Platform, ProviderAddress, Version};
use crate::system::OnceMap;

/// Repositories of OCI registries with packages of providers of any registry.
pub(crate) struct OciMirror {
    downloader: Downloader,
    registries: Arc<OciRegistries>,
    template: RepositoryTemplate,
    dialect: Dialect,
    /// Provider of each repository, which cannot be for two.
    owners: OnceMap<OciRepository, ProviderAddress>,
    targets: OnceMap<(ProviderAddress, Version), Result<Arc<Targets>>>,
}

impl OciMirror {
    /// The repositories that `template` leads to.
    pub(super) fn new(
        downloader: Downloader,
        registries: Arc<OciRegistries>,
        template: RepositoryTemplate,
        dialect: Dialect,
    ) -> Self {
        Self {
            downloader,
            registries,
            template,
            dialect,
            owners: OnceMap::default(),
            targets: OnceMap::default(),
        }
    }

    /// The versions of a provider. The platforms of a version are not known without its index.
    pub(super) fn versions(&self, address: &ProviderAddress) -> Result<AvailableVersions> {
        let client = self.repository_client(address)?;
        match client.tags() {
            Ok(Some(tags)) => Ok(tags.iter().filter_map(|tag| version_of_tag(tag)).collect()),
            Ok(None) => {
                let message = format!(
                    "the OCI registry has no repository {} for {address}",
                    client.repository
                );
                let error = Diagnostic::error(Code::ProviderNotFound, message);
                let error = error.note(format!("by the template {}", self.template));
                Err(SourceError::provider_not_found(address, error))
            }
            Err(error) => Err(client.source_error(error, address)),
        }
    }

    /// The platforms that there are packages of a version for.
    pub(super) fn platforms(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<BTreeSet<Platform>> {
        let targets = self.targets_once(address, version)?;
        Ok(targets
            .iter()
            .map(|(platform, _)| platform.clone())
            .collect())
    }

    /// Fetches a package; its archive goes to a file if there is one. The package is compared with
    /// its manifest, and not authenticated beyond that.
    pub(super) fn fetch(&self, fetch: &Fetch<'_>) -> Result<Fetched> {
        let package = fetch.package;
        let client = self.repository_client(&package.address)?;
        let reference = self.manifest_reference(package)?;
        let manifest = client.manifest(
            &ManifestName::Digest(reference.digest.clone()),
            manifest::MANIFEST,
        );
        let manifest = manifest.map_err(|error| client.source_error(error, package))?;
        let layer = manifest::read_manifest(&manifest, PROVIDER_TARGET).map_err(|problem| {
            let problem = format!("{}@{} {problem}", client.repository, reference.digest);
            SourceError::invalid_response(package, problem)
        })?;
        let origin = format!("{}@{}", client.repository, layer.digest);
        // The digest of the archive is its `zh:`, so that the cache can have it.
        let expected = Some(Expected {
            zh: layer.digest.as_zh(),
            stated_by: "its manifest",
        });
        let archive = Archive {
            origin: origin.clone(),
            host: &client.repository.registry,
            size: Some(layer.size),
            expected,
            is_wanted: &|| true,
        };
        let downloaded = self
            .downloader
            .cached_or_received(fetch, &archive, |hash| {
                let hashed =
                    client.download_blob(&layer.digest, Limits::default().archive_bytes, hash);
                hashed.map_err(|error| client.source_error(error, package))
            })?;
        let digest = downloaded.digest;
        if digest.size != layer.size {
            let problem = format!(
                "the package has {} bytes, but its manifest says {}",
                digest.size, layer.size
            );
            return Err(SourceError::not_authentic_from(
                package,
                problem,
                format!("downloaded from {origin}"),
            ));
        }
        let zh = digest.zh.clone();
        let mut fetched = Fetched {
            downloaded: downloaded.transferred,
            ..Fetched::of_archive(digest)
        };
        // OpenTofu records the digest as `zh:`. Terraform reads no OCI mirrors, and records what it
        // computes.
        if self.dialect == Dialect::Tofu {
            fetched.hashes.add(HashDisposition::ReportedByMirror, [zh]);
        }
        Ok(fetched)
    }

    /// The manifest of the package in the index of its version. An error if several are listed for
    /// its platform.
    fn manifest_reference(&self, package: &PackageId) -> Result<Reference> {
        let targets = self.targets_once(&package.address, &package.version)?;
        let mut fitting = targets
            .iter()
            .filter(|(platform, _)| *platform == package.platform);
        match (fitting.next(), fitting.next()) {
            (Some((_, target)), None) => Ok(target.clone()),
            (None, _) => {
                let available = targets.iter().map(|(platform, _)| platform.clone());
                Err(SourceError::platform_not_among(package, available))
            }
            (Some(_), Some(_)) => {
                let problem =
                    "the index in the OCI registry lists several manifests for this platform";
                Err(SourceError::invalid_response(package, problem))
            }
        }
    }

    /// The platforms of a version with their manifests, by its index, which is read once in a run.
    fn targets_once(&self, address: &ProviderAddress, version: &Version) -> Result<Arc<Targets>> {
        let key = (address.clone(), version.clone());
        self.targets.get_or_compute(&key, || {
            let client = self.repository_client(address)?;
            let tag = tag_of_version(version);
            let index = client.manifest(&ManifestName::Tag(tag.clone()), manifest::ACCEPT_INDEX);
            let index = index.map_err(|error| client.source_error(error, format_args!("{address} {version}")))?;
            manifest::read_index(&index).map(Arc::new).map_err(|problem| {
                let problem = format!(
                    "{}:{tag} {problem}; see OpenTofu's documentation on OCI registries for the layout",
                    client.repository
                );
                SourceError::invalid_response(format_args!("{address} {version}"), problem)
            })
        })
    }

    /// A client for the repository of a provider. An error if the template gives it to another one,
    /// too.
    fn repository_client(&self, address: &ProviderAddress) -> Result<RepositoryClient<'_>> {
        let repository = self.template.resolve(address)?;
        let owner = self.owners.get_or_compute(&repository, || address.clone());
        if owner != *address {
            return Err(self
                .template
                .given_twice_error(&owner, address, &repository)
                .into());
        }
        Ok(self.registries.client(Access::Pull, repository)?)
    }
}

/// A tag is a version in its canonical text, with `_` instead of `+`, which a tag cannot contain.
fn version_of_tag(tag: &str) -> Option<Version> {
    tag.replace('_', "+").parse().ok()
}

pub(super) fn tag_of_version(version: &Version) -> String {
    version.to_string().replace('+', "_")
}
