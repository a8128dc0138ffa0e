//! Mirroring: the packages that the lock files of root modules name, in a directory.

use std::sync::Arc;

use super::directory::MirrorDirectory;
use super::fill::fill_mirror;
use super::folder::{Folder, prune_mirror};
use super::mirrored::{MirrorTarget, Mirrored};
use super::releases::{LockedReleases, Record};
use super::repositories::{MirrorRepository, repositories_of};
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Result, RunOption, Severity};
use crate::lockfile::{Entry, LockFile};
use crate::project::plan::kept_platforms;
use crate::project::root_module::RootModule;
use crate::project::root_module::roots::{FoundRoot, Roots};
use crate::project::session::Session;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::{TemporaryDirectory, parallel};

/// Number of lock files that are read before their records are combined, which saves memory.
const READ_TOGETHER: usize = 256;

/// Options of [`Session::mirror`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MirrorOptions {
    /// Location of the mirror.
    pub target: MirrorTarget,
    /// The platforms of its packages. Without any, these are the platforms of the settings, or else
    /// the platforms that the lock file covers, or else the current one.
    pub platforms: Option<PlatformSelection>,
    /// Whether packages that no lock file names are removed. Nothing is removed if a lock file is
    /// missing or has an error.
    pub prune: bool,
    /// Whether nothing is written, and no package is fetched.
    pub dry_run: bool,
}

impl MirrorOptions {
    /// Fills a mirror for the platforms of the settings, and removes nothing.
    pub fn new(target: MirrorTarget) -> Self {
        Self {
            target,
            platforms: None,
            prune: false,
            dry_run: false,
        }
    }
}

impl Session<'_> {
    /// Puts the packages that the lock files of root modules name into a mirror, each once.
    ///
    /// # Errors
    /// The directory cannot be used. Any other error is in the result.
    pub fn mirror(&self, roots: &Roots, options: &MirrorOptions) -> Result<Mirrored> {
        if options.prune && matches!(options.target, MirrorTarget::Repositories(_)) {
            let message = "only directories can be pruned, not OCI registries";
            let help = "remove tags with the registry's own tools, such as retention rules";
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help)
                .into());
        }
        if roots.is_empty() {
            return Ok(Mirrored::default());
        }

        // 1. Read the lock files.
        let (releases, mut mirrored) = read_lock_files(self, roots, options);
        let number_of_warnings = mirrored.warnings.len();

        // 2. Fill the mirror, and remove what no lock file names.
        match &options.target {
            MirrorTarget::Directory(path) => {
                // A lock file that could not be read may name the packages that would be removed.
                let prunes = options.prune && mirrored.errors.is_empty();
                let directory = MirrorDirectory::open(path, &releases, options.dry_run, prunes)?;
                fill_mirror(
                    self,
                    &releases,
                    options.dry_run,
                    &mut mirrored,
                    |address, versions| Folder::open(&directory, address, versions),
                );
                // A mirror that lacks new packages keeps the old ones.
                if prunes && mirrored.errors.is_empty() {
                    prune_mirror(&directory, &mut mirrored);
                }
            }
            MirrorTarget::Repositories(template) => {
                let registries = self
                    .connections
                    .oci_registries(self.options.dialect.unwrap_or_default())?;
                let directory = TemporaryDirectory::new().map_err(|error| {
                    let message =
                        format!("cannot create a temporary directory for packages: {error}");
                    Diagnostic::error(Code::Io, message)
                })?;
                let repositories = repositories_of(template, &releases);
                fill_mirror(
                    self,
                    &releases,
                    options.dry_run,
                    &mut mirrored,
                    |address, versions| {
                        let repository = repositories[address].as_ref().map_err(Clone::clone)?;
                        Ok(MirrorRepository::open(
                            &registries,
                            repository,
                            versions,
                            &directory,
                            options.dry_run,
                        ))
                    },
                );
            }
        }
        if options.prune && !mirrored.errors.is_empty() {
            let message = "nothing is removed from the mirror, because of the errors";
            let warning = Diagnostic::warning(Code::Io, message);
            // It comes after the warnings about lock files.
            mirrored.warnings.insert(number_of_warnings, warning);
        }
        self.notify_at_end();
        Ok(mirrored)
    }
}

/// Reads the lock files of all root modules. Their warnings and errors are in the result.
fn read_lock_files(
    session: &Session<'_>,
    roots: &Roots,
    options: &MirrorOptions,
) -> (LockedReleases, Mirrored) {
    let threads = session.modules.threads();
    let mut releases = LockedReleases::default();
    let mut mirrored = Mirrored::default();
    // The text of few lock files is in memory at a time: records are small.
    for chunk in roots.list.chunks(READ_TOGETHER) {
        let results = parallel::map(chunk.iter().collect(), threads, |root| {
            (root, read_records(session, root, options))
        });
        for (root, result) in results {
            let lock_file = match result {
                Ok(lock_file) => lock_file,
                Err(errors) => {
                    mirrored.errors.extend(root.with_root_module(errors));
                    continue;
                }
            };
            for warning in lock_file.warnings {
                mirrored.warnings.push(root.one_with_root_module(warning));
            }
            mirrored
                .errors
                .extend(root.with_root_module(lock_file.errors));
            for (address, version, record) in lock_file.records {
                releases.add(address, version, record);
            }
        }
    }
    (releases, mirrored)
}

