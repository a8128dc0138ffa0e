//! The packages that are needed of the selected versions.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::age::{Listings, registry_warning};
use super::candidate::Candidate;
use super::kept_platforms::{self, KeptPlatforms};
use super::request::LockRequest;
use super::select::{SelectedProvider, SelectedVersions, collected};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result, UpgradeRemedy};
use crate::lockfile::LockedProvider;
use crate::packages::archive::PackageId;
use crate::packages::{AvailableVersion, AvailableVersions, Platforms, SourceError};
use crate::project::prepared::Prepared;
use crate::project::root_module::RootModule;
use crate::provider::{Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel;

/// A provider's version and the platforms whose packages are needed.
pub(crate) struct ProviderPlan<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) version: &'a Version,
    pub(super) platforms: Cow<'a, [Platform]>,
    /// Whether an entry that stays gets no other platform than it covers.
    pub(super) keeps_platforms: bool,
    /// Name of its mirror, if a mirror takes the place of the registry.
    pub(super) mirror: Option<String>,
    /// Platforms of the entry that the new one replaces.
    pub(super) kept: KeptPlatforms,
    pub(super) warnings: Vec<Diagnostic>,
}

impl ProviderPlan<'_> {
    /// Its packages, in the order of the platforms.
    pub(super) fn packages(&self) -> impl Iterator<Item = PackageId> {
        let Self { candidate, version, platforms, .. } = self;
        platforms.iter().map(|platform| PackageId::new(candidate.address, version, platform))
    }
}

/// Plans the packages of each selected version, several providers at a time. All errors are collected.
pub(crate) fn plan_packages<'a>(
    request: &LockRequest<'a>,
    selection: &'a SelectedVersions,
    threads: usize,
) -> Result<Vec<ProviderPlan<'a>>> {
    let plan = |provider: &'a SelectedProvider| {
        let Some(requirement) = provider.requirement(request.prepared) else { return Ok(None) };
        let candidate = request.candidate(&provider.address, requirement, &selection.old);
        plan(candidate, provider, request).map(Some)
    };
    let plans = collected(parallel::map(selection.providers.iter().collect(), threads, plan))?;
    Ok(plans.into_iter().flatten().collect())
}

fn plan<'a>(
    candidate: Candidate<'a>,
    SelectedProvider { selected, .. }: &'a SelectedProvider,
    request: &LockRequest<'a>,
) -> Result<ProviderPlan<'a>> {
    let (prepared, source, version) = (request.prepared, request.source, &selected.version);
    let available = candidate.available(source)?;
    let listed = available.versions.get(version).map(|release| &release.platforms).filter(|listed| !listed.is_empty());
    let follows_file = follows_file(&candidate, prepared, listed);
    let kept = kept_platforms(&candidate, version, request);
    let platforms = match &prepared.platforms {
        PlatformSelection::These(platforms) => {
            let find = || kept_platforms::of_file(prepared.lock_file.locks(), source, request.cache);
            let of_file = follows_file.then(|| prepared.covered.get_or_init(find));
            let covered: BTreeSet<_> = of_file.into_iter().flatten().chain(&kept.platforms).collect();
            let is_listed = |platform: &&Platform| listed.is_none_or(|listed| listed.contains(platform));
            let covered = covered.into_iter().filter(is_listed).cloned().collect();
            or_covered(platforms, covered, kept.old_is_unknown())
        }
        PlatformSelection::All => source.platforms(candidate.address, version)?.into_iter().collect(),
    };
    check_platforms(&candidate, version, &platforms, &available, prepared)?;
    let mut warnings: Vec<_> =
        available.warnings.iter().map(|text| registry_warning(candidate.address, text)).collect();
    if let Some(listings) = listings(&candidate, version, request) {
        let RootModule { settings, dialect, .. } = &prepared.root;
        let errors = listings.against(candidate.address, &settings.policy, *dialect, source).into_iter();
        let errors = errors.map(|error| candidate.requirement.at_declarations(error));
        errors.collect::<Diagnostics>().into_result(())?;
        warnings.extend(listings.warnings(candidate.address));
    }
    warnings.extend(selected.warnings.iter().cloned());
    let keeps_platforms = !prepared.platforms_are_named && !follows_file;
    let mirror = source.mirror_of(candidate.address);
    Ok(ProviderPlan { candidate, version, platforms, keeps_platforms, mirror, kept, warnings })
}

/// The platforms of the entries that the new one replaces, if no platforms are specified.
fn kept_platforms(candidate: &Candidate<'_>, version: &Version, request: &LockRequest<'_>) -> KeptPlatforms {
    let LockRequest { prepared, options, .. } = *request;
    let PlatformSelection::These(platforms) = &prepared.platforms else { return KeptPlatforms::default() };
    if prepared.platforms_are_named {
        return KeptPlatforms::default();
    }
    let is_replaced = |locked: &&LockedProvider| locked.version != *version || options.accept_changed_hashes;
    let sides = prepared.replaced.get(candidate.address).into_iter().flatten().map(AsRef::as_ref);
    let new = request.release(candidate.address, version);
    let old = candidate.locked.filter(is_replaced).into_iter().chain(sides);
    let found = old.map(|old| KeptPlatforms::find(old, &new, platforms));
    found.reduce(KeptPlatforms::and).unwrap_or_default()
}

/// Fails for a platform without a package. `platforms` must not be empty.
fn check_platforms(
    candidate: &Candidate<'_>,
    version: &Version,
    platforms: &[Platform],
    available: &AvailableVersions,
    prepared: &Prepared,
) -> Result<()> {
    let address = candidate.address;
    if platforms.is_empty() {
        // Without packages there would be no hashes, and `init` would accept any package.
        let message = format!("no platform to lock {address} {version} for");
        let error = candidate.requirement.at_declarations(Diagnostic::error(Code::PlatformNotAvailable, message));
        return Err(error.help(Help::text("name the platforms, for example: ").and(Remedy::NamePlatforms)).into());
    }
    let listed = available.versions.get(version).map(|release| &release.platforms).filter(|listed| !listed.is_empty());
    let Some(listed) = listed else { return Ok(()) };
    let Some(missing) = platforms.iter().find(|platform| !listed.contains(platform)) else { return Ok(()) };
    let package = PackageId::new(address, version, missing);
    let error = Diagnostics::from(SourceError::platform_not_available(&package, listed.iter(), None));
    let Some(newest) = newest_with(missing, available) else { return Err(error) };
    Err(error.map(|error| with_newest(error, missing, newest, candidate, prepared)))
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

/// The covered platforms, in place of the default; together with it if more may be covered.
fn or_covered(platforms: &[Platform], covered: Vec<Platform>, may_be_more: bool) -> Cow<'_, [Platform]> {
    if covered.is_empty() {
        return Cow::Borrowed(platforms);
    }
    let these = if may_be_more { platforms } else { &[] };
    let more = covered.into_iter().filter(|platform| !these.contains(platform));
    these.iter().cloned().chain(more).collect()
}

/// Whether a provider is locked for the platforms that the lock file covers, if none are specified: it has fewer
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
    if request.upgrade.is_some() {
        return None;
    }
    let of_age = candidate.minimum_age.filter(|_| candidate.locked.is_none_or(|locked| locked.version != *version));
    request.listings.or_else(|| of_age.map(|age| Listings { dates: age.dates, now: age.demanded.now }))
}
