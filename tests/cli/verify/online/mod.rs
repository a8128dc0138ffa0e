//! Requests: what registries, mirrors and git repositories publish, compared with the lock file.
//!
//! Findings about published releases: `--online`.

mod listing;
mod mirrored;
#[cfg(unix)]
mod published_modules;
mod signing_keys;

use super::*;
use serde_json::{Map, Value, json};

use super::{H1, NOTHING, ZH, found, messages, verify};
use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::publish::{Package, Published};
use provlock_test::registry::Registry;
use provlock_test::{Fault, Flaw, PackagesMap, TestEnvironment, Times, keys, str, url};

const PLATFORMS: [&str; 3] = ["linux_amd64", "darwin_arm64", "windows_amd64"];
const ONLINE: [&str; 3] = ["--online", "-p", "linux_amd64,darwin_arm64"];

/// A project that is locked for two of three platforms; a release of a namespace without
/// look-alikes.
fn locked() -> (Registry, TestEnvironment, Published) {
    let registry = Registry::start();
    let null = registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .done();
    let environment = project(&registry);
    registry.reset_statistics();
    (registry, environment, null)
}

fn project(registry: &Registry) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(registry);
    environment.write("main.tf", requires("acme/null", "~> 3.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0);
    environment
}

/// Adds a hash to its sorted place in the only entry.
fn add(environment: &TestEnvironment, hash: &str) {
    let text = environment.lock_file();
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let first = lines.iter().position(|line| line.contains("h1:")).unwrap();
    let line = format!("    \"{hash}\",\n");
    let place = (first..lines.len())
        .find(|index| lines[*index] > line || lines[*index].contains(']'))
        .unwrap();
    lines.insert(place, line);
    environment.write_lock_file(lines.concat());
}

#[test]
fn freshly_locked_hashes_are_published() {
    let (registry, environment, _) = locked();
    assert_eq!(found(&environment, &ONLINE), NOTHING);
    assert_eq!(
        registry.requests_to(url::PACKAGE),
        2,
        "what the cache says of them does not count"
    );
    assert_eq!(registry.requests_to(url::VERSIONS), 1);
    assert_eq!(registry.requests_to(url::SHASUMS), 1);
}

#[test]
fn hashes_are_called_published_only_if_all_were_found() {
    let (registry, environment, _) = locked();
    let all = "All hashes are published";
    let verify = |flags: &[&str]| environment.provlock([&["verify", "--online"], flags].concat());
    verify(&[]).assert_code(0).assert_stderr_has(all);
    let not_confirmed = |flags: &[&str]| {
        let output = verify(flags);
        output
            .assert_code(0)
            .assert_stderr_has("Not confirmed as published: hashes of 1 provider");
        assert!(!output.stderr.contains(all), "{output}");
        let document = validated(&verify(&[flags, &["--json"]].concat()).stdout);
        assert_eq!(
            document["counts"]["root_modules"]["partly_checked"],
            json!(1),
            "{document}"
        );
    };
    add(&environment, H1);
    not_confirmed(&["--allow", "hash-not-published"]);
    let before = environment.lock_file();
    let unknown = before.replace(&format!("    \"{H1}\",\n"), "    \"x9:a\",\n");
    let ignored = "# provlock: ignore[unknown-hash-scheme, unsorted-hashes] tested\nprovider ";
    environment.write_lock_file(unknown.replace("provider ", ignored));
    not_confirmed(&[]);
    environment.write_lock_file(before);
    registry.withdraw("acme/null", "3.2.4");
    not_confirmed(&["--allow", "version-withdrawn"]);
}

#[test]
fn the_pull_request_of_an_attacker_fails_and_both_hashes_are_named() {
    let (_registry, environment, _) = locked();
    add(&environment, H1);
    add(&environment, ZH);
    assert_eq!(
        found(&environment, &[]),
        NOTHING,
        "offline there is nothing to see"
    );

    assert_eq!(
        found(&environment, &ONLINE),
        ["error hash-not-published"],
        "one for the entry"
    );

    let output = environment.provlock(["verify", "--online"]);
    for (hash, with) in [
        (H1, "the packages of all its platforms"),
        (ZH, "SHA256SUMS"),
    ] {
        output.assert_stdout_has(&format!("= compared with {with}: {hash}\n"));
    }
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[hash-not-published]: 2 recorded hashes of acme/null 3.2.4 belong to no published package
  --> .terraform.lock.hcl:8:5
   |
 8 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
11 |     "zh:[HASH]",
   |     ---------------------------------------------------------------------
   |
   = compared with SHA256SUMS: zh:[HASH]
   = compared with the packages of all its platforms: h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
help: find out who added the hashes, and remove them

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
}

/// A foreign `zh:` makes `verify` ask about all platforms, not only the wanted one. Without an
/// answer for one of them, its SHA256SUMS may list the hash.
#[test]
fn a_platform_that_cannot_be_asked_about_leaves_a_zh_unchecked() {
    let (registry, environment, _) = locked();
    add(&environment, ZH);
    let arguments = ["--online", "-p", "linux_amd64"];
    assert_eq!(
        found(&environment, &arguments),
        ["error hash-not-published"]
    );

    registry.fault(
        "*/download/windows/amd64",
        Times::Always,
        Fault::Status(500),
    );
    let output = verify(&environment, &arguments);
    output.assert_code(2);
    let report = validated(&output.stdout);
    assert_eq!(report["roots"][0]["findings"], json!([]));
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(
        (errors.len(), &errors[0]["code"]),
        (1, &json!("request-failed")),
        "{report:#}"
    );
    let message = errors[0]["message"].as_str().unwrap();
    assert!(
        message.contains("/v1/providers/acme/null/3.2.4/download/windows/amd64"),
        "{message}"
    );
}

/// A registry may forget platforms in its list of versions. SHA256SUMS is signed, and lists all
/// packages.
#[test]
fn an_h1_is_compared_with_every_package_in_sha256sums() {
    let (registry, environment, _) = locked();
    let platforms = json!([{ "os": "darwin", "arch": "arm64" }]);
    let list = json!({ "versions": [{ "version": "3.2.4", "protocols": ["5.0"], "platforms": platforms }] });
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::Body(list.to_string().into()),
    );
    assert_eq!(
        found(&environment, &["--online"]),
        NOTHING,
        "the package can be fetched"
    );

    let genuine = environment.lock_file();
    add(&environment, H1);
    assert_eq!(
        found(&environment, &["--online"]),
        ["error hash-not-published"]
    );
    environment.write_lock_file(&genuine);

    registry.fault("*/download/linux/amd64", Times::Always, Fault::Status(404));
    let output = environment.provlock(["verify", "--online", "--allow", "single-platform"]);
    output
        .assert_code(1)
        .assert_stdout_has("error[hash-not-published]: the h1 ");
    output.assert_stdout_has("  = compared with the packages that could be fetched\n");
}

