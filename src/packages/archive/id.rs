//! Identifies a package.

use crate::provider::{Platform, ProviderAddress, Version};

/// One package: a version of a provider, built for one platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{address} {version} for {platform}")]
pub struct PackageId {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// The platform.
    pub platform: Platform,
}

impl PackageId {
    /// The package of a release for a platform.
    pub fn new(address: &ProviderAddress, version: &Version, platform: &Platform) -> Self {
        Self {
            address: address.clone(),
            version: version.clone(),
            platform: platform.clone(),
        }
    }
}
