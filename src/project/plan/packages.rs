//! The packages that are needed of the selected versions.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::age::registry_warning;
use super::candidate::{Candidate, VersionRule};
use super::kept_platforms::{self, KeptPlatforms};
use super::prepared::Prepared;
use super::request::{LockRequest, RequestedData};
use super::select::{SelectedProvider, SelectedVersions, collect_or_merge_errors};
use super::shared_entries::{EntryRules, NewEntry};
use crate::diagnostic::{
    Code, Diagnostic, Diagnostics, Help, LockRemedy, Remedy, Result, RunOption, UpgradeRemedy,
};
use crate::lockfile::LockedProvider;
use crate::packages::archive::PackageId;
use crate::packages::{AvailableVersions, Packages, Platforms, Source, SourceError};
use crate::project::root_module::RootModule;
use crate::provider::{Platform, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, Permit};

/// A provider's version and the platforms whose packages are needed.
pub(crate) struct ProviderPlan<'a> {
    pub(super) candidate: Candidate<'a>,
    pub(super) version: &'a Version,
    /// The entry before: the locked one, or, in a merge, that of the only side with this version.
    pub(super) previous: Option<&'a Arc<LockedProvider>>,
    pub(super) platforms: Cow<'a, [Platform]>,
    pub(super) rules: EntryRules,
    /// Name of its mirror, if a mirror takes the place of the registry.
    pub(super) mirror: Option<String>,
    /// Platforms of the entry that the new one replaces.
    pub(super) replaced_platforms: KeptPlatforms,
    pub(super) warnings: Vec<Diagnostic>,
    /// The entry that was recorded for a root module that plans the same.
    pub(super) shared_entry: Option<Arc<NewEntry>>,
}

impl ProviderPlan<'_> {
    /// Its packages, in the order of the platforms.
    fn packages(&self) -> impl Iterator<Item = PackageId> {
        let Self {
            candidate,
            version,
            platforms,
            ..
        } = self;
        platforms
            .iter()
            .map(|platform| PackageId::new(candidate.address, version, platform))
    }

    /// Whether an entry was made from the same plan as this one, and from the same entry before.
    pub(super) fn has_made(&self, entry: &NewEntry) -> bool {
        let NewEntry {
            provider,
            packages,
            rules,
            previous,
            ..
        } = entry;
        *rules == self.rules
            && provider.version == *self.version
            && provider.constraints == self.candidate.requirement.constraints
            && packages.len() == self.platforms.len()
            && self
                .platforms
                .iter()
                .all(|platform| packages.contains_key(platform))
            && previous.as_ref() == self.previous
    }
}

/// Plans the packages of each selected version, several providers at a time. All errors are
/// collected.
pub(crate) fn plan_packages<'a>(
    request: &LockRequest<'a>,
    selection: &'a SelectedVersions,
    threads: &Permit<'_>,
) -> Result<Vec<ProviderPlan<'a>>> {
    let providers = selection.providers.iter().collect();
    let plans: Vec<_> = collect_or_merge_errors(parallel::map(
        providers,
        threads.threads(),
        |provider: &'a SelectedProvider| {
            let Some(requirement) = provider.requirement(request.prepared) else {
                return Ok(None);
            };
            let candidate = request.candidate(&provider.address, requirement, &selection.old);
            plan_provider(candidate, provider, request)
        },
    ))?;
    Ok(plans.into_iter().flatten().collect())
}

