//! A root module as it is on disk.

pub(super) mod linked_lock_files;
pub(super) mod locked_calls;
pub(super) mod repository_stacks;
pub(super) mod roots;
pub(super) mod searched_repository;
pub(super) mod unit;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::configuration::terragrunt::{GENERATED_UNITS, Unknown};
use crate::configuration::{
    self, Module, ModuleCache, NO_OBSERVER, Required, Requirements, Resolver, State,
};
use crate::diagnostic::words::first_few;
use crate::diagnostic::{
    Code, Collector, Diagnostic, Diagnostics, Location, Message, Remedy, Result, RootModules,
    Severity,
};
use crate::lockfile::{
    self, EntryKind, LockFile, LockFileOf, LockedModule, ModuleLockFile, Parsed,
};
use crate::provider::Dialect;
use crate::settings::Settings;
use crate::system::Tree;
use roots::FoundRoot;
use unit::TerragruntUnit;

/// Maximum number of files of a directory among which files of a stack are looked for.
const MAX_ENTRIES: usize = 10_000;

/// Next step for the lock file of a stack.
pub(super) const LOCK_STACK: &str =
    "provlock reads no stacks; terraform stacks providers-lock updates the lock file";

/// Treatment of called modules that are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingModules {
    /// They are a warning, and the requirements are incomplete.
    Allowed,
    /// They are an error.
    Refused,
}

impl MissingModules {
    pub(super) fn allowed_if(are_allowed: bool) -> Self {
        if are_allowed {
            Self::Allowed
        } else {
            Self::Refused
        }
    }
}

/// Reason for a dialect, in the order in which they are considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DialectReason {
    /// The caller named it.
    Named,
    /// The settings name it.
    Settings,
    /// The lock file contains providers of its default registry.
    LockFile,
    /// The directory contains files that only OpenTofu reads.
    TofuFiles,
    /// The nearest other lock files that git tracks. If git cannot list them, the nearest ones on
    /// disk.
    OtherLockFiles,
    /// A file that git tracks mentions OpenTofu.
    Mentioned,
    /// No file that git tracks mentions OpenTofu.
    NotMentioned,
    /// Git tracks no file, and only this tool is in `PATH`.
    Program,
    /// Git cannot list the tracked files, and nothing else determines the dialect.
    GitFailed,
    /// Nothing; it is the default.
    #[default]
    Default,
}

impl DialectReason {
    /// Whether the dialect depends on files around the root module or on the machine, so that a
    /// different machine or a later run may detect a different one.
    pub fn is_guess(self) -> bool {
        matches!(
            self,
            Self::OtherLockFiles
                | Self::Mentioned
                | Self::NotMentioned
                | Self::Program
                | Self::GitFailed
                | Self::Default
        )
    }
}

/// Checks of the files that the tool of the other dialect would load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherReading {
    /// No checks, because the base revision, the settings or the user determine the dialect.
    Ignored,
    /// Their providers must meet the policy, because only files under review determine the dialect.
    MeetsPolicy,
    /// Their providers must also be locked: the root module is new, and its lock file is not for
    /// the tool of the lock files around it.
    IsLocked,
}

/// Rules by which a configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReadingOptions {
    pub(super) dialect: Dialect,
    pub(super) ignore_tests: bool,
    pub(super) allow_missing_modules: bool,
}

