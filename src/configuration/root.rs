//! The files of a root module.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::module_path::ModulePath;
use crate::diagnostic::{Location, SourceFile};

#[derive(Clone, Copy, Debug)]
pub(crate) enum RootModule<'a> {
    /// The files of a directory, which is given as the user knows it, for example `.`.
    Directory(&'a Path),
    /// Files that another program brings together in a directory before it runs OpenTofu or Terraform there.
    Files(&'a RootFiles),
}

/// The files of a root module that come from several places.
#[derive(Clone, Debug, Default)]
pub(crate) struct RootFiles {
    /// The directory of the lock file, as the user knows it.
    pub directory: PathBuf,
    /// The module that the paths of called modules start from. If it is unknown, only modules in the lock file's
    /// directory are found.
    pub module: Option<ModulePath>,
    /// What names the module if it is a fetched one.
    pub source: Option<Location>,
    /// Other directories that files come from, as the user knows them.
    pub others: Vec<PathBuf>,
    /// The configuration files by name.
    pub files: BTreeMap<String, Arc<SourceFile>>,
    /// By file name, the block that generates the file. It is shown for any place in that file.
    pub generated: BTreeMap<String, Location>,
    /// Whether there may be more files than these, or others in their place.
    pub is_partial: bool,
}

impl RootModule<'_> {
    pub(super) fn directory(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory,
            Self::Files(files) => &files.directory,
        }
    }
}

impl RootFiles {
    /// Where the paths of called modules start from.
    pub(super) fn module(&self) -> ModulePath {
        self.module.clone().unwrap_or_else(|| ModulePath::Directory(self.directory.clone()))
    }

    /// Whether a place is in a file of the user's own, and not in one that was fetched.
    pub(super) fn is_own(&self, location: &Location) -> bool {
        match &self.module {
            Some(place @ ModulePath::Package(_)) => !location.path().starts_with(place.shown()),
            Some(ModulePath::Directory(_)) | None => true,
        }
    }

    /// The place of what generates the file that a location is in.
    pub(super) fn origin(&self, location: &Location) -> Option<&Location> {
        let is_in = |name: &String| self.files.get(name).is_some_and(|file| Arc::ptr_eq(file, &location.file));
        self.generated.iter().find_map(|(name, origin)| is_in(name).then_some(origin))
    }
}
