//! Events of a run, and its results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::coverage::Coverage;
use super::plan::LockOutcome;
use super::plan::moves::UpgradePlan;
use super::plan::prepared::Prepared;
use crate::cli_config::CliConfig;
use crate::diagnostic::{Diagnostic, Result};
use crate::lockfile::{EntryDiff, LockedModule};
use crate::packages::archive::PackageId;
use crate::packages::{Progress, SharedFacts};
use crate::provider::Hostname;
use crate::system::files::FileChange;

/// Progress of a run.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Configurations are read, and modules fetched for them.
    Reading,
    /// The package of a module was read, with its origin.
    Module(&'a str, &'static str),
    /// Providers on these hosts are required.
    Asking(&'a BTreeSet<Hostname>),
    /// A root module was read and can be locked.
    Prepared(&'a Prepared),
    /// This settings file was not read, because it belongs to a different user.
    SettingsOfOtherUser(&'a Path),
    /// A CLI configuration was read.
    CliConfiguration(&'a CliConfig),
    /// Progress of a package that is being fetched.
    Package(&'a PackageId, Progress),
    /// Releases of registries on these hosts were dated by the claims of their servers.
    DatesByServers(&'a BTreeSet<String>),
    /// Shared facts were requested.
    SharedFactsUsed(&'a SharedFacts),
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
pub struct LockedRootModule {
    /// The root module.
    pub prepared: Prepared,
    /// The new content of the lock file, with the result of each provider.
    pub outcome: LockOutcome,
    /// The lock files that change, the one of providers first.
    pub files: Vec<FileChange>,
    /// Changes of the entries of modules.
    pub module_changes: Vec<EntryDiff<LockedModule>>,
    /// Whether either file changed.
    pub changed: bool,
    /// Whether the change was written.
    pub written: bool,
    /// Its plan, if it was upgraded.
    pub plan: Option<UpgradePlan>,
}

/// Result of locking or upgrading a root module.
#[non_exhaustive]
pub enum RootOutcome {
    /// It was locked.
    Locked(Box<LockedRootModule>),
    /// An upgrade was planned that is not carried out.
    Planned(Box<Prepared>, UpgradePlan),
}

impl RootOutcome {
    /// The root module.
    pub fn prepared(&self) -> &Prepared {
        match self {
            Self::Locked(locked) => &locked.prepared,
            Self::Planned(prepared, _) => prepared,
        }
    }

    /// The plan of an upgrade.
    pub fn plan(&self) -> Option<&UpgradePlan> {
        match self {
            Self::Locked(locked) => locked.plan.as_ref(),
            Self::Planned(_, plan) => Some(plan),
        }
    }

    /// Whether a lock file has changed, or would.
    pub fn has_changes(&self) -> bool {
        match self {
            Self::Locked(locked) => locked.changed,
            Self::Planned(_, plan) => plan.has_changes(),
        }
    }
}
