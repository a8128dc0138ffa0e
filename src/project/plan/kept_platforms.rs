//! The platforms that a lock file covers. If the user names no platforms, new entries cover the
//! same ones, or the current platform if there are none: locking on one machine must neither lock
//! the other ones out nor make one entry differ from the rest.

use std::collections::BTreeSet;

use super::candidate::{Candidate, VersionRule};
use super::release_lookup::{ReleaseLookup, remedy_to_accept};
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy, UpgradeRemedy};
use crate::lockfile::{LockedProvider, Locks};
use crate::packages::archive::{HashCache, ReleaseEvidence};
use crate::packages::{Packages, Source};
use crate::project::options::LockOptions;
use crate::provider::{Hash, HashesByScheme, Platform, Version};

/// Platforms that the old entry of a provider covers.
#[derive(Default)]
pub(super) struct KeptPlatforms {
    /// Its platforms, as far as they are known.
    pub(super) platforms: BTreeSet<Platform>,
    /// Number of its `h1:` hashes that no known package has.
    pub(super) unexplained: usize,
    /// Error of a package that could not be checked.
    failure: Option<String>,
    /// The version of the entry, and its number of `h1:` hashes.
    old: Option<(Version, usize)>,
}

/// The platforms that entries of a lock file cover, as far as they are known. If the cache does not
/// know them, the packages of one entry are requested.
pub(in crate::project) fn covered_by_lock_file(
    locks: &Locks,
    source: &Source,
    cache: Option<&HashCache>,
) -> BTreeSet<Platform> {
    let mut covered = BTreeSet::new();
    let mut not_explained = Vec::new();
    for (address, locked) in locks {
        let release = ReleaseLookup {
            address,
            version: &locked.version,
            source,
            cache,
            progress: &|_, _| {},
        };
        let evidence = release.cached_evidence();
        covered.extend(evidence.platforms_covered_by(&locked.hashes));
        if !evidence.unexplained_h1(&locked.hashes).is_empty() {
            not_explained.push((locked, release));
        }
    }
    // Its packages are requested only if it has more hashes than there are known platforms. One
    // entry is enough, because usually all entries cover the same platforms.
    let largest = not_explained
        .into_iter()
        .max_by_key(|(locked, _)| locked.platform_hashes().count());
    if let Some((locked, release)) = largest
        && locked.platform_hashes().count() > covered.len()
    {
        let mut evidence = ReleaseEvidence::default();
        fetch_evidence(&locked.hashes, &release, &mut evidence);
        covered.extend(evidence.platforms_covered_by(&locked.hashes));
    }
    covered
}

/// The platforms that an entry covers, according to the cache and these packages. `None` if they do
/// not explain each of its `h1:`.
pub(super) fn covered_by_entry(
    locked: &LockedProvider,
    release: &ReleaseLookup<'_>,
    packages: &Packages,
) -> Option<BTreeSet<Platform>> {
    let mut evidence = ReleaseEvidence::default();
    for (platform, package) in packages {
        let h1 = BTreeSet::from([package.h1.clone()]);
        evidence.h1_by_platform.insert(platform.clone(), h1);
    }
    if !evidence.unexplained_h1(&locked.hashes).is_empty() {
        evidence
            .h1_by_platform
            .extend(release.cached_evidence().h1_by_platform);
    }
    if !evidence.unexplained_h1(&locked.hashes).is_empty() {
        return None;
    }
    Some(evidence.platforms_covered_by(&locked.hashes))
}

impl KeptPlatforms {
    /// The platforms of an entry that the release `new` replaces. Unknown platforms are looked up:
    /// first in the source's report, then in the packages of the locked version. `asked_for` are
    /// locked in any case.
    pub(super) fn of_replaced_entry(
        locked: &LockedProvider,
        new: &ReleaseLookup<'_>,
        asked_for: &[Platform],
    ) -> Self {
        let old = ReleaseLookup {
            version: &locked.version,
            ..*new
        };
        let mut evidence = old.cached_evidence();
        let mut failure = None;
        if needs_old_packages(locked, new, &evidence, asked_for) {
            failure = fetch_evidence(&locked.hashes, &old, &mut evidence);
        }
        Self {
            platforms: evidence.platforms_covered_by(&locked.hashes),
            unexplained: evidence.unexplained_h1(&locked.hashes).len(),
            failure,
            old: Some((locked.version.clone(), locked.platform_hashes().count())),
        }
    }

    /// Platforms of two entries that the new entry replaces.
    pub(super) fn and(mut self, other: Self) -> Self {
        if other.number_of_h1() > self.number_of_h1() {
            self.old = other.old;
        }
        self.platforms.extend(other.platforms);
        self.unexplained = self.unexplained.max(other.unexplained);
        self.failure = self.failure.or(other.failure);
        self
    }

    /// Number of `h1:` of the old entry.
    fn number_of_h1(&self) -> usize {
        match &self.old {
            Some((_, number)) => *number,
            None => 0,
        }
    }

