//! The packages that are to be in a mirror: which they are, whether they are there, and how they get there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use super::directory::MirrorDirectory;
use super::known;
use super::mirrored::{MirrorAction, Mirrored, MirroredPackage};
use super::releases::{Release, Releases};
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::{ArchiveFile, Fetch, Fetched, SourceError};
use crate::project::session::Session;
use crate::provider::{Hash, Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::files;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// A package that is to be in the mirror.
pub(super) struct Wanted<'a> {
    pub(super) package: PackageId,
    release: &'a Release,
    pub(super) path: PathBuf,
}

/// What has the name of a package.
enum There {
    Nothing,
    /// A package that a lock file records, and whether it has the name of another platform's, too.
    Recorded(PackageDigest, bool),
    Other,
}

/// A package that is in its place.
pub(super) struct Put {
    pub(super) package: MirroredPackage,
    /// Its hashes; none where it is not there yet.
    pub(super) digest: Option<PackageDigest>,
    /// What the user should know of it.
    pub(super) warnings: Vec<Diagnostic>,
    /// That some lock files do not record it, while another does.
    pub(super) errors: Vec<Diagnostic>,
}

impl Mirrored {
    pub(super) fn add(&mut self, put: Put) {
        self.warnings.extend(put.warnings);
        self.errors.extend(put.errors);
        self.packages.push(put.package);
    }
}

/// The packages of all releases of the providers that have a folder.
pub(super) fn all<'a>(
    releases: &'a Releases,
    folders: &BTreeMap<&ProviderAddress, PathBuf>,
    session: &Session<'_>,
) -> (Vec<Wanted<'a>>, Diagnostics) {
    let releases =
        releases.by_provider().filter_map(|(address, versions)| Some((folders.get(address)?, address, versions)));
    let releases = releases.flat_map(|(folder, address, versions)| {
        versions.iter().map(move |(version, release)| (folder, address, version, release))
    });
    let (mut wanted, mut errors) = (Vec::new(), Diagnostics::default());
    let ask = |(folder, address, version, release)| {
        let platforms = platforms(address, version, release, session);
        (folder, address, version, release, platforms)
    };
    for (folder, address, version, release, platforms) in parallel::map(releases.collect(), WAITING_REQUESTS, ask) {
        let bare = release.records.iter().filter(|record| record.hashes.is_empty());
        errors.extend(bare.map(|record| record.without_hashes(address, version)));
        match platforms {
            Ok(platforms) => wanted.extend(platforms.into_iter().map(|platform| {
                let package = PackageId::new(address, version, &platform);
                Wanted { path: folder.join(MirrorDirectory::file_name(&package)), package, release }
            })),
            Err(error) => errors.extend(error),
        }
    }
    (wanted, errors)
}

/// The platforms of a release that lock files with hashes ask for.
fn platforms(
    address: &ProviderAddress,
    version: &Version,
    release: &Release,
    session: &Session<'_>,
) -> Result<BTreeSet<Platform>> {
    let mut platforms = BTreeSet::new();
    for record in release.with_hashes() {
        match &record.platforms {
            PlatformSelection::These(these) if record.platforms_are_named || these.len() == 1 => {
                platforms.extend(these.iter().cloned());
            }
            PlatformSelection::These(these) => {
                platforms.extend(published_of(these, address, version, release, session)?);
            }
            PlatformSelection::All => {
                let listed = session.source(release.dialect, None)?.platforms(address, version);
                let failed = |error| Diagnostics::from(error).map(|error| record.error(error, "locked here"));
                platforms.extend(listed.map_err(failed)?);
            }
        }
    }
    Ok(platforms)
}

/// Those of a lock file's platforms that a release has packages for. The cache answers without a request if it can.
fn published_of(
    platforms: &[Platform],
    address: &ProviderAddress,
    version: &Version,
    release: &Release,
    session: &Session<'_>,
) -> Result<Vec<Platform>> {
    let is_cached = |platform: &Platform| {
        let package = PackageId::new(address, version, platform);
        session.hash_cache.as_ref().and_then(|cache| cache.lookup(&package)).is_some()
    };
    if platforms.iter().all(is_cached) {
        return Ok(platforms.to_vec());
    }
    let listed = session.source(release.dialect, None)?.platforms(address, version);
    let listed = listed.map_err(|error| {
        Diagnostics::from(error).map(|error| match release.with_hashes().next() {
            Some(record) => record.error(error, "locked here"),
            None => error,
        })
    })?;
    let published: Vec<_> = platforms.iter().filter(|platform| listed.contains(platform)).cloned().collect();
    // Without any of them, the download reports what is not published.
    Ok(if published.is_empty() { platforms.to_vec() } else { published })
}

/// Puts packages into the mirror that are not there.
pub(super) fn put_all(
    wanted: Vec<Wanted<'_>>,
    directory: &MirrorDirectory,
    session: &Session<'_>,
    dry_run: bool,
) -> Vec<Result<Put>> {
    let mut looked_at = parallel::map(wanted, parallel::cores(), |wanted| (wanted.look(), wanted));
    note_repeated(&mut looked_at);
    let is_missing = |there: &There| !dry_run && !matches!(there, There::Recorded(..));
    let missing =
        looked_at.iter().filter(|(there, _)| is_missing(there)).filter_map(|(_, wanted)| wanted.path.parent());
    // Before anything is fetched, since what is fetched is a temporary file at first.
    let mut folders: BTreeMap<PathBuf, Result<()>> = missing.map(|folder| (folder.to_owned(), Ok(()))).collect();
    for (folder, created) in &mut folders {
        *created = directory.create(folder);
    }
    parallel::map(looked_at, WAITING_REQUESTS, |(there, wanted)| {
        wanted.path.parent().and_then(|folder| folders.get(folder)).cloned().unwrap_or(Ok(()))?;
        wanted.put(there, session, dry_run)
    })
}

