//! Logins for repositories of OCI registries: `oci_credentials` blocks, Docker-style configuration
//! files and Docker credential helpers, by OpenTofu's rules.

use std::sync::OnceLock;
use std::time::Duration;

use super::credential_helper;
use super::docker_config::{DockerConfig, usual_places};
use super::login::DOCKER_HUB;
use crate::cli_config::{
    CliConfig, OciCredentials, OciDefaultCredentials, OciLogin, OciLoginSource,
};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::OciRepository;
use crate::system::{Environment, OnceMap};

/// A login and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundLogin {
    pub(super) login: OciLogin,
    /// The file, block or program, for the user.
    pub(super) origin: String,
}

/// The user's logins for OCI registries. Files are read, and helpers run, when a registry requires
/// a login; each once.
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

/// Specificity of a rule: 0 for all registries, 1 for one registry, and 1 more for each segment of
/// the name.
type Specificity = usize;

/// A rule that applies to a repository.
struct Rule {
    specificity: Specificity,
    /// The login, or the reason why it cannot be read.
    login: std::result::Result<OciLoginSource, String>,
    /// The file or block that contains the rule.
    origin: String,
}

impl OciLogins {
    /// The logins of the CLI configuration's blocks and of the files and programs of `environment`.
    pub fn new(config: &CliConfig, environment: &Environment) -> Self {
        Self {
            blocks: config.oci_credentials.clone(),
            defaults: config.oci_default_credentials.clone(),
            environment: environment.clone(),
            time_limit: environment.helper_time_limit(),
            files: OnceLock::new(),
            from_helpers: OnceMap::default(),
        }
    }

    /// The login for a repository: the most specific rule decides, and of equally specific rules
    /// the first. `None` if no rule applies, or the deciding helper has no login.
    pub(super) fn login_for(&self, repository: &OciRepository) -> Result<Option<FoundLogin>> {
        let files = match self.files.get_or_init(|| self.read_files()) {
            Ok(files) => files,
            Err(errors) => return Err(errors.clone()),
        };
        // Of equal rules the first wins, so only a more specific one replaces it.
        let mut best: Option<Rule> = None;
        for rule in self.applicable_rules(files, repository) {
            if best
                .as_ref()
                .is_none_or(|best| rule.specificity > best.specificity)
            {
                best = Some(rule);
            }
        }
        let Some(Rule { login, origin, .. }) = best else {
            return Ok(None);
        };
        match login {
            Ok(OciLoginSource::Login(login)) => Ok(Some(FoundLogin { login, origin })),
            Ok(OciLoginSource::DockerHelper(name)) => {
                let registry = &repository.registry;
                let key = (name.clone(), registry.clone());
                self.from_helpers
                    .get_or_compute(&key, || self.ask_helper(&name, &origin, registry))
            }
            Err(problem) => Err(Diagnostic::error(Code::InvalidCliConfiguration, problem).into()),
        }
    }

    /// The rules that apply to a repository: of the CLI configuration, then of the Docker
    /// configuration files.
    fn applicable_rules(&self, files: &Files, repository: &OciRepository) -> Vec<Rule> {
        let mut rules = Vec::new();
        for block in &self.blocks {
            if let Some(specificity) = specificity_for(&block.repository_prefix, repository) {
                let line = block.location.line_column().0;
                rules.push(Rule {
                    specificity,
                    login: Ok(block.login.clone()),
                    origin: format!(
                        "the oci_credentials block at {}:{line}",
                        block.location.path().display()
                    ),
                });
            }
        }
        if let Some(name) = &self.defaults.docker_credentials_helper {
            rules.push(Rule {
                specificity: 0,
                login: Ok(OciLoginSource::DockerHelper(name.clone())),
                origin: "the oci_default_credentials block".to_owned(),
            });
        }

        for config in &files.configs {
            let origin = config.path.display().to_string();
            for (prefix, login) in config.logins() {
                if let Some(specificity) = specificity_for(prefix, repository) {
                    rules.push(Rule {
                        specificity,
                        login: login.map(OciLoginSource::Login),
                        origin: origin.clone(),
                    });
                }
            }
            // `credHelpers` names a helper for one registry, `credsStore` one for all.
            let [own, for_all] = config.helpers(&repository.registry);
            for (specificity, name) in [(1, own), (0, for_all)] {
                if let Some(name) = name {
                    rules.push(Rule {
                        specificity,
                        login: Ok(OciLoginSource::DockerHelper(name.to_owned())),
                        origin: origin.clone(),
                    });
                }
            }
        }
        rules
    }

