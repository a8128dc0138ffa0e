//! What can go wrong with a request.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy};
use crate::provider::Hostname;
use crate::system::{SafeUrl, token_variable};

/// The answer to a request.
pub(crate) type Requested<T> = Result<T, RequestError>;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What was asked for first, before any redirect.
    pub url: SafeUrl,
    /// Why it failed.
    pub kind: RequestErrorKind,
    /// The host whose credentials were to be sent.
    pub credentials_of: Option<Hostname>,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestErrorKind {
    /// Status 404.
    NotFound,
    /// Status 401 or 403.
    Unauthorized {
        /// The status.
        status: u16,
        /// Whether the server got a token. A redirect to another host goes without.
        credentials_sent: bool,
    },
    /// Another status that means no success.
    Status {
        /// The status.
        status: u16,
        /// How the reply's body begins, without control characters.
        body: String,
    },
    /// The body is larger than the caller allows.
    TooLarge {
        /// The allowed size in bytes.
        limit: u64,
    },
    /// What is kept of all answers is larger than it may be.
    TooMuchInAll {
        /// The allowed size in bytes.
        limit: u64,
    },
    /// No data in time.
    Timeout,
    /// Less data than the least that must come.
    TooSlow {
        /// Bytes per second.
        minimum_rate: u64,
    },
    /// Not all data in time.
    TooLong {
        /// How long it may take.
        time_limit: Duration,
    },
    /// No connection, or one that broke; the text says why.
    Connection(String),
    /// No connection, because of the proxy; the text says what it did.
    Proxy(String),
    /// A redirect that must not be followed; the text says why.
    Redirect(String),
    /// The body is not what it should be; the text says why.
    InvalidBody(String),
    /// A plain HTTP URL of a host that may not be asked so, or a URL of another scheme.
    Insecure,
    /// The token for the host could not be had.
    Credentials(Diagnostics),
}

impl RequestErrorKind {
    /// The error for a status without success. `body` returns the start of the body, without control characters.
    pub(crate) fn of_status(status: StatusCode, credentials_sent: bool, body: impl FnOnce() -> String) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Self::Unauthorized { status: status.as_u16(), credentials_sent }
            }
            _ => Self::Status { status: status.as_u16(), body: body() },
        }
    }
}

impl RequestError {
    /// The error for the user, with what to do next. `what` says what was wanted, for example
    /// "hashicorp/aws 5.0.0 for `linux_amd64`".
    pub(crate) fn into_diagnostic(self, what: &str) -> Diagnostics {
        if let RequestErrorKind::Credentials(diagnostics) = self.kind {
            return diagnostics.map(|diagnostic| diagnostic.note(format!("needed for {what}")));
        }
        let code = match self.kind {
            RequestErrorKind::Unauthorized { .. } => Code::Unauthorized,
            _ => Code::RequestFailed,
        };
        let diagnostic = Diagnostic::error(code, format!("cannot get {what}: {self}"));
        Diagnostic { help: self.help(), ..diagnostic }.into()
    }

