//! Releases in lock files, and the hashes that these record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::provider::{Authentication, Dialect, Hash, Platform, ProviderAddress, Version};
use crate::settings::{PlatformSelection, Policy};

/// The releases in lock files. Equal records are kept once.
#[derive(Default)]
pub(super) struct LockedReleases(pub(super) BTreeMap<ProviderAddress, Versions>);

/// Releases of one provider.
pub(super) type Versions = BTreeMap<Version, Release>;

pub(super) struct Release {
    /// The dialect of the first lock file that names it.
    pub(super) dialect: Dialect,
    /// Records of it in lock files; at least one.
    pub(super) records: Vec<Record>,
}

pub(super) struct Record {
    pub(super) root: PathBuf,
    /// Whether there may be other root modules, so that errors contain the path of this one.
    pub(super) is_one_of_several: bool,
    /// Number of other lock files with an equal record.
    pub(super) others: usize,
    pub(super) dialect: Dialect,
    pub(super) policy: Arc<Policy>,
    /// The platforms whose packages are needed.
    pub(super) platforms: PlatformSelection,
    /// The platforms for which the provider has no package according to the settings.
    pub(super) exempted: Vec<Platform>,
    /// Whether a flag or the settings specify the platforms; otherwise a platform that the release
    /// lacks is skipped.
    pub(super) platforms_are_named: bool,
    pub(super) hashes: BTreeSet<Hash>,
    pub(super) place: Location,
}

impl LockedReleases {
    /// Adds a record of a release.
    pub(super) fn add(&mut self, address: ProviderAddress, version: Version, record: Record) {
        let versions = self.0.entry(address).or_default();
        let release = versions.entry(version).or_insert_with(|| Release {
            dialect: record.dialect,
            records: Vec::with_capacity(1),
        });
        let mut known = release.records.iter_mut();
        match known.find(|known| known.is_equal_to(&record)) {
            Some(known) => known.others += 1,
            None => release.records.push(record),
        }
    }

    /// The dialect of a lock file with a provider.
    pub(super) fn dialect_of(&self, address: &ProviderAddress) -> Dialect {
        if let Some(versions) = self.0.get(address)
            && let Some(release) = versions.values().next()
        {
            return release.dialect;
        }
        Dialect::default()
    }

    /// Records of a version of a provider.
    pub(super) fn get(&self, address: &ProviderAddress, version: &Version) -> Option<&Release> {
        self.0.get(address)?.get(version)
    }
}

impl Record {
    /// Whether the package for a platform is needed.
    fn requires(&self, platform: &Platform) -> bool {
        if self.exempted.contains(platform) {
            return false;
        }
        match &self.platforms {
            PlatformSelection::All => true,
            PlatformSelection::These(platforms) => platforms.contains(platform),
        }
    }
}

impl Release {
    /// The lock files that require a platform, and have a hash that its package can be compared
    /// with.
    pub(super) fn records_for(&self, platform: &Platform) -> impl Iterator<Item = &Record> {
        self.with_hashes()
            .filter(|record| record.requires(platform))
    }

    pub(super) fn with_hashes(&self) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .filter(|record| !record.hashes.is_empty())
    }

    /// Returns the reasons why some lock files that require a package do not accept it. It stays in
    /// the mirror, and is known by its hashes only, not by its signature.
    ///
    /// # Errors
    /// No lock file accepts it.
    pub(super) fn check_kept(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
    ) -> Result<Vec<Diagnostic>> {
        self.check_against_records(package, digest, None)
    }

    /// [`Release::check_kept`] for a package that was fetched, with the policy's rules about
    /// signatures.
    pub(super) fn check_fetched(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        authentication: &Authentication,
    ) -> Result<Vec<Diagnostic>> {
        self.check_against_records(package, digest, Some(authentication))
    }

    fn check_against_records(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        authentication: Option<&Authentication>,
    ) -> Result<Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut is_accepted = false;
        for record in self.records_for(&package.platform) {
            let refusals = record.refusals(package, digest, authentication);
            is_accepted |= refusals.is_empty();
            errors.extend(refusals);
        }
        if is_accepted {
            Ok(errors)
        } else {
            Err(errors.into_iter().collect())
        }
    }

    /// Whether a lock file that requires a package records its archive. If only the `zh:` of the
    /// archive is known, all of them must record that, because a lock file with other hashes only
    /// cannot be compared.
    pub(super) fn records_archive(
        &self,
        platform: &Platform,
        zh: &Hash,
        digest: Option<&PackageDigest>,
    ) -> bool {
        match digest {
            Some(digest) => self.records_package(platform, digest),
            None => self
                .records_for(platform)
                .all(|record| record.hashes.contains(zh)),
        }
    }

    /// Whether a lock file that requires a package records it.
    pub(super) fn records_package(&self, platform: &Platform, digest: &PackageDigest) -> bool {
        self.records_for(platform)
            .any(|record| record.has_hash_of(digest))
    }
}

