//! The files of a revision without a work tree.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use provlock::diagnostic::{self, Diagnostic};
use provlock::system::{Tree, canonicalize, files, repository};

use super::base_tree::{BaseFile, BaseFiles, PathFilter, is_read_by_name, make_overlay};
use super::command::{native_path, run_successfully, size_limit};

/// Wanted files of a revision. Nothing is read from the work tree.
pub(crate) struct RevisionFiles {
    /// Paths relative to the directory of the listing.
    pub(crate) paths: BTreeSet<PathBuf>,
    /// The highest directory of the revision.
    top: PathBuf,
    tree: Tree,
}

impl RevisionFiles {
    /// Lists the files of an object from [`resolve`](super::resolve) for which `is_wanted` returns
    /// true: files at these paths, or in any directory below if there are none. The object is the
    /// state of `directory` if `is_directory` is set, otherwise that of the repository around it.
    pub(crate) fn list(
        directory: &Path,
        object: &str,
        is_directory: bool,
        paths: &[&Path],
        is_wanted: PathFilter,
    ) -> Result<Self> {
        let current = canonicalize(directory)?;
        let mut options = Vec::new();
        if is_directory {
            options.push(OsStr::new("--full-tree"));
        }
        options.extend(["--end-of-options", object].map(OsStr::new));
        options.extend(paths.iter().map(|path| path.as_os_str()));
        let mut wanted = list_objects(directory, &options)?;
        wanted.retain(|path, _| is_wanted(Path::new(path)));

        // The file behind a link may be anywhere in the revision.
        let mut top = current.clone();
        let mut files = wanted.clone();
        if wanted.values().any(is_link) {
            if !is_directory && !repository::is_bare(directory) {
                top = repository::top(&current).unwrap_or(top);
            }
            let whole = ["--full-tree", "--end-of-options", object].map(OsStr::new);
            files = list_objects(&top, &whole)?;
        }
        let overlay = make_overlay(&current, &top, &files, [], &[is_read_by_name])?;
        Ok(Self {
            paths: wanted.into_keys().map(PathBuf::from).collect(),
            tree: Tree::Revision(Arc::new(overlay.alone())),
            top,
        })
    }

    /// The content of a file, which for a link is that of the file behind it. `None` if the
    /// revision does not have the file.
    pub(crate) fn read(&self, path: &Path) -> diagnostic::Result<Option<Vec<u8>>> {
        if !self.paths.contains(path) {
            return Ok(None);
        }
        read_behind_links(&self.tree, &self.top, path)
    }
}

/// Reads a file in a tree. A link that leads out of `top` stands for its text, as it does for git.
/// `None` if there is nothing at the path or behind the link.
pub(super) fn read_behind_links(
    tree: &Tree,
    top: &Path,
    path: &Path,
) -> diagnostic::Result<Option<Vec<u8>>> {
    if let Ok(target) = tree.read_link(path) {
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = tree.canonicalize(parent).unwrap_or_default();
        if !files::join(&directory, &target).starts_with(top) {
            return Ok(Some(target.into_os_string().into_encoded_bytes()));
        }
    }
    // A link may lead to itself, or through a file.
    if tree.canonicalize(path).is_err() {
        return Ok(None);
    }
    match tree.read(path, size_limit(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::IsADirectory => Ok(None),
        Err(error) => Err(Diagnostic::io("read", path, &error).into()),
    }
}

fn is_link(file: &BaseFile) -> bool {
    matches!(file, BaseFile::Link(_))
}

/// The files that `git ls-tree` lists.
fn list_objects(directory: &Path, options: &[&OsStr]) -> Result<BaseFiles> {
    let mut arguments = vec!["ls-tree".into(), "-r".into(), "-z".into()];
    arguments.extend(options.iter().map(OsString::from));
    let printed = run_successfully(directory, arguments)?;
    let mut files = BaseFiles::new();
    for entry in printed.split(|byte| *byte == 0) {
        // Each is the mode, the type and the object name, separated by spaces, a tab and the path.
        if let Some(tab) = entry.iter().position(|byte| *byte == b'\t') {
            let words = String::from_utf8_lossy(&entry[..tab]);
            let path = native_path(&entry[tab + 1..]);
            files.insert(path.into_os_string(), BaseFile::parse_words(&words));
        }
    }
    Ok(files)
}
