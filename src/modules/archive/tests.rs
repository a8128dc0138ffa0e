//! Archives of all formats, harmless and hostile.

use std::fs;
use std::io::{Seek as _, Write as _};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use tar::Header;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// More than any harmless archive here holds.
const MOST: u64 = 1 << 20;

/// What an archive holds.
#[cfg_attr(not(unix), expect(dead_code, reason = "the test of some is for Unix"))]
enum Entry<'a> {
    File(&'a str, &'a [u8]),
    Directory(&'a str),
    Link(&'a str, &'a str),
    HardLink(&'a str, &'a str),
    Pipe(&'a str),
}
use Entry::{Directory, HardLink, Link, Pipe};

fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for entry in entries {
        match entry {
            Entry::File(name, content) => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(content).unwrap();
            }
            Directory(name) => writer.add_directory(*name, options).unwrap(),
            Link(name, target) => writer.add_symlink(*name, *target, options).unwrap(),
            HardLink(..) | Pipe(_) => unreachable!("zip has neither"),
        }
    }
    writer.finish().unwrap().into_inner()
}

fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let (kind, name, target, content): (_, _, _, &[u8]) = match entry {
            Entry::File(name, content) => (EntryType::Regular, name, "", content),
            Directory(name) => (EntryType::Directory, name, "", b""),
            Link(name, target) => (EntryType::Symlink, name, *target, b""),
            HardLink(name, target) => (EntryType::Link, name, *target, b""),
            Pipe(name) => (EntryType::Fifo, name, "", b""),
        };
        let mut header = Header::new_gnu();
        // The library refuses to write what is hostile.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_link_name_literal(target).unwrap();
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Unpacks into the directory `package` of what is returned.
fn unpacked(archive: &[u8], format: Format) -> std::result::Result<TempDir, String> {
    let place = tempfile::tempdir().unwrap();
    let package = place.path().join("package");
    fs::create_dir(&package).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(archive).and_then(|()| file.rewind()).unwrap();
    let result = unpack(file, format, MOST, &package);
    let outside = fs::read_dir(place.path()).unwrap().count() - 1;
    assert_eq!(outside, 0, "nothing is written outside of the package");
    result.map(|()| place).map_err(|problem| problem.to_string())
}

