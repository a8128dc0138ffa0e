//! Directories that `--recursive` treats as root modules, and its messages about directories
//! without a lock file.

use super::json_output::validated;
use super::lock::{lock_file, requires};
use super::verify::{H1, entry};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const S3: &str = "terraform {\n  backend \"s3\" {}\n}\n";
const LOCAL: &str = "terraform {\n  backend \"local\" {}\n}\n";
const USED: &str = "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";

fn project(files: &[(&str, &str)]) -> TestEnvironment {
    let environment = TestEnvironment::new();
    for (path, text) in files {
        environment.write(path, text);
    }
    environment
}

/// The findings of a run as `path code`.
fn found(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    let output = environment.provlock(["verify", "--json"].iter().chain(arguments));
    let report = validated(&output.stdout);
    assert!(report["errors"].as_array().unwrap().is_empty(), "{output}");
    let text = |value: &serde_json::Value| value.as_str().unwrap().replace('\\', "/");
    let of_root = |root: &serde_json::Value| {
        let findings = root["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| format!("{} {}", text(&root["path"]), text(&finding["code"])))
            .collect::<Vec<_>>()
    };
    report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(of_root)
        .collect()
}

#[test]
fn a_lock_file_is_missed_where_state_is_shared() {
    let old = format!("terraform {{\n  required_version = \"~> 0.13.0\"\n}}\n{USED}");
    let environment = project(&[
        ("shared/main.tf", USED),
        ("shared/backend.tf", S3),
        (
            "cloud/main.tf",
            &format!("terraform {{\n  cloud {{}}\n}}\n{USED}"),
        ),
        ("local/main.tf", USED),
        ("local/backend.tf", LOCAL),
        ("small/main.tf", USED),
        ("old/main.tf", &old),
        ("old/backend.tf", S3),
        ("nothing/backend.tf", S3),
    ]);
    let missing = |root: &str| format!("{root} lock-file-missing");
    assert_eq!(
        found(&environment, &["-r"]),
        [missing("cloud"), missing("shared")]
    );
    assert_eq!(
        found(&environment, &["small"]),
        [missing("small")],
        "it is asked for"
    );
    assert_eq!(found(&environment, &["-r", "small"]), [""; 0]);
    assert_eq!(found(&environment, &["small/main.tf"]), [""; 0]);
    assert_eq!(
        found(&environment, &["old"]),
        [""; 0],
        "Terraform 0.13 knows no lock file"
    );
}

#[test]
fn no_line_includes_a_lock_file_again_whose_directory_is_ignored() {
    for pattern in ["live/", "/live/a", "live*"] {
        let environment = project(&[
            (".gitignore", pattern),
            ("live/a/main.tf", USED),
            ("live/a/backend.tf", S3),
        ]);
        environment.git_init(".");
        let output = environment.provlock(["verify", "live/a"]);
        output.assert_stdout_has(
            "help: remove this line, or let it not match the directory, run provlock -C live/a lock",
        );
    }
    for pattern in ["*.hcl", "live/a/.terraform*"] {
        let environment = project(&[
            (".gitignore", pattern),
            ("live/a/main.tf", USED),
            ("live/a/backend.tf", S3),
        ]);
        environment.git_init(".");
        let output = environment.provlock(["verify", "live/a"]);
        output.assert_stdout_has(
            "help: add !.terraform.lock.hcl below this line, run provlock -C live/a lock",
        );
    }
}

#[test]
fn ignored_lock_files_are_reported_once_per_ignore_line() {
    let environment = project(&[
        (".gitignore", "*.tfstate\n.terraform.lock.hcl\n"),
        ("stage/.gitignore", ".terraform*\n"),
        ("live/a/main.tf", USED),
        ("live/a/backend.tf", S3),
        ("live/b/main.tf", USED),
        ("live/b/.terraform.lock.hcl", &lock_file(&[])),
        ("live/small/main.tf", USED),
        ("live/tracked/main.tf", "locals {}\n"),
        ("live/tracked/.terraform.lock.hcl", &lock_file(&[])),
        ("stage/c/main.tf", USED),
        ("stage/c/backend.tf", S3),
    ]);
    for root in ["d", "e", "f"] {
        environment.write(format!("live/{root}/main.tf"), format!("{USED}{S3}"));
    }
    environment.git_init(".");
    environment.git(".", ["add", "--force", "live/tracked/.terraform.lock.hcl"]);
    environment.provlock(["verify", "-r", "--allow", "provider-not-locked"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[untracked-lock-file]: git ignores the lock files of 6 root modules, so other users do not get them
 --> .gitignore:2:1
  |
2 | .terraform.lock.hcl
  | ^^^^^^^^^^^^^^^^^^^
  |
  = root modules: live/a, live/b, live/d and 3 more
help: remove this line, run provlock lock -r -p all, and add the lock files to git

warning[untracked-lock-file]: git ignores stage/c/.terraform.lock.hcl, so other users do not get it
 --> stage/.gitignore:1:1
  |
1 | .terraform*
  | ^^^^^^^^^^^
  |
help: add !.terraform.lock.hcl below this line, run provlock -C stage/c lock -p all, and add the lock file to git

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
2 warnings in .gitignore and stage/.gitignore
8 root modules: 2 OK, 6 without a lock file (git ignores them: .gitignore:2 and stage/.gitignore:1)
"#]]);
    let output = environment.provlock(["verify", "-C", "live/a", "-p", "linux_amd64"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[untracked-lock-file]: git ignores .terraform.lock.hcl, so other users do not get it
 --> .gitignore:2:1
  |
2 | .terraform.lock.hcl
  | ^^^^^^^^^^^^^^^^^^^
  |
help: remove this line, run provlock -C live/a lock -p linux_amd64, and add the lock file to git

----- stderr -----
1 warning in .gitignore
"#]]);
}

#[test]
fn skipped_directories_are_shown_without_root_modules() {
    let environment = project(&[
        ("examples/a/main.tf", USED),
        ("modules/b/main.tf", USED),
        ("modules/called/main.tf", USED),
        (
            "modules/plain/main.tf",
            "resource \"null_resource\" \"a\" {}\nmodule \"m\" {\n  source = \"../called\"\n}\n",
        ),
        ("stacks/app/components.tfcomponent.hcl", ""),
        ("stacks/app/deployments.tfdeploy.hcl", ""),
    ]);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: skipped by name (modules, examples, tests, templates): examples/a and modules/b; no other directory has a backend, a lock file, or providers that it configures and uses; stacks of Terraform are not read (stacks/app); to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
    environment.write("main.tf", requires("hashicorp/null", ""));
    let output = environment.provlock(["lock", "-r"]);
    output
        .assert_code(0)
        .assert_stderr_has("to lock the configuration in . as a root module: provlock lock\n");
    environment.write("stacks/main.tf", USED);
    environment
        .provlock(["verify", "-r"])
        .assert_lacks("No root module");
}

/// A configuration without any sign of a root module.
fn plain(provider: &str) -> String {
    requires(provider, "") + "resource \"null_resource\" \"a\" {}\n"
}

#[test]
fn directories_that_are_named_are_root_modules() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    for root in ["x", "y", "z"] {
        environment.write(format!("{root}/main.tf"), plain("hashicorp/null"));
    }
    let verify = environment.provlock(["verify", "-r", "x", "y"]);
    verify
        .assert_code(1)
        .assert_stdout_has("lock-file-missing")
        .assert_lacks("No root module");
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64", "x", "y"])
        .assert_code(0)
        .assert_stderr_has("Locked 2 root modules: 2 changed");
    let is_locked = |root: &str| {
        let directory = environment.project().join(root);
        directory.join(".terraform.lock.hcl").exists()
    };
    assert!(is_locked("x") && is_locked("y") && !is_locked("z"));
    environment
        .provlock(["verify", "-r", "x", "y", "--allow", "single-platform"])
        .assert_code(0);

    // Neither a call nor the name of the directory above matters, but for other directories there.
    environment.write("modules/m/main.tf", plain("hashicorp/null"));
    environment.write("modules/m/inner/main.tf", plain("hashicorp/null"));
    let call = "module \"m\" {\n  source = \"../..\"\n}\n";
    environment.write("modules/m/examples/a/main.tf", call);
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64", "modules/m"])
        .assert_code(0);
    assert!(is_locked("modules/m") && !is_locked("modules/m/inner"));

    // A named directory with root modules below, but nothing of its own, is none.
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64", "modules"])
        .assert_code(0)
        .assert_stderr_has("No root module in modules or below");
}

#[test]
fn candidates_that_no_module_calls_are_listed_where_there_is_no_root_module() {
    let environment = project(&[
        ("live/a/main.tf", &plain("hashicorp/null")),
        ("live/b/main.tf", &plain("hashicorp/null")),
        ("shared/main.tf", &plain("hashicorp/null")),
        (
            "live/c/main.tf",
            "module \"shared\" {\n  source = \"../../shared\"\n}\n",
        ),
        ("modules/m/main.tf", &plain("hashicorp/null")),
        ("notes/main.tf", "locals {}\n"),
    ]);
    for command in ["lock", "verify"] {
        environment.provlock([command, "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml; no module calls the configurations in live/a, live/b and live/c; to lock them as root modules: provlock lock live/a live/b live/c
"#]]);
    }
    std::fs::remove_dir_all(environment.project().join("live/b")).unwrap();
    std::fs::remove_dir_all(environment.project().join("live/c")).unwrap();
    std::fs::remove_dir_all(environment.project().join("shared")).unwrap();
    environment
        .provlock(["lock", "-r"])
        .assert_code(0)
        .assert_stderr_has(
            "to lock the configuration in live/a as a root module: provlock lock live/a",
        );
}

#[test]
fn a_stack_of_cdktf_is_a_root_module() {
    let resource = "\"resource\": {\"null_resource\": {\"a\": {}}}";
    let stack = format!("{{\"//\": {{\"metadata\": {{\"stackName\": \"a\"}}}}, {resource}}}");
    let environment = project(&[
        ("cdktf.out/stacks/a/cdk.tf.json", &stack),
        (
            "cdktf.out/stacks/plain/cdk.tf.json",
            &format!("{{{resource}}}"),
        ),
        (
            "cdktf.out/stacks/comment/cdk.tf.json",
            &format!("{{\"//\": \"metadata\", {resource}}}"),
        ),
        (
            "cdktf.out/stacks/empty/cdk.tf.json",
            "{\"//\": {\"metadata\": {\"stackName\": \"a\"}}}",
        ),
        ("other/main.tf.json", &stack),
    ]);
    let report = validated(&environment.provlock(["verify", "-r", "--json"]).stdout);
    let roots = report["roots"].as_array().unwrap();
    assert_eq!(roots.len(), 1, "{report}");
    assert_eq!(
        roots[0]["path"].as_str().unwrap().replace('\\', "/"),
        "cdktf.out/stacks/a"
    );
}

#[test]
fn a_repository_without_root_modules_is_in_order() {
    let environment = project(&[("modules/a/main.tf", USED), ("b/main.tf", "locals {}\n")]);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: skipped by name (modules, examples, tests, templates): modules/a; no other directory has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
    for arguments in [
        &["verify", "-r", "--json"][..],
        &["lock", "-r", "b"],
        &["upgrade", "-r"],
        &["upgrade", "-r", "--dry-run"],
    ] {
        let output = environment.provlock(arguments);
        output
            .assert_code(0)
            .assert_stderr_has("No root module in ");
    }
    environment
        .provlock(["lock", "-r", "missing"])
        .assert_code(2);
}

#[test]
fn a_provider_without_source_differs_from_an_unrequired_one() {
    let (_registry, environment) = Registry::with_project();
    environment.write("main.tf", "provider \"yandex\" {}\n");
    environment.write_lock_file(lock_file(&[entry(
        "yandex-cloud/yandex",
        "0.100.0",
        "",
        &[H1],
    )]));
    environment
        .provlock(["verify", "--allow", "single-platform"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/yandex is required, but not locked
 --> main.tf:1:10
  |
1 | provider "yandex" {}
  |          ^^^^^^^^ required here
  |
 ::: .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/yandex-cloud/yandex" {
  |          ------------------------------------------- this one is locked
  |
  = required_providers has no source for it, so it is assumed to be a hashicorp provider
help: add yandex = { source = "yandex-cloud/yandex" } to required_providers

----- stderr -----
1 error in main.tf
"#]]);
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: registry.opentofu.org has no provider registry.opentofu.org/hashicorp/yandex
 --> main.tf:1:10
  |
1 | provider "yandex" {}
  |          ^^^^^^^^ required here
  |
 ::: .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/yandex-cloud/yandex" {
  |          ------------------------------------------- this one is locked
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicorp/yandex/versions
  = required_providers has no source for it, so it is assumed to be a hashicorp provider
help: add yandex = { source = "yandex-cloud/yandex" } to required_providers
"#]]);
    environment.write(
        "main.tf",
        format!(
            "provider \"yandex\" {{}}\n{}",
            requires("hashicorp/yandex", "")
        ),
    );
    let output = environment.provlock(["verify"]);
    output
        .assert_code(1)
        .assert_stdout_has("provlock lock --prune");
}
