//! Retries: whether and when a request is repeated.

use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};

use super::error::RequestErrorKind;

/// The longest pause that a server can cause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A failed attempt, and its remedy.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: RequestErrorKind,
    pub(crate) retry: Retry,
}

/// Remedies for a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// No remedy.
    Never,
    /// Another attempt after a pause.
    BackOff,
    /// Another attempt after the pause that the server requests.
    After(Duration),
}

impl Retry {
    /// The pause that the server requests, if there is one.
    pub(crate) fn requested_pause(self) -> Option<Duration> {
        match self {
            Self::After(pause) if !pause.is_zero() => Some(pause),
            Self::Never | Self::BackOff | Self::After(_) => None,
        }
    }
}

impl Failure {
    /// A failure that a retry would not change.
    pub(crate) fn permanent(kind: RequestErrorKind) -> Self {
        Self {
            kind,
            retry: Retry::Never,
        }
    }

    /// A failure that may be temporary.
    pub(crate) fn temporary(kind: RequestErrorKind) -> Self {
        Self {
            kind,
            retry: Retry::BackOff,
        }
    }
}

/// The remaining attempts.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    left: u32,
    /// The pause before the next attempt.
    back_off: Duration,
}

impl Retries {
    pub(super) fn new(retries: u32, back_off: Duration) -> Self {
        Self {
            left: retries,
            back_off,
        }
    }

    /// Waits until the next attempt. Returns the failure if no attempt is left, or none would help.
    pub(super) fn wait_or_give_up(&mut self, failure: Failure) -> Result<(), Failure> {
        let pause = match failure.retry {
            Retry::Never => return Err(failure),
            _ if self.left == 0 => return Err(failure),
            Retry::BackOff => self.back_off,
            Retry::After(pause) => pause,
        };
        self.left -= 1;
        self.back_off = self.back_off.saturating_mul(2);
        thread::sleep(pause.min(LONGEST_PAUSE));
        Ok(())
    }
}

/// Makes an attempt until it succeeds, or no retry is left; the last failure is the error.
pub(super) fn with_retries<T>(
    mut retries: Retries,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, RequestErrorKind> {
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(failure) => retries
                .wait_or_give_up(failure)
                .map_err(|failure| failure.kind)?,
        }
    }
}

/// Returns the remedy for a status that is not a success: another attempt if the status means
/// "later" (RFC 6585, section 4; RFC 9110, section 15.6).
pub(crate) fn retry_for_status(response: &Response) -> Retry {
    let status = response.status();
    let may_name_pause = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let pause = if may_name_pause {
        pause_in_header(response.headers(), Timestamp::now())
    } else {
        None
    };
    match pause {
        Some(pause) => Retry::After(pause),
        None if may_name_pause || status.is_server_error() => Retry::BackOff,
        None => Retry::Never,
    }
}

/// The pause in a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a time to wait for.
fn pause_in_header(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if let Some(seconds) = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
    {
        return Some(Duration::from_secs(seconds));
    }
    let pause = http_date(headers, &RETRY_AFTER)?.duration_since(now);
    Some(Duration::try_from(pause).unwrap_or_default())
}

/// Parses a header that contains a time.
pub(super) fn http_date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    let text = headers.get(name)?.to_str().ok()?;
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text.trim())
        .ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        for (value, expected) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-3", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(
                pause_in_header(&headers, now),
                expected.map(Duration::from_secs),
                "{value}"
            );
        }
        assert_eq!(pause_in_header(&HeaderMap::new(), now), None);
    }

    #[test]
    fn permanent_failures_are_not_repeated() {
        for (failure, attempts) in [
            (Failure::permanent as fn(_) -> _, 1),
            (Failure::temporary, 4),
        ] {
            let mut made = 0;
            let result: Result<(), _> = with_retries(Retries::new(3, Duration::ZERO), || {
                made += 1;
                Err(failure(RequestErrorKind::NotFound))
            });
            assert_eq!((result, made), (Err(RequestErrorKind::NotFound), attempts));
        }
    }
}
