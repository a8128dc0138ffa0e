//! Client certificates (mTLS). Each is shown to one host only, by a client of its own.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use reqwest::Identity;
use reqwest::blocking::Client;
use url::Url;

use super::error::{RequestErrorKind, causes_as_text};
use crate::cli_config::{ClientCertificate, NetSettings};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::provider::Hostname;
use crate::system::files;

/// Maximum size of a file with a certificate or a key.
const LARGEST_FILE: u64 = 1 << 20;

/// The clients for hosts to which a certificate is shown.
pub(super) struct Identities {
    by_host: BTreeMap<Hostname, LazyClient>,
}

/// A client that is made for the first request to its host.
struct LazyClient {
    certificate: ClientCertificate,
    client: OnceLock<Result<Client>>,
}

impl Identities {
    pub(super) fn new(settings: &NetSettings) -> Self {
        let mut by_host = BTreeMap::new();
        for (host, certificate) in &settings.client_certificates {
            let lazy = LazyClient {
                certificate: certificate.clone(),
                client: OnceLock::new(),
            };
            by_host.insert(host.clone(), lazy);
        }
        Self { by_host }
    }

    /// Returns the client for a URL; `None` if its host has no certificate, or it is not `https`.
    /// `build` makes a client with an identity.
    ///
    /// # Errors
    /// The certificate or the key cannot be read.
    pub(super) fn client_with_certificate(
        &self,
        url: &Url,
        build: impl FnOnce(Identity) -> std::result::Result<Client, String>,
    ) -> std::result::Result<Option<&Client>, RequestErrorKind> {
        if self.by_host.is_empty() || url.scheme() != "https" {
            return Ok(None);
        }
        let Some((host, lazy)) = host_of(url).and_then(|host| self.by_host.get_key_value(&host))
        else {
            return Ok(None);
        };
        // The key is read for the first request to its host, so runs that do not need it can do
        // without.
        let client = lazy.client.get_or_init(|| {
            read_identity(&lazy.certificate)
                .and_then(build)
                .map_err(|why| unusable_certificate_error(host, &lazy.certificate, &why))
        });
        match client {
            Ok(client) => Ok(Some(client)),
            Err(errors) => Err(RequestErrorKind::Credentials(errors.clone())),
        }
    }
}

/// The host of a URL, with its port unless that is 443.
fn host_of(url: &Url) -> Option<Hostname> {
    let host = url.host_str()?;
    let text = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    Hostname::parse(&text).ok()
}

/// Reads a certificate and its key. No error quotes the files.
fn read_identity(certificate: &ClientCertificate) -> std::result::Result<Identity, String> {
    let mut pem = Vec::new();
    let mut paths = vec![&certificate.key];
    if certificate.certificate != certificate.key {
        paths.push(&certificate.certificate);
    }
    for path in paths {
        let text = files::read(path, LARGEST_FILE)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        pem.extend(text);
        pem.push(b'\n');
    }
    Identity::from_pem(&pem).map_err(causes_as_text)
}

/// The error for a certificate that cannot be shown.
fn unusable_certificate_error(
    host: &Hostname,
    certificate: &ClientCertificate,
    why: &str,
) -> Diagnostics {
    let message = format!("the client certificate for {host} cannot be used: {why}");
    let error = Diagnostic::error(Code::InvalidCliConfiguration, message)
        .at_location(certificate.location.clone());
    let help = format!(
        "make sure that {} and {} are PEM files with the certificate and its key",
        certificate.certificate.display(),
        certificate.key.display()
    );
    error.help(help).into()
}
