//! System calls, which decide how long a check of very many root modules takes.

use std::fs;

use super::lock::{lock_file, requires};
use super::verify::{H1, ZH, entry};
use provlock_test::git::Repository;
use provlock_test::{Tool, program};

/// Largest number of system calls about files for each root module.
/// `docs/performance.md` states it.
const BUDGET: usize = 46;
/// System calls about files.
const COUNTED: [&str; 12] = [
    "access",
    "close",
    "fstat",
    "getdents64",
    "lseek",
    "lstat",
    "newfstatat",
    "openat",
    "read",
    "readlink",
    "stat",
    "statx",
];

/// Number of system calls of `verify -r` over so many root modules, each with a configuration of
/// two files and a lock file.
fn calls(root_modules: usize) -> usize {
    let repository = Repository::new();
    let environment = &repository.environment;
    for number in 0..root_modules {
        let directory = format!("team/root-{number}");
        environment.write(
            format!("{directory}/versions.tf"),
            requires("hashicorp/null", ""),
        );
        let main = "resource \"null_resource\" \"a\" {}\n";
        environment.write(format!("{directory}/main.tf"), main);
        let locked = lock_file(&[entry(
            "registry.opentofu.org/hashicorp/null",
            "3.2.4",
            "",
            &[H1, ZH],
        )]);
        environment.write(format!("{directory}/.terraform.lock.hcl"), locked);
    }
    environment.commit_all(".");

    let counts = environment.root().join("counts");
    let traced = environment.program(
        "strace",
        [
            "--follow-forks",
            "--summary-only",
            "--summary-columns=calls,name",
            "--output",
            counts.to_str().unwrap(),
            &program(),
            "verify",
            "-r",
            "--allow",
            "single-platform",
        ],
    );
    traced.run().assert_code(0);
    let mut calls = 0;
    for line in fs::read_to_string(counts).unwrap().lines() {
        let mut words = line.split_whitespace();
        if let (Some(count), Some(name)) = (words.next(), words.next())
            && COUNTED.contains(&name)
        {
            calls += count.parse::<usize>().unwrap();
        }
    }
    calls
}

#[test]
fn a_root_module_costs_few_system_calls() {
    if !provlock_test::requires(Tool::Strace) {
        return;
    }
    let few = calls(10);
    let many = calls(110);
    let each = (many - few) / 100;
    assert!(each <= BUDGET, "{each} system calls for a root module");
    assert!(
        each > 10,
        "{each} system calls for a root module are too few to be counted right"
    );
}
