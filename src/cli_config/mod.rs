//! The [CLI configuration](https://opentofu.org/docs/cli/config/config-file/) (`.tofurc`), credentials and credentials
//! helpers, as OpenTofu's `internal/command/cliconfig` reads them.
//!
//! [`load`] reads the files that OpenTofu or Terraform would read; [`Credentials`] answers which
//! token a host gets.

#![expect(
    clippy::disallowed_methods,
    reason = "the CLI configuration is the user's, and no part of a revision"
)]

mod client_certificates;
mod credentials;
pub(crate) mod directories;
mod document;
mod installation;
mod netrc;
mod network;
mod oci;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use client_certificates::ClientCertificate;
pub use credentials::{Credentials, CredentialsOrigin};
pub(crate) use installation::parse_mirror_url;
pub use installation::{InstallationMethod, MethodKind, ProviderInstallation};
pub(crate) use netrc::{LazyNetrc, Netrc, machine_of};
pub(crate) use network::LARGEST_CERTIFICATE_FILE;
pub use network::NetSettings;
pub use oci::{OciCredentials, OciDefaultCredentials, OciLogin, OciLoginSource};

use self::document::{Body, ConfigFile, Located, invalid};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Location, Result};
use crate::provider::{Dialect, Hostname};
use crate::system::{Environment, Token, files};

/// Content of the CLI configuration files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// The `credentials` blocks; where a host has several, the last.
    pub credentials: BTreeMap<Hostname, BlockCredentials>,
    /// The `client_certificate` blocks; where a host has several, the last.
    pub client_certificates: BTreeMap<Hostname, ClientCertificate>,
    /// The `credentials_helper` block.
    pub credentials_helper: Option<HelperConfig>,
    /// The `host` blocks: for each host the URLs of its services, in place of discovery.
    pub hosts: BTreeMap<Hostname, BTreeMap<String, String>>,
    /// The `provider_installation` block.
    pub provider_installation: Option<ProviderInstallation>,
    /// The `registry_protocols` block: how often a failed request to a registry is repeated.
    pub registry_retries: Option<u32>,
    /// The `registry_protocols` block: how long a request to a registry may take.
    pub registry_timeout: Option<Duration>,
    /// The `oci_credentials` blocks.
    pub oci_credentials: Vec<OciCredentials>,
    /// The `oci_default_credentials` block.
    pub oci_default_credentials: OciDefaultCredentials,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Lines for the verbose output that explain what was read and ignored.
    pub debug: Vec<String>,
}

/// A `credentials` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCredentials {
    /// The token. `None` in a block without a token: requests to the host carry none, and the
    /// credentials helper is not run.
    pub token: Option<Token>,
    /// The file.
    pub path: PathBuf,
}

/// A `credentials_helper` block. `Debug` does not show the arguments, which may contain a secret.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub struct HelperConfig {
    /// The name: the program is `terraform-credentials-NAME`.
    pub name: String,
    /// The arguments before the verb.
    #[debug(skip)]
    pub arguments: Vec<String>,
    /// The program, if it is installed.
    pub program: Option<PathBuf>,
    /// Location of the block.
    pub location: Location,
}

/// Reads the CLI configuration as the dialect's program does, and reports all errors in it.
///
/// The home directory is the one in `environment`. An unknown block is not an error, since the
/// configuration may be for a newer version.
pub fn load(environment: &Environment, dialect: Dialect) -> Result<CliConfig> {
    let mut loader = Loader::new(environment, dialect);
    let mut errors = Diagnostics::default();
    for path in loader.files_to_read(&mut errors) {
        loader
            .config
            .debug
            .push(format!("reading the CLI configuration {}", path.display()));
        match ConfigFile::read(&path) {
            Ok(file) => loader.add_settings(file.body(), &mut errors),
            Err(more) => errors.extend(more),
        }
    }
    loader.find_helper_program();
    errors.into_result(loader.config)
}

/// Returns the files that [`load`] reads, least important first. The file of `TF_CLI_CONFIG_FILE`
/// need not exist.
pub fn files(environment: &Environment, dialect: Dialect) -> Vec<PathBuf> {
    if let Some((_, path)) = directories::only_file(environment) {
        return vec![path];
    }
    Loader::new(environment, dialect).files_to_read(&mut Diagnostics::default())
}

struct Loader<'a> {
    environment: &'a Environment,
    dialect: Dialect,
    config: CliConfig,
    /// The locations of blocks that may occur only once.
    seen: Vec<(&'static str, Location)>,
}

