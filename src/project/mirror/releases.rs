//! What lock files name and record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::provider::{Authentication, Dialect, Hash, Platform, ProviderAddress, Version};
use crate::settings::{PlatformSelection, Policy};

/// The releases that lock files name. What many of them record alike is held once.
#[derive(Default)]
pub(crate) struct Releases(BTreeMap<ProviderAddress, Versions>);

/// Releases of one provider.
pub(super) type Versions = BTreeMap<Version, Release>;

pub(super) struct Release {
    /// The dialect of the first lock file that names it.
    pub(super) dialect: Dialect,
    /// What lock files record of it; at least one does.
    pub(super) records: Vec<Record>,
}

pub(crate) struct Record {
    pub(crate) root: PathBuf,
    /// Whether there are other root modules, so that errors say which one they are about.
    pub(crate) is_one_of_many: bool,
    /// How many other lock files record the same.
    pub(crate) others: usize,
    pub(crate) dialect: Dialect,
    pub(crate) policy: Arc<Policy>,
    /// The platforms whose packages it is to have.
    pub(crate) platforms: PlatformSelection,
    /// Whether a flag or the settings name the platforms; else a platform that the release lacks is skipped.
    pub(crate) platforms_are_named: bool,
    pub(crate) hashes: BTreeSet<Hash>,
    pub(crate) place: Location,
}

impl Releases {
    /// Adds what a lock file records of a release.
    pub(crate) fn add(&mut self, address: &ProviderAddress, version: &Version, record: Record) {
        let versions = self.0.entry(address.clone()).or_default();
        let new = || Release { dialect: record.dialect, records: Vec::with_capacity(1) };
        let release = versions.entry(version.clone()).or_insert_with(new);
        match release.records.iter_mut().find(|known| known.says_the_same(&record)) {
            Some(known) => known.others += 1,
            None => release.records.push(record),
        }
    }

    pub(super) fn by_provider(&self) -> impl Iterator<Item = (&ProviderAddress, &Versions)> {
        self.0.iter()
    }

    pub(super) fn name(&self, address: &ProviderAddress) -> bool {
        self.0.contains_key(address)
    }

    /// The dialect of a lock file that names a provider.
    pub(super) fn dialect_of(&self, address: &ProviderAddress) -> Dialect {
        let release = self.0.get(address).and_then(|versions| versions.values().next());
        release.map_or_else(Dialect::default, |release| release.dialect)
    }

    /// What lock files record of a version of a provider.
    pub(super) fn get(&self, address: &ProviderAddress, version: &Version) -> Option<&Release> {
        self.0.get(address)?.get(version)
    }
}

impl Release {
    /// The lock files that ask for a platform, and have a hash that its package can be compared with.
    pub(super) fn records_for(&self, platform: &Platform) -> impl Iterator<Item = &Record> {
        self.with_hashes().filter(move |record| match &record.platforms {
            PlatformSelection::All => true,
            PlatformSelection::These(platforms) => platforms.contains(platform),
        })
    }

    pub(super) fn with_hashes(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.hashes.is_empty())
    }

    /// Why lock files that ask for a package do not accept it. How it was authenticated is known if it was fetched.
    ///
    /// # Errors
    /// The same, when no lock file accepts it.
    pub(super) fn check(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        authentication: Option<&Authentication>,
    ) -> Result<Vec<Diagnostic>> {
        let refusals =
            self.records_for(&package.platform).map(|record| record.refusal(package, digest, authentication));
        let (accepted, refused): (Vec<_>, Vec<_>) = refusals.partition(Vec::is_empty);
        let errors = refused.into_iter().flatten();
        if accepted.is_empty() { Err(errors.collect()) } else { Ok(errors.collect()) }
    }

    /// Whether a lock file records a package of whichever platform.
    pub(super) fn records_any(&self, digest: &PackageDigest) -> bool {
        self.with_hashes().any(|record| record.has(digest))
    }

    /// Whether a lock file that asks for a package records it.
    pub(super) fn records(&self, platform: &Platform, digest: &PackageDigest) -> bool {
        self.records_for(platform).any(|record| record.has(digest))
    }
}

impl Record {
    fn says_the_same(&self, other: &Self) -> bool {
        let of = |record: &Self| {
            (record.dialect, record.platforms.clone(), record.platforms_are_named, Arc::clone(&record.policy))
        };
        self.hashes == other.hashes && of(self) == of(other)
    }

    /// Whether a package is recorded: one hash of any scheme is enough, as for `init`.
    fn has(&self, digest: &PackageDigest) -> bool {
        self.hashes.contains(&digest.zh) || digest.is_recorded_in(&self.hashes)
    }

    /// Why a package is not accepted; nothing if it is.
    fn refusal(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        authentication: Option<&Authentication>,
    ) -> Vec<Diagnostic> {
        let PackageId { address, version, .. } = package;
        if !self.has(digest) {
            return vec![self.not_recorded(package, digest)];
        }
        let release = format!("{} {version}", address.short(self.dialect));
        let against = |found| self.policy.against_signature(address, self.dialect, &release, found);
        let errors = authentication.map(against).unwrap_or_default();
        errors.into_iter().map(|error| self.error(error, "locked here")).collect()
    }

    pub(crate) fn error(&self, error: Diagnostic, label: impl Into<String>) -> Diagnostic {
        let error = error.at(self.place.clone(), label).in_root(&self.root, self.is_one_of_many);
        match self.others {
            0 => error,
            1 => error.note("1 other lock file records the same"),
            number => error.note(format!("{number} other lock files record the same")),
        }
    }

    /// That no package can be compared with it.
    pub(super) fn without_hashes(&self, address: &ProviderAddress, version: &Version) -> Diagnostic {
        let name = address.short(self.dialect);
        let message = format!("the lock file has no hashes of {name} {version}, so no package of it can be checked");
        let error = Diagnostic::error(Code::NoHashes, message);
        self.error(error.help(LockRemedy { providers: vec![name], ..LockRemedy::default() }), "")
    }

    fn not_recorded(&self, package: &PackageId, digest: &PackageDigest) -> Diagnostic {
        let PackageId { address, version, platform } = package;
        let name = address.short(self.dialect);
        let message = format!("the lock file has no hash of the package of {name} {version} for {platform}");
        let label = match self.hashes.len() {
            1 => "its only hash is not the package's".to_owned(),
            number => format!("none of its {number} hashes is the package's"),
        };
        let [h1, zh] = digest.hashes();
        let platforms = Some(vec![platform.clone()]);
        let lock = LockRemedy { providers: vec![name], platforms, ..LockRemedy::default() };
        let error = Diagnostic::error(Code::PlatformMissing, message)
            .note(format!("the package has {h1} and {zh}"))
            .note("it was locked without this platform, or the release was replaced after it was locked")
            .help(Help::text("to record the platform, or see what was replaced: ").and(lock));
        self.error(error, label)
    }
}
