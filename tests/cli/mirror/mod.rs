//! `provlock mirror`: what it writes, what it keeps, what it refuses.

mod common;
mod hostile;
mod many;
mod prune;
mod repositories;

use std::path::{Path, PathBuf};

use super::json_output::validated;
use super::lock::{BOTH, LOCK_BOTH, lock_file, requires};
use provlock_test::files::entry;
use provlock_test::publish::{Flaw, Published};
use provlock_test::registry::{Mirror, Registry};
use provlock_test::{Fault, TestEnvironment, Times, keys, str, url};

pub(super) const MIRROR_BOTH: [&str; 4] = ["mirror", "mirror", "-p", "darwin_arm64,linux_amd64"];
pub(super) const NULL: &str = "mirror/registry.opentofu.org/hashicorp/null";

/// A release for two platforms, and a project that has locked it for both.
pub(super) fn locked() -> (Registry, TestEnvironment, Published) {
    let (registry, environment, null) =
        Registry::with_required("hashicorp/null", "3.2.4", BOTH, "");
    environment.provlock(LOCK_BOTH).assert_code(0);
    registry.reset_statistics();
    (registry, environment, null)
}

/// A package in a mirror.
pub(super) fn package(
    environment: &TestEnvironment,
    published: &Published,
    platform: &str,
) -> PathBuf {
    let mirror = environment.project().join("mirror");
    mirror
        .join(&published.address)
        .join(&published.packages[platform].filename)
}

/// Whether the mirror has just the right bytes of a package.
pub(super) fn has(environment: &TestEnvironment, published: &Published, platform: &str) -> bool {
    let bytes = std::fs::read(package(environment, published, platform));
    bytes.is_ok_and(|bytes| bytes == **published.packages[platform].archive)
}

