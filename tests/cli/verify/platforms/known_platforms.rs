//! Platforms of recorded hashes, without a network: no line says OK for a platform that was not
//! checked.

use super::gate::OTHER_H1;
use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, messages};
use crate::lock::{lock_file, requires};
use provlock_test::publish::{PackagesMap, Publish};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const AWS: &str = "registry.opentofu.org/hashicorp/aws";
const PLATFORMS: [&str; 4] = [
    "darwin_arm64",
    "linux_amd64",
    "linux_arm64",
    "windows_amd64",
];

/// A project with two providers that have two `h1:` each, whose platforms this machine does not
/// know.
fn two_hashes_each() -> TestEnvironment {
    let environment = good();
    environment.write(
        "main.tf",
        format!("{}provider \"aws\" {{}}\n", environment.read("main.tf")),
    );
    let hashes = [H1, OTHER_H1, ZH];
    lock(
        &environment,
        &[
            entry(AWS, "5.0.0", "", &hashes),
            entry(NULL, "3.2.4", "~> 3.0", &hashes),
        ],
    );
    environment
}

/// A project that is locked for two of the four platforms of its provider.
fn locked(map: Option<PackagesMap>) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    let publish = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(PLATFORMS);
    map.into_iter().fold(publish, Publish::packages).done();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0);
    (registry, environment)
}

#[test]
fn named_platforms_that_nothing_confirms_are_one_warning() {
    let environment = two_hashes_each();
    for (named, shown, online) in [
        (
            "windows_amd64,linux_arm64",
            "linux_arm64 and windows_amd64",
            "linux_arm64,windows_amd64",
        ),
        ("all", "all platforms", "all"),
    ] {
        environment
            .provlock(["verify", "--no-cache", "-p", named])
            .matches(format!(
                "exit code: 0
----- stdout -----
warning[platform-not-known]: the platforms of the recorded h1 are unknown offline
  --> .terraform.lock.hcl:4:10
   |
 4 | provider \"registry.opentofu.org/hashicorp/aws\" {{
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
13 | provider \"registry.opentofu.org/hashicorp/null\" {{
   |          --------------------------------------
   |
   = not confirmed: {shown}
help: provlock verify --online -p {online} --no-cache

----- stderr -----
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
1 warning in .terraform.lock.hcl"
            ));
    }
    assert_eq!(
        found(&environment, &["--no-cache", "-p", "windows_amd64"]),
        ["warning platform-not-known"]
    );
    let denied = [
        "verify",
        "--no-cache",
        "-p",
        "windows_amd64",
        "--deny",
        "warnings",
    ];
    environment.provlock(denied).assert_code(1);
}

