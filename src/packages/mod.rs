//! Sources of packages: registries
//! (<https://opentofu.org/docs/internals/provider-registry-protocol/>) and mirrors, alone or as
//! listed by a `provider_installation` block
//! (<https://opentofu.org/docs/cli/config/config-file/#provider-installation>).
//!
//! A source answers two questions: which versions exist, and which hashes the package of a version
//! and platform has. It sends each request at most once per run.

pub mod archive;
mod archive_file;
pub mod authentication;
mod available;
pub mod connections;
mod download;
mod download_queue;
mod error;
mod fetched;
mod method;
mod mirrors;
pub(crate) mod oci;
mod offline;
mod progress;
mod publication_dates;
mod registry;
mod release_info;
pub mod shared_facts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use archive_file::ArchiveFile;
pub use available::{AvailableVersion, AvailableVersions, Platforms};
use download::Downloader;
pub use error::{Result, SourceError};
pub(crate) use fetched::Fetch;
pub use fetched::{Fetched, Packages, Published};
use method::{Method, SourceKind};
pub(crate) use mirrors::FilesystemMirror;
use mirrors::NetworkMirror;
pub(crate) use mirrors::packed_name;
pub use oci::RepositoryTemplate;
use offline::Offline;
pub use progress::{Progress, ProgressSink};
pub use publication_dates::DateServices;
pub(crate) use publication_dates::{DemandedAge, Listing, NotOldEnough, PublicationDates};
use registry::Registry;
pub(crate) use registry::{CloudHosts, Discovery, RegistryCache, Service};
#[doc(hidden)]
pub use registry::{read_reported_hashes, read_versions};
pub use release_info::{GithubRepository, ReleaseInfo};
pub use shared_facts::{PublishedRelease, SharedFacts};

use jiff::Timestamp;

use crate::packages::archive::{HashCache, PackageId};
use crate::provider::{Hash, Platform, ProviderAddress, ProviderSelection, Version};
use crate::system::OnceMap;

/// Installation methods in the order of precedence, with all their answers so far.
pub struct Source {
    methods: Vec<Method>,
    dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    versions: OnceMap<ProviderAddress, Result<Arc<AvailableVersions>>>,
}

