//! Paths that a change alters: files, links to them, and everything behind links that lead
//! elsewhere.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reviewed_change::{ReviewedChange, file_name};
use crate::configuration::terragrunt;
use crate::lockfile::is_copied_lock_file;
use crate::modules::is_configuration;
use crate::system::{Tree, files};

/// Maximum size of a file whose content is compared.
const MAX_SIZE: u64 = 4 << 20;

impl ReviewedChange {
    /// The changed files, and the links to them.
    pub(super) fn changed_paths(&self) -> BTreeSet<&Path> {
        let mut paths = BTreeSet::new();
        for path in &self.differing {
            paths.insert(path.as_path());
            for link in self.link_targets.get(path).into_iter().flatten() {
                paths.insert(link);
            }
        }
        paths
    }

    /// Whether the change alters a file that is not certainly part of a configuration, such as a
    /// template, which a configuration may name. The files of an altered submodule are not known.
    pub(super) fn alters_files_of_other_kinds(&self) -> bool {
        let mut differing = self.differing.iter();
        !self.submodules.is_empty() || differing.any(|path| !is_only_configuration(file_name(path)))
    }

    /// Whether the change may alter a file whose path ends like this: in the whole name `a.yaml`
    /// for `/a.yaml`, or else in a text.
    pub(super) fn may_alter_path_ending_in(&self, end: &str) -> bool {
        let mut paths = self.changed_paths().into_iter();
        !self.submodules.is_empty()
            || match end.strip_prefix('/') {
                Some(name) => paths.any(|path| path.file_name() == Some(OsStr::new(name))),
                None => paths.any(|path| path.to_string_lossy().ends_with(end)),
            }
    }

    /// Whether a path may have a different content than at the base, or a directory different
    /// files: through links, too, and in altered submodules.
    pub(super) fn may_alter_path(&self, path: &Path) -> bool {
        let path = files::join(&self.current_directory, path);
        let base = Tree::Revision(Arc::clone(&self.base));
        let before = followed(&base, &path);
        let now = followed(&Tree::Work, &path);
        if before != now {
            return !is_same_file(&base, &before, &now);
        }
        if now.ancestors().any(|above| self.differing.contains(above)) {
            return true;
        }
        let mut below = self.differing.range(now.join("")..);
        if below.next().is_some_and(|path| path.starts_with(&now)) {
            return true;
        }
        let submodules = self.altered_submodules();
        now.ancestors().any(|above| submodules.contains(above))
    }
}

/// Whether a file of this name is read as configuration or as a lock file, and not because a
/// configuration names it.
fn is_only_configuration(name: &str) -> bool {
    let is_of_provlock = ReviewedChange::is_lock_file(name) || is_copied_lock_file(name);
    is_configuration(name) || is_of_provlock || terragrunt::FILE_NAMES.contains(&name)
}

/// A path without symbolic links. What does not exist stays as it is written.
fn followed(tree: &Tree, path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(canonical) = tree.canonicalize(above)
            && let Ok(below) = path.strip_prefix(above)
        {
            return files::join(&canonical, below);
        }
    }
    path.to_owned()
}

/// Whether a file of the base and a file of the work tree have the same content, or neither exists.
fn is_same_file(base: &Tree, before: &Path, now: &Path) -> bool {
    match (base.read(before, MAX_SIZE), Tree::Work.read(now, MAX_SIZE)) {
        (Ok(before), Ok(now)) => before == now,
        _ => !base.has(before) && !Tree::Work.has(now),
    }
}
