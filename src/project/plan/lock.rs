//! `lock`: every required provider at one version, with hashes for every requested platform, as
//! OpenTofu's `internal/command/providers_lock.go` does it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::age::MinimumAge;
use super::compared::Compared;
use super::confirmation::Confirmation;
use super::explained::ReleaseLookup;
use super::kept_platforms::{self, KeptPlatforms};
use super::listing::{self, Listings};
use super::record::{Recorded, RecordingRules, record};
use super::select::{Candidate, Selected};
use crate::configuration::{Requirements, StateKnowledge};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Merged, Remedy, Result, UpgradeRemedy};
use crate::lockfile::{self, LockedProvider, Locks, ProviderDiff};
use crate::packages::archive::{HashCache, PackageId};
use crate::packages::{AvailableVersion, AvailableVersions, Packages, Platforms, ProgressSink, Source, SourceError};
use crate::project::options::LockOptions;
use crate::project::prepared::Prepared;
use crate::project::root_module::RootModule;
use crate::project::similar_names;
use crate::provider::{Dialect, Hostname, Platform, ProviderAddress, Version};
use crate::settings::{PlatformSelection, Policy};

#[derive(Clone, Copy)]
pub(crate) struct LockRequest<'a> {
    pub prepared: &'a Prepared,
    pub options: &'a LockOptions,
    /// Requirements of the configuration, after any edits.
    pub requirements: &'a Requirements,
    /// The versions that were chosen. Any other provider keeps its version, or gets the newest when it is not locked.
    pub versions: &'a BTreeMap<ProviderAddress, Version>,
    /// Known packages, from which the platforms of an entry are derived.
    pub cache: Option<&'a HashCache>,
    /// Minimum age of a version that is selected. Locked and named versions may be younger.
    pub minimum_age: Option<MinimumAge<'a>>,
    /// Registry data about providers, if the policy depends on it.
    pub listings: Option<Listings<'a>>,
}

impl<'a> LockRequest<'a> {
    /// The providers that get their first version: those that have no entry, and no predecessor to take a version over
    /// from.
    pub(crate) fn new_providers(&self) -> Vec<&'a ProviderAddress> {
        let (old, _) = carry_over(self);
        self.prepared.providers().filter(|address| !old.contains_key(*address)).collect()
    }

    pub(crate) fn providers(&self) -> Vec<&'a ProviderAddress> {
        self.prepared.providers().collect()
    }

    /// Whether more than lists of versions may be asked for before a version and its platforms are known.
    pub(super) fn asks_while_selecting(&self) -> bool {
        self.minimum_age.is_some() || self.prepared.platforms == PlatformSelection::All
    }
}

/// The new content of a lock file, and how it came about.
pub struct LockOutcome {
    /// All entries.
    pub locks: Locks,
    /// Results of the providers, in the order of their addresses.
    pub providers: Vec<ProviderReport>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Number of recorded hashes that belong to no published package.
    pub unpublished_hashes: usize,
    /// Number of recorded hashes that could not be compared with the published release.
    pub uncompared_hashes: usize,
}

/// Result of one provider.
#[derive(Clone)]
pub struct ProviderReport {
    /// Its entry before and after.
    pub difference: ProviderDiff,
    /// Whether the configuration requires it, or may do so.
    pub required: bool,
    /// The entry of the other program's registry that its version was carried over from.
    pub carried_over_from: Option<ProviderAddress>,
    /// The packages that were looked at.
    pub packages: Arc<Packages>,
    /// Platforms that the entry covers; `None` if a package with one of its `h1:` is not known. Determined only for an
    /// entry that keeps its version, where nobody names platforms.
    pub covered: Option<BTreeSet<Platform>>,
}

/// Entries, and from which entry the version of some of them was carried over.
pub(super) type CarriedOver = (Locks, BTreeMap<ProviderAddress, ProviderAddress>);

/// A provider's version and the platforms whose packages are needed of it.
pub(super) struct Plan<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) version: Version,
    pub(super) platforms: Cow<'a, [Platform]>,
    /// Whether an entry that stays gets no other platform than it covers.
    keeps_platforms: bool,
    /// Name of its mirror, if a mirror takes the place of the registry.
    mirror: Option<String>,
    kept: KeptPlatforms,
    warnings: Vec<Diagnostic>,
}

/// A plan with the packages that were fetched for it.
pub(super) struct Supplied<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) packages: Arc<Packages>,
    /// The new entry, where it was made for another root module that plans the same.
    pub(super) entry: &'a OnceLock<Recorded>,
}

