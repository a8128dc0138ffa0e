//! The flags that say where packages come from.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueHint};
use provlock::cli_config::{self, CliConfig, Credentials, Environment};
use provlock::diagnostic::Diagnostic;
use provlock::dialect::Dialect;
use provlock::net::{Client, NetSettings};
use provlock::package::cache::HashCache;
use provlock::source::oci_mirror::RepositoryTemplate;
use provlock::source::{Downloader, FilesystemMirror, NetworkMirror, Source, SourceKind};

use super::Failure;
use super::environment::cache_directory;
use super::installation::Sources;
use super::ui::Ui;

#[derive(Args)]
#[command(next_help_heading = "From where")]
pub(crate) struct SourceArgs {
    /// Take packages from a directory instead of the registries
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, group = "instead")]
    fs_mirror: Option<PathBuf>,
    /// Take packages from a network mirror instead of the registries
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, group = "instead")]
    net_mirror: Option<String>,
    /// Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`
    #[arg(long, value_name = "TEMPLATE", group = "instead")]
    oci_mirror: Option<String>,
    /// Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)
    #[arg(long, group = "instead")]
    use_cli_config: bool,
    /// How many packages to download and hash at a time [default: twice the number of cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    cache: CacheArgs,
}

/// Where hashes of packages are remembered.
#[derive(Args)]
pub(crate) struct CacheArgs {
    /// Neither use nor fill the cache of package hashes
    #[arg(long)]
    no_cache: bool,
    /// Keep the cache of package hashes in DIR
    #[arg(long, value_name = "DIR", env = "PROVLOCK_CACHE_DIR", hide_env_values = true, value_hint = ValueHint::DirPath)]
    cache_dir: Option<PathBuf>,
}

impl CacheArgs {
    /// The directory of the cache; none when there is no place for it.
    pub(crate) fn directory(&self, environment: &Environment) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(|| cache_directory(environment))
    }

    fn cache(&self, environment: &Environment) -> Option<HashCache> {
        let directory = self.directory(environment).filter(|_| !self.no_cache);
        directory.map(|directory| HashCache::open(&directory))
    }
}

impl SourceArgs {
    /// The cache of package hashes, if it may be used and there is a place for it.
    pub(crate) fn cache(&self, environment: &Environment) -> Option<HashCache> {
        self.cache.cache(environment)
    }

    /// The source that the flags and the CLI configuration describe.
    pub(crate) fn source(&self, dialect: Dialect, environment: &Environment, ui: &Ui) -> Result<Source, Failure> {
        if let Some(directory) = &self.fs_mirror {
            return Ok(Source::new(SourceKind::FilesystemMirror(FilesystemMirror::new(directory))));
        }
        let config = cli_config::load(environment, dialect)?;
        ui.warn(&config.warnings);
        for line in &config.debug {
            ui.detail(line);
        }
        let kind = self.kind(&config, dialect, environment)?;
        Ok(Source::new(kind))
    }

    fn kind(&self, config: &CliConfig, dialect: Dialect, environment: &Environment) -> Result<SourceKind, Failure> {
        let one = |error: Box<Diagnostic>| vec![*error];
        let client = client(config, environment, dialect).map_err(one)?;
        let jobs = self.jobs.map_or_else(default_jobs, usize::from);
        let downloader = Downloader::new(client, jobs, self.cache.cache(environment));
        let sources = Sources { config, environment, dialect, downloader, oci_registries: OnceCell::new() };
        let downloader = sources.downloader.clone();
        if let Some(url) = &self.net_mirror {
            NetworkMirror::new(downloader, url, dialect).map(SourceKind::NetworkMirror).map_err(one)
        } else if let Some(template) = &self.oci_mirror {
            RepositoryTemplate::parse_flag(template).and_then(|template| sources.oci_mirror(template)).map_err(one)
        } else if self.use_cli_config {
            sources.configured()
        } else {
            Ok(sources.registry(downloader))
        }
    }
}

/// The HTTP client of a run.
pub(crate) fn client(
    config: &CliConfig,
    environment: &Environment,
    dialect: Dialect,
) -> provlock::diagnostic::Result<Client> {
    let credentials = Arc::new(Credentials::new(environment, config, dialect));
    Client::new(NetSettings::new(environment, config), credentials, config)
}

/// How many packages are downloaded and hashed at a time: enough to keep every core busy while others wait for bytes.
fn default_jobs() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}
