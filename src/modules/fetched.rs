//! The modules that calls ask for and that must be fetched, and the modules that were fetched.

use std::path::PathBuf;
use std::sync::Arc;

use super::cache::Stored;
use super::package::{Package, PackageOrigin, Wildcards};
use super::source::{ModuleSource, RegistrySource, RemoteSource};
use crate::diagnostic::Result;
use crate::provider::ConstraintList;

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModuleRequest {
    /// A module of a registry, in a version that meets constraints.
    Registry(RegistrySource, ConstraintList),
    /// A directory of a package.
    Remote(RemoteSource),
}

impl ModuleRequest {
    /// None for a local source.
    pub(crate) fn new(source: ModuleSource, constraints: ConstraintList) -> Option<Self> {
        match source {
            ModuleSource::Local(_) => None,
            ModuleSource::Registry(source) => Some(Self::Registry(source, constraints)),
            ModuleSource::Remote(source) => Some(Self::Remote(source)),
        }
    }
}

/// A directory in a package that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedModule {
    package: Arc<Package>,
    /// The directory, from the package's top and with slashes; empty for the top.
    directory: String,
}

impl FetchedModule {
    /// The directory that a source names in a package.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(super) fn new(package: Arc<Package>, directory: &str, wildcards: Wildcards) -> Result<Self> {
        let path = package.directory(directory, wildcards)?;
        let below = path.strip_prefix(package.top()).unwrap_or(&path);
        let parts = below.components().map(|part| part.as_os_str().to_string_lossy());
        let directory = parts.collect::<Vec<_>>().join("/");
        Ok(Self { package, directory })
    }

    /// What a source that is a directory of this machine leads to, which nobody has to fetch; none for any other
    /// source.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(crate) fn on_this_machine(source: &RemoteSource) -> Option<Result<Self>> {
        let (getter, _) = source.getter();
        let path = source.path_on_this_machine().filter(|path| getter == "file" && path.is_dir())?;
        let (stored, origin) = (Stored::whole(path), PackageOrigin::Directory);
        let package = Package { stored, origin, address: source.without_directory() };
        Some(Self::new(Arc::new(package), &source.directory, Wildcards::Expanded))
    }

    /// Where the directory's files are.
    ///
    /// # Errors
    /// The package has no such directory, or it leads out of the package.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        self.package.directory_below(&self.package.top(), &self.directory, Wildcards::Literal)
    }

    /// The directory as it is shown to the user.
    pub(crate) fn shown(&self) -> PathBuf {
        let (name, directory) = (&self.package.address, &self.directory);
        if self.package.origin == PackageOrigin::Directory {
            return self.package.top().join(directory);
        }
        if directory.is_empty() { name.into() } else { format!("{name}//{directory}").into() }
    }

    /// The directory that a local source leads to; none if that is not in the package.
    pub(crate) fn local(&self, source: &str) -> Option<Self> {
        let source = source.replace('\\', "/");
        let mut parts: Vec<_> = self.directory.split('/').filter(|part| !part.is_empty()).collect();
        for part in source.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Some(Self { directory: parts.join("/"), ..self.clone() })
    }
}