/// A root module as it is on disk.
pub struct RootModule {
    pub(super) found: FoundRoot,
    /// Settings in `provlock.toml`.
    pub settings: Settings,
    /// The dialect whose rules apply.
    pub dialect: Dialect,
    /// Reason for the dialect.
    pub dialect_reason: DialectReason,
    /// Checks of a change under review by the rules of the other dialect.
    pub(super) other_reading: OtherReading,
    /// The lock file's path, as the user knows it.
    pub lock_path: PathBuf,
    /// The lock file's content; `None` when there is none.
    pub lock_bytes: Option<Vec<u8>>,
    /// The path of the lock file of modules, as the user knows it.
    pub module_lock_path: PathBuf,
    /// The content of the lock file of modules; `None` when there is none.
    pub module_lock_bytes: Option<Vec<u8>>,
    /// Directory of the root module, absolute and without symlinks.
    pub(super) canonical: PathBuf,
    /// Directory of the lock file, absolute and without symlinks.
    pub(super) lock_directory: PathBuf,
    /// Error if the root module or its lock file is outside the repository, so that nothing was
    /// read.
    pub(super) refused: Option<Diagnostic>,
    /// `.terraform` or the value of `TF_DATA_DIR`; relative to the root module, or absolute.
    pub(super) data_directory: PathBuf,
    /// The Terragrunt unit in the directory, if there is one, and other units with the same lock
    /// file.
    pub(super) units: Vec<TerragruntUnit>,
    /// Reason why the unit of a stack that would be generated here is not known.
    pub(super) unknown_unit: Option<Unknown>,
    /// Whether stacks generate more copies of the unit than are read.
    pub(super) has_more_copies: bool,
    /// Directories that are also read without Terragrunt, as before the change under review.
    pub(super) former_roots: Vec<PathBuf>,
}

impl RootModule {
    /// Directory, as the user knows it.
    pub fn path(&self) -> &Path {
        &self.found.path
    }

    /// Completes errors with the root module and its dialect, for messages and remedies.
    pub(super) fn with_root_module(&self, errors: Diagnostics) -> Diagnostics {
        self.found
            .with_root_module(errors.map(|error| self.in_dialect(error)))
    }

    /// [`RootModule::with_root_module`] for errors about the providers of the lock file. If root
    /// modules share the file, the errors are about all of them.
    pub(super) fn with_all_sharing_root_modules(&self, errors: Diagnostics) -> Diagnostics {
        let Some(lock_file) = &self.found.linked_lock_file else {
            return self.with_root_module(errors);
        };
        let mut paths = vec![self.path().to_owned()];
        for other in self.found.sharing_providers() {
            paths.push(other.path.clone());
        }
        paths.sort();
        let names = first_few(paths.iter().map(|path| path.display()));
        let note = format!("{names} share the lock file {}", lock_file.display());
        let all = RootModules::Selected {
            paths: paths.clone(),
            recursive: false,
            directories: paths,
        };
        self.found.truncate(errors).map(|error| {
            self.in_dialect(error)
                .note(note.clone())
                .in_root_modules(all.clone())
        })
    }

    /// Completes a diagnostic so that its remedies specify the dialect, if it is not the default
    /// and a different machine might not detect it.
    pub(super) fn in_dialect(&self, diagnostic: Diagnostic) -> Diagnostic {
        let is_stable = self.dialect == Dialect::default() || !self.dialect_reason.is_guess();
        if is_stable {
            diagnostic
        } else {
            diagnostic.in_dialect(self.dialect)
        }
    }

    /// The error for a missing lock file. `consequence` completes its message.
    pub(super) fn lock_file_missing(&self, consequence: &str) -> Diagnostic {
        let message = format!("there is no lock file, so {consequence}");
        self.in_dialect(Diagnostic::error(Code::LockFileMissing, message).help(Remedy::lock()))
    }

    /// Parses the lock file, an empty one if there is none. Returns its warnings, too.
    ///
    /// # Errors
    /// Errors in the lock file.
    pub fn lock_file(&self) -> Result<(LockFile, Vec<Diagnostic>)> {
        // Messages about a shared file are the same for each of its root modules.
        let path = match &self.found.linked_lock_file {
            Some(shared) => shared,
            None => &self.lock_path,
        };
        let Some(bytes) = &self.lock_bytes else {
            return Ok((LockFile::empty(path, self.dialect), Vec::new()));
        };
        usable(lockfile::parse(path, bytes, self.dialect))
    }

    /// Parses the lock file of modules, an empty one if there is none. Returns its warnings, too.
    ///
    /// # Errors
    /// Errors in the lock file.
    pub fn module_lock_file(&self) -> Result<(ModuleLockFile, Vec<Diagnostic>)> {
        usable(self.parsed_module_lock_file())
    }

