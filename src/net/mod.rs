//! One HTTP client: retries, size caps, per-host tokens, service discovery (spec section 7).
//!
//! Requests block, and a [`Client`] is shared by threads. It never sends a request over plain HTTP except to a host that a
//! `host` block of the CLI configuration names so, and never a token to another host than the one that it is for.

mod body;
mod client;
mod discovery_cache;
mod error;
mod proxy;
mod retry;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use body::Body;
pub use client::{Client, Document, Purpose};
pub use discovery_cache::DiscoveryCache;
pub use error::{DownloadError, RequestError, RequestErrorKind};
pub(crate) use error::{causes, no_response};
pub(crate) use proxy::{is_loopback, with_proxies};
pub(crate) use retry::{Failure, after_status, with_retries};
pub use settings::NetSettings;
