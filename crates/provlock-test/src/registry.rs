//! A provider registry, release host and network mirror on loopback, reached as an HTTP CONNECT proxy.
//!
//! ```ignore
//! let registry = Registry::start();
//! let null = registry.publish("hashicorp/null", "3.2.4").platforms(["linux_amd64"]).done();
//! registry.fault(url::PACKAGE, Times::First(1), Fault::Status(503));
//! let environment = TestEnvironment::with_registry(&registry);
//! // … run provlock …
//! assert_eq!(registry.requests_to(url::VERSIONS), 1);
//! ```

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use globset::GlobMatcher;
use serde_json::Value;
use tempfile::TempDir;

use super::faults::{self, Fault, Rule, Times};
use super::publish::{Address, Publish, Release};
use super::routes::{self, Answer};
use super::server;
use super::tls::Authority;

/// Hosts that answer without anything being published on them. Every host that is named later is added; all others are
/// unreachable: the proxy answers 502.
const HOSTS: [&str; 5] = [
    "registry.opentofu.org",
    "registry.terraform.io",
    "registry.example.com",
    "releases.example.com",
    "mirror.example.com",
];

/// The registry; it ends when it is dropped.
pub struct Registry {
    pub(crate) shared: Arc<Shared>,
    address: SocketAddr,
    certificate: PathBuf,
    acceptor: Option<JoinHandle<()>>,
    _directory: TempDir,
}

/// A request as it came in, and the status that was answered: 0 for a reset, 502 for an unknown host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// In lower case, with the port unless it is 443; as it was written if the method is `CONNECT`.
    pub host: String,
    /// Path and query; empty if the method is `CONNECT`.
    pub path: String,
    pub authorization: Option<String>,
    pub user_agent: Option<String>,
    pub status: u16,
}

/// Sums over all requests since the start or the last [`Registry::reset_statistics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    pub requests: usize,
    pub connections: usize,
    /// The most requests that were being answered at the same time.
    pub peak_concurrency: usize,
    /// Bytes of response bodies.
    pub bytes_sent: u64,
}

/// The service discovery document of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Discovery {
    /// Names the providers service of this host.
    Standard,
    /// Names services, but not that of providers.
    WithoutProviders,
    /// This document. A providers service anywhere is `https://HOST/via/REGISTRY/v1/providers/`: what REGISTRY would
    /// answer, from HOST.
    Document(Value),
}

/// A network mirror of everything that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountedMirror {
    pub(crate) host: String,
    /// Starts and ends with a slash.
    pub(crate) prefix: String,
    pub(crate) options: Mirror,
}

/// What a network mirror reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    pub hashes: MirrorHashes,
}

/// The hashes in a mirror's `VERSION.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MirrorHashes {
    #[default]
    Both,
    H1,
    Zh,
    None,
    /// `h1:` over the directory entries too, as `providers mirror` writes it.
    H1WithDirectories,
    /// These texts for every package.
    Fixed(Vec<&'static str>),
}

#[derive(Default)]
pub(crate) struct Host {
    pub(crate) discovery: Option<Discovery>,
    pub(crate) token: Option<String>,
}

#[derive(Default)]
pub(crate) struct Provider {
    pub(crate) releases: Vec<Release>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) hosts: BTreeMap<String, Host>,
    pub(crate) providers: BTreeMap<Address, Provider>,
    /// Path to content; every host serves all of them.
    pub(crate) files: HashMap<String, Arc<Vec<u8>>>,
    pub(crate) mirrors: Vec<MountedMirror>,
    /// `Last-Modified` of what the patterns match.
    last_modified: Vec<(GlobMatcher, String)>,
    rules: Vec<Rule>,
    log: Vec<Request>,
}

/// What the connections share with the owner of the registry.
#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) connections: AtomicUsize,
    pub(crate) bytes_sent: AtomicU64,
    pub(crate) closed: AtomicBool,
    active: AtomicUsize,
    peak: AtomicUsize,
}

impl Registry {
    /// Starts a registry on a free port, with nothing published.
    pub fn start() -> Self {
        Self::start_with("http/1.1")
    }

    /// One that speaks HTTP/2. Faults that are not in the answer itself do not work there.
    pub fn start_http2() -> Self {
        Self::start_with("h2")
    }

