//! Fetches the modules of calls: selects the version of a registry module, and finds its directory in the package.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::fetched::{FetchedModule, ModuleRequest};
use super::locked::LockedAddress;
use super::package::{Package, PackageOrigin, Wildcards};
use super::package_fetcher::PackageFetcher;
use super::registry::{self, ModuleRegistry, PackageLocation};
use super::releases::{self, Releases};
use super::source::{Getter, ModuleSource, RegistryModule, RegistrySource, RemoteSource};
use crate::diagnostic::{Code, Diagnostic, Help, Result};
use crate::lockfile::LockedModule;
use crate::packages::connections::Connections;
use crate::provider::{ConstraintList, Dialect, Version};
use crate::system::{OnceMap, lock, parallel};

/// The most packages that a run fetches. A configuration with more is hostile.
const MAX_PACKAGES: usize = 10_000;

/// Fetches modules, each package once a run. Threads share it.
pub(crate) struct ModuleFetcher {
    connections: Connections,
    /// Whether no requests are made. Then only packages in the cache are found.
    is_offline: bool,
    getters: OnceMap<Dialect, Result<Arc<Getters>>>,
    modules: OnceMap<(Dialect, ModuleRequest), Result<Option<FetchedModule>>>,
    releases: OnceMap<(Dialect, String), Result<Releases>>,
    /// Modules that are installed as they are locked.
    installed: OnceMap<(PathBuf, Arc<LockedModule>), Option<FetchedModule>>,
    /// The packages that were read, and where they came from.
    found: Mutex<BTreeSet<(String, &'static str)>>,
}

/// The clients for one dialect.
pub(super) struct Getters {
    pub(super) registry: ModuleRegistry,
    pub(super) packages: PackageFetcher,
}

impl Getters {
    /// The versions of a module, which the cache keeps for runs that ask nobody.
    fn versions(&self, module: &RegistryModule) -> Result<Arc<Vec<Version>>> {
        let versions = self.registry.versions(module)?;
        self.packages.cache.put_versions(module, &versions);
        Ok(versions)
    }
}

impl ModuleFetcher {
    /// A fetcher that asks hosts through `connections`, unless it is offline.
    pub(crate) fn new(connections: &Connections, is_offline: bool) -> Self {
        Self {
            connections: connections.clone(),
            is_offline,
            getters: OnceMap::default(),
            modules: OnceMap::default(),
            releases: OnceMap::default(),
            installed: OnceMap::default(),
            found: Mutex::default(),
        }
    }

    /// The packages that were read in this run, with where they came from.
    pub(crate) fn found(&self) -> Vec<(String, &'static str)> {
        lock(&self.found).iter().cloned().collect()
    }

    /// What was fetched for a request. The outer `None` means that it was not tried, the inner one that it is not in
    /// the cache and no requests may be made.
    pub(crate) fn get(&self, dialect: Dialect, request: &ModuleRequest) -> Option<Result<Option<FetchedModule>>> {
        self.modules.get(&(dialect, request.clone()))
    }

    /// Fetches what requests ask for, several at a time. Each module goes to `arrived` while others are fetched.
    pub(crate) fn fetch_all(
        &self,
        dialect: Dialect,
        requests: Vec<ModuleRequest>,
        arrived: impl Fn(FetchedModule) + Sync,
    ) {
        parallel::map(requests, parallel::WAITING_REQUESTS, |request| {
            let fetched = self.modules.get_or_compute(&(dialect, request.clone()), || self.fetch(dialect, &request));
            // `get` returns the error.
            fetched.ok().flatten().into_iter().for_each(&arrived);
        });
    }

    /// What a source can move to, if it was asked.
    pub(crate) fn releases(&self, dialect: Dialect, source: &ModuleSource) -> Option<Result<Releases>> {
        self.releases.get(&(dialect, releases::key(source)))
    }

    /// Asks what sources can move to, several at a time.
    pub(crate) fn ask_releases(&self, dialect: Dialect, sources: Vec<ModuleSource>) {
        parallel::map(sources, parallel::WAITING_REQUESTS, |source| {
            let key = (dialect, releases::key(&source));
            // `releases` returns the error.
            let _ = self.releases.get_or_compute(&key, || self.list_releases(dialect, &source));
        });
    }

    fn list_releases(&self, dialect: Dialect, source: &ModuleSource) -> Result<Releases> {
        if self.is_offline {
            let message = format!("it is not known what there is of {source}, because nobody is asked");
            return Err(Diagnostic::error(Code::RequestFailed, message).help(Help::run_online()).into());
        }
        let getters = self.getters(dialect)?;
        match source {
            ModuleSource::Registry(source) => Ok(Releases::Versions(getters.versions(&source.module)?)),
            ModuleSource::Remote(source) if source.getter() == Getter::Git => {
                Ok(Releases::References(Arc::new(getters.packages.references(source)?)))
            }
            _ => Ok(Releases::None),
        }
    }

