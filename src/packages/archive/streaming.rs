//! Hashes an archive in one pass while it arrives.
//!
//! The local headers say where entries start and how they are packed, but they are not trusted: the
//! inflated bytes are used only if the central directory, which comes last, describes the same
//! entries at the same offsets. Then the central directory points to exactly these bytes, so the
//! answer is the same as from [`super::seeking`]. In all other cases, harmless or not, the archive
//! is not streamable and the central directory is read first.

use std::io::Read;

use super::Limits;
use super::central::{
    self, CENTRAL_HEADER, CentralError, END, Entry, LOCAL_HEADER, Tail, u16_at, u32_at, u64_at,
};
use super::content::{Content, DEFLATE, Extractor, STORED};
use super::contents::{Contents, Hashes};
use super::error::{EntryProblem, PackageError, Refusal};
use super::source::Source;

/// The longest data descriptor: signature, CRC-32 and two sizes of 64 bits.
const LONGEST_DESCRIPTOR: usize = 24;
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// An entry found by its local header.
struct Streamed {
    name: Vec<u8>,
    method: u16,
    has_descriptor: bool,
    header_offset: u64,
    compressed_size: u64,
    content: Content,
}

/// Hashes the archive that `source` yields. [`PackageError::NotStreamable`] does not mean that it
/// is invalid.
pub(super) fn hash_in_one_pass<R: Read>(
    source: &mut Source<R>,
    provider_type: &str,
    limits: &Limits,
) -> Result<Hashes, PackageError> {
    let streamed = read_entries(source, limits)?;
    let start = source.offset();
    let mut bytes = Vec::new();
    // The rest of the archive is the central directory.
    source.read_rest(|more| {
        if (bytes.len() + more.len()) as u64 > limits.directory_bytes {
            return Err(PackageError::NotStreamable("much data follows its entries"));
        }
        bytes.extend_from_slice(more);
        Ok(())
    })?;
    let entries = central::read_directory(&Tail {
        bytes: &bytes,
        start,
    })
    .map_err(|error| match error {
        CentralError::NeedsBytesFrom(_) => {
            PackageError::NotStreamable("its central directory does not follow its entries")
        }
        CentralError::Refused(refusal) => refusal.into(),
    })?;
    let contents = Contents::new(&entries, provider_type, limits)?;
    // What was hashed on the way must be what the central directory lists, since Go reads only
    // that.
    if entries.len() != streamed.len()
        || !entries
            .iter()
            .zip(&streamed)
            .all(|(entry, streamed)| streamed.is_described_by(entry))
    {
        return Err(PackageError::NotStreamable(
            "its entries differ from its central directory",
        ));
    }
    let mut digests = Vec::with_capacity(entries.len());
    for (
        entry,
        Streamed {
            has_descriptor,
            content,
            ..
        },
    ) in entries.iter().zip(&streamed)
    {
        if !entry.is_directory {
            // A descriptor with a different CRC-32 has been refused while reading.
            let descriptor_crc32 = has_descriptor.then_some(content.crc32);
            content
                .check_against(entry, descriptor_crc32)
                .map_err(|problem| Refusal::entry(entry.name, problem))?;
        }
        digests.push(content.sha256);
    }
    Ok(contents.hashes(&digests))
}

/// Reads entry after entry, up to the central directory.
fn read_entries<R: Read>(
    source: &mut Source<R>,
    limits: &Limits,
) -> Result<Vec<Streamed>, PackageError> {
    let mut extractor = Extractor::new();
    let mut streamed = Vec::new();
    let mut inflated_left = limits.inflated_bytes;
    let mut names_left = limits.directory_bytes;
    loop {
        let next = source.peek(4)?;
        if next.starts_with(&CENTRAL_HEADER) || next.starts_with(&END) {
            return Ok(streamed);
        }
        if !next.starts_with(&LOCAL_HEADER) {
            return Err(PackageError::NotStreamable(
                "its entries do not follow each other",
            ));
        }
        let entry = read_entry(source, &mut extractor, inflated_left)?;
        // A central header is 46 bytes and the name.
        let left = names_left.checked_sub(46 + entry.name.len() as u64);
        names_left = left.ok_or(PackageError::NotStreamable("it has too many entries"))?;
        inflated_left = inflated_left.saturating_sub(entry.content.size);
        streamed.push(entry);
    }
}

