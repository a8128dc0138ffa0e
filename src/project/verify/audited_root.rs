//! A root module with everything that its lock files are compared with, the context of all audits;
//! the options of `verify`, and its report about a root module.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::path::{Path, PathBuf};

use super::base::Base;
use crate::configuration::{ModuleCache, Requirement, Requirements};
use crate::diagnostic::{Code, Diagnostic, Location, LockRemedy, Message, Needs, Severity};
use crate::lockfile::{Entry, LockFile, LockedModule, Parsed};
use crate::packages::archive::HashCache;
use crate::packages::{DemandedAge, ProgressSink, Source};
use crate::project::coverage::{DirectoryKind, RootStatus};
use crate::project::plan::RegistryData;
use crate::project::root_module::{DialectReason, RootModule};
use crate::provider::{Authentication, Dialect, Platform, ProviderAddress, Version};
use crate::settings::{Levels, PlatformSelection, RootLevels};

pub(super) struct AuditedRoot<'a> {
    pub(super) module: &'a RootModule,
    pub(super) options: &'a VerifyOptions<'a>,
    /// The lock file; empty if there is none or if it cannot be read.
    pub(super) lock_file: LockFile,
    pub(super) lock_file_state: FileState,
    /// The lock file of modules, empty if there is none; `None` where modules need not be locked.
    pub(super) module_lock_file: Option<Parsed<LockedModule>>,
    /// Requirements that the policy must allow.
    pub(super) declared: Requirements,
    /// Requirements that the lock file must meet, if they differ from the declared ones.
    pub(super) to_meet: Option<Requirements>,
    /// Contains and fetches the packages of modules.
    pub(super) module_cache: &'a ModuleCache,
    /// Platforms that the user or the settings name.
    pub(super) platforms: Option<&'a PlatformSelection>,
    pub(super) cache: Option<&'a HashCache>,
    /// Providers that `init` takes from a directory and does not lock, with these directories.
    pub(super) dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    pub(super) tracked: Tracked,
    /// Tracked files of data directories, as the user knows them.
    pub(super) tracked_data: Vec<PathBuf>,
    pub(super) lock_file_need: LockFileNeed,
    /// The base revision, if a change is under review.
    pub(super) base: Option<Base<'a>>,
    /// Minimum age of versions that the change brings.
    pub(super) min_age: Option<DemandedAge>,
    /// The registries or mirrors, with `--online`.
    pub(super) online: Option<Online<'a>>,
}

/// Whether the lock file can be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    Missing,
    Unreadable,
    Readable,
}

/// Whether the root module must have a lock file if it requires a provider.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockFileNeed {
    /// OpenTofu or Terraform, in the version that the configuration demands, has no lock files.
    Never,
    /// The state is not shared, so the file may be omitted on purpose.
    Perhaps,
    Always,
}

/// A source that may be asked.
#[derive(Clone, Copy)]
pub(super) struct Online<'a> {
    pub(super) source: &'a Source,
    /// Receives the progress of downloads.
    pub(super) progress: ProgressSink<'a>,
    /// Publication dates and other facts from registries, if they can be asked.
    pub(super) registry_data: Option<RegistryData<'a>>,
}

/// A provider that is locked or required.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) address: &'a ProviderAddress,
    /// Its entry, if it is locked.
    pub(super) entry: Option<&'a Entry>,
    /// Its requirement, if it is not locked.
    pub(super) requirement: Option<&'a Requirement>,
}

impl<'a> Named<'a> {
    pub(super) fn of_entry(entry: &'a Entry) -> Self {
        Self {
            address: &entry.address,
            entry: Some(entry),
            requirement: None,
        }
    }

    /// Adds the entry, or the requirements, as the first locations of a finding. A finding about
    /// the address points at `source`, any other at the requirement.
    pub(super) fn add_locations(&self, mut finding: Diagnostic) -> Diagnostic {
        let points_at_source = is_about_address(finding.code);
        let others = take(&mut finding.labels);
        if let Some(entry) = self.entry {
            finding = finding.at_location(entry.block.clone());
        }
        let requirement = self.requirement.into_iter();
        for declaration in requirement.flat_map(|requirement| &requirement.declarations) {
            let location = match &declaration.source {
                Some(source) if points_at_source => source,
                _ => &declaration.location,
            };
            finding = declaration.add_location(finding, location, "required here");
        }
        finding.labels.extend(others);
        finding.about(self.address)
    }
}

