//! Keys that sign new versions: `signing-key-changed`, which a registry must not be able to switch
//! off.

use std::fs;

use serde_json::Value;

use super::entry;
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::keys::{RSA, SUBKEY};
use provlock_test::{Fault, Flaw, Output, Registry, TestEnvironment, Times, str};

const FLAGS: [&str; 7] = [
    "verify",
    "-r",
    "--online",
    "-p",
    "linux_amd64",
    "--base",
    "HEAD",
];

/// A registry, and a repository whose root module `app` locks acme/gamma 1.0.0. The versions 1.x
/// are signed by one key, and 2.0.0 by a different one.
fn locked() -> (Registry, Repository) {
    let registry = Registry::start();
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    for (version, key) in [("1.0.0", &RSA), ("1.1.0", &RSA), ("2.0.0", &SUBKEY)] {
        registry
            .publish("acme/gamma", version)
            .platforms(["linux_amd64"])
            .signed_by(key)
            .done();
    }
    lock(&repository, "app", "1.0.0");
    repository.environment.commit_all(".");
    (registry, repository)
}

fn lock(repository: &Repository, directory: &str, version: &str) {
    repository.environment.write(
        format!("{directory}/main.tf"),
        requires("acme/gamma", version),
    );
    repository
        .provlock(["-C", directory, "upgrade", "-p", "linux_amd64"])
        .assert_code(0);
}

fn verify(repository: &Repository) -> Output {
    repository.environment.provlock(FLAGS)
}

/// The messages of the findings about keys.
fn found(repository: &Repository) -> Vec<String> {
    let output =
        repository
            .environment
            .provlock(FLAGS.iter().chain(&["--json", "--warn", "root-removed"]));
    output.assert_code(0);
    let report = validated(&output.stdout);
    let findings = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|root| root["findings"].as_array().unwrap());
    let about_keys = findings.filter(|finding| finding["code"] == "signing-key-changed");
    about_keys
        .map(|finding| finding["message"].as_str().map(str::to_owned).unwrap())
        .collect()
}

fn changed(version: &str) -> String {
    let (new, old) = (SUBKEY.fingerprint(), RSA.fingerprint());
    format!("acme/gamma 2.0.0 is signed by the key {new}, and {version} by the key {old}")
}

#[test]
fn a_different_key_signs_the_new_version() {
    let (_registry, repository) = locked();
    lock(&repository, "app", "1.1.0");
    assert_eq!(found(&repository), [""; 0]);
    lock(&repository, "app", "2.0.0");
    assert_eq!(found(&repository), [changed("1.0.0")]);
}

#[test]
fn the_way_out_that_the_help_names_works_at_the_end_of_a_command_that_denies_the_finding() {
    let (_registry, repository) = locked();
    lock(&repository, "app", "2.0.0");
    let denied: Vec<_> = FLAGS
        .iter()
        .chain(&["--deny", "signing-key-changed"])
        .collect();
    let stopped = repository.environment.provlock(&denied);
    let way_out = "--warn signing-key-changed";
    stopped.assert_code(1).assert_stdout_has(way_out);
    let allowed = denied.into_iter().copied().chain(way_out.split(' '));
    repository.environment.provlock(allowed).assert_code(0);
}

#[test]
fn a_failed_request_for_the_old_version_is_an_error() {
    let (registry, repository) = locked();
    lock(&repository, "app", "2.0.0");
    for status in [500, 404] {
        registry.fault(
            "*/gamma/1.0.0/download/*",
            Times::Always,
            Fault::Status(status),
        );
        let output = repository
            .environment
            .provlock(FLAGS.iter().chain(&["--json"]));
        output.assert_code(2);
        let report = validated(&output.stdout);
        assert_eq!(
            report["errors"].as_array().map(Vec::len),
            Some(1),
            "{output}"
        );
        assert_eq!(report["errors"][0]["line"], Value::from(5), "{output}");
        registry.clear_faults();
    }
    assert_eq!(found(&repository), [changed("1.0.0")]);
}

