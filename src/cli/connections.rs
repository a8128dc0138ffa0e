//! How a run reaches hosts: for each dialect the CLI configuration, read once, and one client for everything.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use provlock::cli_config::{self, CliConfig, Credentials, Environment};
use provlock::diagnostic::Result;
use provlock::dialect::Dialect;
use provlock::net::Client;
use provlock::source::oci::RepositoryTemplate;
use provlock::source::{
    Discovery, DiscoveryCache, Downloader, FilesystemMirror, NetworkMirror, ReleaseUrls, Source, SourceKind,
};

use super::installation::Sources;
use super::source::OnlineArgs;
use super::ui::Ui;

/// The connections that the flags and the CLI configuration describe, each made when it is needed.
pub(crate) struct Connections<'a> {
    arguments: &'a OnlineArgs,
    pub(crate) environment: &'a Environment,
    ui: &'a Ui,
    tofu: OnceLock<Result<Connection>>,
    terraform: OnceLock<Result<Connection>>,
}

struct Connection {
    config: CliConfig,
    client: Client,
    discovery: Arc<Discovery>,
}

impl<'a> Connections<'a> {
    pub(crate) fn new(arguments: &'a OnlineArgs, environment: &'a Environment, ui: &'a Ui) -> Self {
        Self { arguments, environment, ui, tofu: OnceLock::new(), terraform: OnceLock::new() }
    }

    /// The client for all requests on behalf of a dialect.
    pub(crate) fn client(&self, dialect: Dialect) -> Result<Client> {
        Ok(self.connection(dialect)?.client.clone())
    }

    /// A source that has not been asked anything yet.
    pub(crate) fn source(&self, dialect: Dialect) -> Result<Source> {
        let kind = match &self.arguments.fs_mirror {
            Some(directory) => SourceKind::FilesystemMirror(FilesystemMirror::new(directory)),
            None => self.kind(self.connection(dialect)?, dialect)?,
        };
        Ok(Source::new(kind))
    }

    fn connection(&self, dialect: Dialect) -> Result<&Connection> {
        let slot = match dialect {
            Dialect::Tofu => &self.tofu,
            Dialect::Terraform => &self.terraform,
        };
        slot.get_or_init(|| self.connect(dialect)).as_ref().map_err(Clone::clone)
    }

    /// Reads the CLI configuration, and tells what is to be told about it.
    fn connect(&self, dialect: Dialect) -> Result<Connection> {
        let config = cli_config::load(self.environment, dialect)?;
        self.ui.warn(&config.warnings);
        for line in &config.debug {
            self.ui.detail(line);
        }
        let cache = self.arguments.cache_directory(self.environment);
        let credentials = Credentials::new(self.environment, &config, dialect);
        let client = Client::new(config.net_settings(self.environment), move |host| credentials.token(host))?;
        let cache = cache.as_deref().map(DiscoveryCache::open);
        let discovery = Arc::new(Discovery::new(client.clone(), config.hosts.clone(), cache));
        Ok(Connection { config, client, discovery })
    }

    fn kind(&self, Connection { config, client, discovery }: &Connection, dialect: Dialect) -> Result<SourceKind> {
        let Self { arguments, environment, .. } = self;
        let sources = Sources {
            config,
            environment,
            dialect,
            downloader: Downloader::new(client.clone(), arguments.jobs(), arguments.cache(environment)),
            discovery: Arc::clone(discovery),
            trust_registry: arguments.trust_registry,
            places: arguments.cache_directory(environment).as_deref().map(ReleaseUrls::open),
            oci_registries: OnceCell::new(),
        };
        let downloader = sources.downloader.clone();
        if let Some(url) = &arguments.net_mirror {
            NetworkMirror::new(downloader, url, dialect).map(SourceKind::NetworkMirror)
        } else if let Some(template) = &arguments.oci_mirror {
            RepositoryTemplate::parse_flag(template).map(|template| sources.oci_mirror(template))
        } else if arguments.use_cli_config {
            sources.configured()
        } else {
            Ok(sources.registry(downloader))
        }
    }
}