    /// When a version of a registry's module was published: as the registry says, or when the commit was made that it
    /// leads to.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn published(
        &self,
        dialect: Dialect,
        module: &RegistryModule,
        version: &Version,
    ) -> std::result::Result<Timestamp, String> {
        let getters = self.getters(dialect).map_err(|errors| errors.to_string())?;
        let said = if module.host.as_ascii() == Dialect::Tofu.default_host_name() {
            let dates = self.connections.publication_dates(dialect).map_err(|errors| errors.to_string())?;
            let dates = dates.ok_or("nobody is asked")?;
            dates.published_module(&format!("{}/{}/{}", module.namespace, module.name, module.system), version)
        } else {
            let published = getters.registry.published(module, version).map_err(|errors| errors.to_string())?;
            published.ok_or_else(|| format!("{} does not tell", module.host))
        };
        said.or_else(|why| match getters.registry.location(module, version) {
            Ok(PackageLocation::Source(source)) if source.getter() == Getter::Git => {
                getters.packages.committed(&source).map_err(|errors| format!("{why}, and {errors}"))
            }
            _ => Err(why),
        })
    }

    /// When the commit of a git source was made.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn committed(&self, dialect: Dialect, source: &RemoteSource) -> std::result::Result<Timestamp, String> {
        let committed = self.getters(dialect).and_then(|getters| getters.packages.committed(source));
        committed.map_err(|errors| errors.to_string())
    }

    fn fetch(&self, dialect: Dialect, request: &ModuleRequest) -> Result<Option<FetchedModule>> {
        let getters = &*self.getters(dialect)?;
        let (package, directory, wildcards) = match request {
            ModuleRequest::ToLock(request) => return self.fetch_to_lock(getters, request),
            ModuleRequest::Locked { source, locked, may_change } => {
                let locate = |module: &RegistryModule, version: &Version| getters.registry.location(module, version);
                let package = getters.packages.fetch_locked(source, locked, *may_change, self.is_offline, locate)?;
                let Some(package) = package else { return Ok(None) };
                return self.found_in(package, source).map(|module| Some(module.of_version(locked.version.clone())));
            }
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

    /// Fetches the whole package of a call that is not locked.
    fn fetch_to_lock(&self, getters: &Getters, request: &ModuleRequest) -> Result<Option<FetchedModule>> {
        let Getters { registry, packages } = getters;
        if self.is_offline {
            return Ok(None);
        }
        match request {
            ModuleRequest::Registry(source, constraints) => {
                let version = registry::select(&source.module, &getters.versions(&source.module)?, constraints)?;
                let locate = || registry.location(&source.module, &version);
                let package = packages.fetch_version(&source.module, &version, true, locate)?;
                let module = self.found_in(package, &ModuleSource::Registry(source.clone()))?;
                Ok(Some(module.of_version(Some(version))))
            }
            ModuleRequest::Remote(source) => {
                self.found_in(packages.fetch_whole(source)?, &ModuleSource::Remote(source.clone())).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether it asks no host.
    pub(crate) fn is_offline(&self) -> bool {
        self.is_offline
    }

    /// The directory that a source names in a package.
    fn found_in(&self, package: Arc<Package>, source: &ModuleSource) -> Result<FetchedModule> {
        self.note(&package)?;
        let (directory, wildcards) = source.directory();
        FetchedModule::new(package, directory, wildcards)
    }

    /// The module that is installed in a directory, if that holds exactly what is locked for a call with this source.
    pub(crate) fn installed(
        &self,
        directory: &Path,
        source: &ModuleSource,
        locked: &Arc<LockedModule>,
    ) -> Option<FetchedModule> {
        let key = (directory.to_owned(), Arc::clone(locked));
        self.installed.get_or_compute(&key, || {
            let (address, below) = LockedAddress::of(locked, source).ok()?.key(source);
            let module = FetchedModule::installed(directory, (&address, &below), &locked.hashes, source)?.ok()?;
            Some(module.of_version(locked.version.clone()))
        })
    }

    /// Makes the git repository of a locked package, if it comes from git, as a new directory in a copy of the package.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(crate) fn make_repository(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
        locked: &LockedModule,
        directory: &Path,
    ) -> Result<()> {
        self.getters(dialect)?.packages.make_repository(source, locked, self.is_offline, directory)
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
        let version = registry::select(module, &getters.versions(module)?, constraints)?;
        Ok(Some(packages.fetch_version(module, &version, false, || registry.location(module, &version))?))
    }

    pub(super) fn getters(&self, dialect: Dialect) -> Result<Arc<Getters>> {
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
        let mut found = lock(&self.found);
        if found.len() >= MAX_PACKAGES {
            let message = format!("more than {MAX_PACKAGES} packages of modules are called");
            return Err(Diagnostic::error(Code::InvalidConfiguration, message).into());
        }
        found.insert((package.address.clone(), origin));
        Ok(())
    }
}
