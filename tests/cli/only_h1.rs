//! Entries with `h1:` hashes only: `lock` records no new hash unless a package of the release has a
//! recorded one.

use super::lock::{lock_file, requires};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, keys, str, url};

const ALL: [&str; 3] = ["darwin_arm64", "freebsd_386", "linux_amd64"];
const LOCK_LINUX: [&str; 5] = ["lock", "-p", "linux_amd64", "--dialect", "terraform"];
const ACCEPT: &str = "--accept-changed-hashes";

fn publish(registry: &Registry) -> Published {
    registry
        .publish("hashicorp/null", "3.2.4")
        .on_host("registry.terraform.io")
        .platforms(ALL)
        .done()
}

/// A root module whose entry has only the `h1:` of one platform.
fn project(registry: &Registry, null: &Published, platform: &str) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(registry);
    environment.write("main.tf", requires("hashicorp/null", "3.2.4"));
    environment.write_lock_file(lock_file(&[
        null.entry("3.2.4", &[null.h1(platform).to_owned()])
    ]));
    environment
}

/// The release is published again with different files, signed with a different key.
fn replace(registry: &Registry) -> Published {
    let replaced = registry
        .publish("hashicorp/null", "3.2.4")
        .on_host("registry.terraform.io")
        .platforms(ALL);
    replaced
        .package_file("README.md", "replaced")
        .signed_by(&keys::OTHER)
        .done()
}

#[test]
fn a_replaced_release_is_refused() {
    let registry = Registry::start();
    let old = publish(&registry);
    let environment = project(&registry, &old, "linux_amd64");
    let replaced = replace(&registry);
    let before = environment.snapshot();
    environment.provlock(LOCK_LINUX).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of hashicorp/null 3.2.4 in the lock file differ from those published by registry.terraform.io
 --> .terraform.lock.hcl:8:5
  |
8 |     "h1:W6IJRIDo1YO2dtakM16y4MYAmEVKvYe/0smybsQzCI0=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 1 recorded h1: hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes hashicorp/null --dialect terraform
"#]]);
    before.assert_same(&environment.snapshot());
    for more in [&["-p", "all"][..], &["--check"], &["--no-cache"]] {
        let output =
            environment.provlock([&LOCK_LINUX[..3], &["--dialect", "terraform"], more].concat());
        output
            .assert_code(2)
            .assert_stderr_has("error[hashes-changed]");
        before.assert_same(&environment.snapshot());
    }
    environment
        .provlock([&LOCK_LINUX[..], &[ACCEPT]].concat())
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        replaced.lock_file("3.2.4", &["linux_amd64"])
    );
}

#[test]
fn a_hash_of_a_platform_that_was_not_requested_confirms_the_release() {
    for platform in ["darwin_arm64", "freebsd_386"] {
        let registry = Registry::start();
        let null = publish(&registry);
        for more in [&[][..], &[ACCEPT]] {
            let environment = project(&registry, &null, platform);
            registry.reset_statistics();
            let output = environment.provlock([&LOCK_LINUX[..], more].concat());
            output.assert_code(0).assert_lacks("warning");
            let hashes = null.hashes(&[platform, "linux_amd64"]);
            assert_eq!(
                environment.lock_file(),
                lock_file(&[null.entry("3.2.4", &hashes)])
            );
            // The likely platform comes before the rare one.
            assert_eq!(
                registry.requests_to(url::PACKAGE),
                if platform == "darwin_arm64" { 2 } else { 3 }
            );
        }
    }
}

#[test]
fn the_cache_confirms_a_release_without_another_download() {
    let registry = Registry::start();
    let null = publish(&registry);
    let environment = project(&registry, &null, "freebsd_386");
    environment.write("elsewhere/main.tf", requires("hashicorp/null", "3.2.4"));
    let elsewhere = [
        "-C",
        "elsewhere",
        "lock",
        "-p",
        "freebsd_386,linux_amd64",
        "--dialect",
        "terraform",
    ];
    environment.provlock(elsewhere).assert_code(0);
    registry.reset_statistics();
    environment
        .provlock(LOCK_LINUX)
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(registry.requests_to(url::PACKAGE), 0);
    let before = lock_file(&[null.entry("3.2.4", &[null.h1("freebsd_386").to_owned()])]);
    environment.write_lock_file(before);
    environment
        .provlock([&LOCK_LINUX[..], &["--offline"]].concat())
        .assert_code(0)
        .assert_lacks("hashes-changed");
}

