//! Archives of modules.

mod streams;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use tar::{EntryType, Header, PaxExtensions};

use super::fetch_error::{FetchError, FetchResult};
use super::limits::is_configuration;
use super::package_writer::PackageWriter;
use crate::packages::archive::{Entry, Limits, PackageError, Refusal, unpack as unpack_zip};
use crate::provider::Dialect;
use crate::system::lock;
use streams::Streams;

/// Longest extended header in bytes: a name or the target of a link.
const LONGEST_HEADER: u64 = 64 * 1024;
/// Memory limit for unpacking xz in KiB: as much as `xz -9` makes it need, and 1 MiB more.
const MOST_XZ_MEMORY: u32 = 65 << 10;

/// Held while an xz archive is unpacked, so that several of them need no more memory than one.
static UNPACKING_XZ: Mutex<()> = Mutex::new(());

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Zip,
    TarGzip,
    TarBzip2,
    TarXz,
}

impl Format {
    /// Returns the format with a name, as in `archive=NAME`. Only Terraform knows `tbz2`.
    pub(super) fn of_name(name: &str, dialect: Dialect) -> Option<Self> {
        match name {
            "zip" => Some(Self::Zip),
            "tar.gz" | "tgz" => Some(Self::TarGzip),
            "tar.bz2" => Some(Self::TarBzip2),
            "tbz2" if dialect == Dialect::Terraform => Some(Self::TarBzip2),
            "tar.xz" | "txz" => Some(Self::TarXz),
            _ => None,
        }
    }

    /// Returns the format of the extension of a path.
    pub(super) fn of_path(path: &str, dialect: Dialect) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        name.match_indices('.')
            .find_map(|(index, _)| Self::of_name(&name[index + 1..], dialect))
    }

    /// Whether a path or the value of `archive=` names a single compressed file, which is no
    /// package.
    pub(super) fn is_single_file(name: &str) -> bool {
        matches!(name.rsplit('.').next(), Some("gz" | "bz2" | "xz"))
    }

    /// Returns the format of an archive that begins with these bytes.
    pub(super) fn of_content(start: &[u8]) -> Option<Self> {
        let signatures: [(&[u8], Self); 5] = [
            (b"PK\x03\x04", Self::Zip),
            (b"PK\x05\x06", Self::Zip),
            (b"\x1f\x8b", Self::TarGzip),
            (b"BZh", Self::TarBzip2),
            (b"\xfd7zXZ\0", Self::TarXz),
        ];
        signatures
            .into_iter()
            .find(|(signature, _)| start.starts_with(signature))
            .map(|(_, format)| format)
    }
}

/// Unpacks an archive of at most `most` bytes into an empty directory, as Go's `archive/tar` and
/// `archive/zip` and go-getter do (`decompress_tar.go`, `decompress_zip.go`). Neither creates
/// links: a link of a zip archive becomes a file with its target, and any other entry without
/// content, such as a link or a pipe of a tar archive, an empty file. An archive that Go may read
/// differently is refused. The whole archive is read, so that damage is noticed. Returns why the
/// package cannot be locked, if it cannot.
pub(super) fn unpack(
    archive: File,
    format: Format,
    most: u64,
    package: &Path,
) -> FetchResult<Option<FetchError>> {
    let mut writer = PackageWriter::new(package);
    let archive = io::BufReader::new(archive);
    match format {
        Format::Zip => unzip(archive, most, &mut writer)?,
        Format::TarGzip => untar(
            Streams::new(archive, GzDecoder::new, GzDecoder::into_inner),
            most,
            &mut writer,
        )?,
        Format::TarBzip2 => untar(
            Streams::new(archive, BzDecoder::new, BzDecoder::into_inner),
            most,
            &mut writer,
        )?,
        Format::TarXz => {
            // One at a time, because the dictionary of each may take much memory.
            let _turn = lock(&UNPACKING_XZ);
            untar(
                XzReader::new_mem_limit(archive, true, MOST_XZ_MEMORY),
                most,
                &mut writer,
            )?;
        }
    }
    writer.finish()
}

fn unzip(
    mut archive: io::BufReader<File>,
    most: u64,
    writer: &mut PackageWriter,
) -> FetchResult<()> {
    let limits = Limits {
        inflated_bytes: most,
        ..Limits::default()
    };
    unpack_zip(&mut archive, &limits, |entry: &Entry<'_>| {
        let name = text(entry.name.to_vec())?;
        if entry.is_directory {
            return writer.add_directory(&name).map(|()| None);
        }
        writer.create_file(&name, entry.is_executable)
    })
}

