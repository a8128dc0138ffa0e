//! Requests to OCI registries: redirects, which never carry credentials to another origin, and the failures that are worth
//! another attempt.

use std::time::Duration;

use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Certificate, StatusCode};
use url::Url;

use crate::cli_config::shown_url;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::net::{
    Body, Failure, NetSettings, RequestErrorKind, after_status, causes, is_loopback, no_response, with_proxies,
};

/// How long a download may be silent.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer chains of redirects are a circle.
const MOST_REDIRECTS: usize = 10;
/// What is read of the body that comes with an error.
const ERROR_BODY_LIMIT: u64 = 64 << 10;

/// One GET request.
pub(super) struct Get<'a> {
    pub(super) url: &'a Url,
    /// The media types that are understood; for a blob, none, and it is wanted as it is.
    pub(super) accept: Option<&'static str>,
    /// How long it may take in all; `None` for as long as data arrives.
    pub(super) time_limit: Option<Duration>,
}

/// An HTTP client that follows no redirect by itself, since whether one may be followed, and with what, is decided here.
pub(super) fn build(settings: &NetSettings) -> Result<Client> {
    let failed = |error| {
        let error = Diagnostic::error(Code::RequestFailed, format!("cannot set up HTTPS: {}", causes(error)));
        error.help("SSL_CERT_FILE must name a file of certificates in PEM form, if it is set")
    };
    let certificates = settings.extra_root_certificates.iter().map(|der| Certificate::from_der(der));
    let builder = Client::builder()
        .user_agent(concat!("provlock/", env!("CARGO_PKG_VERSION")))
        .timeout(DOWNLOAD_TIMEOUT)
        .connect_timeout(settings.timeout)
        .redirect(Policy::none())
        .referer(false)
        .tls_certs_merge(certificates.collect::<reqwest::Result<Vec<_>>>().map_err(failed)?);
    Ok(with_proxies(builder, settings).build().map_err(failed)?)
}

/// Sends a request and follows its redirects; `authorization` goes to the origin of the URL and nowhere else.
pub(super) fn get(
    client: &Client,
    request: &Get<'_>,
    authorization: Option<&HeaderValue>,
) -> std::result::Result<Response, Failure> {
    let mut url = request.url.clone();
    let mut authorization = authorization;
    for _ in 0..=MOST_REDIRECTS {
        let mut builder = client.get(url.clone());
        builder = match request.accept {
            Some(types) => builder.header(ACCEPT, types),
            None => builder.header(ACCEPT_ENCODING, "identity"),
        };
        if let Some(time_limit) = request.time_limit {
            builder = builder.timeout(time_limit);
        }
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        let response = send(builder)?;
        let Some(target) = redirect_target(&response)? else { return Ok(response) };
        if target.origin() != url.origin() {
            // Once away, it stays away: what comes back is not asked for by the registry.
            authorization = None;
        }
        url = target;
    }
    Err(Failure::lasting(RequestErrorKind::Redirect(format!("more than {MOST_REDIRECTS} redirects"))))
}

/// Sends a request as it is.
pub(super) fn send(builder: RequestBuilder) -> std::result::Result<Response, Failure> {
    builder.send().map_err(|error| Failure::passing(no_response(error)))
}

fn redirect_target(response: &Response) -> std::result::Result<Option<Url>, Failure> {
    let status = response.status();
    let moved = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    if !moved.contains(&status) {
        return Ok(None);
    }
    let refused = |why: String| Failure::lasting(RequestErrorKind::Redirect(why));
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refused(format!("status {status} comes without a location")))?;
    let target = response.url().join(location).map_err(|error| refused(error.to_string()))?;
    // A machine of the network must not be able to make this one ask its own services.
    let allowed = target.scheme() == "https"
        || (target.scheme() == "http" && is_plain_loopback(response.url()) && is_loopback(&target));
    if !allowed {
        return Err(refused(format!("{} is no https URL", shown_url(&target))));
    }
    Ok(Some(target))
}

/// On this machine, as container tools have it, HTTP will do.
fn is_plain_loopback(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback(url)
}

/// What a response without success means. Its body is shown only as far as it holds codes of the OCI specification, since
/// a server may repeat in it what it was sent.
pub(super) fn failure(response: Response, credentials_sent: bool) -> Failure {
    let status = response.status();
    let retry = after_status(&response);
    let kind = match status {
        StatusCode::NOT_FOUND => RequestErrorKind::NotFound,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            RequestErrorKind::Unauthorized { status: status.as_u16(), credentials_sent }
        }
        _ => RequestErrorKind::Status { status: status.as_u16(), body: error_codes(response).join(", ") },
    };
    Failure { kind, retry }
}

/// The codes of an error document (OCI distribution specification 1.1, "Error Codes").
fn error_codes(response: Response) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Document {
        errors: Vec<Entry>,
    }
    #[derive(serde::Deserialize)]
    struct Entry {
        code: String,
    }
    let is_code =
        |code: &String| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let document = read(response, ERROR_BODY_LIMIT).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let entries = document.map_or_else(Vec::new, |document: Document| document.errors);
    entries.into_iter().map(|entry| entry.code).filter(is_code).take(4).collect()
}

/// The whole body of at most `limit` bytes.
pub(super) fn read(response: Response, limit: u64) -> std::result::Result<Vec<u8>, Failure> {
    let mut body = Body::new(response, limit)?;
    let mut bytes = Vec::new();
    // The body itself keeps what went wrong with it.
    let _ = std::io::Read::read_to_end(&mut body, &mut bytes);
    body.failure().map_or(Ok(bytes), Err)
}
