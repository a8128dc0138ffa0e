//! `upgrade`: which versions the providers can move to, and what holds them back.
//!
//! [`plan_upgrades`] asks for version lists, and dates where an age is demanded, but for no package;
//! [`super::lock_all`] does the rest with the versions that were chosen.

use std::collections::{BTreeMap, BTreeSet};

use super::age::Reason;
use super::compared::Compared;
use super::explained::ReleaseLookup;
use super::lock::{self, LockRequest};
use super::schedule::{self, Prefetch};
use super::select::{Candidate, Search, Selected, SelectionRules, Wanted};
use crate::configuration::rewrite::{ConstraintEdit, Rewrite};
use crate::configuration::{Declaration, Requirement, Requirements};
use crate::diagnostic::{Code, Diagnostic, Help, Location, Result, UpgradeRemedy};
use crate::packages::archive::HashCache;
use crate::packages::{Packages, PublicationDates, ReleaseInfo, Source};
use crate::project::module_plan::PlannedModule;
use crate::project::options::UpgradeOptions;
use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::parallel::WAITING_REQUESTS;

/// Plan of an upgrade of one root module.
pub struct UpgradePlan {
    /// The dialect whose rules apply.
    pub dialect: Dialect,
    /// The providers that were looked at, in the order of their addresses.
    pub providers: Vec<PlannedUpgrade>,
    /// The configuration's requirements, with the constraints after the edits.
    pub requirements: Requirements,
    /// The calls of modules that were looked at.
    pub modules: Vec<PlannedModule>,
    /// The constraints that are to be rewritten, and the sources of modules.
    pub edits: Vec<ConstraintEdit>,
    /// The versions that were chosen.
    pub versions: BTreeMap<ProviderAddress, Version>,
    /// The entries that the configuration does not require and that are to go.
    pub pruned: Vec<ProviderAddress>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Number of hashes of unchanged entries that belong to no published package, if they were compared.
    pub unpublished_hashes: usize,
    /// Number of these hashes that could not be compared with the published release.
    pub uncompared_hashes: usize,
}

/// A provider's versions.
pub struct PlannedUpgrade {
    /// The provider.
    pub address: ProviderAddress,
    /// The version in the lock file.
    pub locked: Option<Version>,
    /// The version that is chosen: the newest that the constraints, after any edits, and the demanded age allow.
    pub allowed: Version,
    /// The newest version there is.
    pub newest: Version,
    /// Whether the user named the version that is chosen.
    pub is_named: bool,
    /// Declarations whose constraints do not allow the newest version, unless the user named a version.
    pub held_back_by: Vec<Declaration>,
    /// Reason for which newer versions that the constraints allow were skipped, if any were.
    pub skipped: Option<Reason>,
    /// Dates and links of its releases, if its version changes and they were requested.
    pub releases: ReleaseInfo,
}

/// A provider's planned upgrade and what follows from it.
struct ProviderPlan {
    planned: PlannedUpgrade,
    rewrite: Option<Rewrite>,
    warnings: Vec<Diagnostic>,
    compared: Compared,
}

impl PlannedUpgrade {
    /// Whether the provider would get another version, or its first.
    pub fn moves(&self) -> bool {
        self.locked.as_ref() != Some(&self.allowed)
    }

    /// Whether there is a newer version than the selected one, and the user named none.
    pub fn is_held_back(&self) -> bool {
        !self.is_named && self.allowed < self.newest
    }
}

impl UpgradePlan {
    /// Whether there is anything to do.
    pub fn moves(&self) -> bool {
        let moves = self.providers.iter().any(PlannedUpgrade::moves) || self.modules.iter().any(PlannedModule::moves);
        moves || !self.edits.is_empty() || !self.pruned.is_empty()
    }

    /// Strings of the configuration that the plan depends on, each with the text that it needs there: the edits, and
    /// the constraints of the planned providers that have none.
    pub(crate) fn shared_texts(&self) -> Vec<ConstraintEdit> {
        let place = |location: &Location| (location.path().to_owned(), location.span.start);
        let edited: BTreeSet<_> = self.edits.iter().map(|edit| place(&edit.location)).collect();
        let planned = self.requirements.providers.iter().filter(|(address, _)| self.versions.contains_key(*address));
        let declared = planned.flat_map(|(_, requirement)| &requirement.declarations);
        let unedited = declared.filter_map(|declaration| declaration.version.as_ref()).filter_map(|quoted| {
            let text = quoted.file.text.get(quoted.span.clone())?.strip_prefix('"')?.strip_suffix('"')?;
            let location = Location::new(&quoted.file, quoted.span.start + 1..quoted.span.end - 1);
            (!edited.contains(&place(&location))).then(|| ConstraintEdit { new: text.to_owned(), location })
        });
        self.edits.iter().cloned().chain(unedited).collect()
    }