    /// The error about a new entry that covers fewer platforms than the old one, although the user
    /// did not ask for fewer; `None` if it covers them all. `platforms` are those whose packages it
    /// has. Options of the run only select the command that the help shows.
    pub(super) fn fewer_platforms_error(
        &self,
        candidate: &Candidate<'_>,
        platforms: &[Platform],
        new: &LockedProvider,
        options: &LockOptions,
    ) -> Option<Diagnostic> {
        let (old_version, before) = self.old.as_ref()?;
        let after = new.platform_hashes().count();
        if after >= *before {
            return None;
        }
        let mut removed = Vec::new();
        for platform in &self.platforms {
            if !platforms.contains(platform) {
                removed.push(platform.to_string());
            }
        }
        if self.unexplained == 0 && removed.is_empty() {
            return None;
        }
        let name = candidate.name();
        let message = format!(
            "{name} {old_version} has {before} h1 hashes, one for each platform, and {} would have {after}",
            new.version
        );
        let entry = candidate
            .lock_file
            .entry(candidate.address)
            .map(|entry| &entry.block);
        let mut error = Diagnostic::error(Code::PlatformNotKnown, message).at_each_location(entry);
        let unknown = match self.unexplained {
            0 => None,
            1 => Some("1 hash is for an unknown platform".to_owned()),
            number => Some(format!("{number} hashes are for unknown platforms")),
        };
        if let Some(unknown) = unknown {
            error
                .notes
                .push(format!("no platforms were requested, and {unknown}"));
        }
        if !removed.is_empty() {
            error.notes.push(format!(
                "{} is not published for {}",
                new.version,
                removed.join(", ")
            ));
        }
        error.notes.extend(self.failure.clone());

        // The command that the user runs, with platforms.
        let mut example = platforms.to_vec();
        if example.len() <= 1 {
            example = ["linux_amd64", "darwin_arm64"]
                .iter()
                .flat_map(|name| name.parse())
                .collect();
        }
        let remedy = if candidate.version_rule == VersionRule::Keep && options.accept_changed_hashes
        {
            Remedy::Lock(LockRemedy {
                platforms: Some(example),
                ..remedy_to_accept(name)
            })
        } else if candidate.version_rule == VersionRule::Keep {
            Remedy::Lock(LockRemedy {
                platforms: Some(example),
                ..LockRemedy::default()
            })
        } else {
            Remedy::Upgrade(UpgradeRemedy {
                platforms: Some(example),
                ..UpgradeRemedy::default()
            })
        };
        let help = Help::text("name all platforms that your team uses, as in: ");
        Some(error.help(help.and(remedy).and_text("; or in provlock.toml")))
    }
}

/// Whether the packages of the locked version must be requested to find the platforms of its
/// entry.
fn needs_old_packages(
    locked: &LockedProvider,
    new: &ReleaseLookup<'_>,
    evidence: &ReleaseEvidence,
    asked_for: &[Platform],
) -> bool {
    let number_of_h1 = locked.platform_hashes().count();
    // A single hash is replaced by a single one.
    if number_of_h1 < 2 {
        return false;
    }
    // The old packages of a version that was published again no longer exist.
    if locked.version == *new.version {
        return false;
    }
    if evidence.unexplained_h1(&locked.hashes).is_empty() {
        return false;
    }
    // Requests the new package, which is needed anyway.
    !new_entry_gets_as_many(number_of_h1, new, asked_for)
}

/// Whether the new entry gets as many hashes anyway, because the source reports hashes of packages
/// that are not fetched. If the first needed package is unavailable, nothing else matters.
fn new_entry_gets_as_many(
    number_of_h1: usize,
    new: &ReleaseLookup<'_>,
    asked_for: &[Platform],
) -> bool {
    let Some(platform) = asked_for.first() else {
        return false;
    };
    match new.source.fetch_once(&new.package(platform), new.progress) {
        Ok(package) => {
            let by_scheme: HashesByScheme<'_> = package.hashes.recordable().collect();
            by_scheme.h1.len() >= number_of_h1
        }
        Err(_) => true,
    }
}

/// Adds the hashes of a release's packages to the evidence, until it explains each recorded `h1:`:
/// hashes that the registry reports, and then packages. Returns why a package could not be checked,
/// if a recorded `h1:` stays unexplained.
fn fetch_evidence(
    recorded: &BTreeSet<Hash>,
    release: &ReleaseLookup<'_>,
    evidence: &mut ReleaseEvidence,
) -> Option<String> {
    let platforms = match release.source.platforms(release.address, release.version) {
        Ok(platforms) => platforms,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(platform) = platforms.first()
        && let Some(published) = release.published_facts(platform)
    {
        for (platform, hashes) in published.h1 {
            evidence
                .h1_by_platform
                .entry(platform)
                .or_default()
                .extend(hashes);
        }
    }
    let errors = release.fetch_until_explained(recorded, &platforms, evidence);
    if evidence.unexplained_h1(recorded).is_empty() {
        return None;
    }
    errors.first().map(ToString::to_string)
}
