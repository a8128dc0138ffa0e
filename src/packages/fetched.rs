//! Packages that were fetched, and releases that are known without fetching a package.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::archive_file::ArchiveFile;
use super::progress::ProgressSink;
use crate::diagnostic::Diagnostic;
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::authentication::{HashDispositions, Sha256Sums};
use crate::provider::{Authentication, Hash, Platform};

/// A package to fetch.
#[derive(Clone, Copy)]
pub(crate) struct Fetch<'a> {
    pub(crate) package: &'a PackageId,
    /// File for its archive, if it is kept: then it is downloaded even if the cache contains its
    /// hashes.
    pub(crate) archive_file: Option<&'a ArchiveFile<'a>>,
    pub(crate) progress: ProgressSink<'a>,
}

/// A package that was fetched, hashed and authenticated.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The `h1:` of the package.
    pub h1: Hash,
    /// The hashes of its archive, if it was hashed.
    pub digest: Option<PackageDigest>,
    /// The hashes of the package, and the source's facts about other hashes of the release.
    pub hashes: HashDispositions,
    /// Authentication of the package.
    pub authentication: Authentication,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Bytes that were downloaded.
    pub downloaded: u64,
}

impl Fetched {
    /// A package with only a hash over its files.
    pub(super) fn of_files(h1: Hash) -> Self {
        Self {
            digest: None,
            hashes: HashDispositions::computed([h1.clone()]),
            h1,
            authentication: Authentication::Unauthenticated,
            warnings: Vec::new(),
            downloaded: 0,
        }
    }

    /// A package with only the hashes of its archive.
    pub(super) fn of_archive(digest: PackageDigest) -> Self {
        let hashes = HashDispositions::computed(digest.hashes().map(Clone::clone));
        Self {
            hashes,
            ..Self {
                digest: Some(digest.clone()),
                ..Self::of_files(digest.h1)
            }
        }
    }

    /// The `h1:` of the package, as any program computes it.
    pub(crate) fn all_h1(&self) -> BTreeSet<Hash> {
        let mut all = BTreeSet::from([self.h1.clone()]);
        if let Some(digest) = &self.digest {
            all.extend(digest.clone().into_h1());
        }
        all
    }

    /// Whether a registry reported the `h1:`, and the package was not downloaded.
    pub fn is_reported(&self) -> bool {
        !self.hashes.is_computed(&self.h1)
    }
}

/// Packages of one version of a provider, by platform.
pub type Packages = BTreeMap<Platform, Arc<Fetched>>;

/// Maximum number of platforms in SHA256SUMS; Go builds for about 50.
const MOST_PLATFORMS: usize = 256;

/// A published version, as far as it is known without fetching a package.
#[derive(Clone, Debug)]
pub struct Published {
    /// The `zh:` of every line of the verified SHA256SUMS.
    pub zh: BTreeSet<Hash>,
    /// The `h1:` that the registry reports for each platform whose `zh:` is in SHA256SUMS.
    pub h1: BTreeMap<Platform, BTreeSet<Hash>>,
    /// The `zh:` of every package in SHA256SUMS, each with the `h1:` that the registry reports for
    /// it.
    pub(crate) packages: BTreeMap<Hash, BTreeSet<Hash>>,
    /// The platforms in the names of these packages, such as
    /// `terraform-provider-null_3.2.4_linux_amd64.zip`. A registry may list fewer.
    pub(crate) platforms: BTreeSet<Platform>,
    /// Authentication of SHA256SUMS.
    pub authentication: Authentication,
    /// Warnings about expired keys and signatures.
    pub warnings: Vec<Diagnostic>,
}

impl Published {
    /// The packages in a verified SHA256SUMS.
    pub(super) fn of(
        sums: &Sha256Sums,
        authentication: Authentication,
        warnings: Vec<Diagnostic>,
    ) -> Self {
        let zh = sums.lines().map(|(_, zh)| zh.clone()).collect();
        let packages = sums.packages().map(|zh| (zh, BTreeSet::new())).collect();
        let platforms = sums.platforms().take(MOST_PLATFORMS).collect();
        Self {
            zh,
            h1: BTreeMap::new(),
            packages,
            platforms,
            authentication,
            warnings,
        }
    }
}