impl Plan<'_> {
    /// Whether just the same is recorded for another plan of the same provider, if the entries before are the same.
    pub(super) fn records_the_same(&self, other: &Plan<'_>) -> bool {
        self.version == other.version
            && self.platforms == other.platforms
            && self.keeps_platforms == other.keeps_platforms
            && self.candidate.requirement.constraints == other.candidate.requirement.constraints
            && self.candidate.chosen.is_some() == other.candidate.chosen.is_some()
    }

    /// Returns an error for each rule of the policy that a package violates, at the declarations of the provider.
    fn against_signatures(&self, packages: &Packages, policy: &Policy) -> Diagnostics {
        let mut errors = Merged::default();
        if policy.rules.is_empty() {
            return Diagnostics::default();
        }
        let release = format!("{} {}", self.candidate.address.short(self.candidate.dialect), self.version);
        for package in packages.values() {
            let against = policy.against_signature(
                self.candidate.address,
                self.candidate.dialect,
                &release,
                &package.authentication,
            );
            for error in against {
                errors.merge(self.candidate.requirement.at_declarations(error));
            }
        }
        errors.into_diagnostics()
    }
}

/// Warns of providers that are taken from a directory of their developer. In Terraform's dialect they are not locked, as
/// in newer versions of `terraform init` (`internal/command/meta_providers.go`): no registry need have them, and their
/// entries are for other users. `tofu init` locks them like any other.
fn drop_dev_overrides(candidates: &mut Vec<Candidate<'_>>, source: &Source) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    candidates.retain(|candidate| {
        let Some(directory) = source.dev_override(candidate.address) else { return true };
        let (name, directory) = (candidate.address.short(candidate.dialect), directory.display());
        let is_locked = candidate.dialect == Dialect::Tofu;
        let warning = |message| Diagnostic::warning(Code::DevOverride, message);
        warnings.push(if is_locked {
            warning(format!("{name} is locked, although dev_overrides takes it from {directory}"))
                .note("tofu init does the same; what is in the directory is not looked at")
        } else {
            warning(format!("{name} is not locked: dev_overrides takes it from {directory}"))
                .note("its entry in the lock file, if any, is unchanged")
                .help(Help::text("to lock it, run without ").and(Remedy::UseCliConfiguration))
        });
        is_locked
    });
    warnings
}

/// The providers that each root module locks, given its entries with those that are carried over; and what there is to
/// say of the providers that are left out.
pub(super) fn candidates_of<'a>(
    requests: impl Iterator<Item = (&'a LockRequest<'a>, &'a CarriedOver)>,
    source: &Source,
) -> (Vec<Result<Vec<Candidate<'a>>>>, Vec<Vec<Diagnostic>>) {
    let of_root = |(request, (old, _)): (&'a LockRequest<'a>, &'a CarriedOver)| {
        let mut candidates = candidates(request, old);
        let overridden = candidates.as_mut().map(|list| drop_dev_overrides(list, source)).unwrap_or_default();
        (candidates, overridden)
    };
    requests.map(of_root).unzip()
}

/// The providers to lock, each with its entry and the version that was chosen for it.
fn candidates<'a>(request: &LockRequest<'a>, old: &'a Locks) -> Result<Vec<Candidate<'a>>> {
    let Prepared { root, lock_file, only, .. } = request.prepared;
    let (required, dialect, policy) = (&request.requirements.providers, root.dialect, &root.settings.policy);
    let unknown: Vec<_> = only.iter().filter(|address| !required.contains_key(address)).collect();
    if !unknown.is_empty() {
        let error = |address: &&ProviderAddress| {
            let message = format!("the configuration does not require {}", address.short(dialect));
            let help = similar_names::required_or_path(address, required, dialect);
            Diagnostic::error(Code::InvalidArgument, message).help(help)
        };
        return Err(unknown.iter().map(error).collect());
    }
    let selected = required.iter().filter(|(address, _)| only.is_empty() || only.contains(address));
    let is_exempt = |address| policy.is_exempt_from_min_age(address, dialect);
    let candidate = |(address, requirement)| Candidate {
        minimum_age: request.minimum_age.filter(|_| !is_exempt(address)),
        address,
        requirement,
        locked: old.get(address).map(Arc::as_ref),
        chosen: request.versions.get(address),
        lock_file,
        required,
        policy,
        dialect,
    };
    let candidates: Vec<_> = selected.map(candidate).collect();
    let not_allowed = candidates.iter().flat_map(|candidate: &Candidate<'_>| {
        let errors = policy.against_address(candidate.address, dialect).into_iter();
        errors.map(|error| candidate.requirement.at_declarations(error))
    });
    not_allowed.collect::<Diagnostics>().into_result(candidates)
}

