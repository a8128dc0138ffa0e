//! Input of the planner: the providers of a root module, with the rules by which they are locked;
//! and requests to a source. A request that several root modules need is sent once.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::age::RegistryData;
use super::candidate::{Candidate, VersionRule};
use super::prepared::Prepared;
use super::release_lookup::ReleaseLookup;
use super::shared_entries::SharedEntries;
use crate::configuration::Requirement;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Result, RunOption};
use crate::lockfile::{LockedProvider, Locks};
use crate::packages::archive::{HashCache, PackageId};
use crate::packages::{ProgressSink, Source};
use crate::project::options::{LockOptions, UpgradeOptions};
use crate::project::root_module::RootModule;
use crate::project::similar_names;
use crate::provider::{AddressError, Dialect, Hostname, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::shared_jobs::SharedJobs;

/// Everything that the root modules of a run share.
pub(crate) struct LockRun<'a> {
    pub(crate) options: &'a LockOptions,
    /// Options of an upgrade.
    pub(crate) upgrade: Option<&'a UpgradeOptions>,
    pub(crate) questions: &'a Questions<'a>,
    /// Entries that root modules have recorded, for others that plan the same.
    pub(crate) shared_entries: SharedEntries,
    /// Whether sources ask no host, so that they have only some packages.
    pub(crate) is_offline: bool,
    /// Known packages, from which the platforms of an entry are derived.
    pub(crate) cache: Option<&'a HashCache>,
    pub(crate) progress: ProgressSink<'a>,
}

/// A root module whose providers are locked.
#[derive(Clone, Copy)]
pub(crate) struct LockRequest<'a> {
    pub(crate) run: &'a LockRun<'a>,
    pub(crate) prepared: &'a Prepared,
    pub(crate) source: &'a Arc<Source>,
    /// Publication dates and registry data about providers, if something depends on them.
    pub(crate) registry_data: Option<RegistryData<'a>>,
}

/// Entries, with entries that are carried over from the registry of the other dialect.
#[derive(Clone, Default)]
pub(crate) struct OldEntries {
    pub(super) locks: Locks,
    /// Entry that each entry was carried over from.
    pub(super) carried_over: BTreeMap<ProviderAddress, ProviderAddress>,
}

impl<'a> LockRun<'a> {
    /// Options of an upgrade in which providers move.
    pub(crate) fn provider_upgrade(&self) -> Option<&'a UpgradeOptions> {
        self.upgrade.filter(|options| options.moves_providers())
    }

    /// Whether moves are only planned.
    pub(crate) fn is_plan_only(&self) -> bool {
        self.upgrade.is_some_and(|options| options.plan_only)
    }

    /// Whether a version is selected by age: the versions of all providers that move, or else the
    /// first version of a provider.
    pub(crate) fn selects_by_age(&self, prepared: &Prepared) -> bool {
        let RootModule {
            settings, dialect, ..
        } = &prepared.root;
        let all_move = self.provider_upgrade().is_some();
        let old = OldEntries::of(prepared);
        prepared.providers().any(|address| {
            let is_selected = all_move || !old.locks.contains_key(address);
            is_selected && !settings.policy.is_exempt_from_min_age(address, *dialect)
        })
    }
}

impl<'a> LockRequest<'a> {
    /// Whether selecting versions and platforms may take more requests than those for lists of
    /// versions: for dates, or for the platforms of entries that are replaced.
    pub(crate) fn asks_while_planning(&self) -> bool {
        let Prepared {
            platforms,
            platforms_are_named,
            conflict_sides,
            minimum_age,
            ..
        } = self.prepared;
        let replaces = self.run.provider_upgrade().is_some()
            || self.run.options.accept_changed_hashes
            || !conflict_sides.is_empty();
        minimum_age.is_some()
            || *platforms == PlatformSelection::All
            || (!platforms_are_named && replaces)
    }

    /// Waits until the source has answered questions. Returns `false` if a package is not
    /// available; other questions may then be unanswered.
    pub(super) fn wait_for_answers(
        &self,
        subjects: impl IntoIterator<Item = RequestedData>,
    ) -> bool {
        self.run
            .questions
            .wait_for(subjects.into_iter().map(|subject| {
                let source = Arc::clone(self.source);
                (subject.group(), Question { source, subject })
            }))
    }