#[test]
fn a_version_that_is_listed_twice_has_the_platforms_of_both() {
    let registry = Registry::start();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .done();
    let list = json!({ "versions": [
        { "version": "3.2.4", "protocols": ["5.0"], "platforms": [{ "os": "linux", "arch": "amd64" }] },
        { "version": "3.2.4", "protocols": ["5.0"], "platforms": [{ "os": "darwin", "arch": "arm64" }] },
    ] });
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::Body(list.to_string().into()),
    );
    let environment = project(&registry);
    assert_eq!(found(&environment, &ONLINE), NOTHING);
    assert_eq!(found(&environment, &["--online", "-p", "all"]), NOTHING);
}

#[test]
fn a_malformed_hash_is_not_also_reported_as_not_published() {
    for hash in ["h1:AAAA", "zh:12"] {
        let (_registry, environment, _) = locked();
        add(&environment, hash);
        assert_eq!(
            found(&environment, &ONLINE),
            ["error malformed-hash"],
            "{hash}"
        );
    }
}

#[test]
fn a_swapped_version_is_one_finding() {
    let (registry, environment, _) = locked();
    registry
        .publish("acme/null", "3.2.3")
        .platforms(PLATFORMS)
        .done();
    environment.write_lock_file(environment.lock_file().replace("3.2.4", "3.2.3"));
    assert_eq!(found(&environment, &ONLINE), ["error hash-not-published"]);
    let output = environment.provlock(["verify", "--online"]);
    let message = "none of the 5 recorded hashes belongs to a published package of acme/null 3.2.3";
    output.assert_code(1).assert_stdout_has(message);
    output.assert_stdout_has("compared with SHA256SUMS and the packages of all its platforms");
    let keep = |is_kept: &mut dyn FnMut(&str) -> bool| {
        let text = environment.lock_file();
        let lines: Vec<_> = text.lines().filter(|line| is_kept(line)).collect();
        environment.write_lock_file(lines.join("\n") + "\n");
    };
    keep(&mut |line| !line.contains("h1:"));
    let message = "none of the 3 recorded zh belongs to a published package of acme/null 3.2.3\n";
    assert_eq!(messages(&environment, &ONLINE), message);
    let mut hashes = 0;
    keep(&mut |line| {
        hashes += usize::from(line.contains("zh:"));
        !line.contains("zh:") || hashes == 1
    });
    let text = environment.lock_file();
    let hash = text
        .lines()
        .find(|line| line.contains("zh:"))
        .unwrap()
        .to_owned();
    environment.write_lock_file(text.replace(&hash, &format!("    \"{H1}\",")));
    assert_eq!(
        found(&environment, &ONLINE),
        ["error hash-not-published"],
        "of one hash, too"
    );
}

