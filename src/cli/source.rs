//! The flags that say where packages come from.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueHint};
use provlock::cli_config::{self, CliConfig, Credentials, Environment};
use provlock::diagnostic::Diagnostic;
use provlock::dialect::Dialect;
use provlock::lockfile::Locks;
use provlock::net::{Client, DiscoveryCache, NetSettings};
use provlock::package::cache::HashCache;
use provlock::source::oci_mirror::RepositoryTemplate;
use provlock::source::{Downloader, FilesystemMirror, NetworkMirror, Offline, ReleaseUrls, Source, SourceKind};

use super::Failure;
use super::environment::cache_directory;
use super::installation::Sources;
use super::ui::Ui;

/// Where packages come from.
#[derive(Args)]
#[command(next_help_heading = "From where")]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    online: OnlineArgs,
    /// Ask no host; use the lock file and the cache, and say what is missing
    #[arg(long, conflicts_with_all = ["instead", "trust_registry", "no_cache"])]
    pub(crate) offline: bool,
}

/// Where packages come from when hosts may be asked.
#[derive(Args)]
#[command(next_help_heading = "From where")]
pub(crate) struct OnlineArgs {
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
    /// How many packages to download and hash at a time [default: 24, or twice the number of cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Record the hashes that a registry reports without downloading packages, once they fit the signed checksums
    #[arg(long, conflicts_with = "instead")]
    trust_registry: bool,
    #[command(flatten)]
    cache: CacheArgs,
}

/// Where hashes of packages are remembered.
#[derive(Args)]
pub(crate) struct CacheArgs {
    /// Neither use nor fill the cache of package hashes
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    directory: CacheDirectory,
}

/// Where the cache is.
#[derive(Args)]
pub(crate) struct CacheDirectory {
    /// Keep the cache of package hashes in DIR
    #[arg(long, value_name = "DIR", env = "PROVLOCK_CACHE_DIR", hide_env_values = true, value_hint = ValueHint::DirPath)]
    cache_dir: Option<PathBuf>,
}

impl CacheDirectory {
    /// The directory; none when there is no place for it.
    pub(crate) fn get(&self, environment: &Environment) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(|| cache_directory(environment))
    }
}

impl CacheArgs {
    /// The directory of the cache, if it is to be used.
    fn used(&self, environment: &Environment) -> Option<PathBuf> {
        self.directory.get(environment).filter(|_| !self.no_cache)
    }
}

impl SourceArgs {
    /// The source that the flags and the CLI configuration describe; offline it knows the versions that are `locked`.
    pub(crate) fn source<'a>(
        &self,
        dialect: Dialect,
        locked: impl IntoIterator<Item = &'a Locks>,
        environment: &Environment,
        ui: &Ui,
    ) -> Result<Source, Failure> {
        if !self.offline {
            return self.online.source(dialect, environment, ui);
        }
        let mut versions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (address, provider) in locked.into_iter().flatten() {
            versions.entry(address.clone()).or_default().insert(provider.version.clone());
        }
        Ok(Source::new(SourceKind::Offline(Offline::new(self.online.cache(environment), versions))))
    }
}

impl OnlineArgs {
    /// The cache of package hashes, if it may be used and there is a place for it.
    pub(crate) fn cache(&self, environment: &Environment) -> Option<HashCache> {
        self.cache.used(environment).map(|directory| HashCache::open(&directory))
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
        let cache = self.cache.used(environment);
        let client = client(config, environment, dialect, cache.as_deref()).map_err(one)?;
        let jobs = self.jobs.map_or_else(default_jobs, usize::from);
        let downloader = Downloader::new(client, jobs, self.cache(environment));
        let sources = Sources {
            config,
            environment,
            dialect,
            downloader,
            trust_registry: self.trust_registry,
            places: cache.as_deref().map(ReleaseUrls::open),
            oci_registries: OnceCell::new(),
        };
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

/// The HTTP client of a run; what it may remember of services is below `cache`.
pub(crate) fn client(
    config: &CliConfig,
    environment: &Environment,
    dialect: Dialect,
    cache: Option<&Path>,
) -> provlock::diagnostic::Result<Client> {
    let credentials = Arc::new(Credentials::new(environment, config, dialect));
    let settings =
        NetSettings { discovery_cache: cache.map(DiscoveryCache::open), ..NetSettings::new(environment, config) };
    Client::new(settings, credentials, config)
}

/// How many packages are downloaded and hashed at a time: enough to keep every core busy while others wait for bytes, and
/// few enough for their memory of about a megabyte each.
fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(0, |cores| 2 * usize::from(cores)).max(24)
}
