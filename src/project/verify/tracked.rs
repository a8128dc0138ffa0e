//! What version control knows of root modules.

use std::path::{Path, PathBuf};

use crate::diagnostic::Location;

/// Version control, such as git.
pub trait VersionControl: Sync {
    /// What it knows of the files of a root module.
    fn tracked(&self, root: &Path) -> Tracked;

    /// The line of an ignore file by which it ignores the lock file of each root module, if it does.
    fn ignore_rules(&self, roots: &[&Path]) -> Vec<Option<Location>>;
}

/// What version control knows of the files of a root module.
#[derive(Default)]
pub struct Tracked {
    /// Whether the lock file is tracked.
    pub lock_file: Tracking,
    /// The files below `.terraform` that are tracked, as the user knows them.
    pub data_files: Vec<PathBuf>,
}

/// What git knows of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The file is in the index.
    Tracked,
    /// The file is not in the index.
    Untracked,
    /// The file is not in the index, and ignored.
    Ignored,
    /// There is no repository, or git could not be asked.
    #[default]
    Unknown,
}
