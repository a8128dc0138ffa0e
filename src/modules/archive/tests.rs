//! Archives of all formats, harmless and hostile.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use tar::Header;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// More than any harmless archive here contains.
const MOST: u64 = 1 << 20;
const TWO_THINGS: &str = "an archive of a module that OpenTofu and Terraform unpack differently";

/// Content of an archive.
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

/// Unpacks an archive into the subdirectory `package` of the returned directory.
fn unpacked(archive: &[u8], format: Format) -> std::result::Result<TempDir, String> {
    let place = tempfile::tempdir().unwrap();
    let package = place.path().join("package");
    fs::create_dir(&package).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(archive)
        .and_then(|()| file.rewind())
        .unwrap();
    let result = unpack(file, format, MOST, &package);
    let outside = fs::read_dir(place.path()).unwrap().count() - 1;
    assert_eq!(outside, 0, "nothing is written outside of the package");
    result.map(|_| place).map_err(|problem| problem.to_string())
}

fn refused(entries: &[Entry<'_>], message: &str) {
    assert_eq!(
        unpacked(&gzip(&tar(entries)), Format::TarGzip).unwrap_err(),
        message
    );
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
        (
            include_bytes!("../../../testdata/modules/package.tar.xz").to_vec(),
            Format::TarXz,
        ),
    ] {
        assert_eq!(Format::of_content(&archive), Some(format));
        let package = unpacked(&archive, format).unwrap().keep().join("package");
        assert_eq!(
            fs::read(package.join("main.tf")).unwrap(),
            b"one",
            "{format:?}"
        );
        assert_eq!(fs::read(package.join("modules/a/main.tf")).unwrap(), b"a");
        assert!(package.join("README.md").exists() || format == Format::TarXz);
        assert!(package.join("empty").is_dir() || format == Format::TarXz);
        for (length, other) in [(archive.len() / 2, format), (archive.len(), Format::Zip)] {
            if (length, other) != (archive.len(), format) {
                let error = unpacked(&archive[..length], other).unwrap_err();
                assert!(
                    error.starts_with("it cannot be read: "),
                    "{format:?} as {other:?}: {error}"
                );
            }
        }
    }
}

#[test]
fn an_archive_without_entries_is_refused() {
    assert_eq!(unpacked(&zip(&[]), Format::Zip).unwrap_err(), "it is empty");
    assert_eq!(
        unpacked(&gzip(&tar(&[])), Format::TarGzip).unwrap_err(),
        "it is empty"
    );
}

#[test]
fn an_entry_that_leads_out_is_refused() {
    for name in ["../main.tf", "a/../../main.tf", "..\\..\\main.tf"] {
        let message = format!("its entry {name:?} leads out of the package");
        refused(
            &[Entry::File("main.tf", b"x"), Entry::File(name, b"x")],
            &message,
        );
        assert_eq!(
            unpacked(&zip(&[Entry::File(name, b"x")]), Format::Zip).unwrap_err(),
            message
        );
    }
    let package = unpacked(
        &gzip(&tar(&[Entry::File("/main.tf", b"x")])),
        Format::TarGzip,
    )
    .unwrap();
    assert!(
        package.path().join("package/main.tf").exists(),
        "a slash at the start does not count"
    );
}

#[test]
fn nothing_is_written_through_a_link() {
    let message = r#"its entry "out" is a file or a link, and a directory as well"#;
    refused(
        &[Link("out", "../.."), Entry::File("out/main.tf", b"x")],
        message,
    );
    let archive = zip(&[Link("out", "../.."), Entry::File("out/main.tf", b"x")]);
    assert_eq!(unpacked(&archive, Format::Zip).unwrap_err(), message);
    refused(
        &[Entry::File("out", b"x"), Entry::File("out/main.tf", b"x")],
        message,
    );
}

