//! Fills a mirror: finds existing packages of each provider, fetches missing ones, and publishes
//! all of them.

use std::collections::BTreeSet;
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
use crate::system::Temporary;
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
    fn find(&self, package: &PackageId) -> Result<ExistingPackage>;

    /// Creates the file that a package is downloaded into.
    fn temporary_file(&self, package: &PackageId) -> Result<Temporary<NamedTempFile>>;

    /// Stores a verified package, and returns what publishing needs. Clients do not see it before
    /// it is published.
    fn put(
        &self,
        package: &PackageId,
        file: Temporary<NamedTempFile>,
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
pub(super) enum ExistingPackage {
    Nothing,
    Archive(ExistingArchive),
    /// A file that cannot be the package.
    Other,
}

pub(super) struct ExistingArchive {
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

/// Whether an archive is the package whose name it has.
pub(super) enum ArchiveIdentity {
    Package,
    /// A different file.
    Different,
    /// Neither an earlier run nor SHA256SUMS contains the package.
    Unknown,
}

/// Finds out whether an archive with this hash is the package, according to an earlier run that
/// verified it, or else to SHA256SUMS. Lock files do not say which platform a hash is for.
///
/// # Errors
/// The registry cannot be asked.
pub(super) fn identify_archive(
    package: &PackageId,
    zh: &Hash,
    dialect: Dialect,
    session: &Session<'_>,
) -> Result<ArchiveIdentity> {
    let known_zh = if let Some(digest) = verified_before(session, package) {
        digest.zh
    } else {
        match session.source(dialect, None)?.listed_zh(package) {
            Ok(Some(listed)) => listed,
            Ok(None) | Err(SourceError::ProviderNotFound { .. }) => {
                return Ok(ArchiveIdentity::Unknown);
            }
            Err(error) if error.is_platform_missing() => return Ok(ArchiveIdentity::Unknown),
            Err(error) => return Err(error.into()),
        }
    };
    Ok(if known_zh == *zh {
        ArchiveIdentity::Package
    } else {
        ArchiveIdentity::Different
    })
}

/// The hashes of a package that an earlier run has verified.
fn verified_before(session: &Session<'_>, package: &PackageId) -> Option<PackageDigest> {
    session.hash_cache.as_ref()?.digest_of(package)
}

/// Puts the packages that lock files name into a mirror, each once, provider by provider. `open`
/// returns the store of a provider.
pub(super) fn fill_mirror<P: ProviderStore>(
    session: &Session<'_>,
    releases: &LockedReleases,
    is_dry_run: bool,
    mirrored: &mut Mirrored,
    open: impl Fn(&ProviderAddress, &Versions) -> Result<P> + Sync,
) {
    let providers = releases.0.iter().collect();
    let results = parallel::map(providers, PROVIDERS, |(address, versions)| {
        let filling = Filling {
            session,
            store: open(address, versions)?,
            is_dry_run,
        };
        Ok(filling.fill_provider(address, versions))
    });
    // The error of one provider does not keep the others out of the mirror.
    for result in results {
        match result {
            Ok(provider) => {
                mirrored.packages.extend(provider.packages);
                mirrored.documents += provider.documents;
                mirrored.warnings.extend(provider.warnings);
                mirrored.errors.extend(provider.errors);
            }
            Err(errors) => mirrored.errors.extend::<Diagnostics>(errors),
        }
    }
}

/// The packages of one provider, on their way into a mirror.
struct Filling<'a, 's, P> {
    session: &'a Session<'s>,
    store: P,
    is_dry_run: bool,
}

/// An existing archive that is the package of its platform.
struct AcceptedArchive {
    /// Its hashes, if they are known.
    digest: Option<PackageDigest>,
    /// Reasons why some lock files do not accept it.
    refusals: Vec<Diagnostic>,
}

/// A package that lock files name.
struct RequestedPackage<'a> {
    package: PackageId,
    release: &'a Release,
}

impl<P: ProviderStore> Filling<'_, '_, P> {
    /// Adds packages of the versions of a provider to the mirror, and publishes them.
    fn fill_provider(self, address: &ProviderAddress, versions: &Versions) -> Mirrored {
        // 1. Find the packages that the mirror has already.
        let mut mirrored = Mirrored::default();
        let requested = self.packages_in_lock_files(address, versions, &mut mirrored);
        let found = parallel::map(requested, P::SIDE_BY_SIDE, |requested| {
            (self.store.find(&requested.package), requested)
        });

        // 2. Keep or fetch each. A package that fails does not stop the others.
        let repeated = repeated_archives(&found);
        let results = parallel::map(found, P::SIDE_BY_SIDE, |(found, requested)| {
            let stored = found.and_then(|found| self.keep_or_fetch(&found, &requested, &repeated));
            (requested.package, stored)
        });
        let mut stored = Vec::new();
        let mut failed = BTreeSet::new();
        for (package, result) in results {
            match result {
                Ok(mut package) => {
                    mirrored.warnings.append(&mut package.warnings);
                    mirrored.errors.append(&mut package.errors);
                    stored.push(package);
                }
                Err(errors) => {
                    for error in errors {
                        if !mirrored.errors.contains(&error) {
                            mirrored.errors.push(error);
                        }
                    }
                    failed.insert(package);
                }
            }
        }

        // 3. Publish. Documents about packages that would be fetched cannot be known.
        let are_known = stored.iter().all(|stored| stored.digest.is_some());
        if !self.is_dry_run || are_known {
            let published = self.store.publish(&mut stored, &failed, self.session);
            mirrored.documents = published.documents;
            mirrored.errors.extend(published.errors);
        }
        mirrored.packages = stored.into_iter().map(|stored| stored.package).collect();
        mirrored
    }

    /// Returns the packages that lock files require, and reports releases whose packages are
    /// unknown.
    fn packages_in_lock_files<'b>(
        &self,
        address: &ProviderAddress,
        versions: &'b Versions,
        mirrored: &mut Mirrored,
    ) -> Vec<RequestedPackage<'b>> {
        let releases = versions.iter().collect();
        let results = parallel::map(releases, WAITING_REQUESTS, |(version, release)| {
            let platforms = platforms_to_mirror(address, version, release, self.session);
            (version, release, platforms)
        });
        let mut packages = Vec::new();
        for (version, release, platforms) in results {
            for record in &release.records {
                // Without a hash there is nothing to compare a package with.
                if record.hashes.is_empty() {
                    let error = record.no_hashes_error(address, version);
                    mirrored.errors.push(error);
                }
            }
            match platforms {
                Ok(platforms) => {
                    for platform in platforms {
                        let package = PackageId::new(address, version, &platform);
                        packages.push(RequestedPackage { package, release });
                    }
                }
                Err(errors) => mirrored.errors.extend(errors),
            }
        }
        packages
    }

    /// Keeps the existing package if a lock file records it, otherwise fetches it. `repeated` are
    /// the archives that have the names of several platforms.
    ///
    /// # Errors
    /// The package is not authentic, or no lock file records it.
    fn keep_or_fetch(
        &self,
        found: &ExistingPackage,
        requested: &RequestedPackage<'_>,
        repeated: &BTreeSet<(Version, Hash)>,
    ) -> Result<Stored> {
        let RequestedPackage { package, release } = requested;
        let session = self.session;
        let action = if matches!(found, ExistingPackage::Nothing) {
            MirrorAction::Added
        } else {
            MirrorAction::Replaced
        };
        let mut stored = Stored {
            package: MirroredPackage {
                package: package.clone(),
                dialect: release.dialect,
                path: self.store.path(package),
                action,
                size: None,
                authentication: None,
            },
            digest: None,
            pushed: None,
            warnings: Vec::new(),
            errors: Vec::new(),
        };

        // 1. Keep an archive that is recorded.
        if let ExistingPackage::Archive(archive) = found
            && let Some(accepted) = self.accept_existing(archive, requested, repeated)?
        {
            stored.package.action = MirrorAction::Kept;
            stored.package.size = Some(archive.size);
            stored.digest = accepted.digest;
            stored.errors = accepted.refusals;
            return Ok(stored);
        }
        // To know more, a dry run would have to fetch the package.
        if self.is_dry_run {
            return Ok(stored);
        }

        // 2. Fetch the package, and compare it with the lock files.
        let file = self.store.temporary_file(package)?;
        let archive_file = ArchiveFile::new(file.as_file(), &stored.package.path);
        let source = session.source(release.dialect, None)?;
        let fetched = source.download_archive(&Fetch {
            package,
            archive_file: Some(&archive_file),
            progress: &|package, progress| session.note_progress(package, progress),
        });
        let fetched = fetched.map_err(|error| requested.at_record(error.into()))?;
        let Some(digest) = fetched.digest else {
            let error = SourceError::invalid_response(package, "its archive was not hashed");
            return Err(error.into());
        };
        // The lock files decide what gets into the mirror, whatever a registry signs.
        stored.errors = release.check_fetched(package, &digest, &fetched.authentication)?;

        // 3. Store it.
        match found {
            // The archive was not known to be the package before it was fetched again.
            ExistingPackage::Archive(archive) if archive.zh == digest.zh => {
                stored.package.action = MirrorAction::Kept;
            }
            _ => stored.pushed = self.store.put(package, file, &digest)?,
        }
        stored.package.size = Some(digest.size);
        stored.package.authentication = Some(fetched.authentication);
        stored.digest = Some(digest);
        stored.warnings = fetched.warnings;
        Ok(stored)
    }

    /// Returns the hashes of an existing archive, and the reasons why some lock files do not accept
    /// it. `None` if no lock file records it, or if it is not known to be the package of its
    /// platform: it is a different file, or has the names of several platforms.
    fn accept_existing(
        &self,
        archive: &ExistingArchive,
        requested: &RequestedPackage<'_>,
        repeated: &BTreeSet<(Version, Hash)>,
    ) -> Result<Option<AcceptedArchive>> {
        let RequestedPackage { package, release } = requested;
        let mut digest = archive.digest.clone();
        if digest.is_none() {
            digest = verified_before(self.session, package).filter(|known| known.zh == archive.zh);
        }
        if !release.records_archive(&package.platform, &archive.zh, digest.as_ref()) {
            return Ok(None);
        }

        let identity = identify_archive(package, &archive.zh, release.dialect, self.session);
        match identity.map_err(|errors| requested.at_record(errors))? {
            ArchiveIdentity::Package => {}
            ArchiveIdentity::Different => return Ok(None),
            // A file that was read, and that lock files record, is accepted unless it has the names
            // of several platforms.
            ArchiveIdentity::Unknown => {
                let named = (package.version.clone(), archive.zh.clone());
                if archive.digest.is_none() || repeated.contains(&named) {
                    return Ok(None);
                }
            }
        }
        let mut refusals = Vec::new();
        if let Some(digest) = &digest {
            refusals = release.check_kept(package, digest)?;
        }
        Ok(Some(AcceptedArchive { digest, refusals }))
    }
}

