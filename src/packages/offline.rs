//! Packages in the cache of hashes, and versions in lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::available::AvailableVersions;
use super::error::{Result, SourceError};
use super::fetched::{Fetch, Fetched, Published};
use super::registry::RegistryCache;
use crate::diagnostic::{Code, Diagnostic, Help};
use crate::packages::archive::{HashCache, PackageId};
use crate::packages::authentication::HashDisposition;
use crate::provider::{Authentication, Platform, ProviderAddress, Version};
use crate::system::OnceMap;

/// A source that asks no host.
///
/// The packages in the cache were verified when they were stored. They are not authenticated again,
/// so an entry of a lock file that contradicts them is still refused.
#[derive(Debug)]
pub(crate) struct Offline {
    pub(super) cache: Option<HashCache>,
    /// Answers of registries in earlier runs.
    pub(super) registries: Option<RegistryCache>,
    /// Cached packages of each provider.
    pub(super) packages: OnceMap<ProviderAddress, Arc<Vec<PackageId>>>,
    /// Versions in lock files.
    pub(super) locked: BTreeMap<ProviderAddress, BTreeSet<Version>>,
}

impl Offline {
    /// Returns the versions that are locked or in the cache. There may be others.
    pub(super) fn versions(&self, address: &ProviderAddress) -> Result<AvailableVersions> {
        let packages = self.cached_packages(address);
        let cached = packages.iter().map(|package| package.version.clone());
        let locked = self.locked.get(address).into_iter().flatten().cloned();
        // Platforms stay unknown: a package that is not in the cache may exist.
        let available: AvailableVersions = cached.chain(locked).collect();
        if available.versions.is_empty() {
            let message = format!("no version of {address} is known offline");
            let error = Diagnostic::error(Code::ProviderNotFound, message).help(Help::run_online());
            // So that the error names the provider that is probably meant.
            return Err(SourceError::ProviderNotFound {
                address: address.clone(),
                searched: vec![error],
                in_registry: true,
            });
        }
        Ok(AvailableVersions {
            is_partial: true,
            ..available
        })
    }

    pub(super) fn platforms(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<BTreeSet<Platform>> {
        let mut platforms = BTreeSet::new();
        for package in self.cached_packages(address).iter() {
            if package.version == *version {
                platforms.insert(package.platform.clone());
            }
        }
        if platforms.is_empty() {
            return Err(SourceError::version_not_known_offline(address, version));
        }
        Ok(platforms)
    }

    fn cached_packages(&self, address: &ProviderAddress) -> Arc<Vec<PackageId>> {
        self.packages.get_or_compute(address, || {
            let packages = self.cache.iter().flat_map(|cache| cache.packages(address));
            Arc::new(packages.map(|(package, _)| package).collect())
        })
    }

    /// Returns the version as an earlier run verified it. The signer is not kept.
    pub(super) fn published_release(&self, package: &PackageId) -> Option<Published> {
        let sums = self
            .registries
            .as_ref()?
            .sums(&package.address, &package.version)?;
        Some(Published::of(
            &sums,
            Authentication::Unauthenticated,
            Vec::new(),
        ))
    }

    /// Returns the hashes of a package from the cache. An error if its archive is to be kept.
    pub(super) fn cached_package(
        &self,
        Fetch {
            package,
            archive_file,
            ..
        }: &Fetch<'_>,
    ) -> Result<Fetched> {
        let mut cached = None;
        // The cache has hashes only, and no archives that could be kept.
        if let Some(cache) = &self.cache
            && archive_file.is_none()
        {
            cached = cache.digest_of(package);
        }
        let Some(digest) = cached else {
            return Err(SourceError::package_not_known_offline(package));
        };
        let mut fetched = Fetched::of_archive(digest.clone());
        // The run that stored the digest had found its `zh:` in a verified SHA256SUMS.
        fetched.hashes.add(HashDisposition::Listed, [digest.zh]);
        Ok(fetched)
    }
}
