//! Runs that check nothing, or only a part: they say so, and do not count what they did not check.

use super::json_output::validated;
use super::lock::{lock_file, requires};
use super::verify::ZH;
use provlock_test::files::entry;
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str};

const BACKEND: &str = "terraform {\n  backend \"s3\" {}\n}\n";

#[test]
fn verify_of_files_of_no_root_module_says_that_nothing_was_checked() {
    let environment = TestEnvironment::new();
    environment.write("unused/main.tf", requires("hashicorp/null", ""));
    environment.provlock(["verify", "unused/main.tf"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module contains or calls unused/main.tf: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
    // A change may have deleted a file, so a missing one is no error.
    for missing in ["main.tf", ".terraform.lock.hcl", "terragrunt.hcl"] {
        let output = environment.provlock(["verify", missing]);
        output
            .assert_code(0)
            .assert_stderr_has(&format!("No root module contains or calls {missing}: "));
    }
}

/// `lock` would refuse the directory, so no help suggests it.
#[test]
fn a_directory_without_a_configuration_is_not_referred_to_lock() {
    let environment = TestEnvironment::new();
    environment.write("empty/.keep", "");
    for command in ["get", "sbom", "mirror M"] {
        for command in [format!("{command} empty"), format!("-C empty {command}")] {
            let output = environment.provlock(command.split(' '));
            output
                .assert_code(2)
                .assert_stderr_has("error[no-configuration]: ")
                .assert_lacks("lock");
        }
    }
}

#[test]
fn excluded_root_modules_are_not_reported_as_missing() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(format!("{root}/main.tf"), BACKEND);
    }
    environment.write("provlock.toml", "[roots]\nexclude = [\"**\"]\n");
    for arguments in [
        ["verify", "-r", ""],
        ["lock", "-r", ""],
        ["tree", "-r", ""],
        ["get", "-r", ""],
        ["pin", "-r", ""],
        ["merge", "-r", ""],
        ["mirror", "-r", "mirror"],
        ["sbom", "-r", ""],
    ] {
        let output = environment.provlock(
            arguments
                .into_iter()
                .filter(|argument| !argument.is_empty()),
        );
        output.assert_stderr_has("All 2 root modules are excluded by provlock.toml");
        assert!(!output.stderr.contains("No root module"), "{output}");
    }
    environment.write("provlock.toml", "[roots]\nexclude = [\"./a\"]\n");
    let report = validated(&environment.provlock(["verify", "-r", "--json"]).stdout);
    assert_eq!(
        report["roots"].as_array().unwrap().len(),
        1,
        "a path may begin with ./"
    );
}

/// A project that requires `acme/gamma` and `acme/null`, and locks both for one platform.
fn two_locked() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    for provider in ["acme/gamma", "acme/null"] {
        registry
            .publish(provider, "1.0.0")
            .platforms(["linux_amd64"])
            .done();
    }
    environment.write(
        "main.tf",
        requires("acme/gamma", "") + "module \"null\" {\n  source = \"./null\"\n}\n",
    );
    environment.write("null/main.tf", requires("acme/null", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    (registry, environment)
}

#[test]
fn a_check_of_a_named_provider_counts_no_other() {
    let (_registry, environment) = two_locked();
    let check = |arguments: &[&str]| {
        let output =
            environment.provlock([&["lock", "-p", "linux_amd64", "--check"], arguments].concat());
        output.assert_code(0).stderr.clone()
    };
    assert_eq!(check(&[]), "Up to date: 2 providers for linux_amd64\n");
    assert_eq!(
        check(&["acme/gamma"]),
        "Up to date: 1 provider for linux_amd64\n"
    );
}

#[test]
fn hashes_of_entries_that_nothing_requires_are_not_compared() {
    let (_registry, environment) = two_locked();
    environment.write("main.tf", requires("acme/gamma", ""));
    for command in ["lock", "upgrade"] {
        let output = environment.provlock([command, "-p", "linux_amd64", "--check"]);
        let expected = "Not compared with the published release: 3 recorded hashes; to compare all: provlock verify --online\n";
        output.assert_code(0).assert_stderr_has(expected);
    }
}

#[test]
fn a_unit_that_cannot_be_read_fails_instead_of_being_skipped() {
    let repository = Repository::new();
    let environment = &repository.environment;
    let unit = "remote_state {\n  backend = \"s3\"\n  config  = {}\n}\n";
    environment.write("live/a/terragrunt.hcl", unit);
    environment.write("live/a/main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["verify", "-r"])
        .assert_code(1)
        .assert_stdout_has("error[lock-file-missing]");
    environment.write("live/a/terragrunt.hcl", format!("{unit}}}{{\n"));
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: [..]
 --> live/a/terragrunt.hcl:5:1
  |
5 | }{
  | [..]
  |
  = root module: live/a
1 Terragrunt unit: could not be checked
"#]]);
}

#[test]
fn a_required_lock_file_of_modules_is_missed_without_any_call() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "3.2.4",
        "~> 3.0",
        &[ZH],
    )]));
    environment.write("provlock.toml", "[modules]\nlock = true\n");
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[module-not-locked]: .modules.lock.hcl is missing, but provlock.toml requires locked modules
help: provlock lock --modules

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment.write(".modules.lock.hcl", "");
    environment.provlock(["verify"]).assert_code(0);
}

#[test]
fn the_reason_why_nothing_moves_is_not_always_a_constraint() {
    let (registry, environment) = two_locked();
    registry
        .publish("acme/gamma", "1.1.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/gamma\"\nversions = \">= 1.1.0\"\n",
    );
    let output = environment.provlock(["upgrade", "-p", "linux_amd64"]);
    output
        .assert_code(0)
        .assert_stderr_has("No newer version is allowed: 2 providers");
}

