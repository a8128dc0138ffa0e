//! The new content of a lock file: the old entries, and new entries for the fetched packages.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::candidate::Candidate;
use super::packages::ProviderPlan;
use super::record::record;
use super::refused_by_init::refused_by_init;
use super::request::{LockRequest, OldEntries};
use super::select::SelectedVersions;
use super::shared_entries::{NewEntry, UnconfirmedHashes};
use crate::configuration::Requirements;
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Collector, Diagnostic, Diagnostics, Help, Result, RunOption};
use crate::lockfile::{self, CanonicalBlock, Locks, ProviderDiff};
use crate::packages::Packages;
use crate::provider::{Dialect, Platform, ProviderAddress};

/// The new content of a lock file, with the results of its providers.
pub struct LockOutcome {
    /// All entries.
    pub locks: Locks,
    /// Results of the providers, in the order of their addresses.
    pub providers: Vec<ProviderReport>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Numbers of recorded hashes that differ from the published release, or may do so.
    pub counts: UnconfirmedHashes,
}

/// Result of one provider.
#[derive(Clone)]
pub struct ProviderReport {
    /// Its entry before and after.
    pub difference: ProviderDiff,
    /// Whether the configuration requires it, or may do so.
    pub required: bool,
    /// Whether its entry was checked or made. Otherwise it is as before: nothing requires it, or
    /// others were named.
    pub is_checked: bool,
    /// The entry of the registry of the other dialect that its version was carried over from.
    pub carried_over_from: Option<ProviderAddress>,
    /// The packages that were checked.
    pub packages: Arc<Packages>,
    /// Platforms that the entry covers; `None` if a package with one of its `h1:` is not known.
    /// Determined only for an entry that keeps its version, if no platforms are specified.
    pub covered: Option<BTreeSet<Platform>>,
    /// The entry that was recorded, which root modules share. `None` if it was not checked.
    recorded: Option<Arc<NewEntry>>,
}

impl LockOutcome {
    /// The canonical blocks of all entries, in their order; `None` unless all were recorded.
    pub(crate) fn canonical_blocks(&self) -> Option<Vec<&CanonicalBlock>> {
        let mut blocks = Vec::with_capacity(self.locks.len());
        for ProviderReport {
            difference,
            recorded,
            ..
        } in &self.providers
        {
            if difference.new.is_some() {
                blocks.push(recorded.as_ref()?.canonical_block(&difference.address));
            }
        }
        Some(blocks)
    }
}