/// Fetches the packages of the plans for which no entry is known. The first platform of each
/// provider comes before the second of any, so that large packages are known early.
///
/// # Errors
/// Packages that cannot be fetched. After the first failure no others are fetched, unless a
/// different root module needs them.
pub(crate) fn fetch_packages(
    request: &LockRequest<'_>,
    plans: &[ProviderPlan<'_>],
) -> Result<Vec<Arc<Packages>>> {
    let source = request.source;
    let mut missing = Vec::new();
    for plan in plans {
        // The entry was made for another root module, with these packages.
        if plan.shared_entry.is_some() {
            continue;
        }
        for (index, package) in plan.packages().enumerate() {
            if !source.has_fetched(&package) {
                missing.push((index, package));
            }
        }
    }
    missing.sort_by_key(|(index, _)| *index);
    let missing = missing.into_iter();
    let is_complete =
        request.wait_for_answers(missing.map(|(_, package)| RequestedData::Package(package)));
    collect_or_merge_errors(
        plans
            .iter()
            .map(|plan| packages_of(plan, request, is_complete)),
    )
}

/// The packages of a plan. Unless all packages were fetched, the ones that were not are omitted,
/// which is an error of a different plan.
fn packages_of(
    plan: &ProviderPlan<'_>,
    request: &LockRequest<'_>,
    is_complete: bool,
) -> Result<Arc<Packages>> {
    if let Some(entry) = &plan.shared_entry {
        return Ok(Arc::clone(&entry.packages));
    }
    let source = request.source;
    let mut results = Vec::new();
    for package in plan.packages() {
        if !is_complete && !source.has_fetched(&package) {
            continue;
        }
        results.push(match source.fetch_once(&package, request.run.progress) {
            Ok(fetched) => Ok((package.platform, fetched)),
            Err(error) => Err(error.into()),
        });
    }
    let packages: Packages = collect_or_merge_errors(results)?;
    Ok(Arc::new(packages))
}

/// Plans the packages of the selected version of a provider: selects the platforms, and checks that
/// they exist and that the policy allows the provider. `None` if the settings exempt the provider
/// from all platforms, and its entry is left as it is.
fn plan_provider<'a>(
    candidate: Candidate<'a>,
    selected: &'a SelectedProvider,
    request: &LockRequest<'a>,
) -> Result<Option<ProviderPlan<'a>>> {
    let prepared = request.prepared;
    let source = request.source;
    let version = &selected.version;

    // 1. Select the platforms.
    let available = candidate.read_available(source)?;
    let listed = listed_platforms(version, &available);
    let follows_covered = follows_covered_platforms(&candidate, prepared, listed);
    let kept = platforms_to_keep(&candidate, version, request);
    let platforms = match &prepared.platforms {
        PlatformSelection::These(platforms) => {
            let mut covered: BTreeSet<&Platform> = kept.platforms.iter().collect();
            if follows_covered {
                let locks = prepared.lock_file.locks();
                covered.extend(prepared.covered.get_or_init(|| {
                    kept_platforms::covered_by_lock_file(locks, source, request.run.cache)
                }));
            }
            // Covered platforms may be ones that the new version is no longer published for.
            if let Some(listed) = listed {
                covered.retain(|platform| listed.contains(platform));
            }
            let covered = covered.into_iter().cloned().collect();
            covered_or_default(platforms, covered, kept.unexplained > 0)
        }
        PlatformSelection::All => source
            .platforms(candidate.address, version)?
            .into_iter()
            .collect(),
    };
    let platforms = without_exempted_platforms(&candidate, platforms, prepared);
    // The settings exempt the provider from all platforms.
    if platforms.is_empty() && has_unchanged_entry(&candidate, version) {
        return Ok(None);
    }

    // 2. Check that they exist.
    let mut warnings = Vec::new();
    for text in &available.warnings {
        warnings.push(registry_warning(candidate.address, text));
    }
    warnings.extend(needless_exemption_warnings(
        &candidate, version, listed, prepared,
    ));
    let side = prepared.only_conflict_side_with(candidate.address, version);
    let previous = candidate.old_entry.or(side);
    let mut plan = ProviderPlan {
        candidate,
        version,
        previous,
        platforms,
        rules: EntryRules {
            source: Arc::as_ptr(source).addr(),
            keeps_platforms: !prepared.platforms_are_named && !follows_covered,
            keeps_version: candidate.version_rule == VersionRule::Keep,
            platforms_are_named: prepared.platforms_are_named,
        },
        mirror: source.mirror_of(candidate.address),
        replaced_platforms: kept,
        warnings,
        shared_entry: None,
    };
    check_platforms(&plan, &available, prepared)?;

    // 3. Check the policy's rules about the provider as a whole. Its warnings are shown if its
    // registry data is needed anyway: for the policy, or for the age of a first version.
    let RootModule {
        settings, dialect, ..
    } = &prepared.root;
    let has_looked_up_age = candidate.minimum_age.is_some() && !candidate.is_locked_at(version);
    let is_needed = settings.policy.depends_on_registry_data()
        || (request.run.provider_upgrade().is_none() && has_looked_up_age);
    if is_needed && let Some(registry_data) = request.registry_data {
        let mut errors = Diagnostics::default();
        for error in
            registry_data.policy_violations(candidate.address, &settings.policy, *dialect, source)
        {
            errors.push(candidate.requirement.at_declarations(error));
        }
        errors.into_result(())?;
        plan.warnings
            .extend(registry_data.registry_warnings(candidate.address));
    }
    plan.warnings.extend(selected.warnings.iter().cloned());
    plan.warnings
        .extend(stopped_init_warning(&candidate, version, source));

    // 4. Find the entry that another root module has recorded for the same plan.
    plan.shared_entry = request
        .run
        .shared_entries
        .find(candidate.address, |entry| plan.has_made(entry));
    Ok(Some(plan))
}