/// The names of the files in a directory of the project.
pub(super) fn names(environment: &TestEnvironment, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(environment.project().join(directory))
        .into_iter()
        .flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn packages_come_with_the_documents_of_a_network_mirror_and_only_once() {
    let (registry, environment, null) = locked();
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64   signed   [SIZE]
Mirrored 2 packages of 1 provider in mirror: 2 downloaded ([SIZE])
"#]]);
    assert_eq!(
        names(&environment, NULL),
        [
            "3.2.4.json",
            "index.json",
            "terraform-provider-null_3.2.4_darwin_arm64.zip",
            "terraform-provider-null_3.2.4_linux_amd64.zip"
        ]
    );
    assert!(
        BOTH.iter()
            .all(|platform| has(&environment, &null, platform))
    );
    assert_eq!(
        environment.read(format!("{NULL}/index.json")),
        "{\n  \"versions\": {\n    \"3.2.4\": {}\n  }\n}"
    );
    let archive = |platform: &str| {
        let (h1, zh, filename) = (
            null.h1(platform),
            null.zh(platform),
            &null.packages[platform].filename,
        );
        format!(
            r#"    "{platform}": {{
      "hashes": [
        "{h1}",
        "{zh}"
      ],
      "url": "{filename}"
    }}"#
        )
    };
    let archives = BOTH.map(archive).join(",\n");
    let document = format!("{{\n  \"archives\": {{\n{archives}\n  }}\n}}");
    assert_eq!(environment.read(format!("{NULL}/3.2.4.json")), document);
    assert_eq!(
        (
            registry.requests_to(url::PACKAGE),
            registry.requests_to(url::SIGNATURE)
        ),
        (2, 1)
    );

    let before = environment.snapshot();
    registry.reset_statistics();
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 2 packages of 1 provider in mirror ([SIZE])
"#]]);
    before.assert_same(&environment.snapshot());
    assert_eq!(
        registry.requests().len(),
        0,
        "what is there need not be asked for"
    );
    environment
        .provlock(MIRROR_BOTH.iter().chain(&["-v"]))
        .matches(str![[r#"
exit code: 0
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
  = hashicorp/null   3.2.4   darwin_arm64 and linux_amd64   [SIZE]
Up to date: 2 packages of 1 provider in mirror ([SIZE])
"#]]);
}

#[test]
fn the_mirror_works_as_filesystem_and_network_mirror() {
    let (registry, environment, null) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let served = "https://mirror.example.com/served/";
    for name in names(&environment, NULL) {
        let path = format!("/served/{}/{name}", null.address);
        registry.serve(
            &path,
            std::fs::read(environment.project().join(NULL).join(name)).unwrap(),
        );
    }
    for from in [["--fs-mirror", "../mirror"], ["--net-mirror", served]] {
        registry.reset_statistics();
        let copy = from[0].trim_start_matches('-');
        environment.write(format!("{copy}/main.tf"), requires("hashicorp/null", ""));
        environment.write(
            format!("{copy}/.terraform.lock.hcl"),
            environment.lock_file(),
        );
        let lock = || {
            environment
                .command(LOCK_BOTH.into_iter().chain(from))
                .run_in(copy)
                .run()
        };
        lock().assert_code(0).assert_stderr_has("Up to date");
        let path = format!("{copy}/.terraform.lock.hcl");
        assert_eq!(environment.read(&path), environment.lock_file());

        std::fs::remove_file(environment.project().join(&path)).unwrap();
        lock().assert_code(0);
        let mut hashes = BOTH.map(|platform| null.h1(platform).to_owned()).to_vec();
        if from[0] == "--net-mirror" {
            hashes.extend(BOTH.map(|platform| null.zh(platform).to_owned()));
        }
        assert_eq!(
            environment.read(&path),
            lock_file(&[null.entry("", &hashes)])
        );
        assert_eq!(registry.requests_to("registry.opentofu.org/*"), 0);
    }
}

#[test]
fn a_file_that_is_not_what_is_locked_is_replaced() {
    let (registry, environment, null) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let path = package(&environment, &null, "linux_amd64");
    let other = registry
        .publish("hashicorp/null", "3.2.5")
        .platforms(BOTH)
        .done();
    let whole = &**null.packages["linux_amd64"].archive;
    let mut flipped = whole.to_vec();
    flipped[whole.len() / 2] ^= 1;
    for content in [
        &flipped[..],
        &whole[..whole.len() - 1],
        b"",
        &other.packages["linux_amd64"].archive,
    ] {
        std::fs::write(&path, content).unwrap();
        registry.reset_statistics();
        environment
            .provlock(MIRROR_BOTH)
            .assert_code(0)
            .assert_stderr_has("1 of them replaced another file");
        assert!(has(&environment, &null, "linux_amd64"));
        assert_eq!(registry.requests_to(url::PACKAGE), 1);
    }
    std::fs::write(&path, "tampered").unwrap();
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.2.4   linux_amd64   signed   [SIZE]   linux_amd64 was there with hashes that are not locked
Mirrored 2 packages of 1 provider in mirror: 1 downloaded ([SIZE]), 1 of them replaced another file, 1 already there ([SIZE])
"#]]);

    std::fs::write(&path, "tampered").unwrap();
    registry.fault(url::PACKAGE, Times::Always, Fault::Status(404));
    environment.provlock(MIRROR_BOTH).assert_code(2);
    assert_eq!(
        std::fs::read(&path).unwrap(),
        b"tampered",
        "a failure leaves every file as it was"
    );
}

#[test]
fn a_download_that_breaks_off_is_whole_in_the_end() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(300_000)
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.provlock(LOCK_BOTH).assert_code(0);
    registry.fault(url::PACKAGE, Times::First(2), Fault::CutAt(60));
    environment.provlock(MIRROR_BOTH).assert_code(0);
    assert!(
        BOTH.iter()
            .all(|platform| has(&environment, &null, platform))
    );
}

#[test]
fn a_package_that_the_lock_file_does_not_record_is_refused() {
    let (registry, environment, null) = locked();
    environment.write_lock_file(lock_file(&[
        null.entry("", &[null.h1("linux_amd64").to_owned()])
    ]));
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
  + hashicorp/null   3.2.4   linux_amd64   signed   [SIZE]
error[platform-missing]: the lock file has no hash of the package of hashicorp/null 3.2.4 for darwin_arm64
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^ its only hash is not the package's
  |
  = the package has h1:wEoAzXFODTJbb4MWBVs/IaleBOr1L9pQ9N/1Zqh4zGY= and zh:[HASH]
  = it was locked without this platform, or the release was replaced after it was locked
help: to record the platform, or see what was replaced: provlock lock -p darwin_arm64 hashicorp/null
Mirrored 1 package of 1 provider in mirror: 1 downloaded ([SIZE])
"#]]);
    assert!(
        has(&environment, &null, "linux_amd64")
            && !package(&environment, &null, "darwin_arm64").exists()
    );

    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .size(201)
        .done();
    std::fs::remove_dir_all(environment.project().join("mirror")).unwrap();
    environment
        .provlock(["mirror", "mirror", "-p", "linux_amd64"])
        .assert_code(2);
    assert_eq!(
        names(&environment, NULL),
        [""; 0],
        "a release that was replaced is not what is locked"
    );

    environment.write_lock_file(entry("hashicorp/null", "3.2.4", "", &[]).trim_start());
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[no-hashes]: the lock file has no hashes of hashicorp/null 3.2.4, so no package of it can be checked
 --> .terraform.lock.hcl:2:13
  |
2 |   version = "3.2.4"
  |             ^^^^^^^
  |
help: provlock lock hashicorp/null
"#]]);
}

#[test]
fn a_package_that_is_not_authentic_is_refused() {
    for flaw in [
        Flaw::BadSignature,
        Flaw::WrongKey,
        Flaw::PackageDiffers,
        Flaw::ShasumDiffers,
        Flaw::MissingSums,
    ] {
        let (registry, environment, _) = locked();
        // The packages are the same, so that the lock file has their hashes.
        registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(BOTH)
            .flaw(flaw.clone())
            .done();
        environment.provlock(MIRROR_BOTH).assert_code(2);
        assert_eq!(names(&environment, NULL), [""; 0], "{flaw:?}");
    }
}

#[test]
fn forbidden_providers_are_not_mirrored() {
    for (settings, code, requests) in [
        (
            "[policy]\nallowed-hosts = [\"registry.example.com\"]\n".to_owned(),
            Some("host-not-allowed"),
            0,
        ),
        (
            "[policy]\nallowed-namespaces = [\"acme\"]\n".to_owned(),
            Some("namespace-not-allowed"),
            0,
        ),
        (
            format!(
                "[trust]\n\"hashicorp/*\" = [\"{}\"]\n",
                keys::OTHER.fingerprint()
            ),
            Some("key-not-trusted"),
            2,
        ),
        ("[policy]\nrequire-signed = true\n".to_owned(), None, 2),
    ] {
        let (registry, environment, null) = locked();
        environment.write("provlock.toml", settings);
        let output = environment.provlock(MIRROR_BOTH.iter().chain(&["--prune"]));
        output.assert_code(if code.is_some() { 2 } else { 0 });
        if let Some(code) = code {
            output
                .assert_stderr_has(&format!("error[{code}]"))
                .assert_stderr_has(".terraform.lock.hcl:5:13");
        }
        assert!(
            BOTH.iter()
                .all(|platform| has(&environment, &null, platform) == code.is_none())
        );
        assert_eq!(registry.requests_to(url::PACKAGE), requests);
        assert!(requests > 0 || registry.requests().is_empty());
    }
}

#[test]
fn a_dry_run_shows_what_would_be_done() {
    let (registry, environment, null) = locked();
    let dry_run = || environment.provlock(MIRROR_BOTH.iter().chain(&["--dry-run"]));
    let before = environment.snapshot();
    dry_run().matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64
Would mirror 2 packages of 1 provider in mirror: 2 to download
Not checked: whether the packages to download exist and their keys are allowed
"#]]);
    before.assert_same(&environment.snapshot());
    environment
        .provlock(["mirror", "mirror", "-p", "linux_amd64"])
        .assert_code(0);
    std::fs::write(package(&environment, &null, "darwin_arm64"), "other").unwrap();
    let before = environment.snapshot();
    dry_run().matches(str![[r#"
exit code: 0
----- stderr -----
  ~ hashicorp/null   3.2.4   darwin_arm64   darwin_arm64 was there with hashes that are not locked
Would mirror 2 packages of 1 provider in mirror: 1 to download, 1 of them to replace another file, 1 already there ([SIZE])
Not checked: whether the packages to download exist and their keys are allowed
"#]]);
    before.assert_same(&environment.snapshot());
    assert_eq!(registry.requests_to(url::PACKAGE), 1);
}

#[test]
fn the_result_is_data_too() {
    let (_registry, environment, null) = locked();
    let run = |more: &[&str]| {
        let output = environment.provlock(MIRROR_BOTH.iter().chain(more).chain(&["--json"]));
        (output.code, validated(&output.stdout)["mirror"].clone())
    };
    let bytes = |platform: &str| null.packages[platform].archive.len();
    let all = bytes("linux_amd64") + bytes("darwin_arm64");
    let (_, mirror) = run(&["--dry-run"]);
    assert_eq!(
        (&mirror["written"], &mirror["packages"][0]["bytes"]),
        (&false.into(), &serde_json::Value::Null)
    );
    let (code, mirror) = run(&[]);
    assert_eq!(
        (code, &mirror["written"], &mirror["downloaded_bytes"]),
        (Some(0), &true.into(), &all.into())
    );
    let file = Path::new("mirror").join(null.address.replace('/', std::path::MAIN_SEPARATOR_STR));
    let file = file.join(&null.packages["darwin_arm64"].filename);
    let package = serde_json::json!({
        "address": (null.address), "version": "3.2.4", "platform": "darwin_arm64", "file": file,
        "action": "added", "bytes": bytes("darwin_arm64"),
    });
    assert_eq!(mirror["packages"][0], package);
    let (_, mirror) = run(&[]);
    assert_eq!(
        (&mirror["written"], &mirror["kept_bytes"]),
        (&false.into(), &all.into())
    );
    assert_eq!(mirror["packages"][1]["action"], "kept");
}

#[test]
fn platforms_come_from_the_flag_then_from_the_settings() {
    let (_registry, environment, null) = locked();
    environment.write("provlock.toml", "platforms = [\"darwin_arm64\"]\n");
    environment.provlock(["mirror", "mirror"]).assert_code(0);
    assert!(
        has(&environment, &null, "darwin_arm64")
            && !package(&environment, &null, "linux_amd64").exists()
    );
    environment
        .provlock(["mirror", "mirror", "-p", "all"])
        .assert_code(0)
        .assert_stderr_has("1 downloaded");
    assert!(has(&environment, &null, "linux_amd64"));
    let document = environment.read(format!("{NULL}/3.2.4.json"));
    assert!(
        BOTH.iter().all(|platform| document.contains(platform)),
        "{document}"
    );
    environment.provlock(["mirror", "mirror", "-p", "plan9_386"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: registry.opentofu.org/hashicorp/null 3.2.4 has no package for plan9_386
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^ locked here
  |
  = asked for https://registry.opentofu.org/v1/providers/hashicorp/null/3.2.4/download/plan9/386
help: remove the platform, or lock a different version
"#]]);
}

#[test]
fn platforms_default_to_the_lock_files() {
    let (registry, environment, null) = locked();
    let mirror = |more: &[&str]| {
        let _ = std::fs::remove_dir_all(environment.project().join("mirror"));
        environment.provlock(["mirror", "mirror"].iter().chain(more))
    };
    for cache in [&[][..], &["--no-cache"]] {
        mirror(cache)
            .assert_code(0)
            .assert_stderr_has("Mirrored 2 packages of 1 provider");
        assert!(
            BOTH.iter()
                .all(|platform| has(&environment, &null, platform)),
            "{cache:?}"
        );
    }
    registry.reset_statistics();
    environment
        .provlock(["mirror", "mirror"])
        .assert_code(0)
        .assert_stderr_has("Up to date: 2 packages");
    assert_eq!(registry.requests().len(), 0);

    let one = registry
        .publish("acme/one", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    let entries = [
        one.entry_for("", &["linux_amd64"]),
        null.entry_for("", &BOTH),
    ];
    environment.write_lock_file(lock_file(&entries));
    mirror(&[])
        .assert_code(0)
        .assert_stderr_has("Mirrored 3 packages of 2 providers");

    let mut hashes = null.hashes(&BOTH);
    hashes.push("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned());
    environment.write_lock_file(lock_file(&[null.entry("", &hashes)]));
    mirror(&[]).matches(str![[r#"
exit code: 2
----- stderr -----
  + hashicorp/null   3.2.4   darwin_arm64 and linux_amd64   signed   [SIZE]
error[platform-not-known]: the lock file has h1 hashes for 3 platforms, but only 2 of them are known
 |
 = the mirror gets the packages for darwin_arm64 and linux_amd64
help: name the platforms of the machines that use the mirror, for example: --platform linux_amd64
Mirrored 2 packages of 1 provider in mirror: 2 downloaded ([SIZE])
"#]]);
    mirror(&["-p", "linux_amd64"])
        .assert_code(0)
        .assert_stderr_has("Mirrored 1 package");

    environment.write_lock_file(lock_file(&[
        null.entry("", &[null.zh("linux_amd64").to_owned()])
    ]));
    mirror(&[]).assert_stderr_has("Mirrored 1 package of 1 provider");
}

#[test]
fn an_archive_of_another_platform_is_replaced_from_a_mirror_too() {
    let (registry, environment, null) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    std::fs::rename(
        environment.project().join("mirror"),
        environment.project().join("old"),
    )
    .unwrap();
    let linux = package(&environment, &null, "linux_amd64");
    std::fs::create_dir_all(linux.parent().unwrap()).unwrap();
    std::fs::write(&linux, &**null.packages["darwin_arm64"].archive).unwrap();
    let mirror = [
        "mirror",
        "mirror",
        "-p",
        "linux_amd64",
        "--fs-mirror",
        "old",
        "--no-cache",
    ];
    environment
        .provlock(mirror)
        .assert_code(0)
        .assert_stderr_has("1 of them replaced another file");
    assert!(has(&environment, &null, "linux_amd64"));
    registry.reset_statistics();
    environment
        .provlock(mirror)
        .assert_code(0)
        .assert_stderr_has("Up to date");
    assert_eq!(registry.requests_to("registry.opentofu.org/*"), 0);
}

#[test]
fn a_document_that_is_missing_is_written_and_reported() {
    let (_registry, environment, _) = locked();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let document = environment.project().join(NULL).join("3.2.4.json");
    let content = std::fs::read(&document).unwrap();
    std::fs::remove_file(&document).unwrap();
    environment
        .provlock(MIRROR_BOTH.iter().chain(&["--dry-run"]))
        .matches(str![[r#"
exit code: 0
----- stderr -----
Would mirror 2 packages of 1 provider in mirror: 2 already there ([SIZE]), 1 document to write
"#]]);
    assert!(!document.exists());
    let output = environment.provlock(MIRROR_BOTH.iter().chain(&["--json"]));
    output.assert_code(0).assert_stderr_has("2 already there");
    assert_eq!(validated(&output.stdout)["mirror"]["written"], true);
    assert_eq!(std::fs::read(&document).unwrap(), content);
    let output = environment.provlock(MIRROR_BOTH.iter().chain(&["--json"]));
    output.assert_code(0).assert_stderr_has("Up to date");
    assert_eq!(validated(&output.stdout)["mirror"]["written"], false);

    // A dry run fails where the run would.
    let content =
        String::from_utf8(content)
            .unwrap()
            .replacen("\"linux_amd64\"", "\"linux_arm64\"", 1);
    std::fs::write(&document, content).unwrap();
    for flags in [&["--dry-run"][..], &[]] {
        environment
            .provlock(MIRROR_BOTH.iter().chain(flags))
            .assert_code(2)
            .assert_stderr_has("invalid-package");
    }
}

#[test]
fn packages_may_come_from_another_mirror_as_archives() {
    let (registry, environment, null) = locked();
    registry.mirror("https://mirror.example.com/providers/", Mirror::default());
    let from = |source: [&str; 2]| {
        let _ = std::fs::remove_dir_all(environment.project().join("mirror"));
        environment.provlock(MIRROR_BOTH.into_iter().chain(source))
    };
    from(["--net-mirror", "https://mirror.example.com/providers/"]).assert_code(0);
    assert!(
        BOTH.iter()
            .all(|platform| has(&environment, &null, platform))
    );
    assert_eq!(registry.requests_to("registry.opentofu.org/*"), 0);

    std::fs::rename(
        environment.project().join("mirror"),
        environment.project().join("old"),
    )
    .unwrap();
    from(["--fs-mirror", "old"]).assert_code(0);
    assert!(
        BOTH.iter()
            .all(|platform| has(&environment, &null, platform))
    );
    for platform in BOTH {
        let folder = environment
            .project()
            .join("unpacked")
            .join(&null.address)
            .join("3.2.4")
            .join(platform);
        let mut archive =
            zip::ZipArchive::new(std::io::Cursor::new(&**null.packages[platform].archive)).unwrap();
        archive.extract(folder).unwrap();
    }
    from(["--fs-mirror", "unpacked"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: registry.opentofu.org/hashicorp/null 3.2.4 for darwin_arm64: it is unpacked in unpacked, so there is no archive of it
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^ locked here

error[request-failed]: registry.opentofu.org/hashicorp/null 3.2.4 for linux_amd64: it is unpacked in unpacked, so there is no archive of it
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^ locked here
"#]]);
    environment
        .provlock(["mirror", "mirror", "--trust-registry"])
        .assert_code(2)
        .assert_stderr_has("cannot be used with");
    environment
        .provlock(["mirror", "mirror", "--offline"])
        .assert_code(2)
        .assert_stderr_has("unexpected argument");
}

#[test]
fn there_must_be_a_lock_file() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.provlock(["mirror", "mirror"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: there is no lock file, so the mirror gets no package of this root module
help: provlock lock
"#]]);
    environment.write_lock_file("");
    environment.provlock(["mirror", "mirror"]).matches(str![[r#"
exit code: 0
----- stderr -----
Nothing to mirror: the lock files name no provider
"#]]);
}
