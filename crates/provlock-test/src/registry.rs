//! A provider registry, release host, network mirror and OCI registry on loopback, reached as an
//! HTTP CONNECT proxy.
//!
//! ```ignore
//! let (registry, environment) = Registry::with_project();
//! let null = registry.publish("hashicorp/null", "3.2.4").platforms(["linux_amd64"]).done();
//! registry.fault(url::PACKAGE, Times::First(1), Fault::Status(503));
//! // … run provlock …
//! assert_eq!(registry.requests_to(url::VERSIONS), 1);
//! ```

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::ServerConfig;
use tempfile::TempDir;

use crate::faults::{self, Fault, Rule, Times};
use crate::keys::Form;
use crate::message::{Request, Response};
use crate::oci;
use crate::publish::Publish;
use crate::routes;
use crate::scratch::scratch_directory;
use crate::server::Server;
use crate::shared::Statistics;
use crate::state::{Address, Host, MountedMirror, State};
use crate::tls::Authority;

pub use crate::state::{Discovery, Mirror, MirrorHashes};

/// Hosts that answer without anything being published on them. Every host that is named later is
/// added; all others are unreachable: the proxy answers 502.
const HOSTS: [&str; 5] = [
    "registry.opentofu.org",
    "registry.terraform.io",
    "registry.example.com",
    "releases.example.com",
    "mirror.example.com",
];

/// The registry; it ends when it is dropped.
pub struct Registry {
    server: Server,
    state: Arc<Mutex<State>>,
    certificate: PathBuf,
    authority: Authority,
    _directory: TempDir,
}

impl Registry {
    /// Starts a registry on a free port, with nothing published.
    pub fn start() -> Self {
        let authority = Authority::new();
        let tls = authority.server("http/1.1");
        Self::start_with(authority, tls)
    }

    /// Starts a registry that asks each client for a certificate, and also serves clients without
    /// one.
    pub fn start_asking_for_certificates() -> Self {
        let authority = Authority::new();
        let tls = authority.asking_server("http/1.1");
        Self::start_with(authority, tls)
    }

    /// From now on, a host refuses clients without a certificate, as nginx does.
    pub fn require_client_certificate(&self, host: &str) {
        self.state().identified_hosts.insert(host.to_owned());
    }

    /// A certificate that such a host accepts and its key, as PEM texts.
    pub fn client_identity(&self) -> [String; 2] {
        self.authority.client_identity()
    }

    /// Starts a registry that speaks HTTP/2. Faults that are not in the answer itself do not work
    /// there.
    pub fn start_http2() -> Self {
        let authority = Authority::new();
        let tls = authority.server("h2");
        Self::start_with(authority, tls)
    }

