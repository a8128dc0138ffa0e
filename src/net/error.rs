//! Reasons why a request failed.

use std::error::Error as _;
use std::time::Duration;

use reqwest::StatusCode;

use crate::cli_config::machine_of;
use crate::diagnostic::words::count;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy};
use crate::provider::{Dialect, Hostname};
use crate::system::{SafeUrl, token_variable};

/// Next step after a web page in place of a document.
pub(crate) const WEB_PAGE_HELP: &str =
    "open the URL in a browser: a proxy, a firewall or the login of a site may have answered";

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url} {kind}")]
pub struct RequestError {
    /// URL of the first request, before any redirect.
    pub url: SafeUrl,
    /// Reason why it failed.
    pub kind: RequestErrorKind,
    /// The host whose credentials the request needed.
    pub credentials_of: Option<Hostname>,
}

/// Reason why a request failed, in words that continue a URL.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum RequestErrorKind {
    #[display("was not found (404)")]
    NotFound,
    /// Status 401 or 403, and whether the server got a token. A redirect to another host carries
    /// none.
    #[display("was refused ({status}){}", if *credentials_sent { SENT } else { NOT_SENT })]
    Unauthorized { status: u16, credentials_sent: bool },
    /// Any other status that is not a success, the time after which the server wants the next
    /// request, and the start of the body, without control characters.
    #[display("answered with status {status}{}{}{body}", shown_wait(*wait), if body.is_empty() { "" } else { ": " })]
    Status {
        status: u16,
        wait: Option<Duration>,
        body: String,
    },
    /// The body has more bytes than the caller allows.
    #[display("is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    /// The answers kept for the run would take more memory than all of them may.
    #[display("exceeds the limit of {} MiB of memory for all answers", limit >> 20)]
    TooMuchInAll { limit: u64 },
    /// No complete headers within a time limit, or no more of the body.
    #[display("did not answer {}", shown_limit(*time_limit))]
    Timeout {
        time_limit: Option<Duration>,
        /// Whether `TF_REGISTRY_CLIENT_TIMEOUT` sets the time limit.
        is_configured: bool,
    },
    /// Fewer bytes per second than the minimum.
    #[display("sent less than {} KiB per second", minimum_rate >> 10)]
    TooSlow { minimum_rate: u64 },
    /// Not all data in time.
    #[display("was not downloaded within {}", seconds(*time_limit))]
    TooLong { time_limit: Duration },
    /// No connection, or a broken connection; the text gives the reason.
    #[display("could not be reached: {_0}")]
    Connection(String),
    /// No connection, because of the proxy; the text describes its answer.
    #[display("could not be reached: {_0}")]
    Proxy(String),
    #[display("redirects to a URL that is not allowed: {_0}")]
    Redirect(String),
    #[display("sent an unusable response: {_0}")]
    InvalidBody(String),
    /// A web page, as a proxy or the login of a site sends it.
    #[display("returned a web page instead of {instead_of}")]
    WebPage { instead_of: &'static str },
    /// A host of the internal network that may not be requested while a change is checked.
    #[display(
        "was not requested, because {host} is in the internal network and the base does not use it"
    )]
    Internal { host: String },
    /// A plain HTTP URL of a host that requires encryption, or a URL with an unsupported scheme.
    #[display("was not requested, because it is not an https URL")]
    Insecure,
    /// The token for the host could not be read.
    #[display("was not requested: {_0}")]
    Credentials(Diagnostics),
}

const SENT: &str = " with the credentials that were sent";
const NOT_SENT: &str = "; no credentials were sent";

fn shown_limit(time_limit: Option<Duration>) -> String {
    time_limit.map_or_else(
        || "in time".to_owned(),
        |limit| format!("within {}", seconds(limit)),
    )
}

fn shown_wait(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| {
        format!(" and asks to wait {}", seconds(wait))
    })
}

fn seconds(time: Duration) -> String {
    count(
        usize::try_from(time.as_secs()).unwrap_or(usize::MAX),
        "second",
    )
}

impl RequestErrorKind {
    /// The error for a status that is not a success, with the pause that the server requests.
    /// `body` returns the start of the body, without control characters.
    pub(crate) fn of_status(
        status: StatusCode,
        wait: Option<Duration>,
        credentials_sent: bool,
        body: impl FnOnce() -> String,
    ) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::Unauthorized {
                status: status.as_u16(),
                credentials_sent,
            },
            _ => Self::Status {
                status: status.as_u16(),
                wait,
                body: body(),
            },
        }
    }
}