#[test]
fn links_become_files_as_in_opentofu_and_terraform() {
    let entries = [
        Entry::File("real/main.tf", b"one"),
        Link("alias", "real"),
        Link("docs/up", "../../.."),
        Link("a.tf", "b.tf"),
    ];
    let mut hard = vec![HardLink("deep/same.tf", "real/main.tf"), Pipe("pipe.tf")];
    let zipped = unpacked(&zip(&entries), Format::Zip).unwrap();
    hard.extend(entries);
    let tarred = unpacked(&gzip(&tar(&hard)), Format::TarGzip).unwrap();
    let read = |place: &TempDir, name: &str| {
        fs::read_to_string(place.path().join("package").join(name)).unwrap()
    };
    for (name, zipped_as, tarred_as) in [
        ("real/main.tf", "one", "one"),
        ("alias", "real", ""),
        ("docs/up", "../../..", ""),
        ("a.tf", "b.tf", ""),
    ] {
        assert_eq!(
            (read(&zipped, name).as_str(), read(&tarred, name).as_str()),
            (zipped_as, tarred_as),
            "{name}"
        );
    }
    assert_eq!(
        (read(&tarred, "deep/same.tf"), read(&tarred, "pipe.tf")),
        (String::new(), String::new())
    );
    for link in [
        Link("passwd.tf", "/etc/passwd"),
        Link("a/b.tf", "../../x"),
        HardLink("host.tf", "/etc/hosts"),
    ] {
        let (Link(name, target) | HardLink(name, target)) = link else {
            unreachable!()
        };
        refused(
            &[link],
            &format!("its entry {name:?} is a link to {target:?}, which leads out of the package"),
        );
    }
}

/// The header of an entry with a type that no library writes.
fn header(kind: u8, name: &str, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(EntryType::new(kind));
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    header
}

#[test]
fn unknown_kinds_of_entries_are_files() {
    for kind in *b"VDMNZXAz7" {
        let mut builder = tar::Builder::new(Vec::new());
        builder
            .append(&header(kind, "main.tf", 3), &b"one"[..])
            .unwrap();
        let place = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap();
        assert_eq!(
            fs::read(place.path().join("package/main.tf")).unwrap(),
            b"one",
            "{}",
            char::from(kind)
        );
    }
    provlock_test::survived(TWO_THINGS, 9);
}

#[test]
fn a_tar_archive_that_go_reads_in_another_way_is_refused() {
    let pax = |key: &str, value: &[u8]| {
        (
            b'x',
            [
                format!("{} {key}=", key.len() + value.len() + 5).as_bytes(),
                value,
                b"\n",
            ]
            .concat(),
        )
    };
    let file = (b'0', b"one".to_vec());
    let long = (b'L', b"long.tf\0".to_vec());
    for (entries, message) in [
        (
            vec![pax("size", b"1"), file.clone()],
            "it cannot be read: an entry has two sizes",
        ),
        (
            vec![pax("GNU.sparse.name", b"a.tf"), file.clone()],
            "it cannot be read: it contains a sparse file",
        ),
        (
            vec![(b'S', b"one".to_vec())],
            "it cannot be read: it contains a sparse file",
        ),
        (
            vec![pax("path", b"\xff\xfe.tf"), file.clone()],
            "its entry \"\u{fffd}\u{fffd}.tf\" does not have a name of one line of text",
        ),
        (
            vec![long.clone(), long.clone(), file.clone()],
            "it cannot be read: an entry has two extended headers of a kind",
        ),
        (
            vec![pax("path", b"a.tf"), pax("path", b"b.tf"), file.clone()],
            "it cannot be read: an entry has two extended headers of a kind",
        ),
        (
            vec![long.clone(), (b'g', Vec::new()), file.clone()],
            "it cannot be read: an extended header has no entry",
        ),
        (
            vec![(b'2', b"one".to_vec())],
            "it cannot be read: an entry that cannot have content has a size",
        ),
    ] {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, content) in &entries {
            builder
                .append(
                    &header(*kind, "main.tf", content.len() as u64),
                    content.as_slice(),
                )
                .unwrap();
        }
        assert_eq!(
            unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap_err(),
            message
        );
    }
    // Go prefers the name of GNU tar, whatever its place.
    for entries in [
        [long.clone(), pax("path", b"pax")],
        [pax("path", b"pax"), long],
    ] {
        let mut builder = tar::Builder::new(Vec::new());
        for (kind, content) in entries.iter().chain([&file]) {
            builder
                .append(
                    &header(*kind, "short", content.len() as u64),
                    content.as_slice(),
                )
                .unwrap();
        }
        let place = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap();
        assert_eq!(
            fs::read(place.path().join("package/long.tf")).unwrap(),
            b"one"
        );
    }
    provlock_test::survived(TWO_THINGS, 8 + 2);
}

