//! Facts that are refused: the packages are downloaded, the lock file is right, and one warning
//! says why.

use std::time::Duration;

use provlock::packages::shared_facts::ReleaseFacts;
use provlock::provider::SigningKey;
use provlock_test::{Fault, PackagesMap, Registry, Times, str, survived};
use serde_json::{Value, json};

use super::{
    FACTS, Fleet, HOST, NULL, WRONG_H1, keygen, sealed_anew, sealed_by, settings, with_envelope,
};
use crate::json_output::validated;
use crate::lock::{BOTH, LOCK_BOTH, requires};

impl Fleet {
    /// Locks on a different machine, which must download everything, write the right lock file, and
    /// report the problem once.
    #[track_caller]
    fn downloads_everything(&self, why: &str) {
        let reader = self.reader();
        let output = reader.provlock(LOCK_BOTH);
        output.assert_code(0);
        assert_eq!(self.packages(), 2, "{why}: {output}");
        assert_eq!(reader.lock_file(), self.expected(), "{why}");
        assert_eq!(
            output.stderr.matches("warning").count(),
            1,
            "{why}: {output}"
        );
        output
            .assert_stderr_has("warning[shared-facts-not-used]")
            .assert_stderr_has(why);
    }

    /// The manifest of `hashicorp/null` 3.2.4.
    fn manifest(&self) -> String {
        self.registry.manifest(NULL, "3.2.4").unwrap()
    }
}

#[test]
fn a_document_that_does_not_count_is_not_used() {
    let fleet = Fleet::new();
    let genuine = fleet.manifest();
    // Others that the same key has signed.
    fleet
        .registry
        .publish("hashicorp/null", "3.2.3")
        .platforms(BOTH)
        .done();
    fleet
        .registry
        .publish("hashicorp/random", "3.2.4")
        .platforms(BOTH)
        .done();
    for (provider, constraint) in [("hashicorp/null", "3.2.3"), ("hashicorp/random", "")] {
        fleet
            .publisher
            .write("other/main.tf", requires(provider, constraint));
        fleet
            .publisher
            .provlock(["lock", "other", "-p", "linux_amd64"])
            .assert_code(0);
        std::fs::remove_file(fleet.publisher.project().join("other/.terraform.lock.hcl")).unwrap();
    }
    fleet
        .publisher
        .provlock(["cache", "push", "--all", "--signing-key", "key"])
        .assert_code(0);
    let of_another_version = fleet.registry.manifest(NULL, "3.2.3").unwrap();
    let of_another_provider = fleet
        .registry
        .manifest(&NULL.replace("null", "random"), "3.2.4")
        .unwrap();
    let payload = |change: fn(&str) -> String| {
        with_envelope(&genuine, |envelope| {
            use base64::Engine as _;
            use base64::prelude::BASE64_STANDARD;
            let text = BASE64_STANDARD
                .decode(envelope["payload"].as_str().unwrap())
                .unwrap();
            envelope["payload"] =
                json!(BASE64_STANDARD.encode(change(&String::from_utf8(text).unwrap())));
        })
    };
    let wrong_h1 = payload(|text| {
        let start = text.find("h1:").unwrap();
        format!(
            "{}{WRONG_H1}{}",
            &text[..start],
            &text[start + WRONG_H1.len()..]
        )
    });
    let wrong_signature = "its signature by ed25519:";
    let cases = [
        (
            with_envelope(&genuine, |envelope| {
                envelope["signatures"][0]["sig"] = json!("AAAA");
            }),
            wrong_signature,
        ),
        (
            with_envelope(&genuine, |envelope| envelope["signatures"] = json!([])),
            "no key in trusted-keys has signed it",
        ),
        (wrong_h1, wrong_signature),
        (
            payload(|text| text.replace("linux_amd64", "linux_arm64")),
            wrong_signature,
        ),
        (
            payload(|text| text.replace("3.2.4", "3.2.5")),
            wrong_signature,
        ),
        (
            of_another_version,
            "it is about registry.opentofu.org/hashicorp/null 3.2.3",
        ),
        (
            of_another_provider,
            "it is about registry.opentofu.org/hashicorp/random 3.2.4",
        ),
        (
            genuine.clone() + &" ".repeat(200_000),
            "is larger than 131072 bytes",
        ),
        (
            with_envelope(&genuine, |envelope| {
                envelope["payloadType"] = json!("text/plain");
            }),
            "not a signed document",
        ),
        (
            genuine.replace("release-facts", "other"),
            "an OCI artifact of a different type",
        ),
        (
            genuine.replace("\"data\"", "\"date\""),
            "its manifest does not contain the document",
        ),
        ("<html>".to_owned(), "it is not an OCI manifest"),
        (String::new(), "it is not an OCI manifest"),
    ];
    for (manifest, why) in &cases {
        assert_ne!(*manifest, genuine, "{why}");
        fleet.registry.put_manifest(NULL, "3.2.4", manifest);
        fleet.downloads_everything(why);
    }
    survived("shared facts that are not trusted", cases.len());
}

