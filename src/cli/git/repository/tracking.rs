//! Whether git tracks the lock files and the data of a root module, and which rule ignores them.

#![expect(
    clippy::disallowed_methods,
    reason = "git's objects are compared with the files of the work tree themselves"
)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use provlock::diagnostic::{Code, Diagnostic, Location, Severity, SourceFile};
use provlock::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::project::verify::{Obstacle, Tracking};
use provlock::project::{Tracked, VersionControl};
use provlock::system::{Tree, canonicalize, files};

use super::super::command::{IgnoreRule, list_matching_files, rules_ignoring_paths};
use super::super::object_name::is_blob_on_disk;
use super::{DATA_DIRECTORY, Repository};

/// Maximum size of an ignore file that is read, in bytes.
const IGNORE_FILE_LIMIT: u64 = 1 << 20;

impl Repository {
    /// Whether git tracks the lock file with this name of a root module. Unknown for a root module
    /// in a different repository, and if git cannot list the files. A lock file that does not exist
    /// is returned as ignored.
    pub(in crate::cli::git) fn tracking_of(&self, root: &Path, name: &str) -> Tracking {
        let Some(path) = self.path_in(root, name) else {
            return Tracking::Unknown;
        };
        let Some(tracked) = self.tracked() else {
            return Tracking::Unknown;
        };
        if tracked.contains(path.as_os_str()) {
            return Tracking::Tracked;
        }
        // Git does not list the files of a repository in this one, which may track the file.
        if !self.is_nearest_repository_of(root) {
            return Tracking::Unknown;
        }
        match self.untracked_lock_files() {
            Err(_) => Tracking::Unknown,
            Ok(untracked) if untracked.contains(path.as_os_str()) => Tracking::Untracked,
            Ok(_) => Tracking::Ignored,
        }
    }

    fn untracked_lock_files(&self) -> &Result<BTreeSet<OsString>> {
        self.untracked.get_or_init(|| {
            let options = ["--others", "--exclude-standard"];
            let names = [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME];
            list_matching_files(&self.top, &options, &names)
        })
    }

    /// The location of the line with a rule, in a file as the user knows it.
    fn location_of_rule(&self, rule: &IgnoreRule) -> Location {
        let path = self.top.join(&rule.file);
        let shown = match files::relative(&path, &self.directory) {
            Some(relative) => relative,
            None => path.clone(),
        };
        // The finding is about the whole file if it cannot be read.
        let bytes = Tree::Work
            .read(&path, IGNORE_FILE_LIMIT)
            .unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();

        let mut start = 0;
        let mut length = 0;
        for line in text.split_inclusive('\n').take(rule.line) {
            start += length;
            length = line.len();
        }
        let line = text[start..start + length].trim_end();
        let end = start + line.len();
        Location::new(&SourceFile::new(shown, text), start..end)
    }

    /// The data directories of a root module in the repository, relative to its top: as written,
    /// and behind links.
    fn data_directories(&self, root: &Path) -> BTreeSet<PathBuf> {
        let mut names = vec![Path::new(DATA_DIRECTORY)];
        names.extend(self.data_directory.as_deref());
        let mut directories = BTreeSet::new();
        for name in names {
            let written = files::join(root, name);
            if let Ok(inside) = written.strip_prefix(&self.top) {
                directories.insert(inside.to_owned());
            }
            if let Ok(behind_links) = canonicalize(&written)
                && let Ok(inside) = behind_links.strip_prefix(&self.top)
            {
                directories.insert(inside.to_owned());
            }
        }
        directories
    }

    /// The files in the data directories of a root module that git tracks.
    pub(in crate::cli::git) fn data_files(&self, root: &Path) -> Vec<PathBuf> {
        let Some(tracked) = self.tracked() else {
            return Vec::new();
        };
        let mut files = BTreeSet::new();
        for directory in self.data_directories(root) {
            // A link in its place is a file for git.
            if tracked.contains(directory.as_os_str()) {
                files.insert(directory.clone());
            }
            for path in tracked.range(directory.join("").into_os_string()..) {
                let path = Path::new(path);
                if !path.starts_with(&directory) {
                    break;
                }
                files.insert(path.to_owned());
            }
        }

        let mut relative = Vec::new();
        for file in files {
            let path = self.top.join(file);
            match path.strip_prefix(root) {
                Ok(below) => relative.push(below.to_owned()),
                Err(_) => relative.push(path),
            }
        }
        relative
    }

