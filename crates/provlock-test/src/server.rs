//! A web server on loopback that does what a test tells it, faults included: plain HTTP, or HTTPS
//! as version 1.1 or 2.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use url::Url;

use crate::http2;
use crate::message::{Delivery, Request, Response, without_default_port};
use crate::shared::{Shared, Statistics};
use crate::tls::Authority;

const IDLE_LIMIT: Duration = Duration::from_mins(2);
const HEAD_LIMIT: usize = 64 * 1024;
const PIECE: usize = 256 * 1024;
/// The first byte of a TLS connection: the record type of a handshake.
const TLS_HANDSHAKE: u8 = 22;

/// A running server; it ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server without TLS on a free port. Requests to a proxy are answered like any other.
    pub fn http(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::start(None, |_| true, answer)
    }

    /// Starts a server with TLS, which is any host, and a CONNECT proxy to itself on the same port.
    pub fn https(
        authority: &Authority,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(authority.server("http/1.1")), |_| true, answer)
    }

    /// The same for some hosts only; their names are in lower case, with the port unless it is 443.
    pub fn https_for(
        authority: &Authority,
        reaches: impl Fn(&str) -> bool + Send + Sync + 'static,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(authority.server("http/1.1")), reaches, answer)
    }

    pub(crate) fn start(
        tls: Option<Arc<ServerConfig>>,
        reaches: impl Fn(&str) -> bool + Send + Sync + 'static,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::new(tls, reaches, answer));
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// IP address and port, as they are written in a URL.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A URL on this server, under this host name.
    pub fn url(&self, name: &str, target: &str) -> Url {
        let scheme = if self.shared.tls.is_some() {
            "https"
        } else {
            "http"
        };
        Url::parse(&format!(
            "{scheme}://{name}:{}{target}",
            self.address.port()
        ))
        .unwrap()
    }

    /// All requests so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap().clone()
    }

    /// The requests for this path, with whatever query.
    pub fn requests_for(&self, path: &str) -> Vec<Request> {
        self.requests()
            .into_iter()
            .filter(|request| request.path() == path)
            .collect()
    }

    /// Requests, connections, concurrency, bytes.
    pub fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }

    /// Forgets requests and counts.
    pub fn reset_statistics(&self) {
        self.shared.reset_statistics();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees that the server ends.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that goes away in the middle is not the server's concern.
        thread::spawn(move || drop(connection(stream, &shared)));
    }
}

fn connection(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE_LIMIT))?;
    let mut first = [0];
    if stream.peek(&mut first)? == 0 {
        return Ok(());
    }
    let socket = stream.try_clone()?;
    let Some(tls) = &shared.tls else {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        return exchange(&mut stream, &socket, shared, false).map(|_| ());
    };
    if first[0] != TLS_HANDSHAKE && !accept_tunnel(&mut stream, shared)? {
        return Ok(());
    }
    shared.connections.fetch_add(1, Ordering::SeqCst);
    if tls.alpn_protocols == [b"h2"] {
        return http2::connection(stream, shared, Arc::clone(tls));
    }
    let mut connection = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    let has_certificate = connection.peer_certificates().is_some();
    let mut stream = StreamOwned::new(connection, stream);
    if exchange(&mut stream, &socket, shared, has_certificate)? {
        stream.conn.send_close_notify();
        stream.flush()?;
    }
    Ok(())
}

/// Reads the request line and headers of a proxy request, and answers it. The client must wait for
/// the answer before it sends more, and nothing after the blank line may be taken from the socket:
/// hence one byte at a time.
fn accept_tunnel(stream: &mut TcpStream, shared: &Shared) -> io::Result<bool> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_LIMIT || stream.read(&mut byte)? == 0 {
            return Ok(false);
        }
        head.push(byte[0]);
    }
    let Some((mut request, _)) = parse_head(&head)? else {
        return Ok(false);
    };
    if request.method == "CONNECT"
        && (shared.reaches)(without_default_port(&request.target.to_lowercase()))
    {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return Ok(true);
    }
    request.status = 502;
    shared.log.lock().unwrap().push(request);
    let body = "no such host\n";
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    Ok(false)
}

