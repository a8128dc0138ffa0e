//! The flags that say where packages come from.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::packages::connections::{SourceChoice, SourceOptions};
use provlock::project::SessionOptions;
use provlock::provider::Hostname;
use provlock::system::Environment;

use crate::cli::environment::{cache_directory, shown_url};

/// Where packages come from.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    online: OnlineArgs,
    /// Make no network requests; use the lock file and the cache, and report what is missing
    #[arg(long, conflicts_with_all = ["instead", "trust_registry", "no_cache"])]
    pub(crate) offline: bool,
}

/// Where packages come from when hosts may be asked.
#[derive(Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct OnlineArgs {
    /// Take packages from DIR instead of the registries
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, group = "instead")]
    fs_mirror: Option<PathBuf>,
    /// Take packages from a network mirror instead of the registries
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, group = "instead", hide_short_help = true)]
    net_mirror: Option<String>,
    /// Take packages from repositories of an OCI registry, such as `ghcr.io/acme/{namespace}/{type}`
    #[arg(long, value_name = "TEMPLATE", group = "instead", hide_short_help = true)]
    oci_mirror: Option<String>,
    /// Take packages from where the CLI configuration says (`provider_installation` in `.tofurc`)
    #[arg(long, group = "instead", hide_short_help = true)]
    use_cli_config: bool,
    /// How many packages to download and hash at a time [default: 24, or twice the number of cores]
    #[arg(short, long, value_name = "N", value_parser = jobs, help_heading = "Network", hide_short_help = true)]
    jobs: Option<NonZeroUsize>,
    /// Record the hashes that a registry reports without downloading packages, once they match the signed checksums
    #[arg(long, conflicts_with = "instead", hide_short_help = true)]
    trust_registry: bool,
    #[command(flatten)]
    cache: CacheArgs,
}

/// Where hashes of packages are remembered.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct CacheArgs {
    /// Don't read or write the cache of package hashes
    #[arg(long, hide_short_help = true)]
    no_cache: bool,
    #[command(flatten)]
    directory: CacheDirectory,
}

/// Where the cache is.
#[derive(Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct CacheDirectory {
    /// Keep the cache of package hashes in DIR
    #[arg(long, value_name = "DIR", env = "PROVLOCK_CACHE_DIR", hide_env_values = true, hide_short_help = true)]
    #[arg(value_hint = ValueHint::DirPath)]
    cache_dir: Option<PathBuf>,
}

impl CacheArgs {
    /// Where everything that is remembered across runs is, if it may be used and there is a place for it.
    pub(crate) fn used(&self, environment: &Environment) -> Option<PathBuf> {
        self.directory.get(environment).filter(|_| !self.no_cache)
    }
}

impl CacheDirectory {
    /// The directory; none if the system has no directory for caches.
    pub(crate) fn get(&self, environment: &Environment) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(|| cache_directory(environment))
    }
}

impl SourceArgs {
    /// See [`OnlineArgs::sources`].
    pub(crate) fn sources(&self, environment: &Environment, options: &mut SessionOptions) {
        options.offline = self.offline;
        self.online.sources(environment, &mut options.sources);
    }

    /// Where packages come from, in words.
    pub(crate) fn origin(&self) -> String {
        if self.offline { "the cache of hashes and the lock files".to_owned() } else { self.online.origin() }
    }

    /// What is waited for while it is found out which versions there are; nothing where no host is asked.
    pub(crate) fn asked(&self, hosts: &BTreeSet<Hostname>) -> Option<String> {
        match (self.online.choice(), hosts.len()) {
            (SourceChoice::FilesystemMirror(_), _) | (SourceChoice::Registries, 0) => None,
            _ if self.offline => None,
            (SourceChoice::Registries, 1) => hosts.first().map(|host| format!("asking {host}")),
            (SourceChoice::Registries, number) => Some(format!("asking {number} registries")),
            _ => Some("asking for versions".to_owned()),
        }
    }
}

impl OnlineArgs {
    /// Where packages come from, in words.
    pub(crate) fn origin(&self) -> String {
        match self.choice() {
            SourceChoice::FilesystemMirror(directory) => format!("the directory {}", directory.display()),
            SourceChoice::NetworkMirror(url) => format!("the network mirror {}", shown_url(&url)),
            SourceChoice::OciMirror(template) => format!("the OCI registry of {template}"),
            SourceChoice::CliConfiguration => "where the CLI configuration says".to_owned(),
            SourceChoice::Registries => "the registries of the providers".to_owned(),
        }
    }

    fn choice(&self) -> SourceChoice {
        match self {
            Self { fs_mirror: Some(directory), .. } => SourceChoice::FilesystemMirror(directory.clone()),
            Self { net_mirror: Some(url), .. } => SourceChoice::NetworkMirror(url.clone()),
            Self { oci_mirror: Some(template), .. } => SourceChoice::OciMirror(template.clone()),
            Self { use_cli_config: true, .. } => SourceChoice::CliConfiguration,
            _ => SourceChoice::Registries,
        }
    }

    /// Adds where packages come from, and how they are fetched.
    pub(crate) fn sources(&self, environment: &Environment, options: &mut SourceOptions) {
        options.choice = self.choice();
        options.jobs = self.jobs.map_or(options.jobs, usize::from);
        options.trust_registry = self.trust_registry;
        options.cache_directory = self.cache.used(environment);
    }
}

/// Reads a number of jobs.
fn jobs(text: &str) -> std::result::Result<NonZeroUsize, String> {
    let number: usize = text.parse().map_err(|_| "must be a number".to_owned())?;
    NonZeroUsize::new(number).ok_or_else(|| "must be at least 1".to_owned())
}
