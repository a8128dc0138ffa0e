//! Makes sources: the one that is named, or the installation methods of the CLI configuration.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::oci::{OciLogins, OciRegistries, RepositoryTemplate};
use super::shared_facts::publish;
use super::{
    DateServices, Discovery, DiscoveryCache, Downloader, FilesystemMirror, Method, NetworkMirror, OciMirror, Offline,
    PublicationDates, PublishedRelease, Registry, RegistryPolicy, ReleaseUrls, SharedFacts, Source, SourceKind,
    TrustedFacts,
};
use crate::cli_config::{self, CliConfig, Credentials, InstallationMethod, MethodKind, directories};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::net::{Client, RequestObserver};
use crate::packages::archive::HashCache;
use crate::packages::shared_facts::ReleaseFacts;
use crate::provider::{Dialect, OciRepository, ProviderAddress, ProviderSelection, SharedCache, SigningKey, Version};
use crate::system::{Environment, OnceMap, storage};

/// Where packages come from.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// The registries that the providers' addresses name.
    #[default]
    Registries,
    /// A directory of packages.
    FilesystemMirror(PathBuf),
    /// The URL of a network mirror.
    NetworkMirror(String),
    /// Repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`.
    OciMirror(String),
    /// Where the CLI configuration says.
    CliConfiguration,
}

/// Where packages come from, and how they are fetched.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// Where they come from.
    pub origin: Origin,
    /// How many packages are downloaded and hashed at a time.
    pub jobs: usize,
    /// Whether hashes that a registry reports are taken without a look at the packages.
    pub trust_registry: bool,
    /// Where everything is that is remembered across runs; none if nothing is.
    pub cache_directory: Option<PathBuf>,
    /// Who knows when versions were published.
    pub date_services: Option<DateServices>,
    /// Who is told of requests.
    pub observer: RequestObserver,
}

impl Default for SourceOptions {
    /// The registries, without a cache. Enough packages at a time to keep every core busy while others wait for bytes, and few
    /// enough for their memory of about a megabyte each.
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(0, |cores| 2 * usize::from(cores)).max(24);
        let (origin, observer) = (Origin::default(), RequestObserver::default());
        Self { origin, jobs, trust_registry: false, cache_directory: None, date_services: None, observer }
    }
}

/// How hosts are reached: for each dialect the CLI configuration, read once when it is needed, and one client for everything.
/// Cheap to clone; clones share both.
#[derive(Clone)]
pub struct Connections {
    shared: Arc<Shared>,
    believes_cache: bool,
}

struct Shared {
    options: SourceOptions,
    environment: Environment,
    tofu: OnceLock<Result<Connection>>,
    terraform: OnceLock<Result<Connection>>,
    /// What is shared, by its place.
    facts: OnceMap<(Dialect, OciRepository), Arc<SharedFacts>>,
}

struct Connection {
    config: CliConfig,
    client: Client,
    discovery: Arc<Discovery>,
}