/// Answers the requests of a connection one after the other. Returns whether the client ended it.
fn exchange(
    stream: &mut (impl Read + Write),
    socket: &TcpStream,
    shared: &Shared,
    has_client_certificate: bool,
) -> io::Result<bool> {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(stream, &mut buffer)? {
        let request = Request {
            has_client_certificate,
            ..request
        };
        let _active = shared.enter();
        let is_head = request.method == "HEAD";
        let response = shared.answer(request);
        if !write_response(stream, socket, &response, is_head, shared)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the next request; `None` when the client has ended the connection.
fn read_request(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    loop {
        if let Some((mut request, head)) = parse_head(buffer)? {
            let length = request
                .header("content-length")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            while buffer.len() < head + length {
                if !read_more(stream, buffer)? {
                    return Ok(None);
                }
            }
            request.bytes = buffer.drain(..head + length).skip(head).collect();
            request.body = String::from_utf8_lossy(&request.bytes).into_owned();
            return Ok(Some(request));
        }
        if buffer.len() > HEAD_LIMIT {
            return Err(io::Error::other("request head too long"));
        }
        if !read_more(stream, buffer)? {
            return Ok(None);
        }
    }
}

fn read_more(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 4096];
    let length = stream.read(&mut piece)?;
    buffer.extend_from_slice(&piece[..length]);
    Ok(length > 0)
}

/// The request without its body, and the length of its head, if all of the head is there.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(Request, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = parsed.parse(bytes).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let headers = parsed.headers.iter();
    let headers = headers.map(|header| {
        (
            header.name.to_owned(),
            String::from_utf8_lossy(header.value).into_owned(),
        )
    });
    let (method, target) = (
        parsed.method.unwrap_or_default(),
        parsed.path.unwrap_or_default(),
    );
    let request = Request::new(method, target, headers.collect());
    let host = request.header("host").unwrap_or_default().to_lowercase();
    Ok(Some((
        Request {
            host: without_default_port(&host).to_owned(),
            ..request
        },
        length,
    )))
}

/// Sends the response. Returns whether the connection can be used again.
fn write_response(
    stream: &mut (impl Read + Write),
    socket: &TcpStream,
    response: &Response,
    is_head: bool,
    shared: &Shared,
) -> io::Result<bool> {
    let (body, delivery) = (response.body.as_slice(), response.delivery);
    if delivery == Delivery::Reset {
        // Closing a socket that must not linger sends a reset.
        socket2::SockRef::from(socket).set_linger(Some(Duration::ZERO))?;
        return Ok(false);
    }
    if delivery == Delivery::Silent {
        while read_more(stream, &mut Vec::new())? {}
        return Ok(false);
    }
    let reason = http::StatusCode::from_u16(response.status)
        .ok()
        .and_then(|status| status.canonical_reason());
    let mut head = format!(
        "HTTP/1.1 {} {}\r\n",
        response.status,
        reason.unwrap_or("Status")
    );
    let announced = if delivery == Delivery::WrongLength {
        body.len() / 2
    } else {
        body.len()
    };
    if delivery != Delivery::WithoutLength {
        head.extend(["Content-Length: ", &announced.to_string(), "\r\n"]);
    }
    for (name, value) in &response.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let (sent, piece, pause) = match delivery {
        _ if is_head => (&body[..0], PIECE, Duration::ZERO),
        Delivery::CutAt(percent) => (
            &body[..body.len() * usize::from(percent) / 100],
            PIECE,
            Duration::ZERO,
        ),
        Delivery::Slow { piece, pause } => (body, piece, pause),
        _ => (body, PIECE, Duration::ZERO),
    };
    for piece in sent.chunks(piece) {
        thread::sleep(pause);
        // Counted first: a client that has all bytes may ask for the count before this thread runs
        // again.
        shared.count_sent(piece.len());
        stream.write_all(piece)?;
        stream.flush()?;
    }
    stream.flush()?;
    if matches!(
        delivery,
        Delivery::CutAt(_) | Delivery::WrongLength | Delivery::WithoutLength
    ) {
        socket.shutdown(Shutdown::Both)?;
        return Ok(false);
    }
    Ok(true)
}