    /// [`RootModule::module_lock_file`] with all diagnostics.
    pub(super) fn parsed_module_lock_file(&self) -> Parsed<LockedModule> {
        if let Some(bytes) = &self.module_lock_bytes {
            return ModuleLockFile::parse(&self.module_lock_path, bytes);
        }
        let empty = ModuleLockFile::empty(&self.module_lock_path, Dialect::default());
        Parsed {
            lock_file: Some(empty),
            diagnostics: Vec::new(),
        }
    }

    /// Whether its modules are locked, too, according to the settings, or else because they already
    /// are.
    pub(super) fn locks_modules(&self) -> bool {
        let has_lock_file = self.module_lock_bytes.is_some();
        self.settings.lock_modules.unwrap_or(has_lock_file)
    }

    /// Requirements of the configuration, with the modules that `resolver` finds.
    pub(super) fn requirements_with(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        missing_modules: MissingModules,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        self.requirements_as(
            self.dialect,
            modules,
            ignore_tests,
            missing_modules,
            resolver,
            NO_OBSERVER,
        )
    }

    /// [`RootModule::requirements_with`] as the tool of a dialect reads it: the requirements of all
    /// units that use the lock file, or of the directory. Passes the requirements of a fetched
    /// module to `required` while other modules are fetched.
    pub(super) fn requirements_as(
        &self,
        dialect: Dialect,
        modules: &ModuleCache,
        ignore_tests: bool,
        missing_modules: MissingModules,
        resolver: Option<&Resolver<'_>>,
        required: Required<'_>,
    ) -> Result<Requirements> {
        let options = configuration::Options {
            dialect,
            tests: !ignore_tests,
            allow_missing_modules: missing_modules == MissingModules::Allowed,
            data_directory: self.data_directory.clone(),
            fetch_modules: self.settings.fetch_modules.unwrap_or(true),
            variables: modules.variables.clone(),
        };
        if let Some((first, others)) = self.units.split_first() {
            let mut all = first.requirements(&options, modules, resolver, required)?;
            for unit in others {
                all = all.united_with(unit.requirements(&options, modules, resolver, required)?);
            }
            // Users may still run the tool there without Terragrunt.
            for directory in self.former_roots(modules) {
                let source = configuration::RootSource::Directory(directory, None);
                all = all.united_with(configuration::read_resolved(
                    source, &options, modules, resolver, required,
                )?);
            }
            // Copies of a unit have the same warnings.
            #[expect(
                clippy::mutable_key_type,
                reason = "the cached lines of a file are not part of the hash"
            )]
            let mut seen = HashSet::new();
            all.warnings.retain(|warning| seen.insert(warning.clone()));
            if self.has_more_copies {
                all.is_incomplete = true;
                all.warnings.push(self.too_many_copies());
            }
            let state = State::unknown("Terragrunt decides where the state is");
            return Ok(all.with_state(state, self.path(), dialect));
        }
        let source = configuration::RootSource::Directory(self.path(), Some(&self.canonical));
        let requirements =
            configuration::read_resolved(source, &options, modules, resolver, required)?;
        let module = modules.canonical_module(&self.canonical, self.path(), dialect);
        let backend = module.backend.as_ref();
        let state = State::read(
            self.path(),
            &self.data_directory,
            backend,
            &modules.boundary,
        );
        Ok(requirements.with_state(state, self.path(), dialect))
    }

    /// The warning about copies of the unit that are not read.
    fn too_many_copies(&self) -> Diagnostic {
        let message = Message::naming(self.path(), |path| {
            format!("stacks generate too many units from {path} to read all of them")
        });
        Diagnostic::warning(Code::RequirementsNotKnown, message)
            .note("the entries and constraints of the lock file are treated as required")
            .help("terragrunt init -lockfile=readonly checks all of them")
    }

    /// Returns the root modules that the change under review replaces by units. Users may still run
    /// them directly.
    pub(super) fn former_roots(&self, modules: &ModuleCache) -> Vec<&Path> {
        let mut former = Vec::new();
        if !self.units.is_empty() {
            for directory in &self.former_roots {
                if !modules.module(directory, self.dialect).is_empty() {
                    former.push(directory.as_path());
                }
            }
        }
        former
    }

    pub(super) fn module(&self, modules: &ModuleCache) -> Arc<Module> {
        modules.canonical_module(&self.canonical, self.path(), self.dialect)
    }

    /// Errors in the files of its own directory.
    pub(super) fn configuration_errors(&self, modules: &ModuleCache) -> Diagnostics {
        if self.units.is_empty() {
            self.module(modules).diagnostics.clone()
        } else {
            Diagnostics::default()
        }
    }

    /// Whether there is a configuration, or may be one.
    pub(super) fn has_configuration(&self, modules: &ModuleCache) -> bool {
        if !self.units.is_empty() {
            return self.units.iter().any(|unit| !unit.has_no_configuration());
        }
        let module = self.module(modules);
        if !module.is_empty() || !module.diagnostics.is_empty() {
            return true;
        }
        configuration::has_tests(modules.tree(), &self.canonical, &module, self.dialect)
    }

    /// Whether the directory of the lock file has files of a stack of Terraform.
    pub(super) fn has_stack(&self, tree: &Tree) -> bool {
        let files = tree.entries(&self.lock_directory).unwrap_or_default();
        files
            .iter()
            .take(MAX_ENTRIES)
            .any(|file| configuration::is_of_stack(&file.name))
    }

    /// Whether Terragrunt generates the directory as a unit of a stack. Its lock file may be
    /// committed although the unit is not
    /// (<https://github.com/gruntwork-io/terragrunt/issues/4314>).
    pub(super) fn is_of_generated_unit(&self) -> bool {
        let mut components = self.lock_directory.components();
        components.any(|component| component.as_os_str() == GENERATED_UNITS)
    }

    /// Unknown requirements for a lock file without a configuration beside it, with a warning.
    /// `outcome` completes its message.
    pub(super) fn unknown_requirements(&self, tree: &Tree, outcome: &str) -> Requirements {
        let path = &self.lock_path;
        let mut content = "no configuration";
        let mut help = "remove the lock file, unless a configuration is put beside it later";
        if self.has_stack(tree) {
            content = "only a stack";
            help = LOCK_STACK;
        } else if self.is_of_generated_unit() {
            content = "no generated unit";
            help = "terragrunt stack generate writes the unit; the lock file is then checked against it";
        }
        let message = Message::naming(path, |path| {
            format!("there is {content} beside {path}, so it was {outcome}")
        });
        let mut warning = Diagnostic::finding(Code::NoConfiguration, message)
            .at_location(Location::of_file(path))
            .help(help);
        if let Some(unknown) = &self.unknown_unit {
            warning = match &unknown.location {
                Some(location) => warning.at(location.clone(), &unknown.reason),
                None => warning.note(format!("not checked against a stack: {unknown}")),
            };
        }
        Requirements {
            is_incomplete: true,
            warnings: vec![warning],
            ..Requirements::default()
        }
    }

    /// Whether it is a Terragrunt unit. Terragrunt copies modules itself, so none are installed for
    /// it.
    pub fn is_unit(&self) -> bool {
        !self.units.is_empty()
    }

    /// Returns the directory with a lock file that Terragrunt would use instead of this one, if it
    /// exists, until it is deleted or Terragrunt runs with `--source-update`.
    pub fn stale_cache(&self) -> Option<PathBuf> {
        self.units.first().and_then(TerragruntUnit::stale_cache)
    }
}

/// A lock file with its warnings, one for all entries with the same, or the errors in it.
fn usable<T: EntryKind>(parsed: Parsed<T>) -> Result<(LockFileOf<T>, Vec<Diagnostic>)> {
    let mut diagnostics = parsed.diagnostics;
    let Some(lock_file) = parsed.lock_file else {
        diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
        return Err(diagnostics.into_iter().collect());
    };
    let warnings = Collector::default().merged(diagnostics);
    Ok((lock_file, warnings.into_iter().collect()))
}
