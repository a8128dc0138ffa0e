//! What `.gitignore`, `.ignore` and `.git/info/exclude` name. Whoever writes them may be hostile.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::files;

use crate::system::lock;

/// The files of patterns in a directory; of two patterns that match, the one in the later file counts, or the later one
/// in the same file.
const FILES: [&str; 3] = [".git/info/exclude", ".gitignore", ".ignore"];
/// The largest file of patterns that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// How many bytes of patterns are kept in memory, where they take several hundred times as much.
const MOST_BYTES: usize = 256 << 10;
/// The longest pattern, in bytes. No path is longer.
const LONGEST_PATTERN: usize = 4096;

/// The patterns of the directories around the paths that are asked for, each file of them read once.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The rules for what is in a directory.
    directories: HashMap<PathBuf, Option<Arc<Rules>>>,
    /// How many bytes of patterns there are.
    bytes: usize,
    unread: Vec<(PathBuf, io::Error)>,
}

/// The patterns of a directory.
#[derive(Debug)]
struct Rules {
    patterns: Gitignore,
    /// Those of the nearest directory above that has any.
    above: Option<Arc<Rules>>,
}

impl Ignored {
    /// Whether the patterns name a path. Nothing asks for what is in a directory that they name.
    pub(super) fn names(&self, path: &Path, is_directory: bool) -> bool {
        let Some(directory) = path.parent() else { return false };
        let rules = lock(&self.known).rules(directory);
        let mut next = rules.as_deref();
        while let Some(nearest) = next {
            let matched = nearest.patterns.matched(path, is_directory);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            next = nearest.above.as_deref();
        }
        false
    }

    /// The files that could not be read, sorted.
    pub(super) fn unread(&self) -> Vec<(PathBuf, io::Error)> {
        let mut unread = std::mem::take(&mut lock(&self.known).unread);
        unread.sort_by(|one, other| one.0.cmp(&other.0));
        unread
    }
}

impl Known {
    fn rules(&mut self, directory: &Path) -> Option<Arc<Rules>> {
        if let Some(known) = self.directories.get(directory) {
            return known.clone();
        }
        let above = directory.parent().and_then(|above| self.rules(above));
        let rules = match self.patterns(directory) {
            Some(patterns) => Some(Arc::new(Rules { patterns, above })),
            None => above,
        };
        self.directories.insert(directory.to_owned(), rules.clone());
        rules
    }

    /// The patterns of a directory, if it has any.
    fn patterns(&mut self, directory: &Path) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(directory);
        for name in FILES {
            let path = directory.join(name);
            match self.read(&path) {
                Ok(text) => text.lines().for_each(|line| {
                    // Git ignores a pattern that it cannot read, too.
                    let _ = builder.add_line(None, line);
                }),
                Err(error) => self.unread.push((path, error)),
            }
        }
        builder.build().ok().filter(|patterns| !patterns.is_empty())
    }

    /// The text of a file of patterns; empty if there is none. Git, too, follows no link to one.
    fn read(&mut self, path: &Path) -> io::Result<String> {
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(String::new());
        }
        let text = String::from_utf8_lossy(&files::read(path, LARGEST_FILE)?).into_owned();
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
        // A pattern takes memory of its own, however short it is.
        self.bytes += lines.clone().map(|line| line.len() + 16).sum::<usize>();
        if self.bytes > MOST_BYTES || lines.clone().any(|line| line.len() > LONGEST_PATTERN) {
            let why = format!("there are more than {} KiB of patterns, or one of 4 KiB", MOST_BYTES >> 10);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }
}
