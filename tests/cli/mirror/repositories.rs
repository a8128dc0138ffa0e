//! A mirror in an OCI registry.

use std::time::Duration;

use super::super::lock::{BOTH, LOCK_BOTH, lock_file, requires};
use super::{locked, validated};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Fault, Request, TestEnvironment, Times, str, survived, url};
use serde_json::{Value, json};

const HOST: &str = "oci.example.com";
const TARGET: &str = "oci://oci.example.com/mirror/${namespace}/${type}";
/// The repository of `hashicorp/null`.
const NULL: &str = "oci.example.com/mirror/hashicorp/null";
const ALL: &str = "oci.example.com/v2/*";
const MANIFESTS: &str = "oci.example.com/v2/*/manifests/sha256:*";

/// A machine that has locked a release, and an OCI registry.
fn fleet() -> (Registry, TestEnvironment, Published) {
    let (registry, environment, null) = locked();
    registry.add_oci_host(HOST);
    (registry, environment, null)
}

fn mirror<'a>(platforms: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["mirror", TARGET, "-p", platforms], more].concat()
}

const BOTH_PLATFORMS: &str = "darwin_arm64,linux_amd64";

fn index(registry: &Registry) -> Option<Value> {
    registry
        .manifest(NULL, "3.2.4")
        .map(|index| serde_json::from_str(&index).unwrap())
}

/// Kinds of uploads since the last reset: `blob`, `manifest` or `tag`.
fn uploads(registry: &Registry) -> Vec<&'static str> {
    let kind = |request: &Request| match request.path() {
        path if path.contains("/blobs/") => "blob",
        path if path.contains("/manifests/sha256:") => "manifest",
        _ => "tag",
    };
    registry
        .requests_matching(ALL)
        .iter()
        .filter(|request| request.method == "PUT")
        .map(kind)
        .collect()
}

#[test]
fn packages_are_pushed_in_the_layout_of_opentofu_and_only_once() {
    let (registry, environment, null) = fleet();
    environment.provlock(mirror(BOTH_PLATFORMS, &["--dry-run"])).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64
Would mirror 2 packages of 1 provider in oci://oci.example.com/mirror/${namespace}/${type}: 2 to download
Not checked: whether the packages to download exist and their keys are allowed
"#]]);
    assert!(
        registry
            .requests_matching(ALL)
            .iter()
            .all(|request| request.method == "GET")
    );
    assert_eq!(registry.requests_to(url::PACKAGE), 0);

    environment.provlock(mirror(BOTH_PLATFORMS, &[])).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64   signed   [SIZE]
Mirrored 2 packages of 1 provider in oci://oci.example.com/mirror/${namespace}/${type}: 2 downloaded ([SIZE])
"#]]);
    assert_eq!(
        (
            registry.requests_to(url::PACKAGE),
            registry.requests_to(url::SIGNATURE)
        ),
        (2, 1)
    );
    assert_eq!(uploads(&registry).last(), Some(&"tag"));
    let index = index(&registry).unwrap();
    assert_eq!(
        index["mediaType"],
        "application/vnd.oci.image.index.v1+json"
    );
    assert_eq!(index["artifactType"], "application/vnd.opentofu.provider");
    let descriptors = index["manifests"].as_array().unwrap();
    for (descriptor, platform) in descriptors.iter().zip(BOTH) {
        let (os, architecture) = platform.split_once('_').unwrap();
        assert_eq!(
            descriptor["platform"],
            json!({ "os": os, "architecture": architecture })
        );
        assert_eq!(
            descriptor["artifactType"],
            "application/vnd.opentofu.provider-target"
        );
        let manifest = registry
            .manifest(NULL, descriptor["digest"].as_str().unwrap())
            .unwrap();
        assert_eq!(descriptor["size"], manifest.len());
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let digest = null.zh(platform).replace("zh:", "sha256:");
        let size = null.packages[platform].archive.len();
        assert_eq!(
            manifest["layers"],
            json!([{ "mediaType": "archive/zip", "digest": digest, "size": size }]),
        );
        assert_eq!(
            manifest["artifactType"],
            "application/vnd.opentofu.provider-target"
        );
    }

    for cache in [&[][..], &["--no-cache"]] {
        registry.reset_statistics();
        environment
            .provlock(mirror(BOTH_PLATFORMS, cache))
            .matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 2 packages of 1 provider in oci://oci.example.com/mirror/${namespace}/${type} ([SIZE])
"#]]);
        assert!(
            registry
                .requests_matching(ALL)
                .iter()
                .all(|request| ["GET", "HEAD"].contains(&&*request.method))
        );
        assert_eq!(registry.requests_to(url::PACKAGE), 0);
    }
    let json = environment
        .provlock(mirror(BOTH_PLATFORMS, &["--json"]))
        .assert_code(0)
        .stdout
        .clone();
    let mirror = &validated(&json)["mirror"];
    assert_eq!(
        (&mirror["directory"], &mirror["written"]),
        (&json!(TARGET), &json!(false))
    );
    assert_eq!(mirror["packages"][0]["file"], format!("oci://{NULL}:3.2.4"));
}