/// Removes the platforms for which the provider has no package according to the settings.
fn without_exempted_platforms<'a>(
    candidate: &Candidate<'_>,
    platforms: Cow<'a, [Platform]>,
    prepared: &Prepared,
) -> Cow<'a, [Platform]> {
    let missing = &prepared.root.settings.without_platforms;
    let mut existing = platforms.to_vec();
    existing.retain(|platform| !missing.has(candidate.address, candidate.dialect, platform));
    if existing.len() == platforms.len() {
        return platforms;
    }
    existing.into()
}

/// Whether the provider has an entry that need not change, so that nothing is to be done if none of
/// the requested platforms exists.
fn has_unchanged_entry(candidate: &Candidate<'_>, version: &Version) -> bool {
    candidate.old_entry.is_some_and(|locked| {
        locked.version == *version
            && locked.constraints == candidate.requirement.constraints
            && locked.platform_hashes().next().is_some()
    })
}

/// Warnings about platforms that the version has although the settings exempt the provider from
/// them.
fn needless_exemption_warnings(
    candidate: &Candidate<'_>,
    version: &Version,
    listed: Option<&Platforms>,
    prepared: &Prepared,
) -> Vec<Diagnostic> {
    let Some(listed) = listed else {
        return Vec::new();
    };
    let release = format!("{} {version}", candidate.name());
    let missing = &prepared.root.settings.without_platforms;
    missing
        .of(candidate.address, candidate.dialect)
        .filter(|missing| listed.contains(&missing.platform))
        .map(|missing| missing.exists(&release))
        .collect()
}

/// The platforms of the entries that the new one replaces, if no platforms are specified.
fn platforms_to_keep(
    candidate: &Candidate<'_>,
    version: &Version,
    request: &LockRequest<'_>,
) -> KeptPlatforms {
    let prepared = request.prepared;
    // What the user names replaces what was covered before.
    if prepared.platforms_are_named {
        return KeptPlatforms::default();
    }
    let mut replaced = Vec::new();
    // An entry that keeps its version keeps its hashes, unless the user accepts changed ones.
    if let Some(locked) = candidate.old_entry
        && (locked.version != *version || request.run.options.accept_changed_hashes)
    {
        replaced.push(locked);
    }
    // In a merge, the new entry replaces the entries of both sides.
    replaced.extend(
        prepared
            .conflict_sides
            .get(candidate.address)
            .into_iter()
            .flatten(),
    );

    let new = request.release_lookup(candidate.address, version);
    let named = prepared.platforms.named();
    let mut kept: Option<KeptPlatforms> = None;
    for old in replaced {
        let platforms = KeptPlatforms::of_replaced_entry(old, &new, named);
        kept = Some(match kept {
            Some(kept) => kept.and(platforms),
            None => platforms,
        });
    }
    kept.unwrap_or_default()
}

/// Returns a warning about a mirror at which `init` stops, although provlock goes on to the next
/// installation method of the CLI configuration.
fn stopped_init_warning(
    candidate: &Candidate<'_>,
    version: &Version,
    source: &Source,
) -> Option<Diagnostic> {
    let mirror = source.mirror_without(candidate.address, version)?;
    let name = candidate.name();
    let init = format!("{} init", candidate.dialect);
    let message = format!("{mirror} has no {name} {version}, so {init} fails");
    let warning = Diagnostic::warning(Code::ProviderNotFound, message).note(format!(
        "{init} requests each version at the first network mirror that may have the provider"
    ));
    Some(candidate.requirement.at_declarations(warning).help(format!(
        "put the version into the mirror, or add \"{}\" to `exclude` of its network_mirror block",
        candidate.address
    )))
}

