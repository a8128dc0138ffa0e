//! Selection of the versions of providers, as OpenTofu's `internal/providercache/installer.go`
//! selects them.

use std::collections::BTreeSet;

use super::age::{RegistryData, SkipReason, SkippedVersion, SkippedVersions, registry_warning};
use super::candidate::{Candidate, VersionRule};
use super::moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
use super::newest::{Edit, NewestAccepted, SelectionRules, newest_accepted};
use super::prepared::Prepared;
use super::release_lookup::unpublished_warning;
use super::request::{LockRequest, OldEntries, RequestedData};
use super::shared_entries::UnconfirmedHashes;
use crate::configuration::Requirement;
use crate::configuration::rewrite::{self, Rewrite};
use crate::diagnostic::words::joined_with_and;
use crate::diagnostic::{
    Code, Collector, Diagnostic, Diagnostics, Help, Remedy, Result, UpgradeRemedy, collect_all,
};
use crate::lockfile::{LockFile, LockedProvider};
use crate::packages::archive::PackageId;
use crate::packages::{AvailableVersions, Packages, ReleaseInfo};
use crate::project::options::UpgradeOptions;
use crate::provider::{Hash, Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, Permit};

/// Versions that were selected for the providers of a root module.
#[derive(Default)]
pub(crate) struct SelectedVersions {
    pub(super) old: OldEntries,
    /// In the order of the addresses.
    pub(crate) providers: Vec<SelectedProvider>,
    /// Warnings about providers that are omitted.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A provider with the version that was selected for it.
#[derive(Clone)]
pub(crate) struct SelectedProvider {
    pub(crate) address: ProviderAddress,
    pub(crate) version: Version,
    /// The rewritten constraints, if they had to be.
    pub(crate) rewrite: Option<Rewrite>,
    /// Reason for which newer versions that the constraints allow were skipped, if any were.
    skipped: Option<SkipReason>,
    pub(crate) warnings: Vec<Diagnostic>,
    /// Its move, in an upgrade.
    planned_move: Option<Move>,
    /// Numbers of its recorded hashes, if they were compared because the entry does not change.
    counts: UnconfirmedHashes,
    /// Whether they were compared, and OpenTofu and Terraform compare none of them.
    lacks_hashes: bool,
}

/// Selects a version for each provider that is locked, several at a time. All errors are collected.
/// `prepare` gets the providers first, and returns permits for the threads.
pub(crate) fn select_versions<'p>(
    request: &LockRequest<'_>,
    prepare: impl FnOnce(&[Candidate<'_>]) -> Permit<'p>,
) -> Result<SelectedVersions> {
    let old = OldEntries::of(request.prepared);
    let (candidates, warnings) = request.candidates(&old)?;
    let threads = prepare(&candidates);
    let results = parallel::map(candidates, threads.threads(), |candidate| {
        let available = candidate.read_available(request.source)?;
        let search = VersionSearch {
            candidate,
            available: &available,
            request,
        };
        let mut selected = search.select_version()?;
        if let Some(options) = request.run.provider_upgrade() {
            search.add_move(&mut selected, options);
        }
        Ok(selected)
    });
    let providers = collect_or_merge_errors(results)?;
    Ok(SelectedVersions {
        old,
        providers,
        warnings,
    })
}

/// Requests everything that is certain to be needed before a version is selected: the versions of
/// each provider that are not known yet, and what is signed about the packages of a version that is
/// kept. Returns whether anything had to be requested.
pub(crate) fn request_known_needs(request: &LockRequest<'_>, candidates: &[Candidate<'_>]) -> bool {
    let prepared = request.prepared;
    let mut requested = Vec::new();
    for candidate in candidates {
        let address = candidate.address;
        if request.source.knows_versions(address) {
            continue;
        }
        requested.push(RequestedData::Versions(address.clone()));
        let Some(version) = candidate.kept_version() else {
            continue;
        };
        requested.push(RequestedData::Release(address.clone(), version.clone()));
        let exempted = &prepared.root.settings.without_platforms;
        for platform in prepared.platforms.named() {
            if !exempted.has(address, candidate.dialect, platform) {
                let package = PackageId::new(address, version, platform);
                requested.push(RequestedData::Metadata(package));
            }
        }
    }
    let has_requests = !requested.is_empty();
    // A package that is not available is reported when it is needed.
    request.wait_for_answers(requested);
    has_requests
}

/// All values, or else all errors, each once.
pub(super) fn collect_or_merge_errors<T, C: FromIterator<T>>(
    results: impl IntoIterator<Item = Result<T>>,
) -> Result<C> {
    collect_all(results).map_err(|errors| Collector::default().merged(errors))
}

impl SelectedVersions {
    /// The requirements of the providers, after any edits.
    pub(crate) fn requirements<'a>(
        &'a self,
        prepared: &'a Prepared,
    ) -> impl Iterator<Item = &'a Requirement> {
        self.providers
            .iter()
            .filter_map(|provider| provider.requirement(prepared))
    }

    /// Takes the moves of an upgrade out of the selection, and adds edits and entries to remove.
    /// Only a plan that is not carried out has warnings and numbers of hashes; otherwise locking
    /// has them.
    pub(crate) fn take_upgrade_plan(&mut self, request: &LockRequest<'_>) -> UpgradePlan {
        let is_plan_only = request.run.is_plan_only();
        let mut plan = UpgradePlan {
            pruned: request.entries_to_prune(),
            ..UpgradePlan::default()
        };
        if is_plan_only {
            plan.warnings.append(&mut self.warnings);
            let selected = self.providers.iter().map(|provider| &provider.address);
            plan.counts.uncompared +=
                request.count_uncompared_hashes(&self.old.locks, selected.chain(&plan.pruned));
            for error in self.kept_malformed_hashes(request, &plan.pruned) {
                plan.counts.unpublished += 1;
                plan.warnings.push(error.into_warning());
            }
        }
        for provider in &mut self.providers {
            if let Some(rewrite) = &provider.rewrite {
                plan.edits.extend(rewrite.edits.iter().cloned());
            }
            plan.moves.extend(provider.planned_move.take());
            plan.counts += provider.counts;
            if provider.lacks_hashes {
                plan.without_hashes.push(provider.address.clone());
            }
            if is_plan_only {
                plan.warnings.append(&mut provider.warnings);
            }
        }
        if let Some(modules) = &request.prepared.modules {
            plan.moves.extend(modules.plan.moves.iter().cloned());
            plan.edits.extend(modules.plan.edits.iter().cloned());
        }
        plan
    }

    /// Errors about malformed hashes in the entries that neither move nor are `pruned`.
    fn kept_malformed_hashes(
        &self,
        request: &LockRequest<'_>,
        pruned: &[ProviderAddress],
    ) -> Vec<Diagnostic> {
        let lock_file = &request.prepared.lock_file;
        let mut errors = lock_file.kept_malformed_hashes(|address, _| {
            let is_removed = pruned.contains(address) || self.moves(address, lock_file);
            request.prepared.is_selected(address) && !is_removed
        });
        errors.extend(request.prepared.malformed_module_hashes());
        errors
    }

    /// Whether a different version than the locked one was selected for a provider.
    fn moves(&self, address: &ProviderAddress, lock_file: &LockFile) -> bool {
        let selected = self
            .providers
            .iter()
            .find(|provider| provider.address == *address);
        let locked = lock_file.locks().get(address);
        match (selected, locked) {
            (Some(selected), Some(locked)) => selected.version != locked.version,
            _ => false,
        }
    }
}

