//! What calls ask for that lies elsewhere, and what was fetched for them.

use std::path::PathBuf;

use super::source::{ModuleSource, RegistrySource, RemoteSource};
use crate::constraint::ConstraintList;
use crate::diagnostic::Result;
use crate::once_map::OnceMap;

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
    /// Where the package's files are.
    pub top: PathBuf,
    /// What the user knows the package as: its address, with the version if it comes from a registry.
    pub name: String,
    /// The directory in it, with slashes; empty for its top.
    pub directory: String,
}

impl FetchedModule {
    /// Where the directory's files are.
    pub(crate) fn path(&self) -> PathBuf {
        self.top.join(&self.directory)
    }

    /// What the user knows the directory as.
    pub(crate) fn shown(&self) -> PathBuf {
        let Self { name, directory, .. } = self;
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

/// What was fetched in a run, by what was asked for: none if it is not known here and nobody may be asked.
#[derive(Debug, Default)]
pub(crate) struct FetchedModules(OnceMap<ModuleRequest, Result<Option<FetchedModule>>>);

impl FetchedModules {
    /// What was fetched; none if that was not tried.
    pub(crate) fn get(&self, request: &ModuleRequest) -> Option<Result<Option<FetchedModule>>> {
        self.0.get(request)
    }

    /// Fetches what was not fetched before.
    pub(crate) fn get_or_fetch(
        &self,
        request: &ModuleRequest,
        fetch: impl FnOnce() -> Result<Option<FetchedModule>>,
    ) -> Result<Option<FetchedModule>> {
        self.0.get_or_compute(request.clone(), fetch)
    }
}
