//! Sums, signatures, keys and recorded hashes that `lock` accepts and refuses.

use super::lock::{BOTH, LOCK_BOTH, lock_file, requires};
use provlock_test::publish::Flaw;
use provlock_test::registry::Registry;
use provlock_test::{keys, str, survived, url};
use serde_json::json;

#[test]
fn a_release_that_was_replaced_is_refused() {
    let (registry, environment, _) = Registry::with_required("acme/gamma", "1.5.0", BOTH, "");
    environment.provlock(LOCK_BOTH).assert_code(0);
    let replaced = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(BOTH)
        .package_file("LICENSE", "other")
        .done();
    let before = environment.snapshot();

    let refused = environment.provlock(LOCK_BOTH);
    refused.assert_code(2);
    for text in [
        "error[hashes-changed]: the hashes of acme/gamma 1.5.0 in the lock file differ from those published by",
        "--> .terraform.lock.hcl:7:5",
        "none of the 5 recorded hashes",
        "the release was replaced after it was locked, or the lock file was changed",
        "help: compare with the provider's release page",
        "--accept-changed-hashes acme/gamma",
    ] {
        refused.assert_stderr_has(text);
    }
    before.assert_same(&environment.snapshot());

    let accepted = environment.provlock([&LOCK_BOTH[..], &["--accept-changed-hashes"]].concat());
    accepted.assert_code(0);
    assert_eq!(environment.lock_file(), replaced.lock_file("", &BOTH));
}

#[test]
fn an_unpublished_zh_fails_check_and_is_removed_on_request() {
    let (_registry, environment, gamma) = Registry::with_required("acme/gamma", "1.5.0", BOTH, "");
    let forged = format!("zh:{}", "f".repeat(64));
    let hashes = [gamma.hashes(&BOTH), vec![forged.clone()]].concat();
    environment.write_lock_file(lock_file(&[gamma.entry("", &hashes)]));
    let before = environment.snapshot();

    let check = [&LOCK_BOTH[..], &["--check"]].concat();
    environment
        .provlock(&check)
        .assert_code(1)
        .assert_stderr_has("warning[hash-not-published]");
    environment
        .provlock(LOCK_BOTH)
        .assert_code(0)
        .assert_stderr_has("warning[hash-not-published]");
    before.assert_same(&environment.snapshot());

    environment
        .provlock([&LOCK_BOTH[..], &["--accept-changed-hashes"]].concat())
        .assert_code(0);
    assert_eq!(environment.lock_file(), gamma.lock_file("", &BOTH));
    environment.provlock(check).assert_code(0);
}