impl RequestedPackage<'_> {
    fn at_record(&self, errors: Diagnostics) -> Diagnostics {
        at_record(
            errors,
            self.release.records_for(&self.package.platform).next(),
        )
    }
}

/// Adds the location of the record that requires a package to errors about the package.
fn at_record(errors: Diagnostics, record: Option<&Record>) -> Diagnostics {
    errors.map(|error| match record {
        Some(record) => record.error(error, "locked here"),
        None => error,
    })
}

/// Returns the archives that have the names of several platforms of a version.
fn repeated_archives(
    found: &[(Result<ExistingPackage>, RequestedPackage<'_>)],
) -> BTreeSet<(Version, Hash)> {
    let mut seen = BTreeSet::new();
    let mut repeated = BTreeSet::new();
    for (found, RequestedPackage { package, release }) in found {
        if let Ok(ExistingPackage::Archive(archive)) = found
            && let Some(digest) = &archive.digest
            && release.records_package(&package.platform, digest)
        {
            let named = (package.version.clone(), archive.zh.clone());
            if !seen.insert(named.clone()) {
                repeated.insert(named);
            }
        }
    }
    repeated
}

/// Returns the platforms of a release for which lock files with hashes require packages.
fn platforms_to_mirror(
    address: &ProviderAddress,
    version: &Version,
    release: &Release,
    session: &Session<'_>,
) -> Result<BTreeSet<Platform>> {
    let mut platforms = BTreeSet::new();
    for record in release.with_hashes() {
        match &record.platforms {
            PlatformSelection::All => {
                let mut listed = platforms_in_registry(address, version, release, session)?;
                listed.retain(|platform| !record.exempted.contains(platform));
                platforms.extend(listed);
            }
            PlatformSelection::These(these) => {
                let mut required = these.clone();
                // These platforms come from all entries together, and a single release may lack
                // some of them. Named ones are wanted in any case, and cached ones exist.
                let are_certain = record.platforms_are_named
                    || these.len() == 1
                    || these.iter().all(|platform| {
                        verified_before(session, &PackageId::new(address, version, platform))
                            .is_some()
                    });
                if !are_certain {
                    let listed = platforms_in_registry(address, version, release, session)?;
                    required.retain(|platform| listed.contains(platform));
                }
                // If none is published, the download reports the published ones.
                if required.is_empty() {
                    required.clone_from(these);
                }
                platforms.extend(required);
            }
        }
    }
    Ok(platforms)
}

/// Returns the platforms that the registry lists for a release.
fn platforms_in_registry(
    address: &ProviderAddress,
    version: &Version,
    release: &Release,
    session: &Session<'_>,
) -> Result<BTreeSet<Platform>> {
    let source = session.source(release.dialect, None)?;
    source
        .platforms(address, version)
        .map_err(|error| at_record(error.into(), release.with_hashes().next()))
}
