//! Selection of the versions of providers, as OpenTofu's `internal/providercache/installer.go` selects them.

use std::collections::BTreeSet;

use super::age::{self, Reason, RejectedVersion};
use super::candidate::{Candidate, Wanted};
use super::release_lookup::Compared;
use super::request::{LockRequest, OldEntries};
use crate::configuration::rewrite::{self, Rewrite};
use crate::configuration::{Declaration, Requirement};
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Help, Merged, Result, UpgradeRemedy};
use crate::lockfile::LockedProvider;
use crate::packages::{AvailableVersions, Packages, ReleaseInfo};
use crate::project::moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
use crate::project::options::UpgradeOptions;
use crate::project::prepared::Prepared;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel;

/// Versions that were selected for the providers of a root module.
pub(crate) struct SelectedVersions {
    pub(super) old: OldEntries,
    /// In the order of the addresses.
    pub(crate) providers: Vec<SelectedProvider>,
    /// Warnings about providers that are omitted.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A provider with the version that was selected for it.
pub(crate) struct SelectedProvider {
    pub(crate) address: ProviderAddress,
    pub(crate) selected: Selected,
    /// Its move, in an upgrade, with the result of comparing recorded hashes if the entry does not change.
    planned: Option<(Move, Compared)>,
}

/// Version that was selected for a provider.
pub(crate) struct Selected {
    pub(crate) version: Version,
    /// The rewritten constraints, if they had to be.
    pub(crate) rewrite: Option<Rewrite>,
    /// Reason for which newer versions that the constraints allow were skipped, if any were.
    skipped: Option<Reason>,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Selects a version for each provider that is locked, several at a time. All errors are collected. `prepare` gets the
/// providers first, and returns the number of threads, with a guard that is held meanwhile.
pub(crate) fn select_versions<G>(
    request: &LockRequest<'_>,
    old: OldEntries,
    prepare: impl FnOnce(&[Candidate<'_>]) -> (G, usize),
) -> Result<SelectedVersions> {
    let (candidates, warnings) = request.candidates(&old)?;
    let (_guard, threads) = prepare(&candidates);
    let select = |candidate: Candidate<'_>| {
        let available = candidate.available(request.source)?;
        let search = Search { candidate, available: &available, request };
        let mut selected = search.select()?;
        let planned = request.upgrade.map(|options| search.planned(&mut selected, options));
        Ok(SelectedProvider { address: candidate.address.clone(), selected, planned })
    };
    let providers = collected(parallel::map(candidates, threads, select))?;
    Ok(SelectedVersions { old, providers, warnings })
}

/// All values, or else all errors, each once.
pub(super) fn collected<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut values, mut errors) = (Vec::with_capacity(results.len()), Merged::default());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(more) => more.into_iter().for_each(|error| errors.merge(error)),
        }
    }
    errors.into_result(values)
}

impl SelectedVersions {
    /// Nothing is selected.
    pub(crate) fn without_providers(old: OldEntries) -> Self {
        Self { old, providers: Vec::new(), warnings: Vec::new() }
    }

    /// The requirements of the providers, after any edits.
    pub(crate) fn requirements<'a>(&'a self, prepared: &'a Prepared) -> impl Iterator<Item = &'a Requirement> {
        self.providers.iter().filter_map(|provider| provider.requirement(prepared))
    }

    /// Takes the plan of an upgrade out of the selection. Only a plan that is not carried out has warnings.
    pub(crate) fn upgrade_plan(&mut self, request: &LockRequest<'_>, is_plan_only: bool) -> UpgradePlan {
        let UpgradePlan { moves, edits, .. } = request.prepared.module_plan.clone();
        let mut plan = UpgradePlan { pruned: request.pruned(), ..UpgradePlan::default() };
        if is_plan_only {
            plan.warnings.append(&mut self.warnings);
        }
        for SelectedProvider { selected, planned, .. } in &mut self.providers {
            plan.edits.extend(selected.rewrite.iter().flat_map(|rewrite| rewrite.edits.iter().cloned()));
            let Some((planned, compared)) = planned.take() else { continue };
            plan.unpublished_hashes += compared.unpublished.len();
            plan.uncompared_hashes += compared.unknown;
            if is_plan_only {
                plan.warnings.append(&mut selected.warnings);
            }
            plan.moves.push(planned);
        }
        plan.moves.extend(moves);
        plan.edits.extend(edits);
        plan
    }
}