impl RequestError {
    /// The error for the user, with the next step. `what` is the requested thing, for example
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
        Diagnostic {
            help: self.help(),
            ..diagnostic
        }
        .into()
    }

    /// Help that depends only on the kind of the error, and not on what was requested.
    fn help(&self) -> Option<Help> {
        let words = match &self.kind {
            RequestErrorKind::Unauthorized {
                credentials_sent, ..
            } => return self.login_help(*credentials_sent),
            RequestErrorKind::TooSlow { .. } => {
                "PROVLOCK_DOWNLOAD_MINIMUM_RATE sets a different minimum, in KiB per second"
            }
            RequestErrorKind::TooLong { .. } => {
                "PROVLOCK_DOWNLOAD_TIMEOUT sets a different limit, in seconds"
            }
            RequestErrorKind::Timeout {
                is_configured: true,
                ..
            } => {
                "check the network and its proxy, or set TF_REGISTRY_CLIENT_TIMEOUT to a longer time, in seconds"
            }
            RequestErrorKind::Status { wait: Some(_), .. } => {
                "run the command again after that time"
            }
            RequestErrorKind::WebPage { .. } => WEB_PAGE_HELP,
            RequestErrorKind::Timeout { .. } | RequestErrorKind::Connection(_) => {
                "check the network; HTTPS_PROXY and NO_PROXY choose a proxy, SSL_CERT_FILE the trusted certificates"
            }
            RequestErrorKind::Proxy(_) => {
                "check HTTPS_PROXY, and NO_PROXY for hosts that are reached without it"
            }
            RequestErrorKind::TooMuchInAll { .. } => {
                "unless a server misbehaves, name fewer root modules or providers in one command"
            }
            RequestErrorKind::Internal { .. } => {
                "if this is intended, name the host in allowed-hosts or allowed-modules of provlock.toml first, in a pull request of its own"
            }
            RequestErrorKind::Insecure => {
                "use https, or set the URL in a host block of the CLI configuration"
            }
            _ => return None,
        };
        Some(words.into())
    }

    /// Help for an archive that the server refuses to send: its login may be in `.netrc`.
    pub(crate) fn netrc_help(&self) -> Option<Help> {
        let RequestErrorKind::Unauthorized {
            credentials_sent, ..
        } = self.kind
        else {
            return None;
        };
        let machine = machine_of(&self.url)?;
        let words = if credentials_sent {
            format!("check user and password for {machine} in ~/.netrc, or in the URL")
        } else {
            format!(
                "put user and password for {machine} into ~/.netrc; tokens of registries are not sent to archives"
            )
        };
        Some(words.into())
    }

    /// Help for a server that refuses access. `credentials_sent` is whether the request had
    /// credentials. `None` if these were no token.
    fn login_help(&self, credentials_sent: bool) -> Option<Help> {
        let Some(host) = self.credentials_of.as_ref() else {
            let words =
                "this server must answer without credentials, since no tokens are sent to it";
            return (!credentials_sent).then(|| words.into());
        };
        let name = host.to_string();
        let is_public = [Dialect::Tofu, Dialect::Terraform]
            .into_iter()
            .any(|dialect| host.is_default_of(dialect));
        // A host block may have moved its registry to a server that requires a login.
        let is_on_own_host = self.url.host_str() == Some(host.as_ascii());
        if is_public && is_on_own_host && !credentials_sent {
            let words = format!(
                "{host} is public and needs no login: a proxy or a firewall may block it, or it is down"
            );
            return Some(words.into());
        }
        if credentials_sent {
            return Some(
                Help::text("check where the token comes from: ")
                    .and(Remedy::CheckLogin { host: name }),
            );
        }
        let mut help = Help::text("add credentials: ").and(Remedy::Login { host: name });
        if let Some(variable) = token_variable(host) {
            help = help.and_text(format!(", or set {variable}"));
        }
        Some(help)
    }
}

/// The error for a missing or incomplete response.
pub(super) fn no_response_error(error: reqwest::Error) -> RequestErrorKind {
    if error.is_timeout() {
        return RequestErrorKind::Timeout {
            time_limit: None,
            is_configured: false,
        };
    }
    let host = error
        .url()
        .and_then(|url| url.host_str())
        .unwrap_or("the host")
        .to_owned();
    let why = causes_as_text(error);
    // Match the text, because the type of the error is private to hyper-util.
    let Some(tunnel) = why.strip_prefix("tunnel error: ") else {
        return RequestErrorKind::Connection(why);
    };
    let (what, cause) = tunnel.split_once(": ").unwrap_or((tunnel, ""));
    RequestErrorKind::Proxy(match what {
        "unsuccessful" => format!("the proxy refused to connect to {host}"),
        "proxy authorization required" => "the proxy requires a user name and password".to_owned(),
        "failed to create underlying connection" => {
            format!("the proxy could not be reached: {cause}")
        }
        _ => "the proxy sent an unusable response".to_owned(),
    })
}

/// The texts of the errors below reqwest's, whose own text contains no reason; of that if there is
/// none below.
pub(super) fn causes_as_text(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut causes: Vec<String> = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // These texts name the layer that failed instead of the reason.
        let is_general = ["client error", "request or response body error"]
            .iter()
            .any(|start| text.starts_with(start));
        // Many errors contain the text of their cause.
        if !is_general && !causes.iter().any(|known| known.contains(&text)) {
            causes.push(without_documentation(&text).to_owned());
        }
        source = cause.source();
    }
    if causes.is_empty() {
        quote(&error.to_string())
    } else {
        quote(&causes.join(": "))
    }
}

/// The text of an error without the link to documentation for programmers that rustls adds.
fn without_documentation(text: &str) -> &str {
    match text.split_once(": https://docs.rs/") {
        Some((error, _)) => error,
        None => text,
    }
}

/// The start of a foreign text in one line, without control characters.
pub(super) fn quote(text: &str) -> String {
    let words: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control())
        .collect();
    words.trim().chars().take(QUOTE_LENGTH).collect()
}

/// Number of characters of a foreign text that are quoted.
const QUOTE_LENGTH: usize = 200;