#[test]
fn a_package_that_cannot_be_fetched_is_named_in_the_refusal() {
    let registry = Registry::start();
    let null = publish(&registry);
    let environment = project(&registry, &null, "freebsd_386");
    registry.fault("*_freebsd_386.zip", Times::Always, Fault::Status(404));
    let before = environment.snapshot();
    environment.provlock(LOCK_LINUX).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of hashicorp/null 3.2.4 in the lock file cannot be confirmed
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 hash that no checked package has
  |
  = cannot look at the package for freebsd_386: cannot get registry.terraform.io/hashicorp/null 3.2.4 for freebsd_386: https://registry.terraform.io/files/registry.terraform.io/hashicorp/null/3.2.4/terraform-provider-null_3.2.4_freebsd_386.zip was not found (404)
  = the release may have been replaced after it was locked
help: lock again when all packages can be fetched; to replace the recorded hashes: provlock lock --accept-changed-hashes hashicorp/null --dialect terraform
"#]]);
    before.assert_same(&environment.snapshot());
    environment
        .provlock([&LOCK_LINUX[..], &[ACCEPT]].concat())
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        null.lock_file("3.2.4", &["linux_amd64"])
    );
}

#[test]
fn offline_the_refusal_says_that_only_the_cache_was_looked_at() {
    let registry = Registry::start();
    let null = publish(&registry);
    let environment = project(&registry, &null, "freebsd_386");
    environment.write("elsewhere/main.tf", requires("hashicorp/null", "3.2.4"));
    let elsewhere = [
        "-C",
        "elsewhere",
        "lock",
        "-p",
        "linux_amd64",
        "--dialect",
        "terraform",
    ];
    environment.provlock(elsewhere).assert_code(0);
    let before = environment.snapshot();
    environment.provlock([&LOCK_LINUX[..], &["--offline"]].concat()).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the cache of this machine cannot confirm the hashes of hashicorp/null 3.2.4 in the lock file
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 hash that no package in it has
  |
  = they may belong to other platforms, or its packages differ from the locked ones
help: lock from the registry, which has all hashes; or compare with it: provlock verify --online --dialect terraform; to keep these hashes and add the mirror's, pass --accept-changed-hashes
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn a_mirror_confirms_a_release_with_any_of_its_packages_and_is_refused_otherwise() {
    let registry = Registry::start();
    let null = publish(&registry);
    let environment = project(&registry, &null, "darwin_arm64");
    let folder = "mirror/registry.terraform.io/hashicorp/null";
    let write = |published: &Published, platform: &str| {
        let package = &published.packages[platform];
        environment.write(format!("{folder}/{}", package.filename), &*package.archive);
    };
    let replaced = replace(&registry);
    write(&replaced, "linux_amd64");
    let lock = [&LOCK_LINUX[..], &["--fs-mirror", "mirror"]].concat();
    let before = environment.lock_file();
    environment.provlock(&lock).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the mirror mirror cannot confirm the hashes of hashicorp/null 3.2.4 in the lock file
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 hash that no package in it has
  |
  = they may belong to other platforms, or its packages differ from the locked ones
help: lock from the registry, which has all hashes; or compare with it: provlock verify --online --dialect terraform; to keep these hashes and add the mirror's, pass --accept-changed-hashes
"#]]);
    assert_eq!(environment.lock_file(), before, "nothing is written");

    write(&null, "linux_amd64");
    write(&null, "darwin_arm64");
    environment
        .provlock(&lock)
        .assert_code(0)
        .assert_lacks("warning");
    let hashes = [
        null.h1("darwin_arm64").to_owned(),
        null.h1("linux_amd64").to_owned(),
    ];
    assert_eq!(
        environment.lock_file(),
        lock_file(&[null.entry("3.2.4", &hashes)])
    );
}
