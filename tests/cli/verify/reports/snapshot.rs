//! Output of `verify` for every root module in `testdata`, as a committed text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use provlock_test::{TestEnvironment, snapbox, with_slashes};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Every root in `testdata`, by its name: the demo, each lock file beside a configuration that
/// requires nothing of it, and each recorded configuration without a lock file.
fn roots() -> BTreeMap<String, Vec<(String, Vec<u8>)>> {
    let mut roots = BTreeMap::new();
    roots.insert(
        "demo".to_owned(),
        vec![(
            "main.tf".to_owned(),
            fs::read(testdata().join("demo/main.tf")).unwrap(),
        )],
    );
    let files = fs::read_dir(testdata().join("locks"))
        .unwrap()
        .map(|file| file.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "hcl")) {
        let name = format!("locks/{}", path.file_stem().unwrap().to_str().unwrap());
        let files = vec![
            (
                "main.tf".to_owned(),
                fs::read(testdata().join("demo/main.tf")).unwrap(),
            ),
            (".terraform.lock.hcl".to_owned(), fs::read(&path).unwrap()),
        ];
        roots.insert(name, files);
    }
    let text = fs::read_to_string(testdata().join("configurations/conformance.json")).unwrap();
    let configurations: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    for (name, configuration) in configurations {
        let files = configuration["files"].as_object().unwrap().iter();
        let files = files
            .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.as_bytes().to_vec())));
        roots.insert(format!("configurations/{name}"), files.collect());
    }
    roots
}

#[test]
fn verify_output_for_testdata_is_as_recorded() {
    let environment = TestEnvironment::new();
    let mut text = String::new();
    for (name, files) in roots() {
        for (path, content) in files {
            environment.write(format!("{name}/{path}"), content);
        }
        let output =
            environment.provlock(["verify", "--format", "github", "-p", "linux_amd64", &name]);
        assert!(matches!(output.code, Some(0..=2)), "{output}");
        let _ = writeln!(
            text,
            "{name}: exit code {}\n{}",
            output.code.unwrap(),
            output.stdout.replace("%0A", "\n    ")
        );
    }
    if cfg!(windows) {
        let recorded = fs::read_to_string(testdata().join("verify.snapshot.txt")).unwrap();
        assert_eq!(with_slashes(&text), with_slashes(&recorded));
    } else {
        snapbox::assert_data_eq!(
            text,
            snapbox::file!["../../../../testdata/verify.snapshot.txt"].raw()
        );
    }
}