pub(super) fn plan<'a>(
    candidate: Candidate<'a>,
    request: &LockRequest<'a>,
    source: &Source,
    progress: ProgressSink<'_>,
) -> Result<Plan<'a>> {
    let (address, prepared) = (candidate.address, request.prepared);
    let available = candidate.available(source)?;
    let Selected { version, warnings: selection_warnings, .. } = candidate.select(&available, source)?;
    let listed = available.versions.get(&version).map(|release| &release.platforms).filter(|listed| !listed.is_empty());
    let goes = |locked: &&LockedProvider| locked.version != version || request.options.accept_changed_hashes;
    let replaced = prepared.replaced.get(address).into_iter().flatten().map(Arc::as_ref);
    let follows_file = follows_file(&candidate, prepared, listed);
    let kept = match &prepared.platforms {
        PlatformSelection::These(platforms) if !prepared.platforms_are_named => {
            let new = ReleaseLookup { address, version: &version, source, progress };
            let old = candidate.locked.filter(goes).into_iter().chain(replaced);
            let found = old.map(|old| KeptPlatforms::find(old, &new, platforms, request.cache));
            found.reduce(KeptPlatforms::and).unwrap_or_default()
        }
        _ => KeptPlatforms::default(),
    };
    let platforms = match &prepared.platforms {
        PlatformSelection::These(platforms) => {
            let find = || kept_platforms::of_file(prepared.lock_file.locks(), source, request.cache);
            let of_file = follows_file.then(|| prepared.covered.get_or_init(find));
            let covered: BTreeSet<_> = of_file.into_iter().flatten().chain(&kept.platforms).collect();
            let is_listed = |platform: &&Platform| listed.is_none_or(|listed| listed.contains(platform));
            let covered = covered.into_iter().filter(is_listed).cloned().collect();
            or_covered(platforms, covered, kept.old_is_unknown())
        }
        PlatformSelection::All => source.platforms(address, &version)?.into_iter().collect(),
    };
    if platforms.is_empty() {
        // Without packages there would be no hashes, and any package would be accepted.
        let message = format!("no platform to lock {address} {version} for");
        let error = candidate.requirement.at_declarations(Diagnostic::error(Code::PlatformNotAvailable, message));
        return Err(error.help(Help::text("name the platforms, for example: ").and(Remedy::NamePlatforms)).into());
    }
    if let Some(listed) = listed
        && let Some(missing) = platforms.iter().find(|platform| !listed.contains(platform))
    {
        let package = PackageId::new(address, &version, missing);
        let error = Diagnostics::from(SourceError::platform_not_available(&package, listed.iter(), None));
        let Some(newest) = newest_with(missing, &available) else { return Err(error) };
        return Err(error.map(|error| with_newest(error, missing, newest, &candidate, prepared)));
    }
    let mut warnings: Vec<_> = available.warnings.iter().map(|text| listing::warning(address, text)).collect();
    if let Some(listings) = listings(&candidate, &version, request) {
        let RootModule { settings, dialect, .. } = &prepared.root;
        let errors = listings.against(address, &settings.policy, *dialect, source).into_iter();
        let errors = errors.map(|error| candidate.requirement.at_declarations(error));
        errors.collect::<Diagnostics>().into_result(())?;
        warnings.extend(listings.warnings(address));
    }
    warnings.extend(selection_warnings);
    let keeps_platforms = !prepared.platforms_are_named && !follows_file;
    Ok(Plan { candidate, version, platforms, keeps_platforms, mirror: source.mirror_of(address), kept, warnings })
}

/// The newest version that has a package for a platform. Not all versions are known offline.
fn newest_with<'a>(platform: &Platform, available: &'a AvailableVersions) -> Option<&'a Version> {
    let has_package = |(version, release): &(&Version, &AvailableVersion)| {
        !version.is_prerelease() && release.platforms.contains(platform) && release.unsupported_protocols.is_none()
    };
    let mut versions = available.versions.iter().rev().filter(|_| !available.is_partial);
    versions.find(has_package).map(|(version, _)| version)
}

/// Adds the newest version with a platform to the error that another version has no package for it.
fn with_newest(
    error: Diagnostic,
    platform: &Platform,
    newest: &Version,
    candidate: &Candidate<'_>,
    prepared: &Prepared,
) -> Diagnostic {
    let message = format!("{}; the newest version with {platform} is {newest}", error.message);
    let platforms = match &prepared.platforms {
        PlatformSelection::These(platforms)
            if prepared.root.settings.platforms.as_ref() != Some(&prepared.platforms) =>
        {
            Some(platforms.clone())
        }
        _ => None,
    };
    let remedy = UpgradeRemedy {
        platforms,
        providers: vec![format!("{}@{newest}", candidate.name())],
        constraints: !candidate.requirement.constraints.allows(newest),
        allow_downgrade: candidate.lock_file.entry(candidate.address).is_some_and(|old| old.locked.version > *newest),
        ..UpgradeRemedy::default()
    };
    let help = Help::text("remove the platform, or lock that version: ").and(remedy);
    Diagnostic { message, ..error }.help(help)
}

