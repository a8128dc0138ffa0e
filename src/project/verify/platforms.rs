//! Which platforms the recorded hashes cover, as far as packages whose hashes are known can tell; and whether installed
//! packages are those that are locked.

use std::path::{Path, PathBuf};

use super::subject::{Subject, finding};
use crate::diagnostic::words::enumerate;
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy};
use crate::lockfile::Entry;
use crate::packages::archive::{self, PackageId};
use crate::provider::{Hash, Platform};
use crate::settings::PlatformSelection;
use crate::system::files;

/// Findings about the platforms that the project asks for, without asking anybody.
pub(super) fn check(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let entries = subject.entries().iter().filter(|entry| entry.locked.hashes.iter().any(Hash::is_known));
    entries.flat_map(|entry| check_entry(subject, entry)).collect()
}

/// Each `h1:` is of one platform. Of which one is known only for packages in the cache, so where enough are recorded
/// nothing is said.
fn check_entry(subject: &Subject<'_>, entry: &Entry) -> Vec<Diagnostic> {
    let recorded = entry.locked.hashes.iter().filter(|hash| hash.is_of_files()).count();
    let platforms = match subject.request.platforms {
        None => return single(entry).into_iter().collect(),
        Some(PlatformSelection::All) if recorded < 2 => return vec![not_known(subject, entry)],
        Some(PlatformSelection::All) => return Vec::new(),
        Some(PlatformSelection::These(platforms)) => platforms,
    };
    let is_missing = |platform: &&Platform| recorded == 0 || is_known_to_be_missing(subject, entry, platform);
    let (absent, others): (Vec<&Platform>, Vec<_>) = platforms.iter().partition(is_missing);
    let absent = absent.into_iter().map(|platform| missing(subject, entry, platform));
    absent.chain((recorded < others.len()).then(|| not_covered(subject, entry, recorded))).collect()
}

/// Fewer `h1:` are recorded than platforms are wanted. It names no provider, so that it is one finding for all entries
/// of a file, and for all root modules.
fn not_covered(subject: &Subject<'_>, entry: &Entry, recorded: usize) -> Diagnostic {
    let platforms = subject.request.named_platforms();
    let hashes = if recorded == 1 { "1 h1 is".to_owned() } else { format!("{recorded} h1 are") };
    let message = format!("only {hashes} recorded, but {} platforms are required", platforms.len());
    let error = finding(Code::PlatformNotCovered, message, &entry.block, "");
    error.note(format!("required: {}", enumerate(platforms))).help(subject.request.lock_remedy()).about(&entry.address)
}

fn not_known(subject: &Subject<'_>, entry: &Entry) -> Diagnostic {
    let release = subject.release(entry);
    let message = format!("cannot tell offline whether {release} is covered for all platforms: 1 h1 is recorded");
    let online = Remedy::Verify { online: true, platforms: Some(Vec::new()) };
    finding(Code::PlatformNotKnown, message, &entry.block, "").help(online)
}

/// The finding for an entry that can cover one platform only, where nobody says which are needed. It names no provider,
/// so that it is one finding for all entries of a file.
pub(super) fn single(entry: &Entry) -> Option<Diagnostic> {
    let is_single = entry.locked.hashes.iter().filter(|hash| hash.is_of_files()).count() == 1;
    let message = "only one h1 is recorded, so on any other platform init changes the lock file, or fails".to_owned();
    let warning = finding(Code::SinglePlatform, message, &entry.block, "");
    let help = Help::from(LockRemedy { platforms: Some(Vec::new()), ..LockRemedy::default() });
    is_single.then(|| warning.help(help.and_text(", or set platforms in provlock.toml")).about(&entry.address))
}

/// The finding for a platform without an `h1:`.
pub(super) fn missing(subject: &Subject<'_>, entry: &Entry, platform: &Platform) -> Diagnostic {
    let message = format!("no h1 of {} for {platform} is recorded", subject.release(entry));
    let error = finding(Code::PlatformMissing, message, &entry.block, "");
    error.help(subject.request.lock_remedy())
}

/// Whether the cache knows the package, and none of its hashes is recorded.
fn is_known_to_be_missing(subject: &Subject<'_>, entry: &Entry, platform: &Platform) -> bool {
    let package = PackageId::new(&entry.address, &entry.locked.version, platform);
    let digest = subject.request.cache.and_then(|cache| cache.lookup(&package));
    digest.is_some_and(|digest| !digest.is_recorded_in(&entry.locked.hashes))
}

/// Installed packages of locked versions whose `h1:` is not recorded; and those that cannot be read. An entry that
/// holds no `h1:` says nothing about unpacked packages.
pub(super) fn installed(subject: &Subject<'_>) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let (mut findings, mut errors) = (Vec::new(), Vec::new());
    for entry in subject.entries() {
        if !entry.locked.hashes.iter().any(Hash::is_of_files) {
            continue;
        }
        let directory = version_directory(subject, entry);
        let packages = children(&directory).unwrap_or_else(|error| {
            errors.push(Diagnostic::io("read", &directory, &error));
            Vec::new()
        });
        for package in packages {
            match archive::hash_directory(&package, &entry.address.name) {
                Ok(hash) if entry.locked.hashes.contains(&hash) => {}
                Ok(hash) => findings.push(differs(subject, entry, &package, &format!("its hash is {hash}"))),
                Err(error) => findings.push(differs(subject, entry, &package, &error.to_string())),
            }
        }
    }
    (findings, errors)
}

fn differs(subject: &Subject<'_>, entry: &Entry, package: &Path, why: &str) -> Diagnostic {
    let message = format!("the installed package of {} matches no recorded hash", subject.release(entry));
    let error = finding(Code::InstalledPackageDiffers, message, &entry.block, "");
    let directory = package.display();
    let init = format!("remove {directory}, then run: {} init", subject.request.root.dialect.name());
    error.note(format!("{directory}: {why}")).help(init)
}

/// Where the program unpacks the packages of the locked version.
fn version_directory(subject: &Subject<'_>, entry: &Entry) -> PathBuf {
    let (address, root) = (&entry.address, subject.request.root);
    let installed = root.path.join(&root.data_directory).join("providers");
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