/// Fails for a platform without a package. A plan must have a platform.
fn check_platforms(
    ProviderPlan {
        candidate,
        version,
        platforms,
        ..
    }: &ProviderPlan<'_>,
    available: &AvailableVersions,
    prepared: &Prepared,
) -> Result<()> {
    let address = candidate.address;
    if platforms.is_empty() {
        // Without packages there would be no hashes, and `init` would accept any package.
        let message = format!("no platform to lock {address} {version} for");
        let error = candidate
            .requirement
            .at_declarations(Diagnostic::error(Code::PlatformNotAvailable, message));
        let missing = &prepared.root.settings.without_platforms;
        let error = error.at_each(
            missing
                .of(address, candidate.dialect)
                .map(|missing| &missing.location),
            "exempted here",
        );
        return Err(error
            .help(Help::text("name the platforms, for example: ").and(RunOption::NamePlatforms))
            .into());
    }
    // A network mirror lists versions without platforms; a missing package is then found by its
    // request.
    let Some(listed) = listed_platforms(version, available) else {
        return Ok(());
    };
    let Some(missing) = platforms.iter().find(|platform| !listed.contains(platform)) else {
        return Ok(());
    };
    let package = PackageId::new(address, version, missing);
    let errors = Diagnostics::from(SourceError::platform_not_among(&package, listed.iter()));
    let are_from_settings = prepared.root.settings.platforms.as_ref() == Some(&prepared.platforms);
    let Some(newest) = newest_version_for(missing, available) else {
        // The remedies are commands with platforms: they change no settings, and no merge, which
        // names its files.
        let is_merge = !prepared.conflict_sides.is_empty();
        if available.is_partial {
            return Err(errors);
        }
        if are_from_settings || is_merge {
            let help = Help::text("remove the platform; ").and_exempt(candidate.name(), missing);
            return Err(errors.map(|error| error.help(help.clone())));
        }
        let platforms = Some(Vec::new());
        let lock_all: Remedy = if candidate.version_rule == VersionRule::Keep {
            LockRemedy {
                platforms,
                ..LockRemedy::default()
            }
            .into()
        } else {
            UpgradeRemedy {
                platforms,
                ..UpgradeRemedy::default()
            }
            .into()
        };
        let help = Help::text("no version has it; to lock the platforms that exist: ");
        return Err(errors.map(|error| error.help(help.clone().and(lock_all.clone()))));
    };
    let remedy = UpgradeRemedy {
        platforms: (!are_from_settings).then(|| prepared.platforms.named().to_vec()),
        providers: vec![format!("{}@{newest}", candidate.name())],
        constraints: !candidate.requirement.constraints.allows(newest),
        allow_downgrade: candidate
            .lock_file
            .entry(address)
            .is_some_and(|old| old.locked.version > *newest),
    };
    let help = Help::text("remove the platform, or lock that version: ").and(remedy);
    Err(errors.map(|error| {
        let message = format!(
            "{}; the newest version with {missing} is {newest}",
            error.message
        );
        Diagnostic { message, ..error }.help(help.clone())
    }))
}

/// Returns the newest version with a package for a platform; `None` if there is none, or if not all
/// versions are known, as offline.
fn newest_version_for<'a>(
    platform: &Platform,
    available: &'a AvailableVersions,
) -> Option<&'a Version> {
    if available.is_partial {
        return None;
    }
    for (version, release) in available.versions.iter().rev() {
        if !version.is_prerelease()
            && release.platforms.contains(platform)
            && release.unsupported_protocols.is_none()
        {
            return Some(version);
        }
    }
    None
}

/// The platforms for which a version has packages, if they are known.
fn listed_platforms<'a>(
    version: &Version,
    available: &'a AvailableVersions,
) -> Option<&'a Platforms> {
    available
        .versions
        .get(version)
        .map(|release| &release.platforms)
        .filter(|listed| !listed.is_empty())
}

/// Returns the covered platforms in place of the default ones, or together with these if more may
/// be covered.
fn covered_or_default(
    platforms: &[Platform],
    covered: Vec<Platform>,
    may_be_more: bool,
) -> Cow<'_, [Platform]> {
    if covered.is_empty() {
        return Cow::Borrowed(platforms);
    }
    let mut all = Vec::new();
    if may_be_more {
        all.extend_from_slice(platforms);
    }
    for platform in covered {
        if !all.contains(&platform) {
            all.push(platform);
        }
    }
    all.into()
}

/// Whether a provider is locked for all platforms that the lock file covers. It is if no platforms
/// are specified, and its entry has fewer `h1:` than a different one (but not as many as its
/// release has packages), or the release has no package for this machine.
fn follows_covered_platforms(
    candidate: &Candidate<'_>,
    prepared: &Prepared,
    listed: Option<&Platforms>,
) -> bool {
    if prepared.platforms_are_named {
        return false;
    }
    let mut own_h1 = 0;
    if let Some(locked) = candidate.old_entry {
        own_h1 = locked.platform_hashes().count();
    }
    if let Some(listed) = listed {
        let mut platforms = prepared.platforms.named().iter();
        // The default is this machine, and there is no package for it.
        if !platforms.all(|platform| listed.contains(platform)) {
            return true;
        }
        // The entry covers all platforms of the release.
        if own_h1 >= listed.iter().count() {
            return false;
        }
    }
    prepared
        .lock_file
        .locks()
        .values()
        .any(|locked| locked.platform_hashes().count() > own_h1)
}