impl AuditedRoot<'_> {
    /// Requirements that the lock file must meet.
    pub(super) fn requirements(&self) -> &Requirements {
        self.to_meet.as_ref().unwrap_or(&self.declared)
    }

    /// Every locked provider, and every provider that is certainly required and not locked; none if
    /// the lock file cannot be read.
    pub(super) fn named_providers(&self) -> Vec<Named<'_>> {
        let mut named: Vec<_> = self.entries().iter().map(Named::of_entry).collect();
        // Any provider may be locked in a file that cannot be read.
        if self.lock_file_state == FileState::Unreadable {
            return named;
        }
        let locked = self.lock_file.locks();
        for (address, requirement) in &self.declared.providers {
            if requirement.is_certain && !locked.contains_key(address) {
                named.push(Named {
                    address,
                    entry: None,
                    requirement: Some(requirement),
                });
            }
        }
        named
    }

    /// Whether the registry of a provider may be requested. A mirror is requested instead of it.
    pub(super) fn is_requested(&self, address: &ProviderAddress) -> bool {
        let Some(hosts) = self.module_cache.requested_hosts.get() else {
            return true;
        };
        let mirror = self
            .online
            .and_then(|online| online.source.mirror_of(address));
        mirror.is_some() || hosts.contains(address.hostname.as_ascii())
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.lock_file.entries()
    }

    pub(super) fn provider_name(&self, address: &ProviderAddress) -> String {
        address.short(self.module.dialect)
    }

    pub(super) fn release_name(&self, entry: &Entry) -> String {
        format!(
            "{} {}",
            self.provider_name(&entry.address),
            entry.locked.version
        )
    }

    pub(super) fn named_platforms(&self) -> &[Platform] {
        self.platforms.map_or(&[], PlatformSelection::named)
    }

    /// Whether the settings exempt a provider from a platform.
    pub(super) fn is_exempted(&self, entry: &Entry, platform: &Platform) -> bool {
        let missing = &self.module.settings.without_platforms;
        missing.has(&entry.address, self.module.dialect, platform)
    }

    /// Whether the directory is not a root module, but contains a lock file or a configuration that
    /// the change touches. Only the policy applies to it: its lock file need not fit a
    /// configuration or cover platforms.
    pub(super) fn is_policy_only(&self) -> bool {
        self.module.found.is_policy_only()
    }

    /// The lock file at the base revision, if a change is under review and the file can be read.
    pub(super) fn lock_file_before(&self) -> Option<&LockFile> {
        let before = &self.base.as_ref()?.lock_file;
        // Most lock files are as before, and have been parsed.
        let now = self.module.lock_bytes.as_deref();
        if self.lock_file_state == FileState::Readable && now == Some(before.bytes) {
            return Some(&self.lock_file);
        }
        before.parsed().lock_file.as_ref()
    }

    /// Whether this run looks for findings of a code: everything that they depend on is requested
    /// and known. `is_complete` is `true` if nothing failed.
    pub(super) fn looks_for(&self, code: Code, is_complete: bool) -> bool {
        let Some(rule) = code.rule() else {
            return false;
        };
        let is_online = self.online.is_some() && is_complete;
        match rule.needs {
            Needs::Files => true,
            Needs::Git => self.tracked.lock_file != Tracking::Unknown,
            Needs::Requirements => !self.requirements().is_incomplete,
            Needs::UnnamedPlatforms => self.platforms.is_none() && is_complete,
            Needs::NamedPlatforms => self.platforms.is_some() && is_online,
            Needs::Network => is_online,
            Needs::Base => self.base.is_some(),
            Needs::Installation => self.options.check_installed,
            Needs::Circumstances => false,
        }
    }

    /// Whether the configuration requires, or may require, a provider that must be locked.
    pub(super) fn needs_lock_file(&self) -> bool {
        let Requirements {
            providers,
            is_incomplete,
            ..
        } = self.requirements();
        self.lock_file_need != LockFileNeed::Never
            && !self.is_policy_only()
            && (!providers.is_empty() || *is_incomplete)
    }

    /// The command that records hashes for the requested platforms, or for all.
    pub(super) fn lock_remedy(&self) -> LockRemedy {
        LockRemedy {
            platforms: Some(self.named_platforms().to_vec()),
            ..LockRemedy::default()
        }
    }
}

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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct VerifiedRoot {
    /// Its directory, as the user knows it.
    pub path: PathBuf,
    /// The lock file's path, as the user knows it. There may be no such file.
    pub lock_path: PathBuf,
    /// Kind of directory.
    pub kind: DirectoryKind,
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
    /// The required providers that need no entry, because `dev_overrides` takes them from a
    /// directory.
    pub dev_overrides: Vec<ProviderAddress>,
    /// Locked providers, each with a required platform from which the settings exempt it.
    pub exempted: BTreeSet<(String, Platform)>,
    /// Whether an entry is not known to have a hash for one of these platforms.
    pub has_unknown_platforms: bool,
    /// The mirrors that were asked in place of registries, each with the number of entries that it
    /// was asked about. A mirror does not know what was published.
    pub asked_mirrors: BTreeMap<String, usize>,
    /// Number of entries whose hashes were not all found among the published ones, with `--online`.
    /// Entries that a mirror was asked about are not included.
    pub unconfirmed: usize,
    /// Number of entries of modules that were not compared with the published package, or that
    /// differ, with `--online`.
    pub unconfirmed_modules: usize,
    /// Whether the requirements of a root module are not all known, so that its lock file was
    /// compared with the others only.
    pub is_incomplete: bool,
    /// Reason why the state, which may need more providers, is not known; `None` if it was read.
    pub unknown_state: Option<String>,
    /// Whether something could not be checked for the same reason as at the base revision, which
    /// is no error then ([`Session::remove_known`](crate::project::Session::remove_known)).
    pub has_failed_as_before: bool,
    /// Number of lock files with errors for which nothing in them was checked.
    pub unread: usize,
    /// Authentication of the locked release of each provider by its registry, if that was asked.
    pub authentications: BTreeMap<ProviderAddress, Authentication>,
    /// Number of entries in the lock file.
    pub entries: usize,
    /// Number of entries in the lock file of modules.
    pub modules: usize,
    /// The locked version of each provider.
    pub locked: BTreeMap<ProviderAddress, Version>,
    /// The locked version of each module, by the path of its calls; `None` for a module without a
    /// version.
    pub locked_modules: BTreeMap<String, Option<Version>>,
    /// The dialect whose registry the lock file contains, if it contains that of no other dialect.
    pub registry: Option<Dialect>,
    /// Problems found: without a location first, then in the order of the lock file, then in other
    /// files.
    pub findings: Vec<Diagnostic>,
    /// Findings unless git ignores the lock file: that it is missing or ignored. One line of an
    /// ignore file may be the cause in many root modules, so these become findings after all root
    /// modules were checked. Empty in a result.
    pub not_shared: Vec<Diagnostic>,
    /// Reasons why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// Numbers of findings that are not reported.
    pub suppressed: Suppressed,
    /// Severity overrides of the settings.
    #[expect(
        private_interfaces,
        reason = "tests of the program build this struct from its default"
    )]
    pub overrides: RootLevels,
}

