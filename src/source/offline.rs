//! What is known on this machine: packages in the cache of hashes, versions in lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{AvailableVersion, AvailableVersions, Fetched, PackageId, SourceError};
use crate::address::ProviderAddress;
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::once_map::OnceMap;
use crate::package::cache::{CachedPackage, HashCache};
use crate::platform::Platform;
use crate::version::Version;

const HELP: &str = "run the command once without --offline, with the same cache";

/// A source that asks no host.
///
/// The packages in the cache were verified when they got there. Nobody vouches for them anew, so an entry of a lock file that
/// contradicts them is refused as ever.
#[derive(Debug)]
pub struct Offline {
    cache: Option<HashCache>,
    /// What the cache has of each provider.
    packages: OnceMap<ProviderAddress, Arc<Vec<CachedPackage>>>,
    locked: BTreeMap<ProviderAddress, BTreeSet<Version>>,
}

impl Offline {
    /// What `cache` knows, and versions that lock files name.
    pub fn new(cache: Option<HashCache>, locked: BTreeMap<ProviderAddress, BTreeSet<Version>>) -> Self {
        Self { cache, packages: OnceMap::default(), locked }
    }

    pub(super) fn versions(&self, address: &ProviderAddress) -> std::result::Result<AvailableVersions, SourceError> {
        let packages = self.packages(address);
        let cached = packages.iter().map(|package| package.version.clone());
        let locked = self.locked.get(address).into_iter().flatten().cloned();
        // Nothing is said of platforms: that one is not in the cache does not mean that there is none.
        let versions: BTreeMap<_, _> =
            cached.chain(locked).map(|version| (version, AvailableVersion::default())).collect();
        if versions.is_empty() {
            let error = Diagnostic::error(Code::ProviderNotFound, format!("no version of {address} is known offline"));
            return Err(SourceError::NoSuchProvider(error.help(HELP).into()));
        }
        Ok(AvailableVersions { versions, warnings: Vec::new() })
    }

    pub(super) fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        let packages = self.packages(address);
        let packages = packages.iter().filter(|package| package.version == *version);
        let platforms: BTreeSet<_> = packages.map(|package| package.platform.clone()).collect();
        if platforms.is_empty() {
            let message = format!("no package of {address} {version} is in the cache of hashes");
            return Err(Diagnostic::error(Code::PlatformNotKnown, message).help(HELP).into());
        }
        Ok(platforms)
    }

    fn packages(&self, address: &ProviderAddress) -> Arc<Vec<CachedPackage>> {
        self.packages.get_or_compute(address.clone(), || {
            let packages = self.cache.iter().flat_map(|cache| cache.packages(address));
            Arc::new(packages.collect())
        })
    }

    pub(super) fn package(&self, wanted: &PackageId) -> Result<Fetched> {
        let PackageId { address, version, platform } = wanted;
        let Some(package) = self.cache.as_ref().and_then(|cache| cache.lookup(address, version, platform)) else {
            let error = wanted.error(Code::PlatformNotKnown, "the package is not in the cache of hashes");
            return Err(error.help(HELP).into());
        };
        let hashes = BTreeSet::from([package.h1.clone(), package.zh]);
        Ok(Fetched {
            h1: package.h1,
            recordable: hashes.clone(),
            confirmed: hashes,
            authentication: Authentication::Unauthenticated,
            warnings: Vec::new(),
            downloaded: 0,
            reported: false,
        })
    }
}