#[test]
fn the_warning_is_one_for_all_root_modules() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            requires("hashicorp/null", "~> 3.0"),
        );
        let entry = entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH]);
        environment.write(format!("{root}/.terraform.lock.hcl"), lock_file(&[entry]));
    }
    environment
        .provlock(["verify", "-r", "-p", "windows_amd64"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[platform-not-known]: the platforms of the recorded h1 are unknown offline, in 2 root modules
 --> a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = not confirmed: windows_amd64
  = also in b
help: provlock verify -r --online -p windows_amd64

----- stderr -----
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
2 warnings in a/.terraform.lock.hcl and b/.terraform.lock.hcl
2 root modules: 2 with warnings
"#]]);
}

#[test]
fn platforms_of_the_settings_are_no_warning_and_are_not_called_ok() {
    let environment = two_hashes_each();
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers locked as required
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
"#]]);
    environment.provlock(["verify", "-v"]).matches(str![[r#"
exit code: 0
----- stderr -----
.: dialect tofu (the lock file); checked 2 providers for darwin_arm64 and linux_amd64 (not confirmed)
OK: 2 providers locked as required
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
"#]]);
    environment.write("provlock.toml", "platforms = \"all\"\n");
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers locked as required
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
"#]]);
    let allowed = [
        "verify",
        "-p",
        "windows_amd64",
        "--allow",
        "platform-not-known",
    ];
    environment.provlock(allowed).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers locked as required
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
"#]]);
}

#[test]
fn downloaded_packages_confirm_platforms() {
    let (registry, environment) = locked(None);
    registry.reset_statistics();
    environment
        .provlock(["verify", "-p", "linux_amd64,darwin_arm64"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required, for darwin_arm64 and linux_amd64
Not checked: hashes against the registry (--online does)
"#]]);
    assert_eq!(registry.statistics().connections, 0);
    let both_are_others = ["error platform-missing"];
    assert_eq!(
        found(&environment, &["-p", "windows_amd64"]),
        both_are_others,
        "each h1 is of one platform"
    );
    assert_eq!(
        found(&environment, &["-p", "linux_amd64,windows_amd64"]),
        both_are_others
    );
    assert_eq!(
        found(
            &environment,
            &["-p", "linux_amd64,windows_amd64", "--no-cache"]
        ),
        ["warning platform-not-known"]
    );
    let of_all = messages(&environment, &["-p", "all"]);
    let expected = "no h1 of hashicorp/null 3.2.4 for linux_arm64 and windows_amd64 is recorded\n";
    assert_eq!(of_all, expected, "the registry has listed the platforms");
    environment.provlock(["lock", "-p", "all"]).assert_code(0);
    environment
        .provlock(["verify", "-p", "all"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required, for all platforms
Not checked: hashes against the registry (--online does)
"#]]);
}

/// The registry reports the `h1:` of all packages; one of them was downloaded.
#[test]
fn reported_hashes_confirm_platforms() {
    let (_registry, environment) = locked(Some(PackagesMap::Right));
    let others = ["-p", "windows_amd64,linux_arm64"];
    assert_eq!(
        found(&environment, &others),
        NOTHING,
        "this registry's hashes are recorded"
    );
    environment
        .provlock(["verify", "-p", "all"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required, for all platforms
Not checked: hashes against the registry (--online does)
"#]]);
    environment.provlock(["cache", "clean"]).assert_code(0);
    assert_eq!(found(&environment, &others), ["warning platform-not-known"]);
    environment
        .provlock(["verify", "--online", "-p", "all"])
        .assert_code(0);
    assert_eq!(
        found(&environment, &others),
        NOTHING,
        "verify --online has asked"
    );
}

#[test]
fn a_damaged_or_hostile_cache_confirms_nothing() {
    let (_registry, environment) = locked(Some(PackagesMap::Right));
    let folder = environment
        .home()
        .join(".cache/provlock/provlock-platforms-v1/registry.opentofu.org/hashicorp/null");
    let file = folder.join("3.2.4");
    let kept = std::fs::read_to_string(&file).unwrap();
    let windows = ["-p", "windows_amd64"];
    assert_eq!(found(&environment, &windows), NOTHING);
    let long = format!("{kept}{}", " ".repeat(1024 * 1024));
    for damaged in [
        "",
        "{",
        "[]",
        "null",
        "{\"published\":{\"windows_amd64\":[\"h1:short\"]}}",
        &kept[1..],
        &long,
    ] {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(
            found(&environment, &windows),
            ["warning platform-not-known"],
            "{}",
            &damaged[..damaged.len().min(90)]
        );
        assert_ne!(found(&environment, &["-p", "all"]), NOTHING);
    }
    environment.provlock(["lock"]).assert_code(0);
    assert_eq!(
        found(&environment, &windows),
        NOTHING,
        "it is written again"
    );
}

/// A mirror's package shows the platform of an `h1:`, but does not prove that another `h1:` is
/// missing.
#[test]
fn packages_of_a_mirror_confirm_platforms() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(PLATFORMS)
        .done();
    registry.mirror(
        "https://mirror.example.com/providers/",
        provlock_test::Mirror::default(),
    );
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    let mirror = [
        "lock",
        "--net-mirror",
        "https://mirror.example.com/providers/",
        "-p",
        "linux_amd64",
    ];
    environment.provlock(mirror).assert_code(0);
    assert_eq!(found(&environment, &["-p", "linux_amd64"]), NOTHING);
    let darwin = null.h1("darwin_arm64");
    environment.write_lock_file(lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[darwin])]));
    assert_eq!(
        found(&environment, &["-p", "linux_amd64"]),
        ["warning platform-not-known"]
    );
}

/// Every package has an `h1:`, so no request is needed to see that none is recorded.
#[test]
fn an_entry_without_any_h1_covers_no_platform() {
    let environment = good();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[ZH])]);
    environment
        .provlock(["verify", "--no-cache", "-p", "all"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-not-covered]: no h1 is recorded, but all platforms are required
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock lock -p all --no-cache

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment.write("provlock.toml", "platforms = \"all\"\n");
    assert_eq!(
        found(&environment, &["--no-cache"]),
        ["error platform-not-covered"]
    );
    let mirror = format!(
        "--fs-mirror={}",
        environment
            .write("mirror/.keep", "")
            .parent()
            .unwrap()
            .display()
    );
    let by_mirror = found(&environment, &["--no-cache", "--online", &mirror]);
    assert_eq!(
        by_mirror,
        ["error platform-not-covered", "warning hash-not-checked"]
    );
}
