//! Help for a missing login to an OCI registry.

use crate::provider::OciRepository;

/// Users' name for Docker Hub, whose registry is on another host.
pub(super) const DOCKER_HUB: &str = "docker.io";

/// Help if the registry refuses access.
pub(super) fn login_help(repository: &OciRepository) -> String {
    let registry = &repository.registry;
    format!(
        "log in with docker login {registry} or podman login {registry}, or add an oci_credentials block to the \
         CLI configuration"
    )
}