impl Source {
    /// A directory of packages, for all providers.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self::new(SourceKind::FilesystemMirror(FilesystemMirror::new(
            directory,
        )))
    }

    /// One installation method, for all providers.
    pub(crate) fn new(kind: SourceKind) -> Self {
        Self::from_methods(
            vec![Method::new(kind, ProviderSelection::default())],
            BTreeMap::new(),
        )
    }

    /// Several installation methods; the first takes precedence. Providers with a development
    /// override have no method.
    pub(crate) fn from_methods(
        methods: Vec<Method>,
        dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    ) -> Self {
        Self {
            methods,
            dev_overrides,
            versions: OnceMap::default(),
        }
    }

    /// The same source, which stores facts about platforms.
    #[must_use]
    pub(crate) fn with_cache(mut self, cache: Option<&HashCache>) -> Self {
        for method in &mut self.methods {
            method.cache = cache.cloned();
        }
        self
    }

    /// The versions of a provider that any method lists. A method without the provider is skipped;
    /// any other failure is an error.
    ///
    /// # Errors
    /// [`SourceError::ProviderNotFound`] if no method has it.
    pub fn versions(&self, address: &ProviderAddress) -> Result<Arc<AvailableVersions>> {
        self.versions
            .get_or_compute(address, || self.versions_of_methods(address))
    }

    /// Merges the versions of all installation methods for a provider. It is not found only if no
    /// method has it.
    fn versions_of_methods(&self, address: &ProviderAddress) -> Result<Arc<AvailableVersions>> {
        let mut merged: Option<Arc<AvailableVersions>> = None;
        let mut all_searched = Vec::new();
        let mut in_any_registry = false;
        // As `init` does, the newest version is selected from all methods that match the provider.
        for method in self.methods_for(address) {
            match method.versions(address) {
                Ok(available) => match &mut merged {
                    Some(merged) => Arc::make_mut(merged).merge(&available),
                    None => merged = Some(available),
                },
                Err(SourceError::ProviderNotFound {
                    searched,
                    in_registry,
                    ..
                }) => {
                    all_searched.extend(searched);
                    in_any_registry |= in_registry;
                }
                // A method that fails may have a newer version, so the others alone must not
                // decide.
                Err(error) => return Err(error),
            }
        }
        merged.ok_or(SourceError::ProviderNotFound {
            address: address.clone(),
            searched: all_searched,
            in_registry: in_any_registry,
        })
    }

    /// The platforms for which any method has packages of a version.
    pub fn platforms(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<BTreeSet<Platform>> {
        let mut platforms = BTreeSet::new();
        let mut missing = None;
        for method in self.methods_with(address, version)? {
            match method.platforms(address, version) {
                Ok(more) => platforms.extend(more),
                Err(error) if error.is_platform_missing() => missing = Some(error),
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if platforms.is_empty() => Err(error),
            _ => Ok(platforms),
        }
    }

    /// Fetches and authenticates one package, from the first method that has it.
    pub fn fetch_once(
        &self,
        package: &PackageId,
        progress: ProgressSink<'_>,
    ) -> Result<Arc<Fetched>> {
        self.first_with_package(package, |method| method.fetch_once(package, progress))
    }

    /// Fetches as [`Source::fetch_once`] does, but downloads again at each call.
    pub(crate) fn download_archive(&self, fetch: &Fetch<'_>) -> Result<Fetched> {
        self.first_with_package(fetch.package, |method| method.fetch(fetch))
    }

    /// The answer of the first method that has a package.
    fn first_with_package<T>(
        &self,
        package: &PackageId,
        ask: impl Fn(&Method) -> Result<T>,
    ) -> Result<T> {
        let mut missing = SourceError::platform_not_among(package, []);
        for method in self.methods_with(&package.address, &package.version)? {
            match ask(method) {
                Err(error) if error.is_platform_missing() => missing = error,
                outcome => return outcome,
            }
        }
        Err(missing)
    }

    /// Fetches the signed sums of a version from the URLs of an earlier run. [`Source::fetch_once`]
    /// returns the error, if any.
    pub(crate) fn prefetch_release(&self, address: &ProviderAddress, version: &Version) {
        if let Some(registry) = self.only_method(address).and_then(Method::as_registry) {
            registry.prefetch_release(address, version);
        }
    }

    /// Fetches the metadata of a package, so that [`Source::fetch_once`] need not wait for it, and
    /// returns any error there.
    pub(crate) fn prefetch_metadata(&self, package: &PackageId) {
        if let Some(method) = self.only_method(&package.address) {
            method.prefetch(package);
        }
    }

    /// Whether the versions of a provider are known already.
    pub(crate) fn knows_versions(&self, address: &ProviderAddress) -> bool {
        self.versions.get(address).is_some()
    }

    /// Whether a package has been fetched already.
    pub(crate) fn has_fetched(&self, package: &PackageId) -> bool {
        self.methods_for(&package.address)
            .any(|method| method.has_fetched(package))
    }

    /// Returns the release of a version, from the metadata of one platform, or without the network
    /// as an earlier run has verified it; `None` if a mirror supplies it, because a mirror only
    /// contains copies.
    pub fn published_release(&self, package: &PackageId) -> Result<Option<Published>> {
        let methods = self.methods_with(&package.address, &package.version)?;
        methods
            .first()
            .map_or(Ok(None), |method| method.published_release(package))
    }

    /// The `zh:` of a package in SHA256SUMS or, if a filesystem mirror supplies it, of its archive;
    /// `None` if another mirror does.
    pub(crate) fn listed_zh(&self, package: &PackageId) -> Result<Option<Hash>> {
        let methods = self.methods_with(&package.address, &package.version)?;
        let Some(method) = methods.first() else {
            return Ok(None);
        };
        match &method.kind {
            SourceKind::Registry(registry) => registry.listed_zh(package).map(Some),
            SourceKind::FilesystemMirror(_) => {
                let copy = method.fetch_once(package, &|_, _| ())?;
                Ok(copy.digest.as_ref().map(|digest| digest.zh.clone()))
            }
            SourceKind::NetworkMirror(_) | SourceKind::OciMirror(_) | SourceKind::Offline(_) => {
                Ok(None)
            }
        }
    }

    /// The time of the last change of a version's SHA256SUMS, if its server sends it. Only
    /// registries have SHA256SUMS.
    pub(crate) fn sums_modified(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<Option<Timestamp>> {
        let Some(registry) = self.registry_of(address, version)? else {
            return Ok(None);
        };
        let platform = self
            .platforms(address, version)?
            .into_iter()
            .next()
            .unwrap_or_else(Platform::current);
        registry.sums_modified(&PackageId::new(address, version, &platform))
    }

    /// Name of the provider's source in a sentence, if it only contains copies of published
    /// packages.
    pub(crate) fn mirror_of(&self, address: &ProviderAddress) -> Option<String> {
        let names: Option<Vec<String>> =
            self.methods_for(address).map(Method::mirror_name).collect();
        names
            .map(|names| names.join(" and "))
            .filter(|names| !names.is_empty())
    }

    /// [`Source::mirror_of`] for the method that supplies a version.
    pub(crate) fn supplying_mirror(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<Option<String>> {
        Ok(self
            .methods_with(address, version)?
            .first()
            .and_then(|method| method.mirror_name()))
    }

    /// The network mirror at which `init` stops although a later installation method has a version.
    pub(crate) fn mirror_without(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<String> {
        let mut earlier_mirror = None;
        for method in self.methods_for(address) {
            let available = method.versions(address);
            if available.is_ok_and(|available| available.versions.contains_key(version)) {
                return earlier_mirror;
            }
            // `init` requests the version there although the mirror does not list it (OpenTofu's
            // and Terraform's `internal/getproviders/multi_source.go`).
            if matches!(method.kind, SourceKind::NetworkMirror(_)) && earlier_mirror.is_none() {
                earlier_mirror = method.mirror_name();
            }
        }
        None
    }

    /// The directory of a provider under development; such a provider is not locked.
    pub(crate) fn dev_override(&self, address: &ProviderAddress) -> Option<&Path> {
        self.dev_overrides.get(address).map(PathBuf::as_path)
    }

    /// The registry that supplies a version, if it is one.
    fn registry_of(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<Option<&Registry>> {
        Ok(self
            .methods_with(address, version)?
            .first()
            .and_then(|method| method.as_registry()))
    }

    fn methods_for(&self, address: &ProviderAddress) -> impl Iterator<Item = &Method> {
        self.methods
            .iter()
            .filter(|method| method.providers.contains(address))
    }

    /// The method for a provider, if only one applies. If several do, the versions that each has
    /// decide.
    fn only_method(&self, address: &ProviderAddress) -> Option<&Method> {
        let methods: Vec<_> = self.methods_for(address).collect();
        if let [only] = methods[..] {
            Some(only)
        } else {
            None
        }
    }

    /// The methods that list a version; the only one need not be asked.
    fn methods_with(&self, address: &ProviderAddress, version: &Version) -> Result<Vec<&Method>> {
        if let Some(only) = self.only_method(address) {
            return Ok(vec![only]);
        }
        let mut methods = Vec::new();
        for method in self.methods_for(address) {
            match method.versions(address) {
                Ok(available) if available.versions.contains_key(version) => methods.push(method),
                Ok(_) | Err(SourceError::ProviderNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(methods)
    }
}
