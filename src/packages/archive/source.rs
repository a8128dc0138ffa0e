//! The bytes of an archive as they arrive, hashed on the way.

use std::io::{self, Read};
use std::ops::Range;

use super::Limits;
use super::error::PackageError;
use super::sha256::Sha256;

/// Bytes that are read at once.
const INPUT: usize = 64 * 1024;
/// Up to this number of bytes are kept, so that an archive that turns out not to be streamable at
/// its first entry, as nearly always, need not be fetched again.
const MOST_KEPT: usize = 2 * INPUT;

/// SHA-256 and number of the bytes of an archive.
#[derive(Clone, Copy)]
pub(super) struct ArchiveSum {
    pub sha256: [u8; 32],
    pub size: u64,
}

/// A buffered reader that computes the SHA-256 of all bytes read.
pub(super) struct Source<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// The part of `buffer` that was read and not yet used.
    unused: Range<usize>,
    sha256: Sha256,
    read: u64,
    limit: u64,
    /// The start of the archive, while it is short.
    kept_start: Option<Vec<u8>>,
}

impl<R: Read> Source<R> {
    pub(super) fn new(reader: R, limits: &Limits) -> Self {
        Self {
            reader,
            buffer: vec![0; INPUT].into_boxed_slice(),
            unused: 0..0,
            sha256: Sha256::new(),
            read: 0,
            limit: limits.archive_bytes,
            kept_start: Some(Vec::new()),
        }
    }

    /// The offset of the first unused byte.
    pub(super) fn offset(&self) -> u64 {
        self.read - self.unused.len() as u64
    }

    /// The unused bytes, after reading if there are none; empty at the end.
    pub(super) fn fill_buffer(&mut self) -> Result<&[u8], PackageError> {
        if self.unused.is_empty() {
            self.unused = 0..0;
            // Full buffers, because short ones cost the inflater time.
            while self.unused.end < INPUT && self.read_more()? > 0 {}
        }
        Ok(&self.buffer[self.unused.clone()])
    }

    /// Marks the first `count` unused bytes as used.
    pub(super) fn consume(&mut self, count: usize) {
        self.unused.start += count;
    }

    /// At least `count` unused bytes, or fewer at the end; `count` must be small.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], PackageError> {
        if self.unused.len() < count {
            self.buffer.copy_within(self.unused.clone(), 0);
            self.unused = 0..self.unused.len();
            while self.unused.len() < count && self.read_more()? > 0 {}
        }
        Ok(&self.buffer[self.unused.clone()])
    }

    /// The next `N` bytes; none if the source ends before.
    pub(super) fn read_array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, PackageError> {
        let array = self.peek(N)?.first_chunk().copied();
        if array.is_some() {
            self.consume(N);
        }
        Ok(array)
    }

    /// The next `count` bytes; none if the source ends before.
    pub(super) fn read_bytes(&mut self, count: usize) -> Result<Option<Vec<u8>>, PackageError> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let available = self.fill_buffer()?;
            if available.is_empty() {
                return Ok(None);
            }
            let taken = available.len().min(count - bytes.len());
            bytes.extend_from_slice(&available[..taken]);
            self.consume(taken);
        }
        Ok(Some(bytes))
    }

    /// Takes all bytes read so far, if they are still kept, and continues after them.
    pub(super) fn take_kept_start(&mut self) -> Option<Vec<u8>> {
        let kept = self.kept_start.take()?;
        self.unused = 0..0;
        Some(kept)
    }

    /// Reads the rest, and passes it to `sink`, after the unused bytes.
    pub(super) fn read_rest(
        &mut self,
        mut sink: impl FnMut(&[u8]) -> Result<(), PackageError>,
    ) -> Result<(), PackageError> {
        loop {
            let bytes = self.fill_buffer()?;
            if bytes.is_empty() {
                return Ok(());
            }
            sink(bytes)?;
            self.unused = 0..0;
        }
    }

    pub(super) fn finish(self) -> ArchiveSum {
        ArchiveSum {
            sha256: self.sha256.finish(),
            size: self.read,
        }
    }

    /// Reads into the buffer, after the unused bytes. Returns the number of bytes; zero at the end.
    fn read_more(&mut self) -> Result<usize, PackageError> {
        let count = loop {
            match self.reader.read(&mut self.buffer[self.unused.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result.map_err(PackageError::Read)?,
            }
        };
        let new = &self.buffer[self.unused.end..self.unused.end + count];
        self.sha256.update(new);
        self.read += count as u64;
        // The server may send more than it has announced.
        if self.read > self.limit {
            return Err(PackageError::TooLarge(self.limit));
        }
        if let Some(start) = &mut self.kept_start {
            if start.len() + count <= MOST_KEPT {
                start.extend_from_slice(new);
            } else {
                self.kept_start = None;
            }
        }
        self.unused.end += count;
        Ok(count)
    }
}
