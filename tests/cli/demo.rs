//! The committed demo: `testdata/demo` and the filesystem mirror `testdata/mirror` that it locks
//! from, which `cargo run -p provlock-test --example demo_mirror` makes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use provlock_test::archive::{File, demo_packages};

fn mirror() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/mirror/registry.opentofu.org/hashicorp")
}

fn files_of(archive: &[u8]) -> Vec<File> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    (0..archive.len())
        .map(|index| {
            let mut entry = archive.by_index(index).unwrap();
            let mut content = Vec::new();
            std::io::copy(&mut entry, &mut content).unwrap();
            (entry.name().unwrap().to_string(), content)
        })
        .collect()
}

#[test]
fn the_mirror_holds_the_packages_that_it_is_made_of() {
    let mut expected = BTreeSet::new();
    for (path, files) in demo_packages() {
        let bytes = fs::read(mirror().join(&path)).unwrap();
        assert!(
            bytes.len() < 1_000,
            "{path} is for a demo, and has {} bytes",
            bytes.len()
        );
        assert_eq!(files_of(&bytes), files, "{path}");
        expected.insert(mirror().join(path));
    }
    let folders = fs::read_dir(mirror())
        .unwrap()
        .map(|folder| folder.unwrap().path());
    let found = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path());
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}

/// The demo of locked modules makes the repository and the archive that it locks.
#[cfg(unix)]
#[test]
fn the_demo_of_locked_modules_shows_what_is_refused() {
    let environment = provlock_test::TestEnvironment::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/module-demo/demo");
    let output = environment
        .program(script.to_str().unwrap(), [provlock_test::program()])
        .run();
    output.assert_code(0);
    let steps = [
        "Installed 2 modules: network, site",
        "10.0.0.0/16",
        "has changed since it was locked",
        "exit code 2",
    ];
    let mut rest = output.stdout.as_str();
    for step in steps {
        let at = rest
            .find(step)
            .unwrap_or_else(|| panic!("{step} is missing in {output}"));
        rest = &rest[at..];
    }
    assert!(!output.stdout.contains("192.168.0.0/16"), "{output}");
}
