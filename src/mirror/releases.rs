//! What lock files name and record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::address::ProviderAddress;
use crate::diagnostic::{Code, Diagnostic, Help, Location};
use crate::dialect::Dialect;
use crate::hash::Hash;
use crate::package::{PackageDigest, PackageId};
use crate::platform::Platform;
use crate::settings::PlatformSelection;
use crate::version::Version;

/// The releases that lock files name. What many of them record alike is held once.
#[derive(Default)]
pub(crate) struct Releases(BTreeMap<ProviderAddress, BTreeMap<Version, Release>>);

/// A version of a provider.
pub(super) struct Release {
    /// Whose rules the first lock file that names it follows.
    pub(super) dialect: Dialect,
    /// What lock files record of it; at least one does.
    pub(super) records: Vec<Record>,
}

/// What a lock file records of a release.
pub(crate) struct Record {
    /// The root module.
    pub(crate) root: PathBuf,
    /// Whether there are other root modules, so that errors say which one they are about.
    pub(crate) is_one_of_many: bool,
    /// How many other lock files record the same.
    pub(crate) others: usize,
    /// The platforms whose packages it is to have.
    pub(crate) platforms: PlatformSelection,
    /// The hashes of its entry.
    pub(crate) hashes: BTreeSet<Hash>,
    /// The version in its entry.
    pub(crate) place: Location,
}

impl Releases {
    /// Adds what a lock file records of a release.
    pub(crate) fn add(&mut self, address: &ProviderAddress, version: &Version, dialect: Dialect, record: Record) {
        let versions = self.0.entry(address.clone()).or_default();
        let release =
            versions.entry(version.clone()).or_insert_with(|| Release { dialect, records: Vec::with_capacity(1) });
        let says_the_same = |other: &&mut Record| other.hashes == record.hashes && other.platforms == record.platforms;
        match release.records.iter_mut().find(says_the_same) {
            Some(known) => known.others += 1,
            None => release.records.push(record),
        }
    }

    /// The versions of each provider.
    pub(super) fn by_provider(&self) -> impl Iterator<Item = (&ProviderAddress, &BTreeMap<Version, Release>)> {
        self.0.iter()
    }

    /// Whether a lock file names a provider.
    pub(super) fn name(&self, address: &ProviderAddress) -> bool {
        self.0.contains_key(address)
    }

    /// Whether a lock file names a version of a provider.
    pub(super) fn name_version(&self, address: &ProviderAddress, version: &Version) -> bool {
        self.0.get(address).is_some_and(|versions| versions.contains_key(version))
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

    /// The lock files that have hashes.
    pub(super) fn with_hashes(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.hashes.is_empty())
    }

    /// Errors about the lock files that ask for a package and do not record it.
    ///
    /// # Errors
    /// The same, when no lock file records it.
    pub(super) fn check(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let (recorded, other): (Vec<_>, Vec<_>) =
            self.records_for(&package.platform).partition(|record| record.has(digest));
        let errors = other.into_iter().map(|record| record.not_recorded(package, digest, self.dialect)).collect();
        if recorded.is_empty() { Err(errors) } else { Ok(errors) }
    }

    /// Whether a lock file that asks for a package records it.
    pub(super) fn records(&self, platform: &Platform, digest: &PackageDigest) -> bool {
        self.records_for(platform).any(|record| record.has(digest))
    }
}

impl Record {
    /// Whether a package is recorded: one hash of any scheme is enough, as for `init`.
    fn has(&self, digest: &PackageDigest) -> bool {
        self.hashes.contains(&digest.zh) || digest.is_recorded_in(&self.hashes)
    }

    /// An error about it, at its place.
    pub(super) fn error(&self, error: Diagnostic, label: impl Into<String>) -> Diagnostic {
        let error = error.at(self.place.clone(), label).in_directory(&self.root);
        let error = match self.others {
            0 => error,
            1 => error.note("1 other lock file records the same"),
            number => error.note(format!("{number} other lock files record the same")),
        };
        if self.is_one_of_many { error.in_root(&self.root) } else { error }
    }

    /// That no package can be compared with it.
    pub(super) fn without_hashes(&self, address: &ProviderAddress, version: &Version, dialect: Dialect) -> Diagnostic {
        let name = address.short(dialect);
        let message = format!("the lock file has no hashes of {name} {version}, so no package of it can be checked");
        let error = Diagnostic::error(Code::NoHashes, message);
        self.error(error.help(Help::command(["lock", &name])), "")
    }

    fn not_recorded(&self, package: &PackageId, digest: &PackageDigest, dialect: Dialect) -> Diagnostic {
        let PackageId { address, version, platform } = package;
        let name = address.short(dialect);
        let message = format!("the lock file has no hash of the package of {name} {version} for {platform}");
        let label = match self.hashes.len() {
            1 => "its only hash is not the package's".to_owned(),
            number => format!("none of its {number} hashes is the package's"),
        };
        let [h1, zh] = digest.hashes();
        let error = Diagnostic::error(Code::PlatformMissing, message)
            .note(format!("the package has {h1} and {zh}"))
            .note("it was locked without this platform, or the release was replaced after it was locked")
            .help(Help::text("to record the platform, or see what was replaced: ").and_command([
                "lock",
                "-p",
                &platform.to_string(),
                &name,
            ]));
        self.error(error, label)
    }
}
