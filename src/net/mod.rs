//! One HTTP client: redirects, retries, size caps, tokens for hosts. It knows no registry.
//!
//! Requests block, and a [`Client`] is shared by threads. It never sends a request over plain HTTP
//! except to this machine or to a host that the settings allow, and never sends a token to a host
//! that it is not for.

mod body;
mod client;
mod error;
mod identity;
mod internal_hosts;
mod memory;
mod observer;
mod pace;
mod proxy;
mod redirect;
mod resume;
mod retry;
#[cfg(test)]
mod tests;

pub(crate) use body::read_whole;
pub(crate) use client::RequestCredentials;
pub(crate) use client::{Client, FetchedDocument, Purpose, decode_json, is_web_page};
pub(crate) use error::{RequestError, RequestErrorKind, WEB_PAGE_HELP};
pub(crate) use internal_hosts::{InternalHosts, PermittedHosts, authority};
pub use observer::{RequestObserver, RequestOutcome, RequestReport};
pub(crate) use proxy::is_loopback;
pub(crate) use redirect::{PlainHttp, Request};
pub(crate) use retry::{Failure, Retry, retry_for_status};
