//! The options of `verify`, its report about a root module, and the facts that version control knows about files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Location, Severity};
use crate::project::coverage::{Kind, RootStatus};
use crate::project::root_module::{DialectReason, RootModule};
use crate::provider::{Authentication, Dialect, ProviderAddress};
use crate::settings::{Levels, PlatformSelection, RootLevels};

/// Options of [`Session::verify`](crate::project::Session::verify).
#[derive(Default)]
#[non_exhaustive]
pub struct VerifyOptions<'a> {
    /// The platforms that must be covered; `None` for the platforms of the settings.
    pub platforms: Option<PlatformSelection>,
    /// Whether the test files of root modules are ignored.
    pub ignore_tests: bool,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// Version control, which knows the tracked files.
    pub version_control: Option<&'a dyn VersionControl>,
    /// Severity overrides of the caller, which take precedence over the settings.
    pub levels: Levels,
    /// Set if entries are compared with the published releases.
    pub online: Option<OnlineOptions>,
}

/// Options for the comparison with the published releases.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnlineOptions {
    /// Whether facts that a trusted key has signed are used.
    pub trust_shared: bool,
}

/// A root module that was verified.
#[derive(Default)]
pub struct VerifiedRoot {
    /// Its directory, as the user knows it.
    pub path: PathBuf,
    /// The lock file's path, as the user knows it. There may be no such file.
    pub lock_path: PathBuf,
    /// Kind of directory.
    pub kind: Kind,
    /// Whether there is a lock file.
    pub has_lock_file: bool,
    /// Whether the configuration requires a provider, or may require one.
    pub needs_lock_file: bool,
    /// The line by which git ignores the lock file, if there is none or git does not track it.
    pub ignore_rule: Option<Location>,
    /// The dialect whose rules applied.
    pub dialect: Dialect,
    /// Reason for the dialect.
    pub dialect_reason: DialectReason,
    /// Platforms that must be covered; `None` if neither the user nor the settings name any.
    pub platforms: Option<PlatformSelection>,
    /// Number of entries that were compared with installed packages.
    pub installed: usize,
    /// Number of providers without an installed package to compare, with `--installed`.
    pub not_installed: usize,
    /// The required providers that need no entry, because `dev_overrides` takes them from a directory.
    pub dev_overrides: Vec<ProviderAddress>,
    /// Whether an entry is not known to have a hash for one of these platforms.
    pub has_unknown_platforms: bool,
    /// The mirrors that were asked in place of registries, each with the number of entries that it was asked about. A
    /// mirror does not know what was published.
    pub mirrors: BTreeMap<String, usize>,
    /// Authentication of the locked release of each provider by its registry, if that was asked.
    pub authentications: BTreeMap<ProviderAddress, Authentication>,
    /// Number of entries in the lock file.
    pub entries: usize,
    /// Number of entries in the lock file of modules.
    pub modules: usize,
    /// The dialect whose registry the lock file contains, if it contains that of no other dialect.
    pub registry: Option<Dialect>,
    /// Problems found: without a location first, then in the order of the lock file, then in other files.
    pub findings: Vec<Diagnostic>,
    /// Findings unless git ignores the lock file: that it is missing or ignored. One line of an ignore file may be the
    /// cause in many root modules, so these become findings after all root modules were checked. Empty in a result.
    pub not_shared: Vec<Diagnostic>,
    /// Reasons why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// Numbers of findings that are not reported.
    pub suppressed: Suppressed,
    /// Severity overrides of the settings.
    #[expect(private_interfaces, reason = "tests of the program build this struct from its default")]
    pub overrides: RootLevels,
}

impl VerifiedRoot {
    /// The report of a root module before it is checked.
    pub(super) fn new(module: &RootModule, options: &VerifyOptions<'_>) -> Self {
        let RootModule { found, settings, .. } = module;
        let platforms = options.platforms.clone().or_else(|| settings.platforms.clone());
        Self {
            path: module.path().to_owned(),
            lock_path: module.lock_path.clone(),
            kind: found.kind,
            has_lock_file: module.lock_bytes.is_some(),
            dialect: module.dialect,
            dialect_reason: module.dialect_reason,
            platforms: platforms.filter(|_| !found.is_policy_only() && module.refused.is_none()),
            overrides: RootLevels::at(&module.canonical, &settings.verify),
            ..Self::default()
        }
    }

    pub(super) fn status(&self) -> RootStatus {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Error) => RootStatus::Errors,
            _ if !self.has_lock_file && self.ignore_rule.is_some() => RootStatus::Ignored,
            _ if !self.has_lock_file && self.needs_lock_file => RootStatus::NotLocked,
            Some(Severity::Warning) => RootStatus::Warnings,
            _ if !self.errors.is_empty() => RootStatus::PartlyChecked,
            _ if self.has_lock_file => RootStatus::Ok,
            _ => RootStatus::NeedsNone,
        }
    }
}

/// Numbers of findings that are not reported, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Suppressed {
    /// Findings that the settings or the caller allow.
    pub allowed: usize,
    /// Findings that a comment in a lock file ignores.
    pub ignored: usize,
    /// Findings that the base revision has, too ([`Report::leave_out`](crate::project::Report::leave_out)).
    pub base: usize,
}

/// Version control, such as git.
pub trait VersionControl: Sync {
    /// Returns what it knows about the files of a root module, which may have a lock file of modules. The directory is
    /// absolute and without symlinks.
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked;

    /// The line of an ignore file by which it ignores the lock file of each root module, if it does.
    fn ignore_rules(&self, roots: &[&Path]) -> Vec<Option<Location>>;
}

/// Facts that version control knows about the files of a root module.
#[derive(Default)]
pub struct Tracked {
    /// Whether the lock file is tracked.
    pub lock_file: Tracking,
    /// Whether the lock file of modules is tracked.
    pub module_lock_file: Tracking,
    /// The files below `.terraform` that are tracked, relative to the directory.
    pub data_files: Vec<PathBuf>,
}

/// Tracking state of a file.
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

/// A finding with a location.
pub(super) fn finding(code: Code, message: String, location: &Location, label: &str) -> Diagnostic {
    Diagnostic::finding(code, message).at(location.clone(), label)
}

/// Whether findings with this code are about a provider's address, rather than its version or packages.
pub(super) fn is_about_address(code: Code) -> bool {
    let is_not_allowed = matches!(code, Code::HostNotAllowed | Code::NamespaceNotAllowed | Code::ProviderNotAllowed);
    is_not_allowed || code == Code::Lookalike || is_new(code)
}

/// Whether findings with this code are about a provider, namespace or host that the change adds.
pub(super) fn is_new(code: Code) -> bool {
    matches!(code, Code::HostAdded | Code::NamespaceAdded | Code::ProviderAdded)
}
