//! An archive in a file, read through its central directory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::Limits;
use super::central::{self, CentralError, Entry, LOCAL_HEADER, Tail, u16_at, u32_at};
use super::content::{DEFLATE, Extractor, STORED};
use super::contents::{Contents, Hashes};
use super::error::{EntryProblem, PackageError, Refusal};

/// Bytes that are read at once.
const INPUT: usize = 64 * 1024;

/// Hashes the archive that is the whole of `file`.
pub(super) fn hash_by_central_directory(
    file: &mut (impl Read + Seek),
    provider_type: &str,
    limits: &Limits,
) -> Result<Hashes, PackageError> {
    let EndOfArchive { size, start, bytes } = read_end_of_archive(file, limits)?;
    let entries = read_entries(&bytes, start)?;
    let contents = Contents::new(&entries, provider_type, limits)?;
    let mut archive = Archive::new(file, size);
    let mut digests = Vec::with_capacity(entries.len());
    for entry in &entries {
        digests.push(if entry.is_directory {
            [0; 32]
        } else {
            archive.hash_entry(entry)?
        });
    }
    Ok(contents.hashes(&digests))
}

/// Unpacks the archive that is the whole of `file`: calls `place` for each entry, in their order,
/// and writes the content to the returned file. A symbolic link becomes a file that contains its
/// target, as in Go's `archive/zip`.
///
/// # Errors
/// Fails if `place` does, or if the archive, or an entry of it, is damaged or exceeds the limits.
pub(crate) fn unpack<E: From<PackageError> + From<io::Error>>(
    file: &mut (impl Read + Seek),
    limits: &Limits,
    mut place: impl FnMut(&Entry<'_>) -> Result<Option<File>, E>,
) -> Result<(), E> {
    let EndOfArchive { size, start, bytes } = read_end_of_archive(file, limits)?;
    let entries = read_entries(&bytes, start).map_err(PackageError::from)?;
    if entries.is_empty() {
        return Err(PackageError::from(Refusal::Empty).into());
    }
    // Entries may share their data, so even a small archive can take long to read.
    let total = entries.iter().try_fold(0, |total: u64, entry| {
        total.checked_add(entry.size.max(entry.compressed_size))
    });
    if total.is_none_or(|total| total > limits.inflated_bytes) {
        return Err(PackageError::from(Refusal::FilesTooLarge(limits.inflated_bytes)).into());
    }
    let mut archive = Archive::new(file, size);
    for entry in &entries {
        let unpacked = place(entry)?;
        if !entry.is_directory {
            archive.extractor.file = unpacked;
            archive.hash_entry(entry)?;
            archive.extractor.take_write_error()?;
        }
    }
    Ok(())
}

fn read_entries(bytes: &[u8], start: u64) -> Result<Vec<Entry<'_>>, Refusal> {
    central::read_directory(&Tail { bytes, start }).map_err(|error| match error {
        CentralError::NeedsBytesFrom(_) => Refusal::Archive("its central directory is damaged"),
        CentralError::Refused(refusal) => refusal,
    })
}

/// The end of an archive, from its central directory on.
struct EndOfArchive {
    /// Size of the whole archive in bytes.
    size: u64,
    /// Offset of the first of the bytes.
    start: u64,
    bytes: Vec<u8>,
}

/// Reads the last bytes of an archive, as many as it takes to read the central directory.
fn read_end_of_archive(
    file: &mut (impl Read + Seek),
    limits: &Limits,
) -> Result<EndOfArchive, PackageError> {
    let size = file.seek(SeekFrom::End(0)).map_err(PackageError::Read)?;
    let mut start = size.saturating_sub(central::END_WINDOW);
    loop {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))
            .map_err(PackageError::Read)?;
        file.take(size - start)
            .read_to_end(&mut bytes)
            .map_err(PackageError::Read)?;
        match central::read_directory(&Tail {
            bytes: &bytes,
            start,
        }) {
            Err(CentralError::NeedsBytesFrom(offset)) if size - offset > limits.directory_bytes => {
                return Err(Refusal::DirectoryTooLarge(limits.directory_bytes).into());
            }
            // Each time from an earlier offset on, so this ends.
            Err(CentralError::NeedsBytesFrom(offset)) => start = offset,
            _ => return Ok(EndOfArchive { size, start, bytes }),
        }
    }
}

/// A file that entries are read from.
struct Archive<'a, F> {
    file: &'a mut F,
    size: u64,
    extractor: Extractor,
    buffer: Vec<u8>,
}