    /// The sources of logins that were searched, one line each, for a user whom the registry
    /// refuses.
    pub(super) fn searched_places(&self) -> Vec<String> {
        let mut lines = vec![match self.blocks.len() {
            0 => "there are no oci_credentials blocks".to_owned(),
            count => format!("none of {count} oci_credentials blocks matches"),
        }];
        if let Some(Ok(files)) = self.files.get() {
            lines.extend(
                files
                    .configs
                    .iter()
                    .map(|config| format!("{} has no login for it", config.path.display())),
            );
            lines.extend(files.problems.iter().cloned());
        }
        lines
    }

    /// Reads the files with logins that the user named, or else the usual ones; none if ambient
    /// credentials are off.
    fn read_files(&self) -> Result<Files> {
        let mut files = Files::default();
        if !self.defaults.discover_ambient_credentials {
            return Ok(files);
        }
        let Some(named) = &self.defaults.docker_style_config_files else {
            // These files belong to other programs, and may be broken.
            for path in usual_places(&self.environment) {
                match DockerConfig::read(&path) {
                    Ok(config) => files.configs.extend(config),
                    Err(problem) => files.problems.push(problem),
                }
            }
            return Ok(files);
        };
        // The user named these files, so each of them must be readable.
        for path in named {
            let problem = match DockerConfig::read(path) {
                Ok(Some(config)) => {
                    files.configs.push(config);
                    continue;
                }
                Ok(None) => format!("{} does not exist", path.display()),
                Err(problem) => problem,
            };
            let error = Diagnostic::error(Code::InvalidCliConfiguration, problem);
            let help = "correct docker_style_config_files in the block oci_default_credentials";
            return Err(error.help(help).into());
        }
        Ok(files)
    }

    /// Returns the login that the credential helper `docker-credential-NAME` has for a registry.
    /// `origin` describes the setting that names the helper. `None` if it has none.
    fn ask_helper(&self, name: &str, origin: &str, registry: &str) -> Result<Option<FoundLogin>> {
        let path = self.environment.os_variable("PATH").unwrap_or_default();
        let servers = server_names(registry);
        let Some(program) = credential_helper::find_program(name, std::env::split_paths(&path))
        else {
            let program = format!("docker-credential-{name}");
            let failure = format!("{program} is in no directory of PATH");
            let help = format!("run it by hand: echo {} | {program} get", servers[0]);
            return Err(helper_error(registry, &failure, origin, help).into());
        };
        for server in &servers {
            match credential_helper::ask(&program, server, self.time_limit) {
                Ok(None) => {}
                Ok(Some(login)) => {
                    return Ok(Some(FoundLogin {
                        login,
                        origin: program.display().to_string(),
                    }));
                }
                Err(why) => {
                    let program = program.display();
                    let failure = format!("{program} {why}");
                    let help = format!("run it by hand: echo {server} | {program} get");
                    return Err(helper_error(registry, &failure, origin, help).into());
                }
            }
        }
        Ok(None)
    }
}

/// Names of a registry for a helper: OpenTofu's, then that of `docker login`, because some helpers
/// compare texts.
fn server_names(registry: &str) -> Vec<String> {
    match registry {
        DOCKER_HUB => vec!["https://index.docker.io/v1/".to_owned()],
        _ => vec![format!("https://{registry}"), registry.to_owned()],
    }
}

/// Specificity of a prefix of a repository: a registry, maybe with the first segments of a name.
/// `None` if the repository does not start with it.
fn specificity_for(prefix: &str, repository: &OciRepository) -> Option<Specificity> {
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

/// A Docker credential helper, which is named in `origin`, has failed.
fn helper_error(registry: &str, failure: &str, origin: &str, help: String) -> Diagnostic {
    let message = format!(
        "cannot get the credentials for {registry}: the Docker credential helper {failure}"
    );
    Diagnostic::error(Code::CredentialsHelper, message)
        .note(format!("named in {origin}"))
        .help(help)
}

#[cfg(test)]
mod tests;
