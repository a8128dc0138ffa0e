//! Settings of the HTTP client.

use std::time::Duration;

use super::discovery_cache::DiscoveryCache;
use crate::cli_config::{CliConfig, Environment};

/// How the client behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetSettings {
    /// How often a failed request to a registry, or for service discovery, is repeated.
    pub discovery_retries: u32,
    /// How often a failed download is repeated.
    pub download_retries: u32,
    /// How long a request to a registry may take, its body included. Downloads may take as long as data arrives.
    pub timeout: Duration,
    /// The pause before the first repetition; it doubles with each.
    pub back_off: Duration,
    /// Whether `HTTPS_PROXY`, `NO_PROXY` and the system's proxy settings count.
    pub use_proxies: bool,
    /// Certificates, as DER, that count as authorities beside those of the system and of `SSL_CERT_FILE`.
    pub extra_root_certificates: Vec<Vec<u8>>,
    /// Where the answers of service discovery are kept across runs.
    pub discovery_cache: Option<DiscoveryCache>,
}

impl Default for NetSettings {
    /// Three tries (spec section 7), with the time limit of OpenTofu.
    fn default() -> Self {
        Self {
            discovery_retries: 2,
            download_retries: 2,
            timeout: Duration::from_secs(10),
            back_off: Duration::from_millis(500),
            use_proxies: true,
            extra_root_certificates: Vec::new(),
            discovery_cache: None,
        }
    }
}

impl NetSettings {
    /// The settings that `TF_REGISTRY_DISCOVERY_RETRY`, `TF_PROVIDER_DOWNLOAD_RETRY` and `TF_REGISTRY_CLIENT_TIMEOUT` (in
    /// seconds) give, or else the CLI configuration. A value that is no number does not count, as in OpenTofu.
    pub fn new(environment: &Environment, config: &CliConfig) -> Self {
        let number = |name| environment.variable(name).and_then(|value| value.trim().parse::<u32>().ok());
        let seconds = number("TF_REGISTRY_CLIENT_TIMEOUT").filter(|seconds| *seconds > 0);
        let timeout = seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let default = Self::default();
        Self {
            discovery_retries: number("TF_REGISTRY_DISCOVERY_RETRY")
                .or(config.registry_retries)
                .unwrap_or(default.discovery_retries),
            download_retries: number("TF_PROVIDER_DOWNLOAD_RETRY").unwrap_or(default.download_retries),
            timeout: timeout.or(config.registry_timeout).unwrap_or(default.timeout),
            ..default
        }
    }
}
