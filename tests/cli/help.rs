//! Commands in help can be pasted into a shell, whatever directories are called.

use std::path::Path;

use provlock_test::TestEnvironment;
use serde_json::Value;

use super::json_output::validated;
use super::lock::requires;
use super::verify::entry;

/// Directories as they are called, and as a POSIX shell must be given them.
const HOSTILE: [(&str, &str); 4] = [
    ("my dir; x", "'my dir; x'"),
    ("it's", "'it'\\''s'"),
    ("-rf", "./-rf"),
    ("$(id)", "'$(id)'"),
];

/// The help of the only finding, as text, in JSON and in SARIF.
fn help(run: impl Fn(&[&str]) -> String) -> [String; 3] {
    let text = run(&[]);
    let line = text.lines().find_map(|line| line.strip_prefix("help: "));
    let json = validated(&run(&["--json"]));
    let sarif: Value = serde_json::from_str(&run(&["--format", "sarif"])).unwrap();
    let message = sarif["runs"][0]["results"][0]["message"]["text"]
        .as_str()
        .unwrap();
    let last = message
        .lines()
        .next_back()
        .unwrap()
        .strip_prefix("help: ")
        .unwrap();
    let help = json["roots"][0]["findings"][0]["help"].as_str().unwrap();
    [line.unwrap_or_default(), help, last].map(str::to_owned)
}

fn without_lock_file(root: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write(
        Path::new(root).join("main.tf"),
        "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.write(
        Path::new(root).join("versions.tf"),
        requires("hashicorp/null", "~> 3.0"),
    );
    environment
}

#[test]
fn a_named_directory_is_quoted() {
    for (name, quoted) in HOSTILE {
        let environment = without_lock_file(name);
        let run = |more: &[&str]| {
            environment
                .provlock(["verify"].iter().chain(more).chain(&["--", name]))
                .stdout
        };
        assert_eq!(
            help(run),
            [(); 3].map(|()| format!("provlock -C {quoted} lock -p all"))
        );
    }
}

#[test]
fn a_directory_that_was_found_is_quoted() {
    for (name, quoted) in HOSTILE {
        let environment = without_lock_file(name);
        let run = |more: &[&str]| {
            environment
                .provlock(["verify", "-r"].iter().chain(more))
                .stdout
        };
        assert_eq!(
            help(run),
            [(); 3].map(|()| format!("provlock -C {quoted} lock -p all"))
        );
    }
}

#[test]
fn the_directory_of_the_program_comes_before_the_one_it_names() {
    for (name, quoted) in [
        ("my dir; x", "'live/my dir; x'"),
        ("it's", "'live/it'\\''s'"),
        ("-rf", "live/-rf"),
    ] {
        let environment = without_lock_file(&format!("live/{name}"));
        let run = |more: &[&str]| {
            environment
                .provlock(
                    ["-C", "live", "verify"]
                        .iter()
                        .chain(more)
                        .chain(&["--", name]),
                )
                .stdout
        };
        assert_eq!(
            help(run),
            [(); 3].map(|()| format!("provlock -C {quoted} lock -p all"))
        );
    }
    for (name, quoted) in HOSTILE {
        let environment = without_lock_file(&format!("{name}/a"));
        let directory = format!("-C{name}");
        let run = |more: &[&str]| {
            environment
                .provlock(
                    [&directory, "verify", "a"]
                        .into_iter()
                        .chain(more.iter().copied()),
                )
                .stdout
        };
        let quoted = if quoted.ends_with('\'') {
            format!("{}/a'", quoted.trim_end_matches('\''))
        } else {
            format!("{quoted}/a")
        };
        assert_eq!(
            help(run),
            [(); 3].map(|()| format!("provlock -C {quoted} lock -p all"))
        );
    }
}

#[test]
fn help_of_warnings_runs_in_the_directory_of_the_program_too() {
    let environment = TestEnvironment::new();
    let entry = entry("a/b", "1.0.0", "", &[]);
    environment.write(
        "my dir/lock",
        format!("<<<<<<< ours{entry}=======\n>>>>>>> theirs\n"),
    );
    let output = environment.provlock(["-C", "my dir", "merge", "lock"]);
    output.assert_stderr_has(
        "if the configuration no longer requires it: provlock -C 'my dir' lock --prune",
    );
}
