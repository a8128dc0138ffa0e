//! A run reports what it checked and what it did not check, with the reason, also without findings.

use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};
use serde_json::json;

const USED: &str = "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";
const S3: &str = "terraform {\n  backend \"s3\" {}\n}\n";

fn locked() -> String {
    lock_file(&[entry(NULL, "3.2.4", "", &[H1, super::gate::OTHER_H1, ZH])])
}

/// Adds root modules that need no backend.
fn roots(environment: &TestEnvironment, directory: &str, number: usize) {
    for index in 1..=number {
        environment.write(format!("{directory}/{index}/main.tf"), USED);
    }
}

/// Adds a unit that runs a module of the repository.
fn unit(environment: &TestEnvironment, path: &str, more: &str) {
    environment.write("modules/app/main.tf", USED);
    let text =
        format!("{more}terraform {{\n  source = \"${{get_repo_root()}}//modules/app\"\n}}\n");
    environment.write(format!("{path}/terragrunt.hcl"), text);
}

/// The numbers of a kind that are not 0.
fn counts(environment: &TestEnvironment, kind: &str) -> serde_json::Value {
    let report = validated(&environment.provlock(["verify", "-r", "--json"]).stdout);
    let mut counts = report["counts"][kind].clone();
    counts
        .as_object_mut()
        .unwrap()
        .retain(|_, number| *number != 0);
    counts
}

