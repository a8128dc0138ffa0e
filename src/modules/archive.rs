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

use super::fetch_error::{FetchError, Fetched};
use super::limits::is_configuration;
use super::package_writer::PackageWriter;
use crate::packages::archive::{Limits, PackageError, Refusal, UnpackedEntry, unpack as unpack_zip};
use crate::provider::Dialect;
use crate::system::lock;
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

/// Unpacks an archive of at most `most` bytes into an empty directory, as Go's `archive/tar` and `archive/zip` and
/// go-getter do (`decompress_tar.go`, `decompress_zip.go`). Neither makes links: that of a zip archive is a file with
/// its target, and any other entry without content, such as a link or a pipe of a tar archive, is an empty file. An
/// archive that Go may read in another way is refused. The whole archive is read, so that damage is noticed. Returns why
/// the package cannot be locked, if it cannot.
pub(super) fn unpack(archive: File, format: Format, most: u64, package: &Path) -> Fetched<Option<FetchError>> {
    let mut writer = PackageWriter::new(package);
    let archive = io::BufReader::new(archive);
    match format {
        Format::Zip => unzip(archive, most, &mut writer)?,
        Format::TarGzip => untar(Streams::new(archive, GzDecoder::new, GzDecoder::into_inner), most, &mut writer)?,
        Format::TarBzip2 => untar(Streams::new(archive, BzDecoder::new, BzDecoder::into_inner), most, &mut writer)?,
        Format::TarXz => {
            let _turn = lock(&UNPACKING_XZ);
            untar(XzReader::new_mem_limit(archive, true, MOST_XZ_MEMORY), most, &mut writer)?;
        }
    }
    writer.finish()
}

fn unzip(mut archive: io::BufReader<File>, most: u64, writer: &mut PackageWriter) -> Fetched<()> {
    let limits = Limits { inflated_bytes: most, ..Limits::default() };
    unpack_zip(&mut archive, &limits, |entry: &UnpackedEntry<'_>| {
        let name = utf8(entry.name.to_vec())?;
        if entry.is_directory {
            return writer.directory(&name).map(|()| None);
        }
        writer.open(&name, entry.is_executable)
    })
}

fn untar(decompressed: impl Read, most: u64, writer: &mut PackageWriter) -> Fetched<()> {
    let mut archive = tar::Archive::new(Capped { reader: decompressed, left: most });
    let (mut extended, mut is_empty) = (Extended::default(), true);
    for entry in archive.entries().map_err(FetchError::reading)?.raw(true) {
        let mut entry = entry.map_err(FetchError::reading)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => set(&mut extended.gnu_name, before_zero(text(&mut entry)?))?,
            EntryType::GNULongLink => set(&mut extended.gnu_target, before_zero(text(&mut entry)?))?,
            EntryType::XHeader => set(&mut extended.pax, Pax::read(&text(&mut entry)?)?)?,
            // Go forgets what came before it, so what it would belong to is not clear.
            EntryType::XGlobalHeader if extended == Extended::default() => {}
            EntryType::XGlobalHeader => return Err(FetchError::unreadable("an extended header has no entry")),
            kind => {
                is_empty = false;
                let (name, target) = std::mem::take(&mut extended).apply(entry.header())?;
                check_header(entry.header(), &name)?;
                if kind == EntryType::Directory || is_old_directory(entry.header(), &name) {
                    writer.directory(&name)?;
                    continue;
                }
                let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
                if matches!(kind, EntryType::Symlink | EntryType::Link) {
                    refuse_hidden_link(&name, &target)?;
                }
                if has_content(kind) {
                    writer.file(&name, is_executable, &mut entry)?;
                } else {
                    writer.file(&name, is_executable, &mut io::empty())?;
                }
            }
        }
    }
    if is_empty { Err(FetchError::package("it is empty")) } else { Ok(()) }
}

/// What the next entry of a tar archive has that does not fit into its header (POSIX pax, and GNU tar before it).
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
    /// The name and the target of an entry.
    fn apply(self, header: &Header) -> Fetched<(String, String)> {
        let Pax { path, target, size } = self.pax.unwrap_or_default();
        if size.is_some_and(|size| header.entry_size().is_ok_and(|own| own != size)) {
            return Err(FetchError::unreadable("an entry has two sizes"));
        }
        // Go prefers GNU's, whatever their order.
        let name = self.gnu_name.or(path).unwrap_or_else(|| header.path_bytes().into_owned());
        let own_target = || header.link_name_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
        let target = self.gnu_target.or(target).unwrap_or_else(own_target);
        Ok((utf8(name)?, String::from_utf8_lossy(&target).into_owned()))
    }
}

