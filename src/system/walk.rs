//! Walking over the files of a project.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::files::join;
use super::ignored::{Ignored, Rules};
use super::tree::Entry;
use super::{Tree, lock, parallel, repository};

/// Directories with copies of modules, or without files of the user.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// Number of directories for each core that are read before the list of those below them is made.
const AT_ONCE: usize = 64;

/// A directory that a walk has come to.
pub(crate) struct Directory<'a> {
    pub(crate) path: &'a Path,
    /// Its files.
    pub(crate) files: &'a [Entry],
    /// The directories in it that `.gitignore` matches.
    pub(crate) ignored: &'a [PathBuf],
    rules: Option<&'a Rules>,
}

impl Directory<'_> {
    /// Whether `.gitignore` matches a file.
    pub(crate) fn ignores(&self, file: &Entry) -> bool {
        self.rules
            .is_some_and(|rules| rules.match_file(&self.path.join(&file.name)))
    }
}

/// Result of [`collect_below`].
pub(crate) struct Collected<T> {
    /// The items of all directories, in no order.
    pub(crate) items: Vec<T>,
    /// The directories and files of patterns that cannot be read.
    pub(crate) unread: Vec<(PathBuf, io::Error)>,
}

/// Collects items from a directory of a tree and all directories below, which are visited as by
/// [`below`].
pub(crate) fn collect_below<T: Send, I: IntoIterator<Item = T>>(
    tree: &Tree,
    top: &Path,
    items_of: impl Fn(&Directory<'_>) -> I + Sync,
) -> Collected<T> {
    let items = Mutex::new(Vec::new());
    let unread = below(tree, top, |directory| {
        let found = items_of(directory);
        lock(&items).extend(found);
        true
    });
    Collected {
        items: items.into_inner().unwrap_or_else(PoisonError::into_inner),
        unread,
    }
}

/// Visits a directory of a tree and all directories below, on several threads, except if
/// `.gitignore` matches a directory or the tools have created it. Symbolic links to directories
/// are not followed. `descends` looks at a directory and tells whether the walk goes on below it.
///
/// Returns the directories and files of patterns that cannot be read.
pub(crate) fn below(
    tree: &Tree,
    top: &Path,
    descends: impl Fn(&Directory<'_>) -> bool + Sync,
) -> Vec<(PathBuf, io::Error)> {
    let ignored = Ignored::in_tree(tree);
    let above = top.parent().and_then(|above| ignored.rules_from_top(above));
    let mut open = vec![(top.to_owned(), above)];
    while !open.is_empty() {
        // Only some at a time, so that few directories wait.
        let next = open.split_off(open.len().saturating_sub(AT_ONCE * parallel::cores()));
        let directories = parallel::map(next, parallel::cores(), |(path, above)| {
            visit(tree, &ignored, &path, above, &descends)
        });
        open.extend(directories.into_iter().flatten());
    }
    ignored.into_unread()
}

/// Visits one directory. Returns the directories in it that are visited next, with the rules of
/// `.gitignore` that apply to them.
fn visit(
    tree: &Tree,
    ignored: &Ignored<'_>,
    path: &Path,
    above: Option<Arc<Rules>>,
    descends: &impl Fn(&Directory<'_>) -> bool,
) -> Vec<(PathBuf, Option<Arc<Rules>>)> {
    let entries = match tree.entries(path) {
        Ok(entries) => entries,
        Err(error) => {
            ignored.add_unread(path.to_owned(), error);
            return Vec::new();
        }
    };
    let rules = ignored.rules_of(path, above, |name: &str| {
        entries.iter().any(|entry| entry.name == name)
    });
    let mut files = Vec::new();
    let mut ignored_directories = Vec::new();
    let mut next = Vec::new();
    for entry in entries {
        if !entry.is_dir() {
            files.push(entry);
            continue;
        }
        if SKIPPED.iter().any(|name| entry.name == *name) {
            continue;
        }
        let directory = path.join(&entry.name);
        if rules
            .as_ref()
            .is_some_and(|rules| rules.match_directory(&directory))
        {
            ignored_directories.push(directory);
        } else {
            next.push((directory, rules.clone()));
        }
    }
    let is_followed = descends(&Directory {
        path,
        files: &files,
        ignored: &ignored_directories,
        rules: rules.as_deref(),
    });
    if is_followed { next } else { Vec::new() }
}

/// Whether `.gitignore` of the repository matches a directory, which need not exist, or a directory
/// around it.
pub(crate) fn is_ignored(tree: &Tree, directory: &Path) -> bool {
    let mut above = directory.ancestors();
    let Some(nearest) = above.find(|above| tree.is_dir(&join(above, ""))) else {
        return false;
    };
    let Ok(nearest_canonical) = tree.canonicalize(join(nearest, "")) else {
        return false;
    };
    let Some(top) = repository::top(&nearest_canonical) else {
        return false;
    };
    let Ok(below) = directory.strip_prefix(nearest) else {
        return false;
    };
    let path = nearest_canonical.join(below);
    let directories: Vec<_> = path.ancestors().take_while(|above| *above != top).collect();
    let ignored = Ignored::in_tree(tree);
    let mut rules = ignored.rules_from_top(&top);
    // From the top down, because rules below precede those above.
    for directory in directories.into_iter().rev() {
        if let Some(rules) = &rules
            && rules.match_directory(directory)
        {
            return true;
        }
        // The directory is not listed: each of its files with rules is tried.
        rules = ignored.rules_of(directory, rules.take(), |_| true);
    }
    false
}

/// Whether walks skip a directory, or a directory around it.
pub(crate) fn is_skipped(directory: &Path) -> bool {
    directory
        .components()
        .any(|component| SKIPPED.iter().any(|name| component.as_os_str() == *name))
}