#[track_caller]
fn is_silent_if_quiet(environment: &TestEnvironment) {
    let output =
        environment.provlock(["verify", "-r", "--quiet", "--allow", "untracked-lock-file"]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}

#[test]
fn lock_files_that_git_ignores() {
    let Repository { environment, .. } = Repository::new();
    environment.write(".gitignore", "*.bak\n".repeat(14) + ".terraform.lock.hcl\n");
    roots(&environment, "live", 21);
    let output = environment.provlock(["verify", "-r"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[untracked-lock-file]: git ignores the lock files of 21 root modules, so other users do not get them
  --> .gitignore:15:1
   |
15 | .terraform.lock.hcl
   | ^^^^^^^^^^^^^^^^^^^
   |
   = root modules: live/1, live/10, live/11 and 18 more
help: remove this line, run provlock lock -r -p all, and add the lock files to git

----- stderr -----
1 warning in .gitignore
21 root modules: none has a lock file (git ignores them: .gitignore:15)
"#]]);
    assert_eq!(
        counts(&environment, "root_modules"),
        json!({ "ignored": 21 })
    );
    is_silent_if_quiet(&environment);
    let report = validated(&environment.provlock(["verify", "-r", "--json"]).stdout);
    assert!(
        report["roots"]
            .as_array()
            .unwrap()
            .iter()
            .all(|root| root["lock_file"].is_null()),
        "there is none"
    );

    environment.write(".gitignore", "/live/[1-9]/.terraform.lock.hcl\n");
    let output = environment.provlock(["verify", "-r", "--allow", "untracked-lock-file"]);
    let expected = "21 root modules: none has a lock file (git ignores 9 of them: .gitignore:1)\n";
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("", expected)
    );
}

#[test]
fn lock_files_of_units_that_git_ignores_are_counted_whether_state_is_shared_or_not() {
    let Repository { environment, .. } = Repository::new();
    environment.write(".gitignore", ".terraform.lock.hcl\n");
    unit(&environment, "live/a", "");
    unit(
        &environment,
        "live/b",
        "remote_state {\n  backend = \"s3\"\n}\n",
    );
    unit(&environment, "live/c", "");
    let output = environment.provlock(["verify", "-r", "--allow", "untracked-lock-file"]);
    let expected = "3 Terragrunt units: none has a lock file (git ignores them: .gitignore:1)\n";
    assert_eq!(output.stderr, expected);
    assert_eq!(counts(&environment, "units"), json!({ "ignored": 3 }));
}

#[test]
fn units_without_a_lock_file() {
    let Repository { environment, .. } = Repository::new();
    for name in ["a", "b", "c", "d", "e"] {
        unit(&environment, &format!("live/{name}"), "");
    }
    environment.write("live/a/.terraform.lock.hcl", locked());
    environment.git(".", ["add", "--all"]);
    environment.write(
        "live/terragrunt.hcl",
        "remote_state {\n  backend = \"s3\"\n}\n",
    );
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state (Terragrunt decides where the state is)
5 Terragrunt units: 1 OK, 4 without a lock file
"#]]);
    assert_eq!(
        counts(&environment, "units"),
        json!({ "ok": 1, "without_lock_file": 4 })
    );
    is_silent_if_quiet(&environment);
    std::fs::remove_file(environment.project().join("live/a/.terraform.lock.hcl")).unwrap();
    for command in ["verify", "lock", "upgrade"] {
        let output = environment.provlock([command, "-r"]);
        assert_eq!(
            output.assert_code(0).stderr,
            "5 Terragrunt units: none has a lock file\n"
        );
    }
}

#[test]
fn root_modules_that_the_settings_exclude() {
    let environment = TestEnvironment::new();
    roots(&environment, "live", 4);
    environment.write("provlock.toml", "[roots]\nexclude = [\"live/**\"]\n");
    for command in ["verify", "lock", "upgrade"] {
        let output = environment.provlock([command, "-r"]);
        assert_eq!(
            output.assert_code(0).stderr,
            "All 4 root modules are excluded by provlock.toml\n"
        );
    }
    assert_eq!(
        counts(&environment, "root_modules"),
        json!({ "excluded": 4 })
    );
    is_silent_if_quiet(&environment);
    environment.write("provlock.toml", "[roots]\nexclude = [\"live/1\"]\n");
    let output = environment.provlock(["verify", "-r"]);
    assert_eq!(
        output.assert_code(0).stderr,
        "4 root modules: 3 without a lock file, 1 excluded by provlock.toml\n"
    );
    environment.write("live/2/.terraform.lock.hcl", locked());
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider of 1 root module locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
4 root modules: 1 OK, 2 without a lock file, 1 excluded by provlock.toml
"#]]);
    let output = environment.provlock(["verify", "-r", "live/1"]);
    assert_eq!(
        output.assert_code(0).stderr,
        "1 root module: excluded by provlock.toml\n"
    );
}

#[test]
fn configurations_without_a_sign_of_a_root_module_are_named() {
    let Repository { environment, .. } = Repository::new();
    environment.write(
        "live/main.tf",
        S3.to_owned() + &requires("hashicorp/null", ""),
    );
    environment.write("live/.terraform.lock.hcl", locked());
    environment.write("scratch/a/main.tf", requires("hashicorp/null", ""));
    environment.write("scratch/b/main.tf", requires("hashicorp/null", ""));
    environment.write("examples/main.tf", USED);
    environment.write("notes/README.md", "");
    environment.commit_all(".");
    let verify = ["verify", "-r", "--allow", "provider-not-required"];
    let shown = environment.provlock(verify);
    shown.assert_code(0).assert_stderr_has(
        "Passed over: 2 directories without a sign of a root module, 1 directory by name \
         (modules, examples, tests or templates); -v lists them\n",
    );
    let listed = environment.provlock(verify.iter().chain(&["-v"]));
    listed.assert_code(0).assert_stderr_has(
        "Passed over: 2 directories without a sign of a root module: scratch/a and scratch/b\n",
    );
    // Named directories are checked, and a module that is called is no root module.
    let named = environment.provlock(["verify", "live", "scratch/a"]);
    named.assert_lacks("Passed over");
    for name in ["a", "b"] {
        let call = format!("module \"{name}\" {{\n  source = \"../scratch/{name}\"\n}}\n");
        environment.write(format!("live/{name}.tf"), call);
    }
    environment
        .provlock(verify)
        .assert_stderr_has("Passed over: 1 directory by name");
    is_silent_if_quiet(&environment);
}

#[test]
fn a_lock_file_that_is_fine() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write_lock_file(locked());
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    let well = "OK: 1 provider locked as required\n\
                Not checked: which platforms the hashes are for (--online checks that)\n\
                Not checked: hashes against the registry (--online does)\n";
    for arguments in [
        &["verify"][..],
        &["verify", "-r"],
        &["verify", "--format", "github"],
    ] {
        let output = environment.provlock(arguments);
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("", well),
            "{arguments:?}"
        );
    }
    environment.write("main.tf", "locals {}\n");
    environment.write_lock_file("");
    let output = environment.provlock(["verify"]);
    assert!(
        output
            .stderr
            .starts_with("OK: no provider is required, and none is locked\n"),
        "{output}"
    );
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    assert_eq!(
        environment.provlock(["verify"]).stderr,
        "1 root module: needs no lock file\n"
    );
}

