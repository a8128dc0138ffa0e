//! The HTTP client.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::blocking::{ClientBuilder, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LAST_MODIFIED};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Method};
use rustls::crypto::ring;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use url::Url;

use super::body::{read_reserving_memory, read_with};
use super::error::{RequestError, RequestErrorKind, causes_as_text, no_response_error, quote};
use super::identity::Identities;
use super::internal_hosts::{Connection, InternalHosts};
use super::memory::Memory;
use super::observer::RequestObserver;
use super::pace::Pace;
use super::proxy::{is_loopback, is_proxied, with_proxies};
use super::redirect::{self, MOST_REDIRECTS, PlainHttp, Request, without_login};
use super::resume;
use super::retry::{Failure, Retries, http_date, retry_for_status, with_retries};
use crate::cli_config::{LARGEST_CERTIFICATE_FILE, NetSettings};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::Hostname;
use crate::system::{SafeUrl, Token, files, percent_decoded};

/// Longest silence of a download, and longest time of a small one.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(1);

/// An HTTP client. Cheap to clone; clones share connections.
#[derive(Clone, derive_more::Debug)]
#[debug("Client")]
pub struct Client {
    shared: Arc<Shared>,
    observer: RequestObserver,
    internal_hosts: InternalHosts,
    download_retries: u32,
    plain_http: PlainHttp,
}

struct Shared {
    http: reqwest::blocking::Client,
    /// Clients for hosts to which a certificate is shown.
    identities: Identities,
    settings: NetSettings,
    token_of: Box<TokenOfHost>,
    memory: Memory,
}

/// Returns the token of a host.
type TokenOfHost = dyn Fn(&Hostname) -> Result<Option<Token>> + Send + Sync;

/// A document that was fetched whole.
#[derive(Clone, Debug)]
pub struct FetchedDocument {
    /// URL after all redirects; relative URLs in the document are relative to it.
    pub url: Url,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The time of its last change, if the server sends it.
    pub last_modified: Option<Timestamp>,
    /// The headers of the response.
    pub headers: HeaderMap,
}

/// Purpose of a request, which decides how often and how long it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Lists of versions, service discovery and other metadata.
    Metadata,
    /// Files of a release.
    Download,
}

/// The credentials that a request sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestCredentials<'a> {
    /// Nothing but the login in the URL.
    None,
    /// The token of a host, if it has one.
    TokenOf(&'a Hostname),
    /// A user name and a password, as [`Token::basic`] makes them.
    Basic(&'a Token),
}

impl<'a> RequestCredentials<'a> {
    /// The host whose token is sent.
    fn host(self) -> Option<&'a Hostname> {
        match self {
            RequestCredentials::TokenOf(host) => Some(host),
            RequestCredentials::None | RequestCredentials::Basic(_) => None,
        }
    }

    /// The error of a request with these credentials.
    fn request_error(self, url: &Url, kind: RequestErrorKind) -> RequestError {
        RequestError {
            url: url.into(),
            kind,
            credentials_of: self.host().cloned(),
        }
    }
}

impl Client {
    /// A client for a run. `token_of` returns the token of a host, and is called before each
    /// request that may carry one.
    ///
    /// # Errors
    /// When a certificate cannot be read or the system's trust store is unusable.
    pub fn new(
        settings: NetSettings,
        token_of: impl Fn(&Hostname) -> Result<Option<Token>> + Send + Sync + 'static,
    ) -> Result<Self> {
        let builder = client_builder(&settings);
        let client = builder.and_then(|builder| builder.build().map_err(causes_as_text));
        let http = client.map_err(|why| {
            let diagnostic =
                Diagnostic::error(Code::RequestFailed, format!("cannot set up HTTPS: {why}"));
            diagnostic
                .help("SSL_CERT_FILE must name a file of certificates in PEM form, if it is set")
        })?;
        let download_retries = settings.download_retries;
        let shared = Arc::new(Shared {
            http,
            identities: Identities::new(&settings),
            settings,
            token_of: Box::new(token_of),
            memory: Memory::default(),
        });
        Ok(Self {
            shared,
            observer: RequestObserver::default(),
            internal_hosts: InternalHosts::default(),
            download_retries,
            plain_http: PlainHttp::Configured,
        })
    }

