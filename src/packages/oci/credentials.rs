//! Logins for repositories of OCI registries: `oci_credentials` blocks, Docker-style configuration files and Docker
//! credential helpers, by OpenTofu's rules.

use std::sync::OnceLock;
use std::time::Duration;

use super::credential_helper;
use super::docker_config::{DockerConfig, usual_places};
use super::login::DOCKER_HUB;
use crate::cli_config::{OciCredentials, OciDefaultCredentials, OciLogin, OciLoginSource};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::OciRepository;
use crate::system::{Environment, OnceMap, Token};

/// A login and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundLogin {
    pub(super) login: OciLogin,
    /// The file, block or program, for the user.
    pub(super) origin: String,
}

/// The user's logins for OCI registries. Files are read, and helpers run, when a registry requires a login; each once.
pub struct OciLogins {
    blocks: Vec<OciCredentials>,
    defaults: OciDefaultCredentials,
    environment: Environment,
    time_limit: Duration,
    files: OnceLock<Result<Files>>,
    /// By the name of a helper and a registry.
    from_helpers: OnceMap<(String, String), Result<Option<FoundLogin>>>,
}

#[derive(Default)]
struct Files {
    configs: Vec<DockerConfig>,
    /// Reasons why logins were skipped.
    problems: Vec<String>,
}

/// A rule that may apply to a repository: its login, or the reason why it cannot be read, and the file or block, for
/// the user.
type Rule = (std::result::Result<OciLoginSource, String>, String);

/// How specific a rule is: 0 for all registries, 1 for one registry, and 1 more for each segment of the name.
type Specificity = usize;

impl OciLogins {
    /// The logins of the CLI configuration's blocks and of the files and programs of `environment`. A helper is killed
    /// after `time_limit`.
    pub fn new(
        blocks: Vec<OciCredentials>,
        defaults: OciDefaultCredentials,
        environment: Environment,
        time_limit: Duration,
    ) -> Self {
        Self { blocks, defaults, environment, time_limit, files: OnceLock::new(), from_helpers: OnceMap::default() }
    }

    /// No logins.
    #[cfg(test)]
    pub(super) fn anonymous() -> Self {
        let defaults =
            OciDefaultCredentials { discover_ambient_credentials: false, ..OciDefaultCredentials::default() };
        Self::new(Vec::new(), defaults, Environment::default(), Duration::ZERO)
    }

    /// The login for a repository: the most specific rule decides, and of equally specific rules the first.
    pub(super) fn find(&self, repository: &OciRepository) -> Result<Option<FoundLogin>> {
        let files = self.files.get_or_init(|| self.read_files()).as_ref().map_err(Clone::clone)?;
        // If several have the greatest specificity, this yields the first.
        let best = self.rules(files, repository).into_iter().rev().max_by_key(|(specificity, _)| *specificity);
        let Some((_, (source, origin))) = best else { return Ok(None) };
        match source {
            Ok(OciLoginSource::Login(login)) => Ok(Some(FoundLogin { login, origin })),
            Ok(OciLoginSource::DockerHelper(name)) => {
                let key = (name.clone(), repository.registry.clone());
                self.from_helpers.get_or_compute(&key, || self.ask(&name, &origin, &repository.registry))
            }
            Err(problem) => Err(Diagnostic::error(Code::InvalidCliConfiguration, problem).into()),
        }
    }

    /// The sources of logins that were searched, one line each, for a user whom the registry refuses.
    pub(super) fn searched(&self) -> Vec<String> {
        let mut lines = vec![match self.blocks.len() {
            0 => "there are no oci_credentials blocks".to_owned(),
            count => format!("none of {count} oci_credentials blocks matches"),
        }];
        if let Some(Ok(files)) = self.files.get() {
            lines.extend(files.configs.iter().map(|config| format!("{} has no login for it", config.path.display())));
            lines.extend(files.problems.iter().cloned());
        }
        lines
    }