impl VerifiedRoot {
    /// The report of a root module before it is checked.
    pub(super) fn new(module: &RootModule, options: &VerifyOptions<'_>) -> Self {
        let RootModule {
            found, settings, ..
        } = module;
        // A lock file must cover platforms only if its root module is checked in full.
        let is_exempt = found.is_policy_only() || module.refused.is_some();
        let platforms = if is_exempt {
            None
        } else {
            options.platforms.as_ref().or(settings.platforms.as_ref())
        };
        Self {
            path: module.path().to_owned(),
            lock_path: module.lock_path.clone(),
            kind: found.kind,
            has_lock_file: module.lock_bytes.is_some(),
            dialect: module.dialect,
            dialect_reason: module.dialect_reason,
            platforms: platforms.cloned(),
            overrides: RootLevels::at(&module.canonical, &settings.verify),
            ..Self::default()
        }
    }

    /// Whether every hash that was compared with a registry was found there.
    pub fn is_confirmed(&self) -> bool {
        self.unconfirmed + self.unconfirmed_modules == 0
    }

    /// Whether something about it was not checked that this run should check.
    pub fn is_partly_checked(&self) -> bool {
        !self.errors.is_empty()
            || self.has_failed_as_before
            || self.is_incomplete
            || self.unread > 0
            || !self.is_confirmed()
    }

