//! Every law on the seeds, and on seeds that were changed by chance: the same ones in every run.
//! `PROVLOCK_FUZZ_RUNS=20000` tries more of them.

use std::fs;
use std::panic;
use std::path::Path;

use provlock_fuzz::{TARGETS, Target, mutated, repository};
use provlock_test::survived;

/// Number of changed seeds for each target, unless `PROVLOCK_FUZZ_RUNS` is set.
const RUNS: u64 = 500;

fn smoke(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let (names, seeds): (Vec<_>, Vec<_>) = seeds(target).into_iter().unzip();
    let accepted = names
        .iter()
        .zip(&seeds)
        .filter(|(name, seed)| accepts(target, name, seed))
        .count();
    assert!(
        accepted > 0,
        "none of {} seeds is accepted, so there is nothing to start from",
        seeds.len()
    );
    let runs =
        std::env::var("PROVLOCK_FUZZ_RUNS").map_or(RUNS, |text| text.parse().expect("a number"));
    let runs = runs / target.cost;
    for number in 0..runs {
        accepts(
            target,
            &format!("changed seed {number}"),
            &mutated(&seeds, number),
        );
    }
    survived(
        "a random input",
        seeds.len() + usize::try_from(runs).unwrap(),
    );
}

/// Runs the target, and keeps the input if it breaks a law.
fn accepts(target: &Target, what: &str, input: &[u8]) -> bool {
    panic::catch_unwind(|| (target.run)(input)).unwrap_or_else(|cause| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target.name);
        fs::write(&path, input).unwrap();
        eprintln!("{what} breaks a law of {}: {}", target.name, path.display());
        panic::resume_unwind(cause)
    })
}

/// The files in the target's directories of seeds, with their names, in the order of these.
fn seeds(target: &Target) -> Vec<(String, Vec<u8>)> {
    let directories = target
        .seeds
        .iter()
        .map(|directory| repository().join(directory));
    let entries = directories
        .flat_map(|directory| fs::read_dir(directory).unwrap())
        .map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let mut seeds: Vec<_> = files
        .map(|file| {
            (
                file.path().display().to_string(),
                fs::read(file.path()).unwrap(),
            )
        })
        .collect();
    seeds.sort();
    seeds
}

macro_rules! smoke {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            smoke(stringify!($name));
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

smoke!(
    lock_file configuration cli_configuration settings package sha256sums signature registry merge module_source
    module_archive module_cache shared_facts terragrunt ignore_file change
    overlay
);

#[test]
fn every_target_has_a_test_and_is_fuzzed_every_week() {
    assert_eq!(TARGETS.map(|target| target.name), TESTED);
    let workflow = fs::read_to_string(repository().join(".github/workflows/fuzz.yml")).unwrap();
    for Target { name, .. } in TARGETS {
        let entry = format!("          - {name}\n");
        assert!(workflow.contains(&entry), "fuzz.yml lacks {name}");
    }
}
