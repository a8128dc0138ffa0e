//! Fetches the modules of calls: selects the version of a registry module, and finds its directory
//! in the package.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::Timestamp;

use super::cache::PackageCache;
use super::fetch_error::FetchResult;
use super::fetched::{FetchPurpose, FetchedModule, ModuleRequest};
use super::locked::LockedAddress;
use super::mirror::ModuleMirror;
use super::package::{Package, PackageOrigin};
use super::package_hash;
use super::package_store::Content;
use super::registry::{self, ModuleRegistry, PackageLocation};
use super::releases::{self, Releases};
use super::source::{Getter, ModuleSource, RegistryModule};
use crate::diagnostic::{Code, Diagnostic, Help, Result};
use crate::lockfile::LockedModule;
use crate::net::Client;
use crate::packages::connections::Connections;
use crate::packages::oci::{ModuleManifest, OciRegistries};
use crate::provider::{ConstraintList, Dialect, Version};
use crate::system::{OnceMap, lock, parallel};

/// Largest number of packages that a run reads. A configuration with more is hostile.
const MAX_PACKAGES: usize = 10_000;

/// Fetches modules and their packages, each once per run. All threads of a run share it.
pub(crate) struct ModuleFetcher {
    pub(super) connections: Connections,
    /// Make no requests: find only packages in the cache.
    is_offline: bool,
    /// Find only packages in this mirror. No requests are made, and the cache is not used.
    pub(super) mirror: Option<ModuleMirror>,
    pub(super) clients: OnceMap<Dialect, Result<Arc<Clients>>>,
    cache: OnceLock<Result<PackageCache>>,
    /// Packages by address or registry version, and by whether they are recorded in a lock file.
    pub(super) packages: OnceMap<(Dialect, String, FetchPurpose), FetchResult<Package>>,
    /// Packages at the addresses that a lock file records.
    pub(super) locked_packages: OnceMap<(Dialect, String), FetchResult<Package>>,
    modules: OnceMap<(Dialect, ModuleRequest), Result<Option<FetchedModule>>>,
    releases: OnceMap<(Dialect, String), Result<Releases>>,
    /// Manifests of packages in OCI registries, by address.
    pub(super) manifests: OnceMap<String, Result<ModuleManifest>>,
    /// Installed modules that are identical to locked ones.
    installed: OnceMap<(PathBuf, Arc<LockedModule>), Option<FetchedModule>>,
    /// Names and origins of the packages that were read.
    packages_read: Mutex<BTreeSet<(String, &'static str)>>,
}

/// The clients for one dialect.
pub(super) struct Clients {
    pub(super) dialect: Dialect,
    /// Sends the token of a registry only to that registry.
    pub(super) http: Client,
    pub(super) registry: ModuleRegistry,
    pub(super) oci_registries: Arc<OciRegistries>,
}

/// Publication date of a version according to its registry.
enum ReportedDate {
    Known(Timestamp),
    /// Reason why there is none. The date of a commit can take its place.
    Unknown(String),
}

impl ModuleFetcher {
    /// A fetcher that makes requests through `connections`, unless it is offline.
    pub(crate) fn new(connections: &Connections, is_offline: bool) -> Self {
        Self {
            connections: connections.clone(),
            is_offline,
            mirror: None,
            clients: OnceMap::default(),
            cache: OnceLock::new(),
            packages: OnceMap::default(),
            locked_packages: OnceMap::default(),
            modules: OnceMap::default(),
            releases: OnceMap::default(),
            manifests: OnceMap::default(),
            installed: OnceMap::default(),
            packages_read: Mutex::default(),
        }
    }

    /// A fetcher that finds packages in a mirror only.
    pub(crate) fn from_mirror(connections: &Connections, mirror: PathBuf) -> Self {
        Self {
            mirror: Some(ModuleMirror::new(mirror)),
            ..Self::new(connections, true)
        }
    }

    /// Whether packages come from a mirror only.
    pub(crate) fn reads_mirror(&self) -> bool {
        self.mirror.is_some()
    }