impl SelectedProvider {
    /// The requirement of the provider, after any edits.
    pub(super) fn requirement<'a>(&'a self, prepared: &'a Prepared) -> Option<&'a Requirement> {
        let rewritten = self.selected.rewrite.as_ref().map(|rewrite| &rewrite.requirement);
        rewritten.or_else(|| prepared.requirements.providers.get(&self.address))
    }
}

impl From<Version> for Selected {
    fn from(version: Version) -> Self {
        Self { version, rewrite: None, skipped: None, warnings: Vec::new() }
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
    fn select(&self) -> Result<Selected> {
        let Self { candidate, available, .. } = self;
        let selected = match (candidate.wanted, candidate.locked) {
            (Wanted::Exactly(version), _) => self.exactly(version)?,
            (Wanted::Keep, Some(locked)) => candidate.keep(locked, available)?.into(),
            (Wanted::Keep | Wanted::Newest, _) => self.newest()?,
        };
        let selected = match candidate.lock_file.locks().get(candidate.address) {
            Some(locked) if !self.is_chosen(&selected.version) => candidate.keep(locked, available)?.into(),
            _ => selected,
        };
        candidate.check(&selected.version, available)?;
        self.refuse_downgrade(&selected.version)?;
        Ok(selected)
    }

    /// Whether the user chose a move, if the user chose among moves.
    fn is_chosen(&self, version: &Version) -> bool {
        let moves = self.request.upgrade.and_then(|options| options.moves.as_ref());
        moves.is_none_or(|moves| moves.contains(&(self.candidate.address.clone(), version.clone())))
    }

    /// Whether constraints may be rewritten.
    fn rewrites_constraints(&self) -> bool {
        self.request.upgrade.is_some_and(|options| options.rewrite_constraints)
    }

    fn exactly(&self, version: &Version) -> Result<Selected> {
        let Self { candidate, .. } = self;
        candidate.listed(version, self.available)?;
        let rewrite = if candidate.requirement.constraints.allows(version) {
            None
        } else if self.rewrites_constraints() {
            let refused = |warning: Box<Diagnostic>| {
                let error = candidate.chosen_against_constraints(version);
                Diagnostic { help: None, ..error }.note(warning.message)
            };
            Some(rewrite::allow(candidate.requirement, version).map_err(refused)?)
        } else {
            return Err(candidate.chosen_against_constraints(version).into());
        };
        let rejected = self.request.upgrade.and_then(|_| self.rejects(version));
        match age::error(candidate.address, candidate.dialect, rejected.as_slice()) {
            Some(error) => Err(error.into()),
            None => Ok(Selected { rewrite, ..version.clone().into() }),
        }
    }

    fn newest(&self) -> Result<Selected> {
        let Candidate { requirement, address, dialect, .. } = self.candidate;
        let (mut skipped, mut not_rewritten) = (Vec::new(), None);
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
            if !self.candidate.has_locked(version) && !age::may_ask_more(&skipped) {
                continue;
            }
            let Some(rejected) = self.rejects(version) else {
                let warnings = not_rewritten.into_iter().chain(age::warning(address, dialect, &skipped)).collect();
                let skipped = skipped.first().map(|rejected| rejected.reason);
                return Ok(Selected { version: version.clone(), rewrite, skipped, warnings });
            };
            age::skip(&mut skipped, rejected);
        }
        if let Some(error) = age::error(address, dialect, &skipped) {
            return Err(error.into());
        }
        let notes = not_rewritten.into_iter().map(|warning| warning.message);
        Err(notes.fold(self.candidate.no_match(self.available), Diagnostic::note).into())
    }

    /// Whether constraints may be rewritten for a version. Downgrades require an explicit version.
    fn outgrows(&self, version: &Version) -> bool {
        let prereleases = self.request.upgrade.is_some_and(|options| options.prereleases);
        let is_candidate = self.rewrites_constraints() && (prereleases || !version.is_prerelease());
        is_candidate && self.candidate.requirement.constraints.is_outgrown_by(version)
    }

    /// Returns the reason why a version cannot be selected. The locked version may be selected again, however young it
    /// is, if the policy allows it.
    fn rejects(&self, version: &Version) -> Option<RejectedVersion> {
        let Self { candidate, request, .. } = self;
        let not_allowed = candidate.not_allowed(version);
        if not_allowed.is_some() || candidate.has_locked(version) {
            return not_allowed;
        }
        let is_partial = request.is_offline && request.upgrade.is_some();
        let incomplete = if is_partial { self.incomplete(version, &request.prepared.platforms) } else { None };
        let incomplete =
            incomplete.map(|why| RejectedVersion { reason: Reason::Incomplete, version: version.clone(), why });
        incomplete.or_else(|| candidate.minimum_age?.rejects(candidate.address, version, request.source))
    }

