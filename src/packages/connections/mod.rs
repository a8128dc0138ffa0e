//! Access to hosts, and the sources of packages that use it: the named one, or the installation
//! methods of the CLI configuration.

mod facts;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use url::Url;

use super::oci::{OciLogins, OciRegistries};
use super::{CloudHosts, DateServices, Discovery, PublicationDates, RegistryCache, SharedFacts};
use crate::cli_config::{self, CliConfig, Credentials, LazyNetrc, MethodKind, Netrc};
use crate::diagnostic::{Code, Diagnostic, Help, Result, RunOption};
use crate::net::{Client, InternalHosts, PermittedHosts, authority};
pub use crate::net::{RequestObserver, RequestOutcome, RequestReport};
use crate::packages::archive::HashCache;
use crate::provider::{Dialect, OciRepository, ProviderAddress, Version};
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
    /// Whether sources ignore cached hashes and download every package again.
    pub distrusts_cache: bool,
    /// The services that publish the dates of versions.
    pub date_services: Option<DateServices>,
    /// Receives a report of each request.
    pub observer: RequestObserver,
}

impl Default for SourceOptions {
    /// The registries, without a cache. The number of packages keeps every core busy while others
    /// wait for bytes, and bounds their memory of about a megabyte each.
    fn default() -> Self {
        let jobs = (2 * parallel::cores()).max(24);
        Self {
            choice: SourceChoice::default(),
            jobs,
            trust_registry: false,
            cache_directory: None,
            distrusts_cache: false,
            date_services: None,
            observer: RequestObserver::default(),
        }
    }
}

/// Access to hosts: for each dialect the CLI configuration, read once when it is needed, and one
/// client. Cheap to clone; clones share both.
#[derive(Clone)]
pub struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    options: SourceOptions,
    environment: Environment,
    /// By dialect.
    connections: [OnceLock<Result<Connection>>; 2],
    netrc: LazyNetrc,
    cloud_hosts: CloudHosts,
    internal_hosts: InternalHosts,
    /// By the repository in which they are published.
    facts: OnceMap<(Dialect, OciRepository), Arc<SharedFacts>>,
}

/// Values that are read or created once for a dialect.
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

impl Shared {
    fn registry_cache(&self) -> Option<RegistryCache> {
        self.options
            .cache_directory
            .as_deref()
            .map(RegistryCache::open)
    }

    /// Reads the CLI configuration of a dialect. Sends no request yet.
    fn connect(&self, dialect: Dialect) -> Result<Connection> {
        let Self {
            options,
            environment,
            ..
        } = self;
        let config = cli_config::load(environment, dialect)?;
        let credentials = Credentials::new(environment, &config, dialect);
        // A mirror of the user may be in the internal network.
        let configured = configured_hosts(&options.choice, &config);
        let internal_hosts = self.internal_hosts.with_configured(configured);
        let client = Client::new(config.net_settings(environment), move |host| {
            credentials.token(host)
        })?
        .limited_by(internal_hosts)
        .with_observer(options.observer.clone());
        let dates = options
            .date_services
            .clone()
            .map(|services| PublicationDates::new(client.clone(), services));
        let discovery = Arc::new(Discovery::new(
            client.clone(),
            config.hosts.clone(),
            self.cloud_hosts.clone(),
            self.registry_cache(),
        ));
        let oci_registries = Arc::new(OciRegistries::new(
            client.clone(),
            OciLogins::new(&config, environment),
        ));
        Ok(Connection {
            dialect,
            config,
            client,
            dates,
            discovery,
            oci_registries,
        })
    }
}

