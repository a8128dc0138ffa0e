//! `provlock verify`: what it finds, and what it does not.

mod base;
mod gate;
mod lock_files;
mod locked_modules;
mod online;
mod platforms;
mod policy;
mod reports;
mod requirements;

use gate::gate_bypass;
#[cfg(unix)]
pub(crate) use locked_modules::modules::Project as LockedModules;
#[cfg(unix)]
use locked_modules::{ignored_modules, modules};
use policy::policy_changed;

use super::json_output::validated;
use super::lock::{lock_file, requires};
pub(super) use provlock_test::files::entry;
use provlock_test::{Output, TestEnvironment, str};

/// An `h1:` of the right form.
pub(crate) const H1: &str = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
/// A `zh:` of the right form.
pub(crate) const ZH: &str = "zh:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// Address of the provider in the project [`good`].
const NULL: &str = "registry.opentofu.org/hashicorp/null";

/// A project without findings.
fn good() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH])]);
    environment
}

fn lock(environment: &TestEnvironment, entries: &[String]) {
    environment.write_lock_file(lock_file(entries));
}

/// Commits all files of the project, and returns the commit.
fn commit_all_in(environment: &TestEnvironment) -> String {
    environment.commit_all(".");
    environment.git(".", ["rev-parse", "HEAD"])
}

/// Runs `verify --json` with more arguments. `single-platform` is allowed unless they say
/// otherwise.
fn verify(environment: &TestEnvironment, arguments: &[&str]) -> Output {
    environment.provlock(
        ["verify", "--json", "--allow", "single-platform"]
            .iter()
            .chain(arguments),
    )
}

/// Findings, each as `severity code`. Also checks the exit code, that every finding has help, and
/// that no file was written.
#[track_caller]
pub(crate) fn found(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    let before = environment.snapshot();
    // Decisions are no defects; tests of their own are about them.
    let output = verify(
        environment,
        &[arguments, &["--allow", "decision-changed"]].concat(),
    );
    before.assert_same(&environment.snapshot());
    let report = validated(&output.stdout);
    assert!(report["errors"].as_array().unwrap().is_empty(), "{output}");
    let findings: Vec<_> = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|root| root["findings"].as_array().unwrap())
        .collect();
    for finding in &findings {
        assert!(finding["help"].is_string(), "no help in {finding}");
    }
    let text = |finding: &&serde_json::Value, key| finding[key].as_str().unwrap().to_owned();
    let found: Vec<String> = findings
        .iter()
        .map(|finding| format!("{} {}", text(finding, "severity"), text(finding, "code")))
        .collect();
    output.assert_code(i32::from(
        found.iter().any(|finding| finding.starts_with("error")),
    ));
    found
}

/// The messages of the findings.
fn messages(environment: &TestEnvironment, arguments: &[&str]) -> String {
    let report = validated(&verify(environment, arguments).stdout);
    let findings = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|root| root["findings"].as_array().unwrap());
    findings
        .flat_map(|finding| [finding["message"].as_str().unwrap(), "\n"].map(str::to_owned))
        .collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn the_checks_of_a_root_module_without_findings_are_shown() {
    let environment = good();
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, gate::OTHER_H1, ZH])],
    );
    let output = environment.provlock(["verify"]);
    output.assert_code(0);
    let well = "OK: 1 provider locked as required\n\
                Not checked: platforms (select with -p), hashes against the registry (--online)\n";
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", well));
    assert_eq!(found(&environment, &[]), NOTHING);
}