#[test]
fn an_h1_of_a_platform_that_is_not_wanted_is_published_all_the_same() {
    let (registry, environment, null) = locked();
    add(&environment, null.h1("windows_amd64"));
    assert_eq!(found(&environment, &ONLINE), NOTHING);
    assert_eq!(
        registry.requests_to("*windows_amd64.zip"),
        1,
        "it has to be looked at"
    );
}

#[test]
fn reported_hashes_need_no_download() {
    let registry = Registry::start();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .packages(PackagesMap::Right)
        .done();
    let environment = project(&registry);
    registry.reset_statistics();
    let arguments = ["--online", "--no-cache", "-p", "linux_amd64,darwin_arm64"];
    assert_eq!(found(&environment, &arguments), NOTHING);
    assert_eq!(registry.requests_to(url::PACKAGE), 0);
}

#[test]
fn an_h1_that_is_reported_for_one_platform_does_not_cover_another() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .done();
    let report = |(platform, package): (&String, &Package)| {
        let h1 = (platform == "linux_amd64").then(|| package.h1.clone());
        let hashes: Vec<_> = h1.into_iter().chain([package.zh.clone()]).collect();
        (
            platform.clone(),
            json!({ "hashes": hashes, "package_size": package.archive.len() }),
        )
    };
    let reports: Map<String, Value> = null.packages.iter().map(report).collect();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .patch_metadata(json!({ "packages": reports }))
        .done();
    environment.write("main.tf", requires("acme/null", "~> 3.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(found(&environment, &ONLINE), ["error platform-missing"]);
}

#[test]
fn platform_missing() {
    let (_registry, environment, _) = locked();
    assert_eq!(
        found(&environment, &["--online", "-p", "windows_amd64"]),
        ["error platform-missing"]
    );
    assert_eq!(
        found(&environment, &["--online", "-p", "solaris_amd64"]),
        ["error platform-missing"]
    );
    assert!(
        messages(&environment, &["--online", "-p", "solaris_amd64"])
            .contains("not published for solaris_amd64")
    );
    assert_eq!(
        found(&environment, &["--online", "-p", "all"]),
        ["error platform-missing"]
    );
}

#[test]
fn version_withdrawn() {
    let (registry, environment, _) = locked();
    registry.withdraw("acme/null", "3.2.4");
    assert_eq!(found(&environment, &ONLINE), ["error version-withdrawn"]);
}

#[test]
fn signature_invalid() {
    let (registry, environment, _) = locked();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .flaw(Flaw::BadSignature)
        .done();
    assert_eq!(found(&environment, &ONLINE), ["error signature-invalid"]);
}

#[test]
fn key_expired() {
    let registry = Registry::start();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .signed_by(&keys::EXPIRED)
        .done();
    let environment = project(&registry);
    assert_eq!(found(&environment, &ONLINE), ["warning key-expired"]);
}

#[test]
fn key_not_trusted() {
    let (_registry, environment, _) = locked();
    let trust = |key: &keys::Key| {
        environment.write(
            "provlock.toml",
            format!("[trust]\n\"acme/*\" = [\"{}\"]\n", key.fingerprint()),
        );
    };
    trust(&keys::ED25519);
    assert_eq!(found(&environment, &ONLINE), NOTHING);
    trust(&keys::OTHER);
    assert_eq!(found(&environment, &ONLINE), ["error key-not-trusted"]);
    environment.write("provlock.toml", "[trust]\n\"other/*\" = []\n");
    assert_eq!(
        found(&environment, &ONLINE),
        NOTHING,
        "the rule is for others"
    );
}

#[test]
fn unsigned_provider() {
    let registry = Registry::start();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .flaw(Flaw::NoKeys)
        .done();
    let environment = project(&registry);
    assert_eq!(
        found(&environment, &ONLINE),
        NOTHING,
        "the default registry is taken at its word"
    );
    environment.write("provlock.toml", "[policy]\nrequire-signed = true\n");
    assert_eq!(found(&environment, &ONLINE), ["error unsigned-provider"]);
}

#[test]
fn package_not_authentic() {
    let (registry, environment, _) = locked();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .flaw(Flaw::PackageDiffers)
        .done();
    let arguments = ["--online", "--no-cache", "-p", "linux_amd64"];
    let found = found(&environment, &arguments);
    assert!(
        found.contains(&"error package-not-authentic".to_owned()),
        "{found:?}"
    );
}

#[test]
fn invalid_package() {
    let (registry, environment, _) = locked();
    registry
        .publish("acme/null", "3.2.4")
        .platforms(PLATFORMS)
        .flaw(Flaw::NoProgram)
        .done();
    let found = found(
        &environment,
        &["--online", "--no-cache", "-p", "linux_amd64"],
    );
    assert!(
        found.contains(&"error invalid-package".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_registry_that_cannot_be_asked_is_no_finding() {
    let (registry, environment, _) = locked();
    registry.fault(url::VERSIONS, Times::Always, Fault::Status(404));
    assert_eq!(
        found(&environment, &ONLINE),
        ["error version-withdrawn"],
        "404 is an answer"
    );
    registry.clear_faults();
    registry.fault(url::SHASUMS, Times::Always, Fault::Status(403));
    let output = verify(&environment, &ONLINE);
    output.assert_code(2);
    let report = super::validated(&output.stdout);
    assert_eq!(report["roots"][0]["findings"], serde_json::json!([]));
    assert_eq!(report["errors"].as_array().unwrap().len(), 1, "{report:#}");
}

#[test]
fn a_mirror_confirms_only_what_it_has() {
    let (_registry, environment, null) = locked();
    let folder = "mirror/registry.opentofu.org/acme/null";
    let package = &null.packages["linux_amd64"];
    environment.write(format!("{folder}/{}", package.filename), &*package.archive);
    add(&environment, H1);
    let mirrored = ["--online", "--fs-mirror", "mirror", "-p", "linux_amd64"];
    assert_eq!(found(&environment, &mirrored), ["warning hash-not-checked"]);
}

/// `verify` shows the keys that the registry names now, `tree` the remembered ones. What is
/// remembered is not believed.
#[test]
fn keys_are_shown_in_full_and_forged_ones_in_the_cache_are_not_trusted() {
    let (_registry, environment, _) = locked();
    let (key, other) = (keys::ED25519.fingerprint(), keys::OTHER.fingerprint());
    let tree = |arguments: &[&str]| environment.provlock([&["tree"], arguments].concat()).stdout;
    assert!(tree(&["-v"]).starts_with(&format!(
        "acme/null 3.2.4 (locked), required as ~> 3.0\nsigned by {key}\n└── ."
    )));
    assert!(!tree(&[]).contains("signed by"));
    assert!(tree(&["--json"]).contains(&format!("\"signed_by\":\"{key}\"")));

    let verify =
        || environment.provlock(["verify", "--online", "-v", "-p", "linux_amd64,darwin_arm64"]);
    verify().assert_stderr_has(&format!("\n.: acme/null: signed by {key}\n"));
    assert_eq!(
        environment
            .provlock(["verify", "-v"])
            .assert_code(0)
            .stderr
            .matches("signed by")
            .count(),
        0
    );
    let report = validated(
        &environment
            .provlock(["verify", "--online", "--json"])
            .stdout,
    );
    let authentication = &report["roots"][0]["authentications"]["registry.opentofu.org/acme/null"];
    assert_eq!(authentication["fingerprints"], json!([key]));

    let sums = environment
        .home()
        .join(".cache/provlock/provlock-sums-v1/registry.opentofu.org/acme/null/3.2.4");
    let kept = std::fs::read_to_string(&sums).unwrap();
    std::fs::write(&sums, kept.replace(&format!("\"{key}\""), "null")).unwrap();
    assert!(!tree(&["-v"]).contains("signed by"), "the key is not known");
    environment.write(
        "provlock.toml",
        format!("[trust]\n\"acme/*\" = [\"{other}\"]\n"),
    );
    std::fs::write(&sums, kept.replace(&key, &other)).unwrap();
    assert!(tree(&["-v"]).contains(&other), "it is shown");
    assert_eq!(found(&environment, &ONLINE), ["error key-not-trusted"]);
    std::fs::write(&sums, kept.replace(&key, &other)).unwrap();
    for flag in ["--offline", "--check"] {
        environment
            .provlock(["lock", flag])
            .assert_stderr_has("[key-not-trusted]");
    }
    assert!(
        tree(&["-v"]).contains(&key),
        "--check has verified the release again"
    );
}
