//! Docker-style configuration files (`config.json`, `auth.json`), in which container tools keep
//! their logins (containers-auth.json(5)).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;

use super::login::DOCKER_HUB;
use crate::cli_config::OciLogin;
use crate::system::{Environment, Token, files};

/// Such files are a few kilobytes.
const MAXIMUM_BYTES: u64 = 1 << 20;

/// A file. Has no `Debug`, because it contains secrets.
#[derive(Deserialize)]
pub(super) struct DockerConfig {
    #[serde(skip)]
    pub(super) path: PathBuf,
    auths: Option<BTreeMap<String, Entry>>,
    #[serde(rename = "credHelpers")]
    credential_helpers: Option<BTreeMap<String, String>>,
    #[serde(rename = "credsStore")]
    credentials_store: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    #[serde(rename = "identitytoken")]
    identity_token: Option<String>,
}

impl DockerConfig {
    /// Reads a file; `None` if it does not exist. No error quotes the content.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match files::read(path, MAXIMUM_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let config: Self = serde_json::from_slice(&text).map_err(|error| {
            format!(
                "{}:{}:{}: this is not a Docker configuration file",
                path.display(),
                error.line(),
                error.column()
            )
        })?;
        Ok(Some(Self {
            path: path.to_owned(),
            ..config
        }))
    }

    /// The logins by repository: a registry's host, maybe with a path. Empty entries, which Docker
    /// keeps when a helper stores the secret, are skipped.
    pub(super) fn logins(&self) -> impl Iterator<Item = (&str, Result<OciLogin, String>)> {
        self.auths.iter().flatten().filter_map(|(key, entry)| {
            let login = entry.login()?.map_err(|()| {
                format!(
                    "the entry for {key:?} in {} is not a user and a password in base64",
                    self.path.display()
                )
            });
            Some((normalized(key), login))
        })
    }

    /// The names of the helper for one registry, and of the helper for all other registries.
    pub(super) fn helpers(&self, registry: &str) -> [Option<&str>; 2] {
        let mut own = None;
        for (key, name) in self.credential_helpers.iter().flatten() {
            if normalized(key).eq_ignore_ascii_case(registry) {
                own = Some(name.as_str());
                break;
            }
        }
        let for_all = self.credentials_store.as_deref();
        [own, for_all].map(|name| name.filter(|name| !name.is_empty()))
    }
}

impl Entry {
    /// `None` without a login, an error if it cannot be decoded.
    fn login(&self) -> Option<Result<OciLogin, ()>> {
        if let Some(token) = self.identity_token.as_deref().and_then(Token::new) {
            return Some(Ok(OciLogin::OAuth {
                access_token: None,
                refresh_token: token,
            }));
        }
        let encoded = self.auth.as_deref()?;
        if encoded.is_empty() {
            return None;
        }
        Some(basic_login(encoded).ok_or(()))
    }
}

/// Decodes `USER:PASSWORD` in Base64.
fn basic_login(encoded: &str) -> Option<OciLogin> {
    let bytes = BASE64.decode(encoded).ok()?;
    let pair = String::from_utf8(bytes).ok()?;
    let (username, password) = pair.split_once(':')?;
    Some(OciLogin::Basic {
        username: username.to_owned(),
        password: Token::new(password)?,
    })
}

/// Docker's older keys have a scheme, and its own registry has a special name.
fn normalized(key: &str) -> &str {
    let bare = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    match bare.trim_end_matches('/') {
        "index.docker.io/v1" | "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB,
        other => other,
    }
}

/// The usual paths of such files, the most important first, in OpenTofu's order.
pub(super) fn usual_places(environment: &Environment) -> Vec<PathBuf> {
    let home_config = environment.home.as_ref().map(|home| home.join(".config"));
    let runtime = if cfg!(target_os = "linux") {
        environment.path_variable("XDG_RUNTIME_DIR")
    } else if cfg!(any(windows, target_os = "macos")) {
        home_config.clone()
    } else {
        None
    };
    let config = match environment.path_variable("XDG_CONFIG_HOME") {
        Some(directory) => Some(directory),
        None => home_config,
    };

    let mut places = Vec::new();
    for directory in [runtime, config].into_iter().flatten() {
        places.push(directory.join("containers/auth.json"));
    }
    if let Some(home) = &environment.home {
        places.push(home.join(".docker/config.json"));
        places.push(home.join(".dockercfg"));
    }
    // Outside of Linux, the first two are usually the same.
    places.dedup();
    places
}
