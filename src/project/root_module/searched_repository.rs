//! Evidence in a repository of the tool that its root modules are for: other lock files, and words
//! in tracked files. Unreadable files are skipped.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::linked_lock_files::LinkedLockFiles;
use super::repository_stacks::RepositoryStacks;
use crate::configuration::terragrunt::STACK;
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::provider::Dialect;
use crate::settings::SettingsAbove;
use crate::system::files::canonical_or_given;
use crate::system::process::{self, ProcessLimits};
use crate::system::repository::{self, Tops};
use crate::system::tree::{Kind, Tree};
use crate::system::{Environment, OnceMap, git, walk};

/// Time limit for git to list or to search tracked files.
const GIT_TIME: Duration = Duration::from_secs(20);
/// Maximum size of such a list in bytes (about half a million files).
const LISTING_SIZE: u64 = 64 << 20;
/// Maximum number of lock files that are read at the same distance.
const LOCK_FILES_READ: usize = 100;
/// Maximum number of files that are searched for words, the nearest to the top first.
const FILES_SEARCHED: usize = 20_000;
/// Maximum size of a searched file in bytes. Hand-written files are smaller.
const SIZE_LIMIT: u64 = 1 << 20;
/// Maximum total size of searched files in bytes.
const BYTES_SEARCHED: usize = 128 << 20;

/// The repositories of a run's root modules, each searched at most once; shared by threads.
#[derive(Debug, Default)]
pub struct SearchedRepositories {
    tree: Tree,
    repositories: OnceMap<PathBuf, Arc<SearchedRepository>>,
    tops: Tops,
    /// Whether there is a stack of Terragrunt in a directory or above it. Root modules have most of
    /// the directories above them in common.
    stacks_around: OnceMap<PathBuf, bool>,
    /// The settings in them.
    pub(in crate::project) settings: SettingsAbove,
}

/// A repository, or the current directory outside of one.
#[derive(Debug, Default)]
pub(in crate::project) struct SearchedRepository {
    tree: Tree,
    /// Absolute path without symlinks.
    top: PathBuf,
    /// Whether its directories may be walked: it is a repository, or a directory below the home
    /// directory or elsewhere.
    is_walkable: bool,
    /// The paths of the tracked files, relative to the top; `None` if git cannot list them.
    tracked: OnceLock<Option<Vec<PathBuf>>>,
    /// The paths of lock files.
    lock_file_paths: OnceLock<Vec<PathBuf>>,
    /// The dialects of lock files.
    dialects: OnceMap<PathBuf, Option<Dialect>>,
    /// Whether the working tree, or a commit, mentions OpenTofu.
    tofu_mentions: OnceMap<Option<String>, TofuMentions>,
    /// Lock files that are symbolic links.
    linked_lock_files: OnceLock<LinkedLockFiles>,
    /// Stacks of Terragrunt; `None` if its directories may not be walked.
    stacks: OnceLock<Option<RepositoryStacks>>,
}

/// Whether the files of a repository mention OpenTofu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::project) enum TofuMentions {
    Found,
    NotFound,
    /// No file is tracked, or git cannot list them.
    NoFiles,
}

impl SearchedRepositories {
    /// Repositories whose files are read from a tree.
    pub(in crate::project) fn in_tree(tree: Tree) -> Self {
        Self {
            tree,
            ..Self::default()
        }
    }

    /// Returns the repository around a directory, which is given without symlinks. Outside of a
    /// repository, the current directory is treated as one.
    pub(in crate::project) fn around(
        &self,
        directory: &Path,
        environment: &Environment,
    ) -> Arc<SearchedRepository> {
        let top = self.tops.around_or_current(directory, environment);
        self.with_top(&top, environment)
    }

