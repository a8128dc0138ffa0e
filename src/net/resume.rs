//! Downloads that continue where the connection broke: range requests (RFC 9110, section 14), which
//! are valid only while the server has the same content (section 13.1.5).

use std::io::{self, Read};

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, DATE, ETAG, HeaderMap, HeaderValue, IF_RANGE, LAST_MODIFIED,
    RANGE,
};

use super::body::Body;
use super::error::RequestErrorKind;
use super::pace::Pace;
use super::retry::{Failure, Retries, http_date};

/// Hands a body of at most `limit` bytes to `consume`, with its length if that is known, and
/// returns what that returns.
///
/// `send` sends a request with these headers, and returns a successful response. If the connection
/// breaks, the rest is requested, and `consume` does not notice; if the server cannot send the
/// rest, the download starts again, with a fresh call of `consume`. Each attempt takes one of the
/// `retries`.
pub(super) fn download<T>(
    limit: u64,
    pace: &Pace,
    mut retries: Retries,
    mut send: impl FnMut(HeaderMap) -> Result<Response, Failure>,
    mut consume: impl FnMut(&mut dyn Read, Option<u64>) -> T,
) -> Result<T, RequestErrorKind> {
    // The response with which a download starts again, if the server has sent it already.
    let mut restart_response: Option<Box<Response>> = None;
    loop {
        let response = match restart_response.take() {
            Some(response) => Ok(*response),
            None => send(headers_without_compression()),
        };
        let start = response.and_then(|response| Start::of_response(response, limit, pace));
        let failure = match start {
            Err(failure) => failure,
            Ok(start) => {
                let mut download = Download {
                    body: start.body,
                    limit,
                    pace,
                    resumption: start.resumption,
                    retries: &mut retries,
                    send: &mut send,
                    bytes_read: 0,
                    interruption: None,
                };
                let consumed = consume(&mut download, start.length);
                match download.interruption {
                    None => return Ok(consumed),
                    Some(Interruption::Restart(response)) => {
                        restart_response = response;
                        continue;
                    }
                    Some(Interruption::Failed(failure)) => failure,
                }
            }
        };
        retries
            .wait_or_give_up(failure)
            .map_err(|failure| failure.kind)?;
    }
}

/// The first response of a download.
struct Start {
    body: Body,
    /// Length of the content, if it is known.
    length: Option<u64>,
    resumption: Option<Resumption>,
}

impl Start {
    fn of_response(response: Response, limit: u64, pace: &Pace) -> Result<Self, Failure> {
        let length = response.content_length();
        let resumption = Resumption::of(&response);
        Ok(Self {
            body: Body::new(response, limit, pace.restarted())?,
            length,
            resumption,
        })
    }
}

/// Headers that request the file without compression, so that client and server count the same
/// bytes.
fn headers_without_compression() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))])
}

/// Returns a header value that changes whenever the content does: a strong entity tag or, without
/// any tag, a date that was already past when the response was made (RFC 9110, sections 8.8.2.2 and
/// 13.1.5).
fn strong_validator(headers: &HeaderMap) -> Option<&HeaderValue> {
    if let Some(tag) = headers.get(ETAG) {
        return Some(tag).filter(|tag| !tag.as_bytes().starts_with(b"W/"));
    }
    let is_over = http_date(headers, &DATE)? > http_date(headers, &LAST_MODIFIED)?;
    if is_over {
        headers.get(LAST_MODIFIED)
    } else {
        None
    }
}

/// A body that may come in several responses.
struct Download<'a, S> {
    body: Body,
    limit: u64,
    pace: &'a Pace,
    /// Validator for requests of a part, if the server supports them.
    resumption: Option<Resumption>,
    retries: &'a mut Retries,
    send: &'a mut S,
    /// Bytes read of all responses.
    bytes_read: u64,
    interruption: Option<Interruption>,
}

/// The reason why a body is incomplete.
enum Interruption {
    Failed(Failure),
    /// It must be read again from its beginning; contains the response, if there is one.
    Restart(Option<Box<Response>>),
}

/// Evidence that two responses have the same content.
struct Resumption {
    /// A validator for `If-Range`.
    validator: HeaderValue,
    /// The length of the content.
    length: u64,
}

impl Resumption {
    /// Returns `None` if the server sends no validator or length. A compressed body has no length
    /// here.
    fn of(response: &Response) -> Option<Self> {
        if response.status() != StatusCode::OK {
            return None;
        }
        Some(Self {
            validator: strong_validator(response.headers())?.clone(),
            length: response.content_length()?,
        })
    }

    /// Headers that request the bytes after `offset`.
    fn headers_from(&self, offset: u64) -> Option<HeaderMap> {
        let mut headers = headers_without_compression();
        headers.insert(RANGE, format!("bytes={offset}-").parse().ok()?);
        headers.insert(IF_RANGE, self.validator.clone());
        Some(headers)
    }

    /// Whether a response contains the bytes after `offset`, up to the end.
    fn is_continued_by(&self, response: &Response, offset: u64) -> bool {
        let expected = format!(
            "bytes {offset}-{}/{}",
            self.length.saturating_sub(1),
            self.length
        );
        let range = response.headers().get(CONTENT_RANGE);
        response.status() == StatusCode::PARTIAL_CONTENT
            && range.is_some_and(|range| range.as_bytes().eq_ignore_ascii_case(expected.as_bytes()))
            && response.content_length() == Some(self.length - offset)
    }
}

impl<S: FnMut(HeaderMap) -> Result<Response, Failure>> Download<'_, S> {
    /// Continues the body after a failure, or returns the failure if that is not possible.
    fn resume(&mut self, mut failure: Failure) -> Result<(), Interruption> {
        loop {
            // Without a strong validator and a length, the parts of two different files could be
            // joined.
            let Some(resumption) = &self.resumption else {
                return Err(Interruption::Failed(failure));
            };
            // There is nothing to continue before the first byte and after the last one.
            if self.bytes_read == 0 || self.bytes_read >= resumption.length {
                return Err(Interruption::Failed(failure));
            }
            let Some(headers) = resumption.headers_from(self.bytes_read) else {
                return Err(Interruption::Failed(failure));
            };
            self.retries
                .wait_or_give_up(failure)
                .map_err(Interruption::Failed)?;
            match (self.send)(headers) {
                Ok(response) if resumption.is_continued_by(&response, self.bytes_read) => {
                    let body = Body::new(
                        response,
                        self.limit - self.bytes_read,
                        self.pace.restarted(),
                    );
                    self.body = body.map_err(Interruption::Failed)?;
                    return Ok(());
                }
                // The content has changed, or the server ignores ranges and sends the whole.
                Ok(response) if response.status() == StatusCode::OK => {
                    return Err(Interruption::Restart(Some(Box::new(response))));
                }
                Ok(_) => return Err(Interruption::Restart(None)),
                // 416: the range is outside of the content that the server has now.
                Err(Failure {
                    kind: RequestErrorKind::Status { status: 416, .. },
                    ..
                }) => {
                    return Err(Interruption::Restart(None));
                }
                Err(next_failure) => failure = next_failure,
            }
        }
    }
}

impl<S: FnMut(HeaderMap) -> Result<Response, Failure>> Read for Download<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.interruption.is_some() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            match self.body.read(buffer) {
                Ok(count) => {
                    self.bytes_read += count as u64;
                    return Ok(count);
                }
                Err(error) => match self.body.failure.take() {
                    Some(failure) => self.interruption = self.resume(failure).err(),
                    None => return Err(error),
                },
            }
        }
    }
}