impl Pax {
    fn read(records: &[u8]) -> Fetched<Self> {
        let mut pax = Self::default();
        for record in PaxExtensions::new(records) {
            let record = record.map_err(FetchError::reading)?;
            let value = record.value_bytes();
            match record.key_bytes() {
                // An empty value takes an earlier one back.
                b"path" => pax.path = Some(value.to_owned()).filter(|value| !value.is_empty()),
                b"linkpath" => pax.target = Some(value.to_owned()).filter(|value| !value.is_empty()),
                b"size" if value.is_empty() => pax.size = None,
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|size| size.parse().ok());
                    pax.size = Some(size.ok_or_else(|| FetchError::unreadable("a size in it is not a number"))?);
                }
                key if key.starts_with(b"GNU.sparse.") => return Err(FetchError::unreadable("it holds a sparse file")),
                _ => {}
            }
        }
        Ok(pax)
    }
}

/// Sets what only one extended header of an entry may say.
fn set<T>(place: &mut Option<T>, value: T) -> Fetched<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(FetchError::unreadable("an entry has two extended headers of a kind")),
    }
}

/// Refuses headers that Go may read in another way than the library here.
fn check_header(header: &Header, name: &str) -> Fetched<()> {
    const DIRECTORY: u32 = 0o040_000;
    const KIND: u32 = 0o170_000;
    let bytes = header.as_bytes();
    // The times of a GNU header are where others have the start of the name. Old versions of Go wrote that there.
    let is_time = |byte: &u8| matches!(byte, 0 | b' ' | b'0'..=b'7');
    if header.as_gnu().is_some() && bytes[345] < 0x80 && !bytes[345..369].iter().all(is_time) {
        return Err(FetchError::unreadable("a header of GNU tar has no times"));
    }
    if header.as_ustar().is_some() && bytes.ends_with(b"tar\0") {
        return Err(FetchError::unreadable("it was made by star"));
    }
    match header.entry_type() {
        kind if !has_content(kind) && header.entry_size().is_ok_and(|size| size != 0) => {
            Err(FetchError::unreadable("an entry that cannot have content has a size"))
        }
        EntryType::GNUSparse => Err(FetchError::unreadable("it holds a sparse file")),
        EntryType::Directory => Ok(()),
        _ if header.mode().is_ok_and(|mode| mode & KIND == DIRECTORY) => {
            Err(FetchError::unreadable("an entry is a directory by its mode only"))
        }
        _ if name.ends_with('/') && !is_old_directory(header, name) => {
            Err(FetchError::unreadable("a file in it has the name of a directory"))
        }
        _ => Ok(()),
    }
}

/// Whether an entry is a directory in the form before POSIX.
fn is_old_directory(header: &Header, name: &str) -> bool {
    header.as_bytes()[156] == 0 && name.ends_with('/')
}

/// Whether entries of a kind may have content; what follows another one's header is the next header. Go reads kinds
/// that it does not know as files.
fn has_content(kind: EntryType) -> bool {
    !matches!(
        kind,
        EntryType::Symlink
            | EntryType::Link
            | EntryType::Char
            | EntryType::Block
            | EntryType::Directory
            | EntryType::Fifo
    )
}

/// The programs install an empty file. Whoever writes a configuration that is a link out of the package wants to read
/// something else.
fn refuse_hidden_link(name: &str, target: &str) -> Fetched<()> {
    let depth = name.split('/').filter(|part| !matches!(*part, "" | ".")).count().saturating_sub(1);
    let ups = target.split('/').take_while(|part| matches!(*part, ".." | ".")).filter(|part| *part == "..").count();
    if is_configuration(name) && (target.starts_with('/') || ups > depth) {
        return Err(FetchError::link_outside(name, target));
    }
    Ok(())
}

/// A name as text.
fn utf8(name: Vec<u8>) -> Fetched<String> {
    match String::from_utf8(name) {
        Ok(name) if !name.contains('\0') => Ok(name),
        Ok(name) => Err(FetchError::bad_name(&name)),
        Err(error) => Err(FetchError::bad_name(&String::from_utf8_lossy(error.as_bytes()))),
    }
}

/// The whole content of an entry that is a name, or a list of them.
fn text(content: &mut impl Read) -> Fetched<Vec<u8>> {
    let mut bytes = Vec::new();
    content.take(LONGEST_NAME + 1).read_to_end(&mut bytes).map_err(FetchError::reading)?;
    if bytes.len() as u64 > LONGEST_NAME {
        return Err(FetchError::unreadable("a name in it is too long"));
    }
    Ok(bytes)
}

/// GNU tar ends a name with a zero byte, and Go reads no further.
fn before_zero(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    bytes
}

impl From<PackageError> for FetchError {
    fn from(error: PackageError) -> Self {
        match error {
            PackageError::Refused { refusal: Refusal::Empty, .. } => Self::package("it is empty"),
            PackageError::Refused { refusal: Refusal::FilesTooLarge(_), .. } => Self::too_large(),
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
