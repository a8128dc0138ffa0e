//! The modules that calls ask for and that must be fetched, and the modules that were fetched.

use std::path::PathBuf;
use std::sync::Arc;

use super::package::{Package, Wildcards};
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