    /// Every rule that applies to a repository, in the order of precedence.
    fn rules(&self, files: &Files, repository: &OciRepository) -> Vec<(Specificity, Rule)> {
        let mut rules: Vec<(Option<Specificity>, Rule)> = Vec::new();
        for block in &self.blocks {
            let (line, _) = block.location.line_column();
            let origin = format!("the oci_credentials block at {}:{line}", block.location.path().display());
            rules.push((specificity(&block.repository_prefix, repository), (Ok(block.login.clone()), origin)));
        }
        let helper = |name: Option<&str>, specificity, origin: &str| {
            let name = name.map(str::to_owned);
            name.map(|name| (Some(specificity), (Ok(OciLoginSource::DockerHelper(name)), origin.to_owned())))
        };
        let default = self.defaults.docker_credentials_helper.as_deref();
        rules.extend(helper(default, 0, "the oci_default_credentials block"));
        for config in &files.configs {
            let origin = config.path.display().to_string();
            let logins = config.logins().map(|(prefix, login)| {
                (specificity(prefix, repository), (login.map(OciLoginSource::Login), origin.clone()))
            });
            rules.extend(logins);
            rules.extend(helper(config.helper(&repository.registry), 1, &origin));
            rules.extend(helper(config.store(), 0, &origin));
        }
        rules.into_iter().filter_map(|(specificity, rule)| Some((specificity?, rule))).collect()
    }

    /// Files that the user named must be readable; others may be broken, because they belong to other programs.
    fn read_files(&self) -> Result<Files> {
        let mut files = Files::default();
        if !self.defaults.discover_ambient_credentials {
            return Ok(files);
        }
        let Some(named) = &self.defaults.docker_style_config_files else {
            for path in usual_places(&self.environment) {
                match DockerConfig::read(&path) {
                    Ok(config) => files.configs.extend(config),
                    Err(problem) => files.problems.push(problem),
                }
            }
            return Ok(files);
        };
        for path in named {
            let config = DockerConfig::read(path)
                .and_then(|config| config.ok_or_else(|| format!("{} does not exist", path.display())));
            files.configs.push(config.map_err(|problem| {
                let error = Diagnostic::error(Code::InvalidCliConfiguration, problem);
                error.help("correct docker_style_config_files in the block oci_default_credentials")
            })?);
        }
        Ok(files)
    }

    fn ask(&self, name: &str, origin: &str, registry: &str) -> Result<Option<FoundLogin>> {
        let path = self.environment.os_variable("PATH").unwrap_or_default();
        let failed = |program: &str, why: &str, server: &str| {
            let message =
                format!("cannot get the credentials for {registry}: the Docker credential helper {program} {why}");
            let help = format!("run it by hand: echo {server} | {program} get");
            Diagnostic::error(Code::CredentialsHelper, message).note(format!("named in {origin}")).help(help)
        };
        let servers = server_names(registry);
        let Some(program) = credential_helper::find(name, std::env::split_paths(path)) else {
            let program = format!("docker-credential-{name}");
            let why = "is in no directory of PATH";
            return Err(failed(&program, why, &servers[0]).into());
        };
        for server in &servers {
            let answer = credential_helper::get(&program, server, self.time_limit);
            let answer = answer.map_err(|why| failed(&program.display().to_string(), &why, server))?;
            let login = answer.and_then(|answer| {
                let secret = Token::new(&answer.secret)?;
                Some(match answer.username.as_str() {
                    // The mark of an identity token, by Docker's protocol.
                    "<token>" => OciLogin::OAuth { access_token: None, refresh_token: secret },
                    _ => OciLogin::Basic { username: answer.username, password: secret },
                })
            });
            if let Some(login) = login {
                return Ok(Some(FoundLogin { login, origin: program.display().to_string() }));
            }
        }
        Ok(None)
    }
}

/// Names of a registry for a helper: OpenTofu's, then that of `docker login`, because some helpers compare texts.
fn server_names(registry: &str) -> Vec<String> {
    match registry {
        DOCKER_HUB => vec!["https://index.docker.io/v1/".to_owned()],
        _ => vec![format!("https://{registry}"), registry.to_owned()],
    }
}

/// Specificity of a prefix of a repository: a registry, maybe with the first segments of a name. `None` if the
/// repository does not start with it.
fn specificity(prefix: &str, repository: &OciRepository) -> Option<Specificity> {
    let (registry, path) = prefix.split_once('/').unwrap_or((prefix, ""));
    if !registry.eq_ignore_ascii_case(&repository.registry) {
        return None;
    }
    if path.is_empty() {
        return Some(1);
    }
    let rest = repository.name.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| 1 + path.split('/').count())
}

#[cfg(test)]
mod tests;
