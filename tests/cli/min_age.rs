//! `min-age` applies to versions that `lock` selects, too.

use super::lock::requires;
use super::upgrade::age::document;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];
const POLICY: &str = "[policy]\nmin-age = \"7d\"\n";

/// A project without a lock file that requires acme/gamma, with 1.0.0, which is old, and 1.1.0,
/// which is two days old.
fn project() -> (Registry, TestEnvironment, [Published; 2]) {
    let (registry, environment) = Registry::with_project();
    let gamma = ["1.0.0", "1.1.0"].map(|version| {
        registry
            .publish("acme/gamma", version)
            .platforms(["linux_amd64"])
            .done()
    });
    registry.add_host("api.opentofu.org");
    document(&registry, "acme/gamma", &[("1.1.0", 2), ("1.0.0", 100)]);
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.write("provlock.toml", POLICY);
    (registry, environment, gamma)
}

fn locked(published: &Published) -> String {
    published.lock_file("", &["linux_amd64"])
}

#[test]
fn a_first_version_is_old_enough_and_a_locked_one_is_kept() {
    let (registry, environment, gamma) = project();

    let output = environment.provlock(LOCK);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: acme/gamma 1.1.0 is not chosen: published [TIME], and it must be 7 days old
  + acme/gamma   1.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(environment.lock_file(), locked(&gamma[0]));

    environment.write_lock_file(locked(&gamma[1]));
    registry.reset_statistics();
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), locked(&gamma[1]));
    assert_eq!(
        registry.requests_to("api.opentofu.org/*"),
        0,
        "what is locked needs no date"
    );
}

#[test]
fn without_a_version_that_is_old_enough_nothing_is_locked() {
    let (_registry, environment, gamma) = project();
    environment.write("main.tf", requires("acme/gamma", "~> 1.1"));

    let output = environment.provlock(LOCK);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[too-young]: acme/gamma 1.1.0 is not chosen: published [TIME], and it must be 7 days old
help: to use it anyway, pass --min-age 0d
"#]]);
    assert!(!environment.has_lock_file());

    environment.write("main.tf", requires("acme/gamma", ""));
    environment.write("provlock.toml", "");
    environment
        .provlock([&LOCK[..], &["--min-age", "200d"]].concat())
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[too-young]: acme/gamma 1.1.0 is not chosen: published [TIME], and it must be 200 days old
 |
 = 1.0.0 is not chosen: published [TIME], and it must be 200 days old
help: to use it anyway, pass --min-age 0d
"#]]);
    environment.write("provlock.toml", POLICY);
    environment
        .provlock([&LOCK[..], &["--min-age", "0d"]].concat())
        .assert_code(0);
    assert_eq!(environment.lock_file(), locked(&gamma[1]));
}

#[test]
fn an_exempt_provider_is_locked_at_its_newest_version() {
    let (registry, environment, gamma) = project();
    environment.write(
        "provlock.toml",
        format!("{POLICY}min-age-exempt = [\"acme/gamma\"]\n"),
    );
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), locked(&gamma[1]));
    assert_eq!(registry.requests_to("api.opentofu.org/*"), 0);
}

#[test]
fn offline_an_age_can_only_be_demanded_where_nothing_is_chosen() {
    let (_registry, environment, gamma) = project();
    environment
        .provlock([&LOCK[..], &["--min-age", "0d"]].concat())
        .assert_code(0);
    let offline = ["lock", "--offline", "-p", "linux_amd64"];
    environment.provlock(offline).assert_code(0);

    environment.write(
        "new/main.tf",
        format!(
            "provider \"gamma\" {{}}\nresource \"gamma_thing\" \"a\" {{}}\n{}",
            requires("acme/gamma", "")
        ),
    );
    let output = environment.provlock(["lock", "--offline", "-p", "linux_amd64", "-r"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: min-age is set, but publication dates are unknown offline
help: to ignore the age pass --min-age 0d, or omit --offline
Locked 1 of 2 root modules: 0 changed, 1 up to date; 1 failed
1 error
"#]]);
    assert_eq!(output.stderr.matches("error[").count(), 1, "{output}");
    assert!(
        !environment
            .project()
            .join("new/.terraform.lock.hcl")
            .exists()
    );
    environment
        .provlock([
            "-C",
            "new",
            "lock",
            "--offline",
            "-p",
            "linux_amd64",
            "--min-age",
            "0d",
        ])
        .assert_code(0);
    assert!(
        environment
            .read("new/.terraform.lock.hcl")
            .contains(gamma[1].h1("linux_amd64"))
    );
}

#[test]
fn a_version_that_is_taken_over_is_not_chosen_anew() {
    let (registry, environment) = Registry::with_project();
    let null = ["3.0.0", "3.1.0"].map(|version| {
        registry
            .publish("hashicorp/null", version)
            .platforms(["linux_amd64"])
            .done()
    });
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write("provlock.toml", format!("dialect = \"tofu\"\n{POLICY}"));
    let predecessor = locked(&null[0]).replace("registry.opentofu.org", "registry.terraform.io");
    environment.write_lock_file(predecessor);
    environment.provlock(LOCK).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null                         3.0.0   signed, key 558D46FBE8647CB4   version taken over from registry.terraform.io/hashicorp/null, without its hashes, 1 h1, 2 zh
  = registry.terraform.io/hashicorp/null   3.0.0                                  not required by the configuration; --prune removes it, also if a state still needs it
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
"#]]);
    assert_eq!(environment.lock_file().matches(" = \"3.0.0\"").count(), 2);
}
