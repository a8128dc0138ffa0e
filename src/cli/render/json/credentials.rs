//! Where the token of a host is, as JSON.

use provlock::cli_config::CredentialsOrigin;
use provlock::provider::Hostname;
use serde::Serialize;

use super::path::shown;

/// Of `login` and `logout`: where the token of a host is, or was. The token itself is never printed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "credentials", deny_unknown_fields))]
pub(crate) struct Credentials {
    host: String,
    /// null when there is no token.
    origin: Option<Origin>,
    /// The variable's name, or the path of the file or program.
    place: Option<String>,
}

/// What holds a token.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "credentials_origin"))]
enum Origin {
    Environment,
    File,
    Helper,
}

impl Credentials {
    pub(crate) fn new(host: &Hostname, origin: Option<&CredentialsOrigin>) -> Self {
        let (origin, place) = match origin {
            Some(CredentialsOrigin::Environment(variable)) => (Some(Origin::Environment), Some(variable.clone())),
            Some(CredentialsOrigin::Block(path)) => (Some(Origin::File), Some(shown(path))),
            Some(CredentialsOrigin::Helper(path)) => (Some(Origin::Helper), Some(shown(path))),
            None => (None, None),
        };
        Self { host: host.to_string(), origin, place }
    }
}
