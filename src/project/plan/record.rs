//! Hashes of a new lock file entry, and entries that contradict the published release (OpenTofu's
//! `internal/providercache/installer.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::candidate::Candidate;
use super::kept_platforms;
use super::packages::ProviderPlan;
use super::recorded_entries::{RecordedEntry, UnconfirmedHashes};
use super::release_lookup::{Confirmation, accept};
use super::request::LockRequest;
use crate::diagnostic::words::count;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result, RunOption};
use crate::lockfile::LockedProvider;
use crate::packages::Packages;
use crate::provider::{Hash, HashScheme, HashesByScheme, Version};

/// Combines the entry before with the packages that were fetched for it.
///
/// Hashes of the same version are kept; hashes of unknown schemes only if no version was chosen. An
/// entry with `zh:` or `h1:` hashes is refused if none of its hashes is confirmed. It is also
/// refused if none of its `zh:` is published and their number is that of the published ones: fewer
/// may come from a mirror that has packed the files anew, but a whole list comes from a different
/// SHA256SUMS. If changed hashes are accepted, the entry loses all of its hashes in the first case,
/// and the unpublished ones in the second. But a mirror does not know which packages were
/// published: it contradicts no hash, and the entry loses none.
pub(super) fn record(
    plan: &ProviderPlan<'_>,
    request: &LockRequest<'_>,
    old: Option<&LockedProvider>,
    packages: Arc<Packages>,
) -> Result<RecordedEntry> {
    let ProviderPlan {
        candidate,
        version,
        mirror,
        rules,
        ..
    } = plan;
    let accept_changed_hashes = request.options.accept_changed_hashes;
    let mut entry = published(plan, packages);
    let kept = old.filter(|old| old.version == **version && !old.hashes.is_empty());
    let Some(LockedProvider { hashes: kept, .. }) = kept else {
        return Ok(entry);
    };
    let (packages, provider) = (&entry.packages, Arc::make_mut(&mut entry.provider));
    let release = request.release(candidate.address, version);
    let confirmation = release.confirm(kept, packages);
    let mut compared = release.compare(kept, packages);
    let HashesByScheme {
        h1: kept_h1,
        zh: kept_zh,
        unknown: _,
    } = kept.iter().collect();
    let HashesByScheme {
        h1: _,
        zh: unpublished_zh,
        unknown: _,
    } = compared.unpublished.iter().collect();
    let HashesByScheme {
        h1: new_h1,
        zh: new_zh,
        unknown: _,
    } = provider.hashes.iter().collect();
    let contradicted = !packages.is_empty() && !matches!(confirmation, Confirmation::Confirmed);
    // A hash of an unknown scheme neither confirms nor contradicts a release.
    let is_comparable = !kept_zh.is_empty() || !kept_h1.is_empty();
    let is_replaced = !kept_zh.is_empty()
        && unpublished_zh.len() == kept_zh.len()
        && kept_zh.len() >= new_zh.len();
    if is_comparable
        && !accept_changed_hashes
        && (contradicted || (is_replaced && mirror.is_none()))
    {
        return Err(match (mirror, confirmation) {
            (Some(mirror), _) => not_confirmed(Some(mirror), candidate, version, kept, Vec::new()),
            (None, Confirmation::Incomplete(not_seen)) => {
                not_confirmed(None, candidate, version, kept, not_seen)
            }
            (None, _) => {
                let wrong = kept
                    .iter()
                    .filter(|hash| contradicted || unpublished_zh.contains(hash))
                    .collect();
                refusal(candidate, version, &wrong, packages)
            }
        }
        .into());
    }
    let is_kept = |hash: &Hash| {
        let is_wrong = contradicted && is_comparable && mirror.is_none()
            || compared.unpublished.contains(hash);
        // As `init -upgrade` does, an upgrade omits hashes of unknown schemes.
        (rules.keeps_version || hash.is_known()) && !(accept_changed_hashes && is_wrong)
    };
    let remaining: Vec<_> = kept.iter().filter(|hash| is_kept(hash)).cloned().collect();
    let is_unconfirmed =
        contradicted && compared.unpublished.is_empty() && (!is_comparable || mirror.is_some());
    if accept_changed_hashes {
        compared.unpublished.clear();
    }
    entry.warning = if is_unconfirmed {
        Some(unconfirmed(candidate, version, kept))
    } else {
        compared.warning(candidate, version)
    };
    let is_of_package = |hash: &Hash| packages.values().any(|package| package.h1 == *hash);
    let covers_others = !kept_h1.is_empty() && new_h1.iter().all(|hash| is_of_package(hash));
    if rules.keeps_platforms && !accept_changed_hashes && covers_others {
        provider.hashes.retain(|hash| !is_of_package(hash));
    }
    provider.hashes.extend(remaining);
    let is_reported = !rules.platforms_are_named;
    entry.covered = if is_reported {
        kept_platforms::of_entry(provider, &release, packages)
    } else {
        None
    };
    entry.counts = compared.counts();
    Ok(entry)
}

