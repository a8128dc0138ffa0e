//! One installation method, with all its answers so far.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::available::AvailableVersions;
use super::error::{Result, SourceError};
use super::fetched::{Fetch, Fetched, Published};
use super::oci::OciMirror;
use super::offline::Offline;
use super::progress::{Progress, ProgressSink};
use super::registry::Registry;
use crate::packages::archive::{HashCache, HashesByPlatform, PackageId};
use crate::packages::mirrors::{FilesystemMirror, NetworkMirror};
use crate::provider::{Hash, Platform, ProviderAddress, ProviderSelection, Version};
use crate::system::OnceMap;

/// The kinds of installation methods.
pub(crate) enum SourceKind {
    /// The registry that each provider's address names.
    Registry(Box<Registry>),
    /// A directory of packages.
    FilesystemMirror(FilesystemMirror),
    /// A server that speaks the provider mirror protocol.
    NetworkMirror(NetworkMirror),
    /// Repositories of OCI registries.
    OciMirror(OciMirror),
    /// The cache and the lock files on this machine.
    Offline(Offline),
}

/// An installation method, and its providers.
pub(crate) struct Method {
    pub(super) kind: SourceKind,
    pub(super) providers: ProviderSelection,
    /// Stores the platform of each `h1:`.
    pub(super) cache: Option<HashCache>,
    versions: OnceMap<ProviderAddress, Result<Arc<AvailableVersions>>>,
    packages: OnceMap<PackageId, Result<Arc<Fetched>>>,
}

impl Method {
    /// A method without answers yet.
    pub(crate) fn new(kind: SourceKind, providers: ProviderSelection) -> Self {
        Self {
            kind,
            providers,
            cache: None,
            versions: OnceMap::default(),
            packages: OnceMap::default(),
        }
    }

    pub(super) fn versions(&self, address: &ProviderAddress) -> Result<Arc<AvailableVersions>> {
        self.versions.get_or_compute(address, || {
            let available = match &self.kind {
                SourceKind::Registry(registry) => registry.versions(address),
                SourceKind::FilesystemMirror(mirror) => mirror.versions(address),
                SourceKind::NetworkMirror(mirror) => mirror.versions(address),
                SourceKind::OciMirror(mirror) => mirror.versions(address),
                SourceKind::Offline(offline) => offline.versions(address),
            };
            available.map(Arc::new)
        })
    }

