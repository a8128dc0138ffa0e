//! Root modules with all that belongs to them, and what is done with one or many of them: the front door of the library.
//!
//! A [`Workspace`] is one root module as it is on disk. [`Batches`] are many of them, which are locked and upgraded some at a
//! time, [`verify_all`] verifies many, and [`mirror()`] puts the packages that they lock into a directory: what several of them
//! need is asked for once, and one that fails does not stop the others.

mod batches;
mod change;
mod dialect;
mod discover;
mod lock;
mod many;
mod merge;
pub mod mirror;
mod options;
pub mod plan;
mod repository;
mod rewrites;
mod selection;
mod supplies;
mod unit;
mod upgrade;
pub mod verify;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::configuration::{self, Module, ModuleCache, Requirements, RootModule};
use crate::diagnostic::{Diagnostic, Result, Severity};
use crate::lockfile::{self, LockFile};
use crate::provider::Dialect;
use crate::settings::{Settings, SettingsAbove, SettingsFiles};
use crate::system::{Environment, canonicalize};

pub use crate::system::parallel::Turn;
pub use batches::Batches;
pub use change::{Change, policy_changed, what_changed};
pub use dialect::DialectReason;
pub use lock::Locked;
pub use many::{Member, Workspaces};
pub use mirror::{MirrorOptions, mirror};
pub use options::LockOptions;
pub use repository::Repositories;
pub use selection::{RootSelection, SelectedRoot};
pub use supplies::{BatchSupplies, Supplies};
use unit::Unit;
pub use upgrade::UpgradeOptions;
pub use verify::IgnoreRules;
pub use verify::{Baseline, KnownFinding, split};
pub use verify::{OnlineOptions, Tracked, VerifyOptions, verify_all};
pub use verify::{Suppressed, VerifiedRoot};

/// A root module as it is on disk.
pub struct Workspace {
    /// The root module's directory, as the user knows it.
    pub root: PathBuf,
    /// What `provlock.toml` says.
    pub settings: Settings,
    /// Whose rules apply.
    pub dialect: Dialect,
    /// What the dialect was decided by.
    pub dialect_reason: DialectReason,
    /// The lock file's path, as the user knows it.
    pub lock_path: PathBuf,
    /// The lock file's content; `None` when there is none.
    pub lock_bytes: Option<Vec<u8>>,
    /// The root module's directory, absolute and without symbolic links.
    canonical: PathBuf,
    /// That the root module or its lock file leads out of the repository, so that nothing was read.
    refused: Option<Diagnostic>,
    /// `.terraform` or what `TF_DATA_DIR` says; relative to the root module, or absolute.
    data_directory: PathBuf,
    /// What Terragrunt makes of the directory, if it has a `terragrunt.hcl`.
    unit: Option<Unit>,
}

impl Workspace {
    /// A diagnostic with commands that keep a dialect which is not the default where another machine might not detect it.
    fn in_dialect(&self, diagnostic: Diagnostic) -> Diagnostic {
        let is_kept = self.dialect == Dialect::default() || !self.dialect_reason.is_circumstantial();
        if is_kept { diagnostic } else { diagnostic.in_dialect(self.dialect) }
    }

    /// Parses the lock file. Its warnings come along; any error is a failure.
    pub fn lock_file(&self) -> Result<(LockFile, Vec<Diagnostic>)> {
        let Some(bytes) = &self.lock_bytes else {
            return Ok((LockFile::empty(&self.lock_path, self.dialect), Vec::new()));
        };
        let parsed = lockfile::parse(&self.lock_path, bytes, self.dialect);
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        match parsed.lock_file {
            Some(lock_file) => Ok((lock_file, parsed.diagnostics)),
            None => Err(parsed.diagnostics.into_iter().filter(is_error).collect()),
        }
    }

    /// What the configuration requires. `modules` keeps the modules that are read, since several root modules may share them.
    pub fn requirements(
        &self,
        ignore_tests: bool,
        allow_missing_modules: bool,
        modules: &ModuleCache,
    ) -> Result<Requirements> {
        let options = configuration::Options {
            dialect: self.dialect,
            tests: !ignore_tests,
            allow_missing_modules,
            data_directory: self.data_directory.clone(),
            fetch_modules: self.settings.fetch_modules.unwrap_or(true),
            variables: modules.variables.clone(),
        };
        match &self.unit {
            Some(unit) => unit.requirements(&options, modules),
            None => configuration::read_with_cache(RootModule::Directory(&self.root), &options, modules),
        }
    }

    /// The root module's own files.
    fn module(&self, modules: &ModuleCache) -> Arc<Module> {
        modules.canonical_module(&self.canonical, &self.root, &self.root, self.dialect)
    }

    /// Whether there is a configuration, or may be one.
    fn has_configuration(&self, modules: &ModuleCache) -> bool {
        if let Some(unit) = &self.unit {
            return !unit.is_empty();
        }
        let module = self.module(modules);
        !module.is_empty() || !module.diagnostics().is_empty()
    }

    /// The directory in which Terragrunt keeps a lock file that it would use in place of this one, if there is such a directory.
    /// To delete it, or to run Terragrunt with `--source-update`, ends that.
    pub fn stale_cache(&self) -> Option<PathBuf> {
        self.unit.as_ref().and_then(Unit::stale_cache)
    }
}

/// The absolute path of a directory, without symbolic links.
fn absolute(directory: &Path, environment: &Environment) -> Result<PathBuf> {
    let absolute = environment.current_directory.join(directory);
    Ok(canonicalize(&absolute).map_err(|error| Diagnostic::io("open", directory, &error))?)
}

/// The settings that are found for a directory, which is given as the user knows it and by its absolute path.
fn settings(
    root: &Path,
    absolute: &Path,
    files: SettingsFiles<'_>,
    above: &SettingsAbove,
    environment: &Environment,
) -> Result<Settings> {
    let shown = |path: &Path| match path.strip_prefix(absolute) {
        Ok(below) => join(root, below),
        Err(_) => environment.shown(path),
    };
    Settings::find(absolute, files, above, &shown)
}

/// `root/path`, without a leading `./`.
fn join(root: &Path, path: &Path) -> PathBuf {
    if root == Path::new(".") { path.to_owned() } else { root.join(path) }
}
