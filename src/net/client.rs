//! The client.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::blocking::Response;
use reqwest::header::LAST_MODIFIED;
use reqwest::redirect::Policy;
use reqwest::{Certificate, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use url::Url;

use super::body::Body;
use super::discovery_cache::DiscoveryCache;
use super::error::{DownloadError, RequestError, RequestErrorKind, causes, no_response, quote};
use super::proxy::{is_loopback, with_proxies};
use super::retry::{Failure, after_status, http_date, with_retries};
use super::settings::NetSettings;
use crate::address::Hostname;
use crate::cli_config::{CliConfig, Credentials, Token, shown_url};
use crate::diagnostic::{Code, Diagnostic, Result};

/// How long a download may be silent, and how long a small one may take.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(1);
/// Longer chains of redirects are a circle.
const REDIRECTS: usize = 10;
/// A service discovery document is small.
const DISCOVERY_LIMIT: u64 = 1 << 20;

/// An HTTP client. Cheap to clone; clones share connections and what was discovered.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    download_retries: u32,
}

struct Shared {
    http: reqwest::blocking::Client,
    settings: NetSettings,
    credentials: Arc<Credentials>,
    hosts: BTreeMap<Hostname, BTreeMap<String, String>>,
    plain_hosts: Arc<BTreeSet<String>>,
    services: Mutex<HashMap<Hostname, Arc<Service>>>,
    /// What earlier runs found.
    remembered: Mutex<HashMap<Hostname, Option<Url>>>,
}

/// The answer of discovery, once it is known.
type Service = OnceLock<std::result::Result<Url, RequestError>>;

/// A document that was fetched whole.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it came from in the end; relative URLs in it are relative to this.
    pub url: Url,
    /// Its content.
    pub bytes: Vec<u8>,
    /// When it changed last, if the server says so.
    pub last_modified: Option<Timestamp>,
}

/// What a request is for, which decides how often and how long it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Service discovery.
    Discovery,
    /// A registry's or a mirror's metadata.
    Registry,
    /// Files of a release.
    Download,
}

