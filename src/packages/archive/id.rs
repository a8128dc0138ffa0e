//! Which package is meant.

use std::fmt;

use crate::provider::{Platform, ProviderAddress, Version};

/// One package: a version of a provider, built for one platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// The platform.
    pub platform: Platform,
}

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} for {}", self.address, self.version, self.platform)
    }
}
