//! Facts about packages that one machine publishes and others use: `cache keygen`, `cache push`,
//! `[cache]` in `provlock.toml`.

mod push;
mod refused;
mod trust;

use provlock::packages::shared_facts::{Envelope, ReleaseFacts};
use provlock::provider::SigningKey;
use provlock_test::publish::Published;
use provlock_test::{Registry, TestEnvironment, str, url};
use serde_json::{Value, json};

use crate::lock::{BOTH, LOCK_BOTH, requires};

const HOST: &str = "oci.example.com";
const PLACE: &str = "oci://oci.example.com/facts";
/// The repository of `hashicorp/null`, with its host.
const NULL: &str = "oci.example.com/facts/registry.opentofu.org_hashicorp_null";
/// Requests to the OCI registry.
const FACTS: &str = "oci.example.com/v2/*";
/// The hash of no package.
const WRONG_H1: &str = "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// A registry, and a machine that has locked `hashicorp/null` and published what it knows.
struct Fleet {
    registry: Registry,
    null: Published,
    publisher: TestEnvironment,
    /// Its public key.
    key: String,
}

impl Fleet {
    fn new() -> Self {
        let registry = Registry::start();
        registry.add_oci_host(HOST);
        let null = registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(BOTH)
            .done();
        let publisher = TestEnvironment::with_registry(&registry);
        let key = keygen(&publisher);
        let fleet = Self {
            registry,
            null,
            publisher,
            key,
        };
        fleet
            .publisher
            .write("main.tf", requires("hashicorp/null", ""));
        fleet.publisher.write("provlock.toml", settings(&fleet.key));
        fleet.publisher.provlock(LOCK_BOTH).assert_code(0);
        fleet.push().assert_code(0);
        fleet
    }

    fn push(&self) -> provlock_test::Output {
        self.publisher
            .provlock(["cache", "push", "--signing-key", "key"])
    }

    fn signing_key(&self) -> SigningKey {
        SigningKey::parse(&self.publisher.read("key")).unwrap()
    }

    /// Another machine, which has no cache and trusts the key.
    fn reader(&self) -> TestEnvironment {
        self.registry.reset_statistics();
        let reader = TestEnvironment::with_registry(&self.registry);
        reader.write("main.tf", requires("hashicorp/null", ""));
        reader.write("provlock.toml", settings(&self.key));
        reader
    }

    /// The right lock file, whichever machine writes it.
    fn expected(&self) -> String {
        self.publisher.lock_file()
    }

    fn packages(&self) -> usize {
        self.registry.requests_to(url::PACKAGE)
    }
}

/// Makes a key in the file `key`; the public one.
fn keygen(environment: &TestEnvironment) -> String {
    environment
        .provlock(["cache", "keygen", "key"])
        .assert_code(0)
        .stdout
        .trim_end()
        .to_owned()
}

fn settings(key: &str) -> String {
    format!("[cache]\nshared = \"{PLACE}\"\ntrusted-keys = [\"{key}\"]\n")
}

/// A manifest with another envelope, which `change` makes of the one in it.
fn with_envelope(manifest: &str, change: impl FnOnce(&mut Value)) -> String {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    let mut manifest: Value = serde_json::from_str(manifest).unwrap();
    let data = manifest["layers"][0]["data"].as_str().unwrap();
    let mut envelope = serde_json::from_slice(&BASE64_STANDARD.decode(data).unwrap()).unwrap();
    change(&mut envelope);
    manifest["layers"][0]["data"] = json!(BASE64_STANDARD.encode(envelope.to_string()));
    manifest.to_string()
}

/// The manifest with facts that `change` has changed, in an envelope that the key has signed.
fn sealed_anew(manifest: &str, key: &SigningKey, change: impl FnOnce(&mut ReleaseFacts)) -> String {
    sealed_by(manifest, [key, key], change)
}

/// [`sealed_anew`] where the first key has sealed the manifest and the second one seals the other
/// facts.
fn sealed_by(
    manifest: &str,
    [old, new]: [&SigningKey; 2],
    change: impl FnOnce(&mut ReleaseFacts),
) -> String {
    with_envelope(manifest, |envelope| {
        let address = provlock::provider::ProviderAddress::parse(
            "hashicorp/null",
            provlock::provider::Dialect::Tofu,
        )
        .unwrap();
        let sealed = Envelope::parse(envelope.to_string().as_bytes()).unwrap();
        let mut facts = sealed
            .open(&[old.public_key()], &address, &"3.2.4".parse().unwrap())
            .unwrap();
        change(&mut facts);
        *envelope = serde_json::from_slice(&Envelope::seal(&facts, new).to_json()).unwrap();
    })
}