#[test]
fn findings_are_shown_in_the_order_of_the_file_and_then_counted() {
    let environment = good();
    environment.write("main.tf", requires("hashicorp/null", "~> 2.0"));
    lock(
        &environment,
        &[
            entry(NULL, "3.2.4", "~> 3.0", &[ZH, H1]),
            entry("example.com/a/b", "1.0.0", "", &[H1]),
        ],
    );
    let output = environment.provlock(["verify", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[version-outside-constraints]: hashicorp/null is locked at 3.2.4, but the configuration requires ~> 2.0
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "3.2.4"
  |                 ^^^^^^^
  |
 ::: main.tf:5:17
  |
5 |       version = "~> 2.0"
  |                 -------- asked for here
  |
help: provlock upgrade hashicorp/null

warning[unsorted-hashes]: the hashes of hashicorp/null are unsorted or duplicated
 --> .terraform.lock.hcl:9:5
  |
9 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ should be further up
  |
help: provlock lock --repair

warning[provider-not-required]: example.com/a/b is locked, but the configuration does not require it
  --> .terraform.lock.hcl:13:10
   |
13 | provider "example.com/a/b" {
   |          ^^^^^^^^^^^^^^^^^
   |
   = tofu init -lockfile=readonly fails because of the entry
help: provlock lock --prune, unless a state elsewhere still has resources of it

----- stderr -----
1 error and 2 warnings in .terraform.lock.hcl
"#]]);
    let position = |text: &str| {
        output
            .stdout
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {output}"))
    };
    assert!(
        position("error[version-outside-constraints]") < position("warning[unsorted-hashes]"),
        "{output}"
    );
    assert!(
        position("warning[unsorted-hashes]") < position("warning[provider-not-required]"),
        "{output}"
    );
    assert_eq!(
        output.stderr,
        "1 error and 2 warnings in .terraform.lock.hcl\n"
    );
}

#[test]
fn quiet_shows_errors_only() {
    let environment = good();
    lock(
        &environment,
        &[
            entry(NULL, "3.2.4", "~> 3.0", &[ZH, H1]),
            entry("example.com/a/b", "1.0.0", "", &[]),
        ],
    );
    environment.provlock(["verify", "-q"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[no-hashes]: no hash is recorded for example.com/a/b 1.0.0, so any package would be accepted
  --> .terraform.lock.hcl:13:10
   |
13 | provider "example.com/a/b" {
   |          ^^^^^^^^^^^^^^^^^
   |
help: provlock lock -p all
"#]]);
    environment
        .provlock(["verify", "-q", "--allow", "no-hashes"])
        .matches(str!["exit code: 0"]);
}

#[test]
fn failed_checks_are_listed_separately() {
    let environment = good();
    environment.write("a/main.tf", "provider \"null\" {\n");
    environment.write(
        "b/main.tf",
        "module \"m\" {\n  source = \"./none\"\n}\nprovider \"null\" {}\n",
    );
    environment.write("main.tf", requires("hashicorp/null", "~> 2.0"));
    environment.provlock(["verify", "--allow", "single-platform", "-r"]).matches(str![[r#"
exit code: 2
----- stdout -----
error[version-outside-constraints]: hashicorp/null is locked at 3.2.4, but the configuration requires ~> 2.0
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "3.2.4"
  |                 ^^^^^^^
  |
 ::: main.tf:5:17
  |
5 |       version = "~> 2.0"
  |                 -------- asked for here
  |
help: provlock upgrade hashicorp/null

----- stderr -----
error[invalid-configuration]: the "{" after provider "null" is never closed
 --> a/main.tf:1:17
  |
1 | provider "null" {
  |                 ^
  |
  = root module: a

error[invalid-configuration]: module "m" is in b/none, which does not exist
 --> b/main.tf:2:12
  |
2 |   source = "./none"
  |            ^^^^^^^^ called here
  |
  = root module: b

1 error in .terraform.lock.hcl
3 root modules: 1 with errors; 2 could not be checked
"#]]);
}

#[test]
fn levels_are_for_the_user_to_set() {
    let environment = good();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[ZH, H1])]);
    assert_eq!(found(&environment, &[]), ["warning unsorted-hashes"]);
    assert_eq!(
        found(&environment, &["--deny", "unsorted-hashes"]),
        ["error unsorted-hashes"]
    );
    assert_eq!(
        found(&environment, &["--allow", "unsorted-hashes"]),
        NOTHING
    );
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[])]);
    assert_eq!(
        found(&environment, &["--warn", "no-hashes"]),
        ["warning no-hashes"]
    );
    environment.provlock(["verify", "--allow", "no-such-code"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'no-such-code' for '--allow <CODE>': unknown finding; provlock explain lists all codes

help: for more information, try '--help'.
"#]]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_no_finding() {
    let environment = good();
    environment.write("main.tf", "terraform {\n");
    let output = verify(&environment, &[]);
    output.assert_code(2);
    assert_eq!(validated(&output.stdout)["errors"][0]["file"], "main.tf");
}