/// Entries of a lock file.
struct LockFileRecords {
    records: Vec<(ProviderAddress, Version, Record)>,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
}

/// Reads the releases in the lock file of a root module, which must exist if the user selected the
/// root module, or if packages will be removed. A release that the policy forbids is an error in
/// the result.
fn read_records(
    session: &Session<'_>,
    root: &FoundRoot,
    options: &MirrorOptions,
) -> Result<LockFileRecords> {
    let opened = session.open_root(root)?;
    let (lock_file, mut warnings) = opened.lock_file()?;
    if opened.lock_bytes.is_none() {
        let mut missing =
            opened.lock_file_missing("the mirror gets no package of this root module");
        if root.is_explicit || options.prune {
            return Err(session
                .no_configuration_error(&opened)
                .unwrap_or(missing)
                .into());
        }
        missing.severity = Severity::Warning;
        warnings.push(missing);
    }

    let settings = &opened.settings;
    let dialect = opened.dialect;
    let policy = Arc::new(settings.policy.clone());
    let named = options.platforms.as_ref().or(settings.platforms.as_ref());
    let (platforms, mut errors) = match named {
        Some(platforms) => (platforms.clone(), Diagnostics::default()),
        None => covered_platforms(session, &opened, &lock_file)?,
    };
    errors.extend(opened.configuration_errors(&session.modules));
    // No other root module reads this directory, and there may be very many.
    session.modules.forget(&opened.canonical);
    let mut records = Vec::new();
    for entry in lock_file.entries() {
        let Entry {
            address, locked, ..
        } = entry;
        let mut exempted = Vec::new();
        for exemption in settings.without_platforms.of(address, dialect) {
            exempted.push(exemption.platform.clone());
        }
        let record = Record {
            root: root.path.clone(),
            is_one_of_several: root.is_one_of_several,
            others: 0,
            dialect,
            policy: Arc::clone(&policy),
            platforms: without_exempted(&platforms, &exempted),
            exempted,
            platforms_are_named: named.is_some(),
            hashes: locked.hashes.clone(),
            place: entry.version().clone(),
        };
        // A mirror must not hand out what the policy forbids, even if it is locked.
        let mut violations = policy.against_address(address, dialect);
        violations.extend(policy.against_version(address, dialect, &locked.version));
        if violations.is_empty() {
            records.push((address.clone(), locked.version.clone(), record));
        } else {
            for error in violations {
                errors.push(record.error(error, "locked here"));
            }
        }
    }
    Ok(LockFileRecords {
        records,
        warnings,
        errors,
    })
}

/// The platforms of a selection without those for which a provider has no package.
fn without_exempted(platforms: &PlatformSelection, exempted: &[Platform]) -> PlatformSelection {
    let PlatformSelection::These(these) = platforms else {
        return PlatformSelection::All;
    };
    let existing = these.iter().filter(|platform| !exempted.contains(platform));
    PlatformSelection::These(existing.cloned().collect())
}

/// The platforms that a lock file covers, or the current one if it has no entries. It is an error
/// if the platforms of some hashes are unknown, because machines that need them could not use the
/// mirror.
fn covered_platforms(
    session: &Session<'_>,
    opened: &RootModule,
    lock_file: &LockFile,
) -> Result<(PlatformSelection, Diagnostics)> {
    let locks = lock_file.locks();
    let source = session.source(opened.dialect, None)?;
    let mut covered =
        kept_platforms::covered_by_lock_file(locks, &source, session.hash_cache.as_ref());
    if covered.is_empty() {
        covered.insert(Platform::current());
    }

    let mut errors = Diagnostics::default();
    // Each platform has an h1 of its own, so that an entry with more of them covers other
    // platforms, too.
    let mut most_hashes = 0;
    for locked in locks.values() {
        most_hashes = most_hashes.max(locked.platform_hashes().count());
    }
    let known = covered.len();
    if most_hashes > known {
        let names = first_few(covered.iter().map(ToString::to_string));
        let is = if known == 1 { "is" } else { "are" };
        let message = format!(
            "the lock file has h1 hashes for {most_hashes} platforms, but only {known} of them {is} known"
        );
        let help =
            Help::text("name the platforms of the machines that use the mirror, for example: ")
                .and(RunOption::NamePlatforms);
        let error = Diagnostic::error(Code::PlatformNotKnown, message)
            .note(format!("the mirror gets the packages for {names}"))
            .help(help);
        errors.push(opened.in_dialect(error));
    }
    let selection = PlatformSelection::These(covered.into_iter().collect());
    Ok((selection, errors))
}