fn refused(entries: &[Entry<'_>], message: &str) {
    assert_eq!(unpacked(&gzip(&tar(entries)), Format::TarGzip).unwrap_err(), message);
}

#[test]
fn every_format_is_unpacked() {
    let entries = [
        Entry::File("main.tf", b"one"),
        Entry::File("modules/a/main.tf", b"a"),
        Entry::File("README.md", b"read me"),
        Directory("empty/"),
    ];
    for (archive, format) in [
        (zip(&entries), Format::Zip),
        (gzip(&tar(&entries)), Format::TarGzip),
        (bzip2(&tar(&entries)), Format::TarBzip2),
        (include_bytes!("../../../testdata/modules/package.tar.xz").to_vec(), Format::TarXz),
    ] {
        assert_eq!(Format::of_content(&archive), Some(format));
        let package = unpacked(&archive, format).unwrap().keep().join("package");
        assert_eq!(fs::read(package.join("main.tf")).unwrap(), b"one", "{format:?}");
        assert_eq!(fs::read(package.join("modules/a/main.tf")).unwrap(), b"a");
        assert!(!package.join("README.md").exists());
        assert!(package.join("empty").is_dir() || format == Format::TarXz);
        for (length, other) in [(archive.len() / 2, format), (archive.len(), Format::Zip)] {
            if (length, other) != (archive.len(), format) {
                let error = unpacked(&archive[..length], other).unwrap_err();
                assert!(error.starts_with("it cannot be read: "), "{format:?} as {other:?}: {error}");
            }
        }
    }
}

#[test]
fn an_archive_without_entries_is_refused() {
    assert_eq!(unpacked(&zip(&[]), Format::Zip).unwrap_err(), "it is empty");
    assert_eq!(unpacked(&gzip(&tar(&[])), Format::TarGzip).unwrap_err(), "it is empty");
}

#[test]
fn an_entry_that_leads_out_is_refused() {
    for name in ["../main.tf", "a/../../main.tf", "..\\..\\main.tf"] {
        let message = format!("its entry {name:?} leads out of the package");
        refused(&[Entry::File("main.tf", b"x"), Entry::File(name, b"x")], &message);
        assert_eq!(unpacked(&zip(&[Entry::File(name, b"x")]), Format::Zip).unwrap_err(), message);
    }
    let package = unpacked(&gzip(&tar(&[Entry::File("/main.tf", b"x")])), Format::TarGzip).unwrap();
    assert!(package.path().join("package/main.tf").exists(), "a slash at the start does not count");
}

#[test]
fn nothing_is_written_through_a_link() {
    let message = r#"its entry "out" is a file or a link, and a directory as well"#;
    refused(&[Link("out", "../.."), Entry::File("out/main.tf", b"x")], message);
    let archive = zip(&[Link("out", "../.."), Entry::File("out/main.tf", b"x")]);
    assert_eq!(unpacked(&archive, Format::Zip).unwrap_err(), message);
    refused(&[Entry::File("out", b"x"), Entry::File("out/main.tf", b"x")], message);
}

#[cfg(unix)]
#[test]
fn links_are_followed_in_the_package_only() {
    let entries = [
        Entry::File("real/main.tf", b"one"),
        Link("alias", "real"),
        Link("passwd.tf", "/etc/passwd"),
        Link("etc", "/etc"),
        Link("docs/up", "../../.."),
    ];
    let mut hard = vec![HardLink("deep/same.tf", "real/main.tf"), HardLink("host.tf", "/etc/hosts"), Pipe("pipe.tf")];
    let zipped = unpacked(&zip(&entries), Format::Zip).unwrap();
    hard.extend(entries);
    let tarred = unpacked(&gzip(&tar(&hard)), Format::TarGzip).unwrap();
    assert_eq!(fs::read(tarred.path().join("package/deep/same.tf")).unwrap(), b"one");
    assert!(fs::read(tarred.path().join("package/host.tf")).is_err());
    assert!(!tarred.path().join("package/pipe.tf").exists());
    for place in [zipped, tarred] {
        let package = place.path().join("package");
        assert_eq!(fs::read(package.join("alias/main.tf")).unwrap(), b"one");
        assert!(package.join("passwd.tf").is_symlink() && fs::read(package.join("passwd.tf")).is_err());
        assert!(!package.join("etc").is_symlink() && !package.join("docs/up").is_symlink());
    }
}

#[test]
fn a_bomb_is_refused_whatever_it_says_of_its_size() {
    let zeros = vec![0; usize::try_from(MOST).unwrap() + 1];
    let bomb = [Entry::File("main.tf", b"x"), Entry::File("zeros", &zeros)];
    let message = "it contains more than 1024 MiB";
    refused(&bomb, message);
    let mut archive = zip(&bomb);
    assert_eq!(unpacked(&archive, Format::Zip).unwrap_err(), message);
    let size = u32::try_from(zeros.len()).unwrap().to_le_bytes();
    while let Some(at) = archive.windows(4).position(|four| four == size) {
        archive[at..at + 4].copy_from_slice(&1_u32.to_le_bytes());
    }
    unpacked(&archive, Format::Zip).unwrap_err();
    let halves = vec![0; zeros.len() / 2 + 1];
    let two = [Entry::File("a", &halves), Entry::File("b", &halves)];
    assert_eq!(unpacked(&zip(&two), Format::Zip).unwrap_err(), message);
}

#[test]
fn long_names_have_entries_of_their_own_and_an_end() {
    let long = format!("{}/main.tf", "d".repeat(150));
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    header.set_cksum();
    builder.append_data(&mut header, &long, &b"g"[..]).unwrap();
    builder.append_pax_extensions([("path", b"pax/main.tf".as_slice())]).unwrap();
    builder.append_data(&mut header, "short", &b"p"[..]).unwrap();
    let place = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap();
    assert_eq!(fs::read(place.path().join("package").join(long)).unwrap(), b"g");
    assert_eq!(fs::read(place.path().join("package/pax/main.tf")).unwrap(), b"p");

    let endless = "d".repeat(usize::try_from(LONGEST_NAME).unwrap() + 1);
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("path", endless.as_bytes())]).unwrap();
    let error = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap_err();
    assert_eq!(error, "it cannot be read: a name in it is too long");
}

