//! Archives that versions of Go's `archive/zip` read differently, so that their hash depends on who
//! computes it.

use super::archives::{ArchiveSpec, EntrySpec};
use super::*;

const END_LENGTH: usize = 22;

fn refusal(archive: &[u8]) -> String {
    let (answer, _) = hash_every_way(archive, "x", &Limits::default());
    answer.unwrap_err().1.to_string()
}

/// An archive with a zip64 end record, whose end record says these things itself.
fn with_end(entries: Vec<EntrySpec>, directory_size: u32) -> Vec<u8> {
    let (records, plain) = (
        entries.len(),
        ArchiveSpec {
            entries: entries.clone(),
            ..ArchiveSpec::default()
        }
        .build(),
    );
    let offset = plain[plain.len() - 6..plain.len() - 2].to_vec();
    let mut archive = ArchiveSpec {
        entries,
        zip64_end: true,
        ..ArchiveSpec::default()
    }
    .build();
    let end = archive.len() - END_LENGTH;
    let records = u16::try_from(records).unwrap().to_le_bytes();
    archive[end + 8..end + 12].copy_from_slice(&[records, records].concat());
    archive[end + 12..end + 16].copy_from_slice(&directory_size.to_le_bytes());
    archive[end + 16..end + 20].copy_from_slice(&offset);
    archive
}

fn program() -> EntrySpec {
    EntrySpec::new(b"terraform-provider-x", b"program")
}

/// Go compared the size of the directory with 0xffff by mistake (`readDirectoryEnd` in
/// `archive/zip/reader.go`).
#[test]
fn an_ambiguous_zip64_end_record_is_refused() {
    let expected = "it is not a valid zip archive: some versions of Go read its zip64 end record, and others do not";
    assert_eq!(refusal(&with_end(vec![program()], u32::MAX)), expected);
    let name = vec![b'n'; 0xffff - 46 - 46 - b"terraform-provider-x".len()];
    let entries = vec![program(), EntrySpec::new(&name, b"")];
    assert_eq!(refusal(&with_end(entries, 0xffff)), expected);
    // All read the one of an archive whose number of entries or place of the directory does not
    // fit.
    let whole = ArchiveSpec {
        entries: vec![program()],
        zip64_end: true,
        ..ArchiveSpec::default()
    }
    .build();
    assert!(hash_every_way(&whole, "x", &Limits::default()).0.is_ok());
}

#[test]
fn an_entry_with_two_zip64_fields_is_refused() {
    let mut archive = ArchiveSpec {
        entries: vec![EntrySpec {
            zip64: true,
            ..program()
        }],
        ..ArchiveSpec::default()
    }
    .build();
    assert!(hash_every_way(&archive, "x", &Limits::default()).0.is_ok());
    let end = archive.len() - END_LENGTH;
    let central = archive
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    let field = archive[end - 20..end].to_vec();
    archive[central + 30] = 40;
    archive[end + 12] += 20;
    archive.splice(end..end, field);
    let expected = "its entry \"terraform-provider-x\" has two zip64 fields, which versions of Go read differently";
    assert_eq!(refusal(&archive), expected);
}