    /// A release of a provider, whose packages are checked.
    pub(super) fn release_lookup<'r>(
        &'r self,
        address: &'r ProviderAddress,
        version: &'r Version,
    ) -> ReleaseLookup<'r> {
        ReleaseLookup {
            address,
            version,
            source: self.source,
            cache: self.run.cache,
            progress: self.run.progress,
        }
    }

    /// Entries to remove because the configuration does not require them. Empty unless the options
    /// request it.
    pub(super) fn entries_to_prune(&self) -> Vec<ProviderAddress> {
        let mut pruned = Vec::new();
        if self.run.options.prune {
            let required = &self.prepared.requirements.providers;
            for address in self.prepared.lock_file.locks().keys() {
                if !required.contains_key(address) {
                    pruned.push(address.clone());
                }
            }
        }
        pruned
    }

    /// Number of hashes in entries that are not compared although no provider is named, because
    /// nothing requires them.
    pub(super) fn count_uncompared_hashes<'e>(
        &self,
        locks: &Locks,
        compared: impl Iterator<Item = &'e ProviderAddress>,
    ) -> usize {
        if !self.prepared.named_providers.is_empty() {
            return 0;
        }
        let compared: BTreeSet<_> = compared.collect();
        let mut number = 0;
        for (address, locked) in locks {
            if !compared.contains(address) {
                number += locked.hashes.len();
            }
        }
        number
    }

    /// Returns the providers to lock, and warnings about providers under development. `old` are the
    /// entries before, also entries that are carried over from a different registry.
    ///
    /// # Errors
    /// A named provider is not required, or the policy does not allow a provider.
    pub(super) fn candidates(
        &self,
        old: &'a OldEntries,
    ) -> Result<(Vec<Candidate<'a>>, Vec<Diagnostic>)> {
        let Prepared {
            root,
            named_providers,
            requirements,
            ..
        } = self.prepared;
        let required = &requirements.providers;
        let dialect = root.dialect;
        let mut errors = Diagnostics::default();
        for address in named_providers {
            if !required.contains_key(address) {
                errors.push(not_required_error(address, required, dialect));
            }
        }
        errors.into_result(())?;

        let mut candidates = Vec::new();
        let mut errors = Diagnostics::default();
        for (address, requirement) in required {
            if !self.prepared.is_selected(address) {
                continue;
            }
            let candidate = self.candidate(address, requirement, old);
            for error in candidate.policy.against_address(address, dialect) {
                errors.push(requirement.at_declarations(error));
            }
            candidates.push(candidate);
        }
        errors.into_result(())?;
        let warnings = remove_dev_overrides(&mut candidates, self.source);
        Ok((candidates, warnings))
    }

    /// A provider with the rules that apply to it.
    pub(super) fn candidate(
        &self,
        address: &'a ProviderAddress,
        requirement: &'a Requirement,
        old: &'a OldEntries,
    ) -> Candidate<'a> {
        let Prepared {
            root,
            lock_file,
            requirements,
            requested_versions,
            minimum_age,
            ..
        } = self.prepared;
        let policy = &root.settings.policy;
        let version_rule = match requested_versions.get(address) {
            Some(version) => VersionRule::Exactly(version),
            None if self.run.provider_upgrade().is_some() => VersionRule::Newest,
            None => VersionRule::Keep,
        };
        Candidate {
            address,
            requirement,
            old_entry: old.locks.get(address),
            version_rule,
            lock_file,
            all_required: &requirements.providers,
            minimum_age: if policy.is_exempt_from_min_age(address, root.dialect) {
                None
            } else {
                *minimum_age
            },
            policy,
            dialect: root.dialect,
        }
    }
}

/// Warns of providers that are taken from a directory of their developer. In Terraform's dialect
/// they are removed and not locked, as in newer versions of `terraform init`
/// (`internal/command/meta_providers.go`): no registry need have them, and their entries are for
/// other users. `tofu init` locks them like any other.
fn remove_dev_overrides(candidates: &mut Vec<Candidate<'_>>, source: &Source) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    candidates.retain(|candidate| {
        let Some(directory) = source.dev_override(candidate.address) else {
            return true;
        };
        let name = candidate.name();
        let directory = directory.display();
        if candidate.dialect == Dialect::Tofu {
            let message =
                format!("{name} is locked, although dev_overrides takes it from {directory}");
            warnings.push(
                Diagnostic::warning(Code::DevOverride, message)
                    .note("tofu init does the same; the directory is not checked"),
            );
            return true;
        }
        let message = format!("{name} is not locked: dev_overrides takes it from {directory}");
        warnings.push(
            Diagnostic::warning(Code::DevOverride, message)
                .note("its entry in the lock file, if any, is unchanged")
                .help(Help::text("to lock it, run without ").and(RunOption::UseCliConfiguration)),
        );
        false
    });
    warnings
}

/// A named provider is not required.
fn not_required_error(
    address: &ProviderAddress,
    required: &BTreeMap<ProviderAddress, Requirement>,
    dialect: Dialect,
) -> Diagnostic {
    if address.is_never_locked() {
        let message = AddressError::NeverLocked(address.clone()).to_string();
        let help = "omit it; only providers from registries and mirrors are locked";
        return Diagnostic::error(Code::InvalidArgument, message).help(help);
    }
    let message = format!(
        "the configuration does not require {}",
        address.short(dialect)
    );
    let help = similar_names::required_or_path(address, required, dialect);
    Diagnostic::error(Code::InvalidArgument, message).help(help)
}

