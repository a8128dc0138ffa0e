//! Walking over the files of a project.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, IncrementalIgnore, WalkBuilder};

use super::files::join;
use super::{canonicalize, repository};

/// Directories that hold copies of modules, or nothing of the user's.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// Everything below a directory, except what `.gitignore` names and what the programs put there. Symbolic links to
/// directories are not followed.
pub(crate) fn below(top: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(top);
    walk.hidden(false).git_global(false).require_git(false).filter_entry(|entry| !is_skipped(entry));
    walk
}

/// What `.gitignore` names below a directory.
#[derive(Clone)]
pub(crate) struct GitIgnore(Arc<Mutex<Vec<IncrementalIgnore>>>);

impl GitIgnore {
    /// Whether the walk [`below`] the directory leaves an entry out.
    pub(crate) fn names(&self, entry: &DirEntry) -> bool {
        let mut matchers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matchers.iter_mut().any(|matcher| {
            let path = entry.path().strip_prefix(matcher.root()).unwrap_or(entry.path()).to_owned();
            matcher.matched(path, is_directory(entry)).is_ignore()
        })
    }
}

/// The walk [`below`] a directory, together with the files that `.gitignore` names, but without the directories that it
/// names.
pub(crate) fn with_ignored_files(top: &Path) -> (WalkBuilder, GitIgnore) {
    let ignored = GitIgnore(Arc::new(Mutex::new(below(top).build_matchers())));
    let rules = ignored.clone();
    let mut walk = WalkBuilder::new(top);
    walk.standard_filters(false);
    walk.filter_entry(move |entry| !is_directory(entry) || !(is_skipped(entry) || rules.names(entry)));
    (walk, ignored)
}

/// Whether `.gitignore` of the repository names a directory that need not exist, or one that it is in.
pub(crate) fn is_ignored(directory: &Path) -> bool {
    let Some(nearest) = directory.ancestors().find(|above| join(above, "").is_dir()) else { return false };
    let Ok(nearest_canonical) = canonicalize(join(nearest, "")) else { return false };
    let (Some(top), Ok(below)) = (repository::top(&nearest_canonical), directory.strip_prefix(nearest)) else {
        return false;
    };
    let path = nearest_canonical.join(below);
    let Ok(path) = path.strip_prefix(&top) else { return false };
    let is_ignored = |above: &Path, matcher: &mut IncrementalIgnore| {
        !above.as_os_str().is_empty() && matcher.matched(above, true).is_ignore()
    };
    self::below(&top)
        .build_matchers()
        .iter_mut()
        .any(|matcher| path.ancestors().any(|above| is_ignored(above, matcher)))
}

fn is_skipped(entry: &DirEntry) -> bool {
    is_directory(entry) && entry.depth() > 0 && SKIPPED.iter().any(|name| entry.file_name() == *name)
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}