/// The platforms that are covered in place of those that nobody named; these, too, if there may be more.
fn or_covered(platforms: &[Platform], covered: Vec<Platform>, may_be_more: bool) -> Cow<'_, [Platform]> {
    if covered.is_empty() {
        return Cow::Borrowed(platforms);
    }
    let these = if may_be_more { platforms } else { &[] };
    let more = covered.into_iter().filter(|platform| !these.contains(platform));
    these.iter().cloned().chain(more).collect()
}

/// Whether a provider is locked for the platforms that the lock file covers, where nobody names platforms: it has fewer
/// `h1:` than other entries, unless these are as many as its release has packages, or no package for this machine.
fn follows_file(candidate: &Candidate<'_>, prepared: &Prepared, listed: Option<&Platforms>) -> bool {
    let PlatformSelection::These(platforms) = &prepared.platforms else { return false };
    let number = |locked: &LockedProvider| locked.platform_hashes().count();
    let own = candidate.locked.map_or(0, number);
    let is_elsewhere = listed.is_some_and(|listed| !platforms.iter().all(|platform| listed.contains(platform)));
    let is_complete = listed.is_some_and(|listed| own >= listed.iter().count());
    let covers_less = || !is_complete && prepared.lock_file.locks().values().any(|locked| number(locked) > own);
    !prepared.platforms_are_named && (is_elsewhere || covers_less())
}

/// Registry data about a provider, if the policy depends on it or the age of the version was looked up.
fn listings<'a>(candidate: &Candidate<'a>, version: &Version, request: &LockRequest<'a>) -> Option<Listings<'a>> {
    let of_age = candidate.minimum_age.filter(|_| candidate.locked.is_none_or(|locked| locked.version != *version));
    request.listings.or_else(|| of_age.map(|age| Listings { dates: age.dates, now: age.demanded.now }))
}