/// The entry with the published hashes alone.
fn published(plan: &ProviderPlan<'_>, packages: Arc<Packages>) -> RecordedEntry {
    let ProviderPlan {
        candidate,
        version,
        rules,
        ..
    } = plan;
    let constraints = candidate.requirement.constraints.clone();
    // Every package has the hashes of the whole release; each is taken once.
    let recordable: BTreeSet<&Hash> = packages
        .values()
        .flat_map(|package| package.hashes.recordable())
        .collect();
    let hashes: BTreeSet<Hash> = recordable.into_iter().cloned().collect();
    let provider = Arc::new(LockedProvider {
        version: (*version).clone(),
        constraints,
        hashes,
    });
    let (counts, old) = (UnconfirmedHashes::default(), candidate.locked.cloned());
    RecordedEntry {
        provider,
        warning: None,
        counts,
        covered: None,
        packages,
        rules: *rules,
        old,
    }
}

fn refusal(
    candidate: &Candidate<'_>,
    version: &Version,
    wrong: &BTreeSet<&Hash>,
    packages: &Packages,
) -> Diagnostic {
    let name = candidate.name();
    let message = format!(
        "the hashes of {name} {version} in the lock file differ from those published by {}",
        candidate.address.hostname
    );
    let authentication = packages
        .values()
        .next()
        .map(|package| format!(" ({})", package.authentication))
        .unwrap_or_default();
    let noun = match wrong.iter().copied().collect::<HashesByScheme<'_>>().only() {
        Some(HashScheme::Zh) => "zh: hashes",
        Some(HashScheme::H1) => "h1: hashes",
        Some(HashScheme::Unknown) | None => "hashes",
    };
    let label = format!(
        "none of the {} recorded {noun} is among the published ones{authentication}",
        wrong.len()
    );
    let error = Diagnostic::error(Code::HashesChanged, message);
    let error = match candidate.recorded_hash(|hash| wrong.contains(hash)) {
        Some(location) => error.at(location.clone(), label),
        None => error.note(label),
    };
    error
        .note("the release was replaced after it was locked, or the lock file was changed by hand or by an attacker")
        .help(Help::text("compare with the provider's release page; if the new release is right: ").and(accept(name)))
}

/// The refusal of an entry that no package confirms. A mirror may lack the packages of its hashes
/// because it is for other platforms, because it has unpacked or repacked the packages, or because
/// they differ from the published ones. An entry with `h1:` hashes only may have packages that
/// could not be checked, for the reasons `not_seen`.
fn not_confirmed(
    mirror: Option<&str>,
    candidate: &Candidate<'_>,
    version: &Version,
    recorded: &BTreeSet<Hash>,
    not_seen: Vec<String>,
) -> Diagnostic {
    let hashes = format!(
        "the hashes of {} {version} in the lock file",
        candidate.name()
    );
    let (message, package) = match mirror {
        Some(mirror) => (format!("{mirror} cannot confirm {hashes}"), "package in it"),
        None => (format!("{hashes} cannot be confirmed"), "checked package"),
    };
    let label = format!("{} that no {package} has", count(recorded.len(), "hash"));
    let error = candidate.at_entry(Diagnostic::error(Code::HashesChanged, message), label);
    if mirror.is_some() {
        let help = Help::text("lock from the registry, which has all hashes; or compare with it: ");
        let help = help
            .and(Remedy::verify_online())
            .and_text("; to keep these hashes and add the mirror's, pass ");
        let error = error.note(
            "they may belong to other platforms, or its packages differ from the locked ones",
        );
        return error.help(help.and(RunOption::AcceptChangedHashes));
    }
    let help =
        Help::text("lock again when all packages can be fetched; to replace the recorded hashes: ");
    let error = not_seen.into_iter().fold(error, Diagnostic::note);
    error
        .note("the release may have been replaced after it was locked")
        .help(help.and(accept(candidate.name())))
}

fn unconfirmed(candidate: &Candidate<'_>, version: &Version, kept: &BTreeSet<Hash>) -> Diagnostic {
    let name = candidate.name();
    let message = format!(
        "none of the {} recorded hashes of {name} {version} could be confirmed",
        kept.len()
    );
    let warning = Diagnostic::warning(Code::HashesChanged, message)
        .note("they may belong to platforms that were not requested, or to another package")
        .help(
            Help::text("lock all platforms that your team uses, then review: ")
                .and(Remedy::verify_online()),
        );
    warning.at_each(
        candidate
            .lock_file
            .entry(candidate.address)
            .map(|entry| &entry.block),
        "",
    )
}
