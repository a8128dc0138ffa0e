//! Requests for the modules of calls, and the fetched modules.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::archive_parameters::ArchiveParameters;
use super::package::{Package, Wildcards};
use super::source::{Getter, ModuleSource, RemoteSource};
use crate::diagnostic::Result;
use crate::lockfile::LockedModule;
use crate::provider::{ConstraintList, Dialect, Hash, Version};
use crate::system::{Tree, links};

/// A request for the module of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModuleRequest {
    /// The module that a call without an entry in a lock file gets today.
    Unlocked {
        /// A source that is not local.
        source: ModuleSource,
        constraints: ConstraintList,
        purpose: FetchPurpose,
    },
    /// The locked module of a call.
    Locked {
        source: ModuleSource,
        locked: Arc<LockedModule>,
        replaced: ReplacedPackage,
    },
}

/// Treatment of a package that has different hashes than the lock file records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReplacedPackage {
    Accepted,
    Refused,
}

/// Purpose for which a module is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FetchPurpose {
    /// To read it, perhaps in the cache.
    Reading,
    /// To record it in a lock file. It is fetched even if it is in the cache, and must be lockable.
    Locking,
}

impl ModuleRequest {
    /// A request to read a module; `None` for a local source.
    pub(crate) fn new(source: ModuleSource, constraints: ConstraintList) -> Option<Self> {
        let is_local = matches!(source, ModuleSource::Local(_));
        (!is_local).then_some(Self::Unlocked {
            source,
            constraints,
            purpose: FetchPurpose::Reading,
        })
    }

    /// Turns a request to read a module into one to record it in a lock file.
    pub(crate) fn into_request_to_lock(self) -> Self {
        match self {
            Self::Unlocked {
                source,
                constraints,
                ..
            } => Self::Unlocked {
                source,
                constraints,
                purpose: FetchPurpose::Locking,
            },
            Self::Locked { .. } => self,
        }
    }

    /// The source of the call.
    pub(super) fn source(&self) -> &ModuleSource {
        let (Self::Unlocked { source, .. } | Self::Locked { source, .. }) = self;
        source
    }

    /// The source, unless it is a registry module.
    pub(crate) fn remote(&self) -> Option<&RemoteSource> {
        if let ModuleSource::Remote(source) = self.source() {
            Some(source)
        } else {
            None
        }
    }
}

impl ModuleSource {
    /// Returns the directory in the package, and the meaning of `*` in it.
    fn directory(&self) -> (&str, Wildcards) {
        match self {
            Self::Local(_) => ("", Wildcards::Literal),
            Self::Registry(source) => (&source.directory, Wildcards::Literal),
            Self::Remote(source) => (&source.directory, Wildcards::Expanded),
        }
    }
}

/// A directory in a fetched package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedModule {
    package: Arc<Package>,
    /// Directory relative to the package's top, with slashes; empty for the top.
    directory: String,
    /// Version of a registry module.
    version: Option<Version>,
}

impl FetchedModule {
    /// Finds the directory of a source in its package.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(super) fn of_source(package: Package, source: &ModuleSource) -> Result<Self> {
        let (directory, wildcards) = source.directory();
        Self::in_directory(package, directory, wildcards)
    }

    fn in_directory(package: Package, directory: &str, wildcards: Wildcards) -> Result<Self> {
        let directory = package.below_top(&package.directory(directory, wildcards)?);
        Ok(Self {
            package: Arc::new(package),
            directory,
            version: None,
        })
    }

    /// Returns the module of a source that is a directory of this machine; `None` for any other
    /// source.
    ///
    /// # Errors
    /// The package has no such directory.
    pub(crate) fn on_this_machine(source: &RemoteSource, dialect: Dialect) -> Option<Result<Self>> {
        let path = source
            .path_on_this_machine()
            .filter(|path| source.getter() == Getter::File && path.is_dir())?;
        let parameters = ArchiveParameters::of(&Url::parse(source.url()).ok()?, dialect).ok()?;
        if parameters.format.is_some() {
            return None;
        }
        let package = Package::of_this_machine(path, source.without_directory());
        let directory = &source.directory;
        Some(Self::in_directory(package, directory, Wildcards::Expanded))
    }

    /// Sets the version of a registry module.
    pub(super) fn with_version(self, version: Option<Version>) -> Self {
        Self { version, ..self }
    }

    /// Directory of the package.
    pub(crate) fn top(&self) -> PathBuf {
        self.package.top.clone()
    }

    /// Directory in the package, relative to its top and with slashes.
    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    /// Returns the address and the hashes of the package for a lock file; `None` if it was fetched
    /// only to be read.
    pub(crate) fn identity(&self) -> Option<(String, BTreeSet<Hash>)> {
        let hashes = [&self.package.h1, &self.package.zh]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        Some((self.package.lock_address_with_directory()?, hashes))
    }

    /// Hash of the files of the package; `None` for a directory of this machine.
    pub(crate) fn h1(&self) -> Option<&Hash> {
        self.package.h1.as_ref()
    }

    /// Version of a registry module.
    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Returns the path of the directory.
    ///
    /// # Errors
    /// The package has no such directory, or the directory is a link out of the package.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        self.package
            .directory_below(&self.package.top, &self.directory, Wildcards::Literal)
    }

    /// Returns a different directory of the same package, relative to its top and with slashes.
    pub(crate) fn at(&self, directory: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the directory as messages show it.
    pub(crate) fn shown_path(&self) -> PathBuf {
        let name = &self.package.name;
        let directory = &self.directory;
        if self.package.h1.is_none() {
            return self.package.top.join(directory);
        }
        if directory.is_empty() {
            name.into()
        } else {
            format!("{name}//{directory}").into()
        }
    }

    /// Returns the module at a local source in this one; `None` if that is outside of the package.
    pub(crate) fn local_module(&self, source: &str) -> Option<Self> {
        let mut parts: Vec<_> = self
            .directory
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        // OpenTofu and Terraform read backslashes as slashes on every system.
        let source = source.replace('\\', "/");
        for part in source.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        let directory = parts.join("/");
        // The path stays in the package by its text, but a link may lead out of it.
        let followed = links::follow(&Tree::Work, &self.top(), Path::new(&directory)).ok()??;
        if followed.is_outside {
            return None;
        }
        let parts: Option<Vec<_>> = followed.path.iter().map(|part| part.to_str()).collect();
        Some(Self {
            directory: parts?.join("/"),
            ..self.clone()
        })
    }
}
