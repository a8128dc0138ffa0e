//! Where a module's files are.

use std::path::PathBuf;

use crate::diagnostic::Result;
use crate::modules::fetched::FetchedModule;
use crate::modules::local;

#[derive(Clone, Debug)]
pub(crate) enum ModulePath {
    /// A directory, as the user knows it.
    Directory(PathBuf),
    /// A directory in a package that was fetched.
    Package(FetchedModule),
}

impl ModulePath {
    /// Where the files are.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(super) fn path(&self) -> Result<PathBuf> {
        match self {
            Self::Directory(path) => Ok(path.clone()),
            Self::Package(module) => module.path(),
        }
    }

    /// What the user knows the directory as.
    pub(super) fn shown(&self) -> PathBuf {
        match self {
            Self::Directory(path) => path.clone(),
            Self::Package(module) => module.shown(),
        }
    }

    /// The path that a local source leads to; `None` if it leads out of the package.
    pub(super) fn local(&self, source: &str) -> Option<Self> {
        match self {
            Self::Directory(path) => Some(Self::Directory(local::directory(path, source))),
            Self::Package(module) => module.local(source).map(Self::Package),
        }
    }
}
