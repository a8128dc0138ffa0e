//! Keys that are trusted, and for what: `verify --online`, `--trust-shared`, `--base`.

use provlock_test::{survived, url};

use super::{FACTS, Fleet, NULL, WRONG_H1, keygen, sealed_anew, settings};
use crate::lock::{LOCK_BOTH, requires};
use provlock_test::git::Repository;

const VERIFY: [&str; 4] = ["verify", "--online", "-p", "linux_amd64,darwin_arm64"];

/// An attacker with the key can make others record a wrong `h1:`, and nothing else; `verify
/// --online` finds it.
#[test]
fn verify_online_trusts_shared_facts_only_with_the_flag() {
    let fleet = Fleet::new();
    let key = fleet.signing_key();
    let manifest = fleet.registry.manifest(NULL, "3.2.4").unwrap();
    let stolen = sealed_anew(&manifest, &key, |facts| {
        facts
            .packages
            .values_mut()
            .for_each(|digest| digest.h1 = WRONG_H1.parse().unwrap());
    });
    fleet.registry.put_manifest(NULL, "3.2.4", &stolen);
    let reader = fleet.reader();
    reader.provlock(LOCK_BOTH).assert_code(0);
    assert!(reader.lock_file().contains(WRONG_H1));
    assert_eq!(fleet.packages(), 0);

    let output = reader.provlock(VERIFY);
    output
        .assert_code(1)
        .assert_stdout_has("hash-not-published")
        .assert_stdout_has(WRONG_H1);
    assert_eq!(fleet.packages(), 2);

    // `lock` has filled the cache with these facts, which `verify --online` does not trust either.
    reader.provlock(["cache", "clean"]).assert_code(0);
    fleet.registry.reset_statistics();
    reader
        .provlock(VERIFY.into_iter().chain(["--trust-shared"]))
        .assert_code(0);
    assert_eq!(
        (fleet.packages(), fleet.registry.requests_to(FACTS)),
        (0, 1)
    );
}

#[test]
fn trust_shared_is_for_verify_online() {
    let fleet = Fleet::new();
    let reader = fleet.reader();
    reader
        .provlock(["verify", "--trust-shared"])
        .assert_code(2)
        .assert_stderr_has("--online");
    assert_eq!(fleet.registry.statistics().requests, 0);
}

/// A change that is not approved cannot choose the keys that it is checked with.
#[test]
fn a_change_cannot_add_a_trusted_key() {
    let fleet = Fleet::new();
    let key = fleet.signing_key();
    let manifest = fleet.registry.manifest(NULL, "3.2.4").unwrap();
    let forged = sealed_anew(&manifest, &key, |facts| {
        facts
            .packages
            .values_mut()
            .for_each(|digest| digest.h1 = WRONG_H1.parse().unwrap());
    });
    fleet.registry.put_manifest(NULL, "3.2.4", &forged);
    let other = keygen(&fleet.reader());
    let without = String::new();
    let with_another_key = settings(&other);
    let at_another_place = settings(&fleet.key).replace("/facts", "/others");
    let cases = [
        ("provlock.toml", &without),
        ("provlock.toml", &with_another_key),
        ("provlock.toml", &at_another_place),
    ];
    for (path, before) in cases {
        let repository = Repository::around(fleet.reader());
        let environment = &repository.environment;
        environment.write(path, before);
        environment.write("main.tf", requires("hashicorp/null", ""));
        repository.commit(&fleet.expected());
        // The change adds the attacker's key, and the hash that the attacker's facts confirm.
        environment.write("provlock.toml", settings(&fleet.key));
        let evil = fleet
            .expected()
            .replace(fleet.null.h1("linux_amd64"), WRONG_H1);
        repository.commit(&evil);
        fleet.registry.reset_statistics();
        let output =
            environment.provlock(
                VERIFY
                    .into_iter()
                    .chain(["--trust-shared", "--base", "HEAD~1"]),
            );
        output
            .assert_code(1)
            .assert_stdout_has("hash-not-published")
            .assert_stdout_has("policy-changed");
        assert_eq!(fleet.registry.requests_to(url::PACKAGE), 2, "{before}");
    }
    survived(
        "a pull request adds a trusted key for shared facts",
        cases.len(),
    );
}
