//! Mirroring: the packages that the lock files of root modules name, in a directory.

use std::path::Path;
use std::sync::Arc;

use super::directory::MirrorDirectory;
use super::fill::fill;
use super::folder::Folder;
use super::mirrored::Mirrored;
use super::prune;
use super::releases::{Record, Releases};
use super::repositories::Repositories;
use super::target::MirrorTarget;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result, Severity};
use crate::lockfile::{Entry, LockFile};
use crate::packages::RepositoryTemplate;
use crate::project::plan::kept_platforms;
use crate::project::root_module::RootModule;
use crate::project::roots::{FoundRoot, Roots};
use crate::project::session::Session;
use crate::provider::Platform;
use crate::settings::PlatformSelection;
use crate::system::{TemporaryDirectory, parallel};

/// How many lock files are read before what they record is taken together, which takes less memory.
const READ_TOGETHER: usize = 256;

/// How a mirror is filled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MirrorOptions {
    /// Where it is.
    pub target: MirrorTarget,
    /// The platforms whose packages it is to hold; else those of the settings, else those that the lock file covers,
    /// else the one that this program runs on.
    pub platforms: Option<PlatformSelection>,
    /// Whether what no lock file names is removed. Nothing is if a lock file is missing or has an error.
    pub prune: bool,
    /// Whether nothing is to be written, and no package to be fetched.
    pub dry_run: bool,
}

impl MirrorOptions {
    /// A mirror that nothing is removed from, for the platforms of the settings.
    pub fn new(target: MirrorTarget) -> Self {
        Self { target, platforms: None, prune: false, dry_run: false }
    }
}

/// What the lock files of root modules say.
#[derive(Default)]
struct LockFiles {
    releases: Releases,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
}

impl Session<'_> {
    /// Puts the packages that the lock files of root modules name into a mirror, each once.
    ///
    /// # Errors
    /// The directory cannot be used. Any other error is in the result.
    pub fn mirror(&self, roots: &Roots, options: &MirrorOptions) -> Result<Mirrored> {
        if options.prune && matches!(options.target, MirrorTarget::Repositories(_)) {
            let message = "nothing can be removed from OCI registries, only from a directory";
            let help = "remove tags by the means of the registry, such as its rules on how long they are kept";
            return Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into());
        }
        if roots.is_empty() {
            return Ok(Mirrored::default());
        }
        let LockFiles { releases, mut warnings, errors } = LockFiles::read(roots, self, options);
        let mut mirrored = match &options.target {
            MirrorTarget::Directory(path) => {
                self.mirror_to_directory(path, &releases, options.dry_run, options.prune && errors.is_empty())?
            }
            MirrorTarget::Repositories(template) => {
                self.mirror_to_repositories(template, &releases, options.dry_run)?
            }
        };
        if options.prune && !(errors.is_empty() && mirrored.errors.is_empty()) {
            let message = "nothing is removed from the mirror, because of the errors";
            warnings.push(Diagnostic::warning(Code::Io, message));
        }
        self.finish();
        mirrored.warnings.splice(0..0, warnings);
        mirrored.errors.splice(0..0, errors);
        Ok(mirrored)
    }

    /// Other files in the directory stay, unless they are removed.
    fn mirror_to_directory(
        &self,
        path: &Path,
        releases: &Releases,
        is_dry_run: bool,
        prunes: bool,
    ) -> Result<Mirrored> {
        let directory = MirrorDirectory::open(path, is_dry_run)?;
        let open = |address: &_, versions: &_| Folder::open(&directory, releases, prunes, address, versions);
        let mut mirrored = fill(self, releases, is_dry_run, open);
        if prunes && mirrored.errors.is_empty() {
            let (removed, errors) = prune::prune(&directory, releases, is_dry_run);
            mirrored.removed = removed;
            mirrored.errors.extend(errors);
        }
        Ok(mirrored)
    }

    fn mirror_to_repositories(
        &self,
        template: &RepositoryTemplate,
        releases: &Releases,
        is_dry_run: bool,
    ) -> Result<Mirrored> {
        let registries = self.connections.oci_registries(self.options.dialect.unwrap_or_default())?;
        let directory = TemporaryDirectory::new().map_err(|error| {
            let message = format!("cannot create a temporary directory for packages: {error}");
            Diagnostic::error(Code::Io, message)
        })?;
        let repositories = Repositories::new(template, releases, &registries, &directory, is_dry_run);
        Ok(fill(self, releases, is_dry_run, |address, versions| repositories.open(address, versions)))
    }
}

