//! Facts about a provider in its registry: warnings, its tier, and its age.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{NOTHING, found};
use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::{Registry, TestEnvironment, str};

const HOST: &str = "registry.terraform.io";
const FLAGS: [&str; 6] = [
    "--dialect",
    "terraform",
    "--online",
    "-p",
    "linux_amd64",
    "--no-cache",
];
const DOCUMENT: &str = "registry.terraform.io/v2/providers/acme/gamma*";

/// A project that locks a provider of Terraform's registry, which lists it with these attributes.
fn project(attributes: &Value) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.0.0")
        .on_host(HOST)
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/gamma", "1.1.0")
        .on_host(HOST)
        .platforms(["linux_amd64"])
        .done();
    let published = |version: &str, days: i64| {
        let date = Timestamp::now() - SignedDuration::from_hours(24 * days);
        json!({ "type": "provider-versions", "attributes": { "version": version, "published-at": date.to_string() } })
    };
    let data = json!({ "type": "providers", "attributes": attributes });
    let document =
        json!({ "data": data, "included": [published("1.1.0", 2), published("1.0.0", 20)] });
    registry.serve("/v2/providers/acme/gamma", document.to_string());
    environment.write("main.tf", requires("acme/gamma", ""));
    lock(&environment).assert_code(0);
    registry.reset_statistics();
    (registry, environment)
}

fn lock(environment: &TestEnvironment) -> provlock_test::Output {
    environment.provlock([
        "--dialect",
        "terraform",
        "lock",
        "-p",
        "linux_amd64",
        "--no-cache",
    ])
}

fn upgrade(environment: &TestEnvironment) -> provlock_test::Output {
    environment.provlock([
        "--dialect",
        "terraform",
        "upgrade",
        "-p",
        "linux_amd64",
        "--no-cache",
    ])
}

fn policy(environment: &TestEnvironment, rules: &str) {
    environment.write("provlock.toml", format!("[policy]\n{rules}\n"));
}

