//! Directories with nothing but test files, which `terraform init` locks.

use super::project;
use provlock_test::str;

const MODULE: &str =
    "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\" }\n  }\n}\n";
const RUN: &str = "run \"a\" {\n  command = plan\n  module {\n    source = \"./m\"\n  }\n}\n";

#[test]
fn a_directory_with_nothing_but_tests_is_locked_as_by_terraform() {
    let project = project();
    let json = r#"{"run": {"a": {"command": "plan", "module": {"source": "./m"}}}}"#;
    for (path, text) in [
        ("a.tftest.hcl", RUN),
        ("tests/a.tftest.hcl", RUN),
        ("a.tftest.json", json),
        ("tests/.a.tftest.hcl", RUN),
    ] {
        let files = [(path, text), ("m/main.tf", MODULE)];
        project.assert_locked_as_by_terraform(path, &files, true);
        let environment = &project.environment;
        assert!(environment.lock_file().contains("hashicorp/null"), "{path}");
        let verify = environment.provlock(["verify", "--allow", "single-platform"]);
        verify.assert_code(0).assert_lacks("no-configuration");
        let check = environment.provlock(["lock", "--check", "-r", "-p", "linux_amd64"]);
        check.assert_code(0).assert_lacks("no-configuration");
    }

    // Files that `init` does not read.
    for path in ["a.tfvars", "tests/main.tf", "tests/b/a.tftest.hcl"] {
        project.write(&[(path, "")]);
        let lock = project.environment.provlock(["lock"]);
        lock.assert_code(2)
            .assert_stderr_has("error[no-configuration]");
    }
}

/// The hook's arguments for a changed file.
fn of_file(path: &str) -> [&str; 6] {
    ["lock", "-p", "linux_amd64", "--recursive", "--", path]
}

/// As pre-commit calls the hook.
#[test]
fn a_test_file_stands_for_the_root_module_that_it_tests() {
    let project = project();
    let environment = &project.environment;
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    let root = [
        ("live/a/main.tf", backend),
        ("live/a/tests/a.tftest.hcl", RUN),
        ("live/a/m/main.tf", MODULE),
        ("live/b/main.tf", backend),
    ];
    project.write(&root);
    environment
        .provlock(of_file("live/a/tests/a.tftest.hcl"))
        .matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/a
Locked 1 root module: 1 changed, 0 up to date; [SIZE] downloaded
"#]]);
    assert!(
        environment
            .read("live/a/.terraform.lock.hcl")
            .contains("hashicorp/null")
    );
    assert!(
        !environment
            .project()
            .join("live/b/.terraform.lock.hcl")
            .exists()
    );

    for (directory, path) in [
        (".", "live/a/tests/a.tftest.hcl"),
        ("live/a", "tests/a.tftest.hcl"),
        ("live/a/tests", "a.tftest.hcl"),
        ("live/b", "../a/tests/a.tftest.hcl"),
        (".", "live/a/m/main.tf"),
    ] {
        project.write(&root);
        let output = environment.command(of_file(path)).run_in(directory).run();
        output.assert_code(0);
        let lock_file = environment.project().join("live/a/.terraform.lock.hcl");
        assert!(lock_file.exists(), "{directory}: {path}: {output}");
    }

    // A directory of tests in which `init` ran has a lock file of its own.
    project.write(&root);
    environment.write("live/a/tests/m/main.tf", MODULE);
    environment.write("live/a/tests/.terraform.lock.hcl", "");
    environment
        .provlock(of_file("live/a/tests/a.tftest.hcl"))
        .assert_code(0)
        .assert_stderr_has("Locked 2 root modules");
}
