//! The central directory of a zip archive, read from the archive's last bytes.
//!
//! This is a pure function of bytes, so that the same code checks an archive that arrives from the
//! network and an archive in a file. The rules follow Go's `archive/zip`, with which OpenTofu and
//! Terraform read packages: only the central directory is used, bytes before and after the archive
//! are tolerated, numbers of entries are compared modulo 2^16. An archive that versions of Go read
//! differently is refused, because its hash would depend on the program that computes it.
//!
//! The `zip` crate is not used, because it does not accept what Go accepts. Of the 109 recorded
//! archives in `testdata/packages`, zip 9.4.1 accepts an archive that Terraform refuses. Of 10,000
//! generated archives without damage it refuses 191 that are valid; of the same 10,000 with damaged
//! bytes it refuses 1,011 that this reader accepts, accepts 593 that this reader refuses, and reads
//! other entries from one (`tests/central.rs` counts them). Where Go reads headers until one is not
//! valid and then compares their number, it trusts the number in the end record; where Go takes the
//! last end record, it goes on to an earlier one; and it replaces names by an extra field's
//! (0x7075). Its reader that keeps entries of the same name is in `zip::unstable`, which may change
//! with each patch.

use super::error::{EntryProblem, Refusal};

pub(super) const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";
pub(super) const CENTRAL_HEADER: [u8; 4] = *b"PK\x01\x02";
pub(super) const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
/// The tag of the extra field with 64-bit values.
const ZIP64: u16 = 1;

/// Number of bytes at the end of the archive that may contain the end record.
pub(super) const END_WINDOW: u64 = 65 * 1024;

/// An entry of the central directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Its name as it is.
    pub(crate) name: &'a [u8],
    pub(super) method: u16,
    /// A data descriptor follows the entry's data.
    pub(super) has_descriptor: bool,
    /// By its name or by its mode.
    pub(crate) is_directory: bool,
    /// Whether its owner may execute it.
    pub(crate) is_executable: bool,
    pub(super) crc32: u32,
    pub(super) compressed_size: u64,
    pub(super) size: u64,
    /// Offset of the local header from the first byte of the file. It may be negative in a bad
    /// archive.
    pub(super) header_offset: i64,
    /// Number of its zip64 extra fields. If there are several, versions of Go use different ones.
    zip64_fields: usize,
}

/// The reason why the central directory could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CentralError {
    /// The bytes from this offset on are needed.
    NeedsBytesFrom(u64),
    /// The archive is not valid.
    Refused(Refusal),
}

/// The last bytes of an archive.
#[derive(Clone, Copy)]
pub(super) struct Tail<'a> {
    pub(super) bytes: &'a [u8],
    /// The offset of the first of these bytes.
    pub(super) start: u64,
}

struct End {
    records: u64,
    directory_size: u64,
    directory_offset: u64,
    /// The offset of this record, where the directory must end.
    offset: u64,
}

fn refuse<T>(reason: &'static str) -> Result<T, CentralError> {
    Err(CentralError::Refused(Refusal::Archive(reason)))
}

/// Reads the entries in the central directory. Their offsets count from the start of the archive.
pub(super) fn read_directory<'a>(tail: &Tail<'a>) -> Result<Vec<Entry<'a>>, CentralError> {
    let end = find_end(tail)?;
    let (offset, base) = locate_directory(tail, &end)?;
    let mut rest = tail.bytes_from(offset)?;
    let mut entries = Vec::new();
    while let Some((mut entry, after)) = read_header(rest) {
        // Versions of Go use the first or the last of several such fields.
        if entry.zip64_fields > 1 {
            let refusal = Refusal::entry(entry.name, EntryProblem::SecondZip64Field);
            return Err(CentralError::Refused(refusal));
        }
        entry.header_offset = entry.header_offset.wrapping_add(base);
        entries.push(entry);
        rest = after;
    }
    // The bytes after the directory must exist, at least the end record.
    if rest.is_empty() || entries.len() as u64 & 0xffff != end.records & 0xffff {
        return refuse("its central directory is damaged");
    }
    Ok(entries)
}