#[test]
fn ambiguous_headers_are_refused() {
    let archive = |change: &dyn Fn(&mut Header)| {
        let mut header = header(b'0', "main.tf", 3);
        change(&mut header);
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, &b"one"[..]).unwrap();
        unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap_err()
    };
    let name = |text: &'static [u8]| {
        move |header: &mut Header| header.as_old_mut().name[..text.len()].copy_from_slice(text)
    };
    assert_eq!(
        archive(&name(b"main.tf/")),
        "it cannot be read: a file in it has the name of a directory"
    );
    assert_eq!(
        archive(&|header| header.set_mode(0o40755)),
        "it cannot be read: an entry is a directory by its mode only"
    );
    let prefix = |header: &mut Header| header.as_mut_bytes()[345..348].copy_from_slice(b"sub");
    assert_eq!(
        archive(&prefix),
        "it cannot be read: a header of GNU tar has no times"
    );
    let star = |header: &mut Header| {
        header.as_mut_bytes()[257..265].copy_from_slice(b"ustar\x0000");
        header.as_mut_bytes()[508..].copy_from_slice(b"tar\0");
    };
    assert_eq!(archive(&star), "it cannot be read: it was made by star");
    provlock_test::survived(TWO_THINGS, 4);
}

#[test]
fn a_zip_archive_is_read_as_go_reads_it() {
    // A link whose target is a configuration.
    let link = zip(&[Link("main.tf", "locals {}")]);
    let place = unpacked(&link, Format::Zip).unwrap();
    assert_eq!(
        fs::read(place.path().join("package/main.tf")).unwrap(),
        b"locals {}"
    );
    // An extra field with another name, in both headers.
    let mut archive = zip(&[
        Entry::File("main.tf", b"one"),
        Entry::File("xxxxxxx", b"two"),
    ]);
    let at = archive
        .windows(4)
        .position(|four| four == b"PK\x01\x02")
        .unwrap();
    let field = [
        b"up".as_slice(),
        &[14, 0, 1],
        &crc32fast::hash(b"main.tf").to_le_bytes(),
        b"README.md",
    ]
    .concat();
    archive[at + 30] = u8::try_from(field.len()).unwrap();
    archive.splice(at + 46 + 7..at + 46 + 7, field.iter().copied());
    let end = archive
        .windows(4)
        .rposition(|four| four == b"PK\x05\x06")
        .unwrap();
    archive[end + 12] += u8::try_from(field.len()).unwrap();
    let place = unpacked(&archive, Format::Zip).unwrap();
    assert_eq!(
        fs::read(place.path().join("package/main.tf")).unwrap(),
        b"one"
    );
    provlock_test::survived(TWO_THINGS, 2);
}

/// Terraform's reading of an archive: the text of each `.tf` file, or nothing if it is refused.
#[derive(serde::Deserialize)]
struct Recorded {
    format: String,
    archive: String,
    files: Option<BTreeMap<String, String>>,
}

#[test]
fn recorded_archives_are_read_as_terraform_reads_them_or_refused() {
    let lines = include_str!("../../../testdata/modules/recorded.jsonl").lines();
    let (mut cases, mut read) = (0, 0);
    for line in lines {
        let Recorded {
            format,
            archive,
            files,
        } = serde_json::from_str(line).unwrap();
        let format = if format == "zip" {
            Format::Zip
        } else {
            Format::TarGzip
        };
        let place = unpacked(&BASE64_STANDARD.decode(archive).unwrap(), format);
        if let (Ok(place), Some(files)) = (place, files) {
            assert_eq!(
                configuration(&place.path().join("package"), ""),
                files,
                "{line}"
            );
            read += 1;
        }
        cases += 1;
    }
    assert!(read > 120, "only {read} of {cases} were read");
    provlock_test::survived(TWO_THINGS, cases);
}

