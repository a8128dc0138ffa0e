//! Runs in an empty project, and with output that cannot be written.

use provlock_test::TestEnvironment;
use provlock_test::files::entry;

#[test]
fn runs_in_an_empty_project_and_leaves_it_alone() {
    let environment = TestEnvironment::new();
    let before = environment.snapshot();
    let output = environment.provlock([] as [&str; 0]);
    output
        .assert_code(2)
        .assert_stderr_has("Usage: provlock [OPTIONS] <COMMAND>");
    before.assert_same(&environment.snapshot());
}

/// `/dev/full` is a disk without space.
#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none() {
    use std::process::Stdio;

    let environment = TestEnvironment::new();
    environment.write("main.tf", "locals {}\n");
    environment.write("a.hcl", "");
    environment.write("b.hcl", entry("a/b", "1.0.0", "", &[]));
    for command in [
        "diff --json a.hcl b.hcl",
        "diff --textconv b.hcl",
        "verify --format sarif",
        "lock --json --dry-run",
        "lock --json -C missing",
        "cache dir",
        "setup git",
        "completions bash",
        "completions zsh",
        "help",
        "--version",
        "-V",
        "lock -h",
        "verify --help",
        "help cache push",
    ] {
        let run = |stdout: Stdio| environment.command(command.split(' ')).run_into(stdout);
        let whole = run(Stdio::null());
        let full = run(std::fs::File::create("/dev/full").unwrap().into());
        full.assert_code(2);
        assert_eq!(
            full.stderr
                .matches("error[io]: cannot write to stdout\n")
                .count(),
            1,
            "{full}"
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = run(writer.into());
        assert_eq!(
            (closed.code, closed.stderr),
            (whole.code, whole.stderr),
            "{command}"
        );
    }
}
