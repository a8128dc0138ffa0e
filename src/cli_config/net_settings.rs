//! Settings of the HTTP client.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::system::Secrets;

/// How the client behaves.
#[derive(Clone, Debug)]
pub struct NetSettings {
    /// How often a failed request for a document is repeated.
    pub retries: u32,
    /// How often a failed download is repeated.
    pub download_retries: u32,
    /// How long a request for a document may take, its body included.
    pub timeout: Duration,
    /// How long a download may take, repetitions and work on its bytes included.
    pub download_timeout: Duration,
    /// How many bytes of a download must arrive per second, on average over half a minute.
    pub minimum_rate: u64,
    /// The pause before the first repetition; it doubles with each.
    pub back_off: Duration,
    /// Whether `HTTPS_PROXY`, `NO_PROXY` and the system's proxy settings count.
    pub use_proxies: bool,
    /// A file of certificates, as PEM, that count as authorities in place of those of the system.
    pub certificate_file: Option<PathBuf>,
    /// Certificates, as DER, that count as authorities beside those.
    pub extra_root_certificates: Vec<Vec<u8>>,
    /// The hosts, without a port, that may be asked over plain HTTP.
    pub plain_http_hosts: BTreeSet<String>,
    /// Where the client says which secrets it sends.
    pub secrets: Secrets,
}

impl Default for NetSettings {
    /// Three tries within ten seconds each, and no plain HTTP. The time limit is OpenTofu's, which has none for downloads.
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
            secrets: Secrets::default(),
        }
    }
}