/// Reads an entry from its local header on, extracts it, and skips its data descriptor.
fn read_entry<R: Read>(
    source: &mut Source<R>,
    extractor: &mut Extractor,
    inflated_left: u64,
) -> Result<Streamed, PackageError> {
    const CUT_OFF: PackageError = PackageError::NotStreamable("an entry is truncated");
    let header_offset = source.offset();
    let header = source.read_array::<30>()?.ok_or(CUT_OFF)?;
    let name = source
        .read_bytes(usize::from(u16_at(&header, 26)))?
        .ok_or(CUT_OFF)?;
    let extra = source
        .read_bytes(usize::from(u16_at(&header, 28)))?
        .ok_or(CUT_OFF)?;
    let has_descriptor = u16_at(&header, 6) & 8 != 0;
    let method = u16_at(&header, 8);
    let body_offset = source.offset();
    match method {
        DEFLATE => take_compressed(source, extractor, inflated_left)?,
        // The length follows the content, which has no end of its own.
        STORED if has_descriptor => {
            return Err(PackageError::NotStreamable(
                "an entry's length is not known",
            ));
        }
        STORED => {
            // Uncompressed and compressed, in the order of the zip64 field.
            let mut sizes = [
                u64::from(u32_at(&header, 22)),
                u64::from(u32_at(&header, 18)),
            ];
            central::read_zip64_extra(&extra, &mut sizes).ok_or(CUT_OFF)?;
            let [_, size] = sizes;
            take_stored(source, extractor, size)?;
        }
        _ => {
            return Err(PackageError::NotStreamable(
                "an entry is compressed by another method",
            ));
        }
    }
    let compressed_size = source.offset() - body_offset;
    let content = extractor.finish_entry();
    if has_descriptor {
        let length = descriptor_length(
            source.peek(LONGEST_DESCRIPTOR + 2)?,
            &content,
            compressed_size,
        );
        source.consume(length.ok_or(PackageError::NotStreamable(
            "a data descriptor is not as expected",
        ))?);
    }
    Ok(Streamed {
        name,
        method,
        has_descriptor,
        header_offset,
        compressed_size,
        content,
    })
}

/// Extracts a compressed entry, of at most `limit` uncompressed bytes.
fn take_compressed<R: Read>(
    source: &mut Source<R>,
    extractor: &mut Extractor,
    limit: u64,
) -> Result<(), PackageError> {
    loop {
        let input = source.fill_buffer()?;
        if input.is_empty() {
            return Err(PackageError::NotStreamable("an entry is truncated"));
        }
        let inflated = match extractor.inflate(input, limit) {
            Ok(inflated) => inflated,
            Err(EntryProblem::Size) => {
                return Err(PackageError::NotStreamable("its entries are very large"));
            }
            Err(_) => return Err(PackageError::NotStreamable("an entry is damaged")),
        };
        source.consume(inflated.used);
        if inflated.has_ended {
            return Ok(());
        }
    }
}

/// Extracts an entry that is not compressed, of `size` bytes.
fn take_stored<R: Read>(
    source: &mut Source<R>,
    extractor: &mut Extractor,
    size: u64,
) -> Result<(), PackageError> {
    while extractor.size() < size {
        let input = source.fill_buffer()?;
        if input.is_empty() {
            return Err(PackageError::NotStreamable("an entry is truncated"));
        }
        let left = usize::try_from(size - extractor.size()).unwrap_or(usize::MAX);
        let used = input.len().min(left);
        extractor.take_uncompressed(&input[..used]);
        source.consume(used);
    }
    Ok(())
}

/// The length of the data descriptor at the start of `bytes`, which must match the content: CRC-32,
/// compressed and uncompressed size. It may start with a signature, its sizes have 32 or 64 bits,
/// and another record follows.
fn descriptor_length(bytes: &[u8], content: &Content, compressed_size: u64) -> Option<usize> {
    let signature = if bytes.starts_with(DESCRIPTOR) { 4 } else { 0 };
    let fields = &bytes[signature..];
    let has_narrow_sizes = fields.len() >= 12
        && u64::from(u32_at(fields, 4)) == compressed_size
        && u64::from(u32_at(fields, 8)) == content.size;
    let has_wide_sizes = fields.len() >= 20
        && u64_at(fields, 4) == compressed_size
        && u64_at(fields, 12) == content.size;
    for (has_sizes, length) in [(has_narrow_sizes, 12), (has_wide_sizes, 20)] {
        if has_sizes && u32_at(fields, 0) == content.crc32 && fields[length..].starts_with(b"PK") {
            return Some(signature + length);
        }
    }
    None
}

impl Streamed {
    /// Whether the entry of the central directory describes this one, so that both mean the same
    /// content.
    fn is_described_by(&self, entry: &Entry<'_>) -> bool {
        self.name == entry.name
            && self.method == entry.method
            && self.has_descriptor == entry.has_descriptor
            && self.compressed_size == entry.compressed_size
            && u64::try_from(entry.header_offset) == Ok(self.header_offset)
    }
}