#[test]
fn shared_packages_are_not_downloaded() {
    let registry = Registry::start();
    registry.add_oci_host(HOST);
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    let publisher = TestEnvironment::with_registry(&registry);
    let key = keygen(&publisher);
    publisher.write("main.tf", requires("hashicorp/null", ""));
    publisher.write("provlock.toml", settings(&key));
    publisher.provlock(LOCK_BOTH).assert_code(0);
    let output = publisher.provlock(["cache", "push", "--signing-key", "key"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
Published 1 release in oci://oci.example.com/facts
"#]]);
    registry.reset_statistics();

    let reader = TestEnvironment::with_registry(&registry);
    reader.write("main.tf", requires("hashicorp/null", ""));
    reader.write("provlock.toml", settings(&key));
    reader.provlock(LOCK_BOTH.into_iter().chain(["-v"])).matches(str![[r#"
exit code: 0
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
.: dialect tofu (the program in PATH); darwin_arm64 and linux_amd64 (the flag or PROVLOCK_PLATFORMS)
.: settings of [ROOT]/project/provlock.toml
2 packages looked up in oci://oci.example.com/facts
  + hashicorp/null   3.2.4   signed by 5BF65C5D80ADF90F6B9377AC558D46FBE8647CB4   2 h1, 3 zh
Locked 1 provider for darwin_arm64 and linux_amd64 (1 added)
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);

    assert_eq!(reader.lock_file(), publisher.lock_file());
    assert_eq!(
        (
            registry.requests_to(url::PACKAGE),
            registry.requests_to(FACTS)
        ),
        (0, 1)
    );
    // Facts from other machines do not enter the cache as facts of this machine.
    reader
        .provlock(["lock", "--offline", "-p", "linux_amd64"])
        .assert_code(2);
    std::fs::copy(
        publisher.project().join("key"),
        reader.project().join("key"),
    )
    .unwrap();
    reader
        .provlock(["cache", "push", "--signing-key", "key"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Nothing to publish: the cache contains none of the packages
"#]]);
}

#[test]
fn only_platforms_without_facts_are_downloaded() {
    let fleet = Fleet::new();
    fleet
        .registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["darwin_arm64", "linux_amd64", "windows_amd64"])
        .done();
    let reader = fleet.reader();
    reader
        .provlock(LOCK_BOTH.into_iter().chain(["-p", "windows_amd64"]))
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(
        (fleet.packages(), fleet.registry.requests_to(FACTS)),
        (1, 1)
    );
}

/// A package in the cache of hashes needs no facts, and offline no host is contacted.
#[test]
fn facts_are_requested_only_if_needed() {
    let fleet = Fleet::new();
    fleet.registry.reset_statistics();
    fleet.publisher.provlock(LOCK_BOTH).assert_code(0);
    fleet
        .publisher
        .provlock(["lock", "--offline", "-p", "linux_amd64"])
        .assert_code(0);
    fleet.publisher.provlock(["verify"]).assert_code(0);
    let reader = fleet.reader();
    reader.provlock(["lock", "--offline"]).assert_code(2);
    assert_eq!(fleet.registry.requests_to(FACTS), 0);
}

#[test]
fn each_root_module_trusts_its_own_settings() {
    let fleet = Fleet::new();
    let reader = fleet.reader();
    for root in ["one", "two", "stranger"] {
        reader.write(
            format!("{root}/main.tf"),
            format!(
                "{}terraform {{\n  backend \"local\" {{}}\n}}\n",
                requires("hashicorp/null", "")
            ),
        );
    }
    // The top of another repository.
    reader.write("stranger/.git/HEAD", "");
    let lock = ["lock", "-r", "-p", "linux_amd64", "one", "two"];
    reader.provlock(lock).assert_code(0);
    assert_eq!(
        (fleet.packages(), fleet.registry.requests_to(FACTS)),
        (0, 1)
    );
    reader
        .provlock(lock.into_iter().chain(["stranger"]))
        .assert_code(0);
    assert_eq!(fleet.packages(), 1);
    assert_eq!(
        reader.read("one/.terraform.lock.hcl"),
        reader.read("stranger/.terraform.lock.hcl")
    );
}
