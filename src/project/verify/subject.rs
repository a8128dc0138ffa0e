//! What is verified, and what comes of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::verified::{Tracked, Tracking};
use crate::configuration::{ModuleCache, Requirement, Requirements};
use crate::diagnostic::{Code, Diagnostic, Label, Location, LockRemedy, Needs};
use crate::lockfile::{self, Entry, LockFile, LockedModule, Parsed};
use crate::packages::archive::HashCache;
use crate::packages::{DemandedAge, ProgressSink, Source};
use crate::project::change::{KnownProviders, KnownPublishers};
use crate::project::plan::Listings;
use crate::project::root_module::RootModule;
use crate::provider::{Authentication, Dialect, Platform, ProviderAddress};
use crate::settings::PlatformSelection;

pub(crate) struct VerifyRequest<'a> {
    /// The root module.
    pub root: &'a RootModule,
    /// Whether it is not a root module, but a directory that a change is judged by. Whether its lock file fits a
    /// configuration or the platforms does not matter.
    pub is_only_judged: bool,
    /// What the configuration requires, and the lock file has to fit.
    pub requirements: &'a Requirements,
    /// What the configuration requires, and the policy has to allow.
    pub judged: &'a Requirements,
    /// Has and fetches the packages of modules.
    pub packages: &'a ModuleCache,
    /// The lock file of modules, empty if there is none, where modules are to be locked.
    pub modules: Option<&'a Parsed<LockedModule>>,
    /// The platforms that the project asks for; none if it does not say.
    pub platforms: Option<&'a PlatformSelection>,
    /// Whether the user names the platforms, and not the settings.
    pub platforms_are_named: bool,
    /// Hashes of packages that are known already.
    pub cache: Option<&'a HashCache>,
    /// The providers that `init` takes from a directory and does not lock, with these directories.
    pub dev_overrides: &'a BTreeMap<ProviderAddress, PathBuf>,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// What git knows of the root module's files.
    pub tracked: &'a Tracked,
    /// Whether there is to be a lock file where a provider is required.
    pub expected: Expected,
    /// The lock file as it was, empty if there was none; none if no change is judged.
    pub base: Option<&'a [u8]>,
    /// How old a version must be that a change brings, if the settings say so.
    pub age: Option<DemandedAge>,
    /// The providers that the lock files of the base name; none if no change is judged.
    pub known: Option<&'a KnownProviders>,
    /// Whether the change adds the line at a place.
    pub is_new: &'a (dyn Fn(&Location) -> bool + Sync),
    /// The lock file of modules as it was, as `base`.
    pub module_base: Option<&'a [u8]>,
    /// The hosts and publishers of modules before the change; none if no change is judged.
    pub known_publishers: Option<&'a KnownPublishers>,
    /// Where to ask what is published, if that is to be asked.
    pub online: Option<Online<'a>>,
}

/// Whether there is to be a lock file where a provider is required.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The program knows no lock files.
    Never,
    /// Nobody shares the state, so that it may be meant that there is none.
    Perhaps,
    /// It is wrong that there is none.
    Always,
}

/// A source that may be asked.
#[derive(Clone, Copy)]
pub(crate) struct Online<'a> {
    /// The source.
    pub source: &'a Source,
    /// Receives the progress of downloads.
    pub progress: ProgressSink<'a>,
    /// When versions were published and what else registries say, if that can be asked.
    pub listings: Option<Listings<'a>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Verified {
    /// What is wrong, in the order of the lock file, then of the other files.
    pub findings: Vec<Diagnostic>,
    /// What is wrong unless git ignores the lock file: that it is missing, and what is not known then; or that git
    /// ignores it. It is not among the findings, since many root modules may have it for the same reason.
    pub unshared: Vec<Diagnostic>,
    /// Whether the configuration requires a provider, or may require one.
    pub needs_lock_file: bool,
    /// Why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// How the release of each entry was authenticated, if that was asked.
    pub authentications: BTreeMap<ProviderAddress, Authentication>,
    /// How many entries of the lock file were looked at.
    pub entries: usize,
    /// How many entries of the lock file of modules were looked at.
    pub modules: usize,
    /// The dialect whose registry the lock file names, where it names no other dialect's.
    pub registry: Option<Dialect>,
    /// How many findings a comment in the lock file ignores.
    pub ignored: usize,
    /// How many entries of the lock files were compared with what is installed.
    pub installed: usize,
    /// How many providers were not compared with an installed package although that was asked for.
    pub not_installed: usize,
    /// The locked or required providers that `dev_overrides` takes from a directory.
    pub dev_overrides: Vec<ProviderAddress>,
    /// Whether an entry is not known to have a hash for a required platform.
    pub has_unknown_platforms: bool,
    /// The mirrors that were asked in place of registries, each with the number of entries that it was asked about.
    pub mirrors: BTreeMap<String, usize>,
    /// The findings that would be there if there were a reason for them. Of others it says nothing that they are not
    /// there.
    pub looked_for: Vec<Code>,
}

impl Verified {
    /// Puts findings in order: those about no place, those in the lock file, those elsewhere.
    pub(super) fn sorted(mut self, lock_path: &Path) -> Self {
        self.findings.sort_by_cached_key(|finding| {
            let place = finding.labels.first().map(|label| &label.location);
            place.map(|place| (place.path() != lock_path, place.path().to_owned(), place.span.start))
        });
        self
    }
}