impl<'a> Loader<'a> {
    fn new(environment: &'a Environment, dialect: Dialect) -> Self {
        Self {
            environment,
            dialect,
            config: CliConfig::default(),
            seen: Vec::new(),
        }
    }

    /// Returns the files to read, least important first: the file of the variable, or else the
    /// first main file and the files of the directory. Errors are unreadable directories.
    fn files_to_read(&mut self, errors: &mut Diagnostics) -> Vec<PathBuf> {
        // The variable replaces all other files, even if its own file does not exist.
        if let Some((variable, path)) = directories::only_file(self.environment) {
            if path.exists() {
                return vec![path];
            }
            let message = format!(
                "the CLI configuration {} that {variable} names does not exist",
                path.display()
            );
            self.config
                .warnings
                .push(Diagnostic::warning(Code::InvalidCliConfiguration, message));
            return Vec::new();
        }
        let main = directories::main_files(self.environment, self.dialect);
        // Of the main files only the first is read, then all of the directory.
        let mut files = Vec::new();
        files.extend(main.into_iter().find(|path| path.is_file()));
        if let Some(directory) = directories::directory(self.environment, self.dialect) {
            match configuration_files_in(&directory) {
                Ok(more) => files.extend(more),
                Err(error) => errors.push(Diagnostic::io("read", &directory, &error)),
            }
        }
        files
    }