#[test]
fn an_entry_without_any_published_zh_is_refused_in_spite_of_its_h1() {
    let (_registry, environment, gamma) = Registry::with_required("acme/gamma", "1.5.0", BOTH, "");
    let h1: Vec<_> = gamma
        .hashes(&BOTH)
        .into_iter()
        .filter(|hash| hash.starts_with("h1:"))
        .collect();
    let forged: Vec<_> = (1..=5)
        .map(|digit: u8| format!("zh:{}", digit.to_string().repeat(64)))
        .collect();
    environment.write_lock_file(lock_file(
        &[gamma.entry("", &[h1.clone(), forged].concat())],
    ));
    let before = environment.snapshot();

    environment.provlock(LOCK_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of acme/gamma 1.5.0 in the lock file differ from those published by registry.opentofu.org
 --> .terraform.lock.hcl:9:5
  |
9 |     "zh:1111111111111111111111111111111111111111111111111111111111111111",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 5 recorded zh: hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes acme/gamma
"#]]);
    before.assert_same(&environment.snapshot());
    environment
        .provlock([&LOCK_BOTH[..], &["--accept-changed-hashes"]].concat())
        .assert_code(0);
    assert_eq!(environment.lock_file(), gamma.lock_file("", &BOTH));

    environment.write_lock_file(lock_file(&[gamma.entry("", &h1)]));
    environment.provlock(LOCK_BOTH).assert_code(0);
}

#[test]
fn without_zh_a_hash_that_no_package_has_is_refused() {
    let (_registry, environment, gamma) = Registry::with_required("acme/gamma", "1.5.0", BOTH, "");
    let other = format!("h1:{}=", "A".repeat(43));
    let before = lock_file(&[gamma.entry("", std::slice::from_ref(&other))]);
    environment.write_lock_file(before.clone());

    let output = environment.provlock(["lock", "-p", "linux_amd64"]);

    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the hashes of acme/gamma 1.5.0 in the lock file differ from those published by registry.opentofu.org
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ none of the 1 recorded h1: hashes is among the published ones (signed)
  |
  = the release was replaced after it was locked, or the lock file was changed by hand or by an attacker
help: compare with the provider's release page; if the new release is right: provlock lock --accept-changed-hashes acme/gamma
"#]]);
    assert_eq!(environment.lock_file(), before, "nothing is written");
}

#[test]
fn a_token_goes_to_the_registry_only() {
    let (registry, mut environment) = Registry::with_project();
    registry.require_token("registry.example.com", "s3cr3t-t0ken");
    registry
        .publish("registry.example.com/acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .files_on("releases.example.com")
        .done();
    environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));

    let without = environment.provlock(["lock", "-p", "linux_amd64"]);
    without.matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma: https://registry.example.com/v1/providers/acme/gamma/versions was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login registry.example.com, or set TF_TOKEN_registry_example_com
"#]]);
    assert!(!environment.has_lock_file());

    environment.set("TF_TOKEN_registry_example_com", "s3cr3t-t0ken");
    let with = environment.provlock(["lock", "-p", "linux_amd64", "-v"]);
    with.assert_code(0).assert_lacks("s3cr3t-t0ken");
    let elsewhere = registry.requests_matching("releases.example.com/*");
    assert!(
        !elsewhere.is_empty()
            && elsewhere
                .iter()
                .all(|request| request.authorization().is_none()),
        "{elsewhere:?}"
    );
}

#[test]
fn lock_refuses_unauthentic_releases_and_writes_nothing() {
    let flaws = [
        (Flaw::ShasumDiffers, "package-not-authentic"),
        (Flaw::PackageDiffers, "package-not-authentic"),
        (Flaw::SumsWithoutPackages, "package-not-authentic"),
        (Flaw::BadSignature, "signature-invalid"),
        (Flaw::GarbageSignature, "signature-invalid"),
        (Flaw::ArmoredSignature, "signature-invalid"),
        (Flaw::WrongKey, "signature-invalid"),
        (Flaw::GarbageKey, "signature-invalid"),
        (Flaw::MissingSignature, "request-failed"),
        (Flaw::MissingSums, "request-failed"),
        (Flaw::MissingPackages, "request-failed"),
        (Flaw::NoProgram, "invalid-package"),
    ];
    for (flaw, code) in &flaws {
        let (registry, environment) = Registry::with_project();
        registry
            .publish("acme/gamma", "1.5.0")
            .platforms(["linux_amd64"])
            .flaw(flaw.clone())
            .done();
        environment.write("main.tf", requires("acme/gamma", ""));
        let before = environment.snapshot();

        let output = environment.provlock(["lock", "-p", "linux_amd64"]);

        assert_eq!(output.code, Some(2), "{flaw:?}\n{output}");
        output
            .assert_stderr_has(&format!("error[{code}]"))
            .assert_stderr_has("acme/gamma 1.5.0");
        before.assert_same(&environment.snapshot());
    }
    survived("a release that its publisher did not sign", flaws.len());
}

