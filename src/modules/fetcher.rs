//! Fetches the modules of calls: selects the version of a registry module, and finds its directory in the package.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::fetched::{FetchedModule, ModuleRequest};
use super::package::{Package, PackageOrigin, Wildcards};
use super::package_fetcher::PackageFetcher;
use super::registry::{self, ModuleRegistry};
use super::source::{RegistryModule, RegistrySource};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::packages::connections::Connections;
use crate::provider::{ConstraintList, Dialect, Version};
use crate::system::{OnceMap, parallel};

/// The most packages that a run fetches. A configuration with more is hostile.
const MAX_PACKAGES: usize = 10_000;

/// Fetches modules, each package once a run. Threads share it.
pub(crate) struct ModuleFetcher {
    connections: Connections,
    /// Whether no requests are made. Then only packages in the cache are found.
    is_offline: bool,
    getters: OnceMap<Dialect, Result<Arc<Getters>>>,
    modules: OnceMap<(Dialect, ModuleRequest), Result<Option<FetchedModule>>>,
    /// The packages that were read, and where they came from.
    found: Mutex<BTreeSet<(String, &'static str)>>,
}

/// The clients for one dialect.
struct Getters {
    registry: ModuleRegistry,
    packages: PackageFetcher,
}

impl ModuleFetcher {
    /// A fetcher that asks hosts through `connections`, unless it is offline.
    pub(crate) fn new(connections: &Connections, is_offline: bool) -> Self {
        Self {
            connections: connections.clone(),
            is_offline,
            getters: OnceMap::default(),
            modules: OnceMap::default(),
            found: Mutex::default(),
        }
    }

    /// The packages that were read in this run, with where they came from.
    pub(crate) fn found(&self) -> Vec<(String, &'static str)> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// What was fetched for a request. The outer `None` means that it was not tried, the inner one that it is not in
    /// the cache and no requests may be made.
    pub(crate) fn get(&self, dialect: Dialect, request: &ModuleRequest) -> Option<Result<Option<FetchedModule>>> {
        self.modules.get(&(dialect, request.clone()))
    }

    /// Fetches what requests ask for, several at a time.
    pub(crate) fn fetch_all(&self, dialect: Dialect, requests: Vec<ModuleRequest>) {
        parallel::map(requests, parallel::WAITING_REQUESTS, |request| {
            // `get` returns the error.
            let _ = self.modules.get_or_compute(&(dialect, request.clone()), || self.fetch(dialect, &request));
        });
    }

    fn fetch(&self, dialect: Dialect, request: &ModuleRequest) -> Result<Option<FetchedModule>> {
        let getters = &*self.getters(dialect)?;
        let (package, directory, wildcards) = match request {
            ModuleRequest::Registry(RegistrySource { module, directory }, constraints) => {
                (self.package(getters, module, constraints)?, directory, Wildcards::Literal)
            }
            ModuleRequest::Remote(source) => {
                let package = if self.is_offline {
                    getters.packages.cached(source).map(Arc::new)
                } else {
                    Some(getters.packages.fetch(source)?)
                };
                (package, &source.directory, Wildcards::Expanded)
            }
        };
        let Some(package) = package else { return Ok(None) };
        self.note(&package)?;
        FetchedModule::new(package, directory, wildcards).map(Some)
    }

    /// The package of the selected version of a registry module.
    fn package(
        &self,
        getters: &Getters,
        module: &RegistryModule,
        constraints: &ConstraintList,
    ) -> Result<Option<Arc<Package>>> {
        let Getters { registry, packages } = getters;
        let cached = |version: &Version| packages.cached_version(module, version).map(Arc::new);
        // A pinned version in the cache cannot have changed.
        if let Some(found) = registry::pinned(constraints).and_then(cached) {
            return Ok(Some(found));
        }
        if self.is_offline {
            let listed = packages.cache.versions(module);
            let here = listed.iter().filter(|version| cached(version).is_some());
            return Ok(registry::newest(here, constraints).and_then(cached));
        }
        let versions = registry.versions(module)?;
        packages.cache.put_versions(module, &versions);
        let version = registry::select(module, &versions, constraints)?;
        packages.fetch_version(module, &version, || registry.location(module, &version)).map(Some)
    }

    fn getters(&self, dialect: Dialect) -> Result<Arc<Getters>> {
        self.getters.get_or_compute(&dialect, || {
            let (client, discovery) = self.connections.module_registry(dialect)?;
            let Self { connections, .. } = self;
            let (environment, cache_directory) = (connections.environment(), connections.cache_directory());
            let oci_registries = Some(connections.oci_registries(dialect)?);
            let packages = PackageFetcher::new(client.clone(), environment, dialect, cache_directory, oci_registries)?;
            Ok(Arc::new(Getters { registry: ModuleRegistry::new(client, discovery, dialect), packages }))
        })
    }

    /// Notes a package that is read.
    fn note(&self, package: &Package) -> Result<()> {
        let origin = match package.origin {
            PackageOrigin::Network => "fetched",
            PackageOrigin::Cache => "in the cache",
            PackageOrigin::Directory | PackageOrigin::Archive => "on this machine",
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() >= MAX_PACKAGES {
            let message = format!("more than {MAX_PACKAGES} packages of modules are called");
            return Err(Diagnostic::error(Code::InvalidConfiguration, message).into());
        }
        found.insert((package.address.clone(), origin));
        Ok(())
    }
}
