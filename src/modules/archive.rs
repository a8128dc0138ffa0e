//! Archives of modules. Only the configuration files in them are written.

mod streams;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use tar::{EntryType, PaxExtensions};
use zip::ZipArchive;

use super::contents::{PackageWriter, Problem};
use crate::provider::Dialect;
use streams::Streams;

/// The longest name and the longest target of a link, in bytes.
const LONGEST_NAME: u64 = 64 * 1024;
/// How much memory an archive in the format of xz may need, in KiB: as much as `xz -9` makes it need, and 1 MiB more.
const MOST_XZ_MEMORY: u32 = 65 << 10;

/// Held while such an archive is unpacked. So several of them need no more than one.
static UNPACKING_XZ: Mutex<()> = Mutex::new(());

/// How an archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Zip,
    TarGzip,
    TarBzip2,
    TarXz,
}

impl Format {
    /// The format that `archive=NAME` means. Terraform has one name more.
    pub(super) fn named(name: &str, dialect: Dialect) -> Option<Self> {
        match name {
            "zip" => Some(Self::Zip),
            "tar.gz" | "tgz" => Some(Self::TarGzip),
            "tar.bz2" => Some(Self::TarBzip2),
            "tbz2" if dialect == Dialect::Terraform => Some(Self::TarBzip2),
            "tar.xz" | "txz" => Some(Self::TarXz),
            _ => None,
        }
    }

    /// The format that the end of a path means.
    pub(super) fn of_path(path: &str, dialect: Dialect) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        name.match_indices('.').find_map(|(index, _)| Self::named(&name[index + 1..], dialect))
    }

    /// The format that the first bytes show.
    pub(super) fn of_content(start: &[u8]) -> Option<Self> {
        let signatures: [(&[u8], Self); 5] = [
            (b"PK\x03\x04", Self::Zip),
            (b"PK\x05\x06", Self::Zip),
            (b"\x1f\x8b", Self::TarGzip),
            (b"BZh", Self::TarBzip2),
            (b"\xfd7zXZ\0", Self::TarXz),
        ];
        signatures.into_iter().find(|(signature, _)| start.starts_with(signature)).map(|(_, format)| format)
    }
}

/// Unpacks an archive of at most `most` bytes into an empty directory. The whole archive is read, so that damage is
/// noticed.
pub(super) fn unpack(archive: File, format: Format, most: u64, package: &Path) -> Result<(), Problem> {
    let mut writer = PackageWriter::new(package);
    let archive = io::BufReader::new(archive);
    match format {
        Format::Zip => unzip(archive, most, &mut writer)?,
        Format::TarGzip => untar(Streams::new(archive, GzDecoder::new, GzDecoder::into_inner), most, &mut writer)?,
        Format::TarBzip2 => untar(Streams::new(archive, BzDecoder::new, BzDecoder::into_inner), most, &mut writer)?,
        Format::TarXz => {
            let _turn = UNPACKING_XZ.lock().unwrap_or_else(PoisonError::into_inner);
            untar(XzReader::new_mem_limit(archive, true, MOST_XZ_MEMORY), most, &mut writer)?;
        }
    }
    writer.finish()
}

fn unzip(archive: io::BufReader<File>, most: u64, writer: &mut PackageWriter) -> Result<(), Problem> {
    let damaged = |error: zip::result::ZipError| Problem::Damaged(error.to_string());
    let mut archive = ZipArchive::new(archive).map_err(damaged)?;
    if archive.is_empty() {
        return Err(Problem::Empty);
    }
    let mut left = most;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(damaged)?;
        if entry.size() > left {
            return Err(Problem::TooLarge);
        }
        let name = entry.name().map_err(damaged)?.into_owned();
        let (is_directory, is_link) = (entry.is_dir(), entry.is_symlink());
        let mut content = Capped { reader: entry, left };
        if is_directory {
            writer.directory(&name)?;
        } else if is_link {
            writer.link(&name, &text(&mut content)?)?;
        } else {
            writer.file(&name, &mut content)?;
        }
        left = content.left;
    }
    Ok(())
}

/// Names that do not fit into a header come in entries of their own (POSIX pax, and GNU tar before it). They are read
/// here with a limit, which the library does not have.
fn untar(decompressed: impl Read, most: u64, writer: &mut PackageWriter) -> Result<(), Problem> {
    let mut archive = tar::Archive::new(Capped { reader: decompressed, left: most });
    let (mut long_name, mut long_target, mut is_empty) = (None, None, true);
    for entry in archive.entries().map_err(Problem::of_reading)?.raw(true) {
        let mut entry = entry.map_err(Problem::of_reading)?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => long_name = Some(text(&mut entry)?),
            EntryType::GNULongLink => long_target = Some(text(&mut entry)?),
            EntryType::XHeader => {
                let records = text(&mut entry)?;
                for record in PaxExtensions::new(records.as_bytes()).flatten() {
                    let value = || String::from_utf8_lossy(record.value_bytes()).into_owned();
                    match record.key_bytes() {
                        b"path" => long_name = Some(value()),
                        b"linkpath" => long_target = Some(value()),
                        _ => {}
                    }
                }
            }
            EntryType::XGlobalHeader => {}
            _ => {
                is_empty = false;
                let short_name = || String::from_utf8_lossy(&entry.header().path_bytes()).into_owned();
                let name = long_name.take().unwrap_or_else(short_name);
                let short_target =
                    || entry.header().link_name_bytes().map(|target| String::from_utf8_lossy(&target).into_owned());
                let target = long_target.take().or_else(short_target).unwrap_or_default();
                match kind {
                    EntryType::Directory => writer.directory(&name)?,
                    EntryType::Regular if name.ends_with('/') => writer.directory(&name)?,
                    EntryType::Regular | EntryType::Continuous => writer.file(&name, &mut entry)?,
                    EntryType::Symlink => writer.link(&name, &target)?,
                    EntryType::Link => writer.link_from_top(&name, &target)?,
                    // Pipes and devices.
                    _ => {}
                }
            }
        }
    }
    if is_empty { Err(Problem::Empty) } else { Ok(()) }
}

/// The whole content of an entry that is a name.
fn text(content: &mut impl Read) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    content.take(LONGEST_NAME + 1).read_to_end(&mut bytes).map_err(Problem::of_reading)?;
    if bytes.len() as u64 > LONGEST_NAME {
        return Err(Problem::Damaged("a name in it is too long".to_owned()));
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
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
