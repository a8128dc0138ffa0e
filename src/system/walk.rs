//! Walking over the files of a project.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder};

use super::files::join;
use super::ignored::Ignored;
use super::{canonicalize, repository};

/// Directories that hold copies of modules, or nothing of the user's.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// Everything below a directory, except what `.gitignore` names and what the programs put there. Symbolic links to
/// directories are not followed.
pub(crate) fn below(top: &Path) -> WalkBuilder {
    let rules = GitIgnore::default();
    walk(top, move |entry| !is_left_out(entry) && !rules.names(entry))
}

/// What `.gitignore` names below a directory.
#[derive(Clone, Default)]
pub(crate) struct GitIgnore(Arc<Ignored>);

impl GitIgnore {
    /// Whether the walk [`below`] the directory leaves an entry out.
    pub(crate) fn names(&self, entry: &DirEntry) -> bool {
        entry.depth() > 0 && self.0.names(entry.path(), is_directory(entry))
    }

    /// The files of patterns that could not be read.
    pub(crate) fn unread(&self) -> Vec<(PathBuf, io::Error)> {
        self.0.unread()
    }
}

/// The walk [`below`] a directory, together with the files that `.gitignore` names, but without the directories that it
/// names.
pub(crate) fn with_ignored_files(top: &Path) -> (WalkBuilder, GitIgnore) {
    let ignored = GitIgnore::default();
    let rules = ignored.clone();
    let walk = walk(top, move |entry| !is_directory(entry) || !(is_left_out(entry) || rules.names(entry)));
    (walk, ignored)
}

/// The library reads files of patterns without a limit, and follows links to them.
fn walk(top: &Path, is_wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static) -> WalkBuilder {
    let mut walk = WalkBuilder::new(top);
    walk.standard_filters(false).filter_entry(is_wanted);
    walk
}

/// Whether `.gitignore` of the repository names a directory that need not exist, or one that it is in.
pub(crate) fn is_ignored(directory: &Path) -> bool {
    let Some(nearest) = directory.ancestors().find(|above| join(above, "").is_dir()) else { return false };
    let Ok(nearest_canonical) = canonicalize(join(nearest, "")) else { return false };
    let (Some(top), Ok(below)) = (repository::top(&nearest_canonical), directory.strip_prefix(nearest)) else {
        return false;
    };
    let (path, ignored) = (nearest_canonical.join(below), Ignored::default());
    path.ancestors().take_while(|above| *above != top).any(|above| ignored.names(above, true))
}

/// Whether a directory is one that walks leave out, or in one.
pub(crate) fn is_skipped(directory: &Path) -> bool {
    directory.components().any(|component| SKIPPED.iter().any(|name| component.as_os_str() == *name))
}

fn is_left_out(entry: &DirEntry) -> bool {
    is_directory(entry) && entry.depth() > 0 && SKIPPED.iter().any(|name| entry.file_name() == *name)
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}
