//! Lock files that are symbolic links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::configuration::has_linked_lock_file;
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::system::tree::{Kind, Tree};
use crate::system::{files, walk};

/// Names of lock files.
pub(in crate::project) const LOCK_FILES: [&str; 2] = [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME];

/// Symbolic links with the name of a lock file, by the file that they resolve to.
#[derive(Debug, Default)]
pub(in crate::project) struct LinkedLockFiles {
    /// The directories of the links, absolute and without symlinks.
    directories: BTreeMap<Linked, BTreeSet<PathBuf>>,
}

/// File that links of one name resolve to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::project) struct Linked {
    /// Name of the links.
    name: &'static str,
    /// Path of the file, absolute and without symlinks. The file need not exist.
    pub(in crate::project) file: PathBuf,
}

impl Linked {
    /// A file, given by its path without symlinks.
    pub(in crate::project) fn to(file: &Path, name: &'static str) -> Self {
        let file = file.to_owned();
        Self { name, file }
    }

    /// The file of a lock file in a directory, which is given without symlinks; `None` if there is
    /// no lock file of this name.
    pub(in crate::project) fn of(
        tree: &Tree,
        directory: &Path,
        name: &'static str,
    ) -> Option<Self> {
        let path = directory.join(name);
        let file = match tree.own_kind(&path)? {
            Kind::Link => match tree.canonicalize(&path) {
                Ok(file) => file,
                // The file need not exist.
                Err(_) => files::resolved(&path),
            },
            _ => path,
        };
        Some(Self { name, file })
    }
}

impl LinkedLockFiles {
    /// Finds the links in a directory and below.
    pub(in crate::project) fn below(tree: &Tree, top: &Path) -> Self {
        let collected = walk::collect_below(tree, top, |directory| {
            if has_linked_lock_file(directory.files) {
                Some(directory.path.to_owned())
            } else {
                None
            }
        });
        Self::in_directories(tree, &collected.items.into_iter().collect())
    }

    /// Resolves the links in directories, which are given without symlinks.
    pub(in crate::project) fn in_directories(tree: &Tree, directories: &BTreeSet<PathBuf>) -> Self {
        let mut links = Self::default();
        for directory in directories {
            for name in LOCK_FILES {
                let is_link = tree.own_kind(&directory.join(name)) == Some(Kind::Link);
                if is_link && let Some(linked) = Linked::of(tree, directory, name) {
                    let linking = links.directories.entry(linked).or_default();
                    linking.insert(directory.clone());
                }
            }
        }
        links
    }

    /// The directories whose lock file resolves to a file, without the directory of the file.
    pub(in crate::project) fn links_to(&self, linked: &Linked) -> impl Iterator<Item = &Path> {
        let directories = self.directories.get(linked);
        directories.into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The directory of the file itself, if the file has the name of its links.
pub(in crate::project) fn own_directory(linked: &Linked) -> Option<&Path> {
    if linked.file.file_name()? == linked.name {
        linked.file.parent()
    } else {
        None
    }
}