impl Connections {
    /// Reads nothing and sends no request yet.
    ///
    /// # Errors
    /// Other users can write to the cache directory, whose content is trusted as verified by this
    /// user.
    pub fn new(options: SourceOptions, environment: &Environment) -> Result<Self> {
        // Another user could store the hashes of a different package there.
        if let Some(directory) = options
            .cache_directory
            .as_deref()
            .and_then(storage::open_to_others)
        {
            let message = format!(
                "other users can write to the cache directory {}",
                directory.display()
            );
            let help = Help::text(
                "remove that permission with chmod go-w, use a different directory with ",
            )
            .and(RunOption::CacheDirectory)
            .and_text(", or no cache with ")
            .and(RunOption::NoCache);
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help)
                .into());
        }
        let environment = environment.clone();
        let netrc = LazyNetrc::new(&environment);
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                environment,
                connections: [OnceLock::new(), OnceLock::new()],
                netrc,
                cloud_hosts: CloudHosts::default(),
                internal_hosts: InternalHosts::default(),
                facts: OnceMap::default(),
            }),
        })
    }

    /// Limits requests to the internal network while a change is checked.
    pub(crate) fn limit_internal_hosts(&self, permitted: impl PermittedHosts + 'static) {
        self.shared.internal_hosts.limit_to(permitted);
    }

    /// A client for the requests of a different program; `None` if nothing limits these.
    pub(crate) fn limiting_client(&self) -> Option<Client> {
        if !self.shared.internal_hosts.is_limited() {
            return None;
        }
        let mut opened = self.shared.connections.iter().filter_map(OnceLock::get);
        let connection = match opened.find_map(|connection| connection.as_ref().ok()) {
            Some(connection) => connection,
            None => self.connection(Dialect::default()).ok()?,
        };
        Some(connection.client.clone())
    }

    /// The providers that `init` takes from a directory and does not lock, if the CLI configuration
    /// decides about sources. OpenTofu locks such a provider like any other.
    pub(crate) fn dev_overrides(
        &self,
        dialect: Dialect,
    ) -> Result<BTreeMap<ProviderAddress, PathBuf>> {
        let is_asked = matches!(self.shared.options.choice, SourceChoice::CliConfiguration);
        if !is_asked || dialect == Dialect::Tofu {
            return Ok(BTreeMap::new());
        }
        let installation = &self.connection(dialect)?.config.provider_installation;
        Ok(installation
            .as_ref()
            .map(|installation| installation.dev_overrides.clone())
            .unwrap_or_default())
    }

    /// HTTP client and service discovery for registries of modules.
    pub(crate) fn module_registry(&self, dialect: Dialect) -> Result<(Client, Arc<Discovery>)> {
        let Connection {
            client, discovery, ..
        } = self.connection(dialect)?;
        Ok((client.clone(), Arc::clone(discovery)))
    }

    /// OCI registries, with the logins that the CLI configuration gives.
    pub(crate) fn oci_registries(&self, dialect: Dialect) -> Result<Arc<OciRegistries>> {
        self.connection(dialect)
            .map(|connection| Arc::clone(&connection.oci_registries))
    }

    /// Hosts for which `localterraform.com` stands.
    pub(crate) fn cloud_hosts(&self) -> &CloudHosts {
        &self.shared.cloud_hosts
    }

    /// The environment of the run.
    pub(crate) fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// The logins in `.netrc`.
    pub(crate) fn netrc(&self) -> std::result::Result<&Netrc, String> {
        self.shared.netrc.get()
    }

    /// The cache directory, if there is a cache.
    pub(crate) fn cache_directory(&self) -> Option<&Path> {
        self.shared.options.cache_directory.as_deref()
    }

    /// The CLI configurations that have been read, with their warnings.
    pub fn configurations(&self) -> impl Iterator<Item = (Dialect, &CliConfig)> {
        let connections = self
            .shared
            .connections
            .iter()
            .filter_map(|slot| slot.get()?.as_ref().ok());
        connections.map(|connection| (connection.dialect, &connection.config))
    }

    /// The hosts of registries whose releases were dated by the claims of their servers.
    pub(crate) fn claiming_hosts(&self) -> BTreeSet<String> {
        let mut hosts = BTreeSet::new();
        for slot in &self.shared.connections {
            if let Some(Ok(connection)) = slot.get()
                && let Some(dates) = &connection.dates
            {
                hosts.extend(dates.claiming_hosts());
            }
        }
        hosts
    }

    /// The cache of package hashes, if there is one.
    pub fn cache(&self) -> Option<HashCache> {
        self.shared
            .options
            .cache_directory
            .as_deref()
            .map(HashCache::open)
    }

    /// The dates of versions; `None` if no services for them are configured, also in an online run.
    pub(crate) fn publication_dates(&self, dialect: Dialect) -> Result<Option<&PublicationDates>> {
        if self.shared.options.date_services.is_none() {
            return Ok(None);
        }
        self.connection(dialect)
            .map(|connection| connection.dates.as_ref())
    }

    /// The fingerprint of the key that signed a release, if the cache contains it. Only show it,
    /// and never rely on it: other users may have written to the cache.
    pub fn remembered_signer(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<String> {
        self.shared.registry_cache()?.signer(address, version)
    }

    fn connection(&self, dialect: Dialect) -> Result<&Connection> {
        self.shared.connections[dialect as usize]
            .get_or_init(|| self.shared.connect(dialect))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// The hosts of mirrors and services that the user names. They may be in the internal network, and
/// so may everything that they refer to.
fn configured_hosts(choice: &SourceChoice, config: &CliConfig) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    match choice {
        SourceChoice::NetworkMirror(url) => hosts.extend(host_in(url)),
        SourceChoice::OciMirror(template) => {
            hosts.extend(host_in(&format!("https://{template}")));
        }
        _ => {}
    }
    for services in config.hosts.values() {
        for url in services.values() {
            hosts.extend(host_in(url));
        }
    }
    for method in config
        .provider_installation
        .iter()
        .flat_map(|installation| &installation.methods)
    {
        match &method.kind {
            MethodKind::NetworkMirror { url, .. } => hosts.extend(host_in(url.as_str())),
            MethodKind::OciMirror(template) => {
                hosts.extend(host_in(&format!("https://{template}")));
            }
            _ => {}
        }
    }
    hosts
}

/// The host of a URL, with its port; `None` if it is not one.
fn host_in(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    Some(authority(&url))
}