    /// Returns the directory in which root modules may share the lock file of a root module through
    /// links: the repository. Outside of a repository, the directory of the file counts, too, if it
    /// is above the root module and below the home directory.
    pub(in crate::project) fn around_lock_file(
        &self,
        root: &Path,
        lock_file: &Path,
        environment: &Environment,
    ) -> Arc<SearchedRepository> {
        let top = self.tops.around_or_current(root, environment);
        let directory = lock_file.parent().unwrap_or(&top);
        let is_above = top.starts_with(directory) && !repository::is_top(&top);
        if is_above && !contains_home(directory, environment) {
            self.with_top(directory, environment)
        } else {
            self.with_top(&top, environment)
        }
    }

    /// Whether there is a stack of Terragrunt in a directory without symlinks, or above it up to
    /// the top of its repository.
    pub(in crate::project) fn has_stack_around(&self, directory: &Path, top: &Path) -> bool {
        if !directory.starts_with(top) {
            return false;
        }
        self.stacks_around
            .get_or_compute(&directory.to_owned(), || {
                self.tree.has(&directory.join(STACK))
                    || directory
                        .parent()
                        .is_some_and(|above| self.has_stack_around(above, top))
            })
    }

    /// Returns the repository with this top, the same one for each call.
    fn with_top(&self, top: &Path, environment: &Environment) -> Arc<SearchedRepository> {
        self.repositories.get_or_compute(&top.to_owned(), || {
            Arc::new(SearchedRepository {
                tree: self.tree.clone(),
                top: top.to_owned(),
                is_walkable: repository::is_top(top) || !contains_home(top, environment),
                ..SearchedRepository::default()
            })
        })
    }
}

impl SearchedRepository {
    /// Its directory, absolute and without symlinks.
    pub(in crate::project) fn top(&self) -> &Path {
        &self.top
    }

    /// Takes over the directories in which a lock file is a symbolic link, from a search of the
    /// whole repository.
    pub(in crate::project) fn know_linked_lock_files(&self, directories: &BTreeSet<PathBuf>) {
        self.linked_lock_files
            .get_or_init(|| LinkedLockFiles::in_directories(&self.tree, directories));
    }

    /// Returns the lock files in it that are symbolic links.
    pub(in crate::project) fn linked_lock_files(&self) -> &LinkedLockFiles {
        self.linked_lock_files.get_or_init(|| {
            if self.is_walkable {
                LinkedLockFiles::below(&self.tree, &self.top)
            } else {
                LinkedLockFiles::default()
            }
        })
    }

    /// Returns the stacks of Terragrunt in it; `None` if its directories may not be walked.
    pub(in crate::project) fn stacks(
        &self,
        environment: &Environment,
    ) -> Option<&RepositoryStacks> {
        let stacks = self.stacks.get_or_init(|| {
            if self.is_walkable {
                RepositoryStacks::below(&self.tree, &self.top, environment)
            } else {
                None
            }
        });
        stacks.as_ref()
    }

    /// Returns the tracked files, including ignored ones; `None` outside of a repository or if git
    /// fails.
    fn tracked_files(&self) -> Option<&[PathBuf]> {
        let tracked = self.tracked.get_or_init(|| {
            if repository::is_top(&self.top) {
                let listed = list_paths(&self.top, &["ls-files", "-z", "--cached"])?;
                Some(self.tree.tracked(&self.top, listed))
            } else {
                None
            }
        });
        tracked.as_deref()
    }

    /// Whether it is a repository whose files git cannot list.
    pub(in crate::project) fn is_unlisted(&self) -> bool {
        repository::is_top(&self.top) && self.tracked_files().is_none()
    }

    /// Returns the lock files: the tracked ones, or those on disk if git cannot list them. Empty if
    /// git cannot list them and the directory is too large to search.
    fn lock_files(&self) -> Vec<PathBuf> {
        if let Some(tracked) = self.tracked_files() {
            let mut lock_files = Vec::new();
            for path in tracked {
                if path.file_name() == Some(OsStr::new(LOCK_FILE_NAME)) {
                    lock_files.push(self.top.join(path));
                }
            }
            return lock_files;
        }
        // Without a repository, the directory may be as large as the home directory or the whole
        // disk.
        if !self.is_walkable {
            return Vec::new();
        }
        let collected = walk::collect_below(&self.tree, &self.top, |directory| {
            let mut files = directory.files.iter();
            if files.any(|file| file.name == LOCK_FILE_NAME) {
                Some(directory.path.join(LOCK_FILE_NAME))
            } else {
                None
            }
        });
        collected.items
    }

