//! `lock --check` on recorded hashes that were never published, and on hashes that it could not
//! compare.

use super::{BOTH, LOCK_BOTH, lock_file, requires};
use provlock_test::publish::{PackagesMap, Published};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

const WRONG_H1: &str = "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const WRONG_ZH: &str = "zh:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const CHECK: [&str; 4] = ["lock", "-p", "linux_amd64", "--check"];
const UPGRADE: [&str; 4] = ["upgrade", "-p", "linux_amd64", "--check"];
const NOT_COMPARED: &str = "Not compared with the published release: ";

/// A project that requires the one version of `hashicorp/null`, which has packages for two
/// platforms.
fn project() -> (Registry, TestEnvironment, Published) {
    Registry::with_required("hashicorp/null", "3.2.4", BOTH, "")
}

/// Writes the lock file with all hashes of the release, then one for another, or one more.
fn write_lock_file(
    environment: &TestEnvironment,
    null: &Published,
    replaced: Option<&str>,
    added: Option<&str>,
) {
    let hashes = null.hashes(&BOTH).into_iter();
    let hashes = hashes
        .filter(|hash| Some(hash.as_str()) != replaced)
        .chain(added.map(str::to_owned));
    environment.write_lock_file(lock_file(&[null.entry("", &hashes.collect::<Vec<_>>())]));
}

/// Every command compares, online and offline, once the cache knows all packages of the release.
#[test]
fn a_hash_that_was_never_published_fails_every_check() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let cases = [
        (None, WRONG_H1, "h1"),
        (Some(null.h1("darwin_arm64")), WRONG_H1, "h1"),
        (None, WRONG_ZH, "zh"),
        (Some(null.zh("darwin_arm64")), WRONG_ZH, "zh"),
    ];
    for (check, offline) in [
        (CHECK, false),
        (CHECK, true),
        (UPGRADE, false),
        (UPGRADE, true),
    ] {
        let run = || environment.provlock(check.into_iter().chain(offline.then_some("--offline")));
        write_lock_file(&environment, &null, None, None);
        run()
            .assert_code(0)
            .assert_lacks("not compared")
            .assert_lacks("warning");
        for (replaced, added, scheme) in cases {
            write_lock_file(&environment, &null, replaced, Some(added));
            let before = environment.snapshot();
            let output = run();
            let message = format!(
                "a recorded {scheme}: hash belongs to no published package of hashicorp/null 3.2.4"
            );
            output
                .assert_code(1)
                .assert_stderr_has(&message)
                .assert_stderr_has(added);
            before.assert_same(&environment.snapshot());
        }
    }
}

/// OpenTofu and Terraform ignore such hashes.
#[test]
fn an_entry_without_a_hash_that_is_compared_fails_every_check() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    for hashes in [&["h2:AQEBAQEB"][..], &["sha512:ab", "h9:x"], &[]] {
        let hashes: Vec<_> = hashes.iter().map(|hash| (*hash).to_owned()).collect();
        environment.write_lock_file(lock_file(&[null.entry("", &hashes)]));
        for check in [CHECK, UPGRADE] {
            for offline in [None, Some("--offline")] {
                environment
                    .provlock(check.into_iter().chain(offline))
                    .assert_code(1);
            }
        }
    }
}

#[test]
fn an_added_h1_is_pointed_at_and_can_be_removed() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let right = environment.lock_file();
    write_lock_file(&environment, &null, None, Some(WRONG_H1));
    environment.provlock(UPGRADE).matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   newest