impl SelectedProvider {
    fn new(address: &ProviderAddress, version: &Version) -> Self {
        Self {
            address: address.clone(),
            version: version.clone(),
            rewrite: None,
            skipped: None,
            warnings: Vec::new(),
            planned_move: None,
            counts: UnconfirmedHashes::default(),
            lacks_hashes: false,
        }
    }

    /// The requirement of the provider, after any edits.
    pub(super) fn requirement<'a>(&'a self, prepared: &'a Prepared) -> Option<&'a Requirement> {
        let rewritten = self.rewrite.as_ref().map(|rewrite| &rewrite.requirement);
        rewritten.or_else(|| prepared.requirements.providers.get(&self.address))
    }
}

/// The search for a version of a provider.
struct VersionSearch<'a> {
    candidate: Candidate<'a>,
    available: &'a AvailableVersions,
    request: &'a LockRequest<'a>,
}

impl VersionSearch<'_> {
    /// Selects a version that meets the constraints and the rules: the version that the user named,
    /// the locked version, or the newest.
    fn select_version(&self) -> Result<SelectedProvider> {
        let candidate = &self.candidate;
        let mut selected = match (candidate.version_rule, candidate.old_entry) {
            (VersionRule::Exactly(version), _) => self.select_named(version)?,
            (VersionRule::Keep, Some(locked)) => self.keep_locked(locked)?,
            // An upgrade leaves what only the state needs: the newest version may be unable to
            // read it.
            (VersionRule::Newest, Some(locked)) if self.is_left_by_upgrade(locked) => {
                self.keep_locked(locked)?
            }
            (VersionRule::Keep | VersionRule::Newest, _) => self.select_newest()?,
        };
        // The user chose some of the moves, and not this one. A provider without an entry of its
        // own needs a version in any case, also if an entry is carried over for it.
        let own_entry = candidate.lock_file.locks().get(candidate.address);
        if let Some(own_entry) = own_entry
            && !self.is_move_chosen(&selected.version)
        {
            selected = self.keep_locked(own_entry)?;
        }
        candidate.check_allowed(&selected.version, self.available)?;
        self.refuse_downgrade(&selected.version)?;
        Ok(selected)
    }

    /// Keeps the locked version, unless it must change.
    fn keep_locked(&self, locked: &LockedProvider) -> Result<SelectedProvider> {
        let candidate = &self.candidate;
        candidate.check_kept(&locked.version, self.available, self.request.source)?;
        Ok(SelectedProvider::new(candidate.address, &locked.version))
    }

    /// Whether an upgrade keeps a provider at its locked version because only the state needs it:
    /// a state has no constraints, and the newest version may be unable to read it. `terraform
    /// init -upgrade` also selects versions for the configuration only (`getProvidersFromState` in
    /// Terraform's `internal/command/init.go`).
    fn is_left_by_upgrade(&self, locked: &LockedProvider) -> bool {
        let Self {
            candidate,
            available,
            request,
        } = self;
        if !candidate.requirement.is_of_state() {
            return false;
        }
        // The user asks for the move.
        if request.prepared.named_providers.contains(candidate.address) {
            return false;
        }
        // A version that cannot be locked again must be replaced.
        available.versions.contains_key(&locked.version)
            && candidate.requirement.constraints.allows(&locked.version)
            && candidate.why_not_allowed(&locked.version).is_none()
    }

    /// Whether the user chose a move; `true` if the user was not asked.
    fn is_move_chosen(&self, version: &Version) -> bool {
        match self.request.run.provider_upgrade() {
            Some(UpgradeOptions {
                moves: Some(moves), ..
            }) => moves.contains(&(self.candidate.address.clone(), version.clone())),
            _ => true,
        }
    }

    /// Whether constraints may be rewritten.
    fn rewrites_constraints(&self) -> bool {
        self.request
            .run
            .provider_upgrade()
            .is_some_and(|options| options.rewrite_constraints)
    }

    /// Selects the version that the user named, if the constraints allow it or may be rewritten.
    fn select_named(&self, version: &Version) -> Result<SelectedProvider> {
        let candidate = &self.candidate;
        candidate.check_listed(version, self.available)?;
        let mut rewrite = None;
        if !candidate.requirement.constraints.allows(version) {
            if !self.rewrites_constraints() {
                return Err(candidate.outside_constraints_error(version).into());
            }
            match rewrite::allow(candidate.requirement, version) {
                Ok(rewritten) => rewrite = Some(rewritten),
                Err(warning) => {
                    let mut error = candidate.outside_constraints_error(version);
                    // The help is to rewrite the constraints, which was tried.
                    error.help = None;
                    return Err(error.note(warning.message).into());
                }
            }
        }
        if self.request.run.provider_upgrade().is_some()
            && let Some(skipped) = self.why_version_skipped(version)
            && let Some(error) = SkippedVersions(vec![skipped]).error(&candidate.name())
        {
            return Err(error.into());
        }
        Ok(SelectedProvider {
            rewrite,
            ..SelectedProvider::new(candidate.address, version)
        })
    }

    /// Selects the newest version that is not skipped, and warns about newer ones.
    fn select_newest(&self) -> Result<SelectedProvider> {
        let candidate = &self.candidate;
        let name = candidate.name();
        let NewestAccepted {
            selected,
            skipped,
            not_editable,
        } = newest_accepted(self, self.available.versions.keys().rev())?;
        if let Some((version, rewrite)) = selected {
            let mut provider = SelectedProvider::new(candidate.address, version);
            provider.rewrite = rewrite;
            provider.skipped = skipped.reason();
            if let Some((_, warning)) = not_editable {
                provider.warnings.push(*warning);
            }
            provider.warnings.extend(skipped.warning(&name));
            return Ok(provider);
        }

        if let Some(error) = skipped.error(&name) {
            return Err(error.into());
        }
        let mut error = candidate.no_match_error(self.available);
        if let Some((_, warning)) = not_editable {
            error = error.note(warning.message);
        }
        Err(error.into())
    }

    /// The rewritten constraints, if the constraints do not allow a version and may be rewritten
    /// for it.
    fn possible_rewrite(&self, version: &Version) -> Edit<Option<Rewrite>, Box<Diagnostic>> {
        let requirement = self.candidate.requirement;
        if requirement.constraints.allows(version) {
            return Edit::Done(None);
        }
        if !self.may_rewrite_for(version) {
            return Edit::NotRequested;
        }
        rewrite::allow(requirement, version).map(Some).into()
    }

    /// Whether constraints may be rewritten for a version. Downgrades require an explicit version.
    fn may_rewrite_for(&self, version: &Version) -> bool {
        let Some(options) = self.request.run.provider_upgrade() else {
            return false;
        };
        let is_candidate = options.prereleases || !version.is_prerelease();
        let constraints = &self.candidate.requirement.constraints;
        options.rewrite_constraints && is_candidate && constraints.is_outgrown_by(version)
    }

    /// Returns the reason why a version cannot be selected. The locked version may be selected
    /// again, however young it is, if the policy allows it.
    fn why_version_skipped(&self, version: &Version) -> Option<SkippedVersion> {
        let candidate = &self.candidate;
        let request = self.request;
        let not_allowed = candidate.why_not_allowed(version);
        if not_allowed.is_some() || candidate.is_locked_at(version) {
            return not_allowed;
        }
        // Offline, the cache may have only some packages of a new version.
        if request.run.is_offline
            && request.run.provider_upgrade().is_some()
            && let Some(why) = self.why_incomplete(version, &request.prepared.platforms)
        {
            return Some(SkippedVersion {
                reason: SkipReason::Incomplete,
                version: version.to_string(),
                why,
            });
        }
        let RegistryData { dates, .. } = request.registry_data?;
        SkippedVersion::if_too_young(version, candidate.minimum_age?, || {
            dates.publication_date(candidate.address, version, request.source)
        })
    }

    /// Returns which packages of a version the source lacks, in words; `None` if it has them all.
    /// "All platforms" means all platforms for which it has packages of any version.
    fn why_incomplete(&self, version: &Version, platforms: &PlatformSelection) -> Option<String> {
        let present = self.platforms_of(version);
        let mut required = BTreeSet::new();
        match platforms {
            PlatformSelection::These(platforms) => required.extend(platforms.iter().cloned()),
            PlatformSelection::All if present.is_empty() => {
                return Some("none of its packages is in the cache".into());
            }
            PlatformSelection::All => {
                for version in self.available.versions.keys() {
                    required.extend(self.platforms_of(version));
                }
            }
        }
        let exempted = &self.request.prepared.root.settings.without_platforms;
        let candidate = &self.candidate;
        let mut missing = Vec::new();
        for platform in required.difference(&present) {
            if !exempted.has(candidate.address, candidate.dialect, platform) {
                missing.push(platform);
            }
        }
        match &missing[..] {
            [] => None,
            [platform] => Some(format!("its package for {platform} is not in the cache")),
            _ => Some(format!(
                "its packages for {} are not in the cache",
                joined_with_and(missing)
            )),
        }
    }

    /// The platforms for which the source has packages of a version.
    fn platforms_of(&self, version: &Version) -> BTreeSet<Platform> {
        let source = self.request.source;
        source
            .platforms(self.candidate.address, version)
            .unwrap_or_default()
    }

    /// Refuses a version below the locked one, unless the constraints or the policy require it:
    /// then `init -upgrade` goes down as well.
    fn refuse_downgrade(&self, version: &Version) -> Result<()> {
        let candidate = &self.candidate;
        let Some(options) = self.request.run.provider_upgrade() else {
            return Ok(());
        };
        let Some(entry) = candidate.lock_file.locks().get(candidate.address) else {
            return Ok(());
        };
        let locked = &entry.version;
        let is_required = !candidate.requirement.constraints.allows(locked)
            || candidate.why_not_allowed(locked).is_some();
        if options.allow_downgrade || version >= locked || is_required {
            return Ok(());
        }

        let name = candidate.name();
        let message = format!("{name} would go down from {locked} to {version}");
        let mut error = candidate.at_locked_version(Diagnostic::error(Code::Downgrade, message));
        if !self.available.versions.contains_key(locked) {
            error = error.note(format!("its source no longer lists {locked}"));
        }
        let provider = match candidate.version_rule {
            VersionRule::Exactly(version) => format!("{name}@{version}"),
            VersionRule::Keep | VersionRule::Newest => name,
        };
        let remedy = UpgradeRemedy {
            providers: vec![provider],
            constraints: options.rewrite_constraints,
            allow_downgrade: true,
            ..UpgradeRemedy::default()
        };
        Err(error
            .help(Help::text("if an older version is intended: ").and(remedy))
            .into())
    }

    /// Adds the move to the selected version. If moves are only planned, adds the warnings, too,
    /// that locking would have.
    fn add_move(&self, selected: &mut SelectedProvider, options: &UpgradeOptions) {
        let Candidate {
            address,
            lock_file,
            requirement,
            old_entry,
            version_rule,
            ..
        } = self.candidate;
        let newest = match self.available.newest(options.prereleases) {
            Some(newest) => newest,
            None => &selected.version,
        };
        // An entry that is carried over is not in the lock file yet, so the provider is new there.
        let own_entry = lock_file.locks().get(address);
        let mut planned_move = Move {
            subject: Subject::Provider(address.clone()),
            locked: own_entry.map(|entry| VersionLabel::from(&entry.version)),
            selected: VersionLabel::from(&selected.version),
            newest: VersionLabel::from(newest),
            is_named: matches!(version_rule, VersionRule::Exactly(_)),
            held_back_by: Vec::new(),
            skipped: selected.skipped,
            stays_for_state: old_entry.is_some_and(|old| self.is_left_by_upgrade(old)),
            releases: ReleaseInfo::default(),
        };
        if planned_move.is_held_back() {
            let requirement = match &selected.rewrite {
                Some(rewrite) => &rewrite.requirement,
                None => requirement,
            };
            planned_move.held_back_by = holding_constraints(requirement, newest);
        }
        // A mirror is used so that no registry need be asked.
        if options.release_info
            && planned_move.moves()
            && self.request.source.mirror_of(address).is_none()
            && let Some(RegistryData { dates, .. }) = self.request.registry_data
        {
            planned_move.releases = dates.releases(address, &selected.version, newest);
        }
        selected.planned_move = Some(planned_move);

        // A plan that is carried out has the warnings of `lock`.
        if options.plan_only {
            for text in &self.available.warnings {
                selected.warnings.push(registry_warning(address, text));
            }
            if options.compare_hashes
                && let Some(old) = old_entry
                && old.version == selected.version
            {
                self.compare_kept_entry(selected, old);
            }
        }
    }

    /// Compares the recorded hashes of an entry that keeps its version.
    fn compare_kept_entry(&self, selected: &mut SelectedProvider, old: &LockedProvider) {
        let candidate = &self.candidate;
        let version = selected.version.clone();
        let release = self.request.release_lookup(candidate.address, &version);
        let compared = release.compare_hashes(&old.hashes, &Packages::new());
        let warning = unpublished_warning(candidate, &version, &compared.unpublished);
        selected.warnings.extend(warning);
        selected.counts = UnconfirmedHashes::of(&compared);

        // An entry that is carried over from the other registry has no hashes yet.
        let is_recorded = candidate.lock_file.entry(candidate.address).is_some();
        selected.lacks_hashes = is_recorded && !old.hashes.iter().any(Hash::is_known);
        if selected.lacks_hashes {
            let message = format!(
                "no hash that is compared is recorded for {} {version}, so any package would be accepted",
                candidate.name()
            );
            let warning = Diagnostic::warning(Code::NoHashes, message);
            let warning = candidate.at_locked_version(warning).help(Remedy::lock());
            selected.warnings.push(warning);
        }
    }
}