#[test]
fn nothing_to_pin_is_said_only_of_what_could_be_read() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "module \"a\" {\n");
    let output = environment.provlock(["pin", "--check"]);
    output
        .assert_code(2)
        .assert_stderr_has("error[invalid-configuration]");
    assert!(!output.stderr.contains("Nothing to pin"), "{output}");
}

#[test]
fn a_file_of_variables_that_does_not_exist_is_an_error() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", BACKEND);
    for command in ["verify", "lock", "tree"] {
        environment
            .provlock([command, "--var-file", "nosuch.tfvars"])
            .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot read nosuch.tfvars: [..]
"#]]);
    }
}

#[cfg(unix)]
#[test]
fn settings_behind_a_link_that_leads_nowhere_are_an_error() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", BACKEND);
    std::os::unix::fs::symlink("nosuch", environment.project().join("provlock.toml")).unwrap();
    environment
        .provlock(["verify"])
        .assert_code(2)
        .assert_stderr_has("error[io]: cannot read provlock.toml: ");
}

#[test]
fn a_number_in_a_variable_that_is_ignored_is_reported() {
    let mut environment = TestEnvironment::new();
    environment.write("main.tf", "locals {}\n");
    for (name, value) in [
        ("PROVLOCK_DOWNLOAD_TIMEOUT", "abc"),
        ("PROVLOCK_GIT_TIMEOUT", "0"),
        ("PROVLOCK_HELPER_TIMEOUT", "30"),
        ("PROVLOCK_DOWNLOAD_MINIMUM_RATE", "0"),
        ("TF_REGISTRY_DISCOVERY_RETRY", "-1"),
        ("TF_PROVIDER_DOWNLOAD_RETRY", ""),
    ] {
        environment.set(name, value);
    }
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[invalid-argument]: the environment variable TF_REGISTRY_DISCOVERY_RETRY is "-1", which is not a number
 |
 = it is ignored

warning[invalid-argument]: the environment variable PROVLOCK_DOWNLOAD_TIMEOUT is "abc", which is not a positive number
 |
 = it is ignored

warning[invalid-argument]: the environment variable PROVLOCK_GIT_TIMEOUT is "0", which is not a positive number
 |
 = it is ignored
1 root module: needs no lock file
"#]]);
}

#[test]
fn a_lock_file_whose_errors_are_allowed_is_not_ok() {
    let (_registry, environment) = two_locked();
    let locked = environment.lock_file();
    let lines = ["Not checked: 1 lock file, because it contains errors"];
    for (code, text) in [
        (
            "not-canonical",
            locked.replacen("\"1.0.0\"", "\"1.0.0\"\n  constraints = \">1.0\"", 1),
        ),
        ("lock-file-syntax", format!("{locked}x {{\n")),
        ("conflict-markers", format!("{locked}<<<<<<< ours\n")),
    ] {
        environment.write_lock_file(text.replace("zh:", "zh:0"));
        for flag in ["--allow", "--warn"] {
            let output =
                environment.provlock(["verify", "--online", "-p", "linux_amd64", flag, code]);
            output.assert_code(0).assert_stderr_has(lines[0]);
            assert!(
                !output.stderr.contains("OK") && !output.stderr.contains("All hashes"),
                "{output}"
            );
        }
        let report = environment.provlock([
            "verify",
            "--online",
            "-p",
            "linux_amd64",
            "--allow",
            code,
            "--json",
        ]);
        let report = validated(&report.stdout);
        assert_eq!(
            report["counts"]["root_modules"]["partly_checked"], 1,
            "{report}"
        );
        assert_eq!(report["roots"][0]["not_checked"][0], lines[0]);
    }
    environment.write_lock_file(&locked);
    environment.write(".modules.lock.hcl", "x {\n");
    let arguments = [
        "verify",
        "-p",
        "linux_amd64",
        "--online",
        "--allow",
        "lock-file-syntax",
    ];
    let output = environment.provlock(arguments);
    output.assert_code(0).assert_stderr_has(lines[0]);
    assert!(
        !output.stderr.contains("OK") && !output.stderr.contains("All hashes"),
        "{output}"
    );
}

#[test]
fn other_findings_do_not_hide_what_was_not_checked() {
    let (registry, environment) = two_locked();
    environment.write(
        "main.tf",
        requires("acme/gamma", "") + "module \"m\" {\n  source = \"./null\"\n}\n",
    );
    let module = "module \"s\" {\n  source = \"s3::https://s3.amazonaws.com/a/b.zip\"\n}\n";
    environment.write("more.tf", module);
    let forged = environment.lock_file().replacen(
        "zh:",
        "zh:0000000000000000000000000000000000000000000000000000000000000000\",\n    \"zh:",
        1,
    );
    environment.write_lock_file(forged);
    let allowed = "module-not-installed,hash-not-published,unsorted-hashes";
    // Neither the note about platforms nor the registry's warning is about hashes.
    registry.warn("registry.opentofu.org/acme/gamma", &["use acme/delta"]);
    for platforms in [&["-p", "linux_amd64"][..], &[]] {
        let output =
            environment.provlock([&["verify", "--online", "--allow", allowed], platforms].concat());
        output
            .assert_code(0)
            .assert_stderr_has("Not checked: unknown requirements of 1 root module\n");
        output.assert_stderr_has("Not confirmed as published: hashes of 1 provider\n");
    }
}
