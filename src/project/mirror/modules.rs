//! Mirroring modules: the packages that the lock files of modules record, in the form that
//! `modules/mirror` reads.
//!
//! A package gets its place only after it was compared with the lock file, and the index is written
//! after it, so that the next run continues after a killed one.

#![expect(
    clippy::disallowed_methods,
    reason = "a mirror is written, and no part of a revision"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::mirrored::{MirrorAction, RemovedFile};
use crate::configuration::{ModuleCall, Resolution};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::{LockedModule, MODULE_LOCK_FILE_NAME, ModuleLocks};
use crate::modules::fetched::FetchedModule;
use crate::modules::mirror::{FoundPackage, IndexEntry, ModuleMirror};
use crate::modules::package_store::remove;
use crate::modules::{ModuleSource, locked};
use crate::project::modules::module_locks;
use crate::project::root_module::roots::Roots;
use crate::project::root_module::{MissingModules, RootModule};
use crate::project::session::Session;
use crate::provider::{Dialect, Hash, HashScheme};
use crate::system::files::DirectoryLock;
use crate::system::{parallel, storage};

/// Number of packages that are copied at a time.
const COPIES: usize = 4;

/// Options of [`Session::mirror_modules`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MirrorModulesOptions {
    /// The directory of the mirror, which need not exist.
    pub directory: PathBuf,
    /// Whether packages that no lock file records are removed. Nothing is removed if a lock file
    /// has an error.
    pub prune: bool,
    /// Whether nothing is written, and no package is fetched.
    pub dry_run: bool,
    /// Whether the modules of test files are skipped.
    pub ignore_tests: bool,
}

impl MirrorModulesOptions {
    /// Fills a mirror, and removes nothing.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            prune: false,
            dry_run: false,
            ignore_tests: false,
        }
    }
}

/// Result of filling a mirror of modules, or of a dry run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MirroredModules {
    /// The packages in lock files, without packages that could not be mirrored.
    pub modules: Vec<MirroredModule>,
    /// Whether the index was written, or would be.
    pub is_index_written: bool,
    /// The directories of packages that no lock file records, if they are removed.
    pub removed: Vec<RemovedFile>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Reasons why something could not be done.
    pub errors: Vec<Diagnostic>,
}

/// A package of modules that is in a mirror, or would be after a dry run.
#[derive(Debug)]
#[non_exhaustive]
pub struct MirroredModule {
    /// The source and the version, or the address of the package.
    pub name: String,
    /// Hash of the files.
    pub h1: Hash,
    /// Its directory.
    pub path: PathBuf,
    /// Change of the mirror.
    pub action: MirrorAction,
    /// Size of its files in bytes; `None` if that is unknown, because it was not fetched.
    pub size: Option<u64>,
}

/// The packages that the lock file of a root module records.
#[derive(Default)]
struct RecordedPackages {
    packages: Vec<RecordedPackage>,
    /// The hashes of all entries, also of entries that no call needs.
    hashes: BTreeSet<Hash>,
    warnings: Vec<Diagnostic>,
}

/// A package that a lock file records.
struct RecordedPackage {
    name: String,
    entry: IndexEntry,
    /// Directory of the fetched package; `None` if it was not fetched.
    fetched: Option<PathBuf>,
}

