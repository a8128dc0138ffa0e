//! Requests as they come in, and responses as a test wants them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of requests before this one.
    pub number: usize,
    pub method: String,
    /// The `Host` header in lower case, with the port unless it is 443.
    pub host: String,
    /// As it is written in the request line: path and query; host and port for `CONNECT`.
    pub target: String,
    pub headers: Vec<(String, String)>,
    /// The body without bytes that are not UTF-8.
    pub body: String,
    pub bytes: Vec<u8>,
    /// Status of the answer: 0 for a reset or silence, 502 for an unknown host.
    pub status: u16,
    /// Whether the client has shown a certificate.
    pub has_client_certificate: bool,
}

/// A response before it is sent.
#[must_use]
#[derive(Clone, Debug)]
pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Arc<Vec<u8>>,
    pub(crate) delivery: Delivery,
}

/// Form in which a response is sent. HTTP/2 knows [`Delivery::Whole`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// So many percent of the body, then the connection ends.
    CutAt(u8),
    /// All of the body, announced as half as long.
    WrongLength,
    /// A pause before each piece of the body, of so many bytes.
    Slow {
        piece: usize,
        pause: Duration,
    },
    /// The body ends with the connection.
    WithoutLength,
    /// Not at all: the connection is reset.
    Reset,
    /// Not at all: nothing comes until the client gives up.
    Silent,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str, headers: Vec<(String, String)>) -> Self {
        let (method, target) = (method.to_owned(), target.to_owned());
        Self {
            number: 0,
            method,
            host: String::new(),
            target,
            headers,
            body: String::new(),
            bytes: Vec::new(),
            status: 0,
            has_client_certificate: false,
        }
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The `Authorization` header.
    pub fn authorization(&self) -> Option<&str> {
        self.header("authorization")
    }

    /// The user and password of basic authentication, with a colon between them.
    pub fn basic(&self) -> Option<String> {
        let encoded = self.authorization()?.strip_prefix("Basic ")?;
        Some(String::from_utf8(BASE64.decode(encoded).unwrap()).unwrap())
    }

    /// `HOST/PATH` with the query, as patterns match it. Of a `CONNECT` request the host alone.
    pub fn url(&self) -> String {
        if self.method == "CONNECT" {
            self.target.clone()
        } else {
            format!("{}{}", self.host, self.target)
        }
    }
}

impl Response {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Arc::new(body.into()),
            delivery: Delivery::Whole,
        }
    }

    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body)
    }

    pub fn not_found() -> Self {
        Self::new(404, "<html>not found</html>")
    }

    /// A redirect with status 302.
    pub fn redirect(to: impl Into<String>) -> Self {
        Self::new(302, "").header("Location", to)
    }

    pub fn json(status: u16, document: &Value) -> Self {
        Self::new(status, document.to_string()).header("Content-Type", "application/json")
    }

    /// The connection is reset instead of an answer.
    pub fn reset() -> Self {
        Self {
            delivery: Delivery::Reset,
            ..Self::ok("")
        }
    }

    /// Nothing comes until the client gives up.
    pub fn silence() -> Self {
        Self {
            delivery: Delivery::Silent,
            ..Self::ok("")
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Announces the whole body and sends half of it.
    pub fn truncated(self) -> Self {
        self.cut_at(50)
    }

    /// Announces the whole body and sends so many percent of it.
    pub fn cut_at(self, percent: u8) -> Self {
        Self {
            delivery: Delivery::CutAt(percent),
            ..self
        }
    }

    /// The content that `etag` stands for: from the byte that the request asks for, if it is of the
    /// same content (RFC 9110, sections 13.1.5 and 14.2).
    pub fn resumable(self, request: &Request, etag: &str) -> Self {
        let response = self.header("ETag", etag);
        let is_current = request.header("if-range").is_none_or(|known| known == etag);
        let range = if is_current {
            request.header("range")
        } else {
            None
        };
        let start = range.and_then(|range| {
            range
                .strip_prefix("bytes=")?
                .strip_suffix('-')?
                .parse::<usize>()
                .ok()
        });
        let Some(start) = start else { return response };
        let length = response.body.len();
        if start >= length {
            return Self::new(416, "").header("Content-Range", format!("bytes */{length}"));
        }
        let rest = Arc::new(response.body[start..].to_vec());
        let range = format!("bytes {start}-{}/{length}", length - 1);
        Self {
            status: 206,
            body: rest,
            ..response
        }
        .header("Content-Range", range)
    }

    /// Does not announce the length of the body, which ends with the connection.
    pub fn without_length(self) -> Self {
        Self {
            delivery: Delivery::WithoutLength,
            ..self
        }
    }

    pub(crate) fn logged_status(&self) -> u16 {
        if matches!(self.delivery, Delivery::Reset | Delivery::Silent) {
            0
        } else {
            self.status
        }
    }
}

/// A host with its port, unless it is that of HTTPS.
pub(crate) fn without_default_port(host: &str) -> &str {
    host.strip_suffix(":443").unwrap_or(host)
}