    /// The same client, which reports its requests.
    #[must_use]
    pub fn with_observer(self, observer: RequestObserver) -> Self {
        Self { observer, ..self }
    }

    /// The same client with a limit of its requests to the internal network.
    #[must_use]
    pub(crate) fn limited_by(self, internal_hosts: InternalHosts) -> Self {
        Self {
            internal_hosts,
            ..self
        }
    }

    /// The same client for URLs that the user names, which need not be encrypted. Without
    /// encryption, credentials are only sent to this machine.
    #[must_use]
    pub(crate) fn with_plain_http(self) -> Self {
        Self {
            plain_http: PlainHttp::NamedHost,
            ..self
        }
    }

    /// Checks that another program may request a URL: not without encryption, unless this client
    /// may.
    ///
    /// # Errors
    /// The URL is not allowed.
    pub(crate) fn check_permitted(&self, url: &Url) -> std::result::Result<(), RequestError> {
        if !matches!(url.scheme(), "http" | "git")
            || redirect::is_encrypted_or_exempt(url, self.plain_http, self.settings())
        {
            return Ok(());
        }
        Err(RequestError {
            url: url.into(),
            kind: RequestErrorKind::Insecure,
            credentials_of: None,
        })
    }

    /// Receives a report of each request.
    pub(crate) fn observer(&self) -> &RequestObserver {
        &self.observer
    }

    /// The same client with a different number of retries for downloads (`download_retry_count` of
    /// an installation method).
    #[must_use]
    pub(crate) fn with_download_retries(&self, retries: u32) -> Self {
        Self {
            download_retries: retries,
            ..self.clone()
        }
    }

    /// Fetches a document of at most `limit` bytes, after decompression.
    ///
    /// The token of the host `credentials_of` is sent along, or else the login in the URL, if there
    /// is one and if the connection is encrypted or stays on this machine. A redirect to another
    /// host or port goes without it.
    pub fn get(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        purpose: Purpose,
    ) -> std::result::Result<FetchedDocument, RequestError> {
        self.get_decoded(url, credentials_of, limit, purpose, |document| {
            Ok((document, 0))
        })
    }

    /// Fetches a document as [`Client::get`] does, and decodes it; large documents wait for memory.
    /// `decode` also returns how many bytes of its result stay in memory until the end of the run.
    pub(crate) fn get_decoded<T>(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        purpose: Purpose,
        decode: impl FnOnce(FetchedDocument) -> std::result::Result<(T, usize), RequestErrorKind>,
    ) -> std::result::Result<T, RequestError> {
        let credentials = match credentials_of {
            Some(host) => RequestCredentials::TokenOf(host),
            None => RequestCredentials::None,
        };
        let answer = self.request_until_received(url, credentials, purpose, |response| {
            let url = response.url().clone();
            let last_modified = http_date(response.headers(), &LAST_MODIFIED);
            let headers = response.headers().clone();
            let (bytes, reserved) = read_reserving_memory(response, limit, &self.shared.memory)?;
            let document = FetchedDocument {
                url,
                bytes,
                last_modified,
                headers,
            };
            Ok((document, reserved))
        });
        // The memory for the bytes stays reserved until they are decoded.
        let (document, _reserved) = answer?;
        let decoded = match decode(document) {
            Ok((value, bytes)) => self.shared.memory.count_kept(bytes).map(|()| value),
            Err(kind) => Err(kind),
        };
        decoded.map_err(|kind| RequestError {
            url: url.into(),
            kind,
            credentials_of: credentials_of.cloned(),
        })
    }

    /// Counts bytes of the answer from `url` that stay in memory until the end of the run.
    pub(crate) fn count_kept_in_memory(
        &self,
        url: &Url,
        bytes: usize,
    ) -> std::result::Result<(), RequestError> {
        let kept = self.shared.memory.count_kept(bytes);
        kept.map_err(|kind| RequestError {
            url: url.into(),
            kind,
            credentials_of: None,
        })
    }