#[test]
fn the_key_of_a_stranger_does_not_count() {
    let fleet = Fleet::new();
    let stranger = fleet.reader();
    keygen(&stranger);
    stranger.provlock(LOCK_BOTH).assert_code(0);
    fleet.registry.put_manifest(NULL, "3.2.4", "");
    let to = ["--to", super::PLACE, "--cache-dir", "stranger-cache"];
    stranger
        .provlock([
            "lock",
            "-p",
            "linux_amd64",
            "-p",
            "darwin_arm64",
            "--cache-dir",
            "stranger-cache",
        ])
        .assert_code(0);
    stranger
        .provlock(
            ["cache", "push", "--signing-key", "key"]
                .into_iter()
                .chain(to),
        )
        .assert_code(0);
    fleet.downloads_everything("no key in trusted-keys has signed it");
}

/// Base64 with `-` and `_` is another text for the same bytes: a second form in which a document
/// could come.
#[test]
fn base64_for_urls_is_refused() {
    let fleet = Fleet::new();
    let genuine = fleet.manifest();
    let key = fleet.signing_key();
    let for_urls = |text: &str| text.replace('+', "-").replace('/', "_");
    let change = |manifest: &str| {
        with_envelope(manifest, |envelope| {
            let signature = &mut envelope["signatures"][0]["sig"];
            *signature = json!(for_urls(signature.as_str().unwrap()));
        })
    };
    // Signatures over other sizes, until one has such a character.
    let sealed = (0..).map(|size| {
        sealed_anew(&genuine, &key, |facts| {
            facts
                .packages
                .values_mut()
                .for_each(|digest| digest.size += size);
        })
    });
    let other = sealed
        .map(|sealed| (change(&sealed), sealed))
        .find(|(changed, sealed)| changed != sealed)
        .unwrap()
        .0;
    fleet.registry.put_manifest(NULL, "3.2.4", &other);
    fleet.downloads_everything("it is not a signed document of facts");
}

/// A wrong `h1:` in a lock file, and a document that says the same and does not count.
#[test]
fn a_wrong_h1_that_a_forged_document_confirms_is_found() {
    let fleet = Fleet::new();
    let genuine = fleet.manifest();
    let (key, stranger) = (fleet.signing_key(), SigningKey::generate().unwrap());
    let wrong = |facts: &mut ReleaseFacts| {
        facts
            .packages
            .values_mut()
            .for_each(|digest| digest.h1 = WRONG_H1.parse().unwrap());
    };
    let mut signatures = json!([]);
    with_envelope(&genuine, |envelope| {
        signatures = envelope["signatures"].clone();
    });
    let sealed = sealed_anew(&genuine, &key, wrong);
    let cases = [
        with_envelope(&sealed, |envelope| envelope["signatures"] = json!([])),
        with_envelope(&sealed, |envelope| envelope["signatures"] = signatures),
        sealed_by(&genuine, [&key, &stranger], wrong),
    ];
    for forged in &cases {
        fleet.registry.put_manifest(NULL, "3.2.4", forged);
        let reader = fleet.reader();
        reader.write_lock_file(
            fleet
                .expected()
                .replace(fleet.null.h1("linux_amd64"), WRONG_H1),
        );
        let output = reader.provlock([
            "verify",
            "--online",
            "--trust-shared",
            "-p",
            "linux_amd64,darwin_arm64",
        ]);
        output
            .assert_code(1)
            .assert_stdout_has("hash-not-published")
            .assert_stdout_has(WRONG_H1);
        assert_eq!(
            (fleet.packages(), fleet.registry.requests_to(FACTS)),
            (2, 1),
            "{output}"
        );
    }
    survived("shared facts that confirm a wrong hash", cases.len());
}

