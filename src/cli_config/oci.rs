//! `oci_credentials` and `oci_default_credentials` blocks (OpenTofu 1.10): how to log in to OCI
//! registries.

use std::path::{Path, PathBuf};

use super::document::{Body, Located, invalid};
use crate::diagnostic::{Diagnostic, Location, Result};
use crate::system::{Secrets, Token};

/// An `oci_credentials` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciCredentials {
    /// The registry's host, with a path if the block is only for the repositories below it.
    pub repository_prefix: String,
    /// Login for it.
    pub login: OciLoginSource,
    /// Location of the block.
    pub location: Location,
}

/// Source of the login for an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciLoginSource {
    /// Here.
    Login(OciLogin),
    /// The Docker credential helper `docker-credential-NAME` knows it.
    DockerHelper(String),
}

/// A login for an OCI registry or its token server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciLogin {
    /// A user and a password.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: Token,
    },
    /// OAuth tokens.
    OAuth {
        /// The token that the registry takes, if it is known.
        access_token: Option<Token>,
        /// The token that the token server takes for another access token.
        refresh_token: Token,
    },
}

/// The `oci_default_credentials` block, or its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciDefaultCredentials {
    /// Whether to search for credentials that other programs stored.
    pub discover_ambient_credentials: bool,
    /// The Docker-style files to read; `None` for the usual files.
    pub docker_style_config_files: Option<Vec<PathBuf>>,
    /// The Docker credential helper for registries without their own.
    pub docker_credentials_helper: Option<String>,
}

impl Default for OciDefaultCredentials {
    fn default() -> Self {
        Self {
            discover_ambient_credentials: true,
            docker_style_config_files: None,
            docker_credentials_helper: None,
        }
    }
}

/// Reads an `oci_credentials` block, which must contain exactly one way to log in. Adds its
/// passwords and tokens to `secrets`.
pub(super) fn read_credentials(
    prefix: &str,
    block: &Located<Body<'_>>,
    secrets: &Secrets,
) -> Result<OciCredentials> {
    let body = block.value;
    let mut username = None;
    if let Some(text) = body.string("username")? {
        username = Some(text.value.to_owned());
    }
    let password = read_secret(body, "password", secrets)?;
    let access_token = read_secret(body, "access_token", secrets)?;
    let refresh_token = read_secret(body, "refresh_token", secrets)?;
    let docker_helper = read_helper_name(body)?;

    let mut logins = Vec::new();
    match (username, password) {
        (Some(username), Some(password)) => {
            logins.push(OciLoginSource::Login(OciLogin::Basic {
                username,
                password,
            }));
        }
        (None, None) => {}
        _ => return Err(single_login_error(block).into()),
    }
    match (access_token, refresh_token) {
        (access_token @ Some(_), Some(refresh_token)) => {
            logins.push(OciLoginSource::Login(OciLogin::OAuth {
                access_token,
                refresh_token,
            }));
        }
        (None, None) => {}
        _ => return Err(single_login_error(block).into()),
    }
    logins.extend(docker_helper.map(OciLoginSource::DockerHelper));
    // There must be exactly one.
    let (Some(login), None) = (logins.pop(), logins.pop()) else {
        return Err(single_login_error(block).into());
    };

    // Docker's helpers know hosts only, without paths.
    if prefix.contains('/') && matches!(login, OciLoginSource::DockerHelper(_)) {
        let message = "\"docker_credentials_helper\" is for whole hosts, not for a path";
        return Err(invalid(message, block.location.clone()).into());
    }
    Ok(OciCredentials {
        repository_prefix: prefix.to_owned(),
        login,
        location: block.location.clone(),
    })
}

/// Returns a secret argument, and adds it to `secrets`.
fn read_secret(body: Body<'_>, name: &str, secrets: &Secrets) -> Result<Option<Token>> {
    let Some(text) = body.string(name)? else {
        return Ok(None);
    };
    let token = Token::new(text.value);
    if let Some(token) = &token {
        secrets.learn(token);
    }
    Ok(token)
}

/// The error for a block that has no complete login, or several.
fn single_login_error(block: &Located<Body<'_>>) -> Diagnostic {
    let message = "the block needs username and password, or access_token and refresh_token, or \
                   docker_credentials_helper";
    invalid(message, block.location.clone())
}

/// Reads an `oci_default_credentials` block; its paths are relative to its file.
pub(super) fn read_defaults(block: &Located<Body<'_>>) -> Result<OciDefaultCredentials> {
    let body = block.value;
    let discover = body
        .boolean("discover_ambient_credentials")?
        .unwrap_or(true);
    let base = block.location.path().parent().unwrap_or(Path::new(""));
    let files = body.strings("docker_style_config_files")?;
    if files.is_some() && !discover {
        let message =
            "\"docker_style_config_files\" has no meaning without \"discover_ambient_credentials\"";
        return Err(invalid(message, block.location.clone()).into());
    }
    Ok(OciDefaultCredentials {
        discover_ambient_credentials: discover,
        docker_style_config_files: files
            .map(|files| files.iter().map(|file| base.join(file.value)).collect()),
        docker_credentials_helper: read_helper_name(body)?,
    })
}

/// The name of a Docker credential helper, which is part of a file name.
fn read_helper_name(body: Body<'_>) -> Result<Option<String>> {
    let Some(name) = body.string("docker_credentials_helper")? else {
        return Ok(None);
    };
    if name.value.is_empty() || name.value.contains(['/', '\\']) {
        let message = "the helper's name is part of a program's name and contains no slash";
        return Err(invalid(message, name.location).into());
    }
    Ok(Some(name.value.to_owned()))
}
