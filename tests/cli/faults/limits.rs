//! Files of a repository that take more memory or time than they may, unless something stops that.

use std::fs;
use std::os::unix::fs::symlink;

use provlock_test::{Output, TestEnvironment, survived};

use crate::lock::requires;

const ATTACK: &str = "a file of the repository that takes more memory or time than it may";
/// How much address space a run gets, in KiB. A run that reads a device to its end takes as much as there is.
const MOST_MEMORY: u64 = 1 << 20;

fn project() -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    environment.set("MALLOC_ARENA_MAX", "2");
    environment.write("main.tf", requires("acme/a", ""));
    environment
}

/// Runs with little memory.
fn run(environment: &TestEnvironment, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -v {MOST_MEMORY} && exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_provlock");
    let arguments = ["-c", &limited, "sh", program].into_iter().chain(arguments.iter().copied());
    environment.program("sh", arguments).run_in(environment.project()).run()
}

const COMMANDS: [&[&str]; 2] = [&["verify", "-r"], &["lock", "-r", "--check", "-p", "linux_amd64", "--offline"]];

#[test]
fn files_of_patterns_that_are_devices_are_as_none() {
    for name in [".gitignore", ".ignore", "d/.gitignore"] {
        let environment = project();
        environment.write("d/main.tf", requires("acme/a", ""));
        symlink("/dev/zero", environment.project().join(name)).unwrap();
        for command in COMMANDS {
            run(&environment, command).assert_stdout_has("").assert_lacks("zero");
        }
    }
    survived(ATTACK, 3 * COMMANDS.len());
}

#[test]
fn there_is_an_end_to_patterns() {
    let one = |count: usize| (0..count).map(|number| format!("a{number}*\n")).collect::<Vec<_>>().concat();
    let cases = [(one(500_000), "is larger than 1 MiB"), (one(60_000), "more than 256 KiB of patterns")];
    for (patterns, message) in &cases {
        let environment = project();
        environment.write(".gitignore", patterns);
        run(&environment, &["verify", "-r"]).assert_code(2).assert_stderr_has(message);
    }
    survived(ATTACK, cases.len());
}

#[test]
fn globs_and_certificates_have_an_end() {
    let environment = project();
    let nested = format!("{}{}", "{".repeat(50_000), "}".repeat(50_000));
    environment.write("provlock.toml", format!("[roots]\nexclude = [\"{nested}\"]\n"));
    run(&environment, &["verify", "-r"]).assert_code(2).assert_stderr_has("a glob has at most 4096 bytes");
    fs::remove_file(environment.project().join("provlock.toml")).unwrap();
    let mut environment = environment;
    environment.set("SSL_CERT_FILE", "/dev/zero");
    run(&environment, &["lock", "-p", "linux_amd64"]).assert_code(2).assert_stderr_has("it is not a regular file");
    survived(ATTACK, 2);
}

/// All of these are of one kind, and equal but for their places or a word.
#[test]
fn a_thousand_findings_of_a_kind_are_shown() {
    let entry = |address: &str, hashes: &str| {
        format!("provider \"{address}\" {{\n  version = \"1.0.0\"\n  hashes = [\n{hashes}  ]\n}}\n")
    };
    let unknown = (0..40_000).map(|number| format!("    \"x{number}:abc\",\n")).collect::<Vec<_>>().concat();
    let hash = format!("    \"h1:{}=\",\n", "A".repeat(43));
    let elsewhere = |number| entry(&format!("evil.test/a/p{number}"), &hash);
    let cases = [
        (0, entry("registry.opentofu.org/acme/a", &unknown)),
        (1, entry("registry.opentofu.org/acme/a", &"    \"h1:x\",\n".repeat(100_000))),
        (1, (0..10_000).map(elsewhere).collect()),
    ];
    for (code, lock_file) in &cases {
        let environment = project();
        environment.write("provlock.toml", "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n");
        environment.write_lock_file(lock_file);
        let verified = run(&environment, &["verify", "--format", "json"]);
        verified.assert_code(*code).assert_stdout_has(" left out");
    }
    survived(ATTACK, cases.len());
}
