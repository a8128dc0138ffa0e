//! Hashes of a new lock file entry, and entries that contradict the published release (OpenTofu's
//! `internal/providercache/installer.go`).

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use super::candidate::Candidate;
use super::kept_platforms;
use super::packages::ProviderPlan;
use super::release_lookup::{Confirmation, ReleaseLookup, remedy_to_accept, unpublished_warning};
use super::request::LockRequest;
use super::shared_entries::{NewEntry, UnconfirmedHashes};
use crate::diagnostic::words::count;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result, RunOption};
use crate::lockfile::LockedProvider;
use crate::packages::Packages;
use crate::packages::archive::ComparedHashes;
use crate::provider::{Hash, HashScheme, HashesByScheme, Version};

/// Records the entry of a plan: the hashes of the packages that were fetched for it, and the ones
/// of the entry before.
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
    packages: Arc<Packages>,
) -> Result<NewEntry> {
    let mut entry = published_entry(plan, packages);
    let old_hashes = match plan.previous {
        Some(old) if old.version == *plan.version && !old.hashes.is_empty() => &old.hashes,
        // There is no hash of this release: hashes of a different version have nothing to do with
        // it.
        _ => return Ok(entry),
    };

    // 1. Compare the old hashes with the release.
    let release = request.release_lookup(plan.candidate.address, plan.version);
    let check = Check::new(old_hashes, &release, &entry, plan.mirror.as_deref());
    let accept_changed_hashes = request.run.options.accept_changed_hashes;
    if !accept_changed_hashes && check.is_refused() {
        return Err(check.into_refusal(plan, &entry.packages).into());
    }

    // 2. Keep them beside the new ones, except the wrong ones that the user gives up.
    let packages = &entry.packages;
    let new_hashes = &mut Arc::make_mut(&mut entry.provider).hashes;
    if plan.rules.keeps_platforms && !accept_changed_hashes {
        remove_hashes_of_packages(new_hashes, old_hashes, packages);
    }
    for hash in old_hashes {
        // As `init -upgrade` does, an upgrade omits hashes of unknown schemes.
        let is_omitted = !plan.rules.keeps_version && !hash.is_known();
        let is_removed = accept_changed_hashes && check.is_wrong(hash);
        if !is_omitted && !is_removed {
            new_hashes.insert(hash.clone());
        }
    }

    // 3. Add the platforms and the warnings for the user. Platforms that the user names are
    // covered, and are not looked up.
    if !plan.rules.platforms_are_named {
        entry.covered = kept_platforms::covered_by_entry(&entry.provider, &release, packages);
    }
    let is_unconfirmed = check.is_unconfirmed();
    let mut compared = check.compared;
    if accept_changed_hashes {
        // They were removed above.
        compared.unpublished.clear();
    }
    entry.warning = if is_unconfirmed {
        Some(unconfirmed_warning(
            &plan.candidate,
            plan.version,
            old_hashes,
        ))
    } else {
        unpublished_warning(&plan.candidate, plan.version, &compared.unpublished)
    };
    entry.counts = UnconfirmedHashes::of(&compared);
    Ok(entry)
}

/// The hashes of an entry, compared with the release of its version.
struct Check<'a> {
    old_hashes: &'a BTreeSet<Hash>,
    mirror: Option<&'a str>,
    confirmation: Confirmation,
    compared: ComparedHashes,
    /// Whether packages were seen, and none has one of the hashes.
    is_contradicted: bool,
    /// Whether it has a `zh:` or `h1:`, even a malformed one. A hash of an unknown scheme neither
    /// confirms nor contradicts a release.
    is_comparable: bool,
    /// Whether its `zh:` are the whole list of a different SHA256SUMS.
    is_replaced: bool,
}

impl<'a> Check<'a> {
    /// Compares the hashes of the old entry with the release, and with the new entry. Its packages
    /// come from `mirror`, if that is set.
    fn new(
        old_hashes: &'a BTreeSet<Hash>,
        release: &ReleaseLookup<'_>,
        published: &NewEntry,
        mirror: Option<&'a str>,
    ) -> Self {
        let confirmation = release.find_confirmation(old_hashes, &published.packages);
        let compared = release.compare_hashes(old_hashes, &published.packages);

        let old = by_scheme(old_hashes);
        let old_zh = old.zh.len();
        let unpublished_zh = by_scheme(&compared.unpublished).zh.len();
        let published_zh = by_scheme(&published.provider.hashes).zh.len();
        Self {
            old_hashes,
            mirror,
            // Without a package, nothing was compared.
            is_contradicted: !published.packages.is_empty()
                && !matches!(confirmation, Confirmation::Confirmed),
            is_comparable: old_zh > 0 || !old.h1.is_empty() || !old.malformed.is_empty(),
            // Fewer may come from a mirror that has packed the files anew.
            is_replaced: old_zh > 0 && unpublished_zh == old_zh && old_zh >= published_zh,
            confirmation,
            compared,
        }
    }

    /// Whether the entry is refused unless the user accepts changed hashes.
    fn is_refused(&self) -> bool {
        // A mirror may have packed all files anew.
        let is_replaced = self.is_replaced && self.mirror.is_none();
        self.is_comparable && (self.is_contradicted || is_replaced)
    }