    /// The dialect of the lock files that are nearest to a root module's directory
    /// ([`nearest_dialect`]).
    pub(in crate::project) fn dialect_of_nearest_lock_files(&self, root: &Path) -> Option<Dialect> {
        let paths = self.lock_file_paths.get_or_init(|| self.lock_files());
        let lock_files = paths.iter().map(PathBuf::as_path);
        nearest_dialect(&self.top, root, lock_files, |path| {
            self.dialects
                .get_or_compute(&path.to_owned(), || self.dialect_of(path))
        })
    }

    /// The dialect that a lock file determines.
    fn dialect_of(&self, path: &Path) -> Option<Dialect> {
        let bytes = lockfile::read_in(&self.tree, path).ok()??;
        lockfile::detect_dialect(&bytes)
    }

    /// Whether a tracked file or its path mentions OpenTofu, in the working tree or in a commit,
    /// which is given by its object name.
    pub(in crate::project) fn tofu_mentions(&self, commit: Option<&str>) -> TofuMentions {
        self.tofu_mentions
            .get_or_compute(&commit.map(str::to_owned), || match commit {
                Some(commit) => self.tofu_mentions_in_commit(commit),
                None => self.tofu_mentions_in_work_tree(),
            })
    }

    /// Whether a tracked file, or its path, contains the name of OpenTofu.
    fn tofu_mentions_in_work_tree(&self) -> TofuMentions {
        let tracked = self.tracked_files().unwrap_or_default();
        if tracked.is_empty() {
            return TofuMentions::NoFiles;
        }
        if paths_mention_tofu(tracked) || self.files_mention_tofu(tracked) {
            TofuMentions::Found
        } else {
            TofuMentions::NotFound
        }
    }

    /// Whether a file of a commit, or its path, contains the name of OpenTofu.
    fn tofu_mentions_in_commit(&self, commit: &str) -> TofuMentions {
        let list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit];
        let tracked = list_paths(&self.top, &list).unwrap_or_default();
        if tracked.is_empty() {
            return TofuMentions::NoFiles;
        }
        let search = [
            "grep",
            "-q",
            "-a",
            "-w",
            "-F",
            "--no-recurse-submodules",
            "-e",
            "tofu",
            "-e",
            "opentofu",
            commit,
        ];
        // git grep fails without a match.
        if paths_mention_tofu(&tracked) || git_output(&self.top, &search).is_some() {
            TofuMentions::Found
        } else {
            TofuMentions::NotFound
        }
    }

    /// Whether a tracked file contains the name of OpenTofu. Files are read until a limit, first
    /// the files near the top. Files that are too large are skipped.
    fn files_mention_tofu(&self, tracked: &[PathBuf]) -> bool {
        // The files nearest to the top come first: there are the CI files and READMEs that name the
        // tool.
        let mut paths: Vec<_> = tracked.iter().collect();
        paths.sort_by_cached_key(|path| path.components().count());
        paths.truncate(FILES_SEARCHED);
        let mut bytes_left = BYTES_SEARCHED;
        for path in paths {
            let path = self.top.join(path);
            if self.tree.own_kind(&path) != Some(Kind::File) {
                continue;
            }
            let bytes = self.tree.read(&path, SIZE_LIMIT).unwrap_or_default();
            if mentions_tofu(&bytes) {
                return true;
            }
            bytes_left = bytes_left.saturating_sub(bytes.len());
            if bytes_left == 0 {
                return false;
            }
        }
        false
    }
}

/// Whether a directory is the home directory or above it, so that walking it may take very long.
fn contains_home(directory: &Path, environment: &Environment) -> bool {
    environment
        .home
        .as_deref()
        .is_some_and(|home| canonical_or_given(home).starts_with(directory))
}

