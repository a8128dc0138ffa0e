//! A web server on loopback that does what a test tells it, faults included.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request that came in.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.header("authorization")
    }
}

/// What to answer.
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    fault: Fault,
}

#[derive(PartialEq)]
enum Fault {
    None,
    /// The connection ends in the middle of the body.
    Truncated,
    /// The connection ends without an answer.
    Reset,
    /// Nothing comes until the client gives up.
    Silent,
    /// No length is announced.
    Unannounced,
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), fault: Fault::None }
    }

    pub(super) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body)
    }

    pub(super) fn redirect(to: impl Into<String>) -> Self {
        Self::new(302, "").header("Location", to)
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn truncated(mut self) -> Self {
        self.fault = Fault::Truncated;
        self
    }

    pub(super) fn unannounced(mut self) -> Self {
        self.fault = Fault::Unannounced;
        self
    }

    pub(super) fn reset() -> Self {
        Self { fault: Fault::Reset, ..Self::ok("") }
    }

    pub(super) fn silent() -> Self {
        Self { fault: Fault::Silent, ..Self::ok("") }
    }
}

type Handler = dyn Fn(&Request, usize) -> Reply + Send + Sync;

/// A running server; its threads end with the test process.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
}

struct State {
    handler: Box<Handler>,
    requests: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    tls: Option<Arc<ServerConfig>>,
}

impl Server {
    /// Starts a plain server. The handler gets the request and how many came before it.
    pub(super) fn plain(handler: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Box::new(handler), None)
    }

    /// Starts an HTTPS server, which is a CONNECT proxy to itself as well.
    pub(super) fn tls(
        authority: &Authority,
        handler: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(Box::new(handler), Some(Arc::clone(&authority.server)))
    }

    fn start(handler: Box<Handler>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let state = Arc::new(State { handler, requests: Mutex::default(), connections: AtomicUsize::new(0), tls });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let state = Arc::clone(&shared);
                thread::spawn(move || state.accept(stream));
            }
        });
        Self { address, scheme, state }
    }

    pub(super) fn url(&self, host: &str, path: &str) -> url::Url {
        url::Url::parse(&format!("{}://{host}:{}{path}", self.scheme, self.address.port())).unwrap()
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl State {
    fn accept(&self, stream: TcpStream) {
        let Some(tls) = &self.tls else { return self.serve(stream) };
        let mut first = [0; 7];
        if stream.peek(&mut first).is_ok() && &first == b"CONNECT" {
            let mut byte = [0];
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") && (&stream).read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            (&stream).write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        }
        let connection = ServerConnection::new(Arc::clone(tls)).unwrap();
        self.serve(StreamOwned::new(connection, stream));
    }

    fn serve(&self, stream: impl Read + Write) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read_request(&mut stream) {
            let before = {
                let mut requests = self.requests.lock().unwrap();
                requests.push(request.clone());
                requests.len() - 1
            };
            let reply = (self.handler)(&request, before);
            if !write_reply(stream.get_mut(), &reply) {
                return;
            }
        }
    }
}

fn read_request(stream: &mut impl BufRead) -> Option<Request> {
    let mut request = Request::default();
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    request.path = line.split(' ').nth(1)?.to_owned();
    loop {
        line.clear();
        stream.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => request.headers.push((name.to_owned(), value.to_owned())),
            None => return Some(request),
        }
    }
}

/// Says whether the connection goes on.
fn write_reply(stream: &mut impl Write, reply: &Reply) -> bool {
    match reply.fault {
        Fault::Reset => return false,
        Fault::Silent => thread::sleep(Duration::from_secs(5)),
        _ => {}
    }
    let mut head = vec![format!("HTTP/1.1 {} X", reply.status)];
    if reply.fault != Fault::Unannounced {
        head.push(format!("Content-Length: {}", reply.body.len()));
    }
    head.extend(reply.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let head = head.join("\r\n") + "\r\n\r\n";
    let end = if reply.fault == Fault::Truncated { reply.body.len() / 2 } else { reply.body.len() };
    let written = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&reply.body[..end]));
    written.and_then(|()| stream.flush()).is_ok() && reply.fault == Fault::None
}

/// A certificate authority and a server certificate of its for every name that the tests use.
pub(super) struct Authority {
    pub(super) der: Vec<u8>,
    pub(super) pem: String,
    server: Arc<ServerConfig>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let root = parameters.self_signed(&key).unwrap();
        let issuer = rcgen::Issuer::new(parameters, key);
        let names = ["localhost", "127.0.0.1", "registry.acme.test"].map(str::to_owned).to_vec();
        let server_key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(names).unwrap().signed_by(&server_key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(server_key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self { der: root.der().to_vec(), pem: root.pem(), server: Arc::new(server) }
    }
}
