//! Walking over the files of a project.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

/// Directories that hold copies of modules, or nothing of the user's.
const SKIPPED: [&str; 3] = [".terraform", ".terragrunt-cache", ".git"];

/// Everything below a directory but what `.gitignore` names and what the programs put there. Symbolic links to directories
/// are not followed.
pub(super) fn below(top: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(top);
    walk.hidden(false).git_global(false).require_git(false).filter_entry(|entry| !is_skipped(entry));
    walk
}

fn is_skipped(entry: &DirEntry) -> bool {
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_directory && entry.depth() > 0 && SKIPPED.iter().any(|name| entry.file_name() == *name)
}
