//! Makes sources: the named source, or the installation methods of the CLI configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::oci::{OciLogins, OciMirror, OciRegistries, RepositoryTemplate};
use super::registry::TrustedFacts;
use super::shared_facts::publish;
use super::{
    DateServices, Discovery, Downloader, FilesystemMirror, Method, NetworkMirror, Offline, PublicationDates,
    PublishedRelease, Registry, RegistryCache, SharedFacts, Source, SourceKind,
};
use crate::cli_config::{self, CliConfig, Credentials, InstallationMethod, MethodKind, directories};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use crate::net::Client;
pub use crate::net::{RequestObserver, RequestOutcome, RequestReport};
use crate::packages::archive::HashCache;
use crate::packages::authentication::SignaturePolicy;
use crate::packages::shared_facts::ReleaseFacts;
use crate::provider::{Dialect, OciRepository, ProviderAddress, ProviderSelection, SharedCache, SigningKey, Version};
use crate::system::{Environment, OnceMap, parallel, storage};

/// Choice of the source of packages.
#[derive(Clone, Debug, Default)]
pub enum SourceChoice {
    /// The registries that the providers' addresses name.
    #[default]
    Registries,
    /// A directory of packages.
    FilesystemMirror(PathBuf),
    /// The URL of a network mirror.
    NetworkMirror(String),
    /// Repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`.
    OciMirror(String),
    /// The sources in the CLI configuration.
    CliConfiguration,
}

/// Source of packages, and options for fetching them.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// The source.
    pub choice: SourceChoice,
    /// Number of packages that are downloaded and hashed at a time.
    pub jobs: usize,
    /// Whether hashes that a registry reports are recorded without downloading the packages.
    pub trust_registry: bool,
    /// Cache directory, if there is a cache.
    pub cache_directory: Option<PathBuf>,
    /// Ignore cached hashes and download every package again.
    pub distrusts_cache: bool,
    /// The services that publish the dates of versions.
    pub date_services: Option<DateServices>,
    /// Receives a report of each request.
    pub observer: RequestObserver,
}

impl Default for SourceOptions {
    /// The registries, without a cache. The number of packages keeps every core busy while others wait for bytes, and
    /// bounds their memory of about a megabyte each.
    fn default() -> Self {
        let jobs = (2 * parallel::cores()).max(24);
        let (choice, observer) = (SourceChoice::default(), RequestObserver::default());
        let (trust_registry, cache_directory, distrusts_cache, date_services) = (false, None, false, None);
        Self { choice, jobs, trust_registry, cache_directory, distrusts_cache, date_services, observer }
    }
}

/// Access to hosts: for each dialect the CLI configuration, read once when it is needed, and one client. Cheap to
/// clone; clones share both.
#[derive(Clone)]
pub struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    options: SourceOptions,
    environment: Environment,
    tofu: OnceLock<Result<Connection>>,
    terraform: OnceLock<Result<Connection>>,
    /// By the repository in which they are published.
    facts: OnceMap<(Dialect, OciRepository), Arc<SharedFacts>>,
}

impl Shared {
    fn registry_cache(&self) -> Option<RegistryCache> {
        self.options.cache_directory.as_deref().map(RegistryCache::open)
    }
}

struct Connection {
    dialect: Dialect,
    config: CliConfig,
    client: Client,
    /// `None` if no services for dates are configured.
    dates: Option<PublicationDates>,
    discovery: Arc<Discovery>,
    /// Shared by all sources, so that one login is enough.
    oci_registries: Arc<OciRegistries>,
}