impl Connections {
    /// Nothing is read yet, and no host is asked.
    ///
    /// # Errors
    /// When others can write to the cache directory: what is in it counts as what this user has verified.
    pub fn new(options: SourceOptions, environment: &Environment) -> Result<Self> {
        if let Some(directory) = &options.cache_directory
            && storage::is_writable_by_others(directory)
        {
            let message = format!("others can write to the cache directory {}", directory.display());
            let help = Help::text("remove that permission with chmod go-w, use another directory with ")
                .and(Remedy::CacheDirectory)
                .and_text(", or no cache with ")
                .and(Remedy::NoCache);
            return Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into());
        }
        let environment = environment.clone();
        let (tofu, terraform, facts) = (OnceLock::new(), OnceLock::new(), OnceMap::default());
        let shared = Arc::new(Shared { options, environment, tofu, terraform, facts });
        Ok(Self { shared, believes_cache: true })
    }

    /// What registries of modules are asked with.
    pub(crate) fn module_registry(&self, dialect: Dialect) -> Result<(Client, Arc<Discovery>)> {
        let Connection { client, discovery, .. } = self.connection(dialect)?;
        Ok((client.clone(), Arc::clone(discovery)))
    }

    /// OCI registries, with the logins that the CLI configuration gives.
    pub(crate) fn oci_registries(&self, dialect: Dialect) -> Result<Arc<OciRegistries>> {
        let Connection { config, client, .. } = self.connection(dialect)?;
        Ok(oci_registries(config, self.environment(), client.clone()))
    }

    /// The surroundings.
    pub(crate) fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Where everything is that is remembered across runs; none if nothing is.
    pub(crate) fn cache_directory(&self) -> Option<&Path> {
        self.shared.options.cache_directory.as_deref()
    }

    /// The CLI configurations that have been read; they may hold something that the user should know.
    pub fn configurations(&self) -> impl Iterator<Item = (Dialect, &CliConfig)> {
        let slots = [(Dialect::Tofu, &self.shared.tofu), (Dialect::Terraform, &self.shared.terraform)];
        slots.into_iter().filter_map(|(dialect, slot)| Some((dialect, &slot.get()?.as_ref().ok()?.config)))
    }

    /// The same for who checks what others have written: packages are looked at again, whatever the cache says of them.
    #[must_use]
    pub fn without_remembered_hashes(mut self) -> Self {
        self.believes_cache = false;
        self
    }

    /// The cache of package hashes, if there is one.
    pub fn cache(&self) -> Option<HashCache> {
        self.shared.options.cache_directory.as_deref().map(HashCache::open)
    }

    /// When versions were published, as the services tell; none without services.
    pub(crate) fn publication_dates(&self, dialect: Dialect) -> Result<Option<PublicationDates>> {
        let Some(services) = self.shared.options.date_services.clone() else { return Ok(None) };
        Ok(Some(PublicationDates::new(self.connection(dialect)?.client.clone(), services)))
    }

    /// A source that has not been asked anything yet.
    pub fn source(&self, dialect: Dialect) -> Result<Source> {
        self.source_with(dialect, None)
    }

    /// [`Connections::source`], where registries' packages about which facts are shared need not be downloaded.
    pub fn source_with(&self, dialect: Dialect, shared: Option<&SharedCache>) -> Result<Source> {
        match &self.shared.options.origin {
            Origin::FilesystemMirror(directory) => {
                Ok(Source::new(SourceKind::FilesystemMirror(FilesystemMirror::new(directory))))
            }
            origin => self.online(origin, self.connection(dialect)?, dialect, shared),
        }
    }

    /// Everything that was looked up in what others share.
    pub fn shared_facts(&self) -> Vec<Arc<SharedFacts>> {
        let mut all = self.shared.facts.values();
        all.sort_by(|one, other| one.repository().cmp(other.repository()));
        all
    }

    /// Publishes what the cache knows of packages below `repository`, each release signed with `key`.
    ///
    /// # Errors
    /// The CLI configuration, which may hold logins, cannot be read.
    pub fn publish_facts(
        &self,
        dialect: Dialect,
        repository: &OciRepository,
        key: &SigningKey,
    ) -> Result<Vec<PublishedRelease>> {
        let releases = self.cache().map(|cache| cache.releases()).unwrap_or_default().into_iter();
        let releases =
            releases.map(|((address, version), packages)| ReleaseFacts { address, version, packages }).collect();
        Ok(publish(&*self.oci_registries(dialect)?, repository, key, releases))
    }

    /// What is known on this machine, where these versions are all there are.
    pub fn offline<'b>(&self, versions: impl Iterator<Item = (&'b ProviderAddress, &'b Version)>) -> Source {
        let mut known: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (address, version) in versions {
            known.entry(address.clone()).or_default().insert(version.clone());
        }
        Source::new(SourceKind::Offline(Offline::new(self.cache(), known)))
    }

    fn trusted_facts(&self, dialect: Dialect, settings: &SharedCache) -> Result<Arc<TrustedFacts>> {
        let registries = self.oci_registries(dialect)?;
        let repository = settings.repository.clone();
        let facts = self
            .shared
            .facts
            .get_or_compute(&(dialect, repository.clone()), || Arc::new(SharedFacts::new(registries, repository)));
        Ok(Arc::new(TrustedFacts::new(facts, settings)))
    }

    fn connection(&self, dialect: Dialect) -> Result<&Connection> {
        let slot = match dialect {
            Dialect::Tofu => &self.shared.tofu,
            Dialect::Terraform => &self.shared.terraform,
        };
        slot.get_or_init(|| self.connect(dialect)).as_ref().map_err(Clone::clone)
    }

    fn connect(&self, dialect: Dialect) -> Result<Connection> {
        let config = cli_config::load(&self.shared.environment, dialect)?;
        let credentials = Credentials::new(&self.shared.environment, &config, dialect);
        let client = Client::new(config.net_settings(&self.shared.environment), move |host| credentials.token(host))?;
        let client = client.with_observer(self.shared.options.observer.clone());
        let cache = self.shared.options.cache_directory.as_deref().map(DiscoveryCache::open);
        let discovery = Arc::new(Discovery::new(client.clone(), config.hosts.clone(), cache));
        Ok(Connection { config, client, discovery })
    }

    fn online(
        &self,
        origin: &Origin,
        Connection { config, client, discovery }: &Connection,
        dialect: Dialect,
        shared: Option<&SharedCache>,
    ) -> Result<Source> {
        let Shared { options, environment, .. } = &*self.shared;
        let cache = self.cache().map(|cache| if self.believes_cache { cache } else { cache.not_believed() });
        let factory = Factory {
            config,
            environment,
            dialect,
            discovery: Arc::clone(discovery),
            downloader: Downloader::new(client.clone(), options.jobs, cache),
            trust_registry: options.trust_registry,
            places: options.cache_directory.as_deref().map(ReleaseUrls::open),
            oci_registries: OnceCell::new(),
            facts: shared.map(|shared| self.trusted_facts(dialect, shared)).transpose()?,
        };
        let downloader = factory.downloader.clone();
        let kind = match origin {
            Origin::Registries => factory.registry(downloader),
            Origin::FilesystemMirror(directory) => SourceKind::FilesystemMirror(FilesystemMirror::new(directory)),
            Origin::NetworkMirror(url) => {
                environment.secrets.learn_url(url);
                SourceKind::NetworkMirror(NetworkMirror::new(downloader, url, dialect)?)
            }
            Origin::OciMirror(template) => factory.oci_mirror(RepositoryTemplate::parse_flag(template)?),
            Origin::CliConfiguration => return factory.configured(),
        };
        Ok(Source::new(kind))
    }
}

