//! Values that a run has once. The front door of the library.

use std::collections::BTreeSet;
use std::mem::take;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::changed_sources::refuse_changed_sources;
use super::event::{Event, Observer};
use super::plan::RegistryData;
use super::reviewed_change::ReviewedChange;
use super::root_module::ReadingOptions;
use super::root_module::roots::{Roots, Selection};
use super::root_module::searched_repository::SearchedRepositories;
use crate::configuration::{InputVariables, ModuleCache, Requirements};
use crate::diagnostic::Result;
use crate::modules::ModuleFetcher;
use crate::packages::archive::{HashCache, PackageId};
use crate::packages::connections::{Connections, SourceOptions};
use crate::packages::{Progress, PublishedRelease, Source};
use crate::provider::{Dialect, OciRepository, ProviderAddress, SharedCache, SigningKey, Version};
use crate::settings::Settings;
use crate::system::{Boundary, Environment, OnceMap, Tree, canonicalize, lock};

/// Options of a [`Session`].
#[derive(Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Sources of packages, and settings for connections.
    pub sources: SourceOptions,
    /// Whether no request is sent.
    pub offline: bool,
    /// The dialect of all root modules; without it, each root module has its own.
    pub dialect: Option<Dialect>,
    /// Settings that replace the settings files of root modules.
    pub settings: Option<Settings>,
    /// Source of modules that are not installed.
    pub modules: ModuleFetching,
    /// Mirror of modules, from which all of them come.
    pub modules_mirror: Option<PathBuf>,
    /// The values of the root modules' variables.
    pub variables: InputVariables,
    /// Boundary of reading: no file outside of it is read.
    pub boundary: Boundary,
    /// The change under review.
    pub change: Option<ReviewedChange>,
}

/// Source of modules that are not installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModuleFetching {
    /// Modules are fetched.
    #[default]
    Fetch,
    /// They come from the cache of earlier runs.
    FromCache,
    /// Modules that are not installed are treated as missing.
    Never,
}

/// Sources of packages by dialect and shared cache.
type Sources = OnceMap<(Dialect, Option<SharedCache>), Result<Arc<Source>>>;

/// Values that a run has once: connections, caches, packages of modules, repositories, and the
/// observers of events.
pub struct Session<'a> {
    pub(super) environment: Environment,
    /// The user's home directory, without symlinks.
    pub(super) home: Option<PathBuf>,
    /// The options, without the ones for connections and modules, which are part of these.
    pub(super) options: SessionOptions,
    pub(super) connections: Connections,
    pub(super) modules: ModuleCache,
    /// Modules of the mirrors that settings name, by directory.
    mirrored_modules: OnceMap<PathBuf, Arc<ModuleCache>>,
    /// Known packages; `None` without a cache.
    pub(super) hash_cache: Option<HashCache>,
    pub(super) repositories: SearchedRepositories,
    sources: Arc<Sources>,
    /// Requirements of root modules that share a lock file with a different one, by directory.
    pub(super) shared_requirements: OnceMap<(PathBuf, ReadingOptions), Result<Arc<Requirements>>>,
    /// Start of the run. Ages of releases are relative to it.
    pub(super) started: Timestamp,
    observers: Mutex<Vec<Observer<'a>>>,
    announced: Mutex<BTreeSet<String>>,
}

