//! Versions and platforms that a source lists for a provider, before any package is fetched. A
//! registry may list many versions with much data, so a version takes little more memory than the
//! text that lists it.

use std::collections::{BTreeMap, BTreeSet};

use crate::provider::{Platform, Version};

/// The plugin protocols that OpenTofu and Terraform support.
const SUPPORTED_PROTOCOLS: [&str; 2] = ["5", "6"];
/// The longest version that a source may list, in bytes.
pub(super) const LONGEST_VERSION: usize = 128;
/// The most characters of a list of unsupported protocols that are kept for the error.
const LONGEST_PROTOCOLS: usize = 100;

/// The versions of a provider.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersions {
    /// The versions, with details.
    pub versions: BTreeMap<Version, AvailableVersion>,
    /// Messages for the user from the source.
    pub warnings: Vec<String>,
    /// Whether this lists only versions that this machine knows, because no host was contacted.
    pub is_partial: bool,
}

/// Details of a version, as a source lists them.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersion {
    /// The start of the list of its plugin protocols, as in `4.0, 4.1`, if OpenTofu and Terraform
    /// support none of them.
    pub unsupported_protocols: Option<Box<str>>,
    /// Its platforms; empty if the source does not list them.
    pub platforms: Platforms,
}

/// A set of platforms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platforms {
    /// Names of the platforms, each once, separated by spaces.
    names: Box<str>,
}

impl AvailableVersions {
    /// Adds the versions that another source lists for the same provider.
    pub(super) fn merge(&mut self, other: &Self) {
        for (version, available) in &other.versions {
            let entry = self.versions.entry(version.clone());
            entry
                .and_modify(|entry| entry.merge(available))
                .or_insert_with(|| available.clone());
        }
        self.warnings.extend(other.warnings.iter().cloned());
        self.is_partial |= other.is_partial;
    }

    /// The newest version. A prerelease is the newest one only if `with_prereleases` is set, or if
    /// there is nothing else.
    pub(crate) fn newest(&self, with_prereleases: bool) -> Option<&Version> {
        let mut versions = self.versions.keys().rev();
        let newest = versions.next()?;
        if with_prereleases || !newest.is_prerelease() {
            return Some(newest);
        }
        Some(
            versions
                .find(|version| !version.is_prerelease())
                .unwrap_or(newest),
        )
    }

    /// The versions and their approximate memory, in bytes.
    pub(super) fn with_weight(self) -> (Self, usize) {
        /// Bytes of a version in the map, without its texts.
        const ENTRY: usize = 128;
        let mut weight = 0;
        for (version, available) in &self.versions {
            weight += ENTRY + version.text_length() + available.text_length();
        }
        for warning in &self.warnings {
            weight += warning.len();
        }
        (self, weight)
    }
}

impl AvailableVersion {
    /// Adds the platforms that another source lists for the same version: the package of a platform
    /// may come from either.
    fn merge(&mut self, other: &Self) {
        if self.platforms.is_empty() || other.platforms.is_empty() {
            self.platforms = Platforms::default();
        } else {
            self.platforms = self
                .platforms
                .iter()
                .chain(other.platforms.iter())
                .collect();
        }
    }

    fn text_length(&self) -> usize {
        self.unsupported_protocols
            .as_ref()
            .map_or(0, |protocols| protocols.len())
            + self.platforms.names.len()
    }
}

/// The start of a list of protocols, such as `5.0`, if OpenTofu and Terraform support none of them.
pub(super) fn unsupported_protocols(protocols: &[String]) -> Option<Box<str>> {
    if protocols.is_empty() || protocols.iter().any(|protocol| is_supported(protocol)) {
        return None;
    }
    let list = protocols.join(", ");
    Some(list.chars().take(LONGEST_PROTOCOLS).collect())
}

fn is_supported(protocol: &str) -> bool {
    let major = protocol.split('.').next().unwrap_or_default();
    SUPPORTED_PROTOCOLS.contains(&major)
}

impl Platforms {
    /// Whether the source does not list any.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The platforms in order.
    pub fn iter(&self) -> impl Iterator<Item = Platform> {
        self.names
            .split_ascii_whitespace()
            .filter_map(|name| name.parse().ok())
    }

    /// Whether a platform is one of them.
    pub fn contains(&self, platform: &Platform) -> bool {
        let name = platform.to_string();
        self.names
            .split_ascii_whitespace()
            .any(|listed| listed == name)
    }
}

impl FromIterator<Platform> for Platforms {
    fn from_iter<I: IntoIterator<Item = Platform>>(platforms: I) -> Self {
        let platforms: BTreeSet<_> = platforms.into_iter().collect();
        let names: Vec<_> = platforms.iter().map(Platform::to_string).collect();
        Self {
            names: names.join(" ").into(),
        }
    }
}

/// Versions without details.
impl FromIterator<Version> for AvailableVersions {
    fn from_iter<I: IntoIterator<Item = Version>>(versions: I) -> Self {
        let versions = versions
            .into_iter()
            .map(|version| (version, AvailableVersion::default()))
            .collect();
        Self {
            versions,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_a_set() {
        let set = |names: &[&str]| {
            names
                .iter()
                .map(|name| name.parse::<Platform>().unwrap())
                .collect::<Platforms>()
        };
        let some = set(&["linux_amd64", "darwin_arm64", "linux_amd64"]);
        assert_eq!(
            some.iter()
                .map(|platform| platform.to_string())
                .collect::<Vec<_>>(),
            ["darwin_arm64", "linux_amd64"]
        );
        assert!(
            some.contains(&"linux_amd64".parse().unwrap())
                && !some.contains(&"linux_arm64".parse().unwrap())
        );
        assert!(!some.is_empty() && set(&[]).is_empty());
    }

    #[test]
    fn only_unsupported_protocols_are_kept() {
        let kept = |names: &[&str]| {
            unsupported_protocols(
                &names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(kept(&[]), None);
        assert_eq!(kept(&["4.0", "5.1"]), None);
        assert_eq!(kept(&["4.0", "50"]).as_deref(), Some("4.0, 50"));
        assert_eq!(kept(&["4"; 64]).unwrap().len(), LONGEST_PROTOCOLS);
    }
}
