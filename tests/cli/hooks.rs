//! The hooks for pre-commit, which puts the names of changed files after the arguments.

use std::path::Path;

use provlock_test::{Registry, TestEnvironment, survived};
use regex_automata::meta::Regex;

use super::lock::requires;

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

/// The files whose names the hook gets from pre-commit.
fn is_matched(name: &str) -> bool {
    let line = HOOKS
        .lines()
        .find_map(|line| line.trim().strip_prefix("files: "))
        .unwrap();
    // Rust's expressions have no lookahead.
    let expression = line.strip_prefix("^(?!-)").unwrap();
    !name.starts_with('-')
        && Regex::new(&format!("^{expression}"))
            .unwrap()
            .is_match(name)
}

#[test]
fn every_file_that_decides_on_providers_starts_the_hook() {
    let names = [
        "main.tf",
        "live/main.tofu",
        "live/main.tf.json",
        "live/terragrunt.hcl",
        "root.hcl",
        "live/env.hcl",
        "terragrunt.hcl.json",
        "tests/network.tftest.hcl",
        "tests/network.tftest.json",
        "tests/network.tofutest.json",
        "live/.terraform.lock.hcl",
        "live/.modules.lock.hcl",
    ];
    for name in names {
        assert!(is_matched(name), "{name}");
    }
    for name in ["README.md", "package.json", "main.tf.bak", "-C.tf", "hcl"] {
        assert!(!is_matched(name), "{name}");
    }
}

#[test]
fn a_file_that_units_read_stands_for_the_units() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write("modules/a/main.tf", requires("hashicorp/null", "~> 3.2"));
    let state = "remote_state {\n  backend = \"s3\"\n  config  = { bucket = \"acme\" }\n}\n";
    environment.write("root.hcl", state);
    environment.write("other.hcl", state);
    for (unit, included) in [
        ("units/a", "root.hcl"),
        ("units/b", "root.hcl"),
        ("units/c", "other.hcl"),
    ] {
        let text = format!(
            "include \"root\" {{\n  path = find_in_parent_folders(\"{included}\")\n}}\n\
            terraform {{\n  source = \"../../modules/a\"\n}}\n"
        );
        environment.write(Path::new(unit).join("terragrunt.hcl"), text);
    }
    let command = arguments().into_iter().chain(["root.hcl".to_owned()]);
    environment.provlock(command).assert_code(0);
    let is_locked = |unit: &str| {
        environment
            .project()
            .join(unit)
            .join(".terraform.lock.hcl")
            .exists()
    };
    assert!(is_locked("units/a") && is_locked("units/b"));
    assert!(!is_locked("units/c"), "it reads a different file");

    // A file of another program is no error.
    environment.write("build.pkr.hcl", "build {}\n");
    let command = arguments().into_iter().chain(["build.pkr.hcl".to_owned()]);
    environment.provlock(command).assert_code(0);
}