/// Offset of the directory, and a correction for all offsets in it because of bytes before the
/// archive.
fn locate_directory(tail: &Tail<'_>, end: &End) -> Result<(u64, i64), CentralError> {
    let directory_offset = end.directory_offset.cast_signed();
    let base = end
        .offset
        .cast_signed()
        .wrapping_sub(end.directory_size.cast_signed())
        .wrapping_sub(directory_offset);
    let start = match u64::try_from(base.wrapping_add(directory_offset)) {
        Ok(start) if start < tail.size() => start,
        _ => return refuse("its central directory is outside of it"),
    };
    // Some writers put bytes before the archive and include them in the offsets, others do not.
    if base > 0
        && directory_offset >= 0
        && read_header(tail.bytes_from(end.directory_offset)?).is_some()
    {
        return Ok((end.directory_offset, 0));
    }
    Ok((start, base))
}

/// Finds the end record: the last one in the file, or the zip64 record to which it refers if a
/// number does not fit.
///
/// # Errors
/// The archive is damaged, versions of Go read it differently, or the record is before the bytes in
/// `tail`.
fn find_end(tail: &Tail<'_>) -> Result<End, CentralError> {
    let window_start = tail.size().saturating_sub(END_WINDOW);
    let first = usize::try_from(window_start.saturating_sub(tail.start)).unwrap_or(usize::MAX);
    let window = tail.bytes.get(first..).unwrap_or_default();
    // Go, too, takes the last signature as the end record, which a comment may follow.
    let end_record = window
        .windows(22)
        .rposition(|record| record.starts_with(&END));
    let Some(position) = end_record else {
        return if tail.start > window_start {
            Err(CentralError::NeedsBytesFrom(window_start))
        } else {
            refuse("it has no end record, so it may be truncated")
        };
    };
    let record = &window[position..];
    if usize::from(u16_at(record, 20)) > record.len() - 22 {
        return refuse("its comment is truncated");
    }
    let end = End {
        records: u64::from(u16_at(record, 10)),
        directory_size: u64::from(u32_at(record, 12)),
        directory_offset: u64::from(u32_at(record, 16)),
        offset: tail.size() - record.len() as u64,
    };
    let overflows = end.records == 0xffff || end.directory_offset == 0xffff_ffff;
    // Go compared the size with 0xffff by mistake, later versions compare it with 0xffffffff.
    let overflows_for_some = matches!(end.directory_size, 0xffff | 0xffff_ffff);
    if !overflows && !overflows_for_some {
        return Ok(end);
    }
    // Without a locator, the values are what they are: a directory may have 65,535 entries.
    match find_locator_64(tail, &end)? {
        None => Ok(end),
        Some(_) if !overflows => {
            refuse("some versions of Go read its zip64 end record, and others do not")
        }
        Some(offset) => read_end_64(tail, offset),
    }
}

/// The offset of the zip64 end record, if it exists.
fn find_locator_64(tail: &Tail<'_>, end: &End) -> Result<Option<u64>, CentralError> {
    let Some(locator_offset) = end.offset.checked_sub(20) else {
        return Ok(None);
    };
    let locator = tail.bytes_from(locator_offset)?;
    let is_locator =
        locator.starts_with(&LOCATOR_64) && u32_at(locator, 4) == 0 && u32_at(locator, 16) == 1;
    Ok(is_locator.then(|| u64_at(locator, 8)))
}

fn read_end_64(tail: &Tail<'_>, offset: u64) -> Result<End, CentralError> {
    let record = tail.bytes_from(offset)?;
    if record.len() < 56 || !record.starts_with(&END_64) {
        return refuse("its zip64 end record is missing");
    }
    Ok(End {
        records: u64_at(record, 32),
        directory_size: u64_at(record, 40),
        directory_offset: u64_at(record, 48),
        offset,
    })
}

