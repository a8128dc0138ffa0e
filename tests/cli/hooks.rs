//! The hooks for pre-commit, which puts the names of changed files after the arguments.

use provlock_test::{TestEnvironment, survived};

const HOOKS: &str = include_str!("../../.pre-commit-hooks.yaml");

/// The arguments of the hook that gets names of files.
fn arguments() -> Vec<String> {
    let hook = HOOKS
        .split("- id: ")
        .find(|hook| hook.starts_with("provlock-lock"))
        .unwrap();
    let line = |key: &str| {
        hook.lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .unwrap()
    };
    let list = line("args: [").split(']').next().unwrap();
    let entry = line("entry: provlock ").split(' ').map(str::to_owned);
    entry.chain(list.split(", ").map(str::to_owned)).collect()
}

#[test]
fn the_name_of_a_file_is_no_option() {
    let names = [
        "--net-mirror=https:evil.test?.tf",
        "--config=x.tf",
        "-C.tf",
        "--accept-changed-hashes.tf",
        "-.tf",
    ];
    let environment = TestEnvironment::new();
    environment.write("main.tf", "locals {}\n");
    for name in names {
        environment.write(name, "locals {}\n");
        let output = environment.provlock(arguments().into_iter().chain([name.to_owned()]));
        output.assert_code(0).assert_lacks("error");
    }
    survived("a file whose name is an option of a hook", names.len());
}

#[test]
fn names_that_begin_like_options_are_left_out() {
    assert!(
        HOOKS.contains("files: ^(?!-)"),
        "an `args` of a user may end without --"
    );
}
