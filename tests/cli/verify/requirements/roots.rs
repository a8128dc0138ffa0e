//! Selection of the root modules that are checked.

use super::gate::OTHER_H1;
use super::{H1, NOTHING, NULL, ZH, entry, found, good, verify};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::{TestEnvironment, str};

/// Two root modules: `a` calls a module, and `b` has no hashes.
fn two() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let call = "module \"m\" {\n  source = \"../modules/m\"\n}\n";
    environment.write("a/main.tf", call);
    environment.write(
        "a/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[H1])]),
    );
    environment.write("modules/m/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("b/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write(
        "b/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[])]),
    );
    environment
}

fn checked(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    let report = validated(&verify(environment, arguments).stdout);
    report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn recursive_checks_every_root_below() {
    let environment = two();
    assert_eq!(checked(&environment, &["-r"]), ["a", "b"]);
    assert_eq!(found(&environment, &["-r"]), ["error no-hashes"]);
    let output = environment.provlock(["verify", "--allow", "single-platform", "-r"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[no-hashes]: no hash is recorded for hashicorp/null 3.2.4, so any package would be accepted
 --> b/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock -C b lock -p all

----- stderr -----
1 error in b/.terraform.lock.hcl
2 root modules: 1 with errors, 1 OK
"#]]);
    assert_eq!(checked(&environment, &["-r", "a", "./b"]), ["a", "b"]);
}

#[test]
fn the_settings_say_which_roots_count() {
    let environment = two();
    environment.write("provlock.toml", "[roots]\nexclude = [\"b\"]\n");
    assert_eq!(checked(&environment, &["-r"]), ["a"]);
    assert_eq!(checked(&environment, &["b"]), ["b"], "named, so meant");
}

#[test]
fn files_stand_for_their_root() {
    let environment = two();
    for (file, root) in [
        ("a/main.tf", "a"),
        ("./b/.terraform.lock.hcl", "b"),
        ("modules/m/main.tf", "a"),
    ] {
        assert_eq!(checked(&environment, &[file]), [root], "{file}");
    }
    assert_eq!(
        checked(
            &environment,
            &["modules/m/main.tf", "b/main.tf", "a/main.tf"]
        ),
        ["a", "b"]
    );
    environment.write("unused/main.tf", "locals {}\n");
    assert_eq!(checked(&environment, &["unused/main.tf"]), NOTHING);
    assert_eq!(checked(&good(), &["main.tf"]), ["."]);
}

#[test]
fn an_empty_check_is_reported() {
    let environment = TestEnvironment::new();
    environment.write("docs/readme.md", "text");
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
    environment
        .provlock(["verify", "missing"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open missing: [..] (os error 2)
"#]]);
    environment
        .provlock(["verify", "missing/main.tf"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot open missing/main.tf: [..]
"#]]);
}

#[test]
fn one_root_that_cannot_be_read_does_not_stop_the_others() {
    let environment = two();
    environment.write("c/main.tf", "provider \"a\" {\n");
    environment.write("c/.terraform.lock.hcl", "");
    let output = verify(&environment, &["-r"]);
    output.assert_code(2);
    let report = validated(&output.stdout);
    let findings: Vec<_> = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["findings"].is_array())
        .collect();
    assert_eq!(findings, [true, true, false]);
    assert_eq!(report["errors"][0]["file"], "c/main.tf");
}

#[test]
fn verbose_shows_the_checks_of_each_root_module() {
    let environment = good();
    let output = environment.provlock(["verify", "--allow", "single-platform", "-v"]);
    let expected = ".: dialect tofu (the lock file); checked 1 provider for no platform, because none is set\n";
    assert!(
        output.stdout.is_empty() && output.stderr.starts_with(expected),
        "{output}"
    );
    environment.write(
        "live/a/provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    environment.write("live/a/.terraform.lock.hcl", environment.lock_file());
    environment.write("live/a/main.tf", environment.read("main.tf"));
    let output = environment.provlock(["verify", "-r", "-v", "live"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-not-covered]: only 1 h1 is recorded, but 2 platforms are required
 --> live/a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = required: darwin_arm64 and linux_amd64
help: provlock -C live/a lock -p darwin_arm64,linux_amd64

----- stderr -----
live/a: dialect tofu (the lock file); checked 1 provider for darwin_arm64 and linux_amd64 (not confirmed)
1 error in live/a/.terraform.lock.hcl
"#]]);
}

#[test]
fn mixed_dialects_are_found() {
    let environment = TestEnvironment::new();
    let root = |path: &str, host: &str| {
        let namespace = if host.starts_with("registry.example") {
            "acme"
        } else {
            "hashicorp"
        };
        let address = format!("{host}/{namespace}/null");
        environment.write(format!("{path}/main.tf"), requires("hashicorp/null", ""));
        environment.write(
            format!("{path}/.terraform.lock.hcl"),
            lock_file(&[entry(&address, "3.2.4", "", &[H1, OTHER_H1])]),
        );
    };
    let (tofu, terraform) = ("registry.opentofu.org", "registry.terraform.io");
    root("live/a", tofu);
    root("live/b", tofu);
    root("live/private", "registry.example.com");
    assert_eq!(
        found(
            &environment,
            &["-r", "--allow", "provider-not-locked,provider-not-required"]
        ),
        NOTHING
    );
    root("live/c", terraform);
    environment.provlock(["verify", "-r", "live/a", "live/b", "live/c"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[mixed-dialects]: 1 root module here is locked for registry.terraform.io, and 2 root modules for registry.opentofu.org: OpenTofu and Terraform do not accept each other's lock files
 --> live/c/.terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one registry here
  |
 ::: live/a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          -------------------------------------- the other here
  |
  = locked for registry.terraform.io: live/c
help: if all are for one program: set dialect = "tofu" in provlock.toml and lock again; else name the dialect of each

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in live/c/.terraform.lock.hcl
3 root modules: 1 with warnings, 2 OK
"#]]);
    root("live/d", terraform);
    root("live/e", terraform);
    let codes = "provider-not-locked,provider-not-required";
    let report = validated(&verify(&environment, &["-r", "--allow", codes]).stdout);
    let roots = report["roots"].as_array().unwrap();
    let with = roots
        .iter()
        .filter(|root| root["findings"][0]["code"] == "mixed-dialects");
    assert_eq!(
        with.map(|root| root["path"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["live/a"],
        "the fewer"
    );
    for (root, dialect) in [
        ("a", "tofu"),
        ("b", "tofu"),
        ("c", "terraform"),
        ("d", "terraform"),
        ("e", "terraform"),
    ] {
        environment.write(
            format!("live/{root}/provlock.toml"),
            format!("dialect = \"{dialect}\"\n"),
        );
    }
    assert_eq!(
        found(&environment, &["-r", "--allow", codes]),
        NOTHING,
        "each says so"
    );
}

#[test]
fn the_help_for_some_of_many_root_modules_is_only_for_these() {
    let environment = TestEnvironment::new();
    let root = |name: &str, version: &str| {
        environment.write(
            format!("{name}/main.tf"),
            requires("hashicorp/null", "~> 4.0"),
        );
        let locked = lock_file(&[entry(NULL, version, "~> 4.0", &[H1, OTHER_H1, ZH])]);
        environment.write(format!("{name}/.terraform.lock.hcl"), locked);
    };
    for name in ["a", "b"] {
        root(name, "3.2.4");
    }
    let help = || environment.provlock(["verify", "-r"]).stdout;
    assert!(
        help().contains("help: provlock upgrade -r hashicorp/null"),
        "{}",
        help()
    );
    root("c", "4.0.0");
    assert!(
        help().contains("help: provlock upgrade a b hashicorp/null"),
        "{}",
        help()
    );
    (1..=25).for_each(|number| root(&format!("r{number}"), "3.2.4"));
    assert!(
        help().contains("help: in each root module: provlock upgrade hashicorp/null"),
        "{}",
        help()
    );
}
