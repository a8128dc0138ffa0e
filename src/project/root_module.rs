//! A root module as it is on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::unit::Unit;
use crate::configuration::{self, Module, ModuleCache, Required, Requirements, Resolver, State};
use crate::diagnostic::{Code, Diagnostic, Location, Result, Severity};
use crate::lockfile::{self, LockFile, LockFileOf, Locked, LockedModule, ModuleLockFile, Parsed};
use crate::provider::Dialect;
use crate::settings::Settings;

/// What a dialect was decided by, in the order in which it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DialectReason {
    /// The caller named it.
    Named,
    /// The settings name it.
    Settings,
    /// The lock file names providers of its registry.
    LockFile,
    /// There are files that only OpenTofu reads.
    TofuFiles,
    /// The nearest other lock files that git tracks.
    OtherLockFiles,
    /// A file that git tracks mentions OpenTofu.
    Mentioned,
    /// No file that git tracks mentions OpenTofu.
    NotMentioned,
    /// Git tracks no file, and only this program is in `PATH`.
    Program,
    /// Nothing; it is the default.
    Default,
}

impl DialectReason {
    /// Whether it was decided by what is around the root module, which another machine or a later day may have
    /// otherwise, or by nothing.
    pub fn is_guess(self) -> bool {
        matches!(self, Self::OtherLockFiles | Self::Mentioned | Self::NotMentioned | Self::Program | Self::Default)
    }
}

/// Checks of the files that the tool of the other dialect would load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherReading {
    /// None: the base revision, the settings or the user determine the dialect.
    Ignored,
    /// Their providers must meet the policy, because only files under review determine the dialect.
    MeetsPolicy,
    /// Their providers must also be locked: the root module is new, and its lock file is not for the tool of the lock
    /// files around it.
    IsLocked,
}

/// A root module as it is on disk.
pub struct RootModule {
    /// The root module's directory, as the user knows it.
    pub path: PathBuf,
    /// What `provlock.toml` says.
    pub settings: Settings,
    /// The dialect whose rules apply.
    pub dialect: Dialect,
    /// What the dialect was decided by.
    pub dialect_reason: DialectReason,
    /// How a change under review is checked by the rules of the other dialect.
    pub(super) other_reading: OtherReading,
    /// The lock file's path, as the user knows it.
    pub lock_path: PathBuf,
    /// The lock file's content; `None` when there is none.
    pub lock_bytes: Option<Vec<u8>>,
    /// The path of the lock file of modules, as the user knows it.
    pub module_lock_path: PathBuf,
    /// The content of the lock file of modules; `None` when there is none.
    pub module_lock_bytes: Option<Vec<u8>>,
    /// The root module's directory, absolute and without symbolic links.
    pub(super) canonical: PathBuf,
    /// The lock file's directory, absolute and without symbolic links.
    pub(super) lock_directory: PathBuf,
    /// That the root module or its lock file leads out of the repository, so that nothing was read.
    pub(super) refused: Option<Diagnostic>,
    /// `.terraform` or what `TF_DATA_DIR` says; relative to the root module, or absolute.
    pub(super) data_directory: PathBuf,
    /// What Terragrunt makes of the directory, if it has a `terragrunt.hcl`, and then of the other units that have no
    /// lock file of their own either and run the same module.
    pub(super) units: Vec<Unit>,
    /// The directories that are also read as they were before the change that is judged: without Terragrunt.
    pub(super) stays: Vec<PathBuf>,
}

impl RootModule {
    /// A diagnostic with commands that keep a dialect which is not the default where another machine might not detect
    /// it.
    pub(super) fn in_dialect(&self, diagnostic: Diagnostic) -> Diagnostic {
        let is_kept = self.dialect == Dialect::default() || !self.dialect_reason.is_guess();
        if is_kept { diagnostic } else { diagnostic.in_dialect(self.dialect) }
    }

    /// Parses the lock file. Its warnings come along; any error is a failure.
    ///
    /// # Errors
    /// What is wrong with the lock file.
    pub fn lock_file(&self) -> Result<(LockFile, Vec<Diagnostic>)> {
        let Some(bytes) = &self.lock_bytes else {
            return Ok((LockFile::empty(&self.lock_path, self.dialect), Vec::new()));
        };
        usable(lockfile::parse(&self.lock_path, bytes, self.dialect))
    }

    /// Parses the lock file of modules; an empty one if there is none.
    ///
    /// # Errors
    /// What is wrong with the lock file.
    pub fn module_lock_file(&self) -> Result<(ModuleLockFile, Vec<Diagnostic>)> {
        usable(self.parsed_module_lock_file())
    }

