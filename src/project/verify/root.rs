//! A root module with everything that its lock files are compared with: the context of all audits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::base::Base;
use super::verified::{Tracked, Tracking, VerifyOptions, is_about_address};
use crate::configuration::{ModuleCache, Requirement, Requirements};
use crate::diagnostic::{Code, Diagnostic, Label, LockRemedy, Needs};
use crate::lockfile::{Entry, LockFile, LockedModule, Parsed};
use crate::packages::archive::HashCache;
use crate::packages::{DemandedAge, ProgressSink, Source};
use crate::project::plan::Listings;
use crate::project::root_module::RootModule;
use crate::provider::{Dialect, Platform, ProviderAddress};
use crate::settings::PlatformSelection;

pub(super) struct Root<'a> {
    pub(super) module: &'a RootModule,
    pub(super) options: &'a VerifyOptions<'a>,
    /// The lock file; empty if there is none or if it cannot be read.
    pub(super) lock_file: LockFile,
    pub(super) state: FileState,
    /// The lock file of modules, empty if there is none; `None` where modules need not be locked.
    pub(super) modules: Option<Parsed<LockedModule>>,
    /// Requirements that the policy must allow.
    pub(super) declared: Requirements,
    /// Requirements that the lock file must meet, if they differ from the declared ones.
    pub(super) to_meet: Option<Requirements>,
    /// Contains and fetches the packages of modules.
    pub(super) packages: &'a ModuleCache,
    /// Platforms that the user or the settings name.
    pub(super) platforms: Option<&'a PlatformSelection>,
    pub(super) cache: Option<&'a HashCache>,
    /// Providers that `init` takes from a directory and does not lock, with these directories.
    pub(super) dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    pub(super) tracked: Tracked,
    pub(super) expected: Expected,
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
pub(super) enum Expected {
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
    pub(super) listings: Option<Listings<'a>>,
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
    pub(super) fn entry(entry: &'a Entry) -> Self {
        Self { address: &entry.address, entry: Some(entry), requirement: None }
    }

    /// Adds the entry, or the requirements, as the first locations of a finding. A finding about the address points at
    /// `source`, any other at the requirement.
    pub(super) fn place(&self, mut finding: Diagnostic) -> Diagnostic {
        let is_about_address = is_about_address(finding.code);
        let required = self.requirement.iter().flat_map(|requirement| &requirement.declarations);
        let required = required.map(|declaration| match &declaration.source {
            Some(source) if is_about_address => (source, "required here"),
            _ => (&declaration.location, "required here"),
        });
        let locations = self.entry.map(|entry| (&entry.block, "")).into_iter().chain(required);
        let labels = locations.map(|(location, text)| Label { location: location.clone(), text: text.to_owned() });
        finding.labels.splice(0..0, labels);
        finding.about(self.address)
    }
}

impl Root<'_> {
    /// Requirements that the lock file must meet.
    pub(super) fn requirements(&self) -> &Requirements {
        self.to_meet.as_ref().unwrap_or(&self.declared)
    }

    /// Every locked provider, and every provider that is certainly required and not locked; none if the lock file
    /// cannot be read.
    pub(super) fn named(&self) -> impl Iterator<Item = Named<'_>> {
        let is_readable = self.state != FileState::Unreadable;
        let locked = self.lock_file.locks();
        let required = self.declared.providers.iter();
        let required =
            required.filter(move |(address, one)| is_readable && one.is_certain && !locked.contains_key(address));
        let required = required.map(|(address, one)| Named { address, entry: None, requirement: Some(one) });
        self.entries().iter().map(Named::entry).chain(required)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.lock_file.entries()
    }

    pub(super) fn name(&self, address: &ProviderAddress) -> String {
        address.short(self.module.dialect)
    }

    pub(super) fn release(&self, entry: &Entry) -> String {
        format!("{} {}", self.name(&entry.address), entry.locked.version)
    }

    /// The dialect whose registry the lock file contains, if it contains that of only one dialect.
    pub(super) fn registry(&self) -> Option<Dialect> {
        Dialect::only(|dialect| self.entries().iter().any(|entry| entry.address.hostname.is_default_of(dialect)))
    }

    pub(super) fn named_platforms(&self) -> &[Platform] {
        match self.platforms {
            Some(PlatformSelection::These(platforms)) => platforms,
            Some(PlatformSelection::All) | None => &[],
        }
    }

    /// Whether the directory is not a root module, but contains a lock file or a configuration that the change touches.
    /// Only the policy applies to it: its lock file need not fit a configuration or cover platforms.
    pub(super) fn is_policy_only(&self) -> bool {
        self.module.found.is_policy_only()
    }

    /// The lock file at the base revision, if a change is under review and the file can be read.
    pub(super) fn lock_file_before(&self) -> Option<&LockFile> {
        self.base.as_ref()?.providers.parsed().lock_file.as_ref()
    }

    /// Whether this run looks for findings of a code: everything that they depend on is requested and known.
    /// `is_complete` is `true` if nothing failed.
    pub(super) fn looks_for(&self, code: Code, is_complete: bool) -> bool {
        let is_online = self.online.is_some() && is_complete;
        code.rule().is_some_and(|rule| match rule.needs {
            Needs::Files => true,
            Needs::Git => self.tracked.lock_file != Tracking::Unknown,
            Needs::Requirements => !self.requirements().is_incomplete,
            Needs::UnnamedPlatforms => self.platforms.is_none() && is_complete,
            Needs::NamedPlatforms => self.platforms.is_some() && is_online,
            Needs::Network => is_online,
            Needs::Base => self.base.is_some(),
            Needs::Installation => self.options.check_installed,
            Needs::Circumstances => false,
        })
    }

    /// Whether the configuration requires, or may require, a provider that must be locked.
    pub(super) fn needs_lock_file(&self) -> bool {
        let Requirements { providers, is_incomplete, .. } = self.requirements();
        self.expected != Expected::Never && !self.is_policy_only() && (!providers.is_empty() || *is_incomplete)
    }

    /// The command that records hashes for the requested platforms, or for all.
    pub(super) fn lock_remedy(&self) -> LockRemedy {
        LockRemedy { platforms: Some(self.named_platforms().to_vec()), ..LockRemedy::default() }
    }
}
