//! Requests and their redirects (RFC 9110, section 15.4).
//!
//! Credentials stay with the origin that they are for: a redirect to another host, port or scheme goes without them,
//! and so does everything after it. No redirect leads from https to http.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use url::Url;

use super::client::Client;
use super::error::{RequestErrorKind, causes, no_response};
use super::proxy::is_loopback;
use super::retry::Failure;
use crate::cli_config::NetSettings;
use crate::system::SafeUrl;

/// Longer chains of redirects are a circle.
const MOST_REDIRECTS: usize = 10;

/// A GET request.
pub(crate) struct Request<'a> {
    pub(crate) url: &'a Url,
    /// What is sent along, in addition to what every request has, also to where it is redirected.
    pub(crate) headers: HeaderMap,
    /// How long it may take in all, its body included; `None` for as long as data arrives.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) plain_http: PlainHttp,
}

/// Which hosts may be asked over plain HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainHttp {
    /// Those of [`NetSettings::plain_http_hosts`].
    Configured,
    /// This machine, as container tools have it.
    ThisMachine,
}

impl Client {
    /// One attempt: sends a request and follows its redirects. The response may have any status. `authorization` goes
    /// to the origin of the URL and nowhere else.
    pub(crate) fn send(
        &self,
        request: &Request<'_>,
        mut authorization: Option<&HeaderValue>,
    ) -> Result<Response, Failure> {
        let started = Instant::now();
        let mut url = request.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut builder = self.shared.http.get(url.clone()).headers(request.headers.clone());
            if let Some(time_limit) = request.time_limit {
                builder = builder.timeout(time_limit.saturating_sub(started.elapsed()));
            }
            if let Some(authorization) = authorization {
                builder = builder.header(AUTHORIZATION, authorization);
            }
            let response = self.send_once(builder)?;
            let Some(target) = target(&response)? else { return Ok(response) };
            let leaves_https = url.scheme() == "https" && target.scheme() != "https";
            // A machine of the network must not be able to make this one ask its own services.
            if leaves_https || !is_allowed(&target, request.plain_http, &self.shared.settings) {
                return Err(refused(format!("{} is not an https URL", SafeUrl::from(target))));
            }
            if target.origin() != url.origin() {
                // Once away, it stays away: what comes back is not what the first host asked for.
                authorization = None;
            }
            url = target;
        }
        Err(refused(format!("more than {MOST_REDIRECTS} redirects")))
    }

    /// Sends a request as it is, and follows no redirect. A failure may be gone in a moment, unless the request cannot
    /// be made.
    pub(crate) fn send_once(&self, builder: RequestBuilder) -> Result<Response, Failure> {
        self.observer().send(builder).map_err(|error| {
            if error.is_builder() {
                Failure::lasting(RequestErrorKind::Connection(causes(error)))
            } else {
                Failure::passing(no_response(error))
            }
        })
    }
}

/// Whether a request to a URL is encrypted, or may go without.
pub(super) fn is_allowed(url: &Url, plain_http: PlainHttp, settings: &NetSettings) -> bool {
    match (url.scheme(), plain_http) {
        ("https", _) => true,
        ("http", PlainHttp::Configured) => url.host_str().is_some_and(|host| settings.plain_http_hosts.contains(host)),
        ("http", PlainHttp::ThisMachine) => is_loopback(url),
        _ => false,
    }
}

/// The URL that a response redirects to, without a user name: only the user chooses credentials.
fn target(response: &Response) -> Result<Option<Url>, Failure> {
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
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| refused(format!("status {status} comes without a location")))?;
    let mut target = response.url().join(location).map_err(|error| refused(error.to_string()))?;
    // Only a URL that cannot have a user name refuses this.
    let _ = target.set_username("");
    let _ = target.set_password(None);
    Ok(Some(target))
}

fn refused(why: String) -> Failure {
    Failure::lasting(RequestErrorKind::Redirect(why))
}
