//! The central directory as the `zip` crate reads it, beside our own reader: `central.rs` says why
//! that stays.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::TestRunner;
use zip::read::Config;
use zip::unstable::read::ZipIterable;

use super::differential::{archive, mutate, mutation};
use super::*;
use crate::packages::archive::central::{self, Tail};

/// Name, CRC-32, compressed size, size and offset of each entry; none if the archive is refused.
type Listed = Option<Vec<(Vec<u8>, u32, u64, u64, u64)>>;

fn ours(archive: &[u8]) -> Listed {
    let entries = central::read_directory(&Tail {
        bytes: archive,
        start: 0,
    })
    .ok()?;
    let listed = entries.iter().map(|entry| {
        let offset = entry.header_offset.cast_unsigned();
        (
            entry.name.to_vec(),
            entry.crc32,
            entry.compressed_size,
            entry.size,
            offset,
        )
    });
    Some(listed.collect())
}

fn theirs(archive: &[u8]) -> Listed {
    let mut archive = ZipIterable::try_new(Cursor::new(archive), Config::default()).ok()?;
    let listed = archive.files().ok()?.map(|entry| {
        let entry = entry.ok()?;
        let (compressed_size, size) = (entry.compressed_size(), entry.size());
        Some((
            entry.name_raw().to_vec(),
            entry.crc32(),
            compressed_size,
            size,
            entry.header_start(),
        ))
    });
    listed.collect()
}

/// Number of agreements of the two, and their differences.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    same: u32,
    only_ours_accepts: u32,
    only_theirs_accepts: u32,
    other_entries: u32,
}

impl Tally {
    fn add(&mut self, archive: &[u8]) {
        let count = match (ours(archive), theirs(archive)) {
            (ours, theirs) if ours == theirs => &mut self.same,
            (Some(_), None) => &mut self.only_ours_accepts,
            (None, Some(_)) => &mut self.only_theirs_accepts,
            _ => &mut self.other_entries,
        };
        *count += 1;
    }
}

#[test]
fn the_zip_crate_accepts_one_recorded_archive_that_go_refuses() {
    let mut tally = Tally::default();
    for folder in ["conformance", "probes"] {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("testdata/packages")
            .join(folder);
        for file in fs::read_dir(directory).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "zip") {
                tally.add(&fs::read(file).unwrap());
            }
        }
    }
    assert_eq!(
        tally,
        Tally {
            same: 108,
            only_theirs_accepts: 1,
            ..Tally::default()
        }
    );
}

/// `cargo test --lib generated_archives -- --ignored --nocapture`, for a new version of the `zip`
/// crate.
#[test]
#[ignore = "takes half a minute, and judges the zip crate"]
fn both_readers_on_twenty_thousand_generated_archives() {
    let mut runner = TestRunner::deterministic();
    let (mut sound, mut damaged) = (Tally::default(), Tally::default());
    for _ in 0..10_000 {
        let mut archive = generate(&mut runner, &archive()).build();
        sound.add(&archive);
        for mutation in generate(&mut runner, &vec(mutation(), 1..4)) {
            mutate(&mut archive, &mutation);
        }
        damaged.add(&archive);
    }
    println!("sound: {sound:?}\ndamaged: {damaged:?}");
    assert_eq!(
        (sound.only_theirs_accepts, sound.other_entries),
        (0, 0),
        "archives with all their bytes in place"
    );
}

fn generate<T>(runner: &mut TestRunner, strategy: &impl Strategy<Value = T>) -> T {
    strategy.new_tree(runner).unwrap().current()
}
