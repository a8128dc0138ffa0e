//! `provlock upgrade --recursive`: many root modules at once.

use super::json_output::validated;
use super::lock::requires;
use super::upgrade::age::document;
use provlock_test::files::entry;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

const PROVIDER: &str = "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";
const UPGRADE_ALL: [&str; 4] = ["upgrade", "-p", "linux_amd64", "--recursive"];

fn upgrade_all<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&UPGRADE_ALL[..], arguments].concat()
}

fn publish(registry: &Registry, provider: &str, versions: [&str; 2]) -> [Published; 2] {
    versions.map(|version| {
        registry
            .publish(provider, version)
            .platforms(["linux_amd64"])
            .done()
    })
}

/// The lock file with one provider, locked for Linux.
fn locked(published: &Published, constraints: &str) -> String {
    published.lock_file(constraints, &["linux_amd64"])
}

fn lock_file_of(environment: &TestEnvironment, root: &str) -> String {
    environment.read(format!("{root}/.terraform.lock.hcl"))
}

/// The root modules `a` and `b`, which require hashicorp/null and have locked its older version.
fn two_roots() -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let null = publish(&registry, "hashicorp/null", ["3.1.0", "3.2.4"]);
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            format!("{PROVIDER}{}", requires("hashicorp/null", "~> 3.0")),
        );
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            locked(&null[0], "~> 3.0"),
        );
    }
    (registry, environment, null)
}

/// The root modules `a` and `b`, which call a module that requires acme/gamma, with their own
/// constraints on it.
fn shared_module(constraint: &str, own: [&str; 2]) -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let gamma = publish(&registry, "acme/gamma", ["1.0.0", "2.0.0"]);
    for (root, own) in ["a", "b"].into_iter().zip(own) {
        let call = "module \"m\" {\n  source = \"../modules/m\"\n}\n";
        environment.write(format!("{root}/main.tf"), format!("{own}{call}"));
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            locked(&gamma[0], constraint),
        );
    }
    environment.write("modules/m/main.tf", requires("acme/gamma", constraint));
    (registry, environment, gamma)
}