/// Joins the packages with the old entries. All errors are collected.
pub(super) fn assemble(
    request: &LockRequest<'_>,
    (old, carried_over): &CarriedOver,
    supplied: Vec<Supplied<'_>>,
    source: &Source,
    progress: ProgressSink<'_>,
) -> Result<LockOutcome> {
    let LockRequest { prepared, options, requirements, .. } = *request;
    let mut warnings = requirements.warnings.clone();
    let mut errors = Diagnostics::default();
    let mut new = Vec::with_capacity(supplied.len());
    let mut covered = BTreeMap::new();
    let (mut unpublished_hashes, mut uncompared_hashes) = (0, 0);
    for supplied in &supplied {
        let Supplied { plan, packages, .. } = supplied;
        warnings.extend(plan.warnings.iter().cloned());
        warnings.extend(packages.values().flat_map(|package| package.warnings.iter().cloned()));
        errors.extend(plan.against_signatures(packages, &prepared.root.settings.policy));
        let previous =
            old.get(plan.candidate.address).or_else(|| prepared.side_with(plan.candidate.address, &plan.version));
        let previous = previous.map(Arc::as_ref);
        match recorded(supplied, previous, request, source, progress) {
            Ok(Recorded { provider, warning, unpublished, uncompared, covered: platforms }) => {
                covered.insert(plan.candidate.address, platforms);
                unpublished_hashes += unpublished;
                uncompared_hashes += uncompared;
                warnings.extend(warning);
                let refusal = plan.kept.refusal(&plan.candidate, &plan.platforms, &provider);
                errors.extend(refusal.filter(|_| !prepared.platforms_are_named));
                new.push((plan.candidate.address.clone(), provider));
            }
            Err(more) => errors.extend(more),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut locks = old.clone();
    locks.append(&mut Locks::from_iter(new));
    if options.prune {
        warnings.extend(prune(&mut locks, requirements, prepared.root.dialect));
    }
    warnings.dedup();
    let differences = lockfile::diff(prepared.lock_file.locks(), &locks).entries;
    // Both are in the order of the addresses.
    let mut supplied = supplied.into_iter().peekable();
    let report = |difference: ProviderDiff| {
        let supplied = supplied.next_if(|supplied| *supplied.plan.candidate.address == difference.address);
        ProviderReport {
            required: supplied.is_some()
                || requirements.is_incomplete
                || requirements.providers.contains_key(&difference.address),
            carried_over_from: carried_over.get(&difference.address).cloned(),
            covered: covered.remove(&difference.address).flatten(),
            packages: supplied.map(|supplied| supplied.packages).unwrap_or_default(),
            difference,
        }
    };
    let providers = differences.into_iter().map(report).collect();
    Ok(LockOutcome { locks, providers, warnings, unpublished_hashes, uncompared_hashes })
}

/// Returns the entry that is recorded for a plan. One without a warning is reused for equal plans.
fn recorded(
    Supplied { plan, packages, entry }: &Supplied<'_>,
    previous: Option<&LockedProvider>,
    request: &LockRequest<'_>,
    source: &Source,
    progress: ProgressSink<'_>,
) -> Result<Recorded> {
    if let Some(recorded) = entry.get() {
        return Ok(recorded.clone());
    }
    let Plan { candidate, version, mirror, .. } = plan;
    let release = ReleaseLookup { address: candidate.address, version, source, progress };
    let kept = previous.filter(|old| old.version == *version && !old.hashes.is_empty());
    let confirmation = kept.map(|old| Confirmation::find(&old.hashes, &release, packages, request.cache));
    let confirmation = confirmation.unwrap_or(Confirmation::Confirmed);
    let compared = kept.map(|old| Compared::with(&old.hashes, &release, packages, request.cache)).unwrap_or_default();
    let accept_changed_hashes = request.options.accept_changed_hashes;
    let (version, mirror) = (version.clone(), mirror.as_deref());
    let rules = RecordingRules { mirror, accept_changed_hashes, keeps_platforms: plan.keeps_platforms };
    let recorded = record(candidate, previous, version, packages, rules, compared, confirmation)?;
    let covered = kept.filter(|_| !request.prepared.platforms_are_named);
    let covered = covered.and_then(|_| kept_platforms::of_entry(&recorded.provider, &release, packages, request.cache));
    let recorded = Recorded { covered, ..recorded };
    if recorded.warning.is_none() && recorded.unpublished == 0 {
        return Ok(entry.get_or_init(|| recorded).clone());
    }
    Ok(recorded)
}

/// Removes the entries that are not required, if it is known which are. Warns if the state may need one of them.
fn prune(locks: &mut Locks, requirements: &Requirements, dialect: Dialect) -> Option<Diagnostic> {
    let is_required = |address: &ProviderAddress| requirements.providers.contains_key(address);
    let not_required: Vec<_> = locks.keys().filter(|address| !is_required(address)).cloned().collect();
    if not_required.is_empty() {
        return None;
    }
    if requirements.is_incomplete {
        let message = "no entry is removed, because not everything that the configuration requires is known";
        return Some(Diagnostic::warning(Code::ProviderNotRequired, message));
    }
    locks.retain(|address, _| is_required(address));
    let StateKnowledge::Unknown(reason) = &requirements.state else { return None };
    let names = few(not_required.iter().map(|address| address.short(dialect)));
    let message = format!("--prune removes {names}, which the state may still need: {reason}");
    let help = format!("{dialect} init adds the entry again, with the newest version, if the state needs it");
    Some(Diagnostic::warning(Code::ProviderNotRequired, message).help(help))
}

/// Entries for OpenTofu's registry, made from those that Terraform left for its own: the version and the constraints,
/// but not the hashes, because the two registries' packages differ (OpenTofu's `internal/depsfile/locks.go`). The old
/// entries stay.
///
/// Like OpenTofu, takes over what is not required, too, but with `only` nothing else.
pub(super) fn carry_over(request: &LockRequest<'_>) -> CarriedOver {
    let Prepared { root, lock_file, only, .. } = request.prepared;
    let dialect = root.dialect;
    let locks = lock_file.locks();
    let mut new = locks.clone();
    let mut carried_over = BTreeMap::new();
    let predecessor = |address: &ProviderAddress| {
        address.hostname.as_ascii() == Dialect::Terraform.default_host_name() && address.namespace == "hashicorp"
    };
    if dialect == Dialect::Tofu {
        for (address, provider) in locks.iter().filter(|(address, _)| predecessor(address)) {
            let successor = address.at_host(Hostname::default_of(dialect));
            if !locks.contains_key(&successor) && (only.is_empty() || only.contains(&successor)) {
                let provider = LockedProvider { hashes: BTreeSet::new(), ..LockedProvider::clone(provider) };
                new.insert(successor.clone(), provider.into());
                carried_over.insert(successor, address.clone());
            }
        }
    }
    (new, carried_over)
}
