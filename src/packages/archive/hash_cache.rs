//! The hash cache: the hashes of packages that earlier runs computed.
//!
//! A package never changes, because its `zh:` identifies it. So an entry is never stale, only
//! absent or damaged, and a damaged entry is treated as absent and rewritten. Every entry is stored
//! by its `zh:`. For work without a network, the entry of a package that a verified SHA256SUMS
//! lists is also stored by provider, version and platform. A failing cache is a cache without
//! entries: it never fails a run.
//!
//! The caller must not use an entry found by `zh:` unless a verified SHA256SUMS lists that `zh:`.

#![expect(
    clippy::disallowed_methods,
    reason = "the cache is the user's, and no part of a revision"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::PackageDigest;
use super::id::PackageId;
use super::release_evidence::ReleaseEvidence;
use crate::provider::{Dialect, Hash, HashScheme, Platform, ProviderAddress, Version};
use crate::system::storage;

/// The longest entry, in bytes.
const LONGEST_ENTRY: u64 = 16 * 1024;

/// A cache in a directory. Many processes may use the same directory.
#[derive(Clone, Debug)]
pub struct HashCache {
    folder: PathBuf,
    platforms: PathBuf,
    /// Whether no entry is read.
    is_distrusted: bool,
}

/// An entry as stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    provider: String,
    version: String,
    platform: String,
    #[serde(flatten)]
    digest: PackageDigest,
}

impl HashCache {
    /// The cache in `directory`, which need not exist.
    pub fn open(directory: &Path) -> Self {
        Self {
            folder: directory.join(storage::HASHES),
            platforms: directory.join(storage::PLATFORMS),
            is_distrusted: false,
        }
    }

    /// The same cache for a check that does not trust it: no entry is found, and entries are still
    /// stored.
    #[must_use]
    pub(crate) fn distrusted(self) -> Self {
        Self {
            is_distrusted: true,
            ..self
        }
    }

    /// The hashes of the package with that `zh:`, if its provider has the type `provider_type`. A
    /// package is valid for one type only, because the type is in the name of its executable.
    pub fn digest_by_zh(&self, zh: &Hash, provider_type: &str) -> Option<PackageDigest> {
        let (package, digest) = self.read_entry(&self.path_by_zh(zh)?)?;
        let is_found = digest.zh == *zh && package.address.name == provider_type;
        is_found.then_some(digest)
    }

    /// The hashes of a package that a verified SHA256SUMS listed in this or an earlier run.
    pub(crate) fn digest_of(&self, package: &PackageId) -> Option<PackageDigest> {
        let (found, digest) = self.read_entry(&self.path_by_provider(package))?;
        (found == *package).then_some(digest)
    }

    /// The hashes of all packages of a provider, in no order.
    pub fn packages(&self, provider: &ProviderAddress) -> Vec<(PackageId, PackageDigest)> {
        self.packages_below(self.folder_of(provider), 2)
    }

    /// The hashes of all packages of one version of a provider, in no order.
    pub(crate) fn packages_of(
        &self,
        provider: &ProviderAddress,
        version: &Version,
    ) -> Vec<(PackageId, PackageDigest)> {
        self.packages_below(
            storage::path(&self.folder_of(provider), [version.to_string().as_str()]),
            1,
        )
    }

    /// The packages in the files that are exactly `levels` directories below a folder. Files that
    /// belong elsewhere are skipped.
    fn packages_below(&self, folder: PathBuf, levels: usize) -> Vec<(PackageId, PackageDigest)> {
        let mut paths = vec![folder];
        for _ in 0..levels {
            let mut children = Vec::new();
            for directory in paths {
                // Unreadable directories are treated as empty.
                for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                    children.push(entry.path());
                }
            }
            paths = children;
        }

