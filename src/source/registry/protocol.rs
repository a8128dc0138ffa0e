//! What registries answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::address::ProviderAddress;
use crate::authentication::packages::PackageReport;
use crate::diagnostic::{Code, Diagnostic};
use crate::hash::Hash;
use crate::platform::Platform;
use crate::source::{AvailableVersion, AvailableVersions};
use crate::version::Version;

/// Plugin protocols that OpenTofu and Terraform speak.
const SUPPORTED_PROTOCOLS: [&str; 2] = ["5", "6"];

#[derive(Deserialize)]
pub(super) struct VersionList {
    pub(super) versions: Vec<VersionEntry>,
    #[serde(default)]
    pub(super) warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(super) struct VersionEntry {
    pub(super) version: String,
    #[serde(default)]
    pub(super) protocols: Option<Vec<String>>,
    #[serde(default)]
    pub(super) platforms: Option<Vec<PlatformEntry>>,
}

#[derive(Deserialize)]
pub(super) struct PlatformEntry {
    pub(super) os: String,
    pub(super) arch: String,
}

/// The answer to "find a provider package".
#[derive(Deserialize)]
pub(super) struct PackageMetadata {
    #[serde(default)]
    pub(super) protocols: Vec<String>,
    pub(super) os: String,
    pub(super) arch: String,
    pub(super) filename: String,
    pub(super) download_url: String,
    pub(super) shasums_url: String,
    pub(super) shasums_signature_url: String,
    pub(super) shasum: String,
    #[serde(default)]
    pub(super) signing_keys: SigningKeys,
    /// Read only where it counts, so that nothing in it disturbs elsewhere.
    pub(super) packages: Option<Box<RawValue>>,
}

#[derive(Deserialize, Default)]
pub(super) struct SigningKeys {
    #[serde(default)]
    pub(super) gpg_public_keys: Vec<KeyEntry>,
}

#[derive(Deserialize)]
pub(super) struct KeyEntry {
    #[serde(default)]
    pub(super) key_id: String,
    pub(super) ascii_armor: String,
}

/// One platform in the `packages` map.
#[derive(Deserialize)]
pub(super) struct ReportEntry {
    #[serde(default)]
    pub(super) hashes: Vec<String>,
    #[serde(default)]
    pub(super) package_size: Option<u64>,
}

/// Reads the `packages` map.
pub(super) fn read_reports(packages: &RawValue) -> Result<BTreeMap<String, PackageReport>, String> {
    // What it says is not quoted: a registry may echo the token that it was sent.
    let invalid = |what: &str| format!("the registry's report of packages {what}");
    let entries: BTreeMap<String, ReportEntry> =
        serde_json::from_str(packages.get()).map_err(|_| invalid("does not have the expected form"))?;
    let report = |(platform, entry): (String, ReportEntry)| {
        let hashes = entry.hashes.iter().map(|text| text.parse::<Hash>());
        let hashes = hashes.collect::<Result<_, _>>().map_err(|_| invalid("holds a hash without a scheme"))?;
        Ok((platform, PackageReport { hashes, package_size: entry.package_size }))
    };
    entries.into_iter().map(report).collect()
}

/// Whether a package can be used at all; a registry that names no protocol is believed.
pub(crate) fn speaks_supported_protocol(protocols: &[String]) -> bool {
    let major =
        |protocol: &String| protocol.split('.').next().is_some_and(|major| SUPPORTED_PROTOCOLS.contains(&major));
    protocols.is_empty() || protocols.iter().any(major)
}

/// The error for a version that speaks none of the supported protocols.
pub(crate) fn unsupported_protocol(address: &ProviderAddress, version: &Version, protocols: &[String]) -> Diagnostic {
    let spoken = protocols.join(", ");
    let message = format!("{address} {version} speaks plugin protocol {spoken}; only 5 and 6 are supported");
    Diagnostic::error(Code::UnsupportedProtocol, message)
}

/// Versions and platforms that cannot be read are left out, as if the registry had not listed them.
impl From<VersionList> for AvailableVersions {
    fn from(list: VersionList) -> Self {
        let offer = |entry: VersionEntry| {
            let version = entry.version.parse::<Version>().ok()?;
            let platforms = entry.platforms.unwrap_or_default().into_iter();
            let platforms = platforms.map(|platform| Platform { os: platform.os, arch: platform.arch }).collect();
            Some((version, AvailableVersion { protocols: entry.protocols.unwrap_or_default(), platforms }))
        };
        Self {
            versions: list.versions.into_iter().filter_map(offer).collect(),
            warnings: list.warnings.unwrap_or_default(),
        }
    }
}
