//! `upgrade --offline` and `merge --resolve --offline`, with the data on this machine.
//! [`super::cache`] has `lock --offline`.

use super::json_output::validated;
use super::lock::{lock_file, requires};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const BOTH: [&str; 2] = ["darwin_arm64", "linux_amd64"];
const UPGRADE: [&str; 4] = ["upgrade", "--offline", "-p", "linux_amd64,darwin_arm64"];

/// hashicorp/null 3.0.0, 3.1.0, 3.2.0 and 3.2.4; the first is locked for both platforms.
fn project() -> (Registry, TestEnvironment, [Published; 4]) {
    let (registry, environment) = Registry::with_project();
    let null = ["3.0.0", "3.1.0", "3.2.0", "3.2.4"].map(|version| {
        registry
            .publish("hashicorp/null", version)
            .platforms(BOTH)
            .done()
    });
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write_lock_file(locked(&null[0]));
    (registry, environment, null)
}

/// The lock file with the hashes that the cache has of a version.
fn locked(published: &Published) -> String {
    let hashes = BOTH
        .iter()
        .flat_map(|platform| [published.h1(platform), published.zh(platform)]);
    lock_file(&[published.entry("~> 3.0", &hashes.map(str::to_owned).collect::<Vec<_>>())])
}

/// Another project on the same machine locks a version, whose packages are then in the cache.
fn lock_elsewhere(environment: &TestEnvironment, version: &str, platforms: &str) {
    environment.write("elsewhere/main.tf", requires("hashicorp/null", version));
    let _ = std::fs::remove_file(environment.project().join("elsewhere/.terraform.lock.hcl"));
    environment
        .provlock(["-C", "elsewhere", "lock", "-p", platforms])
        .assert_code(0);
}

fn upgrade<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&UPGRADE[..], arguments].concat()
}