    /// Returns the packages of a version that the source lacks, if any. "All platforms" means all platforms for which
    /// it has packages of any version.
    fn incomplete(&self, version: &Version, platforms: &PlatformSelection) -> Option<String> {
        let platforms_of = |version| self.request.source.platforms(self.candidate.address, version).unwrap_or_default();
        let present = platforms_of(version);
        let required: BTreeSet<Platform> = match platforms {
            PlatformSelection::These(platforms) => platforms.iter().cloned().collect(),
            PlatformSelection::All if present.is_empty() => return Some("none of its packages is in the cache".into()),
            PlatformSelection::All => self.available.versions.keys().flat_map(platforms_of).collect(),
        };
        let missing: Vec<_> = required.difference(&present).map(ToString::to_string).collect();
        match &missing[..] {
            [] => None,
            [platform] => Some(format!("its package for {platform} is not in the cache")),
            _ => Some(format!("its packages for {} are not in the cache", enumerate(missing))),
        }
    }

    /// Refuses a version below the locked one, unless the constraints or the policy require it: then `init -upgrade`
    /// goes down as well.
    fn refuse_downgrade(&self, version: &Version) -> Result<()> {
        let Self { candidate, available, request } = self;
        let locked = candidate.lock_file.locks().get(candidate.address).map(|locked| &locked.version);
        let (Some(locked), Some(options)) = (locked, request.upgrade) else { return Ok(()) };
        let is_required = !candidate.requirement.constraints.allows(locked) || candidate.not_allowed(locked).is_some();
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
        let remedy = UpgradeRemedy { providers: vec![provider], allow_downgrade: true, ..UpgradeRemedy::default() };
        Err(error.help(Help::text("if an older version is intended: ").and(remedy)).into())
    }

    /// The move to the selected version. Warns about recorded hashes that are not published.
    fn planned(&self, selected: &mut Selected, options: &UpgradeOptions) -> (Move, Compared) {
        let Self { candidate: Candidate { address, lock_file, requirement, wanted, .. }, available, request } = *self;
        let is_release = |version: &&Version| options.prereleases || !version.is_prerelease();
        let newest = available.versions.keys().rev().find(is_release).or_else(|| available.versions.keys().next_back());
        let newest = newest.unwrap_or(&selected.version);
        let compared = self.compared(&selected.version, options);
        let mut versions = Move {
            subject: Subject::Provider(address.clone()),
            locked: lock_file.locks().get(address).map(|locked| VersionLabel::from(&locked.version)),
            selected: VersionLabel::from(&selected.version),
            newest: VersionLabel::from(newest),
            is_named: matches!(wanted, Wanted::Exactly(_)),
            held_back_by: Vec::new(),
            skipped: selected.skipped,
            releases: ReleaseInfo::default(),
        };
        if versions.is_held_back() {
            let requirement = selected.rewrite.as_ref().map_or(requirement, |rewrite| &rewrite.requirement);
            versions.held_back_by = holding_constraints(requirement, newest);
        }
        // A mirror is used so that no registry need be asked.
        let dates = request.dates.filter(|_| versions.moves() && request.source.mirror_of(address).is_none());
        if let Some(dates) = dates {
            versions.releases = dates.releases(address, &selected.version, newest);
        }
        selected.warnings.extend(compared.warning(&self.candidate, &selected.version));
        (versions, compared)
    }

    /// Compares the recorded hashes, if the entry does not change and that is requested.
    fn compared(&self, version: &Version, options: &UpgradeOptions) -> Compared {
        let Self { candidate, request, .. } = self;
        let is_compared = options.compare_hashes && options.plan_only;
        let kept = candidate.locked.filter(|old| is_compared && old.version == *version);
        let compare =
            |old: &LockedProvider| request.release(candidate.address, version).compare(&old.hashes, &Packages::new());
        kept.map(compare).unwrap_or_default()
    }
}

/// Constraints that do not allow a version.
fn holding_constraints(requirement: &Requirement, version: &Version) -> Vec<HoldingConstraint> {
    // A prerelease is allowed if one declaration contains exactly it.
    if requirement.constraints.allows(version) {
        return Vec::new();
    }
    let declarations = requirement.declarations.iter().filter(|one| !one.constraints.allows(version));
    let constraint = |declaration: &Declaration| {
        Some(HoldingConstraint {
            text: declaration.constraints.to_string(),
            location: declaration.version.clone()?,
            is_own: declaration.local,
        })
    };
    declarations.filter_map(constraint).collect()
}