    /// Adds the settings of a file. The errors of all blocks are collected, and unknown names are
    /// noted.
    fn add_settings(&mut self, body: Body<'_>, errors: &mut Diagnostics) {
        let steps: [fn(&mut Self, Body<'_>) -> Result<()>; 7] = [
            Self::add_client_certificates,
            Self::add_credentials,
            Self::add_helper,
            Self::add_hosts,
            Self::add_installation,
            Self::add_registry_protocols,
            Self::add_oci,
        ];
        for step in steps {
            if let Err(errors_of_step) = step(self, body) {
                errors.extend(errors_of_step);
            }
        }
        // A newer version may have further blocks, so an unknown one is no error.
        for key in body.keys() {
            if KNOWN.split(' ').any(|name| name == key.value) {
                continue;
            }
            let (line, column) = key.location.line_column();
            let place = format!("{}:{line}:{column}", key.location.path().display());
            self.config.debug.push(format!(
                "{place}: {:?} is not known and was ignored",
                key.value
            ));
        }
    }

    /// Adds the `credentials` blocks, and hides their tokens in all output. A block without a token
    /// counts, too: its host needs none.
    fn add_credentials(&mut self, body: Body<'_>) -> Result<()> {
        for (label, block) in body.labelled_blocks("credentials")? {
            let host = parse_host(label, &block.location)?;
            let path = block.location.path().to_owned();
            let token = block
                .value
                .string("token")?
                .and_then(|text| Token::new(text.value));
            match &token {
                Some(token) => self.environment.secrets.learn(token),
                None => self.config.debug.push(format!(
                    "{}: the credentials for {host} have no token",
                    path.display()
                )),
            }
            self.config
                .credentials
                .insert(host, BlockCredentials { token, path });
        }
        Ok(())
    }

    fn add_client_certificates(&mut self, body: Body<'_>) -> Result<()> {
        for (label, block) in body.labelled_blocks("client_certificate")? {
            let host = parse_host(label, &block.location)?;
            let certificate = client_certificates::read(&block)?;
            self.config.client_certificates.insert(host, certificate);
        }
        Ok(())
    }

    /// Adds the `credentials_helper` block. Blocks in several files must have the same name; the
    /// last one counts.
    fn add_helper(&mut self, body: Body<'_>) -> Result<()> {
        for (name, block) in body.labelled_blocks("credentials_helper")? {
            // With a slash the program might be outside of the plugin directories.
            if name.is_empty() || name.contains(['/', '\\']) {
                let message = "a helper's name is part of a program's name and contains no slash";
                return Err(invalid(message, block.location).into());
            }
            if let Some(other) = &self.config.credentials_helper
                && other.name != name
            {
                let error = invalid(
                    "there may be only one credentials_helper block",
                    block.location,
                );
                return Err(error.at(other.location.clone(), "the other one").into());
            }
            let arguments = block.value.strings("args")?.unwrap_or_default();
            self.config.credentials_helper = Some(HelperConfig {
                name: name.to_owned(),
                arguments: arguments
                    .into_iter()
                    .map(|argument| argument.value.to_owned())
                    .collect(),
                program: None,
                location: block.location,
            });
        }
        Ok(())
    }

    fn add_hosts(&mut self, body: Body<'_>) -> Result<()> {
        for (label, block) in body.labelled_blocks("host")? {
            let host = parse_host(label, &block.location)?;
            let mut services = BTreeMap::new();
            for block in block.value.blocks("services")? {
                services.extend(
                    block
                        .value
                        .texts()
                        .map(|(name, url)| (name.to_owned(), url.value.to_owned())),
                );
            }
            for url in services.values() {
                self.environment.secrets.learn_url(url);
            }
            self.config.hosts.insert(host, services);
        }
        Ok(())
    }

    fn add_installation(&mut self, body: Body<'_>) -> Result<()> {
        for block in body.blocks("provider_installation")? {
            self.refuse_second_block("provider_installation", &block)?;
            let installation = installation::read_installation(
                &block,
                &self.environment.current_directory,
                self.dialect,
            )?;
            self.config.provider_installation = Some(installation);
        }
        Ok(())
    }

    fn add_registry_protocols(&mut self, body: Body<'_>) -> Result<()> {
        for block in body.blocks("registry_protocols")? {
            let retries = block.value.count("retry_count")?;
            let seconds = block.value.count("request_timeout_seconds")?;
            self.config.registry_retries = retries.or(self.config.registry_retries);
            let timeout = seconds.map(|seconds| Duration::from_secs(seconds.into()));
            self.config.registry_timeout = timeout.or(self.config.registry_timeout);
        }
        Ok(())
    }

    /// Adds the `oci_credentials` blocks, at most one for each repository, and the
    /// `oci_default_credentials` block.
    fn add_oci(&mut self, body: Body<'_>) -> Result<()> {
        for (label, block) in body.labelled_blocks("oci_credentials")? {
            let credentials = oci::read_credentials(label, &block, &self.environment.secrets)?;
            if self
                .config
                .oci_credentials
                .iter()
                .any(|other| other.repository_prefix == label)
            {
                return Err(invalid(
                    format!("{label:?} has two oci_credentials blocks"),
                    block.location,
                )
                .into());
            }
            self.config.oci_credentials.push(credentials);
        }
        for block in body.blocks("oci_default_credentials")? {
            self.refuse_second_block("oci_default_credentials", &block)?;
            self.config.oci_default_credentials = oci::read_defaults(&block)?;
        }
        Ok(())
    }

    fn refuse_second_block(&mut self, name: &'static str, block: &Located<Body<'_>>) -> Result<()> {
        if let Some((_, other)) = self.seen.iter().find(|(other, _)| *other == name) {
            let error = invalid(
                format!("there may be only one {name} block"),
                block.location.clone(),
            );
            return Err(error.at(other.clone(), "the other one").into());
        }
        self.seen.push((name, block.location.clone()));
        Ok(())
    }

    /// Finds the program of the credentials helper, if one is configured. A missing program is only
    /// a warning, since most hosts need no credentials.
    fn find_helper_program(&mut self) {
        let Some(helper) = &mut self.config.credentials_helper else {
            return;
        };
        let program =
            crate::system::program_name(&format!("terraform-credentials-{}", helper.name));
        let directories = directories::plugin_directories(self.environment, self.dialect);
        helper.program = directories
            .iter()
            .map(|directory| directory.join(&program))
            .find(|path| path.is_file());
        if helper.program.is_none() {
            let searched: Vec<_> = directories
                .iter()
                .map(|directory| directory.display().to_string())
                .collect();
            let message = format!("the credentials helper {program} is not installed");
            let warning = Diagnostic::warning(Code::CredentialsHelper, message);
            self.config.warnings.push(
                warning
                    .at_location(helper.location.clone())
                    .note(format!("searched {}", searched.join(", "))),
            );
        }
    }
}

/// The top-level blocks that provlock reads, and an argument that does not matter to it.
const KNOWN: &str = "credentials credentials_helper host oci_credentials oci_default_credentials plugin_cache_dir \
    provider_installation registry_protocols";

/// The `*.tfrc` and `*.tfrc.json` files of a directory, sorted by name. A missing directory has
/// none.
fn configuration_files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = match files::entries(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Vec::new(),
        paths => paths?,
    };
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.ends_with(".tfrc") || name.ends_with(".tfrc.json")) && path.is_file()
    });
    paths.sort();
    Ok(paths)
}

fn parse_host(label: &str, location: &Location) -> Result<Hostname> {
    Hostname::parse(label).map_err(|error| invalid(error.to_string(), location.clone()).into())
}
