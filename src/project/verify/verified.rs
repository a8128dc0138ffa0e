//! What came of verifying a root module, and what version control knows of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::project::coverage::{Coverage, Fate, Kind};
use crate::project::root_module::DialectReason;
use crate::provider::{Authentication, Dialect, ProviderAddress};
use crate::settings::PlatformSelection;

/// A root module that was verified.
pub struct VerifiedRoot {
    /// Its directory, as the user knows it.
    pub path: PathBuf,
    /// The lock file's path, as the user knows it. There may be no such file.
    pub lock_path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Whether there is a lock file.
    pub has_lock_file: bool,
    /// Whether the configuration requires a provider, or may require one.
    pub needs_lock_file: bool,
    /// The line by which git ignores the lock file, if there is none or git does not track it.
    pub ignore_rule: Option<Location>,
    /// The dialect whose rules applied.
    pub dialect: Dialect,
    /// What the dialect was decided by.
    pub dialect_reason: DialectReason,
    /// The platforms that must be covered; none if nobody named any.
    pub platforms: Option<PlatformSelection>,
    /// How many entries of the lock files were compared with what is installed.
    pub installed: usize,
    /// How many providers were not compared with an installed package although that was asked for.
    pub not_installed: usize,
    /// The required providers that need no entry, because `dev_overrides` takes them from a directory.
    pub dev_overrides: Vec<ProviderAddress>,
    /// Whether an entry is not known to have a hash for one of these platforms.
    pub has_unknown_platforms: bool,
    /// The mirrors that were asked in place of registries, each with the number of entries that it was asked about. A
    /// mirror does not know what was published.
    pub mirrors: BTreeMap<String, usize>,
    /// How the registries authenticate the locked release of each provider, if they were asked.
    pub authentications: BTreeMap<ProviderAddress, Authentication>,
    /// How many entries of the lock file were looked at.
    pub entries: usize,
    /// How many entries of the lock file of modules were looked at.
    pub modules: usize,
    /// The dialect whose registry the lock file names, where it names no other dialect's.
    pub registry: Option<Dialect>,
    /// What is wrong, in the order of the lock file, then of the other files.
    pub findings: Vec<Diagnostic>,
    /// Why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// What is wrong and not among the findings.
    pub suppressed: Suppressed,
}

impl VerifiedRoot {
    pub(super) fn count_in(&self, coverage: &mut Coverage) {
        let worst = self.findings.iter().map(|finding| finding.severity).max();
        let fate = match (worst, &self.ignore_rule) {
            (Some(Severity::Error), _) => Fate::Errors,
            (_, Some(rule)) if !self.has_lock_file => return coverage.add_ignored(self.kind, rule),
            (_, None) if !self.has_lock_file && self.needs_lock_file => Fate::NotLocked,
            (Some(Severity::Warning), _) => Fate::Warnings,
            (Some(Severity::Note) | None, _) if !self.errors.is_empty() => Fate::PartlyChecked,
            (Some(Severity::Note) | None, _) => {
                if self.has_lock_file {
                    Fate::Ok
                } else {
                    Fate::NeedsNone
                }
            }
        };
        coverage.add(self.kind, fate);
    }
}

/// The findings that are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressed {
    /// How many the settings or the caller allow.
    pub allowed: usize,
    /// How many a comment in the lock file ignores.
    pub ignored: usize,
    /// How many the commit before the change has, too ([`Report::leave_out`](crate::project::Report::leave_out)).
    pub base: usize,
}

/// Version control, such as git.
pub trait VersionControl: Sync {
    /// What it knows of the files of a root module, which may have a lock file of modules. The directory is absolute and
    /// without symlinks.
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked;

    /// The line of an ignore file by which it ignores the lock file of each root module, if it does.
    fn ignore_rules(&self, roots: &[&Path]) -> Vec<Option<Location>>;
}

/// What version control knows of the files of a root module.
#[derive(Default)]
pub struct Tracked {
    /// Whether the lock file is tracked.
    pub lock_file: Tracking,
    /// Whether the lock file of modules is tracked.
    pub module_lock_file: Tracking,
    /// The files below `.terraform` that are tracked, relative to the directory.
    pub data_files: Vec<PathBuf>,
}

/// What git knows of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The file is in the index.
    Tracked,
    /// The file is not in the index.
    Untracked,
    /// The file is not in the index, and ignored.
    Ignored,
    /// There is no repository, or git could not be asked.
    #[default]
    Unknown,
}
