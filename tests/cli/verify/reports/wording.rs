//! Words of findings and summaries that must be true and readable.

use super::{H1, NULL, ZH, entry, good, lock, lock_file};
use crate::lock::requires;
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};

#[test]
fn a_lock_file_without_constraints_records_no_constraints() {
    let environment = good();
    lock(&environment, &[entry(NULL, "3.2.4", "", &[H1, ZH])]);
    environment.provlock(["verify"]).assert_code(0).assert_stdout_has(
        "warning[constraints-differ]: the lock file records no constraints for hashicorp/null, but the configuration has \"~> 3.0\"\n",
    );
}

/// Git checks out a pointer in place of the file where Git LFS is not installed.
#[test]
fn a_pointer_of_git_lfs_is_called_that() {
    let environment = good();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1234\n",
        "0".repeat(64)
    );
    environment.write_lock_file(pointer);
    for (command, code) in [("verify", 1), ("lock", 2), ("tree", 2)] {
        let output = environment.provlock([command]);
        output.assert_code(code);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(
            text.contains("the lock file is a pointer of Git LFS, so its entries are not here"),
            "{output}"
        );
        assert!(
            text.contains("help: git lfs pull; then keep lock files in git itself"),
            "{output}"
        );
    }
}

#[test]
fn without_any_provider_ok_does_not_speak_of_a_locked_one() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "locals {}\n");
    lock(&environment, &[]);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: no provider is required, and none is locked
Not checked: platforms (select with -p), hashes against the registry (--online)
"#]]);
}

#[test]
fn a_dry_run_of_which_nothing_succeeded_would_lock_nothing() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"s3\" {}\n",
        );
    }
    let output = environment.provlock(["lock", "-r", "--dry-run"]);
    output
        .assert_code(2)
        .assert_stderr_has("Would lock 0 of 2 root modules");
    let output = environment.provlock(["lock", "-r"]);
    output
        .assert_code(2)
        .assert_stderr_has("Locked 0 of 2 root modules");
}

#[test]
fn paths_in_a_subdirectory_are_relative_to_it() {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write(".gitignore", ".terraform.lock.hcl\n");
    environment.write(
        "live/a/main.tf",
        requires("hashicorp/null", "~> 3.0") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    let verify = |directory: &str| environment.command(["verify"]).run_in(directory).run();
    verify("live/a").assert_stdout_has(" --> ../../.gitignore:1:1\n");
    let output = environment.command(["verify", "-r"]).run_in("live").run();
    output.assert_stdout_has(" --> ../.gitignore:1:1\n");
    environment.write("provlock.toml", "[verify]\nno-such-key = 1\n");
    let output = verify("live/a");
    output
        .assert_code(2)
        .assert_stderr_has("../../provlock.toml:2:1\n");
}

#[test]
fn a_run_in_another_directory_shows_one_form_of_a_path() {
    let environment = TestEnvironment::new();
    environment.write(
        "five/a/main.tf",
        requires("hashicorp/null", "~> 3.0") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.provlock(["-C", "five/a", "verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-missing]: five/a/.terraform.lock.hcl is missing, and the configuration requires a provider
 --> five/a/main.tf:5:17
  |
5 |       version = "~> 3.0"
  |                 ^^^^^^^^ required here
  |
help: provlock -C five/a lock -p all

----- stderr -----
1 error in five/a/main.tf
"#]]);
    environment.write(
        "five/a/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "2.0.0", "", &[H1, ZH])]),
    );
    let output = environment.provlock(["-C", "five", "verify", "a"]);
    output
        .assert_code(1)
        .assert_stdout_has(" --> five/a/.terraform.lock.hcl:5:13\n")
        .assert_stdout_has(" ::: five/a/main.tf:5:17\n")
        .assert_stderr_has("in five/a/.terraform.lock.hcl\n");
}

#[test]
fn where_git_ignores_all_root_modules_that_is_the_reason() {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write(".gitignore", "/live/\n/empty/\n");
    environment.write("live/a/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    environment.write("empty/README", "");
    for command in ["verify", "lock"] {
        let output = environment.provlock([command, "-r"]);
        output.assert_code(0).assert_stderr_has(
            "No root module in . or below: git ignores live; no other directory has a backend",
        );
    }
}