hashicorp/null   3.2.4              3.2.4
----- stderr -----
warning[hash-not-published]: a recorded h1: hash belongs to no published package of hashicorp/null 3.2.4
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = compared with the packages of all its platforms
help: find out who added it; to remove it: provlock lock --accept-changed-hashes hashicorp/null
Up to date: 1 provider
Never published: 1 recorded hash; lock --check and verify --online fail because of that
"#]]);
    environment.provlock(CHECK).matches(str![[r#"
exit code: 1
----- stderr -----
warning[hash-not-published]: a recorded h1: hash belongs to no published package of hashicorp/null 3.2.4
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = compared with the packages of all its platforms
help: find out who added it; to remove it: provlock lock --accept-changed-hashes hashicorp/null
Up to date: 1 provider for linux_amd64
Never published: 1 recorded hash; lock --check and verify --online fail because of that
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--accept-changed-hashes"])
        .assert_code(0);
    assert_eq!(environment.lock_file(), right);
}

/// Of both schemes, and of several providers.
#[test]
fn all_unpublished_hashes_are_counted() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    write_lock_file(
        &environment,
        &null,
        Some(null.h1("darwin_arm64")),
        Some(WRONG_H1),
    );
    let text = environment
        .lock_file()
        .replace(&format!("    \"{WRONG_H1}\",\n"), &{
            format!("    \"{WRONG_H1}\",\n    \"{WRONG_ZH}\",\n")
        });
    environment.write_lock_file(text);
    for check in [CHECK, UPGRADE] {
        let output = environment.provlock(check);
        output.assert_code(1).assert_stderr_has(
            "2 recorded hashes belong to no published package of hashicorp/null",
        );
        output.assert_stderr_has("Never published: 2 recorded hashes;");
    }
}

/// The hash may belong to a platform whose package this machine has not seen.
#[test]
fn an_h1_of_an_unknown_platform_passes_and_is_counted() {
    let (registry, environment, null) = project();
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    registry.reset_statistics();
    for (added, number) in [
        (None, "1 recorded hash"),
        (Some(WRONG_H1), "2 recorded hashes"),
    ] {
        write_lock_file(&environment, &null, None, added);
        for check in [CHECK, UPGRADE] {
            for offline in [None, Some("--offline")] {
                let output = environment.provlock(check.into_iter().chain(offline));
                output
                    .assert_code(0)
                    .assert_stderr_has(&format!(
                        "{NOT_COMPARED}{number}; to compare all: provlock verify --online\n"
                    ))
                    .assert_lacks("warning");
            }
        }
        environment
            .provlock(["lock", "-p", "linux_amd64"])
            .assert_code(0)
            .assert_lacks("not compared");
    }
    assert_eq!(registry.requests_to(url::PACKAGE), 0);
}

#[test]
fn reported_hashes_are_compared_without_a_cache() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("registry.example.com/acme/null", "3.2.4")
        .platforms(BOTH);
    let null = null.packages(PackagesMap::Right).done();
    environment.write("main.tf", requires("registry.example.com/acme/null", ""));
    for check in [CHECK, UPGRADE] {
        let run = || environment.provlock(check.into_iter().chain(["--no-cache"]));
        write_lock_file(&environment, &null, None, None);
        run()
            .assert_code(0)
            .assert_lacks("not compared")
            .assert_lacks("warning");
        write_lock_file(&environment, &null, None, Some(WRONG_H1));
        run()
            .assert_code(1)
            .assert_stderr_has("hash-not-published")
            .assert_stderr_has(WRONG_H1);
    }
}

/// The cache knows the package that was replaced, which proves nothing about the published package.
#[test]
fn a_package_that_was_replaced_explains_nothing() {
    let (registry, environment, _) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let replaced = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(300)
        .done();
    write_lock_file(&environment, &replaced, None, None);
    for check in [CHECK, UPGRADE] {
        let output = environment.provlock(check);
        output
            .assert_code(0)
            .assert_lacks("hash-not-published")
            .assert_stderr_has(NOT_COMPARED);
    }
}

#[test]
fn a_hash_of_an_unknown_scheme_passes_and_is_counted() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    write_lock_file(&environment, &null, None, Some("zz:abc"));
    for check in [CHECK, UPGRADE] {
        environment
            .provlock(check)
            .assert_code(0)
            .assert_stderr_has(&format!("{NOT_COMPARED}1 recorded hash"));
    }
}

/// A mirror contains copies, and does not know other published packages.
#[test]
fn unknown_publication_is_reported() {
    let (_registry, environment, null) = project();
    environment.provlock(LOCK_BOTH).assert_code(0);
    environment
        .provlock(["mirror", "packages", "-p", "linux_amd64"])
        .assert_code(0);
    write_lock_file(&environment, &null, None, Some(WRONG_ZH));
    for check in [CHECK, UPGRADE] {
        let output = environment.provlock(check.into_iter().chain(["--fs-mirror", "packages"]));
        output.assert_code(0).assert_stderr_has(NOT_COMPARED);
    }
    // Another machine has no cache.
    environment.provlock(["cache", "clean"]).assert_code(0);
    environment
        .provlock(UPGRADE.into_iter().chain(["--offline"]))
        .matches(str![[r#"
exit code: 0
----- stdout -----
provider         locked   allowed   newest
hashicorp/null   3.2.4              3.2.4
----- stderr -----
Up to date: 1 provider
Not compared with the published release: 6 recorded hashes; to compare all: provlock verify --online
"#]]);
}

#[test]
fn a_check_asks_for_sums_and_no_package() {
    let (registry, environment, null) = project();
    write_lock_file(&environment, &null, None, Some(WRONG_ZH));
    environment
        .provlock(UPGRADE)
        .assert_code(1)
        .assert_stderr_has("hash-not-published");
    assert_eq!(
        (
            registry.requests_to(url::SHASUMS),
            registry.requests_to(url::PACKAGE)
        ),
        (1, 0)
    );
}