/// Unpacks a tar archive of at most `most` bytes.
///
/// # Errors
/// It is empty or damaged, or Go may read it differently than the crate `tar`.
fn untar(decompressed: impl Read, most: u64, writer: &mut PackageWriter) -> FetchResult<()> {
    let mut archive = tar::Archive::new(Capped {
        reader: decompressed,
        left: most,
    });
    let mut extended = Extended::default();
    let mut is_empty = true;
    // Extended headers are read here, since the crate reads them differently than Go.
    for entry in archive.entries().map_err(FetchError::reading)?.raw(true) {
        let mut entry = entry.map_err(FetchError::reading)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => set_once(&mut extended.gnu_name, gnu_text(&mut entry)?)?,
            EntryType::GNULongLink => set_once(&mut extended.gnu_target, gnu_text(&mut entry)?)?,
            EntryType::XHeader => {
                set_once(&mut extended.pax, Pax::read(&read_content(&mut entry)?)?)?;
            }
            // Go ignores what came before it, so it is not clear which entry that belongs to.
            EntryType::XGlobalHeader if extended == Extended::default() => {}
            EntryType::XGlobalHeader => {
                return Err(FetchError::unreadable("an extended header has no entry"));
            }
            kind => {
                is_empty = false;
                let (name, target) = std::mem::take(&mut extended).apply(entry.header())?;
                check_header(entry.header(), &name)?;
                if kind == EntryType::Directory || is_old_directory(entry.header(), &name) {
                    writer.add_directory(&name)?;
                    continue;
                }
                let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
                if matches!(kind, EntryType::Symlink | EntryType::Link) {
                    refuse_hidden_link(&name, &target)?;
                }
                let content: &mut dyn Read = if has_content(kind) {
                    &mut entry
                } else {
                    &mut io::empty()
                };
                writer.add_file(&name, is_executable, content)?;
            }
        }
    }
    if is_empty {
        Err(FetchError::package("it is empty"))
    } else {
        Ok(())
    }
}

/// Attributes of the next entry of a tar archive that do not fit into its header (POSIX pax, and
/// GNU tar before it).
#[derive(Default, PartialEq, Eq)]
struct Extended {
    gnu_name: Option<Vec<u8>>,
    gnu_target: Option<Vec<u8>>,
    pax: Option<Pax>,
}

#[derive(Default, PartialEq, Eq)]
struct Pax {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    /// Returns the name and the target of an entry.
    fn apply(self, header: &Header) -> FetchResult<(String, String)> {
        let Pax { path, target, size } = self.pax.unwrap_or_default();
        if size.is_some_and(|size| header.entry_size().is_ok_and(|own| own != size)) {
            return Err(FetchError::unreadable("an entry has two sizes"));
        }
        // Go prefers GNU's, whatever their order.
        let name = match self.gnu_name.or(path) {
            Some(name) => name,
            None => header.path_bytes().into_owned(),
        };
        let target = match self.gnu_target.or(target) {
            Some(target) => target,
            None => header.link_name_bytes().unwrap_or_default().into_owned(),
        };
        Ok((text(name)?, String::from_utf8_lossy(&target).into_owned()))
    }
}

