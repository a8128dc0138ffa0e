//! Requests and their redirects (RFC 9110, section 15.4).
//!
//! Credentials stay with their origin: a redirect to a different host, port or scheme carries none,
//! and neither do later redirects. No redirect leads from https to http.

use std::time::Duration;

use reqwest::blocking::Response;
use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use super::error::RequestErrorKind;
use super::proxy::is_loopback;
use super::retry::Failure;
use crate::cli_config::NetSettings;

/// Longest chain of redirects; longer ones are circles.
pub(super) const MOST_REDIRECTS: usize = 10;

/// A GET request.
pub(crate) struct Request<'a> {
    pub(crate) url: &'a Url,
    /// Headers sent in addition to the common ones, also to the target of a redirect.
    pub(crate) headers: HeaderMap,
    /// Time limit for the request and its body; `None` means only that data must keep arriving.
    pub(crate) time_limit: Option<Duration>,
    pub(crate) plain_http: PlainHttp,
}

/// Hosts that may be contacted over plain HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainHttp {
    /// The hosts in [`NetSettings::plain_http_hosts`].
    Configured,
    /// This machine, as in container tools.
    ThisMachine,
    /// A host that the user has named, and the configured hosts. Redirects to other hosts are not
    /// followed.
    NamedHost,
}

impl PlainHttp {
    /// The variant for targets of redirects, which the user has not named.
    pub(super) fn for_other_hosts(self) -> Self {
        if self == Self::NamedHost {
            Self::Configured
        } else {
            self
        }
    }
}

/// Whether a request to a URL is encrypted, or need not be. Git's own protocol is never encrypted.
pub(super) fn is_encrypted_or_exempt(
    url: &Url,
    plain_http: PlainHttp,
    settings: &NetSettings,
) -> bool {
    match (url.scheme(), plain_http) {
        ("https", _) | ("http" | "git", PlainHttp::NamedHost) => true,
        ("http" | "git", PlainHttp::Configured) => url
            .host_str()
            .is_some_and(|host| settings.plain_http_hosts.contains(host)),
        ("http", PlainHttp::ThisMachine) => is_loopback(url),
        _ => false,
    }
}

/// The URL that a response redirects to, if it does, without a user name: only the user chooses
/// credentials.
pub(super) fn target(response: &Response) -> Result<Option<Url>, Failure> {
    let status = response.status();
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    let location =
        location.ok_or_else(|| redirect_error(format!("status {status} has no location")))?;
    let target = response
        .url()
        .join(location)
        .map_err(|error| redirect_error(error.to_string()))?;
    Ok(Some(without_login(target)))
}

/// The URL without a user name and a password.
pub(super) fn without_login(mut url: Url) -> Url {
    // This fails only for URLs that cannot have a user name.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

pub(super) fn redirect_error(why: String) -> Failure {
    Failure::permanent(RequestErrorKind::Redirect(why))
}