impl Client {
    /// A client for a run.
    ///
    /// Fails when a certificate cannot be read or the system's trust store is unusable.
    pub fn new(settings: NetSettings, credentials: Arc<Credentials>, config: &CliConfig) -> Result<Self> {
        let urls = config.hosts.values().flat_map(BTreeMap::values).filter_map(|url| Url::parse(url).ok());
        let plain = urls.filter(|url| url.scheme() == "http").filter_map(|url| Some(url.host_str()?.to_owned()));
        let plain_hosts = Arc::new(plain.collect::<BTreeSet<_>>());
        let http = build(&settings, Arc::clone(&plain_hosts)).map_err(|error| {
            let diagnostic = Diagnostic::error(Code::RequestFailed, format!("cannot set up HTTPS: {}", causes(error)));
            diagnostic.help("SSL_CERT_FILE must name a file of certificates in PEM form, if it is set")
        })?;
        let download_retries = settings.download_retries;
        let hosts = config.hosts.clone();
        let shared = Shared {
            http,
            settings,
            credentials,
            hosts,
            plain_hosts,
            services: Mutex::default(),
            remembered: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), download_retries })
    }

    /// The same client with another number of retries for downloads (`download_retry_count` of an installation method).
    #[must_use]
    pub fn with_download_retries(&self, retries: u32) -> Self {
        Self { shared: Arc::clone(&self.shared), download_retries: retries }
    }

    /// The base URL of a host's `providers.v1` service: from its `host` block, or as an earlier run found it, or by
    /// discovery, which is done once per host and run.
    ///
    /// Paths are to be joined to it as relative URLs. [`RequestErrorKind::NoSuchService`] when the host offers none.
    pub fn providers_service(&self, host: &Hostname) -> std::result::Result<Url, RequestError> {
        let service = self.service(host);
        match (service.get(), self.remembered(host)) {
            (None, Some(remembered)) => Ok(remembered),
            _ => self.discovered(host, &service),
        }
    }

    /// Another base URL than `failed`, if that was only known from an earlier run and the host has moved since.
    pub fn moved_providers_service(&self, host: &Hostname, failed: &Url) -> Option<Url> {
        self.remembered(host)?;
        self.discovered(host, &self.service(host)).ok().filter(|service| service != failed)
    }

    fn service(&self, host: &Hostname) -> Arc<Service> {
        let mut services = self.shared.services.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(services.entry(host.clone()).or_default())
    }

    fn discovered(&self, host: &Hostname, service: &Service) -> std::result::Result<Url, RequestError> {
        let discover = || {
            let found = self.discover(host)?;
            if let Some(cache) = self.discovery_cache(host) {
                cache.put(host, &found);
            }
            Ok(found)
        };
        service.get_or_init(discover).clone()
    }

    /// What an earlier run found, looked up once.
    fn remembered(&self, host: &Hostname) -> Option<Url> {
        let cache = self.discovery_cache(host)?;
        let mut remembered = self.shared.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.entry(host.clone()).or_insert_with(|| cache.get(host)).clone()
    }

    /// The cache, for a host that discovery decides about.
    fn discovery_cache(&self, host: &Hostname) -> Option<&DiscoveryCache> {
        self.shared.settings.discovery_cache.as_ref().filter(|_| !self.shared.hosts.contains_key(host))
    }

    fn discover(&self, host: &Hostname) -> std::result::Result<Url, RequestError> {
        let well_known = format!("https://{}/.well-known/terraform.json", host.as_ascii());
        let fail = |kind| RequestError { url: well_known.clone(), kind, credentials_of: Some(host.clone()) };
        // The URL standard refuses some names that IDNA allows, such as 1.2.3.4.5.
        let url = Url::parse(&well_known)
            .map_err(|error| fail(RequestErrorKind::Connection(format!("the name cannot be in a URL: {error}"))))?;
        let (base, service) = match self.shared.hosts.get(host) {
            Some(services) => (url.clone(), services.get("providers.v1").cloned()),
            None => match self.get_json(&url, Some(host), DISCOVERY_LIMIT, Purpose::Discovery) {
                Ok((base, services)) => (base, provider_service(&services).map_err(&fail)?),
                Err(error) if error.kind == RequestErrorKind::NotFound => (url.clone(), None),
                Err(error) => return Err(error),
            },
        };
        let service = service.ok_or_else(|| fail(RequestErrorKind::NoSuchService))?;
        let invalid = |why: String| fail(RequestErrorKind::InvalidBody(format!("providers.v1: {why}")));
        let mut service = base.join(&service).map_err(|error| invalid(error.to_string()))?;
        if !service.username().is_empty() || service.password().is_some() {
            return Err(invalid("the URL must not hold a user name".to_owned()));
        }
        service.set_fragment(None);
        if !may_be_asked(&service, &self.shared.plain_hosts) {
            return Err(RequestError { url: shown_url(&service), ..fail(RequestErrorKind::Insecure) });
        }
        Ok(service)
    }

    /// Fetches a document of at most `limit` bytes, after decompression.
    ///
    /// The token of the host `credentials_of` is sent along, if it has one and if the connection is encrypted or stays on
    /// this machine. A redirect to another host or port goes without it.
    pub fn get(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        purpose: Purpose,
    ) -> std::result::Result<Document, RequestError> {
        let limit_time = match purpose {
            Purpose::Discovery | Purpose::Registry => self.shared.settings.timeout,
            Purpose::Download => DOWNLOAD_TIMEOUT.max(self.shared.settings.timeout),
        };
        self.exchange(url, credentials_of, purpose, Some(limit_time), |response| {
            let url = response.url().clone();
            let last_modified = http_date(response.headers(), &LAST_MODIFIED);
            let mut body = Body::new(response, limit)?;
            let mut bytes = Vec::new();
            // The body itself keeps what went wrong with it.
            let _ = body.read_to_end(&mut bytes);
            match body.failure() {
                Some(failure) => Err(failure),
                None => Ok(Document { url, bytes, last_modified }),
            }
        })
    }

    /// Fetches a JSON document, as [`Client::get`] does, and says where it came from.
    pub fn get_json<T: DeserializeOwned>(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        purpose: Purpose,
    ) -> std::result::Result<(Url, T), RequestError> {
        let document = self.get(url, credentials_of, limit, purpose)?;
        match serde_json::from_slice(&document.bytes) {
            Ok(value) => Ok((document.url, value)),
            Err(error) => {
                let kind = RequestErrorKind::InvalidBody(what_is_wrong(&error));
                Err(RequestError { url: shown_url(url), kind, credentials_of: credentials_of.cloned() })
            }
        }
    }

    /// Hands a body of at most `limit` bytes to `consume`, with its length if that is known, and returns what that returns.
    ///
    /// When the connection breaks, everything is done again, with a fresh call of `consume`. An error of `consume` itself is
    /// final.
    pub fn download<T, E>(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        mut consume: impl FnMut(&mut dyn Read, Option<u64>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, DownloadError<E>> {
        let outcome = self.exchange(url, credentials_of, Purpose::Download, None, |response| {
            let length = response.content_length();
            let mut body = Body::new(response, limit)?;
            let consumed = consume(&mut body, length);
            match body.failure() {
                Some(failure) => Err(failure),
                None => Ok(consumed),
            }
        });
        outcome.map_err(DownloadError::Request)?.map_err(DownloadError::Consume)
    }

    /// Sends a request until it succeeds, or cannot, and hands the response over. A failure of `receive` counts as one of the
    /// request.
    fn exchange<T>(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        purpose: Purpose,
        limit_time: Option<Duration>,
        mut receive: impl FnMut(Response) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, RequestError> {
        let fail = |kind| RequestError { url: shown_url(url), kind, credentials_of: credentials_of.cloned() };
        if !may_be_asked(url, &self.shared.plain_hosts) {
            return Err(fail(RequestErrorKind::Insecure));
        }
        let token = match credentials_of.filter(|_| url.scheme() == "https" || is_loopback(url)) {
            Some(host) => {
                self.shared.credentials.token(host).map_err(|error| fail(RequestErrorKind::Credentials(error)))?
            }
            None => None,
        };
        let retries = match purpose {
            Purpose::Discovery | Purpose::Registry => self.shared.settings.discovery_retries,
            Purpose::Download => self.download_retries,
        };
        let attempt = || receive(self.send(url, token.as_ref(), limit_time)?);
        with_retries(retries, self.shared.settings.back_off, attempt).map_err(fail)
    }

    /// One attempt; a response is one of success.
    fn send(
        &self,
        url: &Url,
        token: Option<&Token>,
        limit_time: Option<Duration>,
    ) -> std::result::Result<Response, Failure> {
        let mut request = self.shared.http.get(url.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token.reveal());
        }
        if let Some(limit_time) = limit_time {
            request = request.timeout(limit_time);
        }
        let response = request.send().map_err(failure)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry = after_status(&response);
        let kind = match status {
            StatusCode::NOT_FOUND => RequestErrorKind::NotFound,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RequestErrorKind::Unauthorized {
                status: status.as_u16(),
                credentials_sent: token.is_some() && response.url().origin() == url.origin(),
            },
            _ => RequestErrorKind::Status { status: status.as_u16(), body: beginning(response, token) },
        };
        Err(Failure { kind, retry })
    }
}

/// What is wrong with a JSON document, and where. The words of serde would quote it, and a server may have put the token
/// that it was sent in it.
fn what_is_wrong(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Syntax | Category::Io => "it is no JSON",
        Category::Eof => "its JSON ends too early",
        Category::Data => "its JSON does not have the expected form",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// The `providers.v1` entry of a discovery document.
fn provider_service(
    services: &serde_json::Map<String, serde_json::Value>,
) -> std::result::Result<Option<String>, RequestErrorKind> {
    match services.get("providers.v1") {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(url)) => Ok(Some(url.clone())),
        Some(_) => Err(RequestErrorKind::InvalidBody("providers.v1 is no text".to_owned())),
    }
}

fn build(settings: &NetSettings, plain_hosts: Arc<BTreeSet<String>>) -> reqwest::Result<reqwest::blocking::Client> {
    let policy = Policy::custom(move |attempt| {
        let previous = attempt.previous();
        let from_https = previous.last().is_some_and(|url| url.scheme() == "https");
        if previous.len() > REDIRECTS {
            attempt.error(format!("more than {REDIRECTS} redirects"))
        } else if !may_be_asked(attempt.url(), &plain_hosts) || (from_https && attempt.url().scheme() != "https") {
            let target = shown_url(attempt.url());
            attempt.error(format!("{target} is no https URL"))
        } else {
            attempt.follow()
        }
    });
    let certificates = settings.extra_root_certificates.iter().map(|der| Certificate::from_der(der));
    let builder = reqwest::blocking::Client::builder()
        .user_agent(concat!("provlock/", env!("CARGO_PKG_VERSION")))
        .timeout(DOWNLOAD_TIMEOUT)
        .connect_timeout(settings.timeout)
        .redirect(policy)
        .referer(false)
        .tls_certs_merge(certificates.collect::<reqwest::Result<Vec<_>>>()?);
    with_proxies(builder, settings).build()
}

/// Whether a request to a URL is encrypted, or wanted in the open by a `host` block.
fn may_be_asked(url: &Url, plain_hosts: &BTreeSet<String>) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => url.host_str().is_some_and(|host| plain_hosts.contains(host)),
        _ => false,
    }
}

/// A request that got no response. Only a redirect that was refused, or a request that cannot be made, is final.
fn failure(error: reqwest::Error) -> Failure {
    match (error.is_redirect(), error.is_builder()) {
        (true, _) => Failure::lasting(RequestErrorKind::Redirect(causes(error))),
        (_, true) => Failure::lasting(RequestErrorKind::Connection(causes(error))),
        _ => Failure::passing(no_response(error)),
    }
}

/// How a body begins, for an error.
fn beginning(response: Response, token: Option<&Token>) -> String {
    let mut bytes = Vec::new();
    if let Ok(body) = Body::new(response, u64::MAX) {
        // What cannot be read is not quoted.
        let _ = body.take(4096).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    quote(&token.map_or_else(|| text.to_string(), |token| token.redact(&text)))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}