/// The header at the start of `bytes`, and the bytes after it; `None` without a complete and valid
/// header.
fn read_header(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    if bytes.len() < 46 || !bytes.starts_with(&CENTRAL_HEADER) {
        return None;
    }
    let name_length = usize::from(u16_at(bytes, 28));
    let extra_length = usize::from(u16_at(bytes, 30));
    let comment_length = usize::from(u16_at(bytes, 32));
    let (name, after_name) = bytes[46..].split_at_checked(name_length)?;
    let (extra, after_extra) = after_name.split_at_checked(extra_length)?;
    let (_comment, after_header) = after_extra.split_at_checked(comment_length)?;

    // In the order of the zip64 field.
    let mut numbers = [
        u64::from(u32_at(bytes, 24)),
        u64::from(u32_at(bytes, 20)),
        u64::from(u32_at(bytes, 42)),
    ];
    let [_, lacks_compressed_size, lacks_offset] = read_zip64_extra(extra, &mut numbers)?;
    // Without its compressed size or its offset, an entry cannot be found.
    if lacks_compressed_size || lacks_offset {
        return None;
    }
    let [size, compressed_size, header_offset] = numbers;
    let entry = Entry {
        name,
        method: u16_at(bytes, 10),
        has_descriptor: u16_at(bytes, 8) & 8 != 0,
        is_directory: name.ends_with(b"/") || is_directory_mode(bytes[5], u32_at(bytes, 38)),
        is_executable: is_unix(bytes[5]) && u32_at(bytes, 38) >> 16 & 0o100 != 0,
        crc32: u32_at(bytes, 16),
        compressed_size,
        size,
        header_offset: header_offset.cast_signed(),
        zip64_fields: extra_fields(extra).filter(|(tag, _)| *tag == ZIP64).count(),
    };
    Some((entry, after_header))
}

/// Replaces the values whose bits are all ones by the values of the zip64 extra field, in their
/// order. Returns for each value whether it is still missing, or `None` if the field is too short.
pub(super) fn read_zip64_extra<const N: usize>(
    extra: &[u8],
    values: &mut [u64; N],
) -> Option<[bool; N]> {
    let mut missing = values.map(|value| value == 0xffff_ffff);
    for (_, mut field) in extra_fields(extra).filter(|(tag, _)| *tag == ZIP64) {
        for (value, missing) in values.iter_mut().zip(&mut missing) {
            if std::mem::take(missing) {
                let (first, rest) = field.split_first_chunk()?;
                *value = u64::from_le_bytes(*first);
                field = rest;
            }
        }
    }
    Some(missing)
}

/// The complete fields of an extra block, each with its tag.
fn extra_fields(mut extra: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let tag = u16_at(extra.get(..4)?, 0);
        let length = usize::from(u16_at(extra, 2));
        let (field, rest) = extra[4..].split_at_checked(length)?;
        extra = rest;
        Some((tag, field))
    })
}

/// Whether this system's external attributes contain a Unix mode: Unix and macOS.
fn is_unix(system: u8) -> bool {
    matches!(system, 3 | 19)
}

/// Whether the external attributes describe a directory, in the form of the system that made the
/// entry.
fn is_directory_mode(system: u8, attributes: u32) -> bool {
    match system {
        _ if is_unix(system) => attributes >> 28 == 4,
        // FAT, NTFS, VFAT
        0 | 11 | 14 => attributes & 0x10 != 0,
        _ => false,
    }
}

impl<'a> Tail<'a> {
    /// The size of the whole archive.
    fn size(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The bytes from an offset on; none if it is after the end. An error if the tail starts later.
    fn bytes_from(&self, offset: u64) -> Result<&'a [u8], CentralError> {
        let position = offset
            .checked_sub(self.start)
            .ok_or(CentralError::NeedsBytesFrom(offset))?;
        Ok(usize::try_from(position)
            .ok()
            .and_then(|position| self.bytes.get(position..))
            .unwrap_or_default())
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
