//! `oci_credentials` and `oci_default_credentials` blocks (OpenTofu 1.10): how to log in to OCI
//! registries.

use std::path::{Path, PathBuf};

use super::document::{Body, Located, invalid};
use crate::diagnostic::{Location, Result};
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
    let refuse = |message: &str| invalid(message, block.location.clone());
    let secret = |name| -> Result<Option<Token>> {
        let token = body.string(name)?.and_then(|text| Token::new(text.value));
        Ok(token.inspect(|token| secrets.learn(token)))
    };
    let username = body.string("username")?.map(|text| text.value.to_owned());
    let found = (
        username,
        secret("password")?,
        secret("access_token")?,
        secret("refresh_token")?,
    );
    let login = match (found, helper(body)?) {
        ((Some(username), Some(password), None, None), None) => {
            OciLoginSource::Login(OciLogin::Basic { username, password })
        }
        ((None, None, access_token @ Some(_), Some(refresh_token)), None) => {
            OciLoginSource::Login(OciLogin::OAuth {
                access_token,
                refresh_token,
            })
        }
        ((None, None, None, None), Some(_)) if prefix.contains('/') => {
            return Err(
                refuse("\"docker_credentials_helper\" is for whole hosts, not for a path").into(),
            );
        }
        ((None, None, None, None), Some(name)) => OciLoginSource::DockerHelper(name),
        _ => {
            let login = "username and password, or access_token and refresh_token, or docker_credentials_helper";
            return Err(refuse(&format!("the block needs {login}")).into());
        }
    };
    Ok(OciCredentials {
        repository_prefix: prefix.to_owned(),
        login,
        location: block.location.clone(),
    })
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
        docker_credentials_helper: helper(body)?,
    })
}

/// The name of a Docker credential helper, which is part of a file name.
fn helper(body: Body<'_>) -> Result<Option<String>> {
    let Some(name) = body.string("docker_credentials_helper")? else {
        return Ok(None);
    };
    if name.value.is_empty() || name.value.contains(['/', '\\']) {
        let message = "the helper's name is part of a program's name and contains no slash";
        return Err(invalid(message, name.location).into());
    }
    Ok(Some(name.value.to_owned()))
}
