//! Findings that one next step removes are one finding.

use serde_json::Value;

use super::modules::{LOCK, Project, commit_all};
use super::{H1, ZH};
use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const ALL: &str = "darwin_arm64,linux_amd64,linux_arm64";

/// A configuration that requires these providers of acme.
fn requires_all(names: &[&str]) -> String {
    let mut entries = Vec::new();
    for name in names {
        entries.push(format!(
            "    {name} = {{\n      source = \"acme/{name}\"\n    }}\n"
        ));
    }
    let entries = entries.concat();
    format!("terraform {{\n  required_providers {{\n{entries}  }}\n}}\n")
}

/// A project in which eight providers are locked for one of the three platforms that they have.
fn eight_providers() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    for name in NAMES {
        registry
            .publish(&format!("acme/{name}"), "1.0.0")
            .platforms(["linux_amd64", "darwin_arm64", "linux_arm64"])
            .done();
    }
    environment.write("main.tf", requires_all(&NAMES));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    (registry, environment)
}

fn findings(environment: &TestEnvironment, arguments: &[&str]) -> Vec<Value> {
    let output = environment.provlock(["verify", "--json", "--online"].iter().chain(arguments));
    let report = validated(&output.stdout);
    let roots = report["roots"].as_array().unwrap().iter();
    roots
        .flat_map(|root| root["findings"].as_array().unwrap().clone())
        .collect()
}

#[test]
fn eight_providers_without_two_platforms_are_one_finding() {
    let (_registry, environment) = eight_providers();
    let output = environment.provlock(["verify", "--online", "-p", ALL]);
    output
        .assert_code(1)
        .assert_stdout_has("error[platform-missing]: no h1 of 8 providers for darwin_arm64 and linux_arm64 is recorded\n")
        .assert_stdout_has(&format!("help: provlock lock -p {ALL}\n"))
        .assert_stderr_has("1 error in .terraform.lock.hcl\n");
    assert_eq!(output.stdout.matches("error[").count(), 1, "{output}");

    let found = findings(&environment, &["-p", ALL]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["providers"].as_array().unwrap().len(), 8);
    assert_eq!(found[0]["places"].as_array().unwrap().len(), 8);

    environment.provlock(["lock", "-p", ALL]).assert_code(0);
    assert_eq!(findings(&environment, &["-p", ALL]).len(), 0);
}

#[test]
fn entries_that_lack_different_platforms_are_one_finding_that_names_them() {
    let (_registry, environment) = eight_providers();
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64", "acme/a"])
        .assert_code(0);
    environment
        .provlock([
            "lock", "-p", ALL, "acme/c", "acme/d", "acme/e", "acme/f", "acme/g", "acme/h",
        ])
        .assert_code(0);
    environment.provlock(["verify", "--online", "-p", ALL]).matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-missing]: no h1 of acme/a 1.0.0 and acme/b 1.0.0 for darwin_arm64 and linux_arm64 is recorded
  --> .terraform.lock.hcl:4:10
   |
 4 | provider "registry.opentofu.org/acme/a" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ linux_arm64
...
16 | provider "registry.opentofu.org/acme/b" {
   |          ------------------------------ darwin_arm64 and linux_arm64
   |
help: provlock lock -p darwin_arm64,linux_amd64,linux_arm64

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
}

#[test]
fn a_comment_still_suppresses_the_finding_of_one_entry() {
    let (_registry, environment) = eight_providers();
    let lock_file = environment.lock_file();
    let entry = "provider \"registry.opentofu.org/acme/c\"";
    let comment = format!("# provlock: ignore[platform-missing] not built\n{entry}");
    environment.write_lock_file(lock_file.replace(entry, &comment));
    let found = findings(&environment, &["-p", ALL]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        found[0]["message"],
        "no h1 of 7 providers for darwin_arm64 and linux_arm64 is recorded"
    );
    let providers = found[0]["providers"].to_string();
    assert!(!providers.contains("acme/c"), "{providers}");
}