impl<'a> Session<'a> {
    /// Reads only the files of variables that the options name, and sends no request.
    ///
    /// # Errors
    /// When others can write to the cache directory, or a file of variables cannot be read; when
    /// the change under review may have written a source of packages.
    pub fn new(environment: Environment, mut options: SessionOptions) -> Result<Self> {
        if let Some(change) = &options.change {
            let modules_mirror = options.modules_mirror.as_deref();
            refuse_changed_sources(change, &options.sources, modules_mirror, &environment)?;
        }
        let connections = Connections::new(take(&mut options.sources), &environment)?;
        // With a mirror, modules come from nowhere else, whatever the cache contains.
        let fetcher = match (options.modules, &options.modules_mirror) {
            (ModuleFetching::Never, _) => None,
            (_, Some(mirror)) => Some(ModuleFetcher::from_mirror(&connections, mirror.clone())),
            (fetching, None) => Some(ModuleFetcher::new(
                &connections,
                fetching == ModuleFetching::FromCache,
            )),
        };
        let fetcher = fetcher.map(Arc::new);
        let variables = take(&mut options.variables);
        let boundary = take(&mut options.boundary);
        variables.check()?;
        Ok(Self {
            modules: ModuleCache::new(variables, boundary, environment.secrets.clone(), fetcher),
            home: environment
                .home
                .as_ref()
                .and_then(|home| canonicalize(home).ok()),
            environment,
            hash_cache: connections.cache(),
            connections,
            mirrored_modules: OnceMap::default(),
            repositories: SearchedRepositories::default(),
            sources: Arc::default(),
            shared_requirements: OnceMap::default(),
            started: Timestamp::now(),
            observers: Mutex::default(),
            announced: Mutex::default(),
            options,
        })
    }