    pub(super) fn cache(&self) -> Result<&PackageCache> {
        let cache = self.cache.get_or_init(|| {
            if self.mirror.is_some() {
                PackageCache::open(None)
            } else {
                PackageCache::open(self.connections.cache_directory())
            }
        });
        cache.as_ref().map_err(Clone::clone)
    }

    pub(super) fn clients(&self, dialect: Dialect) -> Result<Arc<Clients>> {
        self.clients.get_or_compute(&dialect, || {
            let (http, discovery) = self.connections.module_registry(dialect)?;
            let registry = ModuleRegistry::new(http.clone(), discovery, dialect);
            let oci_registries = self.connections.oci_registries(dialect)?;
            Ok(Arc::new(Clients {
                dialect,
                http,
                registry,
                oci_registries,
            }))
        })
    }

    /// Returns the versions of a module, and keeps them for offline runs.
    fn versions(&self, clients: &Clients, module: &RegistryModule) -> Result<Arc<Vec<Version>>> {
        let versions = clients.registry.versions(module)?;
        self.cache()?.put_versions(module, &versions);
        Ok(versions)
    }

    /// Returns the packages that were read in this run, and their origins.
    pub(crate) fn packages_read(&self) -> Vec<(String, &'static str)> {
        lock(&self.packages_read).iter().cloned().collect()
    }

    /// Returns the module of a request. The outer `None` means that it was not fetched yet, the
    /// inner `None` that it is not in the cache and no requests may be made.
    pub(crate) fn get(
        &self,
        dialect: Dialect,
        request: &ModuleRequest,
    ) -> Option<Result<Option<FetchedModule>>> {
        self.modules.get(&(dialect, request.clone()))
    }

    /// Fetches the modules of requests, several at a time, and calls `arrived` with each while
    /// others are fetched.
    pub(crate) fn fetch_all(
        &self,
        dialect: Dialect,
        requests: Vec<ModuleRequest>,
        arrived: impl Fn(FetchedModule) + Sync,
    ) {
        parallel::map(requests, parallel::WAITING_REQUESTS, |request| {
            let fetched = self
                .modules
                .get_or_compute(&(dialect, request.clone()), || {
                    self.fetch(dialect, &request)
                });
            // `get` returns the error.
            fetched.ok().flatten().into_iter().for_each(&arrived);
        });
    }

    /// Returns the releases of a source, if [`ModuleFetcher::request_releases`] was called for it.
    pub(crate) fn releases(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
    ) -> Option<Result<Releases>> {
        self.releases.get(&(dialect, releases::key(source)))
    }

    /// Requests the releases of sources, several at a time.
    pub(crate) fn request_releases(&self, dialect: Dialect, sources: Vec<ModuleSource>) {
        parallel::map(sources, parallel::WAITING_REQUESTS, |source| {
            let key = (dialect, releases::key(&source));
            // `releases` returns the error.
            let _ = self
                .releases
                .get_or_compute(&key, || self.list_releases(dialect, &source));
        });
    }

    /// Requests the releases of a source: the versions of a registry, the references of a git
    /// repository, or the tags of an OCI registry. Any other source has none.
    fn list_releases(&self, dialect: Dialect, source: &ModuleSource) -> Result<Releases> {
        if self.is_offline {
            let message =
                format!("the releases of {source} are not known, because no requests are made");
            return Err(Diagnostic::error(Code::RequestFailed, message)
                .help(Help::run_online())
                .into());
        }
        let clients = self.clients(dialect)?;
        match source {
            ModuleSource::Registry(source) => {
                Ok(Releases::Versions(self.versions(&clients, &source.module)?))
            }
            ModuleSource::Remote(source) if source.getter() == Getter::Git => {
                let references = self.ask_git(source, |git, address| git.references(address))?;
                Ok(Releases::References(Arc::new(references)))
            }
            ModuleSource::Remote(source)
                if source.getter() == Getter::Oci && dialect == Dialect::Tofu =>
            {
                Ok(Releases::Tags(Arc::new(Self::list_tags(&clients, source)?)))
            }
            _ => Ok(Releases::None),
        }
    }