#[test]
fn unknown_requirements_are_reported_without_a_lock_file() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "variable \"v\" {}\nmodule \"m\" {\n  source = \"./${var.v}\"\n}\n",
    );
    let output = environment.provlock(["verify"]);
    output.assert_code(0).assert_stdout_has(
        "warning[module-not-installed]: the source of module \"m\" is not known",
    );
    environment
        .provlock(["verify", "--deny", "module-not-installed"])
        .assert_code(1);
    let unknown = environment.read("main.tf");
    environment.write("a/main.tf", unknown.clone() + USED);
    let output = environment.provlock(["verify", "-r", "a"]);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("", "1 root module: without a lock file\n")
    );
    environment.write("a/main.tf", unknown + S3);
    let output = environment.provlock(["verify", "-r", "a"]);
    output
        .assert_code(0)
        .assert_stdout_has("the source of module \"m\" is not known");
}

#[test]
fn a_unit_with_shared_state_is_to_have_a_lock_file() {
    let Repository { environment, .. } = Repository::new();
    let state = |backend: &str| format!("remote_state {{\n  backend = {backend:?}\n}}\n");
    unit(&environment, "live/shared", &state("s3"));
    unit(&environment, "live/local", &state("local"));
    environment.write("root.hcl", state("gcs"));
    unit(
        &environment,
        "live/included",
        "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n",
    );
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-missing]: .terraform.lock.hcl is missing, and the configuration requires providers, in 2 Terragrunt units
 --> modules/app/main.tf:1:10
  |
1 | provider "null" {}
  |          ^^^^^^ required here
  |
  = in live/included and live/shared
help: provlock lock -r -p all

----- stderr -----
2 errors in modules/app/main.tf
3 Terragrunt units: 2 with errors, 1 without a lock file
"#]]);
}