#[test]
fn of_what_the_default_host_reports_only_hashes_are_recorded() {
    let (registry, environment) = Registry::with_project();
    let publish = || {
        registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(["linux_amd64"])
    };
    let null = publish().done();
    let (h1, zh) = (null.h1("linux_amd64"), null.zh("linux_amd64"));
    let size = null.packages["linux_amd64"].archive.len();
    let (unsigned_zh, unsigned_h1) = (
        format!("zh:{}", "1".repeat(64)),
        format!("h1:{}A=", "A".repeat(42)),
    );
    publish()
        .patch_metadata(json!({ "packages": {
            "linux_amd64": { "hashes": [zh, h1], "package_size": size },
            "plan9_mips": { "hashes": [unsigned_zh, unsigned_h1, "zh:22", "h1:AAAA", "h1:\n", "h9:new"] },
        } }))
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));

    let output = environment.provlock(["lock", "-p", "linux_amd64"]);

    let warning = "warning[hash-not-published]: SHA256SUMS does not list 1 of the zh: hashes that registry.opentofu.org";
    output.assert_code(0).assert_stderr_has(warning);
    let mut hashes = [
        null.hashes(&["linux_amd64"]),
        vec![unsigned_zh, unsigned_h1],
    ]
    .concat();
    hashes.sort();
    assert_eq!(
        environment.lock_file(),
        lock_file(&[null.entry("", &hashes)])
    );
}

#[test]
fn an_expired_key_is_accepted_with_a_warning_unless_enforced() {
    let (registry, mut environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .signed_by(&keys::EXPIRED)
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[key-expired]: registry.opentofu.org/acme/gamma 1.5.0: signing key 20BC8E7BB4A0346D expired on 2021-01-01
help: ask the provider's author for a release with a valid signature
  + acme/gamma   1.5.0   signed, key 20BC8E7BB4A0346D   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment.set("OPENTOFU_ENFORCE_GPG_EXPIRATION", "true");
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[key-expired]: cannot authenticate registry.opentofu.org/acme/gamma 1.5.0: signing key 20BC8E7BB4A0346D expired on 2021-01-01
 |
 = checksums: https://registry.opentofu.org/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS
 = signature: https://registry.opentofu.org/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS.sig
help: ask the provider's author for a release with a valid signature
"#]]);
}

#[test]
fn without_keys_signing_is_skipped_on_the_default_host_only() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    registry
        .publish("registry.example.com/acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/gamma   1.5.0   signing skipped   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[unsigned-provider]: cannot authenticate registry.example.com/acme/gamma 1.5.0: the registry reports no signing key
 |
 = checksums: https://registry.example.com/files/registry.example.com/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS
 = signature: https://registry.example.com/files/registry.example.com/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS.sig
help: ask the provider's author to publish the signing key in the registry
"#]]);
}

#[test]
fn other_hosts_need_signing_keys() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let [sums, signature] = [url::SHASUMS, url::SIGNATURE].map(|pattern| {
        let request = registry.requests_matching(pattern).remove(0);
        format!("https://{}", request.url())
    });
    let same_sums = serde_json::json!({ "shasums_url": sums, "shasums_signature_url": signature });
    let elsewhere = registry
        .publish("registry.example.com/acme/gamma", "1.5.0")
        .platforms(["linux_amd64"]);
    elsewhere
        .flaw(Flaw::NoKeys)
        .patch_metadata(same_sums)
        .done();
    environment.write(
        "main.tf",
        "module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \"./b\"\n}\n",
    );
    environment.write("a/main.tf", requires("acme/gamma", ""));
    environment.write("b/main.tf", requires("registry.example.com/acme/gamma", ""));
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[unsigned-provider]: cannot authenticate registry.example.com/acme/gamma 1.5.0: the registry reports no signing key
 |
 = checksums: https://registry.opentofu.org/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS
 = signature: https://registry.opentofu.org/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS.sig
help: ask the provider's author to publish the signing key in the registry
"#]]);
}

