//! The connections: a CONNECT proxy and an HTTPS server on the same port.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::http2;
use super::registry::{Request, Shared};
use super::routes::{Answer, Delivery};

const IDLE_LIMIT: Duration = Duration::from_mins(2);
const HEAD_LIMIT: usize = 64 * 1024;
const PIECE: usize = 256 * 1024;
const SLOW_PIECE: usize = 16 * 1024;
/// The first byte of a TLS connection: the record type of a handshake.
const TLS_HANDSHAKE: u8 = 22;

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// Accepts connections until the registry is dropped.
pub(crate) fn serve(listener: &TcpListener, shared: &Arc<Shared>, tls: &Arc<ServerConfig>) {
    for stream in listener.incoming() {
        if shared.closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (shared, tls) = (Arc::clone(shared), Arc::clone(tls));
        // A client that goes away in the middle is no concern of the server.
        thread::spawn(move || drop(connection(stream, &shared, tls)));
    }
}

fn connection(mut stream: TcpStream, shared: &Arc<Shared>, tls: Arc<ServerConfig>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE_LIMIT))?;
    let mut first = [0];
    if stream.peek(&mut first)? == 0 || (first[0] != TLS_HANDSHAKE && !accept_tunnel(&mut stream, shared)?) {
        return Ok(());
    }
    shared.connections.fetch_add(1, Ordering::SeqCst);
    if tls.alpn_protocols == [b"h2"] {
        return http2::connection(stream, shared, tls);
    }
    let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer)? {
        let _guard = shared.enter();
        let answer = shared.answer(request.clone());
        if !write_answer(&mut stream, &request, &answer, shared)? {
            return Ok(());
        }
    }
    stream.conn.send_close_notify();
    stream.flush()
}

/// Reads the request line and headers of a proxy request, and answers it. The client must wait for the answer before
/// it sends more, and nothing behind the blank line may be taken from the socket: hence one byte at a time.
fn accept_tunnel(stream: &mut TcpStream, shared: &Shared) -> io::Result<bool> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_LIMIT || stream.read(&mut byte)? == 0 {
            return Ok(false);
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method == "CONNECT" && shared.knows(target) {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return Ok(true);
    }
    shared.record(Request {
        method: method.to_owned(),
        host: target.to_owned(),
        path: String::new(),
        authorization: None,
        user_agent: None,
        status: 502,
    });
    let body = "no such host\n";
    let length = body.len();
    write!(stream, "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")?;
    Ok(false)
}

/// Reads the next request; `None` when the client has ended the connection.
fn read_request(stream: &mut TlsStream, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let mut piece = [0; 4096];
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(length) = request.parse(buffer).map_err(io::Error::other)? {
            let header = |name: &str| {
                let header = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
                Some(String::from_utf8_lossy(header.value).into_owned())
            };
            let request = Request {
                method: request.method.unwrap_or_default().to_owned(),
                host: header("host").unwrap_or_default().to_lowercase(),
                path: request.path.unwrap_or_default().to_owned(),
                authorization: header("authorization"),
                user_agent: header("user-agent"),
                status: 0,
            };
            buffer.drain(..length);
            return Ok(Some(request));
        }
        if buffer.len() > HEAD_LIMIT {
            return Err(io::Error::other("request head too long"));
        }
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            length => buffer.extend_from_slice(&piece[..length]),
        }
    }
}

/// Sends the answer, and says whether the connection can be used again.
fn write_answer(stream: &mut TlsStream, request: &Request, answer: &Answer, shared: &Shared) -> io::Result<bool> {
    let (body, delivery) = (answer.body.as_slice(), answer.delivery);
    if delivery == Delivery::Reset {
        // Closing a socket that must not linger sends a reset.
        socket2::SockRef::from(&stream.sock).set_linger(Some(Duration::ZERO))?;
        return Ok(false);
    }
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
        answer.status,
        reason(answer.status),
        answer.content_type,
        body.len()
    );
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let (sent, piece, pause) = match delivery {
        _ if request.method == "HEAD" => (&body[..0], PIECE, Duration::ZERO),
        Delivery::Truncated => (&body[..body.len() / 2], PIECE, Duration::ZERO),
        Delivery::Slow(pause) => (body, SLOW_PIECE, pause),
        Delivery::Whole | Delivery::Reset => (body, PIECE, Duration::ZERO),
    };
    for piece in sent.chunks(piece) {
        thread::sleep(pause);
        stream.write_all(piece)?;
        stream.flush()?;
        shared.count_sent(piece.len());
    }
    stream.flush()?;
    if delivery == Delivery::Truncated {
        stream.sock.shutdown(Shutdown::Both)?;
        return Ok(false);
    }
    Ok(true)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        302 => "Found",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
