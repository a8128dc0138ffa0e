//! `provlock upgrade`: what is upgraded, what is held back, and what stays unchanged.

pub(super) mod age;
mod check;
mod constraints;
#[cfg(target_os = "linux")]
mod interactive;
pub(super) mod modules;
mod releases;

use serde_json::{Value, json};

use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, str, url};

const LINUX: [&str; 1] = ["linux_amd64"];
const UPGRADE: [&str; 3] = ["upgrade", "-p", "linux_amd64"];

fn publish(registry: &Registry, provider: &str, version: &str) -> Published {
    registry.publish(provider, version).platforms(LINUX).done()
}

/// The entry of a provider that is locked for Linux.
fn locked(published: &Published, constraints: &str) -> String {
    published.entry_for(constraints, &LINUX)
}

fn upgrade<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&UPGRADE[..], arguments].concat()
}

/// A configuration that requires two providers.
fn requires_both(gamma: &str, null: &str) -> String {
    format!(
        r#"terraform {{
  required_providers {{
    gamma = {{
      source  = "acme/gamma"
      version = "{gamma}"
    }}
    null = {{
      source  = "hashicorp/null"
      version = "{null}"
    }}
  }}
}}
"#
    )
}

/// acme/gamma 1.0.0, 1.1.0 and 2.0.0, and hashicorp/null 3.1.0 and 3.2.4; the oldest are locked.
fn two_providers() -> (Registry, TestEnvironment, [Published; 3], [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let gamma =
        ["1.0.0", "1.1.0", "2.0.0"].map(|version| publish(&registry, "acme/gamma", version));
    let null = ["3.1.0", "3.2.4"].map(|version| publish(&registry, "hashicorp/null", version));
    environment.write("main.tf", requires_both("~> 1.0", "~> 3.0"));
    environment.write_lock_file(lock_file(&[
        locked(&gamma[0], "~> 1.0"),
        locked(&null[0], "~> 3.0"),
    ]));
    (registry, environment, gamma, null)
}

#[test]
fn every_provider_moves_to_the_newest_version_that_its_constraints_allow() {
    let (_registry, environment, gamma, null) = two_providers();
    let commented = environment
        .lock_file()
        .replace("  version", "  # ours\n  version");
    environment.write_lock_file(&commented);

    let output = environment.provlock(UPGRADE);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
  ~ acme/gamma       1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 2 providers for linux_amd64 (2 changed); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64
"#]]);
    let expected = lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")]);
    assert_eq!(
        environment.lock_file(),
        expected.replace("  version", "  # ours\n  version")
    );

    let before = environment.snapshot();
    environment.provlock(UPGRADE).matches(str![[r#"
exit code: 0
----- stderr -----
No newer version within the constraints: 2 providers for linux_amd64
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn only_the_providers_that_are_named_move() {
    let (registry, environment, gamma, null) = two_providers();
    // Not as it would be written, which must not matter.
    let other = locked(&gamma[0], "~> 1.0").replace("\n  version", "\n\tversion");
    environment.write_lock_file(lock_file(&[other.clone(), locked(&null[0], "~> 3.0")]));

    environment
        .provlock(upgrade(&["hashicorp/null"]))
        .assert_code(0);

    assert_eq!(
        environment.lock_file(),
        lock_file(&[other, locked(&null[1], "~> 3.0")])
    );
    assert_eq!(registry.requests_to("*/acme/gamma/*"), 0);
    environment
        .provlock(upgrade(&["acme/other"]))
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the configuration does not require acme/other
help: choose a provider that required_providers lists
"#]]);
}

#[test]
fn a_version_that_is_named_is_chosen_up_and_down() {
    let (registry, environment, gamma, null) = two_providers();
    publish(&registry, "acme/gamma", "1.2.0");

    let dry_run = environment.provlock(upgrade(&["acme/gamma@1.1.0", "--check"]));
    dry_run.matches(str![[r#"
exit code: 1
----- stdout -----
provider     locked   allowed   change   newest
acme/gamma   1.0.0    1.1.0     minor    2.0.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
----- stderr -----
1 provider can move within the constraints
"#]]);
    environment
        .provlock(upgrade(&["acme/gamma@1.1.0"]))
        .assert_code(0)
        .assert_lacks("held back");
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );
    let refused = environment.provlock(upgrade(&["acme/gamma@1.0.0"]));
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
error[downgrade]: acme/gamma would go down from 1.1.0 to 1.0.0
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.1.0"
  |                 ^^^^^^^ locked here
  |
help: if an older version is intended: provlock upgrade --allow-downgrade acme/gamma@1.0.0 -p linux_amd64
"#]]);
    environment
        .provlock(upgrade(&[
            "acme/gamma@1.0.0",
            "--check",
            "--allow-downgrade",
        ]))
        .matches(str![[r#"
exit code: 1
----- stdout -----
provider     locked   allowed   change            newest
acme/gamma   1.1.0    1.0.0     minor downgrade   2.0.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.0.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
----- stderr -----
1 provider can move within the constraints (1 downgrade)
"#]]);
    let down = environment.provlock(upgrade(&["acme/gamma@1.0.0", "--allow-downgrade"]));
    down.assert_code(0).assert_stderr_has("minor downgrade");
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );

    let before = environment.snapshot();
    let missing = environment.provlock(upgrade(&["acme/gamma@1.9.0"]));
    missing.matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: acme/gamma has no version 1.9.0
 |
 = the newest version is 2.0.0
"#]]);
    environment.provlock(upgrade(&["acme/gamma@new"])).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "new" is not a version: name one, as in acme/gamma@1.2.3, or only acme/gamma
help: without a version, upgrade selects the newest version that the constraints allow
"#]]);
    environment.provlock(upgrade(&["null@3.2.4", "null@3.1.0"])).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: two different versions of registry.opentofu.org/hashicorp/null are requested
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn a_version_outside_constraints_is_refused_with_their_positions() {
    let (_registry, environment, ..) = two_providers();
    environment.write(
        "main.tf",
        format!(
            "{}module \"a\" {{\n  source = \"./a\"\n}}\n",
            requires_both("~> 1.0", "~> 3.0")
        ),
    );
    environment.write("a/main.tf", requires("acme/gamma", "< 1.5"));
    let before = environment.snapshot();

    let output = environment.provlock(upgrade(&["acme/gamma@2.0.0"]));

    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: acme/gamma cannot be 2.0.0, because the configuration requires ~> 1.0, < 1.5.0
 --> main.tf:5:17
  |
5 |       version = "~> 1.0"
  |                 ^^^^^^^^ asked for here
  |
 ::: a/main.tf:5:17
  |
5 |       version = "< 1.5"
  |                 ------- asked for here
  |
help: change the constraints: provlock upgrade --constraints acme/gamma@2.0.0 -p linux_amd64
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn entries_that_are_not_required_go_only_when_pruned() {
    let (_registry, environment, gamma, null) = two_providers();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.provlock(UPGRADE).matches(str![[r#"
exit code: 0
----- stderr -----
  = acme/gamma       1.0.0                                          not required by the configuration; --prune removes it, also if a state still needs it
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 1 provider for linux_amd64 (1 changed); [SIZE] downloaded
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
    environment.provlock(["upgrade", "--check"]).assert_code(0);
    environment
        .provlock(["upgrade", "--check", "--prune"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   newest
hashicorp/null   3.2.4              3.2.4
----- stderr -----
1 entry to remove, as it is not required
"#]]);
    environment.provlock(upgrade(&["--prune"])).assert_code(0);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&null[1], "~> 3.0")])
    );
}

#[test]
fn a_locked_version_that_was_withdrawn_is_left() {
    let (registry, environment, gamma, null) = two_providers();
    environment.write_lock_file(lock_file(&[
        locked(&gamma[1], "~> 1.0"),
        locked(&null[1], "~> 3.0"),
    ]));
    registry.withdraw("acme/gamma", "1.1.0");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[version-withdrawn]: acme/gamma 1.1.0 is locked, but no longer listed by its source
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.1.0"
  |                 ^^^^^^^ locked here
  |
help: provlock upgrade --allow-downgrade acme/gamma
"#]]);
    environment.provlock(UPGRADE).matches(str![[r#"
exit code: 2
----- stderr -----
error[downgrade]: acme/gamma would go down from 1.1.0 to 1.0.0
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.1.0"
  |                 ^^^^^^^ locked here
  |
  = its source no longer lists 1.1.0
help: if an older version is intended: provlock upgrade --allow-downgrade acme/gamma -p linux_amd64
"#]]);
    environment
        .provlock(upgrade(&["--allow-downgrade"]))
        .matches(str![[r#"
exit code: 0
----- stderr -----
  ~ acme/gamma   1.1.0 → 1.0.0   signed, key 558D46FBE8647CB4   minor downgrade, 1 h1, 2 zh
Upgraded 2 providers for linux_amd64 (1 changed, 1 unchanged); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64 --allow-downgrade
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
}

#[test]
fn a_prerelease_alone_is_held_back_by_what_it_is() {
    let (registry, environment) = Registry::with_project();
    publish(&registry, "acme/gamma", "1.0.0");
    publish(&registry, "acme/gamma", "2.0.0-rc.1");
    environment.write("main.tf", requires("acme/gamma", ""));
    let output = environment.provlock(["upgrade", "--check", "--pre"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
provider     locked   allowed   newest       held back by
acme/gamma            1.0.0     2.0.0-rc.1   a prerelease must be named exactly
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.0.0
----- stderr -----
1 provider can move within the constraints; 1 held back
"#]]);
    let named = environment.provlock(upgrade(&["acme/gamma@2.0.0-rc.1"]));
    named.matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: acme/gamma cannot be 2.0.0-rc.1, because a prerelease is locked only if a constraint names it exactly
help: change the constraints: provlock upgrade --constraints acme/gamma@2.0.0-rc.1 -p linux_amd64
"#]]);
}

#[test]
fn after_many_versions_without_a_date_the_locked_one_stays() {
    let (registry, environment, gamma, null) = two_providers();
    for patch in 0..35 {
        publish(&registry, "acme/gamma", &format!("1.2.{patch}"));
    }
    let output = environment.provlock(upgrade(&["--min-age", "7d", "acme/gamma"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: acme/gamma 1.2.34 is not chosen: its publication date is not known: https://api.opentofu.org/registry/docs/providers/acme/gamma/index.json could not be reached: the proxy refused to connect to api.opentofu.org, and SHA256SUMS has no time stamp
 |
 = 1.2.33, 1.2.32, 1.2.31 and 26 more are not chosen for the same reason
help: only the newest 30 versions were checked
No newer version is allowed: 1 provider for linux_amd64
acme/gamma is held back from 2.0.0 by main.tf:5  ~> 1.0
1 provider held back from the newest version; see: provlock upgrade --check acme/gamma --min-age 7d -p linux_amd64
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );
    assert_eq!(registry.requests_to("*1.2.4_SHA256SUMS"), 0);
}

#[test]
fn wrong_hashes_of_a_version_that_stays_are_refused() {
    let (_registry, environment, gamma, null) = two_providers();
    let wrong = vec![format!("zh:{}", "0".repeat(64))];
    environment.write_lock_file(lock_file(&[
        gamma[1].entry("~> 1.0", &wrong),
        locked(&null[0], "~> 3.0"),
    ]));
    let before = environment.snapshot();
    environment.provlock(UPGRADE).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of acme/gamma 1.1.0 in the lock file differ from those published by registry.opentofu.org
 --> .terraform.lock.hcl:8:5
  |
8 |     "zh:0000000000000000000000000000000000000000000000000000000000000000",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 1 recorded zh: hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes acme/gamma
"#]]);
    before.assert_same(&environment.snapshot());
    environment
        .provlock(upgrade(&["--accept-changed-hashes"]))
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
}

#[test]
fn a_prerelease_is_shown_on_demand_and_chosen_where_it_is_named() {
    let (registry, environment, _, null) = two_providers();
    let beta = publish(&registry, "acme/gamma", "3.0.0-beta.1");
    let dry_run = environment.provlock(["upgrade", "--check", "acme/gamma"]);
    assert!(!dry_run.stdout.contains("beta"), "{dry_run}");
    let dry_run = environment.provlock(["upgrade", "--check", "--pre", "acme/gamma"]);
    dry_run.matches(str![[r#"
exit code: 1
----- stdout -----
provider     locked   allowed   change   newest         held back by
acme/gamma   1.0.0    1.1.0     minor    3.0.0-beta.1   main.tf:5  ~> 1.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
----- stderr -----
1 provider can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints acme/gamma --pre
"#]]);

    environment.write("main.tf", requires_both("1.0.0", "~> 3.0"));
    environment
        .provlock(upgrade(&["--pre", "--constraints", "acme/gamma"]))
        .assert_code(0);
    assert_eq!(
        environment.read("main.tf"),
        requires_both("3.0.0-beta.1", "~> 3.0")
    );
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&beta, "3.0.0-beta.1"), locked(&null[0], "~> 3.0")])
    );
}

#[test]
fn json_contains_the_versions() {
    let (_registry, environment, ..) = two_providers();
    let root = |arguments: &[&str]| {
        let output = environment.provlock(arguments);
        output.assert_code(0);
        validated(&output.stdout)["roots"][0].clone()
    };
    let planned = json!({
        "address": "registry.opentofu.org/acme/gamma",
        "locked": "1.0.0",
        "allowed": "1.1.0",
        "change": { "direction": "upgrade", "step": "minor" },
        "newest": "2.0.0",
        "published": null,
        "newest_published": null,
        "release_notes": "https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0",
        "comparison": "https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0",
        "held_back_by": [{ "constraints": "~> 1.0", "file": "main.tf", "line": 5 }],
        "too_young": false,
    });
    let dry_run = root(&["upgrade", "--dry-run", "--json"]);
    assert_eq!(
        (
            &dry_run["versions"][0],
            &dry_run["written"],
            &dry_run["changed"]
        ),
        (&planned, &json!(false), &json!(true))
    );
    let edits = root(&["upgrade", "--dry-run", "--json", "--constraints"]);
    let edit =
        json!({ "file": "main.tf", "line": 5, "column": 18, "old": "~> 1.0", "new": "~> 2.0" });
    assert_eq!(edits["constraint_edits"], json!([edit]));
    let done = root(&upgrade(&["--json"]));
    assert_eq!(
        (&done["versions"][0], &done["written"]),
        (&planned, &json!(true))
    );
    assert_eq!(
        done["providers"][0]["version"],
        json!({ "old": "1.0.0", "new": "1.1.0" })
    );

    let failed = environment.provlock(["upgrade", "--json", "acme/gamma@9.0.0"]);
    failed.assert_code(2);
    assert_eq!(
        validated(&failed.stdout)["errors"][0]["code"],
        "no-matching-version"
    );
}