impl LockFiles {
    fn read(roots: &Roots, session: &Session<'_>, options: &MirrorOptions) -> Self {
        let mut all = Self::default();
        for some in roots.list.chunks(READ_TOGETHER) {
            let read = |root| (root, read(session, root, options));
            for (root, read) in parallel::map(some.iter().collect(), session.modules.threads(), read) {
                match read {
                    Ok(Read { opened, lock_file, platforms, warnings, errors }) => {
                        all.warnings.extend(warnings.into_iter().map(|warning| root.locate(warning)));
                        all.errors.extend(root.name(errors));
                        all.add(&opened, &lock_file, &platforms);
                    }
                    Err(errors) => all.errors.extend(root.name(errors)),
                }
            }
        }
        all
    }

    fn add(&mut self, opened: &RootModule, lock_file: &LockFile, platforms: &Platforms) {
        let (dialect, policy) = (opened.dialect, Arc::new(opened.settings.policy.clone()));
        for entry in lock_file.entries() {
            let Entry { address, locked, .. } = entry;
            let record = Record {
                root: opened.path().to_owned(),
                is_one_of_many: opened.found.is_one_of_several,
                others: 0,
                dialect,
                policy: Arc::clone(&policy),
                platforms: platforms.selection.clone(),
                platforms_are_named: platforms.are_named,
                hashes: locked.hashes.clone(),
                place: entry.version().clone(),
            };
            let mut forbidden = policy.against_address(address, dialect);
            forbidden.extend(policy.against_version(address, dialect, &locked.version));
            if forbidden.is_empty() {
                self.releases.add(address, &locked.version, record);
            } else {
                self.errors.extend(forbidden.into_iter().map(|error| record.error(error, "locked here")));
            }
        }
    }
}

/// A root module with its lock file.
struct Read {
    opened: RootModule,
    lock_file: LockFile,
    platforms: Platforms,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
}

/// The platforms whose packages a lock file asks for.
struct Platforms {
    selection: PlatformSelection,
    /// Whether a flag or the settings name them.
    are_named: bool,
}

/// Reads the lock file of a root module, with its warnings. There must be one if somebody names the root module, or if
/// it decides what is removed.
fn read(session: &Session<'_>, root: &FoundRoot, options: &MirrorOptions) -> Result<Read> {
    let opened = session.open_root(root)?;
    let (lock_file, mut warnings) = opened.lock_file()?;
    if opened.lock_bytes.is_none() {
        let message = "there is no lock file, so the mirror gets nothing for this root module";
        let missing = Diagnostic::warning(Code::LockFileMissing, message).help(Remedy::lock());
        let missing = opened.in_dialect(missing);
        if root.is_explicit || options.prune {
            let elsewhere = session.roots_elsewhere(&opened);
            return Err(elsewhere.unwrap_or(Diagnostic { severity: Severity::Error, ..missing }).into());
        }
        warnings.push(missing);
    }
    let named = options.platforms.as_ref().or(opened.settings.platforms.as_ref()).cloned();
    let (platforms, errors) = match named {
        Some(selection) => (Platforms { selection, are_named: true }, Diagnostics::default()),
        None => covered(session, &opened, &lock_file)?,
    };
    Ok(Read { opened, lock_file, platforms, warnings, errors })
}

/// The platforms that a lock file covers, else the one that this program runs on. It is an error if there are hashes
/// whose platforms are not known, because a mirror without them is no use to those who need them.
fn covered(session: &Session<'_>, opened: &RootModule, lock_file: &LockFile) -> Result<(Platforms, Diagnostics)> {
    let locks = lock_file.locks();
    let source = session.source(opened.dialect, None)?;
    let mut covered = kept_platforms::of_file(locks, &source, session.hash_cache.as_ref());
    if covered.is_empty() {
        covered.insert(Platform::current());
    }
    let (hashes, known) = (kept_platforms::most_hashes(locks), covered.len());
    let errors = (hashes > known).then(|| {
        let names = few(covered.iter().map(ToString::to_string));
        let is = if known == 1 { "is" } else { "are" };
        let message =
            format!("the lock file has h1 hashes for {hashes} platforms, but only {known} of them {is} known");
        let help = Help::text("name the platforms of the machines that use the mirror, for example: ");
        let help = help.and(Remedy::NamePlatforms);
        let error = Diagnostic::error(Code::PlatformNotKnown, message);
        opened.in_dialect(error.note(format!("the mirror gets the packages for {names}")).help(help))
    });
    let selection = PlatformSelection::These(covered.into_iter().collect());
    Ok((Platforms { selection, are_named: false }, errors.into_iter().collect()))
}