    /// Fetches a JSON document, as [`Client::get`] does, and returns its URL. `convert` also
    /// returns how many bytes of its result stay in memory until the end of the run.
    pub(crate) fn get_json<J: DeserializeOwned, T>(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        limit: u64,
        convert: impl FnOnce(J) -> (T, usize),
    ) -> std::result::Result<(Url, T), RequestError> {
        self.get_decoded(url, credentials_of, limit, Purpose::Metadata, |document| {
            let (value, kept_bytes) = convert(decode_json(&document)?);
            Ok(((document.url, value), kept_bytes))
        })
    }

    /// Hands a body of at most `limit` bytes to `consume`, with its length if that is known, and
    /// returns what that returns. The credentials go to the origin of the URL and nowhere else.
    ///
    /// If the connection breaks, the client requests the rest, and `consume` does not notice. If
    /// the server cannot send the rest alone, the whole download is repeated, with a fresh call of
    /// `consume`.
    pub(crate) fn download<T>(
        &self,
        url: &Url,
        credentials: RequestCredentials<'_>,
        limit: u64,
        consume: impl FnMut(&mut dyn Read, Option<u64>) -> T,
    ) -> std::result::Result<T, RequestError> {
        let received = match self.permitted_token(url, credentials) {
            Ok(token) => self.download_by(
                limit,
                |headers| {
                    let request = Request {
                        url,
                        headers,
                        // A large package takes its time: the pace of its bytes is limited instead.
                        time_limit: None,
                        plain_http: self.plain_http,
                    };
                    self.send_for_success(&request, token.as_ref())
                },
                consume,
            ),
            Err(kind) => Err(kind),
        };
        received.map_err(|kind| credentials.request_error(url, kind))
    }

    /// Downloads as [`Client::download`] does, with requests that `send` makes from the given
    /// headers.
    pub(crate) fn download_by<T>(
        &self,
        limit: u64,
        send: impl FnMut(HeaderMap) -> std::result::Result<Response, Failure>,
        consume: impl FnMut(&mut dyn Read, Option<u64>) -> T,
    ) -> std::result::Result<T, RequestErrorKind> {
        let settings = self.settings();
        let pace = Pace::new(settings.minimum_rate, settings.download_timeout);
        resume::download(limit, &pace, self.retries(Purpose::Download), send, consume)
    }

