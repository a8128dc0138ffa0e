//! `cache keygen` and `cache push`.

use provlock_test::{Fault, Registry, TestEnvironment, Times, str};
use serde_json::Value;

use super::{FACTS, Fleet, HOST, NULL, PLACE, keygen, sealed_anew, settings};
use crate::json_output::validated;
use crate::lock::{BOTH, LOCK_BOTH, requires};

/// A machine with something to publish, and its public key.
fn machine() -> (Registry, TestEnvironment, String) {
    let (registry, environment) = Registry::with_project();
    registry.add_oci_host(HOST);
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["darwin_arm64", "linux_amd64"])
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    let key = keygen(&environment);
    (registry, environment, key)
}

#[test]
fn a_key_is_printed_once_and_never_overwritten() {
    let environment = TestEnvironment::new();
    let output = environment.provlock(["cache", "keygen", "key"]);
    output
        .assert_code(0)
        .assert_stderr_has("Wrote the private key to key; add this public key to trusted-keys");
    assert!(
        output.stdout.starts_with("ed25519:") && output.stdout.lines().count() == 1,
        "{output}"
    );
    let private = environment.read("key");
    let value = private.trim_end().strip_prefix("ed25519-private:").unwrap();
    output.assert_lacks(value);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(environment.project().join("key"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    environment
        .provlock(["cache", "keygen", "key"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: key exists, and a key is never overwritten
help: name a file that does not exist
"#]]);
    assert_eq!(environment.read("key"), private);
    assert_eq!(output.stdout.trim_end().len(), 52);
}

#[cfg(unix)]
#[test]
fn a_key_that_cannot_be_written_leaves_no_file() {
    let environment = TestEnvironment::new();
    let keygen = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} cache keygen key",
        provlock_test::program()
    );
    environment
        .program("sh", ["-c", &keygen])
        .run()
        .assert_code(2)
        .assert_stderr_has("cannot write key: File too large");
    assert_eq!(std::fs::read_dir(environment.project()).unwrap().count(), 0);
    std::os::unix::fs::symlink("elsewhere", environment.project().join("link")).unwrap();
    environment
        .provlock(["cache", "keygen", "link"])
        .assert_code(2)
        .assert_stderr_has("link exists");
}

#[test]
fn pushing_again_changes_nothing_and_keeps_what_is_there() {
    let fleet = Fleet::new();
    let manifest = fleet.registry.manifest(NULL, "3.2.4").unwrap();
    fleet.push().matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 release in oci://oci.example.com/facts
"#]]);
    assert_eq!(fleet.registry.manifest(NULL, "3.2.4").unwrap(), manifest);

    // Another machine that knows one more platform, and not the others.
    let three = ["darwin_arm64", "linux_amd64", "windows_amd64"];
    fleet
        .registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(three)
        .done();
    let other = fleet.reader();
    std::fs::copy(
        fleet.publisher.project().join("key"),
        other.project().join("key"),
    )
    .unwrap();
    other
        .provlock(["lock", "-p", "windows_amd64"])
        .assert_code(0);
    let output = other.provlock(["cache", "push", "--signing-key", "key", "--json"]);
    let published = &validated(&output.assert_code(0).stdout)["published"];
    assert_eq!(
        (&published["place"], &published["public_key"]),
        (&Value::from(PLACE), &Value::from(fleet.key.as_str()))
    );
    let release = &published["releases"][0];
    assert_eq!(
        (&release["packages"], &release["changed"]),
        (&Value::from(1), &Value::from(true))
    );

    let reader = fleet.reader();
    reader
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64,windows_amd64"])
        .assert_code(0);
    assert_eq!(fleet.packages(), 0);
}

#[test]
fn a_new_key_takes_the_place_of_the_old_one() {
    let fleet = Fleet::new();
    std::fs::rename(
        fleet.publisher.project().join("key"),
        fleet.publisher.project().join("old"),
    )
    .unwrap();
    let new = keygen(&fleet.publisher);
    let refused = fleet.push();
    refused.assert_code(2).assert_stderr_has(&format!(
        "trusted-keys does not list {new}, so no machine would use"
    ));
    refused.assert_stderr_has("--> provlock.toml:2:10");
    let both = format!("trusted-keys = [\"{}\", \"{new}\"]", fleet.key);
    let text = settings(&new).replace(&format!("trusted-keys = [\"{new}\"]"), &both);
    fleet.publisher.write("provlock.toml", &text);
    fleet
        .push()
        .assert_code(0)
        .assert_stderr_has("Published 1 release in");
    let reader = fleet.reader();
    reader.write("provlock.toml", &text);
    reader
        .provlock(LOCK_BOTH)
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(fleet.packages(), 0);
}

/// Of two machines with one key, one has hashed another package than the other, or lies.
#[test]
fn contradicting_facts_are_not_overwritten() {
    let fleet = Fleet::new();
    let key = provlock::provider::SigningKey::parse(&fleet.publisher.read("key")).unwrap();
    let wrong = sealed_anew(
        &fleet.registry.manifest(NULL, "3.2.4").unwrap(),
        &key,
        |facts| {
            let digest = facts.packages.values_mut().next().unwrap();
            digest.h1 = "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
                .parse()
                .unwrap();
        },
    );
    fleet.registry.put_manifest(NULL, "3.2.4", &wrong);
    fleet.push().matches(str![[r#"
exit code: 2
----- stderr -----
error[package-not-authentic]: the published hashes of registry.opentofu.org/hashicorp/null 3.2.4 for darwin_arm64 differ from the ones computed here
 |
 = the same archive has a different h1: there, signed with the same key
help: find out which machine published it: the machine and the key may be compromised
Published 0 releases in oci://oci.example.com/facts; 1 release not published
"#]]);
    assert_eq!(fleet.registry.manifest(NULL, "3.2.4").unwrap(), wrong);
}

#[test]
fn missing_requirements_of_push_are_named() {
    let (registry, environment, key) = machine();
    environment
        .provlock(["cache", "push", "--to", PLACE])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: there is no key to sign with
help: name its file with --signing-key FILE, or set PROVLOCK_CACHE_SIGNING_KEY to the key itself
"#]]);
    environment
        .provlock(["cache", "push", "--signing-key", "key"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: there is no repository to publish in
help: name an OCI registry with --to oci://HOST/PATH, or in [cache] of provlock.toml
"#]]);
    environment.write("wrong", key);
    environment.provlock(["cache", "push", "--to", PLACE, "--signing-key", "wrong"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: cannot sign with wrong: it is not a private key as provlock cache keygen writes it, ed25519-private: and the base64 of 32 bytes
"#]]);
    environment.provlock(["cache", "push", "--to", "https://h.test/x"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'https://h.test/x' for '--to <URL>': "https://h.test/x" is not an address in an OCI registry: write it as oci://HOST/PATH

help: for more information, try '--help'.
"#]]);
    environment
        .provlock(["cache", "push", "--to", PLACE, "--signing-key", "key"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: there is no lock file, so there is nothing to publish
help: provlock lock
"#]]);
    assert_eq!(registry.statistics().requests, 0);
}

#[test]
fn root_modules_of_another_repository_are_published() {
    let (_registry, environment, _) = machine();
    let other = environment.root().join("other");
    environment.write(other.join("main.tf"), requires("hashicorp/null", ""));
    environment.git_init(".");
    environment.git_init(&other);
    environment
        .command(LOCK_BOTH)
        .run_in(&other)
        .run()
        .assert_code(0);
    for paths in [
        &["../other"][..],
        &["-r", "../other"],
        &["../other/.terraform.lock.hcl"],
    ] {
        let push = ["cache", "push", "--to", PLACE, "--signing-key", "key"]
            .iter()
            .chain(paths);
        environment
            .provlock(push)
            .assert_code(0)
            .assert_stderr_has("1 release in oci://oci.example.com/facts");
    }
}

#[test]
fn a_registry_that_takes_nothing_is_an_error() {
    let (registry, environment, _) = machine();
    environment.provlock(LOCK_BOTH).assert_code(0);
    registry.fault(FACTS, Times::Always, Fault::Status(500));
    environment.provlock(["cache", "push", "--to", PLACE, "--signing-key", "key"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get the facts of registry.opentofu.org/hashicorp/null 3.2.4: https://oci.example.com/v2/facts/registry.opentofu.org_hashicorp_null/manifests/3.2.4 answered with status 500
 |
 = needed to publish in oci.example.com/facts/registry.opentofu.org_hashicorp_null
Published 0 releases in oci://oci.example.com/facts; 1 release not published
"#]]);
}

/// A registry names the scope of the request that it has refused first, which is only to read.
#[test]
fn logins_are_those_of_docker_and_pushing_asks_for_the_right_to_push() {
    let (registry, environment, key) = machine();
    registry.require_oci_login("robot", "s3cr3t-password");
    environment.provlock(LOCK_BOTH).assert_code(0);
    let push = || {
        environment
            .command([
                "cache",
                "push",
                "-vv",
                "--to",
                PLACE,
                "--signing-key",
                "key",
            ])
            .run()
    };
    push()
        .assert_code(2)
        .assert_stderr_has("docker login oci.example.com");

    let log_in =
        |on: &TestEnvironment| on.docker_login("oci.example.com", "robot", "s3cr3t-password");
    let encoded = log_in(&environment);
    push()
        .assert_code(0)
        .assert_lacks("s3cr3t-password")
        .assert_lacks(&encoded)
        .assert_lacks("given-for");
    let tokens = registry.requests_matching("oci.example.com/v2/token*");
    let asked = tokens.last().unwrap();
    assert!(asked.target.ends_with(
        "scope=repository%3Afacts%2Fregistry.opentofu.org_hashicorp_null%3Apull%2Cpush"
    ));

    let reader = TestEnvironment::with_registry(&registry);
    reader.write("main.tf", requires("hashicorp/null", ""));
    reader.write("provlock.toml", settings(&key));
    reader
        .provlock(LOCK_BOTH)
        .assert_code(0)
        .assert_stderr_has("shared-facts-not-used");
    reader.provlock(["cache", "clean"]).assert_code(0);
    log_in(&reader);
    registry.reset_statistics();
    reader
        .provlock(LOCK_BOTH)
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(registry.requests_to(provlock_test::url::PACKAGE), 0);
}

#[test]
fn no_output_contains_the_private_key() {
    let (registry, environment, key) = machine();
    environment.provlock(LOCK_BOTH).assert_code(0);
    let private = environment.read("key").trim_end().to_owned();
    let value = private.strip_prefix("ed25519-private:").unwrap();
    // In the place of the public key, where everybody can read it.
    environment.write("provlock.toml", settings(&private));
    let misplaced = environment.provlock(["lock"]);
    misplaced
        .assert_code(2)
        .assert_stderr_has("this is a private key")
        .assert_lacks(value);
    environment.write("provlock.toml", settings(&key));
    // A registry that echoes everything.
    registry.fault(
        FACTS,
        Times::First(1),
        Fault::Body(format!("{private} {value}").into_bytes()),
    );
    let by_variable = environment
        .command(["cache", "push", "-vv"])
        .env("PROVLOCK_CACHE_SIGNING_KEY", &private)
        .run();
    by_variable.assert_code(0).assert_lacks(value);
    let half = format!("ed25519-private:{}", &value[..20]);
    let wrong = environment
        .command(["cache", "push", "-vv"])
        .env("PROVLOCK_CACHE_SIGNING_KEY", &half)
        .run();
    wrong
        .assert_code(2)
        .assert_stderr_has("cannot sign with PROVLOCK_CACHE_SIGNING_KEY")
        .assert_lacks(&value[..20]);
    let json = environment
        .command(["cache", "push", "--json", "--signing-key", "key"])
        .run();
    json.assert_code(0).assert_lacks(value);
}

/// The cache is that of the user, who may have locked providers that others are not to know by
/// name.
#[test]
fn only_what_the_named_root_modules_lock_is_published() {
    let (registry, environment) = Registry::with_project();
    registry.add_oci_host(HOST);
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    registry
        .publish("acme/secret", "1.0.0")
        .platforms(BOTH)
        .done();
    environment.write("provlock.toml", settings(&keygen(&environment)));
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write("secret/main.tf", requires("acme/secret", ""));
    environment.write("none/main.tf", requires("acme/secret", ""));
    environment.provlock(LOCK_BOTH).assert_code(0);
    environment
        .command(LOCK_BOTH)
        .run_in("secret")
        .run()
        .assert_code(0);
    let push = |arguments: &[&str]| {
        let command = ["-v", "cache", "push", "--signing-key", "key"];
        environment.provlock(command.iter().chain(arguments))
    };
    push(&[])
        .assert_code(0)
        .assert_stderr_has("hashicorp/null   3.2.4")
        .assert_lacks("secret");
    push(&["none"])
        .assert_code(2)
        .assert_stderr_has("there is no lock file")
        .assert_lacks("Published");
    push(&["secret"])
        .assert_code(0)
        .assert_stderr_has("acme/secret   1.0.0")
        .assert_lacks("hashicorp/null");
    environment.write(".terraform.lock.hcl", "");
    push(&[])
        .assert_code(0)
        .assert_stderr_has("Nothing to publish");
    push(&["--all"])
        .assert_code(0)
        .assert_stderr_has("Up to date: 2 releases");
    provlock_test::survived("the name of a private provider in shared facts", 3);
}