/// Without limits, one of these needs some KB to take more than 256 MiB or to end the program.
#[test]
fn little_cannot_become_much_memory() {
    let xz = include_bytes!("../../../testdata/modules/package.tar.xz");
    // An empty stream: its header, an index of nothing, its footer.
    let empty = b"\xfd7zXZ\0\0\x01i\x22\xde6\0\0\0\0\x1c\xdfD!\x90B\x99\x0d\x01\0\0\0\0\x01YZ";
    let deep = |parts: usize| gzip(&pax("path", &"a/".repeat(parts)));
    let too_long = "it contains a name that is longer than 4096 bytes or has more than 100 parts";
    let streams = "it cannot be read: it consists of more than 16384 compressed streams";
    let memory = "it cannot be read: needed memory too big for mem_limit_kb";
    let cases = [
        (empty.repeat(50_000), Format::TarXz, "it is empty"),
        (with_dictionary(xz, 34), Format::TarXz, memory),
        (with_dictionary(xz, 29), Format::TarXz, memory),
        ([empty.repeat(5_000), with_dictionary(xz, 40)].concat(), Format::TarXz, memory),
        (gzip(b"").repeat(60_000), Format::TarGzip, streams),
        (bzip2(b"").repeat(60_000), Format::TarBzip2, streams),
        (deep(101), Format::TarGzip, too_long),
        (deep(30_000), Format::TarGzip, too_long),
        (bzip2(&pax("linkpath", &"a/".repeat(30_000))), Format::TarBzip2, too_long),
        (zip(&[Entry::File(&"a/".repeat(30_000), b"")]), Format::Zip, too_long),
        (zip(&[Link("link", &"../a/".repeat(10_000))]), Format::Zip, too_long),
    ];
    for (index, (archive, format, message)) in cases.iter().enumerate() {
        assert_eq!(unpacked(archive, *format).unwrap_err(), *message, "{index}");
    }
    unpacked(&with_dictionary(xz, 28), Format::TarXz).unwrap();
    unpacked(&[with_dictionary(xz, 28), empty.repeat(5_000)].concat(), Format::TarXz).unwrap();
    provlock_test::survived("a module package that takes more memory or time than it may", cases.len());
}

/// An archive whose only entry is a link with an attribute.
fn pax(name: &str, value: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([(name, value.as_bytes())]).unwrap();
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Symlink);
    header.set_path("name").unwrap();
    header.set_link_name("target").unwrap();
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, io::empty()).unwrap();
    builder.into_inner().unwrap()
}

/// A file of xz with another size of dictionary in the header of its first block: 28 stands for 64 MiB, 34 for 512 MiB
/// (section 5.3.1 of the file format).
fn with_dictionary(xz: &[u8], size: u8) -> Vec<u8> {
    let mut xz = xz.to_vec();
    let header = 12..12 + (usize::from(xz[12]) + 1) * 4;
    let filter = xz[header.clone()].windows(2).position(|part| part == [0x21, 1]).unwrap();
    xz[header.start + filter + 2] = size;
    let sum = crc32fast::hash(&xz[header.start..header.end - 4]).to_le_bytes();
    xz[header.end - 4..header.end].copy_from_slice(&sum);
    xz
}