/// Returns the dialect of the lock files nearest to a root module's directory: those beside it
/// first, then those further up and down; `None` if they differ.
pub(in crate::project) fn nearest_dialect<'a>(
    top: &Path,
    root: &Path,
    lock_files: impl Iterator<Item = &'a Path>,
    dialect_of: impl Fn(&Path) -> Option<Dialect>,
) -> Option<Dialect> {
    let mut directories = Vec::new();
    for lock_file in lock_files {
        if let Some(directory) = lock_file.parent()
            && directory != root
        {
            directories.push(directory);
        }
    }
    let mut around = root;
    // The lock files beside the root module are below its parent.
    if root != top
        && let Some(parent) = root.parent()
    {
        around = parent;
    }
    for ancestor in around.ancestors() {
        if !ancestor.starts_with(top) {
            break;
        }
        let mut nearest = directories.clone();
        nearest.retain(|directory| directory.starts_with(ancestor));
        let distances = nearest
            .iter()
            .map(|directory| distance(ancestor, directory));
        let Some(least) = distances.min() else {
            continue;
        };
        nearest.retain(|directory| distance(ancestor, directory) == least);
        nearest.truncate(LOCK_FILES_READ);

        let mut dialects = BTreeSet::new();
        for directory in nearest {
            dialects.extend(dialect_of(&directory.join(LOCK_FILE_NAME)));
        }
        // Lock files that determine no dialect say nothing about the root module.
        match dialects.len() {
            0 => {}
            1 => return dialects.pop_first(),
            _ => return None,
        }
    }
    None
}

/// Distance of a directory with a lock file below an ancestor of a root module. A parent is as near
/// as a sibling.
fn distance(ancestor: &Path, directory: &Path) -> usize {
    let depth = directory.components().count();
    depth.max(ancestor.components().count() + 1)
}

/// Runs a git command that lists paths, each ended by a NUL; `None` if it fails.
fn list_paths(top: &Path, arguments: &[&str]) -> Option<Vec<PathBuf>> {
    let listed = git_output(top, arguments)?;
    let mut paths = Vec::new();
    for bytes in listed.split(|byte| *byte == 0) {
        match std::str::from_utf8(bytes) {
            Ok(path) if !path.is_empty() => paths.push(PathBuf::from(path)),
            _ => {}
        }
    }
    Some(paths)
}

/// Runs git at the top of a repository, which is not trusted, and returns its output; `None` if git
/// fails.
fn git_output(top: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = git::in_repository(top);
    command.args(arguments);
    let limits = ProcessLimits {
        time: GIT_TIME,
        stdout: LISTING_SIZE,
        exceeded: &|| None,
    };
    let finished = process::run_within(command, None, &limits).ok()?;
    if finished.status.success() {
        Some(finished.stdout)
    } else {
        None
    }
}

/// Whether a text has the word `tofu` or `opentofu`.
fn mentions_tofu(text: &[u8]) -> bool {
    for start in memchr::memmem::find_iter(text, "tofu") {
        let before = &text[..start];
        let before = before.strip_suffix(b"open").unwrap_or(before);
        let after = text.get(start + "tofu".len()).copied();
        if !is_of_word(before.last().copied()) && !is_of_word(after) {
            return true;
        }
    }
    false
}

/// Whether a byte continues a word; `None` at the start or end of the text.
fn is_of_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn paths_mention_tofu(paths: &[PathBuf]) -> bool {
    paths
        .iter()
        .any(|path| mentions_tofu(path.as_os_str().as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::mentions_tofu;

    #[test]
    fn only_whole_words_are_found() {
        for text in [
            "tofu",
            "run: tofu init",
            "opentofu/setup-opentofu@v1",
            "main.tofu",
            "(opentofu)",
            "atofu tofu",
        ] {
            assert!(mentions_tofu(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "tof",
            "tofus",
            "reopentofu",
            "atofu",
            "tofu_version",
            "open tofutest",
            "OpenTofu",
        ] {
            assert!(!mentions_tofu(text.as_bytes()), "{text}");
        }
    }
}