#[test]
fn a_warning_of_the_registry_is_shown_by_all() {
    let (registry, environment) = project(&json!({}));
    registry.warn("registry.terraform.io/acme/gamma", &["use acme/delta"]);
    assert_eq!(found(&environment, &FLAGS), ["warning provider-warning"]);
    assert_eq!(
        found(&environment, &["--dialect", "terraform"]),
        NOTHING,
        "offline no requests are made"
    );
    let output = environment.provlock([
        "--dialect",
        "terraform",
        "verify",
        "--online",
        "-p",
        "linux_amd64",
    ]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[provider-warning]: registry.terraform.io says about registry.terraform.io/acme/gamma: use acme/delta
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "1.1.0"
  |             ^^^^^^^
  |
help: check this advice before you follow it

----- stderr -----
1 warning in .terraform.lock.hcl
"#]]);
    for command in ["lock", "upgrade"] {
        let output = environment.provlock(["--dialect", "terraform", command, "-p", "linux_amd64"]);
        output
            .assert_code(0)
            .assert_stderr_has("warning[provider-warning]")
            .assert_stderr_has(": use acme/delta\n");
    }
    assert_eq!(registry.requests_to(DOCUMENT), 0, "nothing depends on it");
}

#[test]
fn registry_warnings_are_reported_online() {
    let (registry, environment) =
        project(&json!({ "tier": "partner", "unlisted": true, "warning": "moved to acme/delta" }));
    policy(&environment, "tiers = [\"official\", \"partner\"]");
    assert_eq!(found(&environment, &FLAGS), ["warning provider-warning"; 2]);
    assert_eq!(registry.requests_to(DOCUMENT), 1);
    let output = lock(&environment);
    output
        .assert_code(0)
        .assert_stderr_has("no longer lists registry.terraform.io/acme/gamma")
        .assert_stderr_has("moved");

    let (registry, environment) = project(&json!({ "unlisted": true, "warning": "" }));
    environment.write("provlock.toml", "[policy]\nmin-age = \"1d\"\n");
    lock(&environment).assert_lacks("provider-warning");
    assert_eq!(registry.requests_to(DOCUMENT), 0, "no version is chosen");
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    lock(&environment)
        .assert_code(0)
        .assert_stderr_has("warning[provider-warning]");
    assert_eq!(registry.requests_to(DOCUMENT), 1);
}

#[test]
fn tiers() {
    let (registry, environment) = project(&json!({ "tier": "community" }));
    policy(&environment, "tiers = [\"official\", \"community\"]");
    assert_eq!(found(&environment, &FLAGS), NOTHING);
    policy(&environment, "tiers = [\"official\", \"partner\"]");
    let output = environment.provlock([
        "--dialect",
        "terraform",
        "verify",
        "--online",
        "-p",
        "linux_amd64",
    ]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[tier-not-allowed]: the policy does not allow acme/gamma: its tier is community
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: use a different provider, or add its tier to tiers in provlock.toml

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    assert_eq!(
        found(
            &environment,
            &["--dialect", "terraform", "-p", "linux_amd64"]
        ),
        NOTHING,
        "offline no requests are made"
    );
    let before = environment.lock_file();
    lock(&environment).matches(str![[r#"
exit code: 2
----- stderr -----
error[tier-not-allowed]: the policy does not allow acme/gamma: its tier is community
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
help: use a different provider, or add its tier to tiers in provlock.toml
"#]]);
    upgrade(&environment)
        .assert_code(2)
        .assert_stderr_has("error[tier-not-allowed]: the policy does not allow");
    assert_eq!(environment.lock_file(), before);
    registry.serve(
        "/v2/providers/acme/gamma",
        json!({ "included": [] }).to_string(),
    );
    assert_eq!(
        found(&environment, &FLAGS),
        ["error tier-not-allowed"],
        "it is not known"
    );
}

#[test]
fn a_tier_is_one_of_terraforms_registry() {
    let (_registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", ["linux_amd64"], "");
    policy(&environment, "tiers = [\"official\"]");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(
        found(&environment, &["--online", "-p", "linux_amd64"]),
        NOTHING
    );
}

#[test]
fn rules_about_registry_data_are_not_checked_offline() {
    let (_registry, environment) = project(&json!({}));
    let arguments = ["--dialect", "terraform", "lock", "-p", "linux_amd64"];
    environment.provlock(arguments).assert_code(0);
    for (rules, code, names) in [
        (
            "min-provider-age = \"30d\"",
            "provider-too-young",
            "min-provider-age",
        ),
        ("tiers = [\"official\"]", "tier-not-allowed", "tiers"),
        (
            "tiers = [\"official\"]\nmin-provider-age = \"30d\"",
            "provider-too-young",
            "min-provider-age and tiers",
        ),
    ] {
        policy(&environment, rules);
        let output = environment.provlock(arguments.iter().chain(&["--offline"]));
        let warning = format!("warning[{code}]: {names} of the policy cannot be checked offline\n");
        output
            .assert_code(0)
            .assert_stderr_has(&(warning + "help: run the command without --offline\n"));
    }
}

#[test]
fn a_provider_must_have_been_there_for_long_enough() {
    let (registry, environment) = project(&json!({}));
    policy(&environment, "min-provider-age = \"19d\"");
    assert_eq!(found(&environment, &FLAGS), NOTHING);
    policy(&environment, "min-provider-age = \"30d\"");
    assert_eq!(found(&environment, &FLAGS), ["error provider-too-young"]);
    lock(&environment).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-too-young]: the first version of acme/gamma is too young: published [TIME], and it must be 30 days old
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
help: wait, or use a different provider
"#]]);
    upgrade(&environment)
        .assert_code(2)
        .assert_stderr_has("error[provider-too-young]: the first version");
    policy(
        &environment,
        "min-provider-age = \"30d\"\nmin-age-exempt = [\"acme/gamma\"]",
    );
    assert_eq!(found(&environment, &FLAGS), NOTHING);
    policy(&environment, "min-provider-age = \"soon\"");
    environment
        .provlock(["verify"])
        .assert_code(2)
        .assert_stderr_has("is not a duration");

    policy(&environment, "min-provider-age = \"30d\"");
    registry.serve("/v2/providers/acme/gamma", "{}");
    assert_eq!(
        found(&environment, &FLAGS),
        ["error provider-too-young"],
        "nobody knows since when there is one"
    );
}

#[test]
fn unlocked_requirements_are_checked() {
    let (_registry, environment) = project(&json!({ "tier": "community" }));
    policy(&environment, "tiers = [\"official\"]");
    environment.write_lock_file("# This file is maintained automatically by \"terraform init\".\n");
    let report = validated(
        &environment
            .provlock(["verify", "--json"].iter().chain(&FLAGS))
            .stdout,
    );
    let codes: Vec<_> = report["roots"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["code"])
        .collect();
    assert_eq!(codes, ["provider-not-locked", "tier-not-allowed"]);
}