    /// Whether the compared commit has the same files in the data directories of a root module,
    /// byte for byte. Git's own comparison with the files on disk depends on `.gitattributes`,
    /// which a pull request may change.
    pub(in crate::cli::git) fn has_unchanged_data(&self, root: &Path) -> bool {
        let Some(data) = self.data_blobs.get() else {
            return false;
        };
        for directory in self.data_directories(root) {
            for (path, blob) in data.range(directory.clone().into_os_string()..) {
                // The name of a different directory may begin like this one.
                if !Path::new(path).starts_with(&directory) {
                    continue;
                }
                // The compared commit has a different file, or none.
                let Some(blob) = blob else {
                    return false;
                };
                if !is_blob_on_disk(&self.top.join(path), blob) {
                    return false;
                }
            }
        }
        true
    }

    /// A warning if git cannot list the tracked files.
    pub(crate) fn warning(&self) -> Option<Diagnostic> {
        let warning = Diagnostic {
            severity: Severity::Warning,
            ..self.failure()?
        };
        Some(warning.note("could not check whether git tracks the lock files"))
    }

    fn obstacle(&self) -> Option<Obstacle> {
        let failure = self.failure()?;
        // Git searches for a repository further up if a directory lacks this file.
        let dot_git = self.top.join(".git");
        if dot_git.is_dir() && !dot_git.join("HEAD").exists() {
            return Some(Obstacle::NoRepository);
        }
        Some(Obstacle::Failed(Box::new(failure)))
    }

    /// Reason why git could not list the files, if one of its answers is missing.
    fn failure(&self) -> Option<Diagnostic> {
        let others = self
            .untracked
            .get()
            .and_then(|others| others.as_ref().err());
        let error = self.tracked_or_error().as_ref().err().or(others)?;
        let Some(known) = error.downcast_ref::<Diagnostic>() else {
            return Some(Diagnostic::error(Code::Io, format!("{error:#}")));
        };
        Some(known.clone())
    }

    /// The path of a file in the repository, for a directory without symlinks.
    fn path_in(&self, directory: &Path, name: &str) -> Option<PathBuf> {
        Some(directory.strip_prefix(&self.top).ok()?.join(name))
    }

    /// Whether no other repository, such as a submodule, is between the top and a directory without
    /// symlinks.
    fn is_nearest_repository_of(&self, directory: &Path) -> bool {
        self.tops.around(directory).as_ref() == Some(&self.top)
    }
}

impl VersionControl for Repository {
    fn tracked(&self, root: &Path, has_modules: bool) -> Tracked {
        let modules = has_modules.then(|| self.tracking_of(root, MODULE_LOCK_FILE_NAME));
        Tracked {
            lock_file: self.tracking_of(root, LOCK_FILE_NAME),
            module_lock_file: modules.unwrap_or_default(),
            data_files: self.data_files(root),
            obstacle: self.obstacle(),
        }
    }

    fn rules_ignoring_lock_files(&self, roots: &[&Path]) -> Vec<Option<Location>> {
        let mut paths = Vec::new();
        for root in roots {
            let mut path = None;
            if let Ok(canonical) = canonicalize(root)
                && self.is_nearest_repository_of(&canonical)
            {
                path = self.path_in(&canonical, LOCK_FILE_NAME);
            }
            paths.push(path);
        }
        // A root module outside has no path, and git is not asked about it.
        let paths_inside: Vec<&PathBuf> = paths.iter().flatten().collect();
        let mut rules_inside = rules_ignoring_paths(&self.top, &paths_inside).into_iter();
        let mut locations = Vec::new();
        for path in &paths {
            let mut rule = None;
            if path.is_some() {
                rule = rules_inside.next().flatten();
            }
            locations.push(rule.map(|rule| self.location_of_rule(&rule)));
        }
        locations
    }
}
