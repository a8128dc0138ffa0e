//! Variables and directories of the process, as values for the library.

use std::path::PathBuf;

use jiff::Timestamp;
use provlock::diagnostic::{Code, Diagnostic, Result};
use provlock::system::{Environment, SafeUrl, Secrets, Token};
use url::Url;

/// Endings of the names of variables with a secret, also of other programs: an expression in a
/// configuration may contain one.
const SECRET: [&str; 6] = [
    "TOKEN",
    "PASSWORD",
    "SECRET",
    "ACCESS_KEY",
    "API_KEY",
    "SIGNING_KEY",
];

/// Reads the process environment once. `secrets` collects the secrets that the run learns.
pub(crate) fn read_environment(secrets: &Secrets) -> Environment {
    let mut environment = Environment {
        home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        current_directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        secrets: secrets.clone(),
        ..Environment::default()
    };
    // provlock reads no variable whose name is not UTF-8.
    let named =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    named.for_each(|(name, value)| environment.set(&name, value));
    learn_secrets(&environment);
    environment
}

fn learn_secrets(environment: &Environment) {
    for (name, value) in &environment.variables {
        let name = name.to_ascii_uppercase();
        if name.starts_with("TF_TOKEN_") || SECRET.iter().any(|end| name.ends_with(end)) {
            if let Some(token) = Token::new(value) {
                environment.secrets.learn(&token);
            }
        } else if name.ends_with("_PROXY") {
            environment.secrets.learn_url(value);
        }
    }
}

/// The variables that choose proxies for HTTPS, with their values without secrets.
pub(crate) fn proxies(environment: &Environment) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    for names in [["HTTPS_PROXY", "https_proxy"], ["ALL_PROXY", "all_proxy"]] {
        if let Some((name, url)) = first_variable(environment, names) {
            variables.push((name, shown_url(url)));
        }
    }
    if let Some((name, hosts)) = first_variable(environment, ["NO_PROXY", "no_proxy"]) {
        variables.push((name, hosts.to_owned()));
    }
    variables
}

/// The first of the variables that is set, and its value.
fn first_variable<'e>(
    environment: &'e Environment,
    names: [&'static str; 2],
) -> Option<(&'static str, &'e str)> {
    for name in names {
        if let Some(value) = environment.variable(name) {
            return Some((name, value));
        }
    }
    None
}

/// A URL from the user's settings without its secrets. A proxy may consist of a host and port
/// alone.
pub(crate) fn shown_url(text: &str) -> String {
    let url = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    match Url::parse(&url) {
        Ok(url) => SafeUrl::from(url).to_string(),
        Err(_) => "a text that is not a URL".to_owned(),
    }
}

/// The directory of this program in the system's directory for caches.
pub(crate) fn cache_directory(environment: &Environment) -> Option<PathBuf> {
    let base = if cfg!(windows) {
        environment.path_variable("LOCALAPPDATA")?
    } else if cfg!(target_os = "macos") {
        environment.home.as_ref()?.join("Library/Caches")
    } else {
        match environment.path_variable("XDG_CACHE_HOME") {
            Some(path) if path.is_absolute() => path,
            _ => environment.home.as_ref()?.join(".cache"),
        }
    };
    Some(base.join("provlock"))
}

/// Returns the time for reproducible documents, if it is set
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(crate) fn source_date(environment: &Environment) -> Result<Option<Timestamp>> {
    let Some(text) = environment.variable("SOURCE_DATE_EPOCH") else {
        return Ok(None);
    };
    let seconds = text.parse().ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    if time.is_none() {
        let message =
            format!("SOURCE_DATE_EPOCH is {text:?}, which is not a number of seconds since 1970");
        return Err(Diagnostic::error(Code::InvalidArgument, message).into());
    }
    Ok(time)
}