    /// [`RootModule::module_lock_file`] with all that is wrong with it.
    pub(super) fn parsed_module_lock_file(&self) -> Parsed<LockedModule> {
        match &self.module_lock_bytes {
            Some(bytes) => ModuleLockFile::parse(&self.module_lock_path, bytes),
            None => Parsed { lock_file: Some(ModuleLockFile::empty(&self.module_lock_path)), diagnostics: Vec::new() },
        }
    }

    /// Whether its modules are locked, too.
    pub(super) fn locks_modules(&self, is_asked_for: bool) -> bool {
        is_asked_for || self.settings.lock_modules.unwrap_or(self.module_lock_bytes.is_some())
    }

    /// Requirements of the configuration, with the modules that `resolver` finds.
    pub(super) fn requirements_with(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        allow_missing_modules: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        self.requirements_as(self.dialect, modules, ignore_tests, allow_missing_modules, resolver, &|_| ())
    }

    /// [`RootModule::requirements_with`] as the program of a dialect reads it. What a fetched module requires goes to
    /// `required` while others are fetched.
    pub(super) fn requirements_as(
        &self,
        dialect: Dialect,
        modules: &ModuleCache,
        ignore_tests: bool,
        allow_missing_modules: bool,
        resolver: Option<&Resolver<'_>>,
        required: Required<'_>,
    ) -> Result<Requirements> {
        let options = configuration::Options {
            dialect,
            tests: !ignore_tests,
            allow_missing_modules,
            data_directory: self.data_directory.clone(),
            fetch_modules: self.settings.fetch_modules.unwrap_or(true),
            variables: modules.variables.clone(),
        };
        if let Some((first, others)) = self.units.split_first() {
            let mut all = first.requirements(&options, modules, resolver, required)?;
            for unit in others {
                all = all.and(unit.requirements(&options, modules, resolver, required)?);
            }
            for root in self.staying(modules) {
                let root = configuration::RootModule::Directory(root, None);
                all = all.and(configuration::read_resolved(root, &options, modules, resolver, required)?);
            }
            let state = State::unknown("Terragrunt decides where the state is");
            return Ok(all.with_state(state, &self.path, dialect));
        }
        let root = configuration::RootModule::Directory(&self.path, Some(&self.canonical));
        let requirements = configuration::read_resolved(root, &options, modules, resolver, required)?;
        let module = modules.canonical_module(&self.canonical, &self.path, dialect);
        let state = State::read(&self.path, module.backend.as_ref(), &modules.boundary);
        Ok(requirements.with_state(state, &self.path, dialect))
    }

    /// The root modules that units take the place of in the change that is judged. Others may still run them as they
    /// are.
    pub(super) fn staying(&self, modules: &ModuleCache) -> Vec<&Path> {
        let is_there = |directory: &&PathBuf| !modules.module(directory, self.dialect).is_empty();
        let stays = self.stays.iter().filter(|_| !self.units.is_empty());
        stays.filter(is_there).map(PathBuf::as_path).collect()
    }

    pub(super) fn module(&self, modules: &ModuleCache) -> Arc<Module> {
        modules.canonical_module(&self.canonical, &self.path, self.dialect)
    }

    /// Whether there is a configuration, or may be one.
    pub(super) fn has_configuration(&self, modules: &ModuleCache) -> bool {
        if !self.units.is_empty() {
            return self.units.iter().any(|unit| !unit.is_empty());
        }
        let module = self.module(modules);
        !module.is_empty() || !module.diagnostics.is_empty()
    }

    /// What is known where a lock file has no configuration beside it: nothing, with a warning that says so and what
    /// became of the lock file.
    pub(super) fn without_configuration(&self, outcome: &str) -> Requirements {
        let path = &self.lock_path;
        let warning = Diagnostic::finding(Code::NoConfiguration, "")
            .naming(path, |path| format!("there is no configuration beside {path}, so it was {outcome}"))
            .at(Location::of_file(path), "")
            .help("remove the lock file, unless a configuration is put beside it later");
        Requirements { is_incomplete: true, warnings: vec![warning], ..Requirements::default() }
    }

    /// Whether Terragrunt puts it together. Terragrunt copies modules itself, so none are installed for it.
    pub fn is_unit(&self) -> bool {
        !self.units.is_empty()
    }

    /// The directory in which Terragrunt keeps a lock file that it would use in place of this one, if there is such a
    /// directory. To delete it, or to run Terragrunt with `--source-update`, ends that.
    pub fn stale_cache(&self) -> Option<PathBuf> {
        self.units.first().and_then(Unit::stale_cache)
    }
}

/// A lock file with its warnings, or the errors in it.
fn usable<T: Locked>(Parsed { lock_file, diagnostics }: Parsed<T>) -> Result<(LockFileOf<T>, Vec<Diagnostic>)> {
    match lock_file {
        Some(lock_file) => Ok((lock_file, diagnostics)),
        None => Err(diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect()),
    }
}
