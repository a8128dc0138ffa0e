//! What a source says of a provider before any package is fetched.

use std::collections::{BTreeMap, BTreeSet};

use crate::platform::Platform;
use crate::version::Version;

/// Plugin protocols that OpenTofu and Terraform speak.
const SUPPORTED_PROTOCOLS: [&str; 2] = ["5", "6"];

/// The versions of a provider.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersions {
    /// What is known of each version.
    pub versions: BTreeMap<Version, AvailableVersion>,
    /// Messages for the user that the source sent along.
    pub warnings: Vec<String>,
}

/// What a source says of a version.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersion {
    /// Plugin protocols such as `5.0`; empty when the source does not say.
    pub protocols: Vec<String>,
    /// Platforms; empty when the source does not say.
    pub platforms: BTreeSet<Platform>,
}

impl AvailableVersions {
    /// Adds what another source says of the same provider.
    pub(super) fn merge(&mut self, other: &Self) {
        for (version, available) in &other.versions {
            let known = self.versions.entry(version.clone());
            known.and_modify(|known| known.merge(available)).or_insert_with(|| available.clone());
        }
        self.warnings.extend(other.warnings.iter().cloned());
    }
}

impl AvailableVersion {
    /// Whether OpenTofu and Terraform speak one of its plugin protocols; a source that names none is believed.
    pub(crate) fn is_supported(&self) -> bool {
        is_supported(&self.protocols)
    }

    /// Adds what another source says of the same version: the package of a platform may come from either.
    fn merge(&mut self, other: &Self) {
        if self.platforms.is_empty() || other.platforms.is_empty() {
            self.platforms.clear();
        } else {
            self.platforms.extend(other.platforms.iter().cloned());
        }
    }
}

/// Versions of which nothing more is known.
impl FromIterator<Version> for AvailableVersions {
    fn from_iter<I: IntoIterator<Item = Version>>(versions: I) -> Self {
        let versions = versions.into_iter().map(|version| (version, AvailableVersion::default())).collect();
        Self { versions, warnings: Vec::new() }
    }
}

/// Whether one of the plugin protocols is supported, or none is named.
pub(super) fn is_supported(protocols: &[String]) -> bool {
    let major =
        |protocol: &String| protocol.split('.').next().is_some_and(|major| SUPPORTED_PROTOCOLS.contains(&major));
    protocols.is_empty() || protocols.iter().any(major)
}