#[test]
fn only_the_new_one_of_several_folded_findings_is_reported_as_new() {
    let (_registry, environment) = eight_providers();
    let without = environment.lock_file();
    let (before, last) = without.split_at(
        without
            .find("\nprovider \"registry.opentofu.org/acme/h\"")
            .unwrap(),
    );
    environment.write_lock_file(before);
    environment.write("main.tf", requires_all(&NAMES[..7]));
    environment.git_init(".");
    commit_all(&environment);
    environment.write("main.tf", requires_all(&NAMES));
    environment.write_lock_file(format!("{before}{last}"));
    let found = findings(
        &environment,
        &[
            "-p",
            ALL,
            "--base",
            "HEAD",
            "--new",
            "--allow",
            "publisher-added",
        ],
    );
    let messages: Vec<_> = found
        .iter()
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        ["no h1 of acme/h 1.0.0 for darwin_arm64 and linux_arm64 is recorded"]
    );
}

#[test]
fn root_modules_that_lack_platforms_of_different_providers_are_one_cause() {
    let (_registry, environment) = eight_providers();
    for (root, names) in [("x", ["a", "b"]), ("y", ["c", "d"])] {
        environment.write(format!("{root}/main.tf"), requires_all(&names));
        environment
            .provlock(["-C", root, "lock", "-p", "linux_amd64"])
            .assert_code(0);
    }
    let output = environment.provlock([
        "verify",
        "x",
        "y",
        "--online",
        "-p",
        "linux_amd64,linux_arm64",
    ]);
    output
        .assert_code(1)
        .assert_stdout_has("error[platform-missing]: no h1 of 4 providers for linux_arm64 is recorded, in 2 root modules\n")
        .assert_stdout_has("help: provlock lock x y -p linux_amd64,linux_arm64\n");
    assert_eq!(output.stdout.matches("error[").count(), 1, "{output}");
}

#[test]
fn several_unpublished_hashes_of_an_entry_are_one_finding() {
    let (registry, environment) = Registry::with_project();
    let published = registry
        .publish("acme/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("acme/null", ""));
    let other = format!("zh:{}", "f".repeat(64));
    let mut hashes = published.hashes(&["linux_amd64"]);
    hashes.extend([H1, ZH, &other].map(str::to_owned));
    hashes.sort();
    environment.write_lock_file(super::lock_file(&[published.entry("", &hashes)]));
    let found = findings(&environment, &["--allow", "single-platform"]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        found[0]["message"],
        "3 recorded hashes of acme/null 3.2.4 belong to no published package"
    );
    assert_eq!(found[0]["places"].as_array().unwrap().len(), 3);
}

#[test]
fn calls_of_one_new_publisher_are_one_finding() {
    let project = Project::new();
    let environment = &project.environment;
    let locked = environment.read(LOCK);
    std::fs::remove_file(environment.project().join(LOCK)).unwrap();
    commit_all(environment);
    let main = environment.read("main.tf");
    let call =
        |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    let evil = [
        call("x", "evil/vpc/aws"),
        call("y", "evil/net/aws"),
        call("z", "https://evil.test/a.zip"),
    ];
    environment.write("main.tf", main + &evil.concat());
    let output = environment.provlock(["verify", "--base", "HEAD", "--allow-outside"]);
    let found: Vec<_> = output
        .stdout
        .lines()
        .filter(|line| line.contains("[publisher-added]"))
        .collect();
    let expected = [
        "note[publisher-added]: module \"x\" and module \"y\" come from registry.opentofu.org/evil, which is new: the base calls no module from it",
        "warning[publisher-added]: module \"z\" comes from evil.test, which is new: the base calls no module from it",
    ];
    assert_eq!(found, expected, "{output}");
    environment.write(LOCK, locked);
}

#[test]
fn a_note_does_not_hide_that_all_is_well() {
    let repository = Repository::new();
    let environment = &repository.environment;
    let null = "registry.opentofu.org/hashicorp/null";
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write_lock_file(super::lock_file(&[super::entry(
        null,
        "3.2.4",
        "",
        &[H1, ZH],
    )]));
    environment.commit_all(".");
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock lock -p all, or set platforms in provlock.toml

----- stderr -----
OK: 1 provider locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
1 note in .terraform.lock.hcl
"#]]);
    // A warning does.
    let warned = environment.provlock(["verify", "--warn", "single-platform"]);
    assert!(!warned.stderr.contains("OK:"), "{warned}");
}
