//! The flags that say where packages come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, ValueHint};
use provlock::cli_config::{self, CliConfig, Credentials, Environment};
use provlock::dialect::Dialect;
use provlock::lockfile::Locks;
use provlock::net::{Client, DiscoveryCache, NetSettings};
use provlock::package::cache::HashCache;
use provlock::source::{
    Downloader, FilesystemMirror, NetworkMirror, Offline, Registry, RegistryPolicy, ReleaseUrls, Source, SourceKind,
};

use super::Failure;
use super::environment::cache_directory;
use super::ui::Ui;

#[derive(Args)]
#[command(next_help_heading = "From where")]
pub(crate) struct SourceArgs {
    /// Take packages from a directory instead of the registries
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "net_mirror")]
    fs_mirror: Option<PathBuf>,
    /// Take packages from a network mirror instead of the registries
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    net_mirror: Option<String>,
    /// How many packages to download and hash at a time [default: 24, or twice the number of cores]
    #[arg(short, long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Record the hashes that a registry reports without downloading packages, once they fit the signed checksums
    #[arg(long, conflicts_with_all = ["fs_mirror", "net_mirror"])]
    trust_registry: bool,
    /// Ask no host; use the lock file and the cache, and say what is missing
    #[arg(long, conflicts_with_all = ["fs_mirror", "net_mirror", "trust_registry", "no_cache"])]
    offline: bool,
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
    /// What is known on this machine, if that is all that is to be used.
    pub(crate) fn offline<'a>(
        &self,
        environment: &Environment,
        locked: impl Iterator<Item = &'a Locks>,
    ) -> Option<Source> {
        if !self.offline {
            return None;
        }
        let mut versions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (address, provider) in locked.flatten() {
            versions.entry(address.clone()).or_default().insert(provider.version.clone());
        }
        let cache = self.cache.used(environment).map(|directory| HashCache::open(&directory));
        Some(Source::new(SourceKind::Offline(Offline::new(cache, versions))))
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
        let cache = self.cache.used(environment);
        let client = client(&config, environment, dialect, cache.as_deref()).map_err(|error| vec![*error])?;
        let places = cache.as_deref().map(ReleaseUrls::open);
        let cache = cache.map(|directory| HashCache::open(&directory));
        let downloader = Downloader::new(client, self.jobs.map_or_else(default_jobs, usize::from), cache);
        Ok(Source::new(match &self.net_mirror {
            Some(url) => {
                let mirror = NetworkMirror::new(downloader, url, dialect).map_err(|error| vec![*error])?;
                SourceKind::NetworkMirror(mirror)
            }
            None => SourceKind::Registry(Registry::new(
                downloader,
                registry_policy(dialect, environment, self.trust_registry),
                places,
            )),
        }))
    }
}

fn client(
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

fn registry_policy(dialect: Dialect, environment: &Environment, trust_registry: bool) -> RegistryPolicy {
    let enforced = |name| dialect == Dialect::Tofu && environment.variable(name) == Some("true");
    RegistryPolicy {
        dialect,
        enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
        enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        trust_registry,
        now: SystemTime::now(),
    }
}