    /// Returns the platforms for which the source has packages of a version.
    pub(super) fn platforms(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<BTreeSet<Platform>> {
        match &self.kind {
            SourceKind::NetworkMirror(mirror) => mirror.platforms(address, version),
            SourceKind::OciMirror(mirror) => mirror.platforms(address, version),
            SourceKind::Offline(offline) => offline.platforms(address, version),
            // These sources list the platforms together with the versions.
            SourceKind::Registry(_) | SourceKind::FilesystemMirror(_) => {
                let available = self.versions(address)?;
                match available.versions.get(version) {
                    Some(listed) if !listed.platforms.is_empty() => {
                        Ok(listed.platforms.iter().collect())
                    }
                    _ => Err(SourceError::platforms_not_listed(address, version)),
                }
            }
        }
    }

    /// Whether a package has been fetched already.
    pub(super) fn has_fetched(&self, package: &PackageId) -> bool {
        self.packages.get(package).is_some()
    }

    /// Fetches a package once.
    pub(super) fn fetch_once(
        &self,
        package: &PackageId,
        progress: ProgressSink<'_>,
    ) -> Result<Arc<Fetched>> {
        self.packages.get_or_compute(package, || {
            self.fetch(&Fetch {
                package,
                archive_file: None,
                progress,
            })
            .map(Arc::new)
        })
    }

    /// Fetches a package. If its archive goes to a file, it is downloaded even if its hashes are
    /// known.
    pub(super) fn fetch(&self, fetch: &Fetch<'_>) -> Result<Fetched> {
        let fetched = self.fetch_and_remember(fetch);
        // Also after a failure.
        (fetch.progress)(fetch.package, Progress::Finished);
        fetched
    }

    fn fetch_and_remember(&self, fetch: &Fetch<'_>) -> Result<Fetched> {
        let copy = match &self.kind {
            SourceKind::Registry(registry) => {
                let (fetched, reported) = registry.fetch_with_reports(fetch)?;
                self.remember_release(fetch.package, &reported);
                return Ok(fetched);
            }
            SourceKind::Offline(offline) => return offline.cached_package(fetch),
            SourceKind::FilesystemMirror(mirror) => mirror.fetch(fetch)?,
            SourceKind::NetworkMirror(mirror) => mirror.fetch(fetch)?,
            SourceKind::OciMirror(mirror) => mirror.fetch(fetch)?,
        };
        self.remember_copy(fetch.package, &copy);
        Ok(copy)
    }

    /// Stores the platforms that a registry lists, if this run has the list, and the well-formed
    /// `h1:` that it reports for them.
    fn remember_release(
        &self,
        PackageId {
            address, version, ..
        }: &PackageId,
        reported: &HashesByPlatform,
    ) {
        let Some(cache) = &self.cache else { return };
        // Only a list of versions that the run has already is stored, so that nothing is requested.
        let mut listed = None;
        if let Some(Ok(available)) = self.versions.get(address)
            && let Some(release) = available.versions.get(version)
            && !release.platforms.is_empty()
        {
            listed = Some(release.platforms.iter().collect());
        }
        cache.change_release_evidence(address, version, |evidence| {
            // Earlier runs may have seen a list that this one has not requested.
            if listed.is_some() {
                evidence.listed = listed;
            }
            for (platform, h1) in reported {
                if h1.iter().all(Hash::is_well_formed) {
                    evidence.h1_by_platform.insert(platform.clone(), h1.clone());
                }
            }
        });
    }

    /// Stores the `h1:` of a package from a mirror.
    fn remember_copy(&self, package: &PackageId, copy: &Fetched) {
        if let Some(cache) = &self.cache {
            cache.change_release_evidence(&package.address, &package.version, |evidence| {
                evidence
                    .copies
                    .entry(package.platform.clone())
                    .or_default()
                    .extend(copy.all_h1());
            });
        }
    }

    /// Returns the release of a package; `None` for sources that do not know releases.
    pub(super) fn published_release(&self, package: &PackageId) -> Result<Option<Published>> {
        match &self.kind {
            SourceKind::Registry(registry) => {
                let published = registry.published_release(package)?;
                self.remember_release(package, &published.h1);
                Ok(Some(published))
            }
            SourceKind::Offline(offline) => Ok(offline.published_release(package)),
            _ => Ok(None),
        }
    }

    /// Requests what a fetch of the package needs first, so that it is there by then.
    pub(super) fn prefetch(&self, package: &PackageId) {
        match &self.kind {
            SourceKind::Registry(registry) => registry.prefetch(package),
            SourceKind::NetworkMirror(mirror) => mirror.prefetch(package),
            _ => {}
        }
    }

    /// Name of the method in a sentence, if it contains copies of published packages.
    pub(super) fn mirror_name(&self) -> Option<String> {
        match &self.kind {
            SourceKind::Registry(_) => None,
            SourceKind::FilesystemMirror(mirror) => {
                Some(format!("the mirror {}", mirror.directory.display()))
            }
            SourceKind::NetworkMirror(mirror) => Some(format!("the mirror {}", mirror.base)),
            SourceKind::OciMirror(_) => Some("the OCI mirror".to_owned()),
            SourceKind::Offline(_) => Some("the cache of this machine".to_owned()),
        }
    }

    pub(super) fn as_registry(&self) -> Option<&Registry> {
        if let SourceKind::Registry(registry) = &self.kind {
            Some(registry)
        } else {
            None
        }
    }
}