/// Records an entry for each plan, from its packages, and joins them with the old entries. All
/// errors are collected.
pub(crate) fn record_entries(
    request: &LockRequest<'_>,
    selection: &SelectedVersions,
    plans: &[ProviderPlan<'_>],
    packages: Vec<Arc<Packages>>,
) -> Result<LockOutcome> {
    let prepared = request.prepared;
    let mut warnings = prepared.requirements.warnings.clone();
    // Only `init` refuses these requirements. `providers lock` ignores them, so they are warnings
    // here.
    for finding in refused_by_init(&prepared.requirements, prepared.root.dialect) {
        warnings.push(finding.into_warning());
    }
    let mut errors = Diagnostics::default();
    let mut entries = Vec::with_capacity(plans.len());
    for (plan, packages) in plans.iter().zip(packages) {
        warnings.extend(plan.warnings.iter().cloned());
        warnings.extend(
            packages
                .values()
                .flat_map(|package| package.warnings.iter().cloned()),
        );
        errors.extend(signature_violations(plan, &packages, request));
        match known_or_new_entry(plan, packages, request) {
            Ok(entry) => {
                warnings.extend(entry.warning.clone());
                errors.extend(plan.replaced_platforms.fewer_platforms_error(
                    &plan.candidate,
                    &plan.platforms,
                    &entry.provider,
                    request.run.options,
                ));
                entries.push((plan.candidate.address, entry));
            }
            Err(more) => errors.extend(more),
        }
    }
    errors.into_result(())?;
    if !plans.is_empty() {
        warnings.extend(warning_rules_unchecked_offline(request));
    }
    let mut outcome = join_entries(request, &selection.old, entries, warnings);
    outcome.warnings.extend(selection.warnings.iter().cloned());
    Ok(outcome)
}

/// Returns the entry of a plan: an entry that another root module has recorded for the same plan,
/// or else a new entry, which is kept for other root modules unless it depends on the lock file of
/// this one.
fn known_or_new_entry(
    plan: &ProviderPlan<'_>,
    packages: Arc<Packages>,
    request: &LockRequest<'_>,
) -> Result<Arc<NewEntry>> {
    if let Some(entry) = &plan.shared_entry {
        return Ok(Arc::clone(entry));
    }
    let entry = Arc::new(record(plan, request, packages)?);
    if entry.depends_on_lock_file() {
        return Ok(entry);
    }
    let entries = &request.run.shared_entries;
    Ok(entries.keep_or_find_same(plan.candidate.address, entry, |other| plan.has_made(other)))
}

/// Returns an error for each rule about signatures that a package violates, at the declarations of
/// the provider.
fn signature_violations(
    plan: &ProviderPlan<'_>,
    packages: &Packages,
    request: &LockRequest<'_>,
) -> Diagnostics {
    let policy = &request.prepared.root.settings.policy;
    if policy.rules.is_empty() {
        return Diagnostics::default();
    }
    let Candidate {
        address,
        dialect,
        requirement,
        ..
    } = plan.candidate;
    let release = format!("{} {}", address.short(dialect), plan.version);
    let mut errors = Vec::new();
    for package in packages.values() {
        let authentication = &package.authentication;
        for mut error in policy.against_signature(address, dialect, &release, authentication) {
            if request.run.is_offline {
                error.message = format!(
                    "the key that signed {release} is unknown offline, and the policy requires a signature"
                );
                error = error.help(Help::text("run the command without ").and(RunOption::Offline));
            }
            errors.push(requirement.at_declarations(error));
        }
    }
    Collector::default().merged(errors)
}

/// The warning that rules about providers as a whole were not checked, because the run is offline.
/// `None` if they were, or if there are none.
fn warning_rules_unchecked_offline(request: &LockRequest<'_>) -> Option<Diagnostic> {
    let policy = &request.prepared.root.settings.policy;
    if !request.run.is_offline || !policy.depends_on_registry_data() {
        return None;
    }
    let (code, rules) = match (policy.min_provider_age().is_some(), policy.judges_tiers()) {
        (true, true) => (Code::ProviderTooYoung, "min-provider-age and tiers"),
        (true, false) => (Code::ProviderTooYoung, "min-provider-age"),
        (false, _) => (Code::TierNotAllowed, "tiers"),
    };
    let message = format!("{rules} of the policy cannot be checked offline");
    Some(
        Diagnostic::warning(code, message)
            .help(Help::text("run the command without ").and(RunOption::Offline)),
    )
}

/// The old entries with the recorded ones, which replace them, and the changes that this makes.
fn join_entries(
    request: &LockRequest<'_>,
    old: &OldEntries,
    entries: Vec<(&ProviderAddress, Arc<NewEntry>)>,
    mut warnings: Vec<Diagnostic>,
) -> LockOutcome {
    let requirements = &request.prepared.requirements;
    let mut locks = old.locks.clone();
    for (address, entry) in &entries {
        locks.insert((*address).clone(), Arc::clone(&entry.provider));
    }
    if request.run.options.prune {
        warnings.extend(prune_entries(
            &mut locks,
            requirements,
            request.prepared.root.dialect,
        ));
    }
    let mut malformed = request
        .prepared
        .lock_file
        .kept_malformed_hashes(|address, hash| {
            let entry = locks.get(address);
            request.prepared.is_selected(address)
                && entry.is_some_and(|entry| entry.hashes.contains(hash))
        });
    malformed.extend(request.prepared.malformed_module_hashes());
    // A malformed hash is that of no package.
    let mut counts = UnconfirmedHashes {
        unpublished: malformed.len(),
        ..UnconfirmedHashes::default()
    };
    warnings.extend(malformed.into_iter().map(Diagnostic::into_warning));
    // The packages of a provider have the same warnings.
    warnings.dedup();
    for (_, entry) in &entries {
        counts += entry.counts;
    }
    counts.uncompared +=
        request.count_uncompared_hashes(&locks, entries.iter().map(|(address, _)| *address));

    let mut providers = Vec::new();
    // The recorded entries and the differences are both in the order of the addresses.
    let mut entries = entries.into_iter().peekable();
    for difference in lockfile::diff(request.prepared.lock_file.locks(), &locks).entries {
        let address = &difference.address;
        let mut report = ProviderReport {
            is_checked: false,
            required: requirements.is_incomplete || requirements.providers.contains_key(address),
            carried_over_from: old.carried_over.get(address).cloned(),
            covered: None,
            packages: Arc::default(),
            difference: difference.clone(),
            recorded: None,
        };
        if let Some((_, entry)) = entries.next_if(|(other, _)| *other == address) {
            report.is_checked = true;
            report.required = true;
            report.covered.clone_from(&entry.covered);
            report.packages = Arc::clone(&entry.packages);
            report.recorded = Some(entry);
        }
        providers.push(report);
    }
    LockOutcome {
        locks,
        providers,
        warnings,
        counts,
    }
}

/// Removes the entries that are not required, if it is known which are. Returns a warning if it is
/// not, or if the state may need one of the removed entries.
fn prune_entries(
    locks: &mut Locks,
    requirements: &Requirements,
    dialect: Dialect,
) -> Option<Diagnostic> {
    let mut not_required: Vec<_> = locks.keys().cloned().collect();
    not_required.retain(|address| !requirements.providers.contains_key(address));
    if not_required.is_empty() {
        return None;
    }
    // A module that is not known may require any of the entries.
    if requirements.is_incomplete {
        let message = "no entry is removed, because the requirements of the configuration are not completely known";
        return Some(Diagnostic::warning(Code::ProviderNotRequired, message));
    }
    locks.retain(|address, _| requirements.providers.contains_key(address));
    if let Some(warning) = unused_state_warning(&not_required, requirements, dialect) {
        return Some(warning);
    }
    let reason = requirements.unknown_state()?;
    let names = first_few(not_required.iter().map(|address| address.short(dialect)));
    let message = format!("pruning removes {names}, which the state may still need: {reason}");
    let help = format!(
        "{dialect} init adds the entry again, with the newest version, if the state needs it"
    );
    Some(Diagnostic::warning(Code::ProviderNotRequired, message).help(help))
}

/// The warning about removed entries that a state file needs which the backend does not use. That
/// state was probably not copied yet. `None` if there is no such entry.
fn unused_state_warning(
    removed: &[ProviderAddress],
    requirements: &Requirements,
    dialect: Dialect,
) -> Option<Diagnostic> {
    let mut needed = Vec::new();
    let mut state_file = None;
    for address in removed {
        if let Some(path) = requirements.unused_state.get(address) {
            needed.push(address.short(dialect));
            state_file = state_file.or(Some(path));
        }
    }
    let state_file = state_file?;
    let message = format!(
        "pruning removes {}, which the state in {} still needs; the backend does not use that file",
        first_few(needed),
        state_file.display()
    );
    let help = format!(
        "if {dialect} init is yet to copy that state to the backend, restore the entry, because init would add it again with the newest version"
    );
    Some(Diagnostic::warning(Code::ProviderNotRequired, message).help(help))
}