impl Connections {
    /// Reads nothing and sends no request yet.
    ///
    /// # Errors
    /// Other users can write to the cache directory, whose content is trusted as verified by this user.
    pub fn new(options: SourceOptions, environment: &Environment) -> Result<Self> {
        if let Some(directory) = options.cache_directory.as_deref().and_then(storage::open_to_others) {
            let message = format!("other users can write to the cache directory {}", directory.display());
            let help = Help::text("remove that permission with chmod go-w, use a different directory with ")
                .and(Remedy::CacheDirectory)
                .and_text(", or no cache with ")
                .and(Remedy::NoCache);
            return Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into());
        }
        let environment = environment.clone();
        let (tofu, terraform, facts) = (OnceLock::new(), OnceLock::new(), OnceMap::default());
        Ok(Self { shared: Arc::new(Shared { options, environment, tofu, terraform, facts }) })
    }

    /// The providers that `init` takes from a directory and does not lock, if the CLI configuration decides about
    /// sources. OpenTofu locks such a provider like any other.
    pub(crate) fn dev_overrides(&self, dialect: Dialect) -> Result<BTreeMap<ProviderAddress, PathBuf>> {
        let is_asked = matches!(self.shared.options.choice, SourceChoice::CliConfiguration);
        if !is_asked || dialect == Dialect::Tofu {
            return Ok(BTreeMap::new());
        }
        let installation = &self.connection(dialect)?.config.provider_installation;
        Ok(installation.as_ref().map(|installation| installation.dev_overrides.clone()).unwrap_or_default())
    }

    /// HTTP client and service discovery for registries of modules.
    pub(crate) fn module_registry(&self, dialect: Dialect) -> Result<(Client, Arc<Discovery>)> {
        let Connection { client, discovery, .. } = self.connection(dialect)?;
        Ok((client.clone(), Arc::clone(discovery)))
    }

    /// OCI registries, with the logins that the CLI configuration gives.
    pub(crate) fn oci_registries(&self, dialect: Dialect) -> Result<Arc<OciRegistries>> {
        self.connection(dialect).map(|connection| Arc::clone(&connection.oci_registries))
    }

    /// The environment of the run.
    pub(crate) fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// The cache directory, if there is a cache.
    pub(crate) fn cache_directory(&self) -> Option<&Path> {
        self.shared.options.cache_directory.as_deref()
    }

    /// The CLI configurations that have been read, with their warnings.
    pub fn configurations(&self) -> impl Iterator<Item = (Dialect, &CliConfig)> {
        let slots = [(Dialect::Tofu, &self.shared.tofu), (Dialect::Terraform, &self.shared.terraform)];
        slots.into_iter().filter_map(|(dialect, slot)| Some((dialect, &slot.get()?.as_ref().ok()?.config)))
    }

    /// The cache of package hashes, if there is one.
    pub fn cache(&self) -> Option<HashCache> {
        self.shared.options.cache_directory.as_deref().map(HashCache::open)
    }

    /// The dates of versions, if services for them are configured.
    pub(crate) fn publication_dates(&self, dialect: Dialect) -> Result<Option<&PublicationDates>> {
        if self.shared.options.date_services.is_none() {
            return Ok(None);
        }
        self.connection(dialect).map(|connection| connection.dates.as_ref())
    }

    /// A new source. If `shared` gives facts about packages of registries, these packages need not be downloaded.
    pub fn source(&self, dialect: Dialect, shared: Option<&SharedCache>) -> Result<Source> {
        let source = self.new_source(dialect, shared)?;
        Ok(source.remembering(self.cache().as_ref()))
    }

    fn new_source(&self, dialect: Dialect, shared: Option<&SharedCache>) -> Result<Source> {
        let Shared { options, environment, .. } = &*self.shared;
        if let SourceChoice::FilesystemMirror(directory) = &options.choice {
            return Ok(Source::in_directory(directory));
        }
        let connection = self.connection(dialect)?;
        let cache = self.cache().map(|cache| if options.distrusts_cache { cache.not_believed() } else { cache });
        let factory = Factory {
            options,
            environment,
            connection,
            downloader: Downloader::new(connection.client.clone(), options.jobs, cache),
            registry_cache: self.shared.registry_cache(),
            facts: shared.map(|shared| self.trusted_facts(dialect, shared)).transpose()?,
        };
        let downloader = factory.downloader.clone();
        let kind = match &options.choice {
            SourceChoice::NetworkMirror(url) => factory.network_mirror(downloader, url, false)?,
            SourceChoice::OciMirror(template) => {
                factory.oci_mirror(downloader, RepositoryTemplate::parse_flag(template)?)
            }
            SourceChoice::CliConfiguration => return factory.configured(),
            SourceChoice::Registries | SourceChoice::FilesystemMirror(_) => factory.registry(downloader),
        };
        Ok(Source::new(kind))
    }

    /// The shared facts that were requested.
    pub fn shared_facts(&self) -> Vec<Arc<SharedFacts>> {
        let mut all = self.shared.facts.values();
        all.sort_by(|one, other| one.repository().cmp(other.repository()));
        all
    }

    /// Publishes the hashes in the cache for these releases, or for all, below `repository`, and signs the hashes of
    /// each release with `key`.
    ///
    /// # Errors
    /// The CLI configuration, which may contain logins, cannot be read.
    pub fn publish_facts(
        &self,
        dialect: Dialect,
        repository: &OciRepository,
        key: &SigningKey,
        only: Option<&BTreeSet<(ProviderAddress, Version)>>,
    ) -> Result<Vec<PublishedRelease>> {
        let releases = self.cache().map(|cache| cache.releases()).unwrap_or_default().into_iter();
        let releases = releases.filter(|(release, _)| only.is_none_or(|only| only.contains(release)));
        let releases =
            releases.map(|((address, version), packages)| ReleaseFacts { address, version, packages }).collect();
        Ok(publish(&*self.oci_registries(dialect)?, repository, key, releases))
    }

    /// The packages in the cache, and these versions from lock files.
    pub fn offline<'b>(&self, versions: impl Iterator<Item = (&'b ProviderAddress, &'b Version)>) -> Source {
        let mut known: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (address, version) in versions {
            known.entry(address.clone()).or_default().insert(version.clone());
        }
        Source::new(SourceKind::Offline(Offline::new(self.cache(), self.shared.registry_cache(), known)))
    }

    /// The fingerprint of the key that signed a release, if the cache contains it. Only show it, and never rely on it:
    /// other users may have written to the cache.
    pub fn remembered_signer(&self, address: &ProviderAddress, version: &Version) -> Option<String> {
        self.shared.registry_cache()?.signer(address, version)
    }

    fn trusted_facts(&self, dialect: Dialect, settings: &SharedCache) -> Result<TrustedFacts> {
        let registries = self.oci_registries(dialect)?;
        let SharedCache { repository, trusted_keys } = settings.clone();
        let key = (dialect, repository.clone());
        let facts = self.shared.facts.get_or_compute(&key, || Arc::new(SharedFacts::new(registries, repository)));
        Ok((facts, trusted_keys))
    }

    fn connection(&self, dialect: Dialect) -> Result<&Connection> {
        let slot = match dialect {
            Dialect::Tofu => &self.shared.tofu,
            Dialect::Terraform => &self.shared.terraform,
        };
        slot.get_or_init(|| self.connect(dialect)).as_ref().map_err(Clone::clone)
    }

    fn connect(&self, dialect: Dialect) -> Result<Connection> {
        let Shared { options, environment, .. } = &*self.shared;
        let config = cli_config::load(environment, dialect)?;
        let credentials = Credentials::new(environment, &config, dialect);
        let client = Client::new(config.net_settings(environment), move |host| credentials.token(host))?;
        let client = client.with_observer(options.observer.clone());
        let services = options.date_services.clone();
        let dates = services.map(|services| PublicationDates::new(client.clone(), services));
        let cache = self.shared.registry_cache();
        let discovery = Arc::new(Discovery::new(client.clone(), config.hosts.clone(), cache));
        let (blocks, defaults) = (config.oci_credentials.clone(), config.oci_default_credentials.clone());
        let logins = OciLogins::new(blocks, defaults, environment.clone(), environment.helper_time_limit());
        let oci_registries = Arc::new(OciRegistries::new(client.clone(), logins));
        Ok(Connection { dialect, config, client, dates, discovery, oci_registries })
    }
}