impl OldEntries {
    /// The entries of the lock file, and entries for OpenTofu's registry made from Terraform's
    /// entries for its own registry: the version and the constraints, but not the hashes, because
    /// the packages of the two registries differ (OpenTofu's `internal/depsfile/locks.go`). The old
    /// entries stay.
    pub(crate) fn of(prepared: &Prepared) -> Self {
        let locked = prepared.lock_file.locks();
        let mut old = Self {
            locks: locked.clone(),
            carried_over: BTreeMap::new(),
        };
        if prepared.root.dialect != Dialect::Tofu {
            return old;
        }

        for (predecessor, provider) in locked {
            let Some(successor) = successor(predecessor) else {
                continue;
            };
            if locked.contains_key(&successor) || !takes_over(prepared, &successor) {
                continue;
            }
            let taken_over = LockedProvider {
                hashes: BTreeSet::new(),
                ..LockedProvider::clone(provider)
            };
            old.locks.insert(successor.clone(), taken_over.into());
            old.carried_over.insert(successor, predecessor.clone());
        }
        old
    }
}

/// Address under which OpenTofu's registry has a provider of Terraform's; `None` for a provider
/// that only one of the two registries is sure to have.
fn successor(predecessor: &ProviderAddress) -> Option<ProviderAddress> {
    let is_of_terraform = predecessor.hostname.is_default_of(Dialect::Terraform);
    if !is_of_terraform || predecessor.namespace != "hashicorp" {
        return None;
    }
    Some(predecessor.at_host(Hostname::default_of(Dialect::Tofu)))
}

/// Whether a provider of OpenTofu's registry takes over the version of its predecessor: if it is
/// locked. `tofu providers lock` takes over entries that are not required, too, and leaves them
/// without hashes, even where the configuration requires the predecessor; `tofu init` removes them.
fn takes_over(prepared: &Prepared, successor: &ProviderAddress) -> bool {
    let requirements = &prepared.requirements;
    // Without requirements provlock follows `tofu providers lock` (recorded case tofu/ex-sorting).
    if requirements.providers.is_empty() {
        return !requirements.is_incomplete;
    }
    requirements.providers.contains_key(successor) && prepared.is_selected(successor)
}

/// A question to a source, which keeps the answer.
#[derive(Clone)]
pub(crate) struct Question {
    source: Arc<Source>,
    subject: RequestedData,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum RequestedData {
    /// The list of versions.
    Versions(ProviderAddress),
    /// The signed checksums of a version, if an earlier run has kept where they are.
    Release(ProviderAddress, Version),
    /// The metadata of a package.
    Metadata(PackageId),
    /// The package.
    Package(PackageId),
}

/// Questions that have a common share of the threads. The small answers of a host are a group of
/// their own, so that they do not wait behind its packages.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QuestionGroup {
    is_of_packages: bool,
    host: Hostname,
}

/// Questions of all root modules of a run.
pub(crate) type Questions<'a> = SharedJobs<'a, QuestionGroup, Question>;

impl RequestedData {
    fn group(&self) -> QuestionGroup {
        let address = match self {
            Self::Versions(address) | Self::Release(address, _) => address,
            Self::Metadata(package) | Self::Package(package) => &package.address,
        };
        QuestionGroup {
            is_of_packages: matches!(self, Self::Package(_)),
            host: address.hostname.clone(),
        }
    }
}

impl Question {
    /// Asks the source. Returns `false` if a package is not available; errors are returned again
    /// when the answer is used.
    pub(crate) fn ask(&self, progress: ProgressSink<'_>) -> bool {
        let source = &self.source;
        match &self.subject {
            RequestedData::Versions(address) => drop(source.versions(address)),
            RequestedData::Release(address, version) => source.prefetch_release(address, version),
            RequestedData::Metadata(package) => source.prefetch_metadata(package),
            RequestedData::Package(package) => return source.fetch_once(package, progress).is_ok(),
        }
        true
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.subject == other.subject
    }
}

impl Eq for Question {}

impl Hash for Question {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.subject.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::provider::Platform;
    use crate::system::lock;
    use crate::system::shared_jobs::with_shared_jobs;

    #[test]
    fn small_answers_do_not_wait_behind_packages_of_the_same_host() {
        let address = ProviderAddress::parse("acme/a", Dialect::Tofu).unwrap();
        let package = |minor| {
            let version = Version::new(1, minor, 0);
            RequestedData::Package(PackageId::new(&address, &version, &Platform::current()))
        };
        let versions = RequestedData::Versions(address.clone());
        let order = Mutex::new(Vec::new());
        let ask = |subject: &RequestedData| {
            lock(&order).push(subject.clone());
            true
        };
        with_shared_jobs(1, ask, |jobs| {
            let subjects = [package(0), package(1), versions.clone()];
            jobs.wait_for(subjects.map(|subject| (subject.group(), subject)))
        });
        let order = order.into_inner().unwrap();
        assert!(order == [versions, package(0), package(1)]);
    }
}