/// What sources are made of.
struct Factory<'a> {
    config: &'a CliConfig,
    environment: &'a Environment,
    dialect: Dialect,
    discovery: Arc<Discovery>,
    downloader: Downloader,
    /// Whether hashes that a registry reports are taken without a look at the packages.
    trust_registry: bool,
    /// Where releases were in earlier runs.
    places: Option<ReleaseUrls>,
    /// Shared by all mirrors in OCI registries, so that they log in once.
    oci_registries: OnceCell<Arc<OciRegistries>>,
    /// What others have published about packages of registries.
    facts: Option<Arc<TrustedFacts>>,
}

impl Factory<'_> {
    /// The registries that addresses name.
    fn registry(&self, downloader: Downloader) -> SourceKind {
        let enforced = |name| self.dialect == Dialect::Tofu && self.environment.variable(name) == Some("true");
        let policy = RegistryPolicy {
            dialect: self.dialect,
            enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            trust_registry: self.trust_registry,
            now: SystemTime::now(),
        };
        let registry = Registry::new(downloader, Arc::clone(&self.discovery), policy, self.places.clone());
        SourceKind::Registry(registry.with_facts(self.facts.clone()))
    }

    /// The repositories of OCI registries that a template names.
    fn oci_mirror(&self, template: RepositoryTemplate) -> SourceKind {
        let client = || self.downloader.client().clone();
        let registries = self.oci_registries.get_or_init(|| oci_registries(self.config, self.environment, client()));
        let mirror = OciMirror::new(self.downloader.clone(), Arc::clone(registries), template, self.dialect);
        SourceKind::OciMirror(mirror)
    }

    /// The installation methods of the CLI configuration; without any, the directories that both programs look into before
    /// they ask registries.
    fn configured(&self) -> Result<Source> {
        let Some(installation) = &self.config.provider_installation else {
            return Ok(Source::from_methods(self.implied_methods(), BTreeMap::new()));
        };
        let (mut methods, mut errors) = (Vec::new(), Vec::new());
        for method in &installation.methods {
            match self.kind(method) {
                Ok(kind) => {
                    methods.push(Method::new(kind, method.providers.clone()));
                }
                Err(error) => errors.extend(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors.into());
        }
        Ok(Source::from_methods(methods, installation.dev_overrides.clone()))
    }

    fn kind(&self, method: &InstallationMethod) -> Result<SourceKind> {
        let downloader = match method.download_retries {
            Some(retries) => self.downloader.with_retries(retries),
            None => self.downloader.clone(),
        };
        match &method.kind {
            MethodKind::Direct => Ok(self.registry(downloader)),
            MethodKind::FilesystemMirror { path } => Ok(SourceKind::FilesystemMirror(FilesystemMirror::new(path))),
            MethodKind::NetworkMirror { url, trust_all_hashes } => {
                self.environment.secrets.learn_url(url.as_str());
                let mirror = NetworkMirror::new(downloader, url.as_str(), self.dialect)?;
                let mirror = if *trust_all_hashes { mirror.trusting_all_hashes() } else { mirror };
                Ok(SourceKind::NetworkMirror(mirror))
            }
            MethodKind::OciMirror { repository_template } => {
                let include = &method.providers.include;
                let template = RepositoryTemplate::parse_configuration(repository_template, include, &method.location)?;
                Ok(self.oci_mirror(template))
            }
            MethodKind::Unknown { name } => {
                let message = format!("the installation method {name:?} is not known");
                let error = Diagnostic::error(Code::InvalidCliConfiguration, message).at(method.location.clone(), "");
                Err(error.help("use direct, filesystem_mirror, network_mirror or oci_mirror").into())
            }
        }
    }

    /// Registries are not asked for a provider that one of the directories has, whatever its version.
    fn implied_methods(&self) -> Vec<Method> {
        let directories = directories::implied_mirrors(self.environment, self.dialect).into_iter();
        let mirrors: Vec<_> = directories.filter(|path| path.is_dir()).map(FilesystemMirror::new).collect();
        let found = mirrors.iter().flat_map(|mirror| mirror.providers(self.dialect));
        let direct = ProviderSelection { include: Vec::new(), exclude: found.map(Into::into).collect() };
        let mirrors = mirrors
            .into_iter()
            .map(|mirror| Method::new(SourceKind::FilesystemMirror(mirror), ProviderSelection::default()));
        mirrors.chain([Method::new(self.registry(self.downloader.clone()), direct)]).collect()
    }
}

fn oci_registries(config: &CliConfig, environment: &Environment, client: Client) -> Arc<OciRegistries> {
    let (credentials, defaults) = (config.oci_credentials.clone(), config.oci_default_credentials.clone());
    let logins = OciLogins::new(credentials, defaults, environment.clone(), environment.helper_time_limit());
    Arc::new(OciRegistries::new(client, logins))
}