#[test]
fn skipped_checks_are_reported_last() {
    let Repository { environment, .. } = Repository::new();
    environment.write("a/main.tf", "locals {}\n");
    environment.write("a/backend.tf", S3);
    environment.write("b/main.tf", USED);
    environment.write("provlock.toml", "[roots]\nexclude = [\"b\"]\n");
    unit(&environment, "live/a", "");
    environment.provlock(["lock", "-r", "--offline"]).matches(str![[r#"
exit code: 0
----- stderr -----
Locked 1 root module: 1 changed, 0 up to date
Skipped: 1 root module excluded by provlock.toml, 1 Terragrunt unit without a lock file
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
}

#[test]
fn the_first_run_on_root_modules_with_lock_files() {
    let Repository { environment, .. } = Repository::new();
    for root in ["a", "b", "old", "rewritten", "unlocked"] {
        environment.write(
            format!("live/{root}/main.tf"),
            requires("hashicorp/null", "~> 3.0"),
        );
        environment.write(format!("live/{root}/backend.tf"), S3);
    }
    let locked =
        |version: &str, hashes: &[&str]| lock_file(&[entry(NULL, version, "~> 3.0", hashes)]);
    let sorted = [H1, super::gate::OTHER_H1, ZH];
    for (root, version, hashes) in [
        ("a", "3.2.4", sorted),
        ("b", "3.2.4", sorted),
        ("old", "2.1.0", sorted),
        ("rewritten", "3.2.4", [ZH, super::gate::OTHER_H1, H1]),
    ] {
        environment.write(
            format!("live/{root}/.terraform.lock.hcl"),
            locked(version, &hashes),
        );
    }
    roots(&environment, "sandbox", 2);
    environment.write("provlock.toml", "[roots]\nexclude = [\"sandbox/**\"]\n");
    environment.git(".", ["add", "--all"]);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[version-outside-constraints]: hashicorp/null is locked at 2.1.0, but the configuration requires ~> 3.0
 --> live/old/.terraform.lock.hcl:5:17
  |
5 |   version     = "2.1.0"
  |                 ^^^^^^^
  |
 ::: live/old/main.tf:5:17
  |
5 |       version = "~> 3.0"
  |                 -------- asked for here
  |
help: provlock -C live/old upgrade hashicorp/null

error[lock-file-missing]: live/unlocked/.terraform.lock.hcl is missing, and the configuration requires a provider
 --> live/unlocked/main.tf:5:17
  |
5 |       version = "~> 3.0"
  |                 ^^^^^^^^ required here
  |
help: provlock -C live/unlocked lock -p all

warning[unsorted-hashes]: the hashes of hashicorp/null are unsorted or duplicated
 --> live/rewritten/.terraform.lock.hcl:9:5
  |
9 |     "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ should be further up
  |
help: provlock -C live/rewritten lock --repair

----- stderr -----
2 errors and 1 warning in 3 files
7 root modules: 2 with errors, 1 with warnings, 2 OK, 2 excluded by provlock.toml
"#]]);
    let numbers = json!({ "ok": 2, "with_errors": 2, "with_warnings": 1, "excluded": 2 });
    assert_eq!(counts(&environment, "root_modules"), numbers);

    environment.write("live/a/other.tf", "locals {\n");
    let output = environment.provlock(["verify", "-r", "--allow", "unsorted-hashes"]);
    let last = "7 root modules: 2 with errors, 2 OK, 2 excluded by provlock.toml; 1 could not be checked\n";
    assert!(output.assert_code(2).stderr.ends_with(last), "{output}");
}

#[test]
fn the_first_run_on_modules_only() {
    let Repository { environment, .. } = Repository::new();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write(
        "modules/inner/main.tf",
        requires("hashicorp/null", "~> 3.0"),
    );
    environment.write(
        "examples/complete/main.tf",
        format!("{USED}module \"m\" {{\n  source = \"../..\"\n}}\n"),
    );
    environment.write("examples/locked/main.tf", USED);
    let nothing = environment.provlock(["verify", "-r"]);
    nothing.matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: skipped by name (modules, examples, tests, templates): examples/complete and examples/locked; no other directory has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
    environment
        .provlock(["verify", "-r", "examples"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
2 root modules: none has a lock file
"#]]);
    environment
        .provlock(["verify", "examples/complete"])
        .assert_code(1)
        .assert_stdout_has("error[lock-file-missing]");
    environment.write("examples/locked/.terraform.lock.hcl", locked());
    environment.git(".", ["add", "--all"]);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
Passed over: 1 directory by name (modules, examples, tests or templates); -v lists them
"#]]);
}

#[test]
fn the_first_run_without_lock_files_or_backends() {
    let Repository { environment, .. } = Repository::new();
    roots(&environment, "live", 3);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
3 root modules: none has a lock file
"#]]);
    assert_eq!(
        counts(&environment, "root_modules"),
        json!({ "without_lock_file": 3 })
    );
    is_silent_if_quiet(&environment);
    environment.write("shared/main.tf", format!("{USED}{S3}"));
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-missing]: shared/.terraform.lock.hcl is missing, and the configuration requires a provider
 --> shared/main.tf:1:10
  |
1 | provider "null" {}
  |          ^^^^^^ required here
  |
help: provlock -C shared lock -p all

----- stderr -----
1 error in shared/main.tf
4 root modules: 1 with errors, 3 without a lock file
"#]]);
}

#[test]
fn the_first_run_on_units_and_root_modules() {
    let Repository { environment, .. } = Repository::new();
    unit(&environment, "live/beside", "");
    unit(&environment, "live/in-source", "");
    environment.write("live/beside/.terraform.lock.hcl", locked());
    environment.write("modules/app/.terraform.lock.hcl", locked());
    environment.write("bootstrap/main.tf", format!("{USED}{S3}"));
    environment.write("bootstrap/.terraform.lock.hcl", locked());
    environment.git(".", ["add", "--all"]);
    environment
        .provlock(["verify", "-r", "-p", "linux_amd64,darwin_arm64"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[platform-not-known]: the platforms of the recorded h1 are unknown offline, in 3 root modules
 --> bootstrap/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = not confirmed: darwin_arm64 and linux_amd64
  = also in live/beside and live/in-source
help: provlock verify -r --online -p darwin_arm64,linux_amd64

----- stderr -----
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
Not checked: the state of 3 root modules
3 warnings in 3 files
1 root module: with warnings
2 Terragrunt units: 2 with warnings
"#]]);
}

#[test]
fn of_many_root_modules_errors_and_warnings_are_counted() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            requires("hashicorp/null", "~> 3.0") + "provider \"null\" {}\n",
        );
        let old = [
            entry(NULL, "2.0.0", "", &[H1, ZH]),
            entry("example.com/a/b", "1.0.0", "", &[H1, ZH]),
        ];
        environment.write(format!("{root}/.terraform.lock.hcl"), lock_file(&old));
    }
    let output = environment.provlock(["verify", "-r", "--allow", "single-platform"]);
    output.assert_code(1).assert_stderr_has(
        "2 errors and 2 warnings in a/.terraform.lock.hcl and b/.terraform.lock.hcl\n2 root modules: 2 with errors",
    );
    environment.write(
        "c/main.tf",
        "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n",
    );
    environment.provlock(["lock", "-r", "--offline"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: hashicorp/null is locked at 2.0.0, but the configuration requires ~> 3.0, in 2 root modules
 --> a/.terraform.lock.hcl:5:13
  |
5 |   version = "2.0.0"
  |             ^^^^^^^ locked here
  |
 ::: a/main.tf:5:17
  |
5 |       version = "~> 3.0"
  |                 -------- asked for here
  |
  = also in b
help: provlock upgrade a b hashicorp/null --offline

error[platform-not-known]: registry.opentofu.org/hashicorp/null 2.0.0 for linux_amd64: the package is not in the cache of hashes
 |
 = root module: c
help: run the command once without --offline and with the same cache
Locked 0 of 3 root modules: 0 changed, 0 up to date; 3 failed
3 errors
"#]]);
}

#[test]
fn findings_of_units_call_them_units_as_the_last_line_does() {
    let environment = TestEnvironment::new();
    environment.write(".git/HEAD", "");
    for unit in ["a", "b"] {
        environment.write(format!("{unit}/terragrunt.hcl"), "");
        environment.write(
            format!("{unit}/main.tf"),
            requires("hashicorp/null", "~> 3.0"),
        );
        environment.write(
            format!("{unit}/.terraform.lock.hcl"),
            lock_file(&[entry(NULL, "2.0.0", "", &[H1, ZH])]),
        );
    }
    let output = environment.provlock(["verify", "-r", "--allow", "single-platform"]);
    output
        .assert_code(1)
        .assert_stdout_has("in 2 Terragrunt units")
        .assert_lacks("root module");
}