/// Makes the installation methods of a source.
struct Factory<'a> {
    options: &'a SourceOptions,
    environment: &'a Environment,
    connection: &'a Connection,
    downloader: Downloader,
    registry_cache: Option<RegistryCache>,
    /// Facts about packages of registries that other machines have published.
    facts: Option<TrustedFacts>,
}

impl Factory<'_> {
    /// The registries that addresses name.
    fn registry(&self, downloader: Downloader) -> SourceKind {
        let Connection { dialect, discovery, .. } = self.connection;
        let enforced = |name| *dialect == Dialect::Tofu && self.environment.variable(name) == Some("true");
        let policy = SignaturePolicy {
            dialect: *dialect,
            enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            now: SystemTime::now(),
        };
        let (discovery, trust) = (Arc::clone(discovery), self.options.trust_registry);
        let (cache, facts) = (self.registry_cache.clone(), self.facts.clone());
        SourceKind::Registry(Box::new(Registry::new(downloader, discovery, policy, trust, cache, facts)))
    }

    fn network_mirror(&self, downloader: Downloader, url: &str, trust_all_hashes: bool) -> Result<SourceKind> {
        self.environment.secrets.learn_url(url);
        NetworkMirror::new(downloader, url, self.connection.dialect, trust_all_hashes).map(SourceKind::NetworkMirror)
    }

    /// The OCI repositories that a template describes.
    fn oci_mirror(&self, downloader: Downloader, template: RepositoryTemplate) -> SourceKind {
        let registries = Arc::clone(&self.connection.oci_registries);
        SourceKind::OciMirror(OciMirror::new(downloader, registries, template, self.connection.dialect))
    }

    /// The installation methods of the CLI configuration; without any, the directories that OpenTofu and Terraform
    /// search before they contact registries.
    fn configured(&self) -> Result<Source> {
        let Some(installation) = &self.connection.config.provider_installation else {
            return Ok(Source::from_methods(self.implied_methods(), BTreeMap::new()));
        };
        let (mut methods, mut errors) = (Vec::new(), Diagnostics::default());
        for method in &installation.methods {
            match self.kind(method) {
                Ok(kind) => methods.push(Method::new(kind, method.providers.clone())),
                Err(error) => errors.extend(error),
            }
        }
        errors.into_result(Source::from_methods(methods, installation.dev_overrides.clone()))
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
                self.network_mirror(downloader, url.as_str(), *trust_all_hashes)
            }
            MethodKind::OciMirror { repository_template } => {
                let include = &method.providers.include;
                let template = RepositoryTemplate::parse_configuration(repository_template, include, &method.location)?;
                Ok(self.oci_mirror(downloader, template))
            }
            MethodKind::Unknown { name } => {
                let message = format!("unknown installation method {name:?}");
                let error = Diagnostic::error(Code::InvalidCliConfiguration, message).at(method.location.clone(), "");
                Err(error.help("use direct, filesystem_mirror, network_mirror or oci_mirror").into())
            }
        }
    }

    /// A provider that is in one of the directories is not requested from its registry, whatever its version.
    fn implied_methods(&self) -> Vec<Method> {
        let dialect = self.connection.dialect;
        let directories = directories::implied_mirrors(self.environment, dialect).into_iter();
        let mirrors: Vec<_> = directories.filter(|path| path.is_dir()).map(FilesystemMirror::new).collect();
        let found = mirrors.iter().flat_map(|mirror| mirror.providers(dialect));
        let direct = ProviderSelection { include: Vec::new(), exclude: found.map(Into::into).collect() };
        let mirrors = mirrors
            .into_iter()
            .map(|mirror| Method::new(SourceKind::FilesystemMirror(mirror), ProviderSelection::default()));
        mirrors.chain([Method::new(self.registry(self.downloader.clone()), direct)]).collect()
    }
}
