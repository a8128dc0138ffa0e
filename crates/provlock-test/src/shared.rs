//! State that the connections of a server share: how requests are answered, their log, and sums
//! over them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;

use crate::message::{Request, Response};

/// Sums over all requests since the start or the last
/// [`Server::reset_statistics`](crate::Server::reset_statistics).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    pub requests: usize,
    pub connections: usize,
    /// The most requests that were being answered at the same time.
    pub peak_concurrency: usize,
    /// Bytes of response bodies.
    pub bytes_sent: u64,
}

/// State shared between the connections and the owner of the server.
pub(crate) struct Shared {
    answer: Box<dyn Fn(&Request) -> Response + Send + Sync>,
    /// Whether a tunnel to this host, and port unless it is 443, is granted.
    pub(crate) reaches: Box<dyn Fn(&str) -> bool + Send + Sync>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) log: Mutex<Vec<Request>>,
    pub(crate) closed: AtomicBool,
    arrived: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    active: AtomicUsize,
    peak: AtomicUsize,
    bytes_sent: AtomicU64,
}

/// Counts a request as being answered while it lives.
pub(crate) struct Active<'a>(&'a Shared);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    pub(crate) fn new(
        tls: Option<Arc<ServerConfig>>,
        reaches: impl Fn(&str) -> bool + Send + Sync + 'static,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Box::new(answer),
            reaches: Box::new(reaches),
            tls,
            log: Mutex::default(),
            closed: AtomicBool::default(),
            arrived: AtomicUsize::default(),
            connections: AtomicUsize::default(),
            active: AtomicUsize::default(),
            peak: AtomicUsize::default(),
            bytes_sent: AtomicU64::default(),
        }
    }

    pub(crate) fn enter(&self) -> Active<'_> {
        let active = self.active.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(active, Ordering::SeqCst);
        Active(self)
    }

    /// Answers a request and logs it.
    pub(crate) fn answer(&self, mut request: Request) -> Response {
        request.number = self.arrived.fetch_add(1, Ordering::SeqCst);
        let response = (self.answer)(&request);
        request.status = response.logged_status();
        self.log.lock().unwrap().push(request);
        response
    }

    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            requests: self.log.lock().unwrap().len(),
            connections: self.connections.load(Ordering::SeqCst),
            peak_concurrency: self.peak.load(Ordering::SeqCst),
            bytes_sent: self.bytes_sent.load(Ordering::SeqCst),
        }
    }

    pub(crate) fn reset_statistics(&self) {
        self.log.lock().unwrap().clear();
        self.connections.store(0, Ordering::SeqCst);
        self.peak.store(0, Ordering::SeqCst);
        self.bytes_sent.store(0, Ordering::SeqCst);
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.bytes_sent.fetch_add(bytes as u64, Ordering::SeqCst);
    }
}
