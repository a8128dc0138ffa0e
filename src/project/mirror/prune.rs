//! What is in a mirror and no lock file names. Only what looks like a file of a mirror is removed, and no symbolic link is
//! followed.

use std::fs;
use std::path::{Path, PathBuf};

use super::directory::MirrorDirectory;
use super::documents::{Archives, Document, INDEX, Index};
use super::mirrored::RemovedFile;
use super::releases::Releases;
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::packages::packed_name;
use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::files;

/// The directory of a provider.
struct Folder<'a> {
    address: ProviderAddress,
    path: PathBuf,
    releases: &'a Releases,
    is_dry_run: bool,
}

/// Removes the packages of versions that no lock file names, what the documents say of them, and the directories that are empty
/// then. What could not be removed comes along.
pub(super) fn prune(
    directory: &MirrorDirectory,
    releases: &Releases,
    is_dry_run: bool,
) -> (Vec<RemovedFile>, Diagnostics) {
    let (mut removed, mut errors) = (Vec::new(), Diagnostics::default());
    for (host, path) in directories(&directory.path) {
        for (namespace, path) in directories(&path) {
            for (name, path) in directories(&path) {
                // Namespaces may have underscores in this dialect, and with all three parts there is no other difference.
                let address = format!("{host}/{namespace}/{name}");
                let Ok(address) = ProviderAddress::parse_canonical(&address, Dialect::Terraform) else { continue };
                let pruned = Folder { address, path, releases, is_dry_run }.prune(&mut removed);
                errors.extend(pruned.err().into_iter().flatten());
            }
        }
    }
    (removed, errors)
}

impl Folder<'_> {
    fn prune(&self, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let index = self.path.join(INDEX);
        let is_file = index.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        // The list of versions goes first, so that each in it still has its packages.
        if is_file {
            // Another program's, or the error was found before.
            let Ok(mut document) = Document::<Index>::read(index.clone()) else { return Ok(()) };
            document
                .content
                .versions
                .retain(|version, _| !version.parse().is_ok_and(|version| self.is_unnamed(&version)));
            if document.content.is_empty() && !self.releases.name(&self.address) {
                self.remove(&index, removed)?;
            } else if !self.is_dry_run {
                document.write()?;
            }
        }
        for (name, path) in children(&self.path, fs::FileType::is_file) {
            if self.is_removable(&name, &path) {
                self.remove(&path, removed)?;
            } else if self.is_left_over(&name) {
                self.remove(&path, &mut Vec::new())?;
            }
        }
        Ok(())
    }

    /// Whether a file is a package that a killed run has not finished.
    fn is_left_over(&self, name: &str) -> bool {
        files::replaced_name(name).is_some_and(|name| packed_name(name, &self.address.name).is_some())
    }

    /// Whether a file is a package of a version that no lock file names, or the document about one.
    fn is_removable(&self, name: &str, path: &Path) -> bool {
        if let Some((version, _)) = packed_name(name, &self.address.name) {
            return self.is_unnamed(&version);
        }
        let version = name.strip_suffix(".json").and_then(|version| version.parse().ok());
        version.is_some_and(|version| self.is_unnamed(&version) && Document::<Archives>::read(path.to_owned()).is_ok())
    }

    fn is_unnamed(&self, version: &Version) -> bool {
        !self.releases.name_version(&self.address, version)
    }

    /// Removes a file, and the directories up to the mirror's that are empty then.
    fn remove(&self, path: &Path, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let failed = |error: std::io::Error| Diagnostic::io("remove", path, &error);
        let size = path.symlink_metadata().map_err(failed)?.len();
        if !self.is_dry_run {
            fs::remove_file(path).map_err(failed)?;
            // One that is not empty cannot be removed, nor can those above it.
            let _ = path.ancestors().skip(1).take(3).try_for_each(fs::remove_dir);
        }
        removed.push(RemovedFile { path: path.to_owned(), size });
        Ok(())
    }
}

/// The directories in a directory.
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
