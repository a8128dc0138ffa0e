//! Fills a mirror: finds existing packages of each provider, fetches missing ones, and publishes
//! all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::mirrored::{MirrorAction, Mirrored, MirroredPackage};
use super::releases::{LockedReleases, Record, Release, Versions};
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::oci::PushedPackage;
use crate::packages::{ArchiveFile, Fetch, SourceError};
use crate::project::session::Session;
use crate::provider::{Dialect, Hash, Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Number of providers that are mirrored at the same time.
const PROVIDERS: usize = 4;

/// The part of a mirror that contains the packages of one provider.
pub(super) trait ProviderStore: Sync {
    /// Number of packages that are found or stored at the same time.
    const SIDE_BY_SIDE: usize;

    /// Returns the name of a package for users.
    fn path(&self, package: &PackageId) -> PathBuf;

    /// Looks for the archive of a package.
    fn find(&self, package: &PackageId) -> Result<FoundPackage>;

    /// Creates the file that a package is downloaded into.
    fn temporary_file(&self, package: &PackageId) -> Result<NamedTempFile>;

    /// Stores a verified package, and returns what publishing needs. Clients do not see it before
    /// it is published.
    fn put(
        &self,
        package: &PackageId,
        file: NamedTempFile,
        digest: &PackageDigest,
    ) -> Result<Option<PushedPackage>>;

    /// Makes the stored packages visible to clients, and removes the others from the list. `failed`
    /// are packages that could not be stored, whose errors are reported. A dry run only finds out
    /// what would be done.
    fn publish(
        self,
        stored: &mut Vec<Stored>,
        failed: &BTreeSet<PackageId>,
        session: &Session<'_>,
    ) -> PublishedPackages;
}

/// Result of making packages visible to clients.
pub(super) struct PublishedPackages {
    /// Number of documents that changed, besides tags of repositories.
    pub(super) documents: usize,
    pub(super) errors: Diagnostics,
}

/// Content of a mirror under the name of a package.
pub(super) enum FoundPackage {
    Nothing,
    Archive(FoundArchive),
    /// A file that cannot be the package.
    Other,
}

pub(super) struct FoundArchive {
    pub(super) zh: Hash,
    /// Size in bytes.
    pub(super) size: u64,
    /// All hashes, if the archive was read.
    pub(super) digest: Option<PackageDigest>,
}

/// A stored package.
pub(super) struct Stored {
    pub(super) package: MirroredPackage,
    /// Its hashes, if they are known.
    pub(super) digest: Option<PackageDigest>,
    /// Set if this run has pushed it to a repository.
    pub(super) pushed: Option<PushedPackage>,
    /// Hints for the user.
    pub(super) warnings: Vec<Diagnostic>,
    /// Reasons why some lock files do not accept the package, although another does.
    pub(super) errors: Vec<Diagnostic>,
}

/// Whether an archive with this hash is the package, according to an earlier run that verified it
/// or to SHA256SUMS; `None` if neither contains the package. Lock files do not say which platform a
/// hash is for.
///
/// # Errors
/// The registry cannot be asked.
pub(super) fn is_package(
    package: &PackageId,
    zh: &Hash,
    dialect: Dialect,
    session: &Session<'_>,
) -> Result<Option<bool>> {
    if let Some(known) = session
        .hash_cache
        .as_ref()
        .and_then(|cache| cache.lookup(package))
    {
        return Ok(Some(known.zh == *zh));
    }
    match session.source(dialect, None)?.listed(package) {
        Ok(listed) => Ok(listed.map(|listed| listed == *zh)),
        Err(SourceError::ProviderNotFound { .. }) => Ok(None),
        Err(error) if error.is_platform_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Puts the packages that lock files name into a mirror, each once, provider by provider. `open`
/// returns the store of a provider.
pub(super) fn fill<P: ProviderStore>(
    session: &Session<'_>,
    releases: &LockedReleases,
    is_dry_run: bool,
    mirrored: &mut Mirrored,
    open: impl Fn(&ProviderAddress, &Versions) -> Result<P> + Sync,
) {
    let fill = |(address, versions)| match open(address, versions) {
        Ok(store) => Filling {
            session,
            store,
            is_dry_run,
        }
        .fill(address, versions),
        Err(errors) => Mirrored {
            errors: errors.into_iter().collect(),
            ..Mirrored::default()
        },
    };
    for one in parallel::map(releases.0.iter().collect(), PROVIDERS, fill) {
        mirrored.packages.extend(one.packages);
        mirrored.documents += one.documents;
        mirrored.warnings.extend(one.warnings);
        mirrored.errors.extend(one.errors);
    }
}

/// The packages of one provider, on their way into a mirror.
struct Filling<'a, 's, P> {
    session: &'a Session<'s>,
    store: P,
    is_dry_run: bool,
}

/// A package that lock files name.
struct RequestedPackage<'a> {
    package: PackageId,
    release: &'a Release,
}

impl<P: ProviderStore> Filling<'_, '_, P> {
    fn fill<'a>(self, address: &ProviderAddress, versions: &'a Versions) -> Mirrored {
        let mut mirrored = Mirrored::default();
        let wanted = self.wanted(address, versions, &mut mirrored);
        let find = |wanted: RequestedPackage<'a>| (self.store.find(&wanted.package), wanted);
        let found = parallel::map(wanted, P::SIDE_BY_SIDE, find);
        let repeated = repeated(&found);
        let put = |(found, wanted): (Result<FoundPackage>, RequestedPackage<'_>)| {
            let stored = found.and_then(|found| self.put(&found, &wanted, &repeated));
            (wanted.package, stored)
        };
        let (mut stored, mut failed) = (Vec::new(), BTreeSet::new());
        for (package, result) in parallel::map(found, P::SIDE_BY_SIDE, put) {
            match result {
                Ok(mut one) => {
                    mirrored.warnings.append(&mut one.warnings);
                    mirrored.errors.append(&mut one.errors);
                    stored.push(one);
                }
                Err(errors) => {
                    let new: Vec<_> = errors
                        .into_iter()
                        .filter(|error| !mirrored.errors.contains(error))
                        .collect();
                    mirrored.errors.extend(new);
                    failed.insert(package);
                }
            }
        }
        // Documents about packages that would be fetched cannot be known.
        let are_known = stored.iter().all(|stored| stored.digest.is_some());
        if !self.is_dry_run || are_known {
            let published = self.store.publish(&mut stored, &failed, self.session);
            mirrored.documents = published.documents;
            mirrored.errors.extend(published.errors);
        }
        mirrored.packages = stored.into_iter().map(|stored| stored.package).collect();
        mirrored
    }

    /// Returns the packages in lock files, and reports releases whose packages are unknown.
    fn wanted<'b>(
        &self,
        address: &ProviderAddress,
        versions: &'b Versions,
        mirrored: &mut Mirrored,
    ) -> Vec<RequestedPackage<'b>> {
        let mut wanted = Vec::new();
        let ask = |(version, release)| {
            (
                version,
                release,
                platforms(address, version, release, self.session),
            )
        };
        for (version, release, platforms) in
            parallel::map(versions.iter().collect(), WAITING_REQUESTS, ask)
        {
            let bare = release
                .records
                .iter()
                .filter(|record| record.hashes.is_empty());
            mirrored
                .errors
                .extend(bare.map(|record| record.without_hashes(address, version)));
            match platforms {
                Ok(platforms) => {
                    let packages = platforms
                        .iter()
                        .map(|platform| PackageId::new(address, version, platform));
                    wanted.extend(packages.map(|package| RequestedPackage { package, release }));
                }
                Err(errors) => mirrored.errors.extend(errors),
            }
        }
        wanted
    }

    /// Keeps the existing package if a lock file records it, otherwise fetches it.
    ///
    /// # Errors
    /// The package is not authentic, or no lock file records it.
    fn put(
        &self,
        found: &FoundPackage,
        wanted: &RequestedPackage<'_>,
        repeated: &BTreeSet<(Version, Hash)>,
    ) -> Result<Stored> {
        let (RequestedPackage { package, release }, session) = (wanted, self.session);
        let action = if matches!(found, FoundPackage::Nothing) {
            MirrorAction::Added
        } else {
            MirrorAction::Replaced
        };
        let mirrored = MirroredPackage {
            package: package.clone(),
            dialect: release.dialect,
            path: self.store.path(package),
            action,
            size: None,
            authentication: None,
        };
        let (warnings, errors) = (Vec::new(), Vec::new());
        let mut stored = Stored {
            package: mirrored,
            digest: None,
            pushed: None,
            warnings,
            errors,
        };
        if let FoundPackage::Archive(archive) = found
            && let Some((digest, errors)) = self.accepted(archive, wanted, repeated)?
        {
            (stored.package.action, stored.package.size) = (MirrorAction::Kept, Some(archive.size));
            return Ok(Stored {
                digest,
                errors,
                ..stored
            });
        }
        if self.is_dry_run {
            return Ok(stored);
        }
        let file = self.store.temporary_file(package)?;
        let archive_file = ArchiveFile::new(file.as_file(), &stored.package.path);
        let progress = |package: &_, progress| session.note_progress(package, progress);
        let source = session.source(release.dialect, None)?;
        let fetched = source.archive(&Fetch {
            package,
            archive_file: Some(&archive_file),
            progress: &progress,
        });
        let fetched = fetched.map_err(|error| wanted.located(error.into()))?;
        let not_hashed = || SourceError::invalid_response(package, "its archive was not hashed");
        let digest = fetched.digest.ok_or_else(not_hashed)?;
        stored.errors = release.check(package, &digest, Some(&fetched.authentication))?;
        match found {
            FoundPackage::Archive(archive) if archive.zh == digest.zh => {
                stored.package.action = MirrorAction::Kept;
            }
            _ => stored.pushed = self.store.put(package, file, &digest)?,
        }
        stored.package.size = Some(digest.size);
        stored.package.authentication = Some(fetched.authentication);
        Ok(Stored {
            digest: Some(digest),
            warnings: fetched.warnings,
            ..stored
        })
    }

    /// Returns the hashes of an existing archive, and the reasons why some lock files do not accept
    /// it, if a lock file records it and it is the package of its platform.
    fn accepted(
        &self,
        archive: &FoundArchive,
        wanted: &RequestedPackage<'_>,
        repeated: &BTreeSet<(Version, Hash)>,
    ) -> Result<Option<(Option<PackageDigest>, Vec<Diagnostic>)>> {
        let RequestedPackage { package, release } = wanted;
        let cached = || {
            self.session
                .hash_cache
                .as_ref()?
                .lookup(package)
                .filter(|known| known.zh == archive.zh)
        };
        let digest = archive.digest.clone().or_else(cached);
        let is_recorded = match &digest {
            Some(digest) => release.records(&package.platform, digest),
            // A lock file with other hashes only cannot be compared.
            None => release
                .records_for(&package.platform)
                .all(|record| record.hashes.contains(&archive.zh)),
        };
        if !is_recorded {
            return Ok(None);
        }
        let listed = is_package(package, &archive.zh, release.dialect, self.session);
        let listed = listed.map_err(|errors| wanted.located(errors))?;
        // A file that lock files record is accepted, unless it has the names of several platforms.
        let is_likely = || {
            archive.digest.is_some()
                && !repeated.contains(&(package.version.clone(), archive.zh.clone()))
        };
        if !listed.unwrap_or_else(is_likely) {
            return Ok(None);
        }
        let errors = digest.as_ref().map_or(Ok(Vec::new()), |digest| {
            release.check(package, digest, None)
        })?;
        Ok(Some((digest, errors)))
    }
}

