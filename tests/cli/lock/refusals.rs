//! Refusals of `lock`: the old lock file stays.

use provlock_test::registry::Discovery;
use provlock_test::{Fault, Registry, TestEnvironment, Times, str};

use super::*;

#[test]
fn a_version_outside_the_constraints_names_both_and_the_way_out() {
    let (registry, environment) = Registry::with_project();
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/gamma", "2.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("acme/gamma", "~> 2.0"));
    environment.write_lock_file(lock_file(&[gamma.entry("~> 1.0", &gamma.all_zh())]));
    let before = environment.snapshot();

    let output = environment.provlock(["lock", "-p", "linux_amd64"]);

    output.assert_code(2);
    for text in [
        "locked at 1.5.0",
        "requires ~> 2.0",
        ".terraform.lock.hcl:5:",
        "main.tf:5:",
        "provlock upgrade acme/gamma",
    ] {
        output.assert_stderr_has(text);
    }
    before.assert_same(&environment.snapshot());
}

#[test]
fn configurations_that_tofu_and_terraform_refuse_are_refused() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("acme/gamma", ">= 1.0,"));
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: ">= 1.0," is not a version constraint for provider gamma
 --> main.tf:5:17
  |
5 |       version = ">= 1.0,"
  |                 ^^^^^^^^^ there is nothing after the last comma
"#]]);
    environment.write("main.tf", requires("example.com/-/alpha", ""));
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: the source "example.com/-/alpha" of provider alpha is not a provider address
 --> main.tf:4:16
  |
4 |       source = "example.com/-/alpha"
  |                ^^^^^^^^^^^^^^^^^^^^^ the legacy namespace "-" is only for registry.opentofu.org; write the provider's own namespace
"#]]);
}

#[test]
fn constraints_of_two_modules_that_exclude_each_other_are_both_shown() {
    let (registry, environment) = Registry::with_project();
    for version in ["5.82.2", "6.3.0"] {
        registry
            .publish("hashicorp/aws", version)
            .platforms(["linux_amd64"])
            .done();
    }
    let call = "module \"vpc\" {\n  source = \"./modules/vpc\"\n}\n";
    environment.write(
        "versions.tf",
        format!("{}{call}", requires("hashicorp/aws", "~> 5.70")),
    );
    environment.write(
        "modules/vpc/versions.tf",
        requires("hashicorp/aws", ">= 6.0"),
    );

    let output = environment.provlock(["lock", "-p", "linux_amd64"]);

    output.assert_code(2);
    for text in [
        "no version of hashicorp/aws meets all constraints",
        "versions.tf:5:",
        "modules/vpc/versions.tf:5:",
        "5.82.2",
        "6.3.0",
    ] {
        output.assert_stderr_has(text);
    }
}

#[test]
fn a_platform_that_the_version_lacks_is_named_with_those_there_are() {
    let (_registry, environment, _) = Registry::with_required("acme/gamma", "1.5.0", BOTH, "");
    let output = environment.provlock(["lock", "-p", "linux_amd64", "-p", "plan9_386"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: registry.opentofu.org/acme/gamma 1.5.0 has no package for plan9_386
 |
 = there are packages for darwin_arm64, linux_amd64
help: no version has it; to lock the platforms that exist: provlock lock -p all
"#]]);
}

#[test]
fn an_impossible_lock_is_one_clear_error_and_changes_nothing() {
    let registry = Registry::start();
    registry.discovery("registry.example.com", Discovery::WithoutProviders);
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let environment = TestEnvironment::with_registry(&registry);
        for (path, text) in files {
            environment.write(path, text);
        }
        let before = environment.snapshot();
        let output = environment.provlock(["lock", "-p", "linux_amd64"]);
        output.assert_code(2);
        for text in expected {
            output.assert_stderr_has(text);
        }
        assert_eq!(output.stderr.matches("error[").count(), 1, "{output}");
        before.assert_same(&environment.snapshot());
    };
    check(&[("readme.txt", "no configuration")], &["no-configuration"]);
    check(
        &[("main.tf", &requires("acme/nosuch", ""))],
        &["provider-not-found", "acme/nosuch", "main.tf:4:"],
    );
    check(
        &[("main.tf", &requires("nowhere.example.net/a/b", ""))],
        &["request-failed", "nowhere.example.net"],
    );
    check(
        &[("main.tf", &requires("registry.example.com/a/b", ""))],
        &["registry.example.com", "offers no provider registry"],
    );
    let two = "provider \"null\" {}\nprovider \"random\" {}\n";
    registry.fault(
        "registry.opentofu.org/.well-known/*",
        Times::Always,
        Fault::Status(404),
    );
    check(
        &[("main.tf", two)],
        &["registry.opentofu.org", "main.tf:1:", "provider \"random\""],
    );
    check(
        &[("main.tf", "terraform {")],
        &["invalid-configuration", "main.tf:1:"],
    );
    let broken = [
        ("main.tf", ""),
        (
            ".terraform.lock.hcl",
            "provider \"a.b/c/d\" {\n  version = 1\n}\n",
        ),
    ];
    check(&broken, &[".terraform.lock.hcl:2:13"]);
    let conflict = [
        ("main.tf", ""),
        (".terraform.lock.hcl", "<<<<<<< HEAD\n=======\n>>>>>>> x\n"),
    ];
    check(&conflict, &["conflict-markers", ".terraform.lock.hcl:1:1"]);
}

#[test]
fn a_lock_file_that_is_a_directory_is_an_error() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    environment.write(".terraform.lock.hcl/file", "");
    let output = environment.provlock(["lock"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot read .terraform.lock.hcl: it is a directory
"#]]);
}

#[test]
fn where_a_version_lacks_a_platform_the_newest_that_has_it_is_named() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "3.0.0")
        .platforms(["linux_amd64", "windows_arm64"])
        .done();
    registry
        .publish("acme/gamma", "3.1.0")
        .platforms(["linux_amd64", "windows_arm64"])
        .done();
    registry
        .publish("acme/gamma", "4.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("acme/gamma", ">= 3.0"));
    environment.provlock(["lock", "-p", "linux_amd64,windows_arm64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: registry.opentofu.org/acme/gamma 4.0.0 has no package for windows_arm64; the newest version with windows_arm64 is 3.1.0
 |
 = there are packages for linux_amd64
help: remove the platform, or lock that version: provlock upgrade -p linux_amd64,windows_arm64 acme/gamma@3.1.0
"#]]);
    environment
        .provlock([
            "upgrade",
            "-p",
            "linux_amd64,windows_arm64",
            "acme/gamma@3.1.0",
        ])
        .assert_code(0);
    environment
        .provlock(["upgrade", "-p", "windows_arm64"])
        .assert_code(2)
        .assert_stderr_has(
            "has no package for windows_arm64; the newest version with windows_arm64 is 3.1.0",
        );
}
