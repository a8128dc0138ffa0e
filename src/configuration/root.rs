//! The files of a root module, and the directories of modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Location, Result, SourceFile};
use crate::modules::fetched::FetchedModule;
use crate::modules::local;
use crate::system::files::join;
use crate::system::{Tree, links};

#[derive(Clone, Copy, Debug)]
pub(crate) enum RootSource<'a> {
    /// The files of a directory, which is given as the user knows it, for example `.`, and without
    /// symbolic links if that path is known.
    Directory(&'a Path, Option<&'a Path>),
    /// Files that another program brings together in a directory before it runs OpenTofu or
    /// Terraform there.
    Files(&'a RootFiles),
}

/// The files of a root module that come from several directories.
#[derive(Clone, Debug, Default)]
pub(crate) struct RootFiles {
    /// The directory of the lock file, as the user knows it.
    pub directory: PathBuf,
    /// The module that the paths of called modules start from. If it is unknown, only modules in
    /// the lock file's directory are found.
    pub module: Option<ModulePath>,
    /// Location of the source, if the module is a fetched one.
    pub source: Option<Location>,
    /// Other directories that files come from, as the user knows them.
    pub others: Vec<PathBuf>,
    /// The configuration files by name.
    pub files: BTreeMap<String, Arc<SourceFile>>,
    /// By file name, the block that generates the file. It is shown for any location in that file.
    pub generated: BTreeMap<String, Location>,
    /// Whether there may be more or different files.
    pub is_partial: bool,
    /// The values that the other program gives to variables.
    pub inputs: Inputs,
}

/// The values that another program gives to the variables of a root module, as `TF_VAR_…` does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    /// Texts by name; `None` for values that are unknown or not texts.
    pub texts: BTreeMap<String, Option<String>>,
    /// Whether there may be more.
    pub is_partial: bool,
    /// Reason why every variable may have a different value.
    pub uncertain: Option<&'static str>,
}

impl RootSource<'_> {
    pub(super) fn inputs(&self) -> Option<&Inputs> {
        match self {
            Self::Directory(..) => None,
            Self::Files(files) => Some(&files.inputs),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        match self {
            Self::Directory(directory, _) => directory,
            Self::Files(files) => &files.directory,
        }
    }

    /// The directory of the module that another program copies beside the root module.
    pub(super) fn other_directories(&self) -> Vec<PathBuf> {
        match self {
            Self::Files(RootFiles {
                module: Some(ModulePath::Directory(directory)),
                ..
            }) => vec![directory.clone()],
            _ => Vec::new(),
        }
    }
}

impl RootFiles {
    /// Directory to which the paths of called modules are relative.
    pub(super) fn module(&self) -> ModulePath {
        self.module
            .clone()
            .unwrap_or_else(|| ModulePath::Directory(self.directory.clone()))
    }

    /// Whether a location is in a file of the user's own, and not in a fetched one.
    pub(super) fn is_own(&self, location: &Location) -> bool {
        match &self.module {
            Some(package @ ModulePath::InPackage(_)) => {
                !location.path().starts_with(package.shown_path())
            }
            Some(ModulePath::Directory(_)) | None => true,
        }
    }

    /// The block that generates the file of a location.
    pub(super) fn origin(&self, location: &Location) -> Option<&Location> {
        for (name, block) in &self.generated {
            if let Some(file) = self.files.get(name)
                && Arc::ptr_eq(file, &location.file)
            {
                return Some(block);
            }
        }
        None
    }

    /// Replaces a location in a generated file with the block that generates the file.
    pub(super) fn replace_generated(&self, location: &mut Location) {
        if let Some(block) = self.origin(location) {
            location.clone_from(block);
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ModulePath {
    /// A directory, as the user knows it.
    Directory(PathBuf),
    /// A directory in a package that was fetched.
    InPackage(FetchedModule),
}

impl ModulePath {
    /// Directory of the files.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(super) fn path(&self) -> Result<PathBuf> {
        match self {
            Self::Directory(path) => Ok(path.clone()),
            Self::InPackage(module) => module.path(),
        }
    }

    /// The directory as the user knows it.
    pub(super) fn shown_path(&self) -> PathBuf {
        match self {
            Self::Directory(path) => path.clone(),
            Self::InPackage(module) => module.shown_path(),
        }
    }

    /// The path that a local source leads to; `None` if it leads out of the package. As in OpenTofu
    /// and Terraform it has no symbolic links, so that the paths in that module are relative to
    /// where it is.
    pub(super) fn local(&self, tree: &Tree, source: &str) -> Option<Self> {
        match self {
            Self::Directory(path) => {
                let directory = local::directory(path, source);
                let directory = match links::follow(tree, Path::new(""), &directory) {
                    Ok(Some(followed)) => join(&followed.path, ""),
                    Ok(None) | Err(_) => directory,
                };
                Some(Self::Directory(directory))
            }
            Self::InPackage(module) => module.local_module(source).map(Self::InPackage),
        }
    }
}
