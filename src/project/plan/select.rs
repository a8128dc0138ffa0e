//! Selection of the versions of providers, as OpenTofu's `internal/providercache/installer.go`
//! selects them.

use std::collections::BTreeSet;

use super::age::{Listings, RejectedVersion, SkipReason, SkippedVersions, registry_warning};
use super::candidate::{Candidate, Wanted};
use super::recorded_entries::UnconfirmedHashes;
use super::request::{LockRequest, OldEntries, RequestedData};
use crate::configuration::rewrite::{self, Rewrite};
use crate::configuration::{Declaration, Requirement};
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{
    Code, Collector, Diagnostic, Help, Remedy, Result, UpgradeRemedy, collect_all,
};
use crate::lockfile::{LockFile, LockedProvider};
use crate::packages::archive::PackageId;
use crate::packages::{AvailableVersions, Packages, ReleaseInfo};
use crate::project::moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
use crate::project::options::UpgradeOptions;
use crate::project::prepared::Prepared;
use crate::provider::{Hash, Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel;

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
    planned: Option<Move>,
    /// Numbers of its recorded hashes, if they were compared because the entry does not change.
    counts: UnconfirmedHashes,
    /// Whether they were compared, and OpenTofu and Terraform compare none of them.
    lacks_hashes: bool,
}

/// Selects a version for each provider that is locked, several at a time. All errors are collected.
/// `prepare` gets the providers first, and returns the number of threads, with a guard that is held
/// meanwhile.
pub(crate) fn select_versions<G>(
    request: &LockRequest<'_>,
    prepare: impl FnOnce(&[Candidate<'_>]) -> (G, usize),
) -> Result<SelectedVersions> {
    let old = OldEntries::of(request.prepared);
    let (candidates, warnings) = request.candidates(&old)?;
    let (_guard, threads) = prepare(&candidates);
    let select = |candidate: Candidate<'_>| {
        let available = candidate.available(request.source)?;
        let search = Search {
            candidate,
            available: &available,
            request,
        };
        let mut selected = search.select()?;
        if let Some(options) = request.upgrade {
            search.plan(&mut selected, options);
        }
        Ok(selected)
    };
    let providers = collected(parallel::map(candidates, threads, select))?;
    Ok(SelectedVersions {
        old,
        providers,
        warnings,
    })
}

/// Asks everything that is certain to be needed before a version is selected: the versions of each
/// provider, and what is signed about the packages of a version that is kept. Returns whether
/// anything had to be asked.
pub(crate) fn ask_known_needs(request: &LockRequest<'_>, candidates: &[Candidate<'_>]) -> bool {
    let prepared = request.prepared;
    let mut subjects = Vec::new();
    for candidate in candidates {
        let address = candidate.address;
        if request.source.knows_versions(address) {
            continue;
        }
        let host = &address.hostname;
        subjects.push((host.clone(), RequestedData::Versions(address.clone())));
        let Some(version) = candidate.kept_version() else {
            continue;
        };
        let release = RequestedData::Release(address.clone(), version.clone());
        subjects.push((host.clone(), release));
        let missing = &prepared.root.settings.without_platforms;
        for platform in prepared.platforms.named() {
            if !missing.has(address, candidate.dialect, platform) {
                let package = PackageId::new(address, version, platform);
                subjects.push((host.clone(), RequestedData::Metadata(package)));
            }
        }
    }
    let is_unknown = !subjects.is_empty();
    request.ask(subjects);
    is_unknown
}

/// All values, or else all errors, each once.
pub(super) fn collected<T, C: FromIterator<T>>(
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

    /// Takes the plan of an upgrade out of the selection. Only a plan that is not carried out has
    /// warnings.
    pub(crate) fn upgrade_plan(
        &mut self,
        request: &LockRequest<'_>,
        is_plan_only: bool,
    ) -> UpgradePlan {
        let UpgradePlan { moves, edits, .. } = request.prepared.module_plan.clone();
        let mut plan = UpgradePlan {
            pruned: request.pruned(),
            ..UpgradePlan::default()
        };
        if is_plan_only {
            plan.warnings.append(&mut self.warnings);
            let selected = self.providers.iter().map(|provider| &provider.address);
            plan.counts.uncompared +=
                request.hashes_of_others(&self.old.locks, selected.chain(&plan.pruned));

            let malformed = self.kept_malformed_hashes(request, &plan.pruned);
            plan.counts.unpublished += malformed.len();
            plan.warnings
                .extend(malformed.into_iter().map(Diagnostic::into_warning));
        }
        for SelectedProvider {
            address,
            rewrite,
            warnings,
            planned,
            counts,
            lacks_hashes,
            ..
        } in &mut self.providers
        {
            plan.edits.extend(
                rewrite
                    .iter()
                    .flat_map(|rewrite| rewrite.edits.iter().cloned()),
            );
            plan.moves.extend(planned.take());
            plan.counts += *counts;
            plan.without_hashes
                .extend(lacks_hashes.then(|| address.clone()));
            if is_plan_only {
                plan.warnings.append(warnings);
            }
        }
        plan.moves.extend(moves);
        plan.edits.extend(edits);
        plan
    }
}