    /// The request by which the plan is carried out.
    pub(crate) fn lock_request<'a>(&'a self, request: LockRequest<'a>) -> LockRequest<'a> {
        LockRequest { requirements: &self.requirements, versions: &self.versions, ..request }
    }

    /// A plan in which no provider moves.
    pub(crate) fn new(request: &LockRequest<'_>, warnings: Vec<Diagnostic>) -> Self {
        Self {
            dialect: request.prepared.root.dialect,
            providers: Vec::new(),
            requirements: request.requirements.clone(),
            modules: Vec::new(),
            edits: Vec::new(),
            versions: BTreeMap::new(),
            pruned: pruned(request),
            warnings,
            unpublished_hashes: 0,
            uncompared_hashes: 0,
        }
    }

    fn add(&mut self, ProviderPlan { planned, rewrite, warnings, compared }: ProviderPlan) {
        self.unpublished_hashes += compared.unpublished.len();
        self.uncompared_hashes += compared.unknown;
        self.warnings.extend(warnings);
        self.versions.insert(planned.address.clone(), planned.allowed.clone());
        if let Some(Rewrite { requirement, edits }) = rewrite {
            self.requirements.providers.insert(planned.address.clone(), requirement);
            self.edits.extend(edits);
        }
        self.providers.push(planned);
    }
}

