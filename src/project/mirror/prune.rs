//! Removes from a mirror what no lock file names: documents that hold nothing but what a mirror's do, and the packages
//! that they name. No symbolic link is followed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{MirrorDirectory, file_name};
use super::documents::{Archives, Document, INDEX, Index, document_name};
use super::mirrored::{Mirrored, RemovedFile};
use crate::diagnostic::{Diagnostic, Result};
use crate::packages::archive::PackageId;
use crate::provider::{Dialect, Platform, ProviderAddress, Version};

/// The directory of a provider whose unnamed packages are removed.
struct PrunedFolder<'a> {
    mirror: &'a MirrorDirectory<'a>,
    address: ProviderAddress,
    path: PathBuf,
}

/// Removes the packages of versions that no lock file names, their records in the documents, and the directories that
/// are empty then.
pub(super) fn prune(mirror: &MirrorDirectory<'_>, mirrored: &mut Mirrored) {
    for (host, path) in directories(&mirror.path) {
        for (namespace, path) in directories(&path) {
            for (name, path) in directories(&path) {
                // Namespaces may have underscores in this dialect, and with all three parts there is no other
                // difference.
                let address = format!("{host}/{namespace}/{name}");
                let Ok(address) = ProviderAddress::parse_canonical(&address, Dialect::Terraform) else { continue };
                mirror.remove_left_over(&path);
                let pruned = PrunedFolder { mirror, address, path }.prune(&mut mirrored.removed);
                mirrored.errors.extend(pruned.err().into_iter().flatten());
            }
        }
    }
}

impl PrunedFolder<'_> {
    fn prune(&self, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let index = self.path.join(INDEX);
        // The list of versions goes first, so that each in it still has its packages.
        if index.symlink_metadata().is_ok() {
            // Another program's, or the error was found before.
            let Ok(mut document) = Document::<Index>::read(index.clone()) else { return Ok(()) };
            if !document.content.is_of_mirror() {
                return Ok(());
            }
            let versions = &mut document.content.versions;
            let number = versions.len();
            let is_removable = |version: Version| {
                let document = self.path.join(document_name(&version));
                let is_gone = || {
                    document.symlink_metadata().is_err() && self.mirror.releases.get(&self.address, &version).is_none()
                };
                self.unnamed(&version, &document).is_some() || is_gone()
            };
            versions.retain(|version, _| !version.parse().is_ok_and(is_removable));
            if versions.is_empty() && !self.mirror.releases.name(&self.address) {
                self.remove(&index, removed)?;
            } else if versions.len() < number && !self.mirror.is_dry_run {
                document.write()?;
            }
        }
        let files: BTreeMap<_, _> = children(&self.path, fs::FileType::is_file).into_iter().collect();
        for (version, document) in files.iter().filter_map(|(name, path)| Some((version_of(name)?, path))) {
            let platforms = self.unnamed(&version, document);
            let packages = platforms.iter().flatten().map(|platform| self.package(&version, platform));
            for path in packages.filter_map(|name| files.get(&name)) {
                self.remove(path, removed)?;
            }
            // Last, so that a run which is killed before can be repeated.
            if platforms.is_some() {
                self.remove(document, removed)?;
            }
        }
        Ok(())
    }

    /// The platforms of a version that no lock file names, if its document is a mirror's. Without a document, another
    /// program has put the packages there.
    fn unnamed(&self, version: &Version, document: &Path) -> Option<Vec<Platform>> {
        if self.mirror.releases.get(&self.address, version).is_some() {
            return None;
        }
        let archives = Document::<Archives>::read(document.to_owned()).ok()?.content;
        archives.is_of_mirror(&self.address.name, version).then(|| archives.platforms().collect())
    }

    fn package(&self, version: &Version, platform: &Platform) -> String {
        file_name(&PackageId::new(&self.address, version, platform))
    }

    /// Removes a file, and the directories up to the mirror's that are empty then.
    fn remove(&self, path: &Path, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let failed = |error: std::io::Error| Diagnostic::io("remove", path, &error);
        let size = path.symlink_metadata().map_err(failed)?.len();
        if !self.mirror.is_dry_run {
            fs::remove_file(path).map_err(failed)?;
            // One that is not empty cannot be removed, nor can those above it.
            let _ = path.ancestors().skip(1).take(3).try_for_each(fs::remove_dir);
        }
        removed.push(RemovedFile { path: path.to_owned(), size });
        Ok(())
    }
}

/// The version that a document is about.
fn version_of(name: &str) -> Option<Version> {
    name.strip_suffix(".json")?.parse().ok().filter(|version| name == document_name(version))
}

fn directories(directory: &Path) -> Vec<(String, PathBuf)> {
    children(directory, fs::FileType::is_dir)
}

/// What is in a directory and of a kind, by name. What cannot be read, or has a name that is not Unicode, is left out.
fn children(directory: &Path, is_of_kind: fn(&fs::FileType) -> bool) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| is_of_kind(&kind)));
    let mut children: Vec<_> =
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect();
    children.sort();
    children
}