impl Session<'_> {
    /// Puts the packages that the lock files of modules record into a mirror, each once.
    ///
    /// # Errors
    /// The directory cannot be used. Any other error is in the result.
    pub fn mirror_modules(
        &self,
        roots: &Roots,
        options: &MirrorModulesOptions,
    ) -> Result<MirroredModules> {
        if roots.is_empty() {
            return Ok(MirroredModules::default());
        }
        // 1. Read what the mirror has, and what lock files record.
        let mirror = ModuleMirror::new(options.directory.clone());
        let _lock = if options.dry_run {
            None
        } else {
            Some(lock_directory(&mirror)?)
        };
        let old_index = mirror.read_index()?.unwrap_or_default();
        let mut mirrored = MirroredModules::default();
        let mut recorded_hashes = BTreeSet::new();
        let mut packages: BTreeMap<Hash, Vec<RecordedPackage>> = BTreeMap::new();
        let results = self.each_root(roots, |root| {
            self.recorded_packages(&root, &mirror, options)
        });
        for (_, result) in results {
            match result {
                Ok(recorded) => {
                    mirrored.warnings.extend(recorded.warnings);
                    recorded_hashes.extend(recorded.hashes);
                    // Calls with the same h1 share one copy, from whatever address they fetch it.
                    for package in recorded.packages {
                        let same = packages.entry(package.entry.h1.clone()).or_default();
                        same.push(package);
                    }
                }
                Err(errors) => mirrored.errors.extend(errors),
            }
        }
        self.notify_sources_read();

        // 2. Copy the packages into the mirror.
        let packages: Vec<_> = packages.into_iter().collect();
        let results = parallel::map(packages, COPIES, |(h1, same)| {
            let result = put_package(&mirror, h1, &same, options.dry_run);
            (same, result)
        });
        let mut index = old_index.packages;
        for (same, result) in results {
            match result {
                Ok(module) => {
                    mirrored.modules.push(module);
                    index.extend(same.into_iter().map(|package| package.entry));
                }
                Err(errors) => mirrored.errors.extend(errors),
            }
        }
        mirrored
            .modules
            .sort_by(|one, other| one.name.cmp(&other.name));

        // 3. Write the index, and remove what no lock file records. The entries of a lock file that
        // could not be read would look unused.
        let prunes = options.prune && mirrored.errors.is_empty();
        if options.prune && !prunes {
            let message = "nothing is removed from the mirror, because of the errors";
            let warning = Diagnostic::warning(Code::Io, message);
            mirrored.warnings.insert(0, warning);
        }
        if prunes {
            index.retain(|entry| recorded_hashes.contains(&entry.h1));
        }
        // The index is written before packages are removed, so that it lists existing ones only.
        mirrored.is_index_written = mirror.write_index(&index, options.dry_run)?;
        if prunes {
            mirrored.removed = remove_others(&mirror, &recorded_hashes, options.dry_run)?;
        }
        Ok(mirrored)
    }

    /// Reads the lock file of modules of a root module, and fetches the packages that the mirror
    /// does not contain. A dry run fetches none. Entries below a package that was not fetched are
    /// taken from the lock file alone.
    fn recorded_packages(
        &self,
        root: &RootModule,
        mirror: &ModuleMirror,
        options: &MirrorModulesOptions,
    ) -> Result<RecordedPackages> {
        if root.module_lock_bytes.is_none() {
            // An error if the root module is named, or its settings request the file.
            return self.none_unless_required(root);
        }
        let (lock_file, warnings) = root.module_lock_file()?;
        let locks = lock_file.locks();
        let mut hashes = BTreeSet::new();
        for locked in locks.values() {
            hashes.extend(locked.hashes.iter().cloned());
        }

        let requirements = root.requirements_with(
            &self.modules,
            options.ignore_tests,
            MissingModules::Refused,
            Some(&|call: &ModuleCall| resolve_by_mirror(locks, call, mirror, options.dry_run)),
        )?;

        let mut packages = Vec::new();
        let mut calls_not_read = Vec::new();
        for call in requirements.package_calls() {
            let Some(locked) = locks.get(&call.key) else {
                continue;
            };
            if call.module.is_none() {
                calls_not_read.push(&call.key);
            }
            let package = recorded_package(&call.source, locked, call.module.as_ref());
            packages.push(package.map_err(|errors| errors.map(|error| call.at_call(error)))?);
        }
        // The calls of a package that was not fetched are unknown, but not their entries.
        for (key, locked) in locks {
            let is_below = calls_not_read
                .iter()
                .any(|caller| module_locks::is_below(key, caller));
            if is_below
                && !calls_not_read.contains(&key)
                && let Some(source) = source_of(locked, root.dialect)
            {
                packages.push(recorded_package(&source, locked, None)?);
            }
        }
        let warnings = warnings.into_iter();
        Ok(RecordedPackages {
            packages,
            hashes,
            warnings: warnings
                .map(|warning| root.found.one_with_root_module(warning))
                .collect(),
        })
    }

    /// The packages of a root module without a lock file of modules: none. A root module that is
    /// not named needs no such file, because it may call no modules.
    ///
    /// # Errors
    /// The root module is named, or its settings request the file.
    fn none_unless_required(&self, root: &RootModule) -> Result<RecordedPackages> {
        if !root.found.is_explicit && root.settings.lock_modules != Some(true) {
            return Ok(RecordedPackages::default());
        }
        if let Some(error) = self.no_configuration_error(root) {
            return Err(error.into());
        }
        let message = format!("{} has no {MODULE_LOCK_FILE_NAME}", root.path().display());
        let help = Help::text("make one with ").and(Remedy::LockModules);
        let error = Diagnostic::error(Code::ModuleNotInstalled, message);
        let error = error.with_shared_message(format!("there is no {MODULE_LOCK_FILE_NAME}"));
        Err(error.help(help).into())
    }
}