/// Looks at every provider that is to be upgraded in many root modules; each version list is asked for once. All errors
/// of a root are collected, and do not stop the others.
///
/// If `only_complete`, a version is chosen only if the source has its packages for all platforms that are locked: a
/// source that asks no host has only some. `dates` say more of the releases of providers that move; where they do not,
/// that is no error.
pub(crate) fn plan_upgrades(
    requests: &[LockRequest<'_>],
    options: &UpgradeOptions,
    source: &Source,
    only_complete: bool,
    dates: Option<&PublicationDates>,
) -> Vec<Result<UpgradePlan>> {
    let old: Vec<_> = requests.iter().map(lock::carry_over).collect();
    let (to_upgrade, overridden) = lock::candidates_of(requests.iter().zip(&old), source);
    let _asking = source.batch_permit();
    let addresses = to_upgrade.iter().flatten().flatten().map(|candidate| Prefetch::Versions(candidate.address));
    schedule::ask(addresses.collect(), source);
    let planned = schedule::each_candidate(to_upgrade, WAITING_REQUESTS, |index, candidate| {
        let available = candidate.available(source)?;
        let LockRequest { prepared, cache, .. } = requests[index];
        let rules = SelectionRules {
            rewrites_constraints: options.rewrite_constraints,
            prereleases: options.prereleases,
            complete_for: only_complete.then_some(&prepared.platforms),
            checks_named: true,
        };
        let search = Search { candidate, available: &available, source, rules };
        ProviderUpgrade { search, options, cache, dates }.plan()
    });
    let plan = |((plans, request), warnings): ((Result<Vec<_>>, &LockRequest<'_>), _)| {
        let mut plan = UpgradePlan::new(request, warnings);
        plans?.into_iter().for_each(|planned| plan.add(planned));
        Ok(plan)
    };
    planned.into_iter().zip(requests).zip(overridden).map(plan).collect()
}

fn pruned(request: &LockRequest<'_>) -> Vec<ProviderAddress> {
    let required = &request.requirements.providers;
    let locked = request.prepared.lock_file.locks().keys();
    locked.filter(|address| request.options.prune && !required.contains_key(address)).cloned().collect()
}

fn holding_back(requirement: &Requirement, version: &Version) -> Vec<Declaration> {
    let declarations = requirement.declarations.iter();
    let against =
        |declaration: &&Declaration| declaration.version.is_some() && !declaration.constraints.allows(version);
    let found: Vec<Declaration> = declarations.filter(against).cloned().collect();
    // A prerelease is allowed as soon as one declaration names it.
    if requirement.constraints.allows(version) { Vec::new() } else { found }
}

/// The upgrade of one provider.
struct ProviderUpgrade<'a> {
    search: Search<'a>,
    options: &'a UpgradeOptions,
    cache: Option<&'a HashCache>,
    dates: Option<&'a PublicationDates>,
}

impl ProviderUpgrade<'_> {
    fn plan(&self) -> Result<ProviderPlan> {
        let Search { candidate, available, source, .. } = &self.search;
        let counts = |version: &&Version| self.options.prereleases || !version.is_prerelease();
        let newest = available.versions.keys().rev().find(counts).or_else(|| available.versions.keys().next_back());
        let newest = newest.ok_or_else(|| candidate.no_match(available))?.clone();
        let wanted = candidate.chosen.map_or(Wanted::Newest, Wanted::Exactly);
        let chosen = self.unless_left(self.search.select(wanted)?);
        candidate.supported(&chosen.version, available)?;
        self.refuse_downgrade(&chosen)?;
        let requirement = chosen.rewrite.as_ref().map_or(candidate.requirement, |rewrite| &rewrite.requirement);
        let is_named = candidate.chosen.is_some();
        let is_held_back = !is_named && chosen.version < newest;
        let compared = self.compared(&chosen.version);
        let warnings = chosen.warnings.into_iter().chain(compared.warning(candidate, &chosen.version)).collect();
        let mut planned = PlannedUpgrade {
            address: candidate.address.clone(),
            locked: candidate.lock_file.locks().get(candidate.address).map(|locked| locked.version.clone()),
            held_back_by: if is_held_back { holding_back(requirement, &newest) } else { Vec::new() },
            is_named,
            skipped: chosen.skipped,
            allowed: chosen.version,
            newest,
            releases: ReleaseInfo::default(),
        };
        // A mirror is there so that no registry need be asked.
        let dates = self.dates.filter(|_| planned.moves() && source.mirror_of(&planned.address).is_none());
        if let Some(dates) = dates {
            planned.releases = dates.releases(&planned.address, &planned.allowed, &planned.newest);
        }
        Ok(ProviderPlan { planned, rewrite: chosen.rewrite, warnings, compared })
    }

    /// The locked version in place of one that is not among the moves that the user chose.
    fn unless_left(&self, chosen: Selected) -> Selected {
        let Candidate { address, lock_file, .. } = self.search.candidate;
        let moves = |moves: &BTreeSet<_>| moves.contains(&(address.clone(), chosen.version.clone()));
        match lock_file.locks().get(address) {
            Some(locked) if !self.options.moves.as_ref().is_none_or(moves) => locked.version.clone().into(),
            _ => chosen,
        }
    }

    /// Refuses a version below the locked one, unless that is what the constraints or the policy ask for: then
    /// `init -upgrade` goes down as well.
    fn refuse_downgrade(&self, chosen: &Selected) -> Result<()> {
        let Search { candidate, available, .. } = &self.search;
        let Some(locked) = candidate.lock_file.locks().get(candidate.address).map(|locked| &locked.version) else {
            return Ok(());
        };
        let must_go = !candidate.requirement.constraints.allows(locked) || candidate.not_allowed(locked).is_some();
        if self.options.allow_downgrade || chosen.version >= *locked || must_go {
            return Ok(());
        }
        let name = candidate.name();
        let message = format!("{name} would go down from {locked} to {}", chosen.version);
        let error = candidate.at_locked_version(Diagnostic::error(Code::Downgrade, message));
        let error = if available.versions.contains_key(locked) {
            error
        } else {
            error.note(format!("its source no longer lists {locked}"))
        };
        let provider = candidate.chosen.map_or_else(|| name.clone(), |version| format!("{name}@{version}"));
        let remedy = UpgradeRemedy { providers: vec![provider], allow_downgrade: true, ..UpgradeRemedy::default() };
        Err(error.help(Help::text("if an older version is meant: ").and(remedy)).into())
    }

    /// Compares the recorded hashes, if the entry is unchanged and that is requested.
    fn compared(&self, version: &Version) -> Compared {
        let Search { candidate, source, .. } = self.search;
        let kept = candidate.locked.filter(|old| self.options.compare_hashes && old.version == *version);
        let release = ReleaseLookup { address: candidate.address, version, source, progress: &|_, _| {} };
        kept.map(|old| Compared::with(&old.hashes, &release, &Packages::new(), self.cache)).unwrap_or_default()
    }
}
