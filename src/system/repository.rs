//! Finds the top of a git repository, by one rule for the whole program.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{Environment, OnceMap, canonicalize};

/// Returns the top of the work tree around an absolute path without symlinks: the nearest directory
/// upwards that contains `.git`.
pub fn top(path: &Path) -> Option<PathBuf> {
    let ancestors: Vec<_> = path.ancestors().collect();
    let mut top = None;
    for directory in ancestors.into_iter().rev() {
        // A link in a repository does not lead into a different repository.
        if top.is_some() && directory.is_symlink() {
            break;
        }
        if is_top(directory) {
            top = Some(directory);
        }
    }
    if let Some(top) = top {
        return canonicalize(top).ok();
    }

    // The repository may be behind a link.
    let canonical = canonicalize(path).ok()?;
    let top = canonical.ancestors().find(|directory| is_top(directory))?;
    Some(top.to_owned())
}

/// The tops around directories without symlinks. Each directory is looked at once, because root
/// modules have most of the directories above them in common.
#[derive(Debug, Default)]
pub struct Tops {
    known: OnceMap<PathBuf, Option<PathBuf>>,
    /// The current directory without symlinks, resolved once for all directories.
    current: OnceLock<Option<PathBuf>>,
}

impl Tops {
    /// [`top`] of a directory without symlinks.
    pub fn around(&self, directory: &Path) -> Option<PathBuf> {
        self.known.get_or_compute(&directory.to_owned(), || {
            if is_top(directory) {
                return Some(directory.to_owned());
            }
            self.around(directory.parent()?)
        })
    }

    /// [`top_or_current`] of a directory without symlinks.
    pub(crate) fn around_or_current(&self, directory: &Path, environment: &Environment) -> PathBuf {
        if let Some(top) = self.around(directory) {
            return top;
        }
        let current = self
            .current
            .get_or_init(|| canonicalize(&environment.current_directory).ok());
        current_or_itself(directory, current.as_deref())
    }
}

/// [`top`] of a directory without symlinks. Outside of a repository, the current directory stands
/// for one if it is above the directory; otherwise the directory itself does.
pub(crate) fn top_or_current(directory: &Path, environment: &Environment) -> PathBuf {
    if let Some(top) = top(directory) {
        return top;
    }
    let current = canonicalize(&environment.current_directory).ok();
    current_or_itself(directory, current.as_deref())
}

/// The directory that stands for a top outside of a repository: the current one, without symlinks,
/// or the directory itself.
fn current_or_itself(directory: &Path, current: Option<&Path>) -> PathBuf {
    match current {
        Some(current) if directory.starts_with(current) => current.to_owned(),
        _ => directory.to_owned(),
    }
}

/// Whether a directory contains `.git`: a directory, or the file of a worktree or a submodule. Like
/// git, this ignores other files of that name, such as a dangling link.
pub(crate) fn is_top(directory: &Path) -> bool {
    directory
        .join(".git")
        .metadata()
        .is_ok_and(|metadata| metadata.is_dir() || metadata.is_file())
}

/// Whether a directory is a bare repository or in one, and so in no work tree.
pub fn is_bare(directory: &Path) -> bool {
    let Ok(canonical) = canonicalize(directory) else {
        return false;
    };
    canonical.ancestors().any(has_files_of_repository)
        && top(directory).is_none()
        && top(&canonical).is_none()
}

/// Whether a directory has the files of a repository, as `.git` does in a work tree.
fn has_files_of_repository(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(directories: &[&str]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for directory in directories {
                fs::create_dir_all(tree.at(directory)).unwrap();
            }
            tree
        }

        fn at(&self, path: &str) -> PathBuf {
            canonicalize(self.0.path()).unwrap().join(path)
        }
    }

    #[test]
    fn the_nearest_directory_with_git_is_the_top() {
        let tree = Tree::new(&[
            "a/.git",
            "a/live/b",
            "a/nested/.git",
            "a/nested/c",
            "elsewhere/d",
        ]);
        for (path, expected) in [
            ("a/live/b", "a"),
            ("a", "a"),
            ("a/nested/c", "a/nested"),
            ("a/absent", "a"),
        ] {
            assert_eq!(top(&tree.at(path)), Some(tree.at(expected)), "{path}");
            let tops = Tops::default();
            assert_eq!(tops.around(&tree.at(path)), Some(tree.at(expected)));
        }
        assert_eq!(top(&tree.at("elsewhere/d")), None);
        assert_eq!(Tops::default().around(&tree.at("elsewhere/d")), None);
    }

    #[test]
    fn worktrees_and_submodules_have_a_file() {
        let tree = Tree::new(&[
            "a/.git/worktrees/w",
            "a/.git/modules/s",
            "a/s/live",
            "w/live",
        ]);
        fs::write(
            tree.at("w/.git"),
            format!("gitdir: {}\n", tree.at("a/.git/worktrees/w").display()),
        )
        .unwrap();
        fs::write(tree.at("a/s/.git"), "gitdir: ../.git/modules/s\n").unwrap();
        for (path, expected) in [("w/live", "w"), ("a/s/live", "a/s"), ("a", "a")] {
            assert_eq!(top(&tree.at(path)), Some(tree.at(expected)), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_git_entry_that_is_neither_directory_nor_file_is_ignored() {
        let tree = Tree::new(&["a/.git", "a/link/live", "a/socket/live"]);
        std::os::unix::fs::symlink("nowhere", tree.at("a/link/.git")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(tree.at("a/socket/.git")).unwrap();
        for path in ["a/link/live", "a/socket/live"] {
            assert_eq!(top(&tree.at(path)), Some(tree.at("a")), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_a_repository_does_not_choose_a_different_repository() {
        let tree = Tree::new(&["a/.git", "b/.git", "b/live", "c"]);
        std::os::unix::fs::symlink("../b", tree.at("a/link")).unwrap();
        std::os::unix::fs::symlink("../b/live", tree.at("c/link")).unwrap();
        assert_eq!(top(&tree.at("a/link/live")), Some(tree.at("a")));
        assert_eq!(
            top(&tree.at("c/link")),
            Some(tree.at("b")),
            "outside of a repository it does"
        );
    }

    #[test]
    fn outside_of_a_repository_the_current_directory_is_the_boundary() {
        let tree = Tree::new(&["a/.git", "a/b", "c/d"]);
        let around = |path: &str, current: &str| {
            let environment = Environment {
                current_directory: tree.at(current),
                ..Environment::default()
            };
            top_or_current(&tree.at(path), &environment)
        };
        assert_eq!(around("a/b", "a/b"), tree.at("a"));
        assert_eq!(around("c/d", "c"), tree.at("c"));
        assert_eq!(around("c/d", "a"), tree.at("c/d"));
    }
}