/// Creates the directory of a mirror, waits until no other run fills it, and removes what killed
/// runs have left there.
fn lock_directory(mirror: &ModuleMirror) -> Result<DirectoryLock> {
    let directory = mirror.directory();
    let help = "name a directory that you can write to, where only a mirror is";
    fs::create_dir_all(directory)
        .map_err(|error| Diagnostic::io("create", directory, &error).help(help))?;
    // Packages would be written and removed behind the link.
    let contents = mirror.contents();
    if contents.is_symlink() {
        let message = format!(
            "{} is a link, so no mirror is filled there",
            contents.display()
        );
        let error = Diagnostic::error(Code::Io, message);
        return Err(error.help("remove the symbolic link").into());
    }
    let lock = DirectoryLock::wait(directory).map_err(|error| {
        Diagnostic::io("lock", directory, &error).help("wait until no other run fills the mirror")
    })?;
    mirror.remove_unfinished();
    Ok(lock)
}

/// Resolves a call by its entry, with the package in the mirror if it is there. A dry run does not
/// fetch others.
fn resolve_by_mirror(
    locks: &ModuleLocks,
    call: &ModuleCall,
    mirror: &ModuleMirror,
    is_dry_run: bool,
) -> Resolution {
    let resolution = module_locks::resolve_locked(locks, call);
    if !matches!(resolution, Resolution::Only(_)) {
        return resolution;
    }
    if let Some(module) = module_in_mirror(mirror, call, locks) {
        return Resolution::Found(module);
    }
    if is_dry_run {
        return Resolution::NotRead;
    }
    resolution
}

/// The module of a call, if the mirror contains the locked package.
fn module_in_mirror(
    mirror: &ModuleMirror,
    call: &ModuleCall,
    locks: &ModuleLocks,
) -> Option<FetchedModule> {
    mirror.locked_module(&call.source, locks.get(&call.key)?)
}

fn source_of(locked: &LockedModule, dialect: Dialect) -> Option<ModuleSource> {
    ModuleSource::parse(&locked.source, dialect).ok()
}

/// The package of an entry. `module` is the module of its call, if it was fetched or is in the
/// mirror.
///
/// # Errors
/// The entry has no `h1:`.
fn recorded_package(
    source: &ModuleSource,
    locked: &LockedModule,
    module: Option<&FetchedModule>,
) -> Result<RecordedPackage> {
    let name = locked::display_name(locked);
    let mut hashes = locked.hashes.iter();
    let Some(h1) = hashes.find(|hash| hash.is_well_formed_as(HashScheme::H1)) else {
        let message = format!("{name} is locked without an h1, which a mirror needs");
        let help = Help::text("record it with ").and(Remedy::LockModules);
        return Err(Diagnostic::error(Code::ModuleNotInstalled, message)
            .help(help)
            .into());
    };
    // An entry may accept several packages.
    let fetched_h1 = module.and_then(FetchedModule::h1);
    Ok(RecordedPackage {
        name,
        entry: IndexEntry::new(source, locked, fetched_h1.unwrap_or(h1)),
        fetched: module.map(FetchedModule::top),
    })
}

/// Copies a package into the mirror, unless it is there already. `same` are all entries with its
/// hash.
fn put_package(
    mirror: &ModuleMirror,
    h1: Hash,
    same: &[RecordedPackage],
    is_dry_run: bool,
) -> Result<MirroredModule> {
    let found = mirror.find(&h1);
    let action = match &found {
        FoundPackage::Intact(_) => MirrorAction::Kept,
        FoundPackage::Altered(_) => MirrorAction::Replaced,
        FoundPackage::Absent => MirrorAction::Added,
    };
    let mut path = mirror.path_of(&h1);
    let mut size = None;
    if let FoundPackage::Intact(_) = found {
        size = Some(storage::size_below(&path));
    } else if !is_dry_run && let Some(fetched) = same.iter().find_map(|one| one.fetched.as_deref())
    {
        path = mirror.add(fetched, &h1)?;
        size = Some(storage::size_below(&path));
    }
    let mut names: Vec<_> = same.iter().map(|package| package.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(MirroredModule {
        name: names.join(", "),
        h1,
        path,
        action,
        size,
    })
}

/// Removes the packages without one of these hashes.
fn remove_others(
    mirror: &ModuleMirror,
    recorded: &BTreeSet<Hash>,
    is_dry_run: bool,
) -> Result<Vec<RemovedFile>> {
    let mut removed = Vec::new();
    for path in mirror.packages_without(recorded) {
        let size = size_of_package(&path);
        if !is_dry_run {
            remove(&path).map_err(|error| Diagnostic::io("remove", &path, &error))?;
        }
        removed.push(RemovedFile { path, size });
    }
    Ok(removed)
}

/// The size of a package; a link has none.
fn size_of_package(path: &Path) -> u64 {
    if path.is_symlink() {
        0
    } else {
        storage::size_below(path)
    }
}