        let mut packages = Vec::new();
        for path in paths {
            // A file that was copied to a different path describes a different package than its
            // path.
            if let Some((package, digest)) = self.read_entry(&path)
                && self.path_by_provider(&package) == path
            {
                packages.push((package, digest));
            }
        }
        packages
    }

    /// Facts about the platforms of a release from earlier runs; none if the cache is not trusted.
    pub(crate) fn release_evidence(
        &self,
        provider: &ProviderAddress,
        version: &Version,
    ) -> ReleaseEvidence {
        if self.is_distrusted {
            return ReleaseEvidence::default();
        }
        let mut evidence = ReleaseEvidence::read(&self.path_of_evidence(provider, version));
        for (package, digest) in self.packages_of(provider, version) {
            evidence
                .h1_by_platform
                .entry(package.platform)
                .or_default()
                .extend(digest.into_h1());
        }
        evidence
    }

    /// Changes the facts about the platforms of a release, if possible.
    pub(crate) fn change_release_evidence(
        &self,
        provider: &ProviderAddress,
        version: &Version,
        change: impl FnOnce(&mut ReleaseEvidence),
    ) {
        ReleaseEvidence::change(&self.path_of_evidence(provider, version), change);
    }

    /// The hashes of all packages that are stored by provider, version and platform.
    pub fn releases(
        &self,
    ) -> BTreeMap<(ProviderAddress, Version), BTreeMap<Platform, PackageDigest>> {
        let mut releases = BTreeMap::<_, BTreeMap<_, _>>::new();
        // Host, namespace, type, version, platform.
        for (
            PackageId {
                address,
                version,
                platform,
            },
            digest,
        ) in self.packages_below(self.folder_of_providers(), 5)
        {
            releases
                .entry((address, version))
                .or_default()
                .insert(platform, digest);
        }
        releases
    }

    /// Remembers that the package belongs to a provider, if possible. Only for a package that a
    /// verified SHA256SUMS lists.
    pub(crate) fn store_by_provider(&self, package: &PackageId, digest: &PackageDigest) {
        write(&self.path_by_provider(package), package, digest);
    }

    /// Remembers a package by its hash alone, if possible.
    pub(crate) fn store_by_zh(&self, package: &PackageId, digest: &PackageDigest) {
        if let Some(path) = self.path_by_zh(&digest.zh) {
            write(&path, package, digest);
        }
    }

    /// Reads a file of [`write`]; `None` if it is damaged, or if the cache is not trusted.
    fn read_entry(&self, path: &Path) -> Option<(PackageId, PackageDigest)> {
        if self.is_distrusted {
            return None;
        }
        let text = storage::read(path, LONGEST_ENTRY)?;
        let (json, sum) = text.strip_suffix('\n')?.split_once('\n')?;
        if sum != Hash::zh_of(json.as_bytes()).value() {
            return None;
        }
        let stored: Stored = serde_json::from_str(json).ok()?;
        if !stored.digest.is_well_formed() {
            return None;
        }
        let package = PackageId {
            // The address has all its parts, so defaults do not matter; in this dialect a namespace
            // may contain underscores.
            address: ProviderAddress::parse_canonical(&stored.provider, Dialect::Terraform).ok()?,
            version: stored.version.parse().ok()?,
            platform: stored.platform.parse().ok()?,
        };
        Some((package, stored.digest))
    }

    fn path_by_zh(&self, zh: &Hash) -> Option<PathBuf> {
        zh.is_well_formed_as(HashScheme::Zh).then(|| {
            self.folder
                .join("by-zh")
                .join(&zh.value()[..2])
                .join(zh.value())
        })
    }

    fn path_by_provider(&self, package: &PackageId) -> PathBuf {
        let version = package.version.to_string();
        let platform = package.platform.to_string();
        storage::path(
            &self.folder_of(&package.address),
            [version.as_str(), &platform],
        )
    }

    fn folder_of_providers(&self) -> PathBuf {
        self.folder.join("by-provider")
    }

    /// The folder of a provider, which has a folder for each version.
    fn folder_of(&self, provider: &ProviderAddress) -> PathBuf {
        storage::path(&self.folder_of_providers(), address_parts(provider))
    }

    fn path_of_evidence(&self, provider: &ProviderAddress, version: &Version) -> PathBuf {
        let version = version.to_string();
        storage::path(
            &self.platforms,
            address_parts(provider)
                .into_iter()
                .chain([version.as_str()]),
        )
    }
}

fn address_parts(provider: &ProviderAddress) -> [&str; 3] {
    [
        provider.hostname.as_ascii(),
        &provider.namespace,
        &provider.name,
    ]
}

/// Writes a line of JSON and a line with its SHA-256, if possible.
fn write(path: &Path, package: &PackageId, digest: &PackageDigest) {
    let stored = Stored {
        provider: package.address.to_string(),
        version: package.version.to_string(),
        platform: package.platform.to_string(),
        digest: digest.clone(),
    };
    if let Ok(json) = serde_json::to_string(&stored) {
        storage::keep(
            path,
            &format!("{json}\n{}\n", Hash::zh_of(json.as_bytes()).value()),
        );
    }
}
