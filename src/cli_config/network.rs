//! Settings of the HTTP client, from the environment and the CLI configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use super::CliConfig;
use super::ClientCertificate;
use crate::provider::Hostname;
use crate::system::{Environment, Secrets, files, variables};

/// The largest file of certificates that is read, in bytes. That of Debian is 200 KiB.
pub(crate) const LARGEST_CERTIFICATE_FILE: u64 = 16 << 20;

/// Whether the system checks certificates and ignores `SSL_CERT_FILE`. On other systems, the HTTP
/// client reads the files that this variable and `SSL_CERT_DIR` name.
const SYSTEM_CHECKS_CERTIFICATES: bool = cfg!(any(windows, target_vendor = "apple"));

/// The settings of the HTTP client.
#[derive(Clone, Debug)]
pub struct NetSettings {
    /// Number of repetitions of a failed request for a document.
    pub retries: u32,
    /// Number of repetitions of a failed download.
    pub download_retries: u32,
    /// Maximum duration of a request for a document, its body included.
    pub timeout: Duration,
    /// Maximum duration of a download, repetitions and work on its bytes included.
    pub download_timeout: Duration,
    /// Minimum number of bytes of a download that must arrive per second, on average over half a
    /// minute.
    pub minimum_rate: u64,
    /// The pause before the first repetition; it doubles with each.
    pub back_off: Duration,
    /// Whether `HTTPS_PROXY`, `NO_PROXY` and the system's proxy settings are used.
    pub use_proxies: bool,
    /// A PEM file of certificate authorities that replace the system's.
    pub certificate_file: Option<PathBuf>,
    /// Additional certificate authorities, in DER.
    pub extra_root_certificates: Vec<Vec<u8>>,
    /// The hosts, without ports, to which plain HTTP is allowed.
    pub plain_http_hosts: BTreeSet<String>,
    /// The certificates that this machine shows to hosts that ask for one, by host.
    pub client_certificates: BTreeMap<Hostname, ClientCertificate>,
    /// Set to which the client adds the secrets that it sends.
    pub secrets: Secrets,
}

impl Default for NetSettings {
    /// Three tries within ten seconds each, and no plain HTTP. The time limit is OpenTofu's, which
    /// has none for downloads.
    fn default() -> Self {
        Self {
            retries: 2,
            download_retries: 2,
            timeout: Duration::from_secs(10),
            download_timeout: Duration::from_hours(1),
            minimum_rate: 16 << 10,
            back_off: Duration::from_millis(500),
            use_proxies: true,
            certificate_file: None,
            extra_root_certificates: Vec::new(),
            plain_http_hosts: BTreeSet::new(),
            client_certificates: BTreeMap::new(),
            secrets: Secrets::default(),
        }
    }
}

/// Whether the HTTP client can read a file of certificates. It does not say which file is missing
/// or has none, and a device may have no end.
fn is_certificate_file(file: &Path) -> bool {
    let text = files::read(file, LARGEST_CERTIFICATE_FILE);
    text.is_ok_and(|text| memchr::memmem::find(&text, b"-----BEGIN CERTIFICATE-----").is_some())
}

