//! Inflates, hashes and checks the content of an entry in one pass.

use std::fs::File;
use std::io::{self, Write as _};

use flate2::{Decompress, FlushDecompress, Status};

use super::central::Entry;
use super::error::EntryProblem;
use super::sha256::Sha256;

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATE: u16 = 8;

/// Bytes of inflated data that are hashed at once. Fits into the cache of a core together with its
/// input.
const OUTPUT: usize = 128 * 1024;

/// Checksums and size of an entry's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) sha256: [u8; 32],
    pub(super) crc32: u32,
    /// Uncompressed bytes.
    pub(super) size: u64,
}

/// Progress of inflating.
pub(super) struct Inflated {
    /// The number of bytes of the input that were used.
    pub(super) used: usize,
    /// Whether the deflate stream has ended.
    pub(super) has_ended: bool,
}

/// Takes the content of one entry after the other.
pub(super) struct Extractor {
    inflater: Decompress,
    output: Box<[u8]>,
    sha256: Sha256,
    crc32: crc32fast::Hasher,
    size: u64,
    /// The content of the current entry is written to it.
    pub(super) file: Option<File>,
    written: io::Result<()>,
}

impl Extractor {
    pub(super) fn new() -> Self {
        Self {
            inflater: Decompress::new(false),
            output: vec![0; OUTPUT].into_boxed_slice(),
            sha256: Sha256::new(),
            crc32: crc32fast::Hasher::new(),
            size: 0,
            file: None,
            written: Ok(()),
        }
    }

    /// The first error of writing since the last call, if there was one.
    pub(super) fn take_write_error(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.written, Ok(()))
    }

    /// Uncompressed bytes of the current entry so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Hashes content that is not compressed, and writes it to the file of the entry.
    pub(super) fn take_uncompressed(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.crc32.update(bytes);
        self.size += bytes.len() as u64;
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            (self.written, self.file) = (Err(error), None);
        }
    }

    /// Hashes and writes compressed content of the entry.
    ///
    /// # Errors
    /// The data is damaged, or the entry has more than `limit` uncompressed bytes.
    pub(super) fn inflate(&mut self, input: &[u8], limit: u64) -> Result<Inflated, EntryProblem> {
        let mut used = 0;
        let mut output = std::mem::take(&mut self.output);
        let result = loop {
            let before_in = self.inflater.total_in();
            let before_out = self.inflater.total_out();
            let status =
                self.inflater
                    .decompress(&input[used..], &mut output, FlushDecompress::None);
            let Ok(status) = status else {
                break Err(EntryProblem::Deflate);
            };
            let taken = as_length(self.inflater.total_in() - before_in);
            let made = as_length(self.inflater.total_out() - before_out);
            used += taken;
            self.take_uncompressed(&output[..made]);
            if status == Status::StreamEnd {
                break Ok(Inflated {
                    used,
                    has_ended: true,
                });
            }
            // A bomb is not inflated beyond the size that its entry has.
            if self.size > limit {
                break Err(EntryProblem::Size);
            }
            // A full buffer may leave output in the inflater, although the input is used up.
            let drained = made < output.len();
            if used == input.len() && drained {
                break Ok(Inflated {
                    used,
                    has_ended: false,
                });
            }
            // Damaged data could keep this loop running without progress.
            if taken == 0 && made == 0 {
                break Err(EntryProblem::Deflate);
            }
        };
        self.output = output;
        result
    }

    /// Ends the entry, returns its checksums, and makes ready for the next.
    pub(super) fn finish_entry(&mut self) -> Content {
        self.inflater.reset(false);
        self.file = None;
        Content {
            sha256: std::mem::replace(&mut self.sha256, Sha256::new()).finish(),
            crc32: std::mem::take(&mut self.crc32).finalize(),
            size: std::mem::take(&mut self.size),
        }
    }
}

/// A number of bytes that are in memory.
fn as_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Content {
    /// Checks that this is the content that the central directory describes. As in Go's
    /// `archive/zip`, a CRC-32 of zero is not compared unless a data descriptor gives the CRC-32.
    pub(super) fn check_against(
        &self,
        entry: &Entry<'_>,
        descriptor_crc32: Option<u32>,
    ) -> Result<(), EntryProblem> {
        if self.size != entry.size {
            return Err(EntryProblem::Size);
        }
        if entry.crc32 == 0 && descriptor_crc32.is_none() {
            return Ok(());
        }
        if self.crc32 != entry.crc32 || descriptor_crc32.is_some_and(|crc32| crc32 != entry.crc32) {
            return Err(EntryProblem::Checksum);
        }
        Ok(())
    }
}
