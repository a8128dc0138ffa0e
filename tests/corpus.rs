//! The properties of editing a lock file: over the files in `testdata/locks`, over generated files, and over any
//! folder: `PROVLOCK_CORPUS=DIR cargo test --release --test corpus -- --ignored --nocapture`.

mod lockfile;

use std::fs;
use std::path::{Path, PathBuf};

use lockfile::properties::{Verdict, check_file};
use lockfile::rng::Rng;
use lockfile::{changes, generated, properties};
use proptest::prelude::*;

/// How many random series of changes every file is put through, besides those that every file is put through.
const SERIES: u64 = 12;

#[test]
fn properties_hold_for_own_lock_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/locks");
    let files = lock_files(&folder);
    assert!(files.len() >= 30, "only {} files in {}", files.len(), folder.display());
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let verdict = check_file(&path, &fs::read(&path).unwrap(), SERIES);
        match verdict {
            Verdict::Refused(codes) => assert!(name.starts_with("refused-"), "{name} is refused: {codes:?}"),
            Verdict::Kept => assert!(!name.starts_with("refused-"), "{name} is read"),
            Verdict::Broken(why) => panic!("{name}: {why}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn properties_hold_for_canonical_files(seed: u64) {
        let mut rng = Rng::new(seed);
        let (locks, dialect) = (generated::locks(&mut rng), generated::dialect(&mut rng));
        let text = provlock::lockfile::canonical_text(&locks, dialect);
        check_generated(&mut rng, text.as_bytes())?;
    }

    #[test]
    fn properties_hold_for_files_written_by_hand(seed: u64) {
        let mut rng = Rng::new(seed);
        let text = generated::handwritten(&mut rng);
        check_generated(&mut rng, text.as_bytes())?;
    }

    #[test]
    fn mangled_files_are_refused_or_kept(seed: u64) {
        let mut rng = Rng::new(seed);
        let bytes = generated::mangled(&mut rng);
        if let Verdict::Broken(why) = check_file(Path::new("mangled"), &bytes, 1) {
            return Err(TestCaseError::fail(format!("{why}\n{}", String::from_utf8_lossy(&bytes))));
        }
    }
}

fn check_generated(rng: &mut Rng, bytes: &[u8]) -> Result<(), TestCaseError> {
    let failed = |why| TestCaseError::fail(format!("{why}\n----\n{}", String::from_utf8_lossy(bytes)));
    let lock_file =
        properties::read(Path::new("generated"), bytes).map_err(|codes| failed(format!("refused: {codes:?}")))?;
    properties::check_unchanged(&lock_file).map_err(failed)?;
    for count in 1..4 {
        let new = changes::random(rng, count).iter().fold(lock_file.locks().clone(), changes::apply);
        properties::check_change(&lock_file, &new).map_err(failed)?;
    }
    Ok(())
}

#[test]
#[ignore = "reads the folder that PROVLOCK_CORPUS names"]
fn properties_hold_for_a_folder() {
    let folder = std::env::var("PROVLOCK_CORPUS").expect("PROVLOCK_CORPUS=DIR");
    let files = lock_files(Path::new(&folder));
    let (mut kept, mut refused, mut broken) = (0, Vec::new(), Vec::new());
    for path in &files {
        let name = path.strip_prefix(&folder).unwrap().display();
        match check_file(path, &fs::read(path).unwrap(), SERIES) {
            Verdict::Kept => kept += 1,
            Verdict::Refused(problems) => refused.push(format!("{name}: {}", problems.join("; "))),
            Verdict::Broken(why) => broken.push(format!("{name}: {why}")),
        }
    }
    println!("{} files read, {kept} kept, {} refused", files.len(), refused.len());
    for line in &refused {
        println!("refused {line}");
    }
    for line in &broken {
        println!("BROKEN {line}");
    }
    assert!(!files.is_empty(), "no lock files below {folder}");
    assert!(broken.is_empty(), "the properties do not hold for {} files", broken.len());
}

/// The lock files below a folder, in the order of their names.
fn lock_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(lock_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "hcl") {
            found.push(path);
        }
    }
    found.sort();
    found
}
