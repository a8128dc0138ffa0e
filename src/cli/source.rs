//! The flags that say where packages come from.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, ValueHint};
use provlock::cli_config::{self, CliConfig, Credentials, Environment};
use provlock::dialect::Dialect;
use provlock::net::{Client, NetSettings};
use provlock::source::{Downloader, FilesystemMirror, NetworkMirror, Registry, RegistryPolicy, Source, SourceKind};

use super::Failure;
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
}

impl SourceArgs {
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
        let client = client(&config, environment, dialect).map_err(|error| vec![*error])?;
        let downloader = Downloader::new(client, default_jobs());
        Ok(Source::new(match &self.net_mirror {
            Some(url) => {
                let mirror = NetworkMirror::new(downloader, url, dialect).map_err(|error| vec![*error])?;
                SourceKind::NetworkMirror(mirror)
            }
            None => SourceKind::Registry(Registry::new(downloader, registry_policy(dialect, environment))),
        }))
    }
}

fn client(config: &CliConfig, environment: &Environment, dialect: Dialect) -> provlock::diagnostic::Result<Client> {
    let credentials = Arc::new(Credentials::new(environment, config, dialect));
    Client::new(NetSettings::new(environment, config), credentials, config)
}

/// How many packages are downloaded and hashed at a time: enough to keep every core busy while others wait for bytes.
fn default_jobs() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

fn registry_policy(dialect: Dialect, environment: &Environment) -> RegistryPolicy {
    let enforced = |name| dialect == Dialect::Tofu && environment.variable(name) == Some("true");
    RegistryPolicy {
        dialect,
        enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
        enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        now: SystemTime::now(),
    }
}