#[test]
fn the_key_of_a_withdrawn_or_refused_version_is_reported_as_unknown() {
    let (registry, repository) = locked();
    lock(&repository, "app", "1.1.0");
    registry.withdraw("acme/gamma", "1.0.0");
    verify(&repository).matches(str![[r#"
exit code: 0
----- stdout -----
note[decision-changed]: acme/gamma 1.0.0 → 1.1.0, as the configuration demands (1.1.0)
 --> app/.terraform.lock.hcl:5:17
  |
5 |   version     = "1.1.0"
  |                 ^^^^^^^
  |
help: make sure that this is intended

note[signing-key-changed]: the key that signed acme/gamma 1.0.0 is unknown, because its source no longer lists it
 --> app/.terraform.lock.hcl:5:17
  |
5 |   version     = "1.1.0"
  |                 ^^^^^^^
  |
help: ask the publisher, and not the registry, whether the key has changed; if this is intended, an owner allows it with --warn signing-key-changed

----- stderr -----
OK: 1 provider locked as required, for linux_amd64
All hashes are published
2 notes in app/.terraform.lock.hcl
"#]]);
    registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::BadSignature)
        .done();
    let refused = "the key that signed acme/gamma 1.0.0 is unknown, because its release is refused";
    assert_eq!(found(&repository), [refused]);
    registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    assert_eq!(
        found(&repository),
        [""; 0],
        "an unsigned release has no key"
    );
}

/// A new or moved root module is compared with all lock files of the base.
#[test]
fn a_provider_that_is_new_in_a_root_module_is_compared_with_other_lock_files() {
    let (registry, repository) = locked();
    lock(&repository, "net", "1.1.0");
    assert_eq!(found(&repository), [""; 0]);
    lock(&repository, "net", "2.0.0");
    assert_eq!(found(&repository), [changed("1.0.0")]);
    fs::remove_dir_all(repository.environment.project().join("app")).unwrap();
    assert_eq!(
        found(&repository),
        [changed("1.0.0")],
        "app was moved to net"
    );

    repository.git(["checkout", "--quiet", "app"]);
    lock(&repository, "app", "1.1.0");
    fs::remove_dir_all(repository.environment.project().join("net")).unwrap();
    lock(&repository, "other", "2.0.0");
    repository.environment.commit_all(".");
    lock(&repository, "net", "2.0.0");
    assert_eq!(found(&repository), [""; 0], "other locks the same version");
    registry
        .publish("acme/gamma", "2.1.0")
        .platforms(["linux_amd64"])
        .signed_by(&SUBKEY)
        .done();
    registry
        .publish("acme/gamma", "3.0.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    lock(&repository, "net", "2.1.0");
    assert_eq!(
        found(&repository),
        [""; 0],
        "the key signed a version of the base"
    );
    lock(&repository, "net", "3.0.0");
    let unsigned = format!(
        "acme/gamma 3.0.0 is not signed (signing skipped), and 2.0.0 by the key {}",
        SUBKEY.fingerprint()
    );
    assert_eq!(found(&repository), [unsigned]);
}

/// Conflict markers in the lock file of the base do not switch the comparison off.
#[test]
fn lock_files_of_the_base_that_cannot_be_read_are_skipped() {
    let (_registry, repository) = locked();
    repository
        .environment
        .write("broken/.terraform.lock.hcl", "<<<<<<< ours\n");
    let good = entry(
        "registry.opentofu.org/acme/gamma",
        "1.1.0",
        "",
        &[super::H1],
    );
    repository
        .environment
        .write("third/.terraform.lock.hcl", lock_file(&[good]));
    repository.environment.commit_all(".");
    fs::remove_dir_all(repository.environment.project().join("broken")).unwrap();
    fs::remove_dir_all(repository.environment.project().join("third")).unwrap();
    lock(&repository, "net", "2.0.0");
    assert_eq!(found(&repository), [changed("1.1.0")]);
}