impl Record {
    fn is_equal_to(&self, other: &Self) -> bool {
        self.hashes == other.hashes
            && self.exempted == other.exempted
            && self.dialect == other.dialect
            && self.platforms == other.platforms
            && self.platforms_are_named == other.platforms_are_named
            && self.policy == other.policy
    }

    /// Whether a package is recorded: one hash of any scheme is enough, as for `init`.
    pub(super) fn has_hash_of(&self, digest: &PackageDigest) -> bool {
        self.hashes.contains(&digest.zh) || digest.is_recorded_in(&self.hashes)
    }

    /// Reasons why the lock file does not accept a package; empty if it does.
    fn refusals(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        authentication: Option<&Authentication>,
    ) -> Vec<Diagnostic> {
        let PackageId {
            address, version, ..
        } = package;
        if !self.has_hash_of(digest) {
            return vec![self.not_recorded_error(package, digest)];
        }
        // A package that stays in the mirror is known by its hashes only, not by its signature.
        let Some(authentication) = authentication else {
            return Vec::new();
        };
        let release = format!("{} {version}", address.short(self.dialect));
        let errors = self
            .policy
            .against_signature(address, self.dialect, &release, authentication);
        errors
            .into_iter()
            .map(|error| self.error(error, "locked here"))
            .collect()
    }

    pub(super) fn error(&self, error: Diagnostic, label: impl Into<String>) -> Diagnostic {
        let error = error
            .at(self.place.clone(), label)
            .in_root(&self.root, self.is_one_of_several);
        match self.others {
            0 => error,
            1 => error.note("1 other lock file records the same"),
            number => error.note(format!("{number} other lock files record the same")),
        }
    }

    /// The error for an entry that no package can be compared with.
    pub(super) fn no_hashes_error(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Diagnostic {
        let name = address.short(self.dialect);
        let message = format!(
            "the lock file has no hashes of {name} {version}, so no package of it can be checked"
        );
        let error = Diagnostic::error(Code::NoHashes, message);
        self.error(
            error.help(LockRemedy {
                providers: vec![name],
                ..LockRemedy::default()
            }),
            "",
        )
    }

    /// The error for a package with no hash in the lock file.
    fn not_recorded_error(&self, package: &PackageId, digest: &PackageDigest) -> Diagnostic {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        let name = address.short(self.dialect);
        let message =
            format!("the lock file has no hash of the package of {name} {version} for {platform}");
        let label = match self.hashes.len() {
            1 => "its only hash is not the package's".to_owned(),
            number => format!("none of its {number} hashes is the package's"),
        };
        let [h1, zh] = digest.hashes();
        let platforms = Some(vec![platform.clone()]);
        let lock = LockRemedy {
            providers: vec![name],
            platforms,
            ..LockRemedy::default()
        };
        let error = Diagnostic::error(Code::PlatformMissing, message)
            .note(format!("the package has {h1} and {zh}"))
            .note("it was locked without this platform, or the release was replaced after it was locked")
            .help(Help::text("to record the platform, or see what was replaced: ").and(lock));
        self.error(error, label)
    }
}