impl SelectedVersions {
    /// Errors about malformed hashes in the entries that neither move nor are `pruned`.
    fn kept_malformed_hashes(
        &self,
        request: &LockRequest<'_>,
        pruned: &[ProviderAddress],
    ) -> Vec<Diagnostic> {
        let lock_file = &request.prepared.lock_file;
        let mut errors = lock_file.kept_malformed_hashes(|address, _| {
            let is_removed = pruned.contains(address) || self.moves(address, lock_file);
            request.is_in_scope(address) && !is_removed
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
            planned: None,
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
struct Search<'a> {
    candidate: Candidate<'a>,
    available: &'a AvailableVersions,
    request: &'a LockRequest<'a>,
}

impl Search<'_> {
    /// Selects a version that meets the constraints and the rules.
    fn select(&self) -> Result<SelectedProvider> {
        let Self {
            candidate,
            available,
            ..
        } = self;
        let keep = |LockedProvider { version, .. }: &LockedProvider| {
            candidate
                .keep(version, available, self.request.source)
                .map(|()| SelectedProvider::new(candidate.address, version))
        };
        let selected = match (candidate.wanted, candidate.locked) {
            (Wanted::Exactly(version), _) => self.exactly(version)?,
            (Wanted::Keep, Some(locked)) => keep(locked)?,
            (Wanted::Newest, Some(locked)) if self.stays_for_state(locked) => keep(locked)?,
            (Wanted::Keep | Wanted::Newest, _) => self.newest()?,
        };
        let selected = match candidate.lock_file.locks().get(candidate.address) {
            Some(locked) if !self.is_chosen(&selected.version) => keep(locked)?,
            _ => selected,
        };
        candidate.check(&selected.version, available)?;
        self.refuse_downgrade(&selected.version)?;
        Ok(selected)
    }

    /// Whether an upgrade keeps a provider at its locked version because only the state needs it:
    /// a state has no constraints, and the newest version may be unable to read it. `terraform
    /// init -upgrade` also selects versions for the configuration only (`getProvidersFromState` in
    /// Terraform's `internal/command/init.go`).
    fn stays_for_state(&self, locked: &LockedProvider) -> bool {
        let Self {
            candidate,
            available,
            request,
        } = self;
        if !candidate.requirement.is_of_state() {
            return false;
        }
        // The user asks for the move.
        if request.prepared.only.contains(candidate.address) {
            return false;
        }
        // A version that cannot be locked again must be replaced.
        available.versions.contains_key(&locked.version)
            && candidate.requirement.constraints.allows(&locked.version)
            && candidate.not_allowed(&locked.version).is_none()
    }

    /// Whether the user chose a move, if the user chose among moves.
    fn is_chosen(&self, version: &Version) -> bool {
        let moves = self
            .request
            .upgrade
            .and_then(|options| options.moves.as_ref());
        moves.is_none_or(|moves| moves.contains(&(self.candidate.address.clone(), version.clone())))
    }

    /// Whether constraints may be rewritten.
    fn rewrites_constraints(&self) -> bool {
        self.request
            .upgrade
            .is_some_and(|options| options.rewrite_constraints)
    }

    fn exactly(&self, version: &Version) -> Result<SelectedProvider> {
        let Self { candidate, .. } = self;
        candidate.listed(version, self.available)?;
        let rewrite = if candidate.requirement.constraints.allows(version) {
            None
        } else if self.rewrites_constraints() {
            let refused = |warning: Box<Diagnostic>| {
                let error = candidate.chosen_against_constraints(version);
                Diagnostic {
                    help: None,
                    ..error
                }
                .note(warning.message)
            };
            Some(rewrite::allow(candidate.requirement, version).map_err(refused)?)
        } else {
            return Err(candidate.chosen_against_constraints(version).into());
        };
        let rejected = self.request.upgrade.and_then(|_| self.rejects(version));
        match SkippedVersions(Vec::from_iter(rejected)).error(&candidate.name()) {
            Some(error) => Err(error.into()),
            None => Ok(SelectedProvider {
                rewrite,
                ..SelectedProvider::new(candidate.address, version)
            }),
        }
    }

    fn newest(&self) -> Result<SelectedProvider> {
        let Candidate {
            requirement,
            address,
            ..
        } = self.candidate;
        let mut skipped = SkippedVersions::default();
        let mut not_rewritten = None;
        for version in self.available.versions.keys().rev() {
            let rewrite = if requirement.constraints.allows(version) {
                None
            } else if self.outgrows(version) {
                match rewrite::allow(requirement, version) {
                    Ok(rewrite) => Some(rewrite),
                    Err(warning) => {
                        not_rewritten.get_or_insert(*warning);
                        continue;
                    }
                }
            } else {
                continue;
            };
            if !self.candidate.has_locked(version) && !skipped.may_ask_more() {
                continue;
            }
            let Some(rejected) = self.rejects(version) else {
                let warnings = not_rewritten
                    .into_iter()
                    .chain(skipped.warning(&self.candidate.name()))
                    .collect();
                let selected = SelectedProvider::new(address, version);
                return Ok(SelectedProvider {
                    rewrite,
                    skipped: skipped.reason(),
                    warnings,
                    ..selected
                });
            };
            skipped.push(rejected);
        }
        if let Some(error) = skipped.error(&self.candidate.name()) {
            return Err(error.into());
        }
        let notes = not_rewritten.into_iter().map(|warning| warning.message);
        Err(notes
            .fold(self.candidate.no_match(self.available), Diagnostic::note)
            .into())
    }

    /// Whether constraints may be rewritten for a version. Downgrades require an explicit version.
    fn outgrows(&self, version: &Version) -> bool {
        let prereleases = self
            .request
            .upgrade
            .is_some_and(|options| options.prereleases);
        let is_candidate = self.rewrites_constraints() && (prereleases || !version.is_prerelease());
        is_candidate
            && self
                .candidate
                .requirement
                .constraints
                .is_outgrown_by(version)
    }

    /// Returns the reason why a version cannot be selected. The locked version may be selected
    /// again, however young it is, if the policy allows it.
    fn rejects(&self, version: &Version) -> Option<RejectedVersion> {
        let Self {
            candidate, request, ..
        } = self;
        let not_allowed = candidate.not_allowed(version);
        if not_allowed.is_some() || candidate.has_locked(version) {
            return not_allowed;
        }
        let is_partial = request.is_offline && request.upgrade.is_some();
        let incomplete = if is_partial {
            self.incomplete(version, &request.prepared.platforms)
        } else {
            None
        };
        if let Some(why) = incomplete {
            return Some(RejectedVersion {
                reason: SkipReason::Incomplete,
                version: version.to_string(),
                why,
            });
        }
        let Listings { dates, .. } = request.listings?;
        let published = || dates.published(candidate.address, version, request.source);
        RejectedVersion::by_age(version, candidate.minimum_age?, published)
    }

    /// Returns the packages of a version that the source lacks, if any. "All platforms" means all
    /// platforms for which it has packages of any version.
    fn incomplete(&self, version: &Version, platforms: &PlatformSelection) -> Option<String> {
        let platforms_of = |version| {
            self.request
                .source
                .platforms(self.candidate.address, version)
                .unwrap_or_default()
        };
        let present = platforms_of(version);
        let required: BTreeSet<Platform> = match platforms {
            PlatformSelection::These(platforms) => platforms.iter().cloned().collect(),
            PlatformSelection::All if present.is_empty() => {
                return Some("none of its packages is in the cache".into());
            }
            PlatformSelection::All => self
                .available
                .versions
                .keys()
                .flat_map(platforms_of)
                .collect(),
        };
        let exempted = &self.request.prepared.root.settings.without_platforms;
        let candidate = &self.candidate;
        let missing: Vec<_> = required
            .difference(&present)
            .filter(|platform| !exempted.has(candidate.address, candidate.dialect, platform))
            .map(ToString::to_string)
            .collect();
        match &missing[..] {
            [] => None,
            [platform] => Some(format!("its package for {platform} is not in the cache")),
            _ => Some(format!(
                "its packages for {} are not in the cache",
                enumerate(missing)
            )),
        }
    }

    /// Refuses a version below the locked one, unless the constraints or the policy require it:
    /// then `init -upgrade` goes down as well.
    fn refuse_downgrade(&self, version: &Version) -> Result<()> {
        let Self {
            candidate,
            available,
            request,
        } = self;
        let locked = candidate
            .lock_file
            .locks()
            .get(candidate.address)
            .map(|locked| &locked.version);
        let (Some(locked), Some(options)) = (locked, request.upgrade) else {
            return Ok(());
        };
        let is_required = !candidate.requirement.constraints.allows(locked)
            || candidate.not_allowed(locked).is_some();
        if options.allow_downgrade || version >= locked || is_required {
            return Ok(());
        }
        let name = candidate.name();
        let message = format!("{name} would go down from {locked} to {version}");
        let error = candidate.at_locked_version(Diagnostic::error(Code::Downgrade, message));
        let error = if available.versions.contains_key(locked) {
            error
        } else {
            error.note(format!("its source no longer lists {locked}"))
        };
        let provider = match candidate.wanted {
            Wanted::Exactly(version) => format!("{name}@{version}"),
            Wanted::Keep | Wanted::Newest => name,
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

    /// Adds the move to the selected version. Warns about recorded hashes that are not published.
    fn plan(&self, selected: &mut SelectedProvider, options: &UpgradeOptions) {
        let Self {
            candidate:
                Candidate {
                    address,
                    lock_file,
                    requirement,
                    locked,
                    wanted,
                    ..
                },
            available,
            request,
        } = *self;
        let newest = available.newest(options.prereleases);
        let newest = newest.unwrap_or(&selected.version);
        let mut versions = Move {
            subject: Subject::Provider(address.clone()),
            locked: lock_file
                .locks()
                .get(address)
                .map(|locked| VersionLabel::from(&locked.version)),
            selected: VersionLabel::from(&selected.version),
            newest: VersionLabel::from(newest),
            is_named: matches!(wanted, Wanted::Exactly(_)),
            held_back_by: Vec::new(),
            skipped: selected.skipped,
            stays_for_state: locked.is_some_and(|locked| self.stays_for_state(locked)),
            releases: ReleaseInfo::default(),
        };
        if versions.is_held_back() {
            let requirement = selected
                .rewrite
                .as_ref()
                .map_or(requirement, |rewrite| &rewrite.requirement);
            versions.held_back_by = holding_constraints(requirement, newest);
        }
        // A mirror is used so that no registry need be asked.
        let is_shown =
            options.release_info && versions.moves() && request.source.mirror_of(address).is_none();
        if is_shown && let Some(Listings { dates, .. }) = request.listings {
            versions.releases = dates.releases(address, &selected.version, newest);
        }
        selected.planned = Some(versions);
        if options.plan_only {
            let texts = available.warnings.iter();
            selected
                .warnings
                .extend(texts.map(|text| registry_warning(address, text)));
        }
        let is_compared = options.compare_hashes
            && options.plan_only
            && self.candidate.has_locked(&selected.version);
        if is_compared && let Some(old) = self.candidate.locked {
            let compared = request
                .release(address, &selected.version)
                .compare(&old.hashes, &Packages::new());
            selected
                .warnings
                .extend(compared.warning(&self.candidate, &selected.version));
            selected.counts = compared.counts();
            let is_recorded = self.candidate.lock_file.entry(address).is_some();
            selected.lacks_hashes = is_recorded && !old.hashes.iter().any(Hash::is_known);
        }
        if selected.lacks_hashes {
            let name = self.candidate.name();
            let version = &selected.version;
            let message = format!(
                "no hash that is compared is recorded for {name} {version}, so any package would be accepted"
            );
            let warning = self
                .candidate
                .at_locked_version(Diagnostic::warning(Code::NoHashes, message));
            selected.warnings.push(warning.help(Remedy::lock()));
        }
    }
}

/// Constraints that do not allow a version.
fn holding_constraints(requirement: &Requirement, version: &Version) -> Vec<HoldingConstraint> {
    // A prerelease is allowed if one declaration contains exactly it.
    if requirement.constraints.allows(version) {
        return Vec::new();
    }
    let declarations = requirement
        .declarations
        .iter()
        .filter(|one| !one.constraints.allows(version));
    let constraint = |declaration: &Declaration| {
        Some(HoldingConstraint {
            text: declaration.constraints.to_string(),
            location: declaration.version.clone()?,
            is_own: declaration.local,
        })
    };
    declarations.filter_map(constraint).collect()
}
