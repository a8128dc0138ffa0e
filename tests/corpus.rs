//! The properties of editing a lock file: over the files in `testdata/locks`, over generated files,
//! and over any folder: `PROVLOCK_CORPUS=DIR cargo test --release --test corpus -- --ignored
//! --nocapture`.

mod lockfile;

use std::fs;
use std::path::{Path, PathBuf};

use lockfile::generated::Sample;
use lockfile::properties::{Verdict, check_file};
use lockfile::rng::Rng;
use lockfile::{changes, generated, properties};
use proptest::prelude::*;
use provlock::lockfile::{LockedModule, LockedProvider};

/// Number of random series of changes to each file, in addition to the fixed changes.
const SERIES: u64 = 12;

#[test]
fn properties_hold_for_own_lock_files() {
    check_folder::<LockedProvider>("testdata/locks", 30);
    check_folder::<LockedModule>("testdata/module-locks", 8);
}

fn check_folder<T: Sample>(folder: &str, least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = lock_files(&folder);
    assert!(
        files.len() >= least,
        "only {} files in {}",
        files.len(),
        folder.display()
    );
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let verdict = check_file::<T>(&path, &fs::read(&path).unwrap(), SERIES);
        match verdict {
            Verdict::Refused(codes) => {
                assert!(name.starts_with("refused-"), "{name} is refused: {codes:?}");
            }
            Verdict::Kept => assert!(!name.starts_with("refused-"), "{name} is read"),
            Verdict::Broken(why) => panic!("{name}: {why}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(400), // PROPTEST_CASES may ask for more
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn properties_hold_for_canonical_files(seed: u64) {
        check_canonical::<LockedProvider>(seed)?;
        check_canonical::<LockedModule>(seed)?;
    }

    #[test]
    fn properties_hold_for_files_written_by_hand(seed: u64) {
        check_handwritten::<LockedProvider>(seed)?;
        check_handwritten::<LockedModule>(seed)?;
    }

    #[test]
    fn mangled_files_are_refused_or_kept(seed: u64) {
        check_mangled::<LockedProvider>(seed)?;
        check_mangled::<LockedModule>(seed)?;
    }
}

/// A seed of a file with a comment that begins with `/*/`.
#[test]
fn a_mangled_file_with_an_odd_comment_is_kept() {
    check_mangled::<LockedModule>(15_821_633_481_451_557_568).unwrap();
}

fn check_canonical<T: Sample>(seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed);
    let (locks, dialect) = (
        generated::locks::<T>(&mut rng),
        generated::dialect(&mut rng),
    );
    let text = provlock::lockfile::canonical_text::<T>(&locks, dialect);
    check_generated::<T>(&mut rng, text.as_bytes())
}

fn check_handwritten<T: Sample>(seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed);
    let text = generated::handwritten::<T>(&mut rng);
    check_generated::<T>(&mut rng, text.as_bytes())
}

fn check_mangled<T: Sample>(seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed);
    let bytes = generated::mangled::<T>(&mut rng);
    match check_file::<T>(Path::new("mangled"), &bytes, 1) {
        Verdict::Broken(why) => Err(TestCaseError::fail(format!(
            "{why}\n{}",
            String::from_utf8_lossy(&bytes)
        ))),
        Verdict::Kept | Verdict::Refused(_) => Ok(()),
    }
}

fn check_generated<T: Sample>(rng: &mut Rng, bytes: &[u8]) -> Result<(), TestCaseError> {
    let failed =
        |why| TestCaseError::fail(format!("{why}\n----\n{}", String::from_utf8_lossy(bytes)));
    let lock_file = properties::read::<T>(Path::new("generated"), bytes)
        .map_err(|codes| failed(format!("refused: {codes:?}")))?;
    properties::check_unchanged(&lock_file).map_err(failed)?;
    for count in 1..4 {
        let new = changes::random(rng, count)
            .iter()
            .fold(lock_file.locks().clone(), changes::apply);
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
        match check_file::<LockedProvider>(path, &fs::read(path).unwrap(), SERIES) {
            Verdict::Kept => kept += 1,
            Verdict::Refused(problems) => refused.push(format!("{name}: {}", problems.join("; "))),
            Verdict::Broken(why) => broken.push(format!("{name}: {why}")),
        }
    }
    println!(
        "{} files read, {kept} kept, {} refused",
        files.len(),
        refused.len()
    );
    for line in &refused {
        println!("refused {line}");
    }
    for line in &broken {
        println!("BROKEN {line}");
    }
    assert!(!files.is_empty(), "no lock files below {folder}");
    assert!(
        broken.is_empty(),
        "the properties do not hold for {} files",
        broken.len()
    );
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
