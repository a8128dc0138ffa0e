//! Archives that are too large, too odd for one pass, or that cannot be read.

use super::archives::{ArchiveSpec, Descriptor, EntrySpec};
use super::*;

fn program() -> EntrySpec {
    EntrySpec::new(b"terraform-provider-x", b"program")
}

fn archive(entries: Vec<EntrySpec>) -> Vec<u8> {
    ArchiveSpec {
        entries,
        ..ArchiveSpec::default()
    }
    .build()
}

/// Bytes that deflate cannot make much smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

/// An archive that turns out not to be streamable only when its first bytes are no longer kept.
fn odd_late() -> Vec<u8> {
    let large = EntrySpec {
        deflated: false,
        ..EntrySpec::new(b"large", &noise(2_000_000))
    };
    let described = Descriptor::Narrow { signature: true };
    let odd = EntrySpec {
        deflated: false,
        descriptor: described,
        ..EntrySpec::new(b"odd", b"content")
    };
    archive(vec![program(), large, odd])
}

#[test]
fn an_archive_that_cannot_be_streamed_to_its_end_is_read_again() {
    let archive = odd_late();
    let result = hash_zip(archive.as_slice(), "x", &Limits::default());
    assert!(
        matches!(result, Err(PackageError::NotStreamable(_))),
        "{result:?}"
    );

    let mut opened = 0;
    let open = || {
        opened += 1;
        archive.as_slice()
    };
    let digest = hash_zip_with(open, "x", &Limits::default()).unwrap();
    assert_eq!(opened, 2);
    assert_eq!(
        digest,
        hash_zip_file(&mut Cursor::new(&archive), "x", &Limits::default()).unwrap()
    );
}

#[test]
fn an_archive_with_an_early_unstreamable_entry_is_read_once() {
    let described = Descriptor::Narrow { signature: true };
    let odd = EntrySpec {
        deflated: false,
        descriptor: described,
        ..EntrySpec::new(b"odd", b"content")
    };
    let large = EntrySpec::new(b"large", &noise(2_000_000));
    let archive = archive(vec![program(), odd, large]);
    let digest = hash_zip(archive.as_slice(), "x", &Limits::default()).unwrap();
    assert_eq!(
        digest,
        hash_zip_file(&mut Cursor::new(&archive), "x", &Limits::default()).unwrap()
    );
}

#[test]
fn a_large_archive_is_read_once() {
    let archive = archive(vec![program(), EntrySpec::new(b"large", &noise(3_000_000))]);
    let mut opened = 0;
    let open = || {
        opened += 1;
        archive.as_slice()
    };
    let digest = hash_zip_with(open, "x", &Limits::default()).unwrap();
    assert_eq!((opened, digest.size), (1, archive.len() as u64));
}

#[test]
fn an_error_of_the_reader_is_not_taken_for_the_end_of_the_archive() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let archive = archive(vec![program(), EntrySpec::new(b"a", &noise(200_000))]);
    for length in [0, 10, 100_000, archive.len()] {
        let reader = archive[..length].chain(Broken);
        match hash_zip(reader, "x", &Limits::default()) {
            Err(PackageError::Read(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            }
            other => panic!("after {length}: {other:?}"),
        }
    }
}

#[test]
fn an_archive_without_end_is_not_read_to_its_end() {
    let limits = Limits {
        archive_bytes: 1_000_000,
        ..Limits::default()
    };
    for first in [b"PK\x03\x04".as_slice(), b"PK\x01\x02", b"anything"] {
        let endless = first.chain(io::repeat(0));
        let result = hash_zip(endless, "x", &limits);
        assert!(
            matches!(result, Err(PackageError::TooLarge(1_000_000))),
            "{result:?}"
        );
    }
}

#[test]
fn files_larger_than_allowed_are_refused() {
    let archive = archive(vec![
        program(),
        EntrySpec::new(b"zeros", &vec![0; 3_000_000]),
    ]);
    let limits = Limits {
        inflated_bytes: 3_000_006,
        ..Limits::default()
    };
    assert_eq!(
        hash_every_way(&archive, "x", &limits).0.unwrap_err().1,
        Refusal::FilesTooLarge(3_000_006)
    );
    let limits = Limits {
        inflated_bytes: 3_000_007,
        ..Limits::default()
    };
    assert!(hash_every_way(&archive, "x", &limits).0.is_ok());
}

#[test]
fn a_bomb_that_hides_its_size_is_refused() {
    let mut archive = archive(vec![
        program(),
        EntrySpec::new(b"zeros", &vec![0; 3_000_000]),
    ]);
    let central = archive
        .windows(6)
        .rposition(|window| window == b"PK\x01\x02\x14\x03")
        .unwrap();
    archive[central + 24..central + 28].copy_from_slice(&100u32.to_le_bytes());
    let limits = Limits {
        inflated_bytes: 1_000_000,
        ..Limits::default()
    };
    let expected = Refusal::Entry {
        name: "zeros".to_owned(),
        problem: EntryProblem::Size,
    };
    assert_eq!(
        hash_every_way(&archive, "x", &limits).0.unwrap_err().1,
        expected
    );
}

#[test]
fn a_central_directory_larger_than_allowed_is_refused() {
    let entries = (0..2000)
        .map(|index| EntrySpec::new(format!("{index}").as_bytes(), b""))
        .chain([program()]);
    let archive = archive(entries.collect());
    assert!(hash_every_way(&archive, "x", &Limits::default()).0.is_ok());
    let limits = Limits {
        directory_bytes: 80_000,
        ..Limits::default()
    };
    let refusal = hash_every_way(&archive, "x", &limits).0.unwrap_err().1;
    assert_eq!(refusal, Refusal::DirectoryTooLarge(80_000));
}