/// Notes which packages are there under the names of several platforms of a release.
fn note_repeated(looked_at: &mut [(There, Wanted<'_>)]) {
    let mut numbers = BTreeMap::<_, usize>::new();
    let key = |wanted: &Wanted<'_>, digest: &PackageDigest| {
        (wanted.package.address.clone(), wanted.package.version.clone(), digest.zh.clone())
    };
    for (there, wanted) in &*looked_at {
        if let There::Recorded(digest, _) = there {
            *numbers.entry(key(wanted, digest)).or_default() += 1;
        }
    }
    for (there, wanted) in looked_at {
        if let There::Recorded(digest, is_repeated) = there {
            *is_repeated = numbers.get(&key(wanted, digest)).is_some_and(|number| *number > 1);
        }
    }
}

impl Wanted<'_> {
    fn look(&self) -> There {
        match known::digest(&self.path, &self.package) {
            Some(digest) if self.release.records(&self.package.platform, &digest) => There::Recorded(digest, false),
            None if self.path.symlink_metadata().is_err() => There::Nothing,
            _ => There::Other,
        }
    }

    fn put(self, there: There, session: &Session<'_>, dry_run: bool) -> Result<Put> {
        let action = match there {
            There::Recorded(digest, is_repeated) => {
                let is_package = known::is_package(&self.package, &digest.zh, self.release.dialect, session);
                if is_package.map_err(|errors| self.located(errors))?.unwrap_or(!is_repeated) {
                    let errors = self.release.check(&self.package, &digest, None)?;
                    return Ok(self.in_place(MirrorAction::Kept, Some(digest), errors));
                }
                MirrorAction::Replaced
            }
            There::Nothing => MirrorAction::Added,
            There::Other => MirrorAction::Replaced,
        };
        if dry_run {
            return Ok(self.in_place(action, None, Vec::new()));
        }
        let (fetched, errors) = self.fetch(session)?;
        let mut put = self.in_place(action, fetched.digest, errors);
        put.package.authentication = Some(fetched.authentication);
        put.warnings = fetched.warnings;
        Ok(put)
    }

    /// Downloads the package beside its place, and puts it there when it was authenticated and a lock file records it.
    fn fetch(&self, session: &Session<'_>) -> Result<(Fetched, Vec<Diagnostic>)> {
        let failed = |error: std::io::Error| Diagnostic::io("write", &self.path, &error);
        let file = files::incoming(&self.path).map_err(failed)?;
        let (fetched, _, errors) = self.fetch_into(file.as_file(), &self.path, session)?;
        files::put_in_place(file, &self.path).map_err(failed)?;
        Ok((fetched, errors))
    }

    /// Downloads the package into a file.
    ///
    /// # Errors
    /// It is not authentic, or no lock file records it.
    pub(super) fn fetch_into(
        &self,
        file: &File,
        path: &Path,
        session: &Session<'_>,
    ) -> Result<(Fetched, PackageDigest, Vec<Diagnostic>)> {
        let source = session.source(self.release.dialect, None)?;
        let into = ArchiveFile::new(file, path);
        let progress = |package: &_, progress| session.note_progress(package, progress);
        let fetch = Fetch { package: &self.package, into: Some(&into), progress: &progress };
        let fetched = source.archive(&fetch).map_err(|error| self.located(error.into()))?;
        let not_hashed = || SourceError::invalid_response(&self.package, "its archive was not hashed");
        let digest = fetched.digest.clone().ok_or_else(not_hashed)?;
        let errors = self.release.check(&self.package, &digest, Some(&fetched.authentication))?;
        Ok((fetched, digest, errors))
    }

    /// Why some lock files do not accept the package, if an archive with this hash is known to be the package, and
    /// another lock file accepts it.
    pub(super) fn accepts(&self, zh: &Hash, session: &Session<'_>) -> Result<Option<Vec<Diagnostic>>> {
        let known = session.hash_cache.as_ref().and_then(|cache| cache.lookup(&self.package));
        if let Some(known) = known {
            return Ok((known.zh == *zh).then(|| self.release.check(&self.package, &known, None).ok()).flatten());
        }
        // Without its other hashes, a lock file that has only those cannot be compared.
        if !self.release.records_for(&self.package.platform).all(|record| record.hashes.contains(zh)) {
            return Ok(None);
        }
        let is_package = known::is_package(&self.package, zh, self.release.dialect, session);
        Ok((is_package.map_err(|errors| self.located(errors))? == Some(true)).then(Vec::new))
    }

    /// Errors about the package, at the place that asks for it.
    pub(super) fn located(&self, errors: Diagnostics) -> Diagnostics {
        let record = self.release.records_for(&self.package.platform).next();
        errors.map(|error| match record {
            Some(record) => record.error(error, "locked here"),
            None => error,
        })
    }

    pub(super) fn in_place(self, action: MirrorAction, digest: Option<PackageDigest>, errors: Vec<Diagnostic>) -> Put {
        let Self { package, release, path } = self;
        let (dialect, size) = (release.dialect, digest.as_ref().map(|digest| digest.size));
        let package = MirroredPackage { package, dialect, path, action, size, authentication: None };
        Put { package, digest, warnings: Vec::new(), errors }
    }
}
