//! Selects the token of a host, and keeps new tokens.

mod file;
mod helper;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use self::helper::{Helper, Properties};
use super::{BlockCredentials, CliConfig, HelperConfig, directories};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::{Dialect, Hostname};
use crate::system::{Environment, OnceMap, Secrets, Token};

/// The credentials of a run. Its threads share them. The helper runs at most once per host.
///
/// In the [order of OpenTofu](https://opentofu.org/docs/cli/config/config-file/#credentials): `TF_TOKEN_…`,
/// `credentials` blocks, the helper. `Debug` shows no token.
#[derive(derive_more::Debug)]
pub struct Credentials {
    variables: BTreeMap<Hostname, (String, Token)>,
    blocks: BTreeMap<Hostname, BlockCredentials>,
    helper_config: Option<HelperConfig>,
    helper_time_limit: Duration,
    file: Option<PathBuf>,
    /// The variable that makes OpenTofu and Terraform read a different file instead of `file`.
    overridden_by: Option<&'static str>,
    #[debug(skip)]
    answers: OnceMap<Hostname, Result<Properties>>,
    secrets: Secrets,
}

/// Origin of a token.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum CredentialsOrigin {
    /// The environment variable of this name.
    #[display("the environment variable {_0}")]
    Environment(String),
    /// A `credentials` block in this file.
    #[display("{}", _0.display())]
    Block(PathBuf),
    /// This credentials helper program.
    #[display("the credentials helper {}", _0.display())]
    Helper(PathBuf),
}

impl Credentials {
    /// The credentials that the environment and the CLI configuration give.
    pub fn new(environment: &Environment, config: &CliConfig, dialect: Dialect) -> Self {
        let directory = directories::directory(environment, dialect);
        let variables = token_variables(environment);
        for (_, token) in variables.values() {
            environment.secrets.learn(token);
        }
        Self {
            variables,
            blocks: config.credentials.clone(),
            helper_config: config.credentials_helper.clone(),
            helper_time_limit: environment.helper_time_limit(),
            file: directory.map(|directory| directory.join("credentials.tfrc.json")),
            overridden_by: directories::only_file(environment).map(|(variable, _)| variable),
            answers: OnceMap::default(),
            secrets: environment.secrets.clone(),
        }
    }

    /// The token for a host; `None` if there is none.
    ///
    /// # Errors
    /// The helper fails, or the token cannot be sent.
    pub fn token(&self, host: &Hostname) -> Result<Option<Token>> {
        Ok(self.find_token(host)?.map(|(token, _)| token))
    }

    /// Returns the origin of the token for a host. Runs the helper if necessary.
    pub fn source(&self, host: &Hostname) -> Result<Option<CredentialsOrigin>> {
        Ok(self.find_token(host)?.map(|(_, origin)| origin))
    }

    /// The environment variable with a token for a host, which is used before any other.
    pub fn variable(&self, host: &Hostname) -> Option<&str> {
        self.variables
            .get(host)
            .map(|(variable, _)| variable.as_str())
    }

    /// Finds the token of a host, and its origin: a variable of the environment, else a
    /// `credentials` block, else the credentials helper. `None` if the first of them that knows the
    /// host has no token for it.
    fn find_token(&self, host: &Hostname) -> Result<Option<(Token, CredentialsOrigin)>> {
        // OpenTofu and Terraform ask in this order, too: variable, block, helper.
        let found = if let Some((variable, token)) = self.variables.get(host) {
            Some((
                token.clone(),
                CredentialsOrigin::Environment(variable.clone()),
            ))
        } else if let Some(block) = self.blocks.get(host) {
            // A block without a token means that the host needs none: the helper is not asked.
            block
                .token
                .clone()
                .map(|token| (token, CredentialsOrigin::Block(block.path.clone())))
        } else if let Some(helper) = self.installed_helper() {
            let properties = self.ask_helper(&helper, host)?;
            let token = token_of(&properties);
            if let Some(token) = &token {
                self.secrets.learn(token);
            }
            token.map(|token| (token, CredentialsOrigin::Helper(helper.program)))
        } else {
            None
        };
        match found {
            Some((token, origin)) if !token.is_sendable() => {
                let message = format!(
                    "the token for {host} from {origin} contains characters that cannot be sent"
                );
                Err(Diagnostic::error(Code::InvalidCliConfiguration, message).into())
            }
            found => Ok(found),
        }
    }

    /// Stores a token for a host, replaces the old one, and returns where it is.
    ///
    /// The token goes to the helper. It goes to `credentials.tfrc.json` if there is no helper or
    /// the file contains the host's token already, and the host's other properties in that file
    /// stay. The next run uses the new token, unless a `TF_TOKEN_…` variable is set. It is an error
    /// if a different file contains the host's token, or if the token cannot be sent.
    pub fn store(&self, host: &Hostname, token: &Token) -> Result<CredentialsOrigin> {
        self.secrets.learn(token);
        if !token.is_sendable() {
            let message = format!("the token for {host} contains characters that cannot be sent");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            return Err(error.help("a token is one line of ASCII characters").into());
        }
        match self.writable_store(host)? {
            TokenStore::File(path) => {
                file::store(&path, host, token)?;
                Ok(CredentialsOrigin::Block(path))
            }
            TokenStore::Helper(helper) => {
                self.answers.remove(host);
                helper.store(host, token)?;
                Ok(CredentialsOrigin::Helper(helper.program))
            }
        }
    }