    fn start_with(authority: Authority, tls: Arc<ServerConfig>) -> Self {
        let directory = scratch_directory();
        let certificate = directory.path().join("ca.pem");
        std::fs::write(&certificate, authority.pem()).unwrap();
        let hosts = HOSTS.map(|host| (host.to_owned(), Host::default()));
        let state = Arc::new(Mutex::new(State {
            hosts: hosts.into(),
            ..State::default()
        }));
        let (known, answering) = (Arc::clone(&state), Arc::clone(&state));
        let server = Server::start(
            Some(tls),
            move |host| known.lock().unwrap().hosts.contains_key(host),
            move |request| answer(&answering, request),
        );
        Self {
            server,
            state,
            certificate,
            authority,
            _directory: directory,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The value for `HTTPS_PROXY`.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The value for `SSL_CERT_FILE`.
    pub fn certificate_file(&self) -> &Path {
        &self.certificate
    }

    /// The address for clients that use no proxy.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Begins a release of `[HOST/]NAMESPACE/TYPE`, on the default host of OpenTofu unless told
    /// otherwise. A release that is published again under the same version replaces the first.
    pub fn publish(&self, provider: &str, version: &str) -> Publish<'_> {
        Publish::new(&self.state, provider, version)
    }

    /// Removes a version: no longer listed, no metadata. Its files stay.
    pub fn withdraw(&self, provider: &str, version: &str) {
        let mut state = self.state();
        let releases = &mut state
            .providers
            .get_mut(&Address::parse(provider))
            .unwrap()
            .releases;
        releases.retain(|release| release.version != version);
    }

    /// Shows warnings with the provider's versions.
    pub fn warn(&self, provider: &str, warnings: &[&str]) {
        let mut state = self.state();
        let provider = state.providers.entry(Address::parse(provider)).or_default();
        provider.warnings = warnings.iter().map(ToString::to_string).collect();
    }

    /// Makes a host reachable.
    pub fn add_host(&self, host: &str) {
        self.state().host(host);
    }

    /// Changes the service discovery document of a host.
    pub fn discovery(&self, host: &str, discovery: Discovery) {
        self.state().host(host).discovery = Some(discovery);
    }

    /// From now on the host's versions and download metadata, and the documents of mirrors on it,
    /// need this token: 401 without one, 403 with another.
    pub fn require_token(&self, host: &str, token: &str) {
        self.state().host(host).token = Some(token.to_owned());
    }

    /// Serves a network mirror of everything that is published, on any host, at an `https` URL that
    /// ends in a slash.
    pub fn mirror(&self, url: &str, options: Mirror) {
        let (host, path) = url
            .strip_prefix("https://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let prefix = format!("/{path}");
        assert!(prefix.ends_with('/'), "{url} must end in a slash");
        let mut state = self.state();
        state.host(host);
        state
            .mirrors
            .retain(|mirror| mirror.host != host || mirror.prefix != prefix);
        state.mirrors.push(MountedMirror {
            host: host.to_owned(),
            prefix,
            options,
        });
    }

    /// Serves a document under this path of every host.
    pub fn serve(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.state()
            .files
            .insert(path.to_owned(), Arc::new(content.into()));
    }

    /// From now on, answers to requests that match the pattern (see [`faults::url`]) have this
    /// `Last-Modified` header.
    pub fn last_modified(&self, pattern: &str, date: &str) {
        self.state()
            .last_modified
            .push((faults::matcher(pattern), date.to_owned()));
    }

    /// Orders a fault for the requests that match the pattern (see [`faults::url`]).
    pub fn fault(&self, pattern: &str, times: Times, fault: Fault) {
        let mut state = self.state();
        if let Fault::RedirectTo(host) = fault {
            state.host(host);
        }
        state.rules.push(Rule::new(pattern, times, fault));
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.state().rules.clear();
    }

    /// Makes a host reachable that is an OCI registry.
    pub fn add_oci_host(&self, host: &str) {
        self.add_host(host);
        self.state().oci.hosts.insert(host.to_owned());
    }

    /// The manifest of a tag, if there is one. A repository is named with its host.
    pub fn manifest(&self, repository: &str, tag: &str) -> Option<String> {
        self.state()
            .oci
            .manifests
            .get(&(repository.to_owned(), tag.to_owned()))
            .cloned()
    }

    /// Puts a manifest under a tag, whatever it is.
    pub fn put_manifest(&self, repository: &str, tag: &str, manifest: &str) {
        self.state()
            .oci
            .manifests
            .insert((repository.to_owned(), tag.to_owned()), manifest.to_owned());
    }

    /// Publishes a module with this content of `main.tf` under a tag of an OCI registry, and
    /// returns the digest. A repository is named with its host; `created` is the annotation of its
    /// manifest.
    pub fn publish_oci_module(
        &self,
        repository: &str,
        tag: &str,
        content: &str,
        created: Option<&str>,
    ) -> String {
        let files = [("main.tf".to_owned(), content.as_bytes().to_vec())];
        let archive = crate::archive::pack(&files, crate::archive::Packing::Stored);
        oci::publish_module(&mut self.state().oci, repository, tag, archive, created)
    }

    /// Removes the manifest of a tag or a digest.
    pub fn remove_manifest(&self, repository: &str, name: &str) {
        self.state()
            .oci
            .manifests
            .remove(&(repository.to_owned(), name.to_owned()));
    }

    /// From now on all repositories want a token, which the token server gives for this login, and
    /// only for what was asked for.
    pub fn require_oci_login(&self, user: &str, password: &str) {
        self.state().oci.login = Some(format!("{user}:{password}"));
    }

    /// All requests so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// The requests that match the pattern (see [`faults::url`]).
    pub fn requests_matching(&self, pattern: &str) -> Vec<Request> {
        let matcher = faults::matcher(pattern);
        self.requests()
            .into_iter()
            .filter(|request| matcher.is_match(request.url()))
            .collect()
    }

    /// Number of requests that match the pattern.
    pub fn requests_to(&self, pattern: &str) -> usize {
        self.requests_matching(pattern).len()
    }

    /// Requests, connections, concurrency, bytes.
    pub fn statistics(&self) -> Statistics {
        self.server.statistics()
    }

    /// Forgets requests and counts.
    pub fn reset_statistics(&self) {
        self.server.reset_statistics();
    }
}

/// Answers a request, faults included.
fn answer(state: &Mutex<State>, request: &Request) -> Response {
    let first_second = *state
        .lock()
        .unwrap()
        .first_second
        .get_or_insert_with(current_second);
    let signed = state
        .lock()
        .unwrap()
        .signed_on_request
        .get(request.path())
        .cloned();
    if let Some((key, sums)) = signed {
        // Signatures have whole seconds: in the first one, this would be made before the run.
        while current_second() == first_second {
            thread::sleep(Duration::from_millis(10));
        }
        return Response::ok(key.sign(sums.as_bytes(), Form::Binary));
    }
    let (effects, mut response) = {
        let mut state = state.lock().unwrap();
        let effects = faults::effects(&mut state.rules, &request.url());
        let is_oci = state.oci.hosts.contains(&request.host);
        let is_refused =
            state.identified_hosts.contains(&request.host) && !request.has_client_certificate;
        let mut response = if is_refused {
            Response::new(400, "No required SSL certificate was sent\n")
        } else if is_oci {
            oci::answer(&mut state.oci, request)
        } else {
            routes::answer(&state, request)
        };
        let dates = state
            .last_modified
            .iter()
            .filter(|(pattern, _)| pattern.is_match(request.url()));
        response
            .headers
            .extend(dates.map(|(_, date)| ("Last-Modified", date.clone())));
        (effects, response)
    };
    thread::sleep(effects.delay);
    response = routes::spoil(response, request, effects);
    response
}

/// Seconds since 1970.
fn current_second() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}