/// The texts of all `.tf` files below a directory.
fn configuration(directory: &Path, base: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| {
        let name = format!("{base}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            return configuration(&path, &format!("{name}/"));
        }
        let is_configuration = path.extension().is_some_and(|extension| extension == "tf");
        is_configuration
            .then(|| (name, fs::read_to_string(path).unwrap()))
            .into_iter()
            .collect()
    });
    files.collect()
}

#[test]
fn a_package_has_all_files_but_those_of_git() {
    let entries = [
        Entry::File("main.tf", b"old"),
        Entry::File("README.md", b"read me"),
        Entry::File(".git/config", b"x"),
        Entry::File("sub/.git", b"x"),
        Directory("empty/"),
        Entry::File("main.tf", b"new"),
    ];
    let place = unpacked(&gzip(&tar(&entries)), Format::TarGzip).unwrap();
    let package = place.path().join("package");
    assert_eq!(fs::read(package.join("main.tf")).unwrap(), b"new");
    assert!(package.join("README.md").exists() && package.join("empty").is_dir());
    assert!(!package.join(".git").exists() && !package.join("sub").exists());
}

#[test]
fn a_bomb_is_refused_whatever_size_it_declares() {
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
    builder
        .append_pax_extensions([("path", b"pax/main.tf".as_slice())])
        .unwrap();
    builder
        .append_data(&mut header, "short", &b"p"[..])
        .unwrap();
    let place = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap();
    assert_eq!(
        fs::read(place.path().join("package").join(long)).unwrap(),
        b"g"
    );
    assert_eq!(
        fs::read(place.path().join("package/pax/main.tf")).unwrap(),
        b"p"
    );

    let endless = "d".repeat(usize::try_from(LONGEST_HEADER).unwrap() + 1);
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_pax_extensions([("path", endless.as_bytes())])
        .unwrap();
    let error = unpacked(&gzip(&builder.into_inner().unwrap()), Format::TarGzip).unwrap_err();
    assert_eq!(error, "it cannot be read: a name in it is too long");
}

/// Without limits, one of these needs some KB to take more than 256 MiB or to end the program.
#[test]
fn little_cannot_become_much_memory() {
    let xz = include_bytes!("../../../testdata/modules/package.tar.xz");
    // An empty stream: its header, an index of nothing, its footer.
    let empty = b"\xfd7zXZ\0\0\x01i\x22\xde6\0\0\0\0\x1c\xdfD!\x90B\x99\x0d\x01\0\0\0\0\x01YZ";
    let deep = |parts: usize| gzip(&pax("path", &format!("{}a", "a/".repeat(parts))));
    let too_long = "it contains a name that is longer than 4096 bytes or has more than 100 parts";
    let streams = "it cannot be read: it consists of more than 16384 compressed streams";
    let memory = "it cannot be read: needed memory too big for mem_limit_kb";
    let cases = [
        (empty.repeat(50_000), Format::TarXz, "it is empty"),
        (with_dictionary(xz, 34), Format::TarXz, memory),
        (with_dictionary(xz, 29), Format::TarXz, memory),
        (
            [empty.repeat(5_000), with_dictionary(xz, 40)].concat(),
            Format::TarXz,
            memory,
        ),
        (gzip(b"").repeat(60_000), Format::TarGzip, streams),
        (bzip2(b"").repeat(60_000), Format::TarBzip2, streams),
        (deep(101), Format::TarGzip, too_long),
        (deep(30_000), Format::TarGzip, too_long),
        (gzip(&long_names()), Format::TarGzip, too_long),
        (
            zip(&[Entry::File(&"a/".repeat(30_000), b"")]),
            Format::Zip,
            too_long,
        ),
    ];
    for (index, (archive, format, message)) in cases.iter().enumerate() {
        assert_eq!(unpacked(archive, *format).unwrap_err(), *message, "{index}");
    }
    // What links lead to is not followed: they are installed as files.
    unpacked(
        &bzip2(&pax("linkpath", &"a/".repeat(30_000))),
        Format::TarBzip2,
    )
    .unwrap();
    unpacked(&zip(&[Link("link", &"../a/".repeat(10_000))]), Format::Zip).unwrap();
    unpacked(&with_dictionary(xz, 28), Format::TarXz).unwrap();
    unpacked(
        &[with_dictionary(xz, 28), empty.repeat(5_000)].concat(),
        Format::TarXz,
    )
    .unwrap();
    provlock_test::survived(
        "a module package that takes too much memory or time",
        cases.len(),
    );
}