impl RequestedPackage<'_> {
    fn located(&self, errors: Diagnostics) -> Diagnostics {
        located(
            errors,
            self.release.records_for(&self.package.platform).next(),
        )
    }
}

/// Adds the location of the record that requires a package to errors about the package.
fn located(errors: Diagnostics, record: Option<&Record>) -> Diagnostics {
    errors.map(|error| match record {
        Some(record) => record.error(error, "locked here"),
        None => error,
    })
}

/// Returns the archives that have the names of several platforms of a version.
fn repeated(found: &[(Result<FoundPackage>, RequestedPackage<'_>)]) -> BTreeSet<(Version, Hash)> {
    let mut numbers = BTreeMap::<_, usize>::new();
    for (found, RequestedPackage { package, release }) in found {
        if let Ok(FoundPackage::Archive(FoundArchive {
            zh,
            digest: Some(digest),
            ..
        })) = found
            && release.records(&package.platform, digest)
        {
            *numbers
                .entry((package.version.clone(), zh.clone()))
                .or_default() += 1;
        }
    }
    numbers
        .into_iter()
        .filter(|(_, number)| *number > 1)
        .map(|(archive, _)| archive)
        .collect()
}

/// Returns the platforms of a release for which lock files with hashes require packages.
fn platforms(
    address: &ProviderAddress,
    version: &Version,
    release: &Release,
    session: &Session<'_>,
) -> Result<BTreeSet<Platform>> {
    let listed = || -> Result<BTreeSet<Platform>> {
        let listed = session
            .source(release.dialect, None)?
            .platforms(address, version);
        listed.map_err(|error| located(error.into(), release.with_hashes().next()))
    };
    let is_cached = |platform: &Platform| {
        let package = PackageId::new(address, version, platform);
        session
            .hash_cache
            .as_ref()
            .is_some_and(|cache| cache.lookup(&package).is_some())
    };
    let mut platforms = BTreeSet::new();
    for record in release.with_hashes() {
        match &record.platforms {
            PlatformSelection::All => {
                let listed = listed()?.into_iter();
                platforms.extend(listed.filter(|platform| !record.missing.contains(platform)));
            }
            PlatformSelection::These(these)
                if record.platforms_are_named
                    || these.len() == 1
                    || these.iter().all(is_cached) =>
            {
                platforms.extend(these.iter().cloned());
            }
            PlatformSelection::These(these) => {
                let listed = listed()?;
                let published: Vec<_> = these
                    .iter()
                    .filter(|platform| listed.contains(platform))
                    .cloned()
                    .collect();
                // If none is published, the download reports the published ones.
                platforms.extend(if published.is_empty() {
                    these.clone()
                } else {
                    published
                });
            }
        }
    }
    Ok(platforms)
}