    /// Sends a request until it succeeds or cannot succeed, and hands the response over. A failure
    /// of `receive` is treated as a failure of the request.
    pub(crate) fn request_until_received<T>(
        &self,
        url: &Url,
        credentials: RequestCredentials<'_>,
        purpose: Purpose,
        mut receive: impl FnMut(Response) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, RequestError> {
        let time_limit = match purpose {
            Purpose::Metadata => self.settings().timeout,
            Purpose::Download => SILENCE_TIMEOUT
                .max(self.settings().timeout)
                .min(self.settings().download_timeout),
        };
        let token = self
            .permitted_token(url, credentials)
            .map_err(|kind| credentials.request_error(url, kind))?;
        let request = Request {
            url,
            headers: HeaderMap::new(),
            time_limit: Some(time_limit),
            plain_http: self.plain_http,
        };
        self.attempt_with_retries(purpose, || {
            receive(self.send_for_success(&request, token.as_ref())?)
        })
        .map_err(|kind| credentials.request_error(url, kind))
    }

    /// The token that a request to the URL sends; `None` if there is none, or it would not be
    /// encrypted.
    ///
    /// # Errors
    /// The URL may not be requested, or the token cannot be read.
    fn permitted_token(
        &self,
        url: &Url,
        credentials: RequestCredentials<'_>,
    ) -> std::result::Result<Option<Token>, RequestErrorKind> {
        if !redirect::is_encrypted_or_exempt(url, self.plain_http, self.settings()) {
            return Err(RequestErrorKind::Insecure);
        }
        // Tokens and logins are sent encrypted, or to this machine only.
        if url.scheme() != "https" && !is_loopback(url) {
            return Ok(None);
        }

        let token = match credentials {
            RequestCredentials::None => None,
            RequestCredentials::TokenOf(host) => {
                (self.shared.token_of)(host).map_err(RequestErrorKind::Credentials)?
            }
            RequestCredentials::Basic(token) => Some(token.clone()),
        };
        // A token takes precedence over the login in the URL, as in Terraform.
        let token = token.or_else(|| login_in(url));
        if let Some(token) = &token {
            self.keep_secret(token);
        }
        Ok(token)
    }

    /// Hides a secret that is about to be sent in all messages of the run.
    pub(crate) fn keep_secret(&self, token: &Token) {
        self.settings().secrets.learn(token);
    }

    /// Makes one attempt; a status other than success is a failure.
    fn send_for_success(
        &self,
        request: &Request<'_>,
        token: Option<&Token>,
    ) -> std::result::Result<Response, Failure> {
        let authorization = token.and_then(Token::authorization);
        let response = self.send_following_redirects(request, authorization.as_ref())?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let credentials_sent = token.is_some() && response.url().origin() == request.url.origin();
        let retry = retry_for_status(&response);
        let kind =
            RequestErrorKind::of_status(status, retry.requested_pause(), credentials_sent, || {
                beginning(response, token)
            });
        Err(Failure { kind, retry })
    }

    /// One attempt: sends a request and follows its redirects. The response may have any status.
    /// `authorization` goes to the origin of the URL and nowhere else.
    pub(crate) fn send_following_redirects(
        &self,
        request: &Request<'_>,
        mut authorization: Option<&HeaderValue>,
    ) -> std::result::Result<Response, Failure> {
        let started = Instant::now();
        let time_limit = request
            .time_limit
            .unwrap_or_else(|| header_limit(&self.shared.settings));
        let timeout = RequestErrorKind::Timeout {
            time_limit: Some(time_limit),
            is_configured: request.time_limit.is_some(),
        };
        // The login in the URL is in `authorization`, if it may be sent.
        let mut url = without_login(request.url.clone());
        for _ in 0..=MOST_REDIRECTS {
            let mut builder = self
                .http_client_for(request.url, &url)
                .map_err(Failure::permanent)?
                .get(url.clone())
                .headers(request.headers.clone());
            if let Some(time_limit) = request.time_limit {
                builder = builder.timeout(time_limit.saturating_sub(started.elapsed()));
            }
            if let Some(authorization) = authorization {
                builder = builder.header(AUTHORIZATION, authorization);
            }
            let response = self
                .send_without_redirects(builder)
                .map_err(|failure| match failure.kind {
                    RequestErrorKind::Timeout { .. } => Failure::temporary(timeout.clone()),
                    _ => failure,
                })?;
            if started.elapsed() > time_limit {
                return Err(Failure::temporary(timeout.clone()));
            }
            let Some(target) = redirect::target(&response)? else {
                return Ok(response);
            };
            let leaves_https = url.scheme() == "https" && target.scheme() != "https";
            let is_named_host = target.host() == request.url.host();
            let plain_http = if is_named_host {
                request.plain_http
            } else {
                request.plain_http.for_other_hosts()
            };
            // Another machine must not be able to make this one send requests to its own services.
            if leaves_https
                || !redirect::is_encrypted_or_exempt(&target, plain_http, self.settings())
            {
                return Err(redirect::redirect_error(format!(
                    "{} is not an https URL",
                    SafeUrl::from(target)
                )));
            }
            if target.origin() != url.origin() {
                // Do not send the credentials again, even if a later redirect leads back to the
                // first host.
                authorization = None;
            }
            url = target;
        }
        Err(redirect::redirect_error(format!(
            "more than {MOST_REDIRECTS} redirects"
        )))
    }

    /// Sends a request as it is, and follows no redirect. A failure may be temporary, unless the
    /// request cannot be made.
    pub(crate) fn send_without_redirects(
        &self,
        builder: RequestBuilder,
    ) -> std::result::Result<Response, Failure> {
        self.observer.send(builder).map_err(|error| {
            if error.is_builder() {
                Failure::permanent(RequestErrorKind::Connection(causes_as_text(error)))
            } else {
                Failure::temporary(no_response_error(error))
            }
        })
    }

    /// A request for [`Client::send_without_redirects`].
    ///
    /// # Errors
    /// The client certificate for the host cannot be read.
    pub(crate) fn request(
        &self,
        method: Method,
        url: Url,
    ) -> std::result::Result<RequestBuilder, Failure> {
        let http = self
            .http_client_for(&url, &url)
            .map_err(Failure::permanent)?;
        Ok(http.request(method, url).timeout(self.settings().timeout))
    }

    /// The client for a URL to which a request for `first` has led. It shows a certificate only to
    /// the host that it is for.
    fn http_client_for(
        &self,
        first: &Url,
        url: &Url,
    ) -> std::result::Result<reqwest::blocking::Client, RequestErrorKind> {
        let Shared {
            http,
            identities,
            settings,
            ..
        } = &*self.shared;
        let connection = self
            .internal_hosts
            .permitted_connection(first, url, || is_proxied(url, settings))?;
        let with_certificate = identities.client_with_certificate(url, |identity| {
            let builder = client_builder(settings)?.identity(identity);
            builder.build().map_err(causes_as_text)
        })?;
        // A host with a certificate is one of the user's settings.
        if let Some(client) = with_certificate {
            return Ok(client.clone());
        }
        match connection {
            Connection::ToAnyAddress => Ok(http.clone()),
            Connection::ToAddresses(addresses) => self.internal_hosts.pinned_client(url, |host| {
                client_builder(settings)
                    .map_err(RequestErrorKind::Connection)?
                    .resolve_to_addrs(host, &addresses)
                    .build()
                    .map_err(|error| RequestErrorKind::Connection(causes_as_text(error)))
            }),
        }
    }

    /// Returns the URL that a different program may request in place of `url` without following
    /// redirects; `None` if nothing limits its requests. `probe` is a URL below it.
    ///
    /// # Errors
    /// The host is, or redirects to, a host that may not be requested.
    pub(crate) fn url_after_redirects(
        &self,
        url: &Url,
        probe: &str,
    ) -> std::result::Result<Option<Url>, RequestError> {
        if !self.internal_hosts.is_limited() {
            return Ok(None);
        }
        // An error if the host may not be requested; the client itself is not needed.
        self.http_client_for(url, url)
            .map_err(|kind| RequestCredentials::None.request_error(url, kind))?;
        if url.scheme() != "https" {
            return Ok(Some(url.clone()));
        }
        let mut directory = without_login(url.clone());
        directory.set_path(&format!("{}/", url.path().trim_end_matches('/')));
        let Ok(probed) = directory.join(probe) else {
            return Ok(Some(url.clone()));
        };
        let request = Request {
            url: &probed,
            headers: HeaderMap::new(),
            time_limit: Some(self.settings().timeout),
            plain_http: self.plain_http,
        };
        match self.send_following_redirects(&request, None) {
            Ok(response) => Ok(Some(apply_redirect(url, &probed, response.url()))),
            Err(failure) if matches!(failure.kind, RequestErrorKind::Internal { .. }) => {
                Err(RequestCredentials::None.request_error(url, failure.kind))
            }
            // The program reports why the host does not answer.
            Err(_) => Ok(Some(url.clone())),
        }
    }

    /// Makes attempts until one succeeds, fails permanently, or no retry is left.
    pub(crate) fn attempt_with_retries<T>(
        &self,
        purpose: Purpose,
        attempt: impl FnMut() -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, RequestErrorKind> {
        with_retries(self.retries(purpose), attempt)
    }

    fn retries(&self, purpose: Purpose) -> Retries {
        let retries = match purpose {
            Purpose::Metadata => self.settings().retries,
            Purpose::Download => self.download_retries,
        };
        Retries::new(retries, self.settings().back_off)
    }

    /// Time limits, pauses and other settings.
    pub(crate) fn settings(&self) -> &NetSettings {
        &self.shared.settings
    }
}

/// The user name and the password in a URL.
fn login_in(url: &Url) -> Option<Token> {
    let password = url.password().unwrap_or_default();
    if url.username().is_empty() && password.is_empty() {
        return None;
    }
    Some(Token::basic(
        &percent_decoded(url.username()),
        &percent_decoded(password),
    ))
}

/// Decodes a JSON document.
pub(crate) fn decode_json<T: DeserializeOwned>(
    document: &FetchedDocument,
) -> std::result::Result<T, RequestErrorKind> {
    serde_json::from_slice(&document.bytes).map_err(|error| {
        if is_web_page(&document.bytes) {
            return RequestErrorKind::WebPage { instead_of: "JSON" };
        }
        RequestErrorKind::InvalidBody(json_problem(&error))
    })
}

/// Whether a document begins as a web page.
pub(crate) fn is_web_page(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let text = text.trim_ascii_start();
    ["<!doctype html", "<html"].iter().any(|start| {
        text.get(..start.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()))
    })
}

/// The problem with a JSON document and its position, as a sentence about it. serde's own message
/// would quote the document, and a server may have put the token that it received in it.
fn json_problem(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Syntax | Category::Io => "it is not JSON",
        Category::Eof => "its JSON ends too early",
        Category::Data => match missing_field(&error.to_string()) {
            Some(field) => {
                return format!(
                    "it has no `{field}` (line {}, column {})",
                    error.line(),
                    error.column()
                );
            }
            None => "its JSON does not have the expected form",
        },
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// The name of the field in an error about a missing field, which is one of provlock's own names.
fn missing_field(error: &str) -> Option<&str> {
    Some(error.strip_prefix("missing field `")?.split_once('`')?.0)
}

/// Longest time until the headers of a response are complete if the request has no time limit of
/// its own, and longest silence of the body.
fn header_limit(settings: &NetSettings) -> Duration {
    SILENCE_TIMEOUT.min(settings.download_timeout)
}

/// The URL that is requested in place of `url`, after `probed`, a URL below it, has led to `to`. It
/// is `url` itself if `to` does not end as `probed` does.
fn apply_redirect(url: &Url, probed: &Url, to: &Url) -> Url {
    let below = probed.path().strip_prefix(url.path().trim_end_matches('/'));
    let Some(start) = below.and_then(|below| to.path().strip_suffix(below)) else {
        return url.clone();
    };
    if to.origin() == url.origin() && start == url.path().trim_end_matches('/') {
        return url.clone();
    }
    let mut redirected = to.clone();
    redirected.set_path(start);
    redirected.set_query(url.query());
    redirected
}

/// The builder of a client without redirects, because [`redirect`] decides which to follow, and
/// with which headers. The error is its text.
fn client_builder(settings: &NetSettings) -> std::result::Result<ClientBuilder, String> {
    let certificates = settings
        .extra_root_certificates
        .iter()
        .map(|der| Certificate::from_der(der));
    let mut certificates = certificates
        .collect::<reqwest::Result<Vec<_>>>()
        .map_err(causes_as_text)?;
    // An error means that the process has installed a provider of cryptography already, which is
    // then used.
    let _ = ring::default_provider().install_default();
    let builder = reqwest::blocking::Client::builder()
        .user_agent(concat!("provlock/", env!("CARGO_PKG_VERSION")))
        .timeout(header_limit(settings))
        .connect_timeout(settings.timeout)
        .redirect(Policy::none())
        .referer(false);
    // SSL_CERT_FILE replaces the trusted certificates of the system, as it does in Go.
    let builder = if let Some(file) = &settings.certificate_file {
        certificates
            .extend(certificates_in(file).map_err(|why| format!("{}: {why}", file.display()))?);
        builder.tls_certs_only(certificates)
    } else {
        builder.tls_certs_merge(certificates)
    };
    Ok(with_proxies(builder, settings))
}

/// Certificates of a file in PEM form, at least one.
fn certificates_in(file: &Path) -> std::result::Result<Vec<Certificate>, String> {
    let text = files::read(file, LARGEST_CERTIFICATE_FILE).map_err(|error| error.to_string())?;
    let certificates = Certificate::from_pem_bundle(&text).map_err(causes_as_text)?;
    if certificates.is_empty() {
        Err("it holds no certificate".to_owned())
    } else {
        Ok(certificates)
    }
}

/// The start of a body, for an error.
fn beginning(response: Response, token: Option<&Token>) -> String {
    // Unreadable text is not quoted.
    let mut bytes = Vec::new();
    let _ = read_with(response, u64::MAX, |body, _| {
        body.take(4096).read_to_end(&mut bytes)
    });
    let text = String::from_utf8_lossy(&bytes);
    quote(&token.map_or_else(|| text.to_string(), |token| token.redact(&text)))
}