impl<'a, F: Read + Seek> Archive<'a, F> {
    fn new(file: &'a mut F, size: u64) -> Self {
        Self {
            file,
            size,
            extractor: Extractor::new(),
            buffer: vec![0; INPUT],
        }
    }

    /// The SHA-256 of an entry's content, after its size and CRC-32 were found right.
    fn hash_entry(&mut self, entry: &Entry<'_>) -> Result<[u8; 32], PackageError> {
        match self.sha256_or_problem(entry)? {
            Ok(sha256) => Ok(sha256),
            Err(problem) => Err(Refusal::entry(entry.name, problem).into()),
        }
    }

    /// The SHA-256 of an entry's content, or the problem of the entry. Fails if the file cannot be
    /// read.
    fn sha256_or_problem(
        &mut self,
        entry: &Entry<'_>,
    ) -> Result<Result<[u8; 32], EntryProblem>, PackageError> {
        let Ok(header_offset) = u64::try_from(entry.header_offset) else {
            return Ok(Err(EntryProblem::LocalHeader));
        };
        let header = match self.read_at::<30>(header_offset)? {
            Some(header) if header.starts_with(&LOCAL_HEADER) => header,
            _ => return Ok(Err(EntryProblem::LocalHeader)),
        };
        let body_offset =
            header_offset + 30 + u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));

        // The local header is not read further: the central directory decides about sizes and
        // methods.
        let extracted = match entry.method {
            STORED | DEFLATE => self.extract_content(entry, body_offset)?,
            method => Err(EntryProblem::Method(method)),
        };
        if let Err(problem) = extracted {
            return Ok(Err(problem));
        }
        let content = self.extractor.finish_entry();

        let mut descriptor_crc32 = None;
        if entry.has_descriptor {
            let descriptor_offset = body_offset.saturating_add(entry.compressed_size);
            descriptor_crc32 = self.read_descriptor_crc32(descriptor_offset)?;
            if descriptor_crc32.is_none() {
                return Ok(Err(EntryProblem::Truncated));
            }
        }
        Ok(content
            .check_against(entry, descriptor_crc32)
            .map(|()| content.sha256))
    }

    /// Hashes and writes the content of the entry, whose data is at `offset`. Returns the problem
    /// of the entry, or fails if the file cannot be read.
    fn extract_content(
        &mut self,
        entry: &Entry<'_>,
        offset: u64,
    ) -> Result<Result<(), EntryProblem>, PackageError> {
        let mut left = entry.compressed_size.min(self.size.saturating_sub(offset));
        if left > 0 {
            self.file
                .seek(SeekFrom::Start(offset))
                .map_err(PackageError::Read)?;
        }
        while left > 0 {
            let count = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(self.buffer.len());
            let input = &mut self.buffer[..count];
            self.file.read_exact(input).map_err(PackageError::Read)?;
            left -= count as u64;
            if entry.method == STORED {
                self.extractor.take_uncompressed(input);
                continue;
            }
            // Data after the end of the stream does not belong to the file.
            match self.extractor.inflate(input, entry.size) {
                Ok(inflated) if inflated.has_ended => return Ok(Ok(())),
                Ok(_) => {}
                Err(problem) => return Ok(Err(problem)),
            }
        }
        // Only a deflate stream has an end of its own, which was not reached.
        Ok(match entry.method {
            STORED => Ok(()),
            _ => Err(EntryProblem::Truncated),
        })
    }

    /// The CRC-32 in the data descriptor at `offset`, which may start with a signature; none if the
    /// file ends before.
    fn read_descriptor_crc32(&mut self, offset: u64) -> Result<Option<u32>, PackageError> {
        if let Some(descriptor) = self.read_at::<16>(offset)?
            && descriptor.starts_with(b"PK\x07\x08")
        {
            return Ok(Some(u32_at(&descriptor, 4)));
        }
        Ok(self
            .read_at::<12>(offset)?
            .map(|descriptor| u32_at(&descriptor, 0)))
    }

    /// The `N` bytes at `offset`; none if the file ends before.
    fn read_at<const N: usize>(&mut self, offset: u64) -> Result<Option<[u8; N]>, PackageError> {
        if offset
            .checked_add(N as u64)
            .is_none_or(|end| end > self.size)
        {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.file
            .seek(SeekFrom::Start(offset))
            .map_err(PackageError::Read)?;
        self.file
            .read_exact(&mut bytes)
            .map_err(PackageError::Read)?;
        Ok(Some(bytes))
    }
}
