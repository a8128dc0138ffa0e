//! The body of a response, read under a size cap.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Instant;

use reqwest::blocking::Response;

use super::error::{RequestErrorKind, no_response_error, quote};
use super::memory::{Memory, SMALL};
use super::observer::Pending;
use super::pace::Pace;
use super::retry::Failure;
use crate::system::parallel::Permit;

/// The whole body of a response, at most `limit` bytes.
pub(crate) fn read_whole(response: Response, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // `Body` keeps the error.
    let _ = read_with(response, limit, |body, _| body.read_to_end(&mut bytes))?;
    Ok(bytes)
}

/// Reads the whole body, as [`read_whole`] does. A large body first waits until there is memory for
/// it and for decoding it; a small one needs no permit.
pub(super) fn read_reserving_memory(
    response: Response,
    limit: u64,
    memory: &Memory,
) -> Result<(Vec<u8>, Option<Permit<'_>>), Failure> {
    let mut bytes = Vec::new();
    let mut reserved = None;
    let _ = read_with(response, limit, |body, _| {
        if Read::take(&mut *body, SMALL).read_to_end(&mut bytes)? as u64 == SMALL {
            reserved = Some(memory.reserve(limit));
            body.read_to_end(&mut bytes)?;
        }
        io::Result::Ok(())
    })?;
    Ok((bytes, reserved))
}

/// Hands the body of a response, at most `limit` bytes, to `consume`, with its length if that is
/// known. A failure to read the body is an error, whatever `consume` returns.
pub(crate) fn read_with<T>(
    response: Response,
    limit: u64,
    consume: impl FnOnce(&mut dyn Read, Option<u64>) -> T,
) -> Result<T, Failure> {
    let length = response.content_length();
    let mut body = Body::new(response, limit, Pace::default())?;
    let consumed = consume(&mut body, length);
    body.failure.map_or(Ok(consumed), Err)
}

/// A body that keeps the connection's error, because the reader may wrap errors.
pub(super) struct Body {
    response: Response,
    /// The report that counts the bytes.
    pending: Option<Arc<Pending>>,
    limit: u64,
    pub(super) bytes_read: u64,
    pub(super) failure: Option<Failure>,
    pace: Pace,
}

impl Body {
    pub(super) fn new(response: Response, limit: u64, pace: Pace) -> Result<Self, Failure> {
        if response
            .content_length()
            .is_some_and(|length| length > limit)
        {
            return Err(Failure::permanent(RequestErrorKind::TooLarge { limit }));
        }
        let pending = Pending::of(&response);
        Ok(Self {
            response,
            pending,
            limit,
            bytes_read: 0,
            failure: None,
            pace,
        })
    }

    /// Keeps the failure, and returns the error for the reader.
    fn keep_failure(&mut self, failure: Failure, error: io::Error) -> io::Result<usize> {
        self.failure = Some(failure);
        Err(error)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A reader that ignores the error must not take the next read for the end of the body.
        if self.failure.is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let started = Instant::now();
        let count = match self.response.read(buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                let kind = match error.downcast::<reqwest::Error>() {
                    Ok(error) => no_response_error(error),
                    Err(error) => RequestErrorKind::Connection(quote(&error.to_string())),
                };
                return self.keep_failure(
                    Failure::temporary(kind),
                    io::ErrorKind::ConnectionAborted.into(),
                );
            }
        };
        self.bytes_read += count as u64;
        if let Some(pending) = &self.pending {
            pending.add(count as u64);
        }
        if self.bytes_read > self.limit {
            let kind = RequestErrorKind::TooLarge { limit: self.limit };
            return self.keep_failure(Failure::permanent(kind), io::ErrorKind::FileTooLarge.into());
        }
        // A body that has ended is complete, however slow it was.
        match self.pace.count_and_check(started.elapsed(), count as u64) {
            Err(failure) if count > 0 => self.keep_failure(failure, io::ErrorKind::TimedOut.into()),
            _ => Ok(count),
        }
    }
}