#[test]
fn a_zh_that_the_release_does_not_have_is_pointed_at() {
    let (_registry, environment, null) = Registry::with_required(
        "hashicorp/null",
        "3.2.4",
        ["linux_amd64", "darwin_arm64"],
        "",
    );
    let zeros = format!("zh:{}", "0".repeat(64));
    let mut hashes = null.hashes(&["linux_amd64"]);
    hashes.push(zeros.clone());
    hashes.sort();
    let with_zeros = lock_file(&[null.entry("", &hashes)]);
    environment.write_lock_file(with_zeros.clone());

    let output = environment.provlock(["lock", "-p", "linux_amd64"]);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[hash-not-published]: a recorded zh: hash belongs to no published package of hashicorp/null 3.2.4
 --> .terraform.lock.hcl:8:5
  |
8 |     "zh:0000000000000000000000000000000000000000000000000000000000000000",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = compared with SHA256SUMS
help: find out who added it; to remove it: provlock lock --accept-changed-hashes hashicorp/null
Up to date: 1 provider for linux_amd64
Never published: 1 recorded hash; lock --check and verify --online fail because of that
"#]]);
    assert_eq!(
        environment.lock_file(),
        with_zeros,
        "hashes of the same version are kept"
    );
}

#[test]
fn secrets_in_the_url_of_a_package_are_not_shown() {
    let (registry, environment) = Registry::with_project();
    let release = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .flaw(Flaw::PackageDiffers);
    let package = "https://me:PASSWORD@releases.example.com/null.zip?X-Amz-Signature=SECRET";
    release
        .patch_metadata(serde_json::json!({ "download_url": package }))
        .done();
    registry.add_host("releases.example.com");
    environment.write("main.tf", requires("hashicorp/null", ""));
    let output = environment.provlock(["lock", "-p", "linux_amd64"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/hashicorp/null 3.2.4 for linux_amd64: https://redacted@releases.example.com/null.zip?[redacted] was not found (404)
"#]]);
    assert!(
        !output.stderr.contains("PASSWORD") && !output.stderr.contains("SECRET"),
        "{}",
        output.stderr
    );
}

/// A registry that keeps no signatures signs at each request.
#[test]
fn a_signature_that_is_made_during_the_run_is_valid() {
    for dialect in ["tofu", "terraform"] {
        let (registry, environment) = Registry::with_project();
        let gamma = registry
            .publish("registry.example.com/acme/gamma", "1.0.0")
            .platforms(["linux_amd64"])
            .signed_on_request()
            .done();
        environment.write("main.tf", requires("registry.example.com/acme/gamma", ""));
        let output = environment.provlock([
            "--dialect",
            dialect,
            "lock",
            "-p",
            "linux_amd64",
            "--no-cache",
        ]);
        output.assert_code(0).assert_lacks("key-expired");
        assert!(
            environment
                .lock_file()
                .contains(&gamma.entry_for("", &["linux_amd64"])),
            "{dialect}"
        );
    }
}

#[test]
fn a_signature_of_tomorrow_is_not_valid_yet() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.0.0")
        .on_host("registry.terraform.io")
        .platforms(["linux_amd64"])
        .flaw(Flaw::FutureSignature)
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    let lock = ["--dialect", "terraform", "lock", "-p", "linux_amd64"];
    environment.provlock(lock).matches(str![[r#"
exit code: 2
----- stderr -----
error[key-expired]: cannot authenticate registry.terraform.io/acme/gamma 1.0.0: the signature by key 558D46FBE8647CB4 is not valid before [..]
 |
 = checksums: https://registry.terraform.io/files/registry.terraform.io/acme/gamma/1.0.0/terraform-provider-gamma_1.0.0_SHA256SUMS
 = signature: https://registry.terraform.io/files/registry.terraform.io/acme/gamma/1.0.0/terraform-provider-gamma_1.0.0_SHA256SUMS.sig
help: ask the provider's author for a release with a valid signature
"#]]);
    assert!(!environment.has_lock_file());
}
