//! Events of a run, and its results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::coverage::Coverage;
use super::moves::UpgradePlan;
use super::plan::LockOutcome;
use super::prepared::Prepared;
use super::roots::Roots;
use crate::cli_config::CliConfig;
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::lockfile::{EntryDiff, LockedModule};
use crate::packages::archive::PackageId;
use crate::packages::{Progress, SharedFacts};
use crate::provider::Hostname;

/// Event of a run.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// These root modules are to be worked on.
    Selected(&'a Roots),
    /// Configurations are read, and modules fetched for them.
    Reading,
    /// The package of a module was read, with where it came from.
    Module(&'a str, &'static str),
    /// Providers on these hosts are required.
    Asking(&'a BTreeSet<Hostname>),
    /// A root module was read and can be locked.
    Prepared(&'a Prepared),
    /// A CLI configuration was read.
    Configuration(&'a CliConfig),
    /// Progress of a package that is being fetched.
    Package(&'a PackageId, Progress),
    /// A root module was locked.
    Locked(&'a Locked),
    /// An upgrade was planned that is not to be carried out.
    Planned(&'a Prepared, &'a UpgradePlan),
    /// A root module failed.
    Failed(&'a Path, &'a Diagnostics),
    /// Facts that others share were looked up.
    SharedFacts(&'a SharedFacts),
}

/// Receives events. Called from several threads, one at a time.
pub type Observer<'a> = Box<dyn FnMut(Event<'_>) + Send + 'a>;

/// Results of root modules.
#[non_exhaustive]
pub struct Report<T> {
    /// Result of each root module, in the order of their paths.
    pub roots: Vec<(PathBuf, Result<T>)>,
    /// Findings about no single root module.
    pub findings: Vec<Diagnostic>,
    /// Root modules and other directories that were checked and that were not.
    pub coverage: Coverage,
}

/// A root module that was locked.
#[non_exhaustive]
pub struct Locked {
    /// The root module.
    pub prepared: Prepared,
    /// The new content of the lock file, with the result of each provider.
    pub outcome: LockOutcome,
    /// The lock file's bytes.
    pub bytes: Vec<u8>,
    /// The bytes of the lock file of modules, if they change.
    pub modules: Option<Vec<u8>>,
    /// Changes of the entries of modules.
    pub module_changes: Vec<EntryDiff<LockedModule>>,
    /// Whether either file differs from what it was.
    pub changed: bool,
    /// Whether a difference was written.
    pub written: bool,
    /// Its plan, if it was upgraded.
    pub plan: Option<UpgradePlan>,
}

/// Summary of a root module that was locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockedRoot {
    /// Whether the lock file has changed, or would.
    pub changed: bool,
}

/// Outcome of one root module.
pub(super) enum RootOutcome {
    /// It was locked.
    Locked(Box<Locked>),
    /// An upgrade was planned that is not carried out.
    Planned(Box<Prepared>, UpgradePlan),
}