    fn start_with(alpn: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let authority = Authority::new(alpn);
        let certificate = directory.path().join("ca.pem");
        std::fs::write(&certificate, &authority.certificate).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        shared.state().hosts.extend(HOSTS.map(|host| (host.to_owned(), Host::default())));
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || server::serve(&listener, &shared, &authority.config)
        });
        Self { shared, address, certificate, acceptor: Some(acceptor), _directory: directory }
    }

    /// The value for `HTTPS_PROXY`.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The value for `SSL_CERT_FILE`.
    pub fn certificate_file(&self) -> &Path {
        &self.certificate
    }

    /// The address for clients that use no proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins a release of `[HOST/]NAMESPACE/TYPE`, on the default host of OpenTofu unless told otherwise. A release
    /// that is published again under the same version replaces the first.
    pub fn publish(&self, provider: &str, version: &str) -> Publish<'_> {
        Publish::new(self, provider, version)
    }

    /// Removes a version: no longer listed, no metadata. Its files stay.
    pub fn withdraw(&self, provider: &str, version: &str) {
        let mut state = self.shared.state();
        let releases = &mut state.providers.get_mut(&Address::parse(provider)).unwrap().releases;
        releases.retain(|release| release.version != version);
    }

    /// Shows warnings with the provider's versions.
    pub fn warn(&self, provider: &str, warnings: &[&str]) {
        let mut state = self.shared.state();
        let provider = state.providers.entry(Address::parse(provider)).or_default();
        provider.warnings = warnings.iter().map(ToString::to_string).collect();
    }

    /// Makes a host reachable.
    pub fn add_host(&self, host: &str) {
        self.shared.state().host(host);
    }

    /// Changes the service discovery document of a host.
    pub fn discovery(&self, host: &str, discovery: Discovery) {
        self.shared.state().host(host).discovery = Some(discovery);
    }

    /// From now on the host's versions and download metadata, and the documents of mirrors on it, need this token: 401
    /// without one, 403 with another.
    pub fn require_token(&self, host: &str, token: &str) {
        self.shared.state().host(host).token = Some(token.to_owned());
    }

    /// Serves a network mirror of everything that is published, on any host, at an `https` URL that ends in a slash.
    pub fn mirror(&self, url: &str, options: Mirror) {
        let (host, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
        let prefix = format!("/{path}");
        assert!(prefix.ends_with('/'), "{url} must end in a slash");
        let mut state = self.shared.state();
        state.host(host);
        state.mirrors.retain(|mirror| mirror.host != host || mirror.prefix != prefix);
        state.mirrors.push(MountedMirror { host: host.to_owned(), prefix, options });
    }

    /// Serves a document under this path of every host.
    pub fn serve(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.shared.state().files.insert(path.to_owned(), Arc::new(content.into()));
    }

    /// From now on answers to what matches the pattern (see [`faults::url`]) say when they changed last.
    pub fn last_modified(&self, pattern: &str, date: &str) {
        self.shared.state().last_modified.push((faults::matcher(pattern), date.to_owned()));
    }

    /// Orders a fault for the requests that match the pattern (see [`faults::url`]).
    pub fn fault(&self, pattern: &str, times: Times, fault: Fault) {
        let mut state = self.shared.state();
        if let Fault::RedirectTo(host) = fault {
            state.host(host);
        }
        state.rules.push(Rule::new(pattern, times, fault));
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.shared.state().rules.clear();
    }

    /// All requests so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().log.clone()
    }

    /// The requests that match the pattern (see [`faults::url`]).
    pub fn requests_matching(&self, pattern: &str) -> Vec<Request> {
        let matcher = faults::matcher(pattern);
        self.requests().into_iter().filter(|request| matcher.is_match(request.url())).collect()
    }

    /// How many requests match the pattern.
    pub fn requests_to(&self, pattern: &str) -> usize {
        self.requests_matching(pattern).len()
    }

    /// Requests, connections, concurrency, bytes.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            requests: self.shared.state().log.len(),
            connections: self.shared.connections.load(Ordering::SeqCst),
            peak_concurrency: self.shared.peak.load(Ordering::SeqCst),
            bytes_sent: self.shared.bytes_sent.load(Ordering::SeqCst),
        }
    }

    /// Forgets requests and counts.
    pub fn reset_statistics(&self) {
        self.shared.state().log.clear();
        self.shared.connections.store(0, Ordering::SeqCst);
        self.shared.peak.store(0, Ordering::SeqCst);
        self.shared.bytes_sent.store(0, Ordering::SeqCst);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees that it is over.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

impl Request {
    /// `HOST/PATH`, what patterns are matched with.
    pub fn url(&self) -> String {
        format!("{}{}", self.host, self.path)
    }
}

impl State {
    pub(crate) fn host(&mut self, host: &str) -> &mut Host {
        self.hosts.entry(without_default_port(host).to_lowercase()).or_default()
    }
}

/// Counts a request as being answered while it lives.
pub(crate) struct Active<'a>(&'a Shared);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn enter(&self) -> Active<'_> {
        let active = self.active.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(active, Ordering::SeqCst);
        Active(self)
    }

    /// Whether the proxy reaches the target of a CONNECT request.
    pub(crate) fn knows(&self, target: &str) -> bool {
        self.state().hosts.contains_key(without_default_port(&target.to_lowercase()))
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.bytes_sent.fetch_add(bytes as u64, Ordering::SeqCst);
    }

    pub(crate) fn record(&self, request: Request) {
        self.state().log.push(request);
    }

    /// Answers a request, faults included, and logs it.
    pub(crate) fn answer(&self, mut request: Request) -> Answer {
        request = Request { host: without_default_port(&request.host).to_owned(), ..request };
        let (effects, mut answer) = {
            let mut state = self.state();
            (faults::effects(&mut state.rules, &request.url()), routes::answer(&state, &request))
        };
        let state = self.state();
        let dates = state.last_modified.iter().filter(|(pattern, _)| pattern.is_match(request.url()));
        answer.headers.extend(dates.map(|(_, date)| ("Last-Modified", date.clone())));
        drop(state);
        thread::sleep(effects.delay);
        let answer = answer.spoil(&request, effects);
        request.status = answer.logged_status();
        self.record(request);
        answer
    }
}

fn without_default_port(host: &str) -> &str {
    host.strip_suffix(":443").unwrap_or(host)
}
