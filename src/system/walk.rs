//! Walking over the files of a project.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::join;
use super::ignored::{Ignored, Rules};
use super::tree::Entry;
use super::{Tree, parallel, repository};

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
    /// Whether `.gitignore` names a file.
    pub(crate) fn ignores(&self, file: &Entry) -> bool {
        self.rules
            .is_some_and(|rules| rules.name(&self.path.join(&file.name), false))
    }
}

/// Visits a directory of a tree and all directories below, on several threads, except if
/// `.gitignore` matches a directory or the tools have created it. Symbolic links to directories
/// are not followed. `look` returns whether to descend.
///
/// Returns the directories and files of patterns that cannot be read.
pub(crate) fn below(
    tree: &Tree,
    top: &Path,
    look: impl Fn(&Directory<'_>) -> bool + Sync,
) -> Vec<(PathBuf, io::Error)> {
    let ignored = Ignored::in_tree(tree);
    let visit = |(path, above): (PathBuf, Option<Arc<Rules>>)| {
        let entries = match tree.entries(&path) {
            Ok(entries) => entries,
            Err(error) => {
                ignored.add_unread(path, error);
                return Vec::new();
            }
        };
        let is_there = |name: &str| entries.iter().any(|entry| entry.name == name);
        let rules = ignored.rules(&path, above, is_there);
        let (directories, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(Entry::is_dir);
        let mut left_out = Vec::new();
        let mut wanted = Vec::new();
        for entry in directories {
            if SKIPPED.iter().any(|name| entry.name == *name) {
                continue;
            }
            let path = path.join(&entry.name);
            if rules.as_ref().is_some_and(|rules| rules.name(&path, true)) {
                left_out.push(path);
            } else {
                wanted.push(path);
            }
        }
        if !look(&Directory {
            path: &path,
            files: &files,
            ignored: &left_out,
            rules: rules.as_deref(),
        }) {
            return Vec::new();
        }
        wanted
            .into_iter()
            .map(|path| (path, rules.clone()))
            .collect()
    };
    let above = top.parent().and_then(|above| ignored.all_rules(above));
    let mut open = vec![(top.to_owned(), above)];
    while !open.is_empty() {
        // Only some at a time, so that few directories wait.
        let next = open.split_off(open.len().saturating_sub(AT_ONCE * parallel::cores()));
        open.extend(
            parallel::map(next, parallel::cores(), visit)
                .into_iter()
                .flatten(),
        );
    }
    ignored.into_unread()
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
    let (Some(top), Ok(below)) = (
        repository::top(&nearest_canonical),
        directory.strip_prefix(nearest),
    ) else {
        return false;
    };
    let (path, ignored) = (nearest_canonical.join(below), Ignored::in_tree(tree));
    let inside: Vec<_> = path.ancestors().take_while(|above| *above != top).collect();
    let mut rules = ignored.all_rules(&top);
    inside.into_iter().rev().any(|directory| {
        let is_named = rules
            .as_ref()
            .is_some_and(|rules| rules.name(directory, true));
        rules = ignored.rules(directory, rules.take(), |_| true);
        is_named
    })
}

/// Whether walks skip a directory, or a directory around it.
pub(crate) fn is_skipped(directory: &Path) -> bool {
    directory
        .components()
        .any(|component| SKIPPED.iter().any(|name| component.as_os_str() == *name))
}