    /// Returns when a version of a registry module was published according to the registry. Where
    /// no date is reported, returns the date of the commit that the registry specifies as the
    /// location of the package.
    ///
    /// # Errors
    /// The reason why it is unknown. It is also unknown if the registry cannot be asked, whatever
    /// the date of its commit.
    pub(crate) fn publication_date(
        &self,
        dialect: Dialect,
        module: &RegistryModule,
        version: &Version,
    ) -> std::result::Result<Timestamp, String> {
        let clients = self.clients(dialect).map_err(|errors| errors.to_string())?;
        let why_not_reported = match self.reported_date(&clients, module, version)? {
            ReportedDate::Known(date) => return Ok(date),
            ReportedDate::Unknown(why) => why,
        };
        match clients.registry.location(module, version) {
            Ok(PackageLocation::Source(source)) if source.getter() == Getter::Git => self
                .commit_date(&source)
                .map_err(|error| format!("{why_not_reported}, and {error}")),
            _ => Err(why_not_reported),
        }
    }

    /// Returns the date of a version of a registry module according to its registry, or why that
    /// does not report it.
    ///
    /// # Errors
    /// The reason why the registry cannot be asked.
    fn reported_date(
        &self,
        clients: &Clients,
        module: &RegistryModule,
        version: &Version,
    ) -> std::result::Result<ReportedDate, String> {
        // The protocol of registry.opentofu.org has no dates; the service with its documentation
        // has them.
        if module.host.as_ascii() == Dialect::Tofu.default_host_name() {
            let Some(dates) = self
                .connections
                .publication_dates(clients.dialect)
                .map_err(|errors| errors.to_string())?
            else {
                return Err("no service with its dates is configured".to_owned());
            };
            let name = format!("{}/{}/{}", module.namespace, module.name, module.system);
            return Ok(match dates.published_module(&name, version) {
                Ok(date) => ReportedDate::Known(date),
                Err(why) => ReportedDate::Unknown(why),
            });
        }

        let date = clients
            .registry
            .published(module, version)
            .map_err(|errors| errors.to_string())?;
        Ok(match date {
            Some(date) => ReportedDate::Known(date),
            None => ReportedDate::Unknown(format!("{} does not report it", module.host)),
        })
    }

    /// Returns the module of a request; `None` for a module in the caller's package, and for a
    /// package that would have to be fetched although no requests are made.
    fn fetch(&self, dialect: Dialect, request: &ModuleRequest) -> Result<Option<FetchedModule>> {
        let clients = &*self.clients(dialect)?;
        let found = match request {
            ModuleRequest::Locked {
                source,
                locked,
                replaced,
            } => {
                let package = self.locked_package(clients, source, locked, *replaced)?;
                package.map(|package| (package, locked.version.clone()))
            }
            ModuleRequest::Unlocked {
                source,
                constraints,
                purpose,
            } => self.unlocked_package(clients, source, constraints, *purpose)?,
        };
        let Some((package, version)) = found else {
            return Ok(None);
        };
        self.note_package(&package)?;
        let module = FetchedModule::of_source(package, request.source())?;
        Ok(Some(module.with_version(version)))
    }

    /// Returns the package of a call without an entry, and the selected version if it comes from a
    /// registry. `None` for a local module, and offline for a package that is not in the cache.
    fn unlocked_package(
        &self,
        clients: &Clients,
        source: &ModuleSource,
        constraints: &ConstraintList,
        purpose: FetchPurpose,
    ) -> Result<Option<(Package, Option<Version>)>> {
        let is_local = matches!(source, ModuleSource::Local(_));
        // A mirror replaces the cache and the network.
        if let Some(mirror) = &self.mirror
            && !is_local
        {
            return self
                .package_in_mirror(mirror, source, constraints)
                .map(Some);
        }
        match source {
            ModuleSource::Local(_) => Ok(None),
            // Locking never takes a package from the cache, so there is none offline.
            _ if self.is_offline && purpose == FetchPurpose::Locking => Ok(None),
            ModuleSource::Remote(remote) => {
                let package = if self.is_offline {
                    self.cached_package(remote)?
                } else {
                    Some(self.cached_or_fetched(clients, remote, purpose)?)
                };
                Ok(package.map(|package| (package, None)))
            }
            ModuleSource::Registry(registry) => {
                let release =
                    self.registry_package(clients, &registry.module, constraints, purpose)?;
                Ok(release.map(|(package, version)| (package, Some(version))))
            }
        }
    }