impl<'a> SelectionRules for VersionSearch<'a> {
    type Version = &'a Version;
    type Edited = Option<Rewrite>;
    type Reason = Box<Diagnostic>;
    type Error = Diagnostics;

    fn is_current(&self, version: &&'a Version) -> bool {
        self.candidate.is_locked_at(version)
    }

    fn edit_for(&self, version: &&'a Version) -> Result<Edit<Option<Rewrite>, Box<Diagnostic>>> {
        Ok(self.possible_rewrite(version))
    }

    fn why_skipped(
        &self,
        version: &&'a Version,
        _edited: &Option<Rewrite>,
    ) -> Option<SkippedVersion> {
        self.why_version_skipped(version)
    }
}

/// Constraints that do not allow a version.
fn holding_constraints(requirement: &Requirement, version: &Version) -> Vec<HoldingConstraint> {
    // A prerelease is allowed if one declaration contains exactly it.
    if requirement.constraints.allows(version) {
        return Vec::new();
    }
    let mut constraints = Vec::new();
    for declaration in &requirement.declarations {
        if let Some(location) = &declaration.version
            && !declaration.constraints.allows(version)
        {
            constraints.push(HoldingConstraint {
                text: declaration.constraints.to_string(),
                location: location.clone(),
                is_rewritable: declaration.local,
            });
        }
    }
    constraints
}
