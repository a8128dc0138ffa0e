//! Comparing entries with a mirror. It holds copies and does not know what was published: a package of it can confirm a
//! recorded hash, and what it does not have proves nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::finding::finding;
use super::platforms::{self, ComparedEntry};
use super::root::Root;
use crate::diagnostic::{Code, Diagnostic, Location, Remedy};
use crate::lockfile::Entry;
use crate::packages::SourceError;
use crate::packages::archive::{HashesByPlatform, ReleasePlatforms};
use crate::project::plan::release_lookup::ReleaseLookup;
use crate::provider::{Hash, HashesByScheme, Platform};
use crate::settings::PlatformSelection;

/// Result of comparing an entry with a mirror.
pub(super) struct Mirrored<'a> {
    /// The mirror's name in a sentence.
    pub(super) mirror: String,
    pub(super) platforms: ComparedEntry<'a>,
    pub(super) finding: Option<Diagnostic>,
    /// Why packages could not be looked at.
    pub(super) failures: Vec<SourceError>,
}

/// Compares an entry with the packages of a mirror that has the release for the platforms in `available`.
pub(super) fn compare<'a>(
    root: &Root<'_>,
    entry: &'a Entry,
    mirror: String,
    release: &ReleaseLookup<'_>,
    available: &BTreeSet<Platform>,
) -> Mirrored<'a> {
    let recorded = entry.locked.hashes.iter().filter(|hash| hash.is_well_formed());
    let HashesByScheme { h1, zh, unknown: _ } = recorded.collect();
    let h1: BTreeSet<Hash> = h1.into_iter().cloned().collect();
    let required = match root.platforms {
        Some(PlatformSelection::All) => available.iter().cloned().collect(),
        _ => root.named_platforms().iter().filter(|one| available.contains(one)).cloned().collect(),
    };
    let mut known = HashesByPlatform::new();
    let mut failures = release.fetch(required, &mut known);
    failures.extend(release.explain(&h1, available, &mut known));
    let fetched = known.keys().filter_map(|platform| {
        let package = release.source.package(&release.package(platform), release.progress).ok()?;
        Some((platform.clone(), package))
    });
    let fetched: Vec<(Platform, Arc<_>)> = fetched.collect();
    let copies = fetched.iter().map(|(platform, package)| (platform.clone(), package.all_h1())).collect();
    let platforms = ReleasePlatforms { copies, ..ReleasePlatforms::default() };
    let is_confirmed = |hash: &&Hash| {
        let mut archives = fetched.iter().filter_map(|(_, package)| package.digest.as_ref());
        archives.any(|digest| digest.zh == **hash) || platforms.copies.values().any(|hashes| hashes.contains(*hash))
    };
    let is_unconfirmed =
        |(hash, _): &&(Hash, Location)| (h1.contains(hash) || zh.contains(&hash)) && !is_confirmed(&hash);
    let first = entry.hashes.iter().find(is_unconfirmed).map(|(_, location)| location);
    Mirrored {
        finding: first.map(|location| not_confirmed(entry, &mirror, location)),
        platforms: platforms::compare(root, entry, &platforms),
        mirror,
        failures,
    }
}

/// The result where a mirror does not have the release.
pub(super) fn without_release<'a>(root: &Root<'_>, entry: &'a Entry, mirror: String) -> Mirrored<'a> {
    Mirrored {
        finding: Some(not_confirmed(entry, &mirror, entry.version())),
        platforms: platforms::compare(root, entry, &ReleasePlatforms::default()),
        mirror,
        failures: Vec::new(),
    }
}

/// The finding about hashes that no package of the mirror has. Its message contains no provider, so that the findings
/// of all entries are folded into one.
fn not_confirmed(entry: &Entry, mirror: &str, location: &Location) -> Diagnostic {
    let message = format!("{mirror} does not confirm all recorded hashes");
    let warning = finding(Code::HashNotChecked, message, location, "");
    let warning = warning.note("no package that was taken from it has them; only a registry knows what was published");
    warning.help(Remedy::verify_online()).about(&entry.address)
}