#[test]
fn the_newest_version_whose_packages_are_all_known_is_chosen() {
    let (registry, environment, null) = project();
    lock_elsewhere(&environment, "3.1.0", "linux_amd64,darwin_arm64");
    lock_elsewhere(&environment, "3.2.0", "linux_amd64");
    registry.reset_statistics();

    let table = environment.provlock(upgrade(&["--check"]));
    table.matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   change   newest
hashicorp/null   3.0.0    3.1.0     minor    3.2.0
  held back by packages that are not in the cache
----- stderr -----
warning[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
1 provider can move within the constraints; 1 held back
"#]]);
    environment.provlock(upgrade(&["--check"])).assert_code(1);
    let output = environment.provlock(upgrade(&["--json"]));

    output.matches(str![[r#"
exit code: 0
----- stdout -----
(JSON)
----- stderr -----
warning[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
  ~ hashicorp/null   3.0.0 → 3.1.0   unauthenticated   2 h1, 2 zh
Upgraded 1 provider for darwin_arm64 and linux_amd64 (1 changed)
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64,darwin_arm64
The new entries contain only hashes of packages in the cache; to complete them, with network: provlock lock
"#]]);
    assert_eq!(
        validated(&output.stdout)["roots"][0]["versions"][0]["newest"],
        "3.2.0",
        "3.2.4 was never seen here"
    );
    assert_eq!(environment.lock_file(), locked(&null[1]));
    environment.provlock(upgrade(&["--check"])).assert_code(0);
    environment
        .provlock(["upgrade", "--offline", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(environment.lock_file().contains("3.2.0"));
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn all_platforms_are_those_that_are_known_of_any_version() {
    let (_registry, environment, null) = project();
    lock_elsewhere(&environment, "3.1.0", "all");
    lock_elsewhere(&environment, "3.2.0", "linux_amd64");
    let output = environment.provlock(["upgrade", "--offline", "-p", "all"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
  ~ hashicorp/null   3.0.0 → 3.1.0   unauthenticated   2 h1, 2 zh
Upgraded 1 provider for darwin_arm64 and linux_amd64 (1 changed)
1 provider held back from the newest version; see: provlock upgrade --check -p all
The new entries contain only hashes of packages in the cache; to complete them, with network: provlock lock
"#]]);
    assert_eq!(environment.lock_file(), locked(&null[1]));
}

#[test]
fn a_missing_package_stops_the_offline_upgrade() {
    let (registry, environment, null) = project();
    lock_elsewhere(&environment, "3.2.0", "linux_amd64");
    registry.reset_statistics();
    let before = environment.snapshot();

    // Whether the other platform is tried before this one has failed is not defined.
    let stays = environment.provlock(upgrade(&[]));
    stays.assert_code(2).assert_stderr_has(
        "null 3.0.0 for darwin_arm64: the package is not in the cache of hashes",
    );
    let named = environment.provlock(upgrade(&["hashicorp/null@3.2.0"]));
    named.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
"#]]);
    let unseen = environment.provlock(upgrade(&["hashicorp/null@3.2.4"]));
    unseen.matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: version 3.2.4 of hashicorp/null is not known offline
 |
 = the newest known version is 3.2.0
help: run the command once without --offline and with the same cache
"#]]);
    before.assert_same(&environment.snapshot());

    // An older version that is complete is no reason to go back.
    lock_elsewhere(&environment, "3.0.0", "linux_amd64,darwin_arm64");
    environment.write_lock_file(locked(&null[1]));
    environment
        .provlock(upgrade(&[]))
        .assert_code(2)
        .assert_stderr_has("the package is not in the cache of hashes");
    assert_eq!(environment.lock_file(), locked(&null[1]));
    // Without an entry it is the newest.
    environment.write_lock_file("");
    environment.provlock(upgrade(&[])).matches(str![[r#"
exit code: 0
----- stderr -----
warning[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
  + hashicorp/null   3.0.0   unauthenticated   2 h1, 2 zh
Upgraded 1 provider for darwin_arm64 and linux_amd64 (1 added)
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64,darwin_arm64
The new entries contain only hashes of packages in the cache; to complete them, with network: provlock lock
"#]]);
    environment.write("main.tf", requires("hashicorp/null", "~> 3.2"));
    let none = environment.provlock(upgrade(&[]));
    none.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: hashicorp/null 3.2.0 is not chosen: its package for darwin_arm64 is not in the cache
help: run the command once without --offline and with the same cache
"#]]);
}

#[test]
fn many_roots_share_what_is_known_and_constraints_are_rewritten_as_far() {
    let (registry, environment, null) = project();
    lock_elsewhere(&environment, "3.1.0", "linux_amd64,darwin_arm64");
    environment.write("a/main.tf", requires("hashicorp/null", "~> 3.0.0"));
    environment.write(
        "a/.terraform.lock.hcl",
        locked(&null[0]).replace("~> 3.0\"", "~> 3.0.0\""),
    );
    registry.reset_statistics();

    environment
        .provlock(upgrade(&["--constraints", "-r", "a"]))
        .assert_code(0);

    assert_eq!(
        environment.read("a/main.tf"),
        requires("hashicorp/null", "~> 3.1.0")
    );
    assert_eq!(
        environment.read("a/.terraform.lock.hcl"),
        locked(&null[1]).replace("~> 3.0\"", "~> 3.1.0\"")
    );
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn an_age_cannot_be_demanded() {
    let (registry, environment, null) = project();
    lock_elsewhere(&environment, "3.1.0", "linux_amd64,darwin_arm64");
    registry.reset_statistics();
    let before = environment.snapshot();
    let reason = "min-age is set, but publication dates are unknown offline";

    environment
        .provlock(upgrade(&["--min-age", "7d"]))
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: min-age is set, but publication dates are unknown offline
help: to ignore the age pass --min-age 0d, or omit --offline
"#]]);
    let many = environment.provlock(upgrade(&["--min-age", "7d", "--check", "-r"]));
    assert_eq!(
        many.assert_code(2).stderr.matches(reason).count(),
        1,
        "{many}"
    );
    before.assert_same(&environment.snapshot());
    environment.write("provlock.toml", "[policy]\nmin-age = \"7d\"\n");
    let demanded = environment.provlock(upgrade(&[]));
    demanded.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: min-age is set, but publication dates are unknown offline
help: to ignore the age pass --min-age 0d, or omit --offline
"#]]);
    environment
        .provlock(upgrade(&["--min-age", "0d", "--check"]))
        .assert_code(1);

    environment.write(
        "provlock.toml",
        "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"hashicorp/null\"]\n",
    );
    environment.provlock(upgrade(&[])).assert_code(0);
    assert_eq!(environment.lock_file(), locked(&null[1]));
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn a_conflict_is_resolved_with_what_is_known() {
    let (registry, environment, null) = project();
    lock_elsewhere(&environment, "3.1.0", "linux_amd64,darwin_arm64");
    registry.reset_statistics();
    for (name, published) in ["base", "ours", "theirs"].into_iter().zip(&null) {
        environment.write(name, locked(published));
    }
    let merge = |platforms: &str| {
        environment.provlock([
            "merge",
            "--resolve",
            "base",
            "ours",
            "theirs",
            "--path",
            "ours",
            "--offline",
            "-p",
            platforms,
        ])
    };

    // The newest version that a side has is not in the cache, and a conflict is no reason to go
    // back. Of one platform: of several that fail, how many are tried before the first failure is
    // known is not defined.
    let missing = merge("darwin_arm64");
    missing.matches(str![[r#"
exit code: 1
----- stderr -----
error[platform-not-known]: registry.opentofu.org/hashicorp/null 3.2.0 for darwin_arm64: the package is not in the cache of hashes
help: run the command once without --offline and with the same cache

error[merge-conflict]: conflict: ours has hashicorp/null 3.1.0, theirs 3.2.0
 |
 = locked at 3.0.0 before
help: choose a side of each conflict in ours, or run: provlock merge --resolve ours -p darwin_arm64
"#]]);
    assert_eq!(registry.statistics().requests, 0);
    environment.write("ours", locked(&null[1]));
    lock_elsewhere(&environment, "3.2.0", "linux_amd64,darwin_arm64");
    registry.reset_statistics();
    merge("linux_amd64,darwin_arm64").assert_code(0);
    assert_eq!(environment.read("ours"), locked(&null[2]));
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn nothing_that_asks_a_host_goes_with_it() {
    let environment = TestEnvironment::new();
    for command in [&["lock"][..], &["upgrade"], &["merge", "x"]] {
        for flags in [
            &["--fs-mirror", "m"][..],
            &["--net-mirror", "https://mirror.example.com/"],
            &["--oci-mirror", "ghcr.io/acme/{namespace}/{type}"],
            &["--use-cli-config"],
            &["--trust-registry"],
            &["--no-cache"],
        ] {
            let output = environment.provlock([command, &["--offline"], flags].concat());
            output
                .assert_code(2)
                .assert_stderr_has("cannot be used with");
        }
    }
    environment
        .provlock(["verify", "--online", "--offline"])
        .assert_code(2)
        .assert_stderr_has("cannot be used with");
}

#[test]
fn all_platforms_of_a_version_without_packages_are_not_none() {
    let (registry, environment, null) = project();
    environment.write(
        "new/main.tf",
        format!(
            "provider \"null\" {{}}\nresource \"null_resource\" \"a\" {{}}\n{}",
            requires("hashicorp/null", "")
        ),
    );
    for command in ["lock", "upgrade"] {
        let output = environment.provlock([command, "--offline", "-p", "all", "-r"]);
        output
            .assert_code(2)
            .assert_stderr_has("in the cache")
            .assert_stderr_has("without --offline");
        assert!(
            !environment
                .project()
                .join("new/.terraform.lock.hcl")
                .exists(),
            "it would accept any package"
        );
        assert_eq!(environment.lock_file(), locked(&null[0]));
    }
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn unknown_versions_are_not_reported_as_missing() {
    let (_registry, environment, _) = project();
    environment.write(
        "other/main.tf",
        format!(
            "{}provider \"null\" {{}}\nresource \"null_resource\" \"a\" {{}}\n",
            requires("hashicorp/null", "~> 3.2.0")
        ),
    );
    environment.provlock(["lock", "-r", "--offline", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-known]: registry.opentofu.org/hashicorp/null 3.0.0 for linux_amd64: the package is not in the cache of hashes
 |
 = root module: .
help: run the command once without --offline and with the same cache

error[no-matching-version]: offline only 3.0.0 of hashicorp/null is known, and the configuration requires ~> 3.2.0
 --> other/main.tf:5:17
  |
5 |       version = "~> 3.2.0"
  |                 ^^^^^^^^^^ asked for here
  |
  = root module: other
help: run the command once without --offline and with the same cache
Locked 0 of 2 root modules: 0 changed, 0 up to date; 2 failed
2 errors
"#]]);
}

#[test]
fn an_entry_that_is_locked_offline_is_called_incomplete() {
    let (_registry, environment, _) = project();
    lock_elsewhere(&environment, "3.2.4", "linux_amd64");
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    environment.provlock(["lock", "--offline", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   unauthenticated   1 h1, 1 zh
Locked 1 provider for linux_amd64 (1 added)
The new entries contain only hashes of packages in the cache; to complete them, with network: provlock lock -p linux_amd64
Locked for OpenTofu (registry.opentofu.org), like the nearest other lock files; --dialect terraform changes that
"#]]);
    environment
        .provlock(["lock", "--offline", "-p", "linux_amd64"])
        .assert_lacks("only hashes of packages");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_stderr_has("1 changed")
        .assert_lacks("only hashes");
}

#[test]
fn a_policy_about_signatures_cannot_be_met_offline() {
    let (_registry, environment, _) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0);
    let key = "0123456789ABCDEF0123456789ABCDEF01234567";
    let trust = format!("[trust]\n\"hashicorp/*\" = [\"{key}\"]\n");
    for (policy, code) in [
        ("[policy]\nrequire-signed = true\n", "unsigned-provider"),
        (trust.as_str(), "key-not-trusted"),
    ] {
        environment.write("provlock.toml", policy);
        let before = environment.snapshot();
        let output = environment.provlock(["lock", "--offline", "-p", "linux_amd64,darwin_arm64"]);
        output.assert_code(2).assert_stderr_has(&format!(
            "error[{code}]: the key that signed hashicorp/null 3.0.0 "
        ));
        output
            .assert_stderr_has("is unknown offline")
            .assert_stderr_has("help: run the command without --offline\n");
        assert!(
            !output.stderr.contains("not signed") && !output.stderr.contains("has none"),
            "{output}"
        );
        before.assert_same(&environment.snapshot());
    }
}

#[test]
fn commands_that_can_obey_it_accept_the_flag() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    environment.git_init(".");
    environment.commit_all(".");
    for command in [
        &["init"][..],
        &["lock"],
        &["get"],
        &["verify"],
        &["upgrade"],
        &["pin"],
        &["diff"],
        &["tree"],
        &["sbom"],
        &["merge"],
        &["explain"],
        &["setup", "git"],
        &["login", "--check", "h.test"],
        &["logout", "h.test"],
        &["cache", "dir"],
        &["cache", "clean"],
        &["cache", "keygen", "key"],
        &["completions", "bash"],
    ] {
        let output = environment.provlock(command.iter().chain(&["--offline"]));
        let shown = output.stdout.clone() + &output.stderr;
        assert!(!shown.contains("unexpected argument"), "{output}");
    }
    // Contradictions and impossible runs are refused.
    for command in [
        &["verify", "--online", "--offline"][..],
        &["tree", "--online", "--offline"],
        &["mirror", "--offline", "directory"],
    ] {
        let output = environment.provlock(command);
        output.assert_code(2).assert_stderr_has("--offline");
    }
}