    /// Deletes the token for a host from where [`Credentials::store`] would put it, and returns
    /// where that is, and whether there was a token.
    pub fn forget(&self, host: &Hostname) -> Result<(CredentialsOrigin, bool)> {
        match self.writable_store(host)? {
            TokenStore::File(path) => {
                let was_there = file::forget(&path, host)?;
                Ok((CredentialsOrigin::Block(path), was_there))
            }
            TokenStore::Helper(helper) => {
                // A helper that fails here may still delete the token.
                let was_there = self
                    .ask_helper(&helper, host)
                    .map_or(true, |properties| token_of(&properties).is_some());
                self.answers.remove(host);
                helper.forget(host)?;
                Ok((CredentialsOrigin::Helper(helper.program), was_there))
            }
        }
    }

    /// Returns the store in which [`Credentials::store`] and [`Credentials::forget`] change a
    /// token: the credentials helper or the file of credentials.
    ///
    /// # Errors
    /// The token would not be read from there, because a block in a different file or a variable
    /// precedes it, or there is no such store.
    fn writable_store(&self, host: &Hostname) -> Result<TokenStore> {
        let block = self.blocks.get(host);
        // Users write all files but `credentials.tfrc.json` by hand.
        if let Some(block) = block.filter(|block| Some(&block.path) != self.file.as_ref()) {
            let path = block.path.display();
            let message = format!(
                "the token for {host} is written in {path}, which is not changed automatically"
            );
            return Err(Diagnostic::error(Code::InvalidCliConfiguration, message)
                .help(format!("edit the block credentials \"{host}\" in {path}"))
                .into());
        }
        // A helper stores all tokens except of hosts that `credentials.tfrc.json` has already.
        if block.is_none()
            && let Some(config) = &self.helper_config
        {
            if let Some(helper) = self.installed_helper() {
                return Ok(TokenStore::Helper(helper));
            }
            let message = format!(
                "the credentials helper terraform-credentials-{} is not installed",
                config.name
            );
            return Err(Diagnostic::error(Code::CredentialsHelper, message)
                .at_location(config.location.clone())
                .into());
        }
        let Some(path) = self.file.clone() else {
            let message = "credentials cannot be stored without a home directory";
            return Err(Diagnostic::error(Code::InvalidCliConfiguration, message).into());
        };
        // The token would be stored where no command looks for it.
        if let Some(variable) = self.overridden_by {
            let message = format!("{} is not read while {variable} is set", path.display());
            return Err(Diagnostic::error(Code::InvalidCliConfiguration, message)
                .help(format!(
                    "unset {variable}, or put the token into the file that it names"
                ))
                .into());
        }
        Ok(TokenStore::File(path))
    }

    fn installed_helper(&self) -> Option<Helper> {
        let config = self.helper_config.as_ref()?;
        Some(Helper {
            program: config.program.clone()?,
            arguments: config.arguments.clone(),
            time_limit: self.helper_time_limit,
        })
    }

    /// The helper's answer for a host. It runs once.
    fn ask_helper(&self, helper: &Helper, host: &Hostname) -> Result<Properties> {
        self.answers.get_or_compute(host, || helper.get(host))
    }
}

enum TokenStore {
    File(PathBuf),
    Helper(Helper),
}

/// The token of a credentials object; none if the token is null or not a string, as in Terraform.
fn token_of(properties: &Properties) -> Option<Token> {
    properties
        .get("token")
        .and_then(Value::as_str)
        .and_then(Token::new)
}

/// The hosts that `TF_TOKEN_…` variables name. A variable whose name contains no host is ignored.
fn token_variables(environment: &Environment) -> BTreeMap<Hostname, (String, Token)> {
    let mut tokens = BTreeMap::new();
    for (variable, value) in &environment.variables {
        if let Some(name) = variable.strip_prefix("TF_TOKEN_")
            && let Some(host) = host_of_variable(name)
            && let Some(token) = Token::new(value)
        {
            tokens.insert(host, (variable.clone(), token));
        }
    }
    tokens
}

/// The host in the name of a variable, in which `__` stands for `-` and `_` for a dot.
fn host_of_variable(name: &str) -> Option<Hostname> {
    let host = name.replace("__", "-").replace('_', ".");
    // Unlike elsewhere, Punycode is allowed, since some systems do not keep Unicode in the names of
    // variables.
    let unicode = match host.split_once(':') {
        Some((name, port)) => format!("{}:{port}", idna::domain_to_unicode(name).0),
        None => idna::domain_to_unicode(&host).0,
    };
    Hostname::parse(&unicode).ok()
}