    /// The status of the root module. Only errors outrank a missing lock file.
    pub(super) fn status(&self) -> RootStatus {
        let worst = self.findings.iter().map(|finding| finding.severity).max();
        if worst == Some(Severity::Error) {
            return RootStatus::Errors;
        }
        if !self.has_lock_file && self.ignore_rule.is_some() {
            return RootStatus::Ignored;
        }
        if !self.has_lock_file && self.needs_lock_file {
            return RootStatus::NotLocked;
        }
        if worst == Some(Severity::Warning) {
            return RootStatus::Warnings;
        }
        if self.is_partly_checked() {
            return RootStatus::PartlyChecked;
        }
        if self.has_lock_file {
            RootStatus::Ok
        } else {
            RootStatus::NeedsNone
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
    /// Findings that the base revision has, too
    /// ([`Session::remove_known`](crate::project::Session::remove_known)).
    pub base: usize,
}

/// Version control, such as git.
pub trait VersionControl: Sync {
    /// Returns what it knows about the files of a root module, which may have a lock file of
    /// modules. The directory is absolute and without symlinks.
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked;

    /// The line of an ignore file by which it ignores the lock file of each root module, if it
    /// does.
    fn rules_ignoring_lock_files(&self, roots: &[&Path]) -> Vec<Option<Location>>;

    /// The full object names of the commits that a branch with this tip was at, the tip among them.
    /// Commits of merged branches do not count. Empty if they are not known.
    fn commits_on_line_of(&self, _tip: &str) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// Facts that version control knows about the files of a root module.
#[derive(Default)]
pub struct Tracked {
    /// Whether the lock file is tracked.
    pub lock_file: Tracking,
    /// Whether the lock file of modules is tracked.
    pub module_lock_file: Tracking,
    /// The tracked files below `.terraform` and in the directory of `TF_DATA_DIR`; relative to the
    /// root module, or absolute if they are outside of it.
    pub data_files: Vec<PathBuf>,
    /// Reason why the other facts are not known.
    pub obstacle: Option<Obstacle>,
}

/// Reason why version control knows nothing about a root module.
pub enum Obstacle {
    /// The root module is in no repository.
    NoRepository,
    /// Version control could not be asked.
    Failed(Box<Diagnostic>),
}

/// Tracking state of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The file is in the index.
    Tracked,
    /// The file is not in the index, and not ignored.
    Untracked,
    /// The file is not in the index, and ignored. So is a file that does not exist.
    Ignored,
    /// There is no repository, the file is in one inside of this repository, or git could not be
    /// asked.
    #[default]
    Unknown,
}

/// A finding with a location, which needs no text of its own.
pub(super) fn finding_at(
    code: Code,
    message: impl Into<Message>,
    location: &Location,
) -> Diagnostic {
    Diagnostic::finding(code, message).at_location(location.clone())
}

/// Whether findings with this code are about a provider's address, rather than its version or
/// packages.
pub(super) fn is_about_address(code: Code) -> bool {
    let is_not_allowed = matches!(
        code,
        Code::HostNotAllowed | Code::NamespaceNotAllowed | Code::ProviderNotAllowed
    );
    is_not_allowed || matches!(code, Code::Lookalike | Code::PublisherAdded)
}
