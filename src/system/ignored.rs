//! Rules of `.gitignore`, `.ignore` and `.git/info/exclude`. The files may be hostile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::tree::{Kind, Tree};

use crate::system::lock;

/// Files of patterns in a directory; if several patterns match, the last one applies: of the later
/// file, or later in the same file.
const FILES: [&str; 3] = [".git/info/exclude", ".gitignore", ".ignore"];
/// The largest file of patterns that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// Most bytes of patterns that are kept; they take several hundred times as much memory.
const MOST_BYTES: usize = 256 << 10;
/// The longest pattern, in bytes. No path is longer.
const LONGEST_PATTERN: usize = 4096;

/// Reads the files of patterns, and limits how much of them is in memory.
#[derive(Debug)]
pub(super) struct Ignored<'a> {
    tree: &'a Tree,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Number of bytes of patterns.
    bytes: usize,
    unread: Vec<(PathBuf, io::Error)>,
}

/// Whether `.terraformignore` in a directory excludes a path below from the upload for a remote
/// run. Patterns match at any depth unless they begin with a slash
/// (<https://github.com/hashicorp/go-slug>, `internal/ignorefiles`). A text with too many patterns,
/// or with a pattern that cannot be read or is a regular expression there, excludes every path.
pub(crate) fn excludes_from_upload(directory: &Path, text: &[u8], path: &Path) -> bool {
    if text.len() > MOST_BYTES {
        return true;
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(text).lines() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        // A regular expression there.
        if line.contains(['(', ')', '|', '+', '{', '}', '^', '[', ']']) {
            return true;
        }
        let (negation, pattern) = match line.strip_prefix('!') {
            Some(pattern) => ("!", pattern),
            None => ("", line),
        };
        let depth = if pattern.starts_with('/') || pattern.is_empty() {
            ""
        } else {
            "**/"
        };
        let added = builder.add_line(None, &format!("{negation}{depth}{pattern}"));
        if added.is_err() {
            return true;
        }
    }
    match builder.build() {
        Ok(patterns) => patterns
            .matched_path_or_any_parents(path, false)
            .is_ignore(),
        Err(_) => true,
    }
}

/// Patterns for the content of a directory.
#[derive(Debug)]
pub(super) struct Rules {
    patterns: Gitignore,
    /// Rules inherited from the nearest ancestor directory that has any.
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Whether the patterns match a file in the directory. Callers do not ask about the content of
    /// a directory that is matched.
    pub(super) fn match_file(&self, path: &Path) -> bool {
        let is_directory = false;
        self.match_path(path, is_directory)
    }

    /// Whether the patterns match a directory in the directory.
    pub(super) fn match_directory(&self, path: &Path) -> bool {
        let is_directory = true;
        self.match_path(path, is_directory)
    }

    fn match_path(&self, path: &Path, is_directory: bool) -> bool {
        let matched = self.patterns.matched(path, is_directory);
        if matched.is_none() {
            self.above
                .as_ref()
                .is_some_and(|above| above.match_path(path, is_directory))
        } else {
            matched.is_ignore()
        }
    }
}

impl<'a> Ignored<'a> {
    /// The rules in the files of a tree.
    pub(super) fn in_tree(tree: &'a Tree) -> Self {
        Self {
            tree,
            known: Mutex::default(),
        }
    }

    /// The rules for a directory, given the rules of the directory above. `may_have` tells
    /// whether a file of a name may be in it.
    pub(super) fn rules_of(
        &self,
        directory: &Path,
        above: Option<Arc<Rules>>,
        may_have: impl Fn(&str) -> bool,
    ) -> Option<Arc<Rules>> {
        let mut files = Vec::new();
        for file in FILES {
            let first_part = file.split('/').next().unwrap_or(file);
            if may_have(first_part) {
                files.push(file);
            }
        }
        // Most directories have none of these files, and `may_have` knows it without a system call.
        if files.is_empty() {
            return above;
        }
        match lock(&self.known).patterns(self.tree, directory, files) {
            Some(patterns) => Some(Arc::new(Rules { patterns, above })),
            None => above,
        }
    }

    /// Patterns for the content of a directory and of all directories above.
    pub(super) fn rules_from_top(&self, directory: &Path) -> Option<Arc<Rules>> {
        let above = directory
            .parent()
            .and_then(|above| self.rules_from_top(above));
        self.rules_of(directory, above, |_| true)
    }

    /// Adds a file that could not be read.
    pub(super) fn add_unread(&self, path: PathBuf, error: io::Error) {
        lock(&self.known).unread.push((path, error));
    }

    /// Files that could not be read, sorted.
    pub(super) fn into_unread(self) -> Vec<(PathBuf, io::Error)> {
        let mut unread = self
            .known
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .unread;
        unread.sort_by(|one, other| one.0.cmp(&other.0));
        unread
    }
}

impl Known {
    /// The patterns of a directory, if it has any.
    fn patterns(&mut self, tree: &Tree, directory: &Path, files: Vec<&str>) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(directory);
        for name in files {
            let path = directory.join(name);
            match self.read_patterns(tree, &path) {
                Ok(text) => text.lines().for_each(|line| {
                    // Git ignores a pattern that it cannot read, too.
                    let _ = builder.add_line(None, line);
                }),
                Err(error) => self.unread.push((path, error)),
            }
        }
        builder.build().ok().filter(|patterns| !patterns.is_empty())
    }

    /// The text of a file of patterns; empty if it does not exist. As in git, links are not
    /// followed.
    fn read_patterns(&mut self, tree: &Tree, path: &Path) -> io::Result<String> {
        if tree.own_kind(path) != Some(Kind::File) {
            return Ok(String::new());
        }
        let text = String::from_utf8_lossy(&tree.read(path, LARGEST_FILE)?).into_owned();
        let lines = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        // A pattern takes memory of its own, however short it is.
        self.bytes += lines.clone().map(|line| line.len() + 16).sum::<usize>();
        if self.bytes > MOST_BYTES || lines.clone().any(|line| line.len() > LONGEST_PATTERN) {
            let why = format!(
                "there are more than {} KiB of patterns, or one of 4 KiB",
                MOST_BYTES >> 10
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        // git skips a byte order mark, too.
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }
}
