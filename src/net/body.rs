//! The body of a response, read under a size cap and not slower than a minimum.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use reqwest::blocking::Response;

use super::error::{RequestErrorKind, no_response, quote};
use super::retry::Failure;

/// While less than this arrives in [`WINDOW`], the server is as good as silent.
const MINIMUM: u64 = 60 * 1024;
const WINDOW: Duration = Duration::from_mins(1);

/// The whole body of a response, at most `limit` bytes.
pub(crate) fn read_whole(response: Response, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // The body itself keeps what went wrong with it.
    let _ = read_with(response, limit, |body, _| body.read_to_end(&mut bytes))?;
    Ok(bytes)
}

/// Hands the body of a response, at most `limit` bytes, to `consume`, with its length if that is known. Whatever `consume`
/// makes of it, a failure to read it is an error.
pub(crate) fn read_with<T>(
    response: Response,
    limit: u64,
    consume: impl FnOnce(&mut dyn Read, Option<u64>) -> T,
) -> Result<T, Failure> {
    let length = response.content_length();
    let mut body = Body::new(response, limit)?;
    let consumed = consume(&mut body, length);
    body.failure.map_or(Ok(consumed), Err)
}

/// Reads a body. What went wrong with the connection is kept, because the code that reads may wrap errors as it likes.
struct Body {
    response: Response,
    limit: u64,
    read: u64,
    failure: Option<Failure>,
    /// Time spent in waiting for data and what came in that time, since the window began.
    window: (Duration, u64),
}

impl Body {
    fn new(response: Response, limit: u64) -> Result<Self, Failure> {
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(Failure::lasting(RequestErrorKind::TooLarge { limit }));
        }
        Ok(Self { response, limit, read: 0, failure: None, window: (Duration::ZERO, 0) })
    }

    fn fail(&mut self, failure: Failure, error: io::Error) -> io::Result<usize> {
        self.failure = Some(failure);
        Err(error)
    }

    /// Counts a read; `false` when the server is too slow.
    fn is_fast_enough(&mut self, took: Duration, count: u64) -> bool {
        self.window = (self.window.0 + took, self.window.1 + count);
        if self.window.0 < WINDOW {
            return true;
        }
        let enough = self.window.1 >= MINIMUM;
        self.window = (Duration::ZERO, 0);
        enough
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let started = Instant::now();
        let count = match self.response.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                let kind = match error.downcast::<reqwest::Error>() {
                    Ok(error) => no_response(error),
                    Err(error) => RequestErrorKind::Connection(quote(&error.to_string())),
                };
                return self.fail(Failure::passing(kind), io::ErrorKind::ConnectionAborted.into());
            }
        };
        self.read += count as u64;
        if self.read > self.limit {
            let kind = RequestErrorKind::TooLarge { limit: self.limit };
            return self.fail(Failure::lasting(kind), io::ErrorKind::FileTooLarge.into());
        }
        if count > 0 && !self.is_fast_enough(started.elapsed(), count as u64) {
            return self.fail(Failure::passing(RequestErrorKind::Timeout), io::ErrorKind::TimedOut.into());
        }
        Ok(count)
    }
}
