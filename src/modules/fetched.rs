//! The modules that calls ask for and that must be fetched, and the modules that were fetched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::{Identity, Stored};
use super::package::{Package, PackageOrigin, Wildcards};
use super::package_hash;
use super::source::{Getter, ModuleSource, RegistrySource, RemoteSource};
use crate::diagnostic::Result;
use crate::lockfile::LockedModule;
use crate::provider::{ConstraintList, Hash, Version};

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModuleRequest {
    /// A module of a registry, in a version that meets constraints.
    Registry(RegistrySource, ConstraintList),
    /// A directory of a package.
    Remote(RemoteSource),
    /// The same as either, in a package that is fetched whole so that it can be locked.
    ToLock(Box<ModuleRequest>),
    /// The module that a lock file records for a call with this source; one with other hashes only if they may change.
    Locked { source: ModuleSource, locked: Arc<LockedModule>, may_change: bool },
}

impl ModuleRequest {
    /// What is to be fetched so that it can be locked.
    pub(crate) fn into_request_to_lock(self) -> Self {
        Self::ToLock(Box::new(self))
    }

    /// The source, unless that is a registry's.
    pub(crate) fn remote(&self) -> Option<&RemoteSource> {
        match self {
            Self::Remote(source) | Self::Locked { source: ModuleSource::Remote(source), .. } => Some(source),
            Self::ToLock(request) => request.remote(),
            Self::Registry(..) | Self::Locked { .. } => None,
        }
    }

    /// None for a local source.
    pub(crate) fn new(source: ModuleSource, constraints: ConstraintList) -> Option<Self> {
        match source {
            ModuleSource::Local(_) => None,
            ModuleSource::Registry(source) => Some(Self::Registry(source, constraints)),
            ModuleSource::Remote(source) => Some(Self::Remote(source)),
        }
    }
}

impl ModuleSource {
    /// The directory in the package, and whether it may have wildcards.
    pub(super) fn directory(&self) -> (&str, Wildcards) {
        match self {
            Self::Local(_) => ("", Wildcards::Literal),
            Self::Registry(source) => (&source.directory, Wildcards::Literal),
            Self::Remote(source) => (&source.directory, Wildcards::Expanded),
        }
    }
}

/// A directory in a package that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedModule {
    package: Arc<Package>,
    /// The directory, from the package's top and with slashes; empty for the top.
    directory: String,
    /// The version of a registry module that is to be locked.
    version: Option<Version>,
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
        Ok(Self { package, directory, version: None })
    }

    /// What a source that is a directory of this machine leads to, which nobody has to fetch; none for any other
    /// source.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(crate) fn on_this_machine(source: &RemoteSource) -> Option<Result<Self>> {
        let path = source.path_on_this_machine().filter(|path| source.getter() == Getter::File && path.is_dir())?;
        let (stored, origin) = (Stored::whole(path), PackageOrigin::Directory);
        let package = Package { stored, origin, address: source.without_directory() };
        Some(Self::new(Arc::new(package), &source.directory, Wildcards::Expanded))
    }

    /// The same as a version of a registry module.
    pub(super) fn of_version(self, version: Option<Version>) -> Self {
        Self { version, ..self }
    }

    /// The module that is installed in a directory, if that holds exactly what is locked.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(super) fn installed(
        installed: &Path,
        (address, directory): (&str, &str),
        hashes: &BTreeSet<Hash>,
        source: &ModuleSource,
    ) -> Option<Result<Self>> {
        let is_directory = installed.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let h1 = package_hash::h1(installed).ok().filter(|h1| is_directory && hashes.contains(h1))?;
        let identity = Some(Arc::new(Identity { address: address.to_owned(), h1, zh: None }));
        let stored = Stored { directory: directory.to_owned(), identity, ..Stored::whole(installed.to_owned()) };
        let package = Package { stored, origin: PackageOrigin::Cache, address: address.to_owned() };
        let (directory, wildcards) = source.directory();
        Some(Self::new(Arc::new(package), directory, wildcards))
    }

    /// The package's directory.
    pub(crate) fn top(&self) -> PathBuf {
        self.package.top()
    }

    /// The directory in the package, from its top and with slashes.
    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// What a lock file records of a package that is whole: its address and its hashes.
    pub(crate) fn identity(&self) -> Option<(String, BTreeSet<Hash>)> {
        let identity = self.package.stored.identity.as_ref()?;
        let hashes = [Some(&identity.h1), identity.zh.as_ref()].into_iter().flatten().cloned().collect();
        Some((self.package.locked_address()?, hashes))
    }

    /// The version of a registry module.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Where the directory's files are.
    ///
    /// # Errors
    /// The package has no such directory, or it leads out of the package.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        self.package.directory_below(&self.package.top(), &self.directory, Wildcards::Literal)
    }

    /// Another directory of the same package, from its top and with slashes.
    pub(crate) fn at(&self, directory: &str) -> Self {
        Self { directory: directory.to_owned(), ..self.clone() }
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
