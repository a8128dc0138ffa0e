//! Platforms that the recorded hashes cover, as far as packages with known hashes show; and a comparison of installed
//! packages with locked ones.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::root::Root;
use super::verified::{VerifiedRoot, finding};
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy};
use crate::lockfile::Entry;
use crate::packages::archive::{self, ReleasePlatforms};
use crate::project::covers::{Covers, EntryPlatforms};
use crate::provider::{Hash, Platform};
use crate::settings::PlatformSelection;
use crate::system::files;

/// Result of comparing an entry with the required platforms.
pub(super) struct ComparedEntry<'a> {
    entry: &'a Entry,
    /// Platforms that surely have no hash.
    findings: Vec<Diagnostic>,
    unknown: Unknown,
}

/// Required platforms whose hashes are unknown.
enum Unknown {
    These(Vec<Platform>),
    /// All platforms are required, and the platforms of the release are unknown.
    All,
}

/// Findings about the required platforms, as far as the cache knows the packages.
pub(super) fn check(root: &Root<'_>, report: &mut VerifiedRoot) {
    if root.online.is_some() || root.is_policy_only {
        return;
    }
    let entries = root.entries().iter().filter(|entry| entry.locked.hashes.iter().any(Hash::is_known));
    if root.platforms.is_none() {
        report.findings.extend(entries.filter_map(single));
        return;
    }
    let compared = entries.map(|entry| compare(root, entry, &remembered(root, entry))).collect();
    add_compared(root, compared, None, report);
    // Without a hash any package is accepted, for any platform.
    report.has_unknown_platforms |= root.entries().iter().any(|entry| !entry.locked.hashes.iter().any(Hash::is_known));
}

fn remembered(root: &Root<'_>, entry: &Entry) -> ReleasePlatforms {
    let cache = root.cache;
    cache.map(|cache| cache.platforms_of(&entry.address, &entry.locked.version)).unwrap_or_default()
}

/// Compares an entry with the required platforms.
pub(super) fn compare<'a>(root: &Root<'_>, entry: &'a Entry, known: &ReleasePlatforms) -> ComparedEntry<'a> {
    let required: Vec<&Platform> = match (root.platforms, &known.listed) {
        (Some(PlatformSelection::These(platforms)), _) => platforms.iter().collect(),
        (Some(PlatformSelection::All), Some(listed)) => listed.iter().collect(),
        (Some(PlatformSelection::All), None) => {
            return ComparedEntry { entry, findings: Vec::new(), unknown: Unknown::All };
        }
        (None, _) => Vec::new(),
    };
    let platforms = EntryPlatforms::new(&entry.locked.hashes, known.clone());
    let that = |answer| -> Vec<&Platform> {
        required.iter().copied().filter(|platform| platforms.covers(platform) == answer).collect()
    };
    let (absent, unknown) = (that(Covers::No), that(Covers::Unknown));
    let mut findings: Vec<_> = absent.iter().map(|platform| missing(root, entry, platform)).collect();
    let (recorded, unexplained) = (platforms.recorded(), platforms.unexplained());
    if unexplained < unknown.len() || (!unknown.is_empty() && recorded < required.len() - absent.len()) {
        let message = too_few(recorded, required.len(), unexplained, unknown.len());
        findings.push(not_covered(root, entry, &required, message));
        return ComparedEntry { entry, findings, unknown: Unknown::These(Vec::new()) };
    }
    ComparedEntry { entry, findings, unknown: Unknown::These(unknown.into_iter().cloned().collect()) }
}

/// Adds the findings about all entries. `mirror` is the source that was asked, if one was.
pub(super) fn add_compared(
    root: &Root<'_>,
    compared: Vec<ComparedEntry<'_>>,
    mirror: Option<&str>,
    report: &mut VerifiedRoot,
) {
    let mut platforms = BTreeSet::new();
    let mut unknown = Vec::new();
    for ComparedEntry { entry, findings, unknown: of_entry } in compared {
        let is_known = matches!(&of_entry, Unknown::These(these) if these.is_empty());
        report.has_unknown_platforms |= !is_known || !findings.is_empty();
        report.findings.extend(findings);
        if is_known || !is_reported(root, entry, &of_entry) {
            continue;
        }
        if let Unknown::These(these) = of_entry {
            platforms.extend(these);
        }
        unknown.push(entry);
    }
    report.findings.extend(unknown.into_iter().map(|entry| not_known(root, entry, &platforms, mirror)));
}

/// Whether unknown platforms are a finding, because the user requested platforms or there cannot be many. Otherwise
/// they are only part of the summary.
fn is_reported(root: &Root<'_>, entry: &Entry, unknown: &Unknown) -> bool {
    let can_be_one = || entry.locked.platform_hashes().count() < 2;
    root.options.platforms.is_some() || (matches!(unknown, Unknown::All) && can_be_one())
}

