//! Logins to OCI registries.

use crate::provider::OciRepository;
use crate::system::Token;

/// The registry that its users call so, although it is at another host.
pub(super) const DOCKER_HUB: &str = "docker.io";

/// What is said to a registry to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// A user and a password, for the registry or its token server.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: Token,
    },
    /// OAuth tokens.
    OAuth {
        /// The token that the registry takes, if there is one.
        access_token: Option<Token>,
        /// The token that the token server takes for another one.
        refresh_token: Token,
    },
}

/// What a user can do who is not let in.
pub(super) fn login_help(repository: &OciRepository) -> String {
    let registry = &repository.registry;
    format!(
        "log in with docker login {registry} or podman login {registry}, or add an oci_credentials block to the CLI configuration"
    )
}