/// The central directory is held in memory, with all that is known of each entry.
#[test]
fn a_zip_archive_has_an_end_to_its_entries() {
    let cases = [
        (100_001, "it contains more than 100000 entries"),
        (300_000, "it contains more than 100000 entries"),
        (
            320_000,
            "its central directory is larger than 16777216 bytes",
        ),
    ];
    for (count, message) in cases {
        let error = unpacked(&zip_of_directories(count), Format::Zip).unwrap_err();
        assert!(error.contains(message), "{count}: {error}");
    }
    provlock_test::survived(
        "a module package that takes too much memory or time",
        cases.len(),
    );
}

/// An archive whose entries share one local header.
fn zip_of_directories(count: u32) -> Vec<u8> {
    const NAME: u16 = 7;
    let mut archive = [
        b"PK\x03\x04".as_slice(),
        &[0; 22],
        &NAME.to_le_bytes(),
        &[0; 2],
        b"000000/",
    ]
    .concat();
    let start = u32::try_from(archive.len()).unwrap();
    for number in 0..count {
        archive.extend(
            [
                b"PK\x01\x02".as_slice(),
                &[0; 24],
                &NAME.to_le_bytes(),
                &[0; 16],
            ]
            .concat(),
        );
        archive.extend(format!("{number:06}/").as_bytes());
    }
    let size = u32::try_from(archive.len()).unwrap() - start;
    let records = (count & 0xffff).to_le_bytes();
    archive.extend(
        [
            b"PK\x05\x06".as_slice(),
            &[0; 4],
            &records[..2],
            &records[..2],
        ]
        .concat(),
    );
    archive.extend([&size.to_le_bytes()[..], &start.to_le_bytes(), &[0; 2]].concat());
    archive
}

/// An archive whose only entry is a link with an attribute.
fn pax(name: &str, value: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_pax_extensions([(name, value.as_bytes())])
        .unwrap();
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Symlink);
    header.set_path("name").unwrap();
    header.set_link_name("target").unwrap();
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, io::empty()).unwrap();
    builder.into_inner().unwrap()
}

/// An archive whose only entry has four long names: GNU tar's and pax's, and the targets of their
/// links.
fn long_names() -> Vec<u8> {
    let long = format!("{}a", "a/".repeat(15_000));
    let mut builder = tar::Builder::new(Vec::new());
    for kind in *b"LK" {
        builder
            .append(&header(kind, "long", long.len() as u64), long.as_bytes())
            .unwrap();
    }
    builder
        .append_pax_extensions([("path", long.as_bytes()), ("linkpath", long.as_bytes())])
        .unwrap();
    builder
        .append(&header(b'2', "name", 0), io::empty())
        .unwrap();
    builder.into_inner().unwrap()
}

/// A file of xz with another size of dictionary in the header of its first block: 28 stands for 64
/// MiB, 34 for 512 MiB (section 5.3.1 of the file format).
fn with_dictionary(xz: &[u8], size: u8) -> Vec<u8> {
    let mut xz = xz.to_vec();
    let header = 12..12 + (usize::from(xz[12]) + 1) * 4;
    let filter = xz[header.clone()]
        .windows(2)
        .position(|part| part == [0x21, 1])
        .unwrap();
    xz[header.start + filter + 2] = size;
    let sum = crc32fast::hash(&xz[header.start..header.end - 4]).to_le_bytes();
    xz[header.end - 4..header.end].copy_from_slice(&sum);
    xz
}