#[test]
fn pushed_packages_can_be_locked_and_installed() {
    let (registry, environment, null) = fleet();
    environment
        .provlock(mirror(BOTH_PLATFORMS, &[]))
        .assert_code(0);
    registry.reset_statistics();
    let reader = TestEnvironment::with_registry(&registry);
    reader.write("main.tf", requires("hashicorp/null", ""));
    let template = "oci.example.com/mirror/{namespace}/{type}";
    reader
        .provlock(LOCK_BOTH.iter().chain(&["--oci-mirror", template]))
        .assert_code(0);
    for platform in BOTH {
        let lock_file = reader.lock_file();
        assert!(
            lock_file.contains(null.h1(platform)) && lock_file.contains(null.zh(platform)),
            "{lock_file}"
        );
    }
    // And the other way round: a mirror of the mirror.
    reader
        .provlock([
            "mirror",
            "mirror",
            "-p",
            BOTH_PLATFORMS,
            "--oci-mirror",
            template,
        ])
        .assert_code(0);
    assert!(
        BOTH.iter()
            .all(|platform| super::has(&reader, &null, platform))
    );
    assert_eq!(registry.requests_to(url::PACKAGE), 0);
}

#[test]
fn unlocked_packages_are_not_pushed() {
    let (registry, environment, null) = fleet();
    let wrong = format!("zh:{}", "0".repeat(64));
    environment.write(
        ".terraform.lock.hcl",
        lock_file(&[null.entry("", &[wrong])]),
    );
    let output = environment.provlock(mirror("linux_amd64", &[]));
    output
        .assert_code(2)
        .assert_stderr_has("has no hash of the package")
        .assert_stderr_has("linux_amd64");
    assert_eq!((uploads(&registry), index(&registry)), (Vec::new(), None));

    // Of one platform only; the other is pushed.
    environment.write(".terraform.lock.hcl", null.lock_file("", &["linux_amd64"]));
    let darwin = null.zh("darwin_arm64");
    let without = environment
        .lock_file()
        .replace(&format!("    \"{darwin}\",\n"), "");
    environment.write(".terraform.lock.hcl", without);
    let output = environment.provlock(mirror(BOTH_PLATFORMS, &[]));
    output
        .assert_code(2)
        .assert_stderr_has("for darwin_arm64")
        .assert_stderr_has("Mirrored 1 package");
    assert_eq!(
        index(&registry).unwrap()["manifests"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_package_under_the_tag_of_another_is_replaced() {
    let (registry, environment, null) = fleet();
    environment
        .provlock(mirror(BOTH_PLATFORMS, &[]))
        .assert_code(0);
    let right = index(&registry).unwrap();
    // Each platform has the package of the other, which the lock file records, too. What is of no
    // platform stays.
    let mut wrong = right.clone();
    let digests = [0, 1].map(|platform| wrong["manifests"][platform]["digest"].clone());
    let [first, second] = digests;
    (
        wrong["manifests"][0]["digest"],
        wrong["manifests"][1]["digest"],
    ) = (second, first);
    let other = json!({ "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": "x/y",
        "digest": right["manifests"][0]["digest"], "size": 3 });
    wrong["manifests"]
        .as_array_mut()
        .unwrap()
        .insert(0, other.clone());
    wrong["annotations"] = json!({ "a": "b" });
    for cache in [&[][..], &["--no-cache"]] {
        registry.put_manifest(NULL, "3.2.4", &wrong.to_string());
        registry.reset_statistics();
        let output = environment.provlock(mirror(BOTH_PLATFORMS, cache));
        output
            .assert_code(0)
            .assert_stderr_has("2 of them replaced another file");
        let found = index(&registry).unwrap();
        assert_eq!(found["manifests"][0], other);
        assert_eq!(
            found["manifests"].as_array().unwrap()[1..],
            right["manifests"].as_array().unwrap()[..]
        );
        assert_eq!(found["annotations"], wrong["annotations"]);
        assert_eq!(
            uploads(&registry)
                .iter()
                .filter(|kind| **kind == "blob")
                .count(),
            0,
            "the archives are there"
        );
    }
    assert_eq!(null.packages.len(), 2);
}

#[test]
fn a_run_that_is_killed_leaves_the_old_index() {
    let (registry, environment, _) = fleet();
    environment
        .provlock(mirror("linux_amd64", &[]))
        .assert_code(0);
    let old = index(&registry);
    registry.reset_statistics();
    registry.fault(
        MANIFESTS,
        Times::Always,
        Fault::Delay(Duration::from_mins(10)),
    );
    let mut run = environment.command(mirror("darwin_arm64", &[])).spawn();
    provlock_test::run_until(&mut run, || !uploads(&registry).is_empty());
    run.kill().expect("the run waits for its manifest");
    provlock_test::wait(&mut run);
    assert_eq!(index(&registry), old);

    registry.clear_faults();
    registry.fault(MANIFESTS, Times::Always, Fault::Status(500));
    environment
        .provlock(mirror("darwin_arm64", &[]))
        .assert_code(2)
        .assert_stderr_has("answered with status 500");
    assert_eq!(index(&registry), old);

    registry.clear_faults();
    registry.reset_statistics();
    environment
        .provlock(mirror(BOTH_PLATFORMS, &[]))
        .assert_code(0)
        .assert_stderr_has("1 already there");
    assert_eq!(
        uploads(&registry),
        ["manifest", "tag"],
        "its blobs are there"
    );
    assert_eq!(
        index(&registry).unwrap()["manifests"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    survived("a run that is killed", 1);
}

#[test]
fn a_tag_of_something_else_is_left_alone() {
    let (registry, environment, _) = fleet();
    let image = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}"#;
    for manifest in [image, "{", "[]", r#"{"manifests": 3}"#] {
        registry.put_manifest(NULL, "3.2.4", manifest);
        let output = environment.provlock(mirror(BOTH_PLATFORMS, &[]));
        output
            .assert_code(2)
            .assert_stderr_has("oci://oci.example.com/mirror/hashicorp/null:3.2.4 ");
        output.assert_stderr_has("so nothing is added to it");
        assert_eq!(
            (
                uploads(&registry),
                &*registry.manifest(NULL, "3.2.4").unwrap()
            ),
            (Vec::new(), manifest)
        );
    }
    survived("a tag without a provider", 4);
}

#[test]
fn argument_errors_come_before_any_request() {
    let (registry, environment, _) = fleet();
    environment
        .provlock(mirror(BOTH_PLATFORMS, &["--prune"]))
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: only directories can be pruned, not OCI registries
help: remove tags with the registry's own tools, such as retention rules
"#]]);
    environment.provlock(["mirror", "oci://oci.example.com/${name}"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "oci.example.com/${name}" is not the template of an OCI mirror: {name} is unknown; write {hostname}, {namespace} or {type}
help: write it as in oci://registry.example.com/mirror/${namespace}/${type}
"#]]);
    assert_eq!(registry.requests().len(), 0);
}

#[test]
fn two_providers_do_not_share_a_repository() {
    let (registry, environment, null) = fleet();
    let other = registry
        .publish("registry.terraform.io/hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    let entries = [&null, &other].map(|published| published.entry_for("", &BOTH));
    environment.write(".terraform.lock.hcl", lock_file(&entries));
    let output = environment.provlock(mirror("linux_amd64", &[]));
    output
        .assert_code(2)
        .assert_stderr_has("the same repository oci.example.com/mirror/hashicorp/null");
    let target = "oci://oci.example.com/${hostname}/${namespace}/${type}";
    environment
        .provlock(["mirror", target, "-p", "linux_amd64"])
        .assert_code(0)
        .assert_stderr_has("2 packages");
}

#[test]
fn the_login_is_that_of_docker_and_is_never_shown() {
    let (registry, environment, _) = fleet();
    registry.require_oci_login("robot", "s3cr3t-password");
    let push = || environment.provlock(mirror(BOTH_PLATFORMS, &["-vv"]));
    push()
        .assert_code(2)
        .assert_stderr_has("docker login oci.example.com");
    let encoded = environment.docker_login("oci.example.com", "robot", "s3cr3t-password");
    push()
        .assert_code(0)
        .assert_lacks("s3cr3t-password")
        .assert_lacks(&encoded)
        .assert_lacks("given-for");
    assert_eq!(uploads(&registry).last(), Some(&"tag"));
}