/// A lock file that can be read, with all that it is compared to.
pub(super) struct Subject<'a> {
    pub(super) request: &'a VerifyRequest<'a>,
    pub(super) lock_file: &'a LockFile,
}

/// A provider that is locked or required.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) address: &'a ProviderAddress,
    /// Its entry; none if it is not locked.
    pub(super) entry: Option<&'a Entry>,
    /// What requires it, if it is not locked.
    pub(super) requirement: Option<&'a Requirement>,
}

impl Named<'_> {
    /// Adds the entry, or the requirements, as the first locations of a finding. A finding about the address points at
    /// `source`, any other at the requirement.
    pub(super) fn place(&self, mut finding: Diagnostic) -> Diagnostic {
        let required = self.requirement.iter().flat_map(|requirement| &requirement.declarations);
        let is_about_address = is_about_address(finding.code);
        let required = required.map(|declaration| match &declaration.source {
            Some(source) if is_about_address => (source, "required here"),
            _ => (&declaration.location, "required here"),
        });
        let places = self.entry.map(|entry| (&entry.block, "")).into_iter().chain(required);
        let places = places.map(|(location, text)| Label { location: location.clone(), text: text.to_owned() });
        finding.labels.splice(0..0, places);
        finding.about(self.address)
    }
}

/// Whether findings with this code are about a provider's address, rather than its version or packages.
fn is_about_address(code: Code) -> bool {
    use Code::{
        HostAdded, HostNotAllowed, Lookalike, NamespaceAdded, NamespaceNotAllowed, ProviderAdded, ProviderNotAllowed,
    };
    let codes =
        [Lookalike, HostNotAllowed, NamespaceNotAllowed, ProviderNotAllowed, HostAdded, NamespaceAdded, ProviderAdded];
    codes.contains(&code)
}

impl Subject<'_> {
    /// Each provider that is locked, and each that is certainly required and not locked.
    pub(super) fn named(&self) -> impl Iterator<Item = Named<'_>> {
        let locked = self.lock_file.locks();
        let required = self.request.judged.providers.iter();
        let required = required.filter(|(address, one)| one.is_certain && !locked.contains_key(address));
        let required = required.map(|(address, one)| Named { address, entry: None, requirement: Some(one) });
        let entries = self.entries().iter();
        let entries = entries.map(|entry| Named { address: &entry.address, entry: Some(entry), requirement: None });
        entries.chain(required)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.lock_file.entries()
    }

    pub(super) fn name(&self, address: &ProviderAddress) -> String {
        address.short(self.request.root.dialect)
    }

    pub(super) fn release(&self, entry: &Entry) -> String {
        format!("{} {}", self.name(&entry.address), entry.locked.version)
    }

    /// The dialect whose registry the lock file names, if it names just one dialect's.
    pub(super) fn registry(&self) -> Option<Dialect> {
        Dialect::only(|dialect| self.entries().iter().any(|entry| entry.address.hostname.is_default_of(dialect)))
    }
}

impl VerifyRequest<'_> {
    pub(super) fn named_platforms(&self) -> &[Platform] {
        match self.platforms {
            Some(PlatformSelection::These(platforms)) => platforms,
            Some(PlatformSelection::All) | None => &[],
        }
    }

    /// The lock file as it was; none if no change is judged, or if it cannot be read.
    pub(super) fn lock_file_before(&self) -> Option<LockFile> {
        let RootModule { lock_path, dialect, .. } = self.root;
        lockfile::parse(lock_path, self.base?, *dialect).lock_file
    }

    /// Whether such a finding would be there if there were a reason for it: what it depends on is asked for and known.
    /// `is_complete` says that nothing failed.
    pub(super) fn looks_for(&self, code: Code, is_complete: bool) -> bool {
        let is_online = self.online.is_some() && is_complete;
        code.rule().is_some_and(|rule| match rule.needs {
            Needs::Files => true,
            Needs::Git => self.tracked.lock_file != Tracking::Unknown,
            Needs::Requirements => !self.requirements.is_incomplete,
            Needs::UnnamedPlatforms => self.platforms.is_none() && is_complete,
            Needs::NamedPlatforms => self.platforms.is_some() && is_online,
            Needs::Network => is_online,
            Needs::Base => self.base.is_some(),
            Needs::Installation => self.check_installed,
            Needs::Circumstances => false,
        })
    }

    /// Whether the configuration requires a provider that is to be locked, or may require one.
    pub(super) fn needs_lock_file(&self) -> bool {
        let Requirements { providers, is_incomplete, .. } = self.requirements;
        self.expected != Expected::Never && !self.is_only_judged && (!providers.is_empty() || *is_incomplete)
    }

    /// To record the hashes for the platforms that are asked for, else for all.
    pub(super) fn lock_remedy(&self) -> LockRemedy {
        LockRemedy { platforms: Some(self.named_platforms().to_vec()), ..LockRemedy::default() }
    }
}

pub(super) fn finding(code: Code, message: String, location: &Location, label: &str) -> Diagnostic {
    Diagnostic::finding(code, message).at(location.clone(), label)
}
