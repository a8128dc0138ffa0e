//! Reports of a client's requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::blocking::{RequestBuilder, Response};

use crate::system::SafeUrl;

/// A request, reported after its response has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestReport {
    /// `GET` or another method.
    pub method: String,
    /// Without user, password and query.
    pub url: SafeUrl,
    /// Its outcome.
    pub outcome: RequestOutcome,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The server sent a response.
    Response {
        /// Its status.
        status: u16,
        /// Number of bytes of its body that were read, after decompression.
        bytes: u64,
        /// Time from the request to the end of the response.
        duration: Duration,
    },
    /// The server sent no response.
    NoResponse {
        /// Time until the client gave up.
        duration: Duration,
    },
    /// Nothing was sent, because the response is known from an earlier run.
    Cached,
}

/// Receives a report of each request; called from several threads.
#[derive(Clone, derive_more::Debug)]
#[debug("RequestObserver")]
pub struct RequestObserver(Arc<dyn Fn(&RequestReport) + Send + Sync>);

impl RequestObserver {
    /// Calls a function after each request.
    pub fn new(observe: impl Fn(&RequestReport) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Reports a document or package that need not be requested.
    pub(crate) fn report_cached(&self, url: impl Into<SafeUrl>) {
        let method = "GET".to_owned();
        (self.0)(&RequestReport {
            method,
            url: url.into(),
            outcome: RequestOutcome::Cached,
        });
    }

    /// Sends a request. It is reported at once if there is no response, else when the response is
    /// dropped.
    pub(super) fn send(&self, builder: RequestBuilder) -> reqwest::Result<Response> {
        let (client, request) = builder.build_split();
        let request = request?;
        let mut pending = Pending {
            observer: self.clone(),
            method: request.method().to_string(),
            url: SafeUrl::from(request.url()),
            status: None,
            started: Instant::now(),
            bytes: AtomicU64::new(0),
        };
        let mut response = client.execute(request)?;
        pending.status = Some(response.status().as_u16());
        response.extensions_mut().insert(Arc::new(pending));
        Ok(response)
    }
}

/// Ignores all reports.
impl Default for RequestObserver {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

/// A request that waits for its response, or whose response is being read; reported when it is
/// dropped.
pub(super) struct Pending {
    observer: RequestObserver,
    method: String,
    url: SafeUrl,
    /// `None` without a response.
    status: Option<u16>,
    started: Instant,
    bytes: AtomicU64,
}

impl Pending {
    /// The pending report of a response.
    pub(super) fn of(response: &Response) -> Option<Arc<Self>> {
        response.extensions().get::<Arc<Self>>().cloned()
    }

    /// Counts bytes of the body.
    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Self {
            observer,
            method,
            url,
            status,
            started,
            bytes,
        } = self;
        let duration = started.elapsed();
        let outcome = match *status {
            Some(status) => RequestOutcome::Response {
                status,
                bytes: bytes.load(Ordering::Relaxed),
                duration,
            },
            None => RequestOutcome::NoResponse { duration },
        };
        (observer.0)(&RequestReport {
            method: std::mem::take(method),
            url: url.clone(),
            outcome,
        });
    }
}
