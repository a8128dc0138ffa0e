//! Which hashes a lock file entry gets, and when an entry contradicts what is published (OpenTofu's
//! `internal/providercache/installer.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::select::Candidate;
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Help, Result};
use crate::hash::Hash;
use crate::lockfile::LockedProvider;
use crate::source::Fetched;
use crate::version::Version;

/// The new entry of a provider.
pub(crate) struct Recorded {
    pub(crate) provider: LockedProvider,
    pub(crate) warning: Option<Diagnostic>,
}

/// Combines an entry with the packages that were fetched for it.
///
/// Hashes of the same version are kept; those of schemes that are not known only where no version was chosen. An entry that
/// holds `zh:` hashes is refused when none of its hashes is confirmed, unless its hashes are to be replaced.
pub(crate) fn record(
    candidate: &Candidate<'_>,
    old: Option<&LockedProvider>,
    version: Version,
    packages: &[Arc<Fetched>],
    accept_changed_hashes: bool,
) -> Result<Recorded> {
    let constraints = candidate.requirement.constraints.clone();
    // Every package brings the hashes of the whole release; each is taken once.
    let recordable: BTreeSet<&Hash> = packages.iter().flat_map(|package| package.hashes.recordable()).collect();
    let mut hashes: BTreeSet<Hash> = recordable.into_iter().cloned().collect();
    let kept = old.filter(|old| old.version == version).map(|old| &old.hashes);
    // As `init -upgrade` does, an upgrade leaves out hashes of schemes that are not known.
    let stays = |hash: &Hash| candidate.chosen.is_none() || hash.is_known();
    let mut warning = None;
    if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
        let confirmed = |hash: &Hash| packages.iter().any(|package| package.hashes.confirms(hash));
        let has_zh = kept.iter().any(Hash::is_of_archive);
        let contradicted = !packages.is_empty() && !kept.iter().any(confirmed);
        match (contradicted, has_zh) {
            (true, true) if accept_changed_hashes => {}
            (true, true) => return Err(refusal(candidate, &version, kept, packages).into()),
            (true, false) => {
                warning = Some(unconfirmed(candidate, &version, kept));
                hashes.extend(kept.iter().filter(|hash| stays(hash)).cloned());
            }
            (false, _) => {
                warning = not_published(candidate, &version, kept, packages);
                hashes.extend(kept.iter().filter(|hash| stays(hash)).cloned());
            }
        }
    }
    Ok(Recorded { provider: LockedProvider { version, constraints, hashes }, warning })
}

fn refusal(
    candidate: &Candidate<'_>,
    version: &Version,
    kept: &BTreeSet<Hash>,
    packages: &[Arc<Fetched>],
) -> Diagnostic {
    let name = candidate.address.short(candidate.dialect);
    let message = format!(
        "the hashes of {name} {version} in the lock file are not those that {} publishes",
        candidate.address.hostname
    );
    let authentication = packages.first().map(|package| format!(" ({})", package.authentication)).unwrap_or_default();
    let label = format!("none of the {} recorded hashes is among the published ones{authentication}", kept.len());
    let error = Diagnostic::error(Code::HashesChanged, message);
    let error = match candidate.lock_file.entry(candidate.address).and_then(|entry| entry.hashes.first().cloned()) {
        Some((_, location)) => error.at(location, label),
        None => error.note(label),
    };
    error
        .note("the release was replaced after it was locked, or the lock file was changed by hand or by an attacker")
        .help(Help::text("compare with the provider's release page; if the new release is right: ").and_command([
            "lock",
            "--accept-changed-hashes",
            &name,
        ]))
}

/// A warning about `zh:` hashes that the release does not have, where its SHA256SUMS, which has them all, is known.
fn not_published(
    candidate: &Candidate<'_>,
    version: &Version,
    kept: &BTreeSet<Hash>,
    packages: &[Arc<Fetched>],
) -> Option<Diagnostic> {
    let has_sums = |package: &Arc<Fetched>| {
        matches!(package.authentication, Authentication::Signed { .. } | Authentication::SigningSkipped)
    };
    let is_published = |hash: &Hash| packages.iter().any(|package| package.hashes.contains(hash));
    let unknown = kept.iter().filter(|hash| hash.is_of_archive() && !is_published(hash));
    let unknown: Vec<_> = unknown.filter(|_| packages.iter().any(has_sums)).collect();
    let first = *unknown.first()?;
    let name = candidate.address.short(candidate.dialect);
    let message = match unknown.len() {
        1 => format!("a recorded zh: hash belongs to no published package of {name} {version}"),
        count => format!("{count} recorded zh: hashes belong to no published package of {name} {version}"),
    };
    let warning = Diagnostic::warning(Code::HashNotPublished, message).note("compared with SHA256SUMS");
    let entry = candidate.lock_file.entry(candidate.address);
    let place = entry.and_then(|entry| entry.hashes.iter().find(|(hash, _)| hash == first));
    let warning = match place {
        Some((_, location)) => warning.at(location.clone(), "not published"),
        None => warning,
    };
    Some(warning.help("find out who added it, and remove it"))
}

fn unconfirmed(candidate: &Candidate<'_>, version: &Version, kept: &BTreeSet<Hash>) -> Diagnostic {
    let name = candidate.address.short(candidate.dialect);
    let message = format!("none of the {} recorded hashes of {name} {version} could be confirmed", kept.len());
    let warning = Diagnostic::warning(Code::HashesChanged, message)
        .note("they may belong to platforms that were not asked for, or to another package")
        .help(Help::text("lock all platforms that your team uses, then look at: ").and_command(["verify", "--online"]));
    match candidate.lock_file.entry(candidate.address) {
        Some(entry) => warning.at(entry.block.clone(), ""),
        None => warning,
    }
}