    /// Returns the package of the selected version of a registry module, and the version. `None`
    /// offline if the cache contains no version that the constraints allow.
    fn registry_package(
        &self,
        clients: &Clients,
        module: &RegistryModule,
        constraints: &ConstraintList,
        purpose: FetchPurpose,
    ) -> Result<Option<(Package, Version)>> {
        // A pinned version in the cache cannot have changed.
        if purpose == FetchPurpose::Reading
            && let Some(pinned) = registry::pinned_version(constraints)
            && let Some(package) = self.cached_registry_version(module, pinned)?
        {
            return Ok(Some((package, pinned.clone())));
        }
        if self.is_offline {
            return self.cached_registry_package(module, constraints);
        }
        let version =
            registry::select_version(module, &self.versions(clients, module)?, constraints)?;
        let package = self.registry_version(clients, module, &version, purpose, || {
            clients.registry.location(module, &version)
        })?;
        Ok(Some((package, version)))
    }

    /// Returns the newest package of a registry module that is in the cache, and its version.
    fn cached_registry_package(
        &self,
        module: &RegistryModule,
        constraints: &ConstraintList,
    ) -> Result<Option<(Package, Version)>> {
        let mut versions = self.cache()?.versions(module);
        versions.retain(|version| {
            self.cached_registry_version(module, version)
                .is_ok_and(|package| package.is_some())
        });
        let Some(newest) = registry::newest_allowed(versions.iter(), constraints) else {
            return Ok(None);
        };
        let package = self.cached_registry_version(module, newest)?;
        Ok(package.map(|package| (package, newest.clone())))
    }

    /// Whether no requests are made.
    pub(crate) fn is_offline(&self) -> bool {
        self.is_offline
    }

    /// Returns the module that is installed in a directory, if it is exactly the locked package of
    /// a call.
    pub(crate) fn installed_if_locked(
        &self,
        directory: &Path,
        source: &ModuleSource,
        locked: &Arc<LockedModule>,
    ) -> Option<FetchedModule> {
        let key = (directory.to_owned(), Arc::clone(locked));
        self.installed.get_or_compute(&key, || {
            let (cache_key, directory_of_call) =
                LockedAddress::of(locked, source).ok()?.cache_key(source);
            // A link is not followed.
            if !directory.symlink_metadata().ok()?.is_dir() {
                return None;
            }
            let h1 = package_hash::h1(directory).ok()?;
            if !locked.hashes.contains(&h1) {
                return None;
            }
            // The hash shows no `.git` that was added, because it covers none.
            if package_hash::path_of_added_git(directory, &locked.package).is_some() {
                return None;
            }
            let content = Content {
                path: directory.to_owned(),
                h1,
            };
            let package = Package {
                directory: directory_of_call,
                lock_address: Some(cache_key.clone()),
                ..Package::cached(content, cache_key)
            };
            let module = FetchedModule::of_source(package, source).ok()?;
            Some(module.with_version(locked.version.clone()))
        })
    }

    /// Notes that a package is read.
    fn note_package(&self, package: &Package) -> Result<()> {
        let origin = match package.origin {
            PackageOrigin::Network => "fetched",
            PackageOrigin::Cache => "in the cache",
            PackageOrigin::Mirror => "in the mirror",
            PackageOrigin::ThisMachine => "on this machine",
        };
        let mut packages_read = lock(&self.packages_read);
        if packages_read.len() >= MAX_PACKAGES {
            let message =
                format!("the configuration calls modules of more than {MAX_PACKAGES} packages");
            return Err(Diagnostic::error(Code::InvalidConfiguration, message).into());
        }
        packages_read.insert((package.name.clone(), origin));
        Ok(())
    }
}