    /// A session that reads the base revision of the change under review; `None` without one.
    pub(super) fn base(&self) -> Option<Session<'static>> {
        Some(self.at_base(self.options.change.as_ref()?))
    }

    /// A session that reads the base revision of a change, with the same connections and fetched
    /// modules, so that no request is sent twice. It notifies no observers.
    pub(super) fn at_base(&self, change: &ReviewedChange) -> Session<'static> {
        // The base is approved, so that it is not read as a change itself.
        let options = SessionOptions {
            offline: self.options.offline,
            dialect: self.options.dialect,
            settings: self.options.settings.clone(),
            ..SessionOptions::default()
        };
        let tree = Tree::Revision(Arc::clone(&change.base));
        let modules = ModuleCache::new(
            self.modules.variables.clone(),
            self.modules.boundary.clone().of(tree.clone()),
            self.environment.secrets.clone(),
            self.modules.fetcher.clone(),
        );
        Session {
            environment: self.environment.clone(),
            options,
            home: self.home.clone(),
            hash_cache: self.connections.cache(),
            connections: self.connections.clone(),
            modules,
            mirrored_modules: OnceMap::default(),
            repositories: SearchedRepositories::in_tree(tree),
            sources: Arc::clone(&self.sources),
            shared_requirements: OnceMap::default(),
            started: self.started,
            observers: Mutex::default(),
            announced: Mutex::default(),
        }
    }

    /// The same session, which fetches no modules.
    pub(super) fn without_fetching(mut self) -> Self {
        self.modules.fetcher = None;
        self
    }

    /// The modules of the mirror that the settings of a root module name; `None` without one, if
    /// the caller names one, or if no modules may be fetched.
    pub(super) fn modules_of_settings(&self, settings: &Settings) -> Option<Arc<ModuleCache>> {
        let mirror = settings.modules_mirror.as_ref()?;
        if self.options.modules_mirror.is_some() || self.modules.fetcher.is_none() {
            return None;
        }
        Some(self.mirrored_modules.get_or_compute(mirror, || {
            let fetcher = ModuleFetcher::from_mirror(&self.connections, mirror.clone());
            Arc::new(ModuleCache::new(
                self.modules.variables.clone(),
                self.modules.boundary.clone(),
                self.environment.secrets.clone(),
                Some(Arc::new(fetcher)),
            ))
        }))
    }

    /// The selection without paths that do not exist; `None` if nothing is left.
    pub(super) fn without_missing_paths(&self, selection: &Selection) -> Option<Selection> {
        let mut existing = selection.clone();
        existing.paths.retain(|path| self.tree().exists(path));
        if existing.paths.is_empty() && !selection.paths.is_empty() {
            return None;
        }
        Some(existing)
    }

    /// The same session with a different observer of events.
    #[must_use]
    pub fn observed_by(self, observer: impl FnMut(Event<'_>) + Send + 'a) -> Self {
        lock(&self.observers).push(Box::new(observer));
        self
    }

    /// The files that are read.
    pub(super) fn tree(&self) -> &Tree {
        self.modules.tree()
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(super) fn notify(&self, event: Event<'_>) {
        lock(&self.observers)
            .iter_mut()
            .for_each(|observer| observer(event));
    }

    pub(super) fn note_progress(&self, package: &PackageId, progress: Progress) {
        self.notify(Event::Package(package, progress));
    }

    /// Notifies the observers of the module packages and the CLI configurations that were read,
    /// each once.
    pub(super) fn notify_sources_read(&self) {
        for (name, origin) in self
            .modules
            .fetcher
            .iter()
            .flat_map(|fetcher| fetcher.packages_read())
        {
            if self.is_first_notice(format!("module {name}")) {
                self.notify(Event::Module(&name, origin));
            }
        }
        for (dialect, config) in self.connections.configurations() {
            if self.is_first_notice(dialect.to_string()) {
                self.notify(Event::CliConfiguration(config));
            }
        }
    }

    /// Notifies the observers of facts that are known only at the end of a step, each once.
    pub(super) fn notify_at_end(&self) {
        self.notify_sources_read();
        let mut hosts = self.connections.claiming_hosts();
        hosts.retain(|host| self.is_first_notice(format!("dates of {host}")));
        if !hosts.is_empty() {
            self.notify(Event::DatesByServers(&hosts));
        }
        for facts in &self.connections.shared_facts() {
            // A later step may use more of them, or fail to get them.
            let problem = facts.warning().map(|warning| warning.message);
            if self.is_first_notice(format!(
                "{} facts from {}: {problem:?}",
                facts.used(),
                facts.repository()
            )) {
                self.notify(Event::SharedFactsUsed(facts));
            }
        }
    }

    /// Whether the observers have not been notified of this before. They are from then on.
    pub(super) fn is_first_notice(&self, name: String) -> bool {
        lock(&self.announced).insert(name)
    }

    /// Returns the source for a dialect and a shared cache.
    pub(super) fn source(
        &self,
        dialect: Dialect,
        shared: Option<&SharedCache>,
    ) -> Result<Arc<Source>> {
        self.sources
            .get_or_compute(&(dialect, shared.cloned()), || {
                self.connections.source(dialect, shared).map(Arc::new)
            })
    }

    /// Publishes cached hashes of packages below `repository`, each release signed with `key`: of
    /// the releases in the lock files of root modules, or of all.
    ///
    /// # Errors
    /// A lock file is missing or cannot be read, or the CLI configuration, which may hold logins,
    /// cannot.
    pub fn publish_facts(
        &self,
        repository: &OciRepository,
        key: &SigningKey,
        roots: Option<&Roots>,
    ) -> Result<Vec<PublishedRelease>> {
        let only = roots.map(|roots| self.locked_releases(roots)).transpose()?;
        let dialect = self.options.dialect.unwrap_or_default();
        let published = self
            .connections
            .publish_facts(dialect, repository, key, only.as_ref());
        self.notify_sources_read();
        published
    }

    /// Returns the releases in the lock files of root modules.
    fn locked_releases(&self, roots: &Roots) -> Result<BTreeSet<(ProviderAddress, Version)>> {
        let lock_files = self.every_root(roots, |root| {
            if root.lock_bytes.is_none() && root.found.is_explicit {
                return Err(self
                    .nothing_locked(&root, "there is nothing to publish")
                    .into());
            }
            Ok(root.lock_file()?.0)
        })?;
        let mut releases = BTreeSet::new();
        for (_, lock_file) in &lock_files {
            for (address, locked) in lock_file.locks() {
                releases.insert((address.clone(), locked.version.clone()));
            }
        }
        Ok(releases)
    }

    /// The fingerprint of the key that has signed a release, if an earlier run has kept it in the
    /// cache. For display only: other users may have written to the cache.
    pub fn remembered_signer(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<String> {
        self.connections.remembered_signer(address, version)
    }

    /// Returns registry data about providers; `None` in an offline run.
    pub(super) fn registry_data(&self, dialect: Dialect) -> Result<Option<RegistryData<'_>>> {
        let dates = if self.options.offline {
            None
        } else {
            self.connections.publication_dates(dialect)?
        };
        Ok(dates.map(|dates| RegistryData {
            dates,
            now: self.started,
        }))
    }
}