impl Pax {
    /// Reads the records of an extended header of pax. Of records with the same key, the last one
    /// counts.
    fn read(records: &[u8]) -> FetchResult<Self> {
        let mut pax = Self::default();
        for record in PaxExtensions::new(records) {
            let record = record.map_err(FetchError::reading)?;
            let value = record.value_bytes();
            // An empty value takes an earlier one back.
            let bytes = if value.is_empty() {
                None
            } else {
                Some(value.to_owned())
            };
            match record.key_bytes() {
                b"path" => pax.path = bytes,
                b"linkpath" => pax.target = bytes,
                b"size" if value.is_empty() => pax.size = None,
                b"size" => {
                    let size = std::str::from_utf8(value)
                        .ok()
                        .and_then(|size| size.parse().ok());
                    pax.size =
                        Some(size.ok_or_else(|| {
                            FetchError::unreadable("a size in it is not a number")
                        })?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(FetchError::unreadable("it contains a sparse file"));
                }
                _ => {}
            }
        }
        Ok(pax)
    }
}

/// Sets an attribute that an entry may have only once.
fn set_once<T>(attribute: &mut Option<T>, value: T) -> FetchResult<()> {
    match attribute.replace(value) {
        None => Ok(()),
        Some(_) => Err(FetchError::unreadable(
            "an entry has two extended headers of a kind",
        )),
    }
}

/// Refuses headers that Go may read differently than the crate `tar`.
fn check_header(header: &Header, name: &str) -> FetchResult<()> {
    const DIRECTORY: u32 = 0o040_000;
    const KIND: u32 = 0o170_000;
    let bytes = header.as_bytes();
    // A GNU header has times where others have the start of the name. Old versions of Go wrote the
    // name there.
    let is_time = |byte: &u8| matches!(byte, 0 | b' ' | b'0'..=b'7');
    let kind = header.entry_type();
    let why =
        if header.as_gnu().is_some() && bytes[345] < 0x80 && !bytes[345..369].iter().all(is_time) {
            "a header of GNU tar has no times"
        } else if header.as_ustar().is_some() && bytes.ends_with(b"tar\0") {
            "it was made by star"
        } else if !has_content(kind) && header.entry_size().is_ok_and(|size| size != 0) {
            "an entry that cannot have content has a size"
        } else if kind == EntryType::GNUSparse {
            "it contains a sparse file"
        } else if kind == EntryType::Directory {
            return Ok(());
        } else if header.mode().is_ok_and(|mode| mode & KIND == DIRECTORY) {
            "an entry is a directory by its mode only"
        } else if name.ends_with('/') && !is_old_directory(header, name) {
            "a file in it has the name of a directory"
        } else {
            return Ok(());
        };
    Err(FetchError::unreadable(why))
}

/// Whether an entry is a directory in the form before POSIX.
fn is_old_directory(header: &Header, name: &str) -> bool {
    header.as_bytes()[156] == 0 && name.ends_with('/')
}

/// Whether entries of a kind may have content. The header of any other entry is followed by the
/// next header. Go reads unknown kinds as files.
fn has_content(kind: EntryType) -> bool {
    use EntryType::{Block, Char, Directory, Fifo, Link, Symlink};
    !matches!(kind, Symlink | Link | Char | Block | Directory | Fifo)
}

/// Refuses configuration that is a link out of the package. OpenTofu and Terraform install an empty
/// file instead, which cannot be the intention.
fn refuse_hidden_link(name: &str, target: &str) -> FetchResult<()> {
    let depth = name
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .count()
        .saturating_sub(1);
    let ups = target
        .split('/')
        .take_while(|part| matches!(*part, ".." | "."))
        .filter(|part| *part == "..")
        .count();
    if is_configuration(name) && (target.starts_with('/') || ups > depth) {
        return Err(FetchError::link_outside(name, target));
    }
    Ok(())
}

/// Converts a name to text.
fn text(name: Vec<u8>) -> FetchResult<String> {
    match String::from_utf8(name) {
        Ok(name) if !name.contains('\0') => Ok(name),
        Ok(name) => Err(FetchError::bad_name(&name)),
        Err(error) => Err(FetchError::bad_name(&String::from_utf8_lossy(
            error.as_bytes(),
        ))),
    }
}

/// Returns the content of an extended header.
fn read_content(entry: &mut impl Read) -> FetchResult<Vec<u8>> {
    let mut bytes = Vec::new();
    entry
        .take(LONGEST_HEADER + 1)
        .read_to_end(&mut bytes)
        .map_err(FetchError::reading)?;
    if bytes.len() as u64 > LONGEST_HEADER {
        return Err(FetchError::unreadable("a name in it is too long"));
    }
    Ok(bytes)
}

/// Returns the content of an extended header of GNU tar, which ends with a zero byte. Go reads no
/// further.
fn gnu_text(entry: &mut impl Read) -> FetchResult<Vec<u8>> {
    Ok(read_content(entry)?
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default()
        .to_owned())
}

impl From<PackageError> for FetchError {
    fn from(error: PackageError) -> Self {
        match error {
            PackageError::Refused {
                refusal: Refusal::Empty,
                ..
            } => Self::package("it is empty"),
            PackageError::Refused {
                refusal: Refusal::FilesTooLarge(_),
                ..
            } => Self::too_large(),
            error => Self::unreadable(error),
        }
    }
}

/// Fails when more than `left` bytes are read.
struct Capped<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(io::ErrorKind::FileTooLarge.into()),
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
