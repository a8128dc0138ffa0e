//! Flags for the source of packages.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::packages::connections::SourceChoice;
use provlock::project::SessionOptions;
use provlock::system::{Environment, variables};

use crate::cli::environment::cache_directory;

/// Source of packages.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    online: OnlineArgs,
    /// Make no network requests; use the lock file and the cache, and report what is missing
    #[arg(long, conflicts_with_all = ["instead", "trust_registry", "no_cache"])]
    pub(crate) offline: bool,
}

/// `--offline` of commands that never make requests, for scripts that pass it to every command.
#[derive(Args)]
pub(crate) struct NoRequestsArgs {
    /// Make no network requests; this command never does
    #[arg(long = "offline", help_heading = "Network", hide_short_help = true)]
    _offline: bool,
}

/// Source of packages of a run with network.
#[derive(Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct OnlineArgs {
    /// Take packages from DIR instead of the registries
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, group = "instead")]
    fs_mirror: Option<PathBuf>,
    /// Take packages from a network mirror instead of the registries
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, group = "instead", hide_short_help = true)]
    net_mirror: Option<String>,
    /// Take packages from repositories of an OCI registry, such as
    /// `ghcr.io/acme/{namespace}/{type}`
    #[arg(
        long,
        value_name = "TEMPLATE",
        group = "instead",
        hide_short_help = true
    )]
    oci_mirror: Option<String>,
    /// Take packages from the sources in the CLI configuration (`provider_installation` in
    /// `.tofurc`)
    #[arg(long, group = "instead", hide_short_help = true)]
    use_cli_config: bool,
    /// Number of packages to download and hash at a time [default: 24, or twice the number of
    /// cores]
    #[arg(short, long, value_name = "N", value_parser = jobs, help_heading = "Network", hide_short_help = true)]
    jobs: Option<NonZeroUsize>,
    /// Record the hashes that a registry reports without downloading packages, once they match the
    /// signed checksums
    #[arg(long, conflicts_with = "instead", hide_short_help = true)]
    trust_registry: bool,
    #[command(flatten)]
    cache: CacheArgs,
}

/// Use of the cache of package hashes.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct CacheArgs {
    /// Don't read or write the cache of package hashes
    #[arg(long, hide_short_help = true)]
    no_cache: bool,
    #[command(flatten)]
    directory: CacheDirectory,
}

/// Directory of the cache.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct CacheDirectory {
    /// Keep the cache of package hashes in DIR
    #[arg(long, value_name = "DIR", env = variables::CACHE_DIR, hide_env_values = true, hide_short_help = true)]
    #[arg(value_hint = ValueHint::DirPath)]
    cache_dir: Option<PathBuf>,
}

impl CacheArgs {
    pub(crate) fn add_to(&self, environment: &Environment, options: &mut SessionOptions) {
        options.sources.cache_directory = if self.no_cache {
            None
        } else {
            self.directory.get(environment)
        };
    }
}

impl CacheDirectory {
    /// Returns the directory; `None` if the system has no directory for caches.
    pub(crate) fn get(&self, environment: &Environment) -> Option<PathBuf> {
        self.cache_dir
            .clone()
            .or_else(|| cache_directory(environment))
    }
}

impl SourceArgs {
    pub(crate) fn add_to(&self, environment: &Environment, options: &mut SessionOptions) {
        options.offline = self.offline;
        self.online.add_to(environment, options);
    }
}

impl OnlineArgs {
    /// Sets the source of packages, according to the flags.
    pub(crate) fn add_to(&self, environment: &Environment, options: &mut SessionOptions) {
        let sources = &mut options.sources;
        sources.choice = match self {
            Self {
                fs_mirror: Some(directory),
                ..
            } => SourceChoice::FilesystemMirror(directory.clone()),
            Self {
                net_mirror: Some(url),
                ..
            } => SourceChoice::NetworkMirror(url.clone()),
            Self {
                oci_mirror: Some(template),
                ..
            } => SourceChoice::OciMirror(template.clone()),
            Self {
                use_cli_config: true,
                ..
            } => SourceChoice::CliConfiguration,
            _ => SourceChoice::Registries,
        };
        sources.jobs = self.jobs.map_or(sources.jobs, usize::from);
        sources.trust_registry = self.trust_registry;
        self.cache.add_to(environment, options);
    }
}

/// Reads a number of jobs.
fn jobs(text: &str) -> std::result::Result<NonZeroUsize, String> {
    let number: usize = text.parse().map_err(|_| "must be a number".to_owned())?;
    NonZeroUsize::new(number).ok_or_else(|| "must be at least 1".to_owned())
}