#[test]
fn all_roots_share_every_request() {
    let (registry, environment, null) = two_roots();

    let output = environment.provlock(UPGRADE_ALL);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a and b
Upgraded 2 root modules: 2 changed, 0 up to date; [SIZE] downloaded
"#]]);
    for root in ["a", "b"] {
        assert_eq!(lock_file_of(&environment, root), locked(&null[1], "~> 3.0"));
    }
    for (asked, times) in [
        (url::DISCOVERY, 1),
        (url::VERSIONS, 1),
        (url::DOWNLOAD, 1),
        (url::SHASUMS, 1),
        (url::PACKAGE, 1),
    ] {
        assert_eq!(registry.requests_to(asked), times, "{asked}");
    }
    let before = environment.snapshot();
    environment.provlock(UPGRADE_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
Upgraded 2 root modules: 0 changed, 2 up to date
"#]]);
    environment
        .provlock(upgrade_all(&["--check"]))
        .matches(str![[r#"
exit code: 0
----- stderr -----
2 root modules: 0 can move, 2 up to date
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn an_entry_to_remove_is_no_move() {
    let (_registry, environment, _) = two_roots();
    environment.provlock(UPGRADE_ALL).assert_code(0);
    let stale =
        lock_file_of(&environment, "a") + "\n" + &entry("hashicorp/tls", "4.0.5", "", &["h1:x"]);
    environment.write("a/.terraform.lock.hcl", stale);
    environment
        .provlock(upgrade_all(&["--check", "--prune"]))
        .matches(str![[r#"
exit code: 1
----- stderr -----
2 root modules: 0 can move, 1 up to date, 1 with other changes
"#]]);
}

#[test]
fn a_failing_root_does_not_stop_the_others() {
    let (_registry, environment, null) = two_roots();
    environment.write("broken/main.tf", PROVIDER);
    environment.write("broken/other.tf", "locals {\n");
    environment.write(
        "never/main.tf",
        format!("{PROVIDER}{}", requires("hashicorp/null", "> 9.0")),
    );

    let output = environment.provlock(upgrade_all(&["--json"]));

    output.matches(str![[r#"
exit code: 2
----- stdout -----
(JSON)
----- stderr -----
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a and b
error[invalid-configuration]: the "{" after locals is never closed
 --> broken/other.tf:1:8
  |
1 | locals {
  |        ^
  |
  = root module: broken

error[no-matching-version]: no version of hashicorp/null meets all constraints: > 9.0.0
 --> never/main.tf:7:17
  |
7 |       version = "> 9.0"
  |                 ^^^^^^^ no version meets > 9.0.0
  |
  = the newest version is 3.2.4
  = root module: never
help: relax one of the constraints
Upgraded 2 of 4 root modules: 2 changed, 0 up to date; 2 failed; [SIZE] downloaded
2 errors
"#]]);
    assert_eq!(lock_file_of(&environment, "a"), locked(&null[1], "~> 3.0"));
    assert_eq!(lock_file_of(&environment, "b"), locked(&null[1], "~> 3.0"));
    assert!(
        !environment
            .project()
            .join("never/.terraform.lock.hcl")
            .exists()
    );
    let document = validated(&output.stdout);
    let paths: Vec<_> = document["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["a", "b", "broken", "never"]);
    assert_eq!(document["roots"][1]["versions"][0]["allowed"], "3.2.4");
    assert_eq!(document["errors"].as_array().unwrap().len(), 2);
}

#[test]
fn a_package_that_fails_stops_the_roots_that_need_it_only() {
    let (registry, environment, null) = two_roots();
    registry
        .publish("hashicorp/random", "3.7.2")
        .platforms(["linux_amd64"])
        .done();
    environment.write("b/more.tf", "resource \"random_id\" \"x\" {}\n");
    registry.fault(
        "*/random/*.zip",
        provlock_test::Times::Always,
        provlock_test::Fault::Status(404),
    );
    let output = environment.provlock(UPGRADE_ALL);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
error[request-failed]: cannot get registry.opentofu.org/hashicorp/random 3.7.2 for linux_amd64: https://registry.opentofu.org/files/registry.opentofu.org/hashicorp/random/3.7.2/terraform-provider-random_3.7.2_linux_amd64.zip was not found (404)
 |
 = root module: b
Upgraded 1 of 2 root modules: 1 changed, 0 up to date; 1 failed; [SIZE] downloaded
1 error
"#]]);
    assert_eq!(lock_file_of(&environment, "a"), locked(&null[1], "~> 3.0"));
    assert_eq!(lock_file_of(&environment, "b"), locked(&null[0], "~> 3.0"));
}

#[test]
fn check_prints_a_table_for_all_roots_or_for_each_and_writes_nothing() {
    let (registry, environment, null) = two_roots();
    environment.write("b/.terraform.lock.hcl", locked(&null[1], "~> 3.0"));
    let before = environment.snapshot();

    let check = environment.provlock(["upgrade", "--check", "-r"]);

    check.matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   change   newest   root modules
hashicorp/null   3.1.0    3.2.4     minor    3.2.4    a
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4
----- stderr -----
2 root modules: 1 can move, 1 up to date
Not compared with the published release: 1 recorded hash; to compare all: provlock verify -r --online
"#]]);
    let each = environment.provlock(["upgrade", "--check", "-r", "-v"]);
    let expected = "\
a:
provider         locked   allowed   change   newest
hashicorp/null   3.1.0    3.2.4     minor    3.2.4
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4

b:
provider         locked   allowed   newest
hashicorp/null   3.2.4              3.2.4
";
    assert_eq!(each.stdout, expected);
    assert_eq!(
        (
            registry.requests_to(url::VERSIONS),
            registry.requests_to(url::PACKAGE)
        ),
        (2, 0)
    );
    environment
        .provlock(["upgrade", "--check", "-r"])
        .assert_same(&check);
    environment
        .provlock(["upgrade", "--check", "-r", "b"])
        .assert_code(0);
    let json = environment.provlock(["upgrade", "--check", "-r", "--json"]);
    json.assert_code(1);
    let changed = validated(&json.stdout)["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["changed"].clone())
        .collect();
    assert_eq!(
        serde_json::Value::Array(changed),
        serde_json::json!([true, false])
    );
    before.assert_same(&environment.snapshot());
}

#[test]
fn paths_and_providers_narrow_what_moves() {
    let (registry, environment, null) = two_roots();
    let gamma = publish(&registry, "acme/gamma", ["1.0.0", "2.0.0"]);
    environment.write("c/main.tf", requires("acme/gamma", ""));
    environment.write("c/.terraform.lock.hcl", locked(&gamma[0], ""));

    let named = environment.provlock([
        "upgrade",
        "-p",
        "linux_amd64",
        "-r",
        "b",
        "hashicorp/null@3.2.4",
        "c",
    ]);

    named.matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b
Upgraded 1 root module: 1 changed, 0 up to date; [SIZE] downloaded
"#]]);
    assert_eq!(lock_file_of(&environment, "a"), locked(&null[0], "~> 3.0"));
    assert_eq!(lock_file_of(&environment, "b"), locked(&null[1], "~> 3.0"));
    assert_eq!(lock_file_of(&environment, "c"), locked(&gamma[0], ""));
    environment
        .provlock(["upgrade", "-p", "linux_amd64", "acme/gamma", "-r"])
        .assert_code(0);
    assert_eq!(lock_file_of(&environment, "c"), locked(&gamma[1], ""));
    assert_eq!(lock_file_of(&environment, "a"), locked(&null[0], "~> 3.0"));
    let unknown = environment.provlock(["upgrade", "hashicorp/nil@1.0.0", "-r"]);
    unknown.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: no root module requires hashicorp/nil, and there is no directory of that name
help: correct its name, or require it in a configuration first
"#]]);
    let unreadable = environment.provlock(["upgrade", "acme/gamma@new", "-r"]);
    unreadable.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "new" is not a version: name one, as in acme/gamma@1.2.3, or only acme/gamma
help: without a version, upgrade selects the newest version that the constraints allow
"#]]);
}

#[test]
fn a_shared_module_is_rewritten_once_for_all_roots() {
    let (_registry, environment, gamma) = shared_module("~> 1.0", ["", ""]);

    let dry_run = environment.provlock(["upgrade", "--dry-run", "--constraints", "-r"]);
    dry_run.assert_code(0);
    assert_eq!(
        dry_run.stdout.matches("+++ b/modules/").count(),
        1,
        "{}",
        dry_run.stdout
    );
    let output = environment.provlock(upgrade_all(&["--constraints", "--json"]));

    output.assert_code(0);
    assert_eq!(
        environment.read("modules/m/main.tf"),
        requires("acme/gamma", "~> 2.0")
    );
    for (index, root) in ["a", "b"].into_iter().enumerate() {
        assert_eq!(
            lock_file_of(&environment, root),
            locked(&gamma[1], "~> 2.0")
        );
        let edits = &validated(&output.stdout)["roots"][index]["constraint_edits"];
        assert_eq!(edits[0]["new"], "~> 2.0");
    }
}

/// A constraint that cannot be rewritten, and keeps a root module at the older version.
fn held_back() -> String {
    requires("acme/gamma", "").replace("      \n", "      version = <<EOT\n< 2.0\nEOT\n")
}

#[test]
fn a_shared_constraint_is_not_rewritten_when_that_would_break_a_root() {
    let (registry, environment, _) = shared_module("~> 1.0", ["", &held_back()]);
    let null = publish(&registry, "hashicorp/null", ["3.1.0", "3.2.4"]);
    environment.write(
        "c/main.tf",
        format!("{PROVIDER}{}", requires("hashicorp/null", "~> 3.1.0")),
    );
    let before = lock_file_of(&environment, "a");

    let output = environment.provlock(upgrade_all(&["--constraints", "--json"]));

    output.matches(str![[r#"
exit code: 2
----- stdout -----
(JSON)
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in c
  ~ c/main.tf:7   ~> 3.1.0 → ~> 3.2.4
error[version-outside-constraints]: "~> 1.0" cannot be rewritten for all root modules that share it
 --> modules/m/main.tf:5:18
  |
5 |       version = "~> 1.0"
  |                  ^^^^^^
  |
  = a needs "~> 2.0" here
  = b needs "~> 1.0" here
help: select the same version for all of them: name it, or change the constraint that holds one back
Upgraded 1 of 3 root modules: 1 changed, 0 up to date; 2 failed; [SIZE] downloaded
2 errors
Locked for OpenTofu (registry.opentofu.org), like the nearest other lock files; --dialect terraform changes that
"#]]);
    assert_eq!(
        validated(&output.stdout)["errors"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        environment.read("modules/m/main.tf"),
        requires("acme/gamma", "~> 1.0")
    );
    assert_eq!(
        (
            lock_file_of(&environment, "a"),
            lock_file_of(&environment, "b")
        ),
        (before.clone(), before)
    );
    assert_eq!(
        lock_file_of(&environment, "c"),
        locked(&null[1], "~> 3.2.4")
    );
}

#[test]
fn a_shared_constraint_is_not_rewritten_when_a_root_needs_no_rewrite() {
    let (_registry, environment, _) = shared_module("< 2.0.0", ["", &held_back()]);
    let before = lock_file_of(&environment, "b");

    let output = environment.provlock(upgrade_all(&["--constraints"]));

    output
        .assert_code(2)
        .assert_stderr_has("= a needs \"< 3.0.0\" here\n  = b needs \"< 2.0.0\" here");
    assert_eq!(
        environment.read("modules/m/main.tf"),
        requires("acme/gamma", "< 2.0.0")
    );
    assert_eq!(
        (
            lock_file_of(&environment, "a"),
            lock_file_of(&environment, "b")
        ),
        (before.clone(), before)
    );
    environment
        .provlock(upgrade_all(&["--constraints", "acme/gamma@1.0.0"]))
        .assert_code(0);
}

#[cfg(unix)]
#[test]
fn a_constraint_that_is_shared_through_a_symlink_is_one_constraint() {
    let (_registry, environment, _) = shared_module("~> 1.0", ["", &held_back()]);
    std::os::unix::fs::symlink("m", environment.project().join("modules/link")).unwrap();
    let calls = environment.read("b/main.tf");
    environment.write("b/main.tf", calls.replace("modules/m", "modules/link"));

    let output = environment.provlock(upgrade_all(&["--constraints"]));

    output
        .assert_code(2)
        .assert_stderr_has("= a needs \"~> 2.0\" here\n  = b needs \"~> 1.0\" here");
    assert_eq!(
        environment.read("modules/m/main.tf"),
        requires("acme/gamma", "~> 1.0")
    );
}

#[cfg(unix)]
#[test]
fn a_shared_module_is_rewritten_although_a_root_cannot_be_written() {
    let (registry, environment, gamma) = shared_module("~> 1.0", ["", "provider \"null\" {}\n"]);
    publish(&registry, "hashicorp/null", ["3.1.0", "3.2.4"]);
    let lock_file = environment.project().join("b/.terraform.lock.hcl");
    std::fs::remove_file(&lock_file).unwrap();
    std::os::unix::fs::symlink("missing/directory/lock", &lock_file).unwrap();

    let output = environment.provlock(upgrade_all(&["--constraints"]));

    output.matches(str![[r#"
exit code: 2
----- stderr -----
  ~ acme/gamma   1.0.0 → 2.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
  ~ modules/m/main.tf:5   ~> 1.0 → ~> 2.0
error[io]: cannot write b/.terraform.lock.hcl: No such file or directory (os error 2)
 |
 = root module: b
help: create its directory; a symbolic link must lead into one
Upgraded 1 of 2 root modules: 1 changed, 0 up to date; 1 failed; [SIZE] downloaded
1 error
"#]]);
    assert_eq!(
        environment.read("modules/m/main.tf"),
        requires("acme/gamma", "~> 2.0")
    );
    assert_eq!(lock_file_of(&environment, "a"), locked(&gamma[1], "~> 2.0"));
}

#[test]
fn providers_and_directories_are_distinguished() {
    let (_registry, environment) = Registry::with_project();
    environment.write("live/a/main.tf", PROVIDER);
    environment.write("live/a/.terraform.lock.hcl", "");
    let output = environment.provlock(["upgrade", "-r", "bench/p1"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: no root module requires bench/p1, and there is no directory of that name
help: correct its name, or require it in a configuration first
"#]]);
    for arguments in [
        &["upgrade", "-r", "--check", "live/a"][..],
        &["lock", "-r", "--check", "live/a"],
        &["lock", "--check", "./live/a", "-p", "all"],
        &["lock", "--check", "live/a/main.tf"],
    ] {
        let output = environment.provlock(arguments);
        output
            .assert_code(2)
            .assert_stderr_has("registry.opentofu.org/hashicorp/null");
    }
}

#[test]
fn help_names_the_right_root_module() {
    let (registry, environment) = Registry::with_project();
    publish(&registry, "acme/gamma", ["1.0.0", "2.0.0"]);
    environment.write("live/a/main.tf", requires("acme/gamma", "~> 1.0"));
    environment.write("live/a/.terraform.lock.hcl", "");
    let help = "provlock -C live/a upgrade --constraints acme/gamma@2.0.0\n";
    for arguments in [
        &["upgrade", "acme/gamma@2.0.0", "-r"][..],
        &["upgrade", "acme/gamma@2.0.0", "-C", "live", "-r"],
        &["upgrade", "acme/gamma@2.0.0", "-C", "live/a"],
        &["upgrade", "acme/gamma@2.0.0", "-C", "live/a", "-r"],
    ] {
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has(help);
    }
}

#[test]
fn roots_share_the_dates_and_each_has_the_age_of_its_settings() {
    let (registry, environment, null) = two_roots();
    registry.add_host("api.opentofu.org");
    document(&registry, "hashicorp/null", &[("3.2.4", 3), ("3.1.0", 300)]);
    environment.write("a/provlock.toml", "[policy]\nmin-age = \"7d\"\n");
    environment.write("c/main.tf", environment.read("a/main.tf"));
    environment.write("c/.terraform.lock.hcl", locked(&null[0], "~> 3.0"));
    environment.write(
        "c/provlock.toml",
        "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"hashicorp/null\"]\n",
    );

    let table = environment.provlock(["upgrade", "--min-age", "7d", "--check", "-r"]);
    table.matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   change   released     newest   root modules
hashicorp/null   3.1.0                                    3.2.4    2
  held back by its age
hashicorp/null   3.1.0    3.2.4     minor    [DATE]   3.2.4    c
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4
----- stderr -----
warning[too-young]: hashicorp/null 3.2.4 is not chosen: published [TIME], and it must be 7 days old, in 2 root modules
 |
 = in a and b
3 root modules: 1 can move, 0 up to date, 2 held back
2 warnings
Not compared with the published release: 2 recorded hashes; to compare all: provlock verify -r --online
"#]]);
    assert_eq!(
        table
            .stderr
            .matches("hashicorp/null 3.2.4 is not chosen: published ")
            .count(),
        1,
        "{table}"
    );
    assert_eq!(registry.requests_to("api.opentofu.org/registry/docs/*"), 1);

    // Without the flag `b` demands no age.
    let output = environment.provlock(upgrade_all(&[]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: hashicorp/null 3.2.4 is not chosen: published [TIME], and it must be 7 days old
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b and c
Upgraded 3 root modules: 2 changed, 0 up to date, 1 held back; [SIZE] downloaded
1 warning
1 provider held back from the newest version; see: provlock upgrade -r --check -p linux_amd64
"#]]);
    for (root, version) in [("a", 0), ("b", 1), ("c", 1)] {
        assert_eq!(
            lock_file_of(&environment, root),
            locked(&null[version], "~> 3.0"),
            "{root}"
        );
    }
    let named = environment.provlock([
        "upgrade",
        "hashicorp/null@3.2.4",
        "--min-age",
        "2d",
        "-r",
        "-p",
        "linux_amd64",
    ]);
    named.matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
Upgraded 3 root modules: 1 changed, 2 up to date
"#]]);
}