/// Fewer `h1:` are recorded than platforms are required, or fewer are left for platforms without one. The message
/// contains no provider, so that one finding covers all entries of a file, and all root modules.
fn not_covered(root: &Root<'_>, entry: &Entry, required: &[&Platform], message: String) -> Diagnostic {
    let error = finding(Code::PlatformNotCovered, message, &entry.block, "");
    let required = enumerate(required.iter().copied());
    error.note(format!("required: {required}")).help(root.lock_remedy()).about(&entry.address)
}

/// Describes how few `h1:` are recorded, or how few of them are `unexplained`: not known to be for another platform.
fn too_few(recorded: usize, required: usize, unexplained: usize, unknown: usize) -> String {
    match recorded {
        1 => format!("only 1 h1 is recorded, but {required} platforms are required"),
        _ if recorded < required => format!("only {recorded} h1 are recorded, but {required} platforms are required"),
        _ => format!("only {unexplained} of {recorded} h1 can be for {unknown} of the required platforms"),
    }
}

/// Nothing confirms that the recorded `h1:` are for these platforms, or for all. The message contains no provider, so
/// that one finding covers all entries of a file.
fn not_known(root: &Root<'_>, entry: &Entry, platforms: &BTreeSet<Platform>, mirror: Option<&str>) -> Diagnostic {
    let message = match mirror {
        Some(mirror) => format!("the platforms of the recorded h1 are unknown, because {mirror} does not list them"),
        None => "the platforms of the recorded h1 are unknown offline".to_owned(),
    };
    let warning = finding(Code::PlatformNotKnown, message, &entry.block, "");
    let names = if platforms.is_empty() { "all platforms".to_owned() } else { enumerate(platforms) };
    let required = root.named_platforms().to_vec();
    let online = Remedy::Verify { online: true, platforms: Some(required) };
    warning.note(format!("not confirmed: {names}")).help(online).about(&entry.address)
}

/// The finding for an entry that can cover one platform only, if no platforms are specified. It names no provider,
/// so that it is one finding for all entries of a file.
pub(super) fn single(entry: &Entry) -> Option<Diagnostic> {
    let is_single = entry.locked.platform_hashes().count() == 1;
    let message = "only one h1 is recorded, so on any other platform init changes the lock file, or fails".to_owned();
    let warning = finding(Code::SinglePlatform, message, &entry.block, "");
    let help = Help::from(LockRemedy { platforms: Some(Vec::new()), ..LockRemedy::default() });
    is_single.then(|| warning.help(help.and_text(", or set platforms in provlock.toml")).about(&entry.address))
}

/// The finding for a platform without an `h1:`.
pub(super) fn missing(root: &Root<'_>, entry: &Entry, platform: &Platform) -> Diagnostic {
    let message = format!("no h1 of {} for {platform} is recorded", root.release(entry));
    let error = finding(Code::PlatformMissing, message, &entry.block, "");
    error.help(root.lock_remedy())
}

/// Installed packages of locked versions whose `h1:` is not recorded, and packages that cannot be read. An entry
/// without an `h1:` cannot be compared with unpacked packages.
pub(super) fn installed(root: &Root<'_>, report: &mut VerifiedRoot) {
    if !root.options.check_installed {
        return;
    }
    report.not_installed = root.entries().len();
    for entry in root.entries() {
        if entry.locked.platform_hashes().next().is_none() {
            continue;
        }
        let directory = version_directory(root, entry);
        let packages = children(&directory).unwrap_or_else(|error| {
            report.errors.push(Diagnostic::io("read", &directory, &error));
            Vec::new()
        });
        if !packages.is_empty() {
            report.installed += 1;
            report.not_installed -= 1;
        }
        for package in packages {
            match archive::hash_directory(&package, &entry.address.name) {
                Ok(hash) if entry.locked.hashes.contains(&hash) => {}
                Ok(hash) => report.findings.push(differs(root, entry, &package, &format!("its hash is {hash}"))),
                Err(error) => report.findings.push(differs(root, entry, &package, &error.to_string())),
            }
        }
    }
}

fn differs(root: &Root<'_>, entry: &Entry, package: &Path, why: &str) -> Diagnostic {
    let message = format!("the installed package of {} matches no recorded hash", root.release(entry));
    let error = finding(Code::InstalledPackageDiffers, message, &entry.block, "");
    let directory = package.display();
    let init = format!("remove {directory}, then run: {} init", root.module.dialect.name());
    error.note(format!("{directory}: {why}")).help(init)
}

/// Directory of the installed packages of the locked version.
fn version_directory(root: &Root<'_>, entry: &Entry) -> PathBuf {
    let (address, root) = (&entry.address, root.module);
    let installed = root.path().join(&root.data_directory).join("providers");
    let parts = [&address.hostname.to_string(), &address.namespace, &address.name, &entry.locked.version.to_string()];
    parts.into_iter().fold(installed, |path, part| path.join(part))
}

/// The directories in a directory, sorted; none if it does not exist.
fn children(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = files::entries(directory)?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}
