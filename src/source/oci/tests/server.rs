//! A loopback HTTP server whose answers a test makes up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// What a client sent.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// What it gets.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// How much of the body is really sent.
    sent: usize,
}

pub(super) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub(super) fn authorization(&self) -> Option<&str> {
        self.header("authorization")
    }

    /// The user and password of basic authentication.
    pub(super) fn basic(&self) -> Option<String> {
        let encoded = self.authorization()?.strip_prefix("Basic ")?;
        Some(String::from_utf8(BASE64.decode(encoded).unwrap()).unwrap())
    }
}

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), sent: body.len(), body }
    }

    pub(super) fn not_found() -> Self {
        Self::new(404, "<html>not found</html>")
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Promises the whole body and sends a part.
    pub(super) fn truncated(mut self) -> Self {
        self.sent = self.body.len() / 2;
        self
    }
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (log, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (log, stop, answer) = (Arc::clone(&log), Arc::clone(&stop), Arc::new(answer));
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let (Ok(stream), log, answer) = (stream, Arc::clone(&log), Arc::clone(&answer)) else { continue };
                    thread::spawn(move || {
                        // A client that goes away is none of the test's concern.
                        let _ = serve(stream, &log, &*answer);
                    });
                }
            })
        };
        Self { address, log, stop, thread: Some(thread) }
    }

    /// Host and port.
    pub(super) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn requests_for(&self, path: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.path() == path).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Request>>,
    answer: &(dyn Fn(&Request) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    // Anything but text is a client that tries TLS first.
    let Ok(line) = String::from_utf8(line) else { return Ok(()) };
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut request = Request { method, target, headers, body: String::new() };
    let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
    reader.take(length).read_to_string(&mut request.body)?;
    log.lock().unwrap().push(request.clone());
    let reply = answer(&request);
    write!(
        stream,
        "HTTP/1.1 {} Status\r\nConnection: close\r\nContent-Length: {}\r\n",
        reply.status,
        reply.body.len()
    )?;
    for (name, value) in &reply.headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    stream.write_all(&reply.body[..reply.sent])
}