    /// Whether a hash is certainly not that of the release. A mirror does not know which packages
    /// were published, so that it contradicts no well-formed hash.
    fn is_wrong(&self, hash: &Hash) -> bool {
        if !hash.is_well_formed() {
            return true;
        }
        let is_contradicted = self.is_contradicted && self.is_comparable && self.mirror.is_none();
        is_contradicted || self.compared.unpublished.contains(hash)
    }

    /// Whether hashes stay although no package has one of them.
    fn is_unconfirmed(&self) -> bool {
        let is_kept = !self.is_comparable || self.mirror.is_some();
        self.is_contradicted && is_kept && self.compared.unpublished.is_empty()
    }

    /// The error about an entry that is refused ([`Check::is_refused`]).
    fn into_refusal(self, plan: &ProviderPlan<'_>, packages: &Packages) -> Diagnostic {
        let ProviderPlan {
            candidate, version, ..
        } = plan;
        match (self.mirror, self.confirmation) {
            (Some(mirror), _) => not_confirmed_error(
                Some(mirror),
                candidate,
                version,
                self.old_hashes,
                Vec::new(),
            ),
            (None, Confirmation::Incomplete(not_seen)) => {
                not_confirmed_error(None, candidate, version, self.old_hashes, not_seen)
            }
            (None, Confirmation::Confirmed | Confirmation::Contradicted) => {
                let mut wrong: BTreeSet<&Hash> = self.old_hashes.iter().collect();
                // Only the `zh:` contradict the release.
                if !self.is_contradicted {
                    wrong.retain(|hash| {
                        hash.scheme() == HashScheme::Zh && self.compared.unpublished.contains(*hash)
                    });
                }
                changed_hashes_error(candidate, version, &wrong, packages)
            }
        }
    }
}

fn by_scheme(hashes: &BTreeSet<Hash>) -> HashesByScheme<'_> {
    hashes.iter().collect()
}

/// Removes the `h1:` of fetched packages from the new hashes of an entry that keeps its platforms,
/// if all new `h1:` are of such packages. They were fetched only to confirm the entry.
fn remove_hashes_of_packages(
    new_hashes: &mut BTreeSet<Hash>,
    old_hashes: &BTreeSet<Hash>,
    packages: &Packages,
) {
    let of_packages: BTreeSet<&Hash> = packages.values().map(|package| &package.h1).collect();
    let has_other_platforms = !by_scheme(old_hashes).h1.is_empty();
    let adds_only_packages = by_scheme(new_hashes)
        .h1
        .iter()
        .all(|hash| of_packages.contains(hash));
    if has_other_platforms && adds_only_packages {
        new_hashes.retain(|hash| !of_packages.contains(hash));
    }
}

/// Makes an entry of the published hashes alone, without the hashes of the entry before.
fn published_entry(plan: &ProviderPlan<'_>, packages: Arc<Packages>) -> NewEntry {
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
    NewEntry {
        provider,
        warning: None,
        counts: UnconfirmedHashes::default(),
        covered: None,
        packages,
        rules: *rules,
        previous: plan.previous.cloned(),
        block: OnceLock::new(),
    }
}

/// The error about the hashes of an entry that no published package has.
fn changed_hashes_error(
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
    let error = match candidate.location_of_hash(|hash| wrong.contains(hash)) {
        Some(location) => error.at(location.clone(), label),
        None => error.note(label),
    };
    error
        .note("the release was replaced after it was locked, or the lock file was changed by hand or by an attacker")
        .help(Help::text("compare with the provider's release page; if the new release is right: ").and(remedy_to_accept(name)))
}

/// The error about an entry that no package confirms. A mirror may lack the packages of its hashes
/// because it is for other platforms, because it has unpacked or repacked the packages, or because
/// they differ from the published ones. An entry with `h1:` hashes only may have packages that
/// could not be checked, for the reasons `not_seen`.
fn not_confirmed_error(
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
    let mut error = candidate.at_entry(Diagnostic::error(Code::HashesChanged, message), label);
    if mirror.is_some() {
        let help = Help::text("lock from the registry, which has all hashes; or compare with it: ")
            .and(Remedy::verify_online())
            .and_text("; to keep these hashes and add the mirror's, pass ")
            .and(RunOption::AcceptChangedHashes);
        return error
            .note("they may belong to other platforms, or its packages differ from the locked ones")
            .help(help);
    }
    for reason in not_seen {
        error = error.note(reason);
    }
    let help =
        Help::text("lock again when all packages can be fetched; to replace the recorded hashes: ")
            .and(remedy_to_accept(candidate.name()));
    error
        .note("the release may have been replaced after it was locked")
        .help(help)
}

/// The warning about hashes that are kept although no fetched package has one of them.
fn unconfirmed_warning(
    candidate: &Candidate<'_>,
    version: &Version,
    kept: &BTreeSet<Hash>,
) -> Diagnostic {
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
    warning.at_each_location(
        candidate
            .lock_file
            .entry(candidate.address)
            .map(|entry| &entry.block),
    )
}