#[test]
fn a_registry_that_is_away_fails_no_run() {
    for (fault, why) in [
        (Fault::Status(500), "answered with status 500"),
        (Fault::Status(403), "refused access"),
        (Fault::Reset, "oci.example.com"),
        (Fault::Truncated, "oci.example.com"),
    ] {
        let fleet = Fleet::new();
        fleet.registry.fault(FACTS, Times::Always, fault);
        fleet.downloads_everything(why);
        assert_eq!(
            fleet.registry.requests_to(FACTS).min(2),
            1,
            "it is not asked again"
        );
    }
}

#[test]
fn a_host_that_is_not_there_fails_no_run() {
    let registry = Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    let environment = provlock_test::TestEnvironment::with_registry(&registry);
    let key = keygen(&environment);
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write(
        "provlock.toml",
        settings(&key).replace(HOST, "nowhere.example.com"),
    );
    let json = environment.provlock([
        "lock",
        "--dry-run",
        "--json",
        "-p",
        "linux_amd64",
        "--no-cache",
    ]);
    let warnings = &validated(&json.assert_code(0).stdout)["warnings"];
    assert_eq!(
        (&warnings[0]["code"], &warnings[1]),
        (&json!("shared-facts-not-used"), &Value::Null)
    );
    environment.provlock(LOCK_BOTH).matches(str![[r#"
exit code: 0
----- stderr -----
warning[shared-facts-not-used]: not all packages could be looked up in oci://nowhere.example.com/facts: cannot get the facts of registry.opentofu.org/hashicorp/null 3.2.4: https://nowhere.example.com/v2/facts/registry.opentofu.org_hashicorp_null/manifests/3.2.4 could not be reached: the proxy refused to connect to nowhere.example.com
 |
 = the others were downloaded
help: check HTTPS_PROXY, and NO_PROXY for hosts that are reached without it
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   2 h1, 3 zh
Locked 1 provider for darwin_arm64 and linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
}

#[test]
fn a_silent_registry_delays_a_run_only_briefly() {
    let fleet = Fleet::new();
    fleet
        .registry
        .fault(FACTS, Times::Always, Fault::Delay(Duration::from_mins(10)));
    fleet.downloads_everything("its registry did not answer in time");
}

/// A true fact about an old archive of a release proves nothing about the new archive.
#[test]
fn facts_about_a_release_that_was_replaced_are_of_no_use() {
    let fleet = Fleet::new();
    let replaced = fleet
        .registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(300)
        .done();
    let reader = fleet.reader();
    reader
        .provlock(LOCK_BOTH)
        .assert_code(0)
        .assert_lacks("warning");
    assert_eq!(fleet.packages(), 2);
    assert!(reader.lock_file().contains(replaced.h1("linux_amd64")));
    assert_ne!(replaced.h1("linux_amd64"), fleet.null.h1("linux_amd64"));
}

/// If the registry reports hashes, the package itself decides.
#[test]
fn facts_that_contradict_the_registry_do_not_count() {
    let fleet = Fleet::new();
    fleet
        .registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .packages(PackagesMap::Right)
        .done();
    let key = fleet.signing_key();
    let wrong = sealed_anew(&fleet.manifest(), &key, |facts| {
        facts
            .packages
            .values_mut()
            .for_each(|digest| digest.h1 = WRONG_H1.parse().unwrap());
    });
    fleet.registry.put_manifest(NULL, "3.2.4", &wrong);
    let reader = fleet.reader();
    reader.provlock(LOCK_BOTH).assert_code(0);
    assert_eq!(fleet.packages(), 2);
    assert!(!reader.lock_file().contains(WRONG_H1));
}