    fn help(&self) -> Option<Help> {
        match &self.kind {
            RequestErrorKind::Unauthorized { credentials_sent: true, .. } => {
                let host = self.credentials_of.as_ref()?;
                Some(
                    Help::text("check where the token comes from: ").and(Remedy::CheckLogin { host: host.to_string() }),
                )
            }
            RequestErrorKind::Unauthorized { .. } => Some(match &self.credentials_of {
                Some(host) => {
                    let help = Help::text("add credentials: ").and(Remedy::Login { host: host.to_string() });
                    match token_variable(host) {
                        Some(variable) => help.and_text(format!(", or set {variable}")),
                        None => help,
                    }
                }
                None => "this server must answer without credentials, since no tokens are sent to it".into(),
            }),
            RequestErrorKind::TooSlow { .. } => {
                Some("PROVLOCK_DOWNLOAD_MINIMUM_RATE sets another minimum, in KiB per second".into())
            }
            RequestErrorKind::TooLong { .. } => Some("PROVLOCK_DOWNLOAD_TIMEOUT sets another limit, in seconds".into()),
            RequestErrorKind::Timeout | RequestErrorKind::Connection(_) => Some(
                "check the network; HTTPS_PROXY and NO_PROXY choose a proxy, SSL_CERT_FILE the trusted certificates"
                    .into(),
            ),
            RequestErrorKind::Proxy(_) => {
                Some("check HTTPS_PROXY, and NO_PROXY for hosts that are reached without it".into())
            }
            RequestErrorKind::TooMuchInAll { .. } => {
                Some("if no server misbehaves, name fewer root modules or providers in one command".into())
            }
            RequestErrorKind::Insecure => {
                Some("use https, or set the URL in a host block of the CLI configuration".into())
            }
            _ => None,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.url)?;
        match &self.kind {
            RequestErrorKind::NotFound => f.write_str("was not found (404)"),
            RequestErrorKind::Unauthorized { status, credentials_sent: true } => {
                write!(f, "was refused ({status}) with the credentials that were sent")
            }
            RequestErrorKind::Unauthorized { status, .. } => {
                write!(f, "was refused ({status}); no credentials were sent")
            }
            RequestErrorKind::Status { status, body } if body.is_empty() => write!(f, "answered with status {status}"),
            RequestErrorKind::Status { status, body } => write!(f, "answered with status {status}: {body}"),
            RequestErrorKind::TooLarge { limit } => write!(f, "is larger than {limit} bytes"),
            RequestErrorKind::TooMuchInAll { limit } => {
                write!(f, "says so much that all answers together take more than {} MiB of memory", limit >> 20)
            }
            RequestErrorKind::Timeout => f.write_str("did not answer in time"),
            RequestErrorKind::TooSlow { minimum_rate } => {
                write!(f, "sent less than {} KiB per second", minimum_rate >> 10)
            }
            RequestErrorKind::TooLong { time_limit } => {
                write!(f, "was not downloaded within {} seconds", time_limit.as_secs())
            }
            RequestErrorKind::Connection(why) | RequestErrorKind::Proxy(why) => {
                write!(f, "could not be reached: {why}")
            }
            RequestErrorKind::Redirect(why) => write!(f, "redirects to a place that is not allowed: {why}"),
            RequestErrorKind::InvalidBody(why) => write!(f, "sent an unusable response: {why}"),
            RequestErrorKind::Insecure => f.write_str("was not requested, because it is not an https URL"),
            RequestErrorKind::Credentials(diagnostic) => write!(f, "was not requested: {diagnostic}"),
        }
    }
}

impl Error for RequestError {}

/// A request that got no response, or not all of one.
pub(super) fn no_response(error: reqwest::Error) -> RequestErrorKind {
    if error.is_timeout() {
        return RequestErrorKind::Timeout;
    }
    let host = error.url().and_then(|url| url.host_str()).unwrap_or("the host").to_owned();
    let why = causes(error);
    // The text of the error is all there is: its type is private to hyper-util.
    let Some(tunnel) = why.strip_prefix("tunnel error: ") else { return RequestErrorKind::Connection(why) };
    let (what, cause) = tunnel.split_once(": ").unwrap_or((tunnel, ""));
    RequestErrorKind::Proxy(match what {
        "unsuccessful" => format!("the proxy refused to connect to {host}"),
        "proxy authorization required" => "the proxy asks for a user name and password".to_owned(),
        "failed to create underlying connection" => format!("the proxy could not be reached: {cause}"),
        _ => "the proxy sent an unusable response".to_owned(),
    })
}

/// Why a request failed, in the words of the layers below reqwest, whose own only say that it did.
pub(super) fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut causes: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        let is_general = ["client error", "request or response body error"].iter().any(|start| text.starts_with(start));
        if !is_general && !causes.iter().any(|known| known.contains(&text)) {
            causes.push(text);
        }
        source = cause.source();
    }
    if causes.is_empty() { quote(&error.to_string()) } else { quote(&causes.join(": ")) }
}

/// The start of a foreign text in one line, without control characters.
pub(super) fn quote(text: &str) -> String {
    let words: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    words.trim().chars().take(QUOTE_LENGTH).collect()
}

/// How many characters of a foreign text are quoted.
const QUOTE_LENGTH: usize = 200;
