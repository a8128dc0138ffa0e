//! Root modules that a change moves to other directories.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::modules::is_configuration;
use crate::project::reviewed_change::{ReviewedChange, lines};
use crate::provider::Dialect;
use crate::system::files;

/// The directories with a lock file at the base, of whose lock file and configuration the change
/// leaves nothing, by their files. A change may move very many root modules, and each asks where it
/// comes from.
pub(super) struct RemovedRoots {
    directories: Vec<RemovedRoot>,
    /// The indexes of the directories that have a file.
    by_file: HashMap<RootFile, Vec<usize>>,
}

struct RemovedRoot {
    path: PathBuf,
    /// Number of its files with content.
    file_count: usize,
}

/// A digest of a file of a root module, as far as it must stay the same where the root module
/// moves.
#[derive(PartialEq, Eq, Hash)]
struct RootFile([u8; 32]);

impl RemovedRoots {
    /// Collects the root modules that the change removes, by the content of their files.
    pub(super) fn of(change: &ReviewedChange) -> Self {
        let mut directories = Vec::new();
        let mut by_file: HashMap<RootFile, Vec<usize>> = HashMap::new();
        for path in change.removed_root_modules() {
            let mut file_count = 0;
            for (file, bytes) in change.base_files_in(path) {
                if let Some(file) = RootFile::new(file, bytes) {
                    file_count += 1;
                    by_file.entry(file).or_default().push(directories.len());
                }
            }
            directories.push(RemovedRoot {
                path: path.to_owned(),
                file_count,
            });
        }
        Self {
            directories,
            by_file,
        }
    }

    /// The directory from which the change moves a root module to a new directory, which has at
    /// least half of its files.
    pub(super) fn source_of(&self, change: &ReviewedChange, directory: &Path) -> Option<&Path> {
        if self.directories.is_empty() || !change.is_new_directory(directory) {
            return None;
        }
        let mut kept_files: HashMap<usize, usize> = HashMap::new();
        for path in change.current_files_in(directory) {
            let Ok(bytes) = files::read(path, lockfile::SIZE_LIMIT) else {
                continue;
            };
            let Some(file) = RootFile::new(path, &bytes) else {
                continue;
            };
            for index in self.by_file.get(&file).into_iter().flatten() {
                *kept_files.entry(*index).or_default() += 1;
            }
        }

        let mut source = None;
        let mut most = 0;
        for (index, removed) in self.directories.iter().enumerate() {
            let kept = kept_files.get(&index).copied().unwrap_or_default();
            // A few files may be the same in root modules that have nothing else in common.
            if kept > most && kept * 2 >= removed.file_count {
                most = kept;
                source = Some(removed.path.as_path());
            }
        }
        source
    }
}

impl RootFile {
    /// Identifies a file by its content: a configuration by its lines, a lock file by the version
    /// of each provider, whatever its hashes.
    ///
    /// Returns `None` for a file that belongs to no root module, and for one without content, which
    /// many root modules have.
    fn new(path: &Path, bytes: &[u8]) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let mut digest = Sha256::new();
        if name == LOCK_FILE_NAME {
            let lock_file = lockfile::parse(path, bytes, Dialect::default()).lock_file?;
            if lock_file.locks().is_empty() {
                return None;
            }
            for (address, locked) in lock_file.locks() {
                digest.update(format!("{address} {}\n", locked.version));
            }
        } else if is_configuration(name) && !bytes.trim_ascii().is_empty() {
            for line in lines(bytes) {
                digest.update(line);
                digest.update("\n");
            }
        } else {
            return None;
        }
        Some(Self(digest.finalize().into()))
    }
}