impl CliConfig {
    /// The settings from `TF_REGISTRY_DISCOVERY_RETRY`, `TF_PROVIDER_DOWNLOAD_RETRY` and
    /// `TF_REGISTRY_CLIENT_TIMEOUT` (in seconds), or else from the `registry_protocols` block. As
    /// in OpenTofu, a value that is not a number is ignored
    /// (<https://opentofu.org/docs/cli/config/environment-variables/>). `PROVLOCK_DOWNLOAD_TIMEOUT`
    /// (in seconds) and `PROVLOCK_DOWNLOAD_MINIMUM_RATE` (in KiB per second) are for downloads.
    /// `SSL_CERT_FILE` is used on every system.
    pub(crate) fn net_settings(&self, environment: &Environment) -> NetSettings {
        let default = NetSettings::default();
        let mut plain_http_hosts = BTreeSet::new();
        // A `host` block with an http URL is the user's decision. All other hosts need https.
        for url in self.hosts.values().flat_map(BTreeMap::values) {
            if let Ok(url) = Url::parse(url)
                && url.scheme() == "http"
                && let Some(host) = url.host_str()
            {
                plain_http_hosts.insert(host.to_owned());
            }
        }
        let mut certificate_file = None;
        if let Some(path) = environment.os_variable("SSL_CERT_FILE") {
            let path = environment.current_directory.join(path);
            if SYSTEM_CHECKS_CERTIFICATES || !is_certificate_file(&path) {
                certificate_file = Some(path);
            }
        }
        let minimum_rate = match environment.number::<u32>(variables::DOWNLOAD_MINIMUM_RATE) {
            Some(kib) => u64::from(kib) << 10,
            None => default.minimum_rate,
        };
        let back_off = match environment.number::<u32>(variables::RETRY_PAUSE) {
            Some(pause) => Duration::from_millis(pause.into()),
            None => default.back_off,
        };
        NetSettings {
            retries: environment
                .number("TF_REGISTRY_DISCOVERY_RETRY")
                .or(self.registry_retries)
                .unwrap_or(default.retries),
            download_retries: environment
                .number("TF_PROVIDER_DOWNLOAD_RETRY")
                .unwrap_or(default.download_retries),
            timeout: environment
                .seconds("TF_REGISTRY_CLIENT_TIMEOUT")
                .or(self.registry_timeout)
                .unwrap_or(default.timeout),
            download_timeout: environment
                .seconds(variables::DOWNLOAD_TIMEOUT)
                .unwrap_or(default.download_timeout),
            minimum_rate,
            back_off,
            certificate_file,
            plain_http_hosts: plain_http_hosts.into_iter().collect(),
            client_certificates: self.client_certificates.clone(),
            secrets: environment.secrets.clone(),
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Hostname;

    #[test]
    fn settings_come_from_the_environment_and_the_configuration() {
        let mut environment = Environment::default();
        let mut config = CliConfig::default();
        assert_eq!(
            format!("{:?}", config.net_settings(&environment)),
            format!("{:?}", NetSettings::default())
        );
        config.registry_retries = Some(7);
        config.registry_timeout = Some(Duration::from_secs(70));
        let settings = config.net_settings(&environment);
        assert_eq!(
            (settings.retries, settings.timeout),
            (7, Duration::from_secs(70))
        );
        for (name, value) in [
            ("TF_REGISTRY_DISCOVERY_RETRY", "0"),
            ("TF_PROVIDER_DOWNLOAD_RETRY", "5"),
            ("TF_REGISTRY_CLIENT_TIMEOUT", "30"),
            ("PROVLOCK_DOWNLOAD_TIMEOUT", "7200"),
            ("PROVLOCK_DOWNLOAD_MINIMUM_RATE", "0"),
        ] {
            environment
                .variables
                .insert(name.to_owned(), value.to_owned());
        }
        let settings = config.net_settings(&environment);
        let numbers = (
            settings.retries,
            settings.download_retries,
            settings.timeout.as_secs(),
        );
        assert_eq!(numbers, (0, 5, 30));
        assert_eq!(
            (settings.download_timeout, settings.minimum_rate),
            (Duration::from_hours(2), 0)
        );
        environment
            .variables
            .insert("TF_REGISTRY_CLIENT_TIMEOUT".to_owned(), "soon".to_owned());
        assert_eq!(config.net_settings(&environment).timeout.as_secs(), 70);
    }

    #[test]
    fn a_host_block_permits_hosts_without_encryption() {
        let services = [
            "http://registry.test:8080/p/",
            "https://other.test/",
            "/p/",
            "ftp://files.test/",
        ];
        let services = services
            .iter()
            .enumerate()
            .map(|(i, url)| (format!("{i}.v1"), (*url).to_owned()));
        let hosts = BTreeMap::from([(Hostname::known("h.test"), services.collect())]);
        let config = CliConfig {
            hosts,
            ..CliConfig::default()
        };
        let settings = config.net_settings(&Environment::default());
        assert_eq!(
            settings.plain_http_hosts.into_iter().collect::<Vec<_>>(),
            ["registry.test"]
        );
    }
}
