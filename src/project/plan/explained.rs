//! Platforms of recorded `h1:` hashes. A lock file does not contain them, so the packages of the release are looked at.

use std::collections::BTreeSet;

use crate::packages::archive::{HashesByPlatform, PackageId};
use crate::packages::{ProgressSink, Source, SourceError};
use crate::provider::{Hash, Platform, ProviderAddress, Version};
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Packages that are most often locked; looked at first.
const COMMON: [&str; 5] = ["linux_amd64", "darwin_arm64", "darwin_amd64", "windows_amd64", "linux_arm64"];

/// A release whose packages are looked at.
#[derive(Clone, Copy)]
pub(in crate::project) struct ReleaseLookup<'a> {
    pub(in crate::project) address: &'a ProviderAddress,
    pub(in crate::project) version: &'a Version,
    pub(in crate::project) source: &'a Source,
    pub(in crate::project) progress: ProgressSink<'a>,
}

impl ReleaseLookup<'_> {
    pub(in crate::project) fn package(&self, platform: &Platform) -> PackageId {
        PackageId::new(self.address, self.version, platform)
    }

    /// Looks at packages until every recorded `h1:` is explained or there are no more; as many at a time as there are
    /// hashes to explain. Returns why packages could not be looked at.
    pub(in crate::project) fn explain(
        &self,
        recorded: &BTreeSet<Hash>,
        platforms: &BTreeSet<Platform>,
        known: &mut HashesByPlatform,
    ) -> Vec<SourceError> {
        let mut errors = Vec::new();
        let mut rest = likely_first(platforms.iter().filter(|platform| !known.contains_key(platform)));
        while !rest.is_empty() {
            let unexplained = unexplained(recorded, known).len();
            if unexplained == 0 {
                break;
            }
            let next = rest.drain(..unexplained.min(rest.len())).cloned().collect();
            errors.extend(self.fetch(next, known));
        }
        errors
    }

    /// Fetches packages and notes their hashes. Returns why some that exist could not be fetched.
    pub(in crate::project) fn fetch(&self, platforms: Vec<Platform>, known: &mut HashesByPlatform) -> Vec<SourceError> {
        let fetch = |platform: Platform| {
            let fetched = self.source.package(&self.package(&platform), self.progress);
            (platform, fetched)
        };
        let mut errors = Vec::new();
        for (platform, fetched) in parallel::map(platforms, WAITING_REQUESTS, fetch) {
            match fetched {
                Ok(fetched) => _ = known.entry(platform).or_default().insert(fetched.h1.clone()),
                Err(error) if error.is_platform_missing() => {}
                Err(error) => errors.push(error),
            }
        }
        errors
    }
}

/// Recorded `h1:` hashes that no known package has.
pub(in crate::project) fn unexplained(recorded: &BTreeSet<Hash>, known: &HashesByPlatform) -> BTreeSet<Hash> {
    recorded.iter().filter(|hash| !known.values().any(|hashes| hashes.contains(hash))).cloned().collect()
}

/// Platforms in the order in which their packages are looked at.
pub(super) fn likely_first<'a>(platforms: impl Iterator<Item = &'a Platform>) -> Vec<&'a Platform> {
    let rank = |platform: &Platform| COMMON.iter().position(|common| *common == platform.to_string());
    let mut platforms: Vec<_> = platforms.collect();
    platforms.sort_by_key(|platform| rank(platform).unwrap_or(COMMON.len()));
    platforms
}
