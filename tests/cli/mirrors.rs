//! `provlock lock` from mirrors.

use std::path::Path;

use super::lock::{lock_file, requires};
use provlock_test::faults::{Fault, Times};
use provlock_test::registry::{Mirror, MirrorHashes, Registry};
use provlock_test::{TestEnvironment, str, survived, url};

const MIRROR: &str = "https://mirror.example.com/providers/";
const FROM_MIRROR: [&str; 5] = ["lock", "-p", "linux_amd64", "--net-mirror", MIRROR];

fn demo() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"))
}

#[test]
fn the_demo_of_the_readme_locks_two_platforms_without_a_registry() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        std::fs::read(demo().join("demo/main.tf")).unwrap(),
    );
    let mirror = demo().join("mirror");
    let arguments = [
        "lock",
        "--platform",
        "linux_amd64",
        "--platform",
        "darwin_arm64",
        "--fs-mirror",
    ];
    let output = environment
        .command(
            arguments
                .iter()
                .map(|text| (*text).into())
                .chain([mirror.into_os_string()]),
        )
        .run();
    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null     3.2.4   unauthenticated   2 h1
  + hashicorp/random   3.6.3   unauthenticated   2 h1
Locked 2 providers for darwin_arm64 and linux_amd64 (2 added)
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    let text = environment.lock_file();
    assert_eq!(
        (text.matches("\"h1:").count(), text.matches("\"zh:").count()),
        (4, 0)
    );
}

#[test]
fn a_filesystem_mirror_gives_the_same_h1_packed_and_unpacked() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let package = &null.packages["linux_amd64"];
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    let lock = || {
        environment
            .provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"])
            .assert_code(0);
        environment.lock_file()
    };
    let expected = lock_file(&[null.entry("", std::slice::from_ref(&package.h1))]);

    let folder = "mirror/registry.opentofu.org/hashicorp/null";
    environment.write(format!("{folder}/{}", package.filename), &*package.archive);
    assert_eq!(lock(), expected);

    std::fs::remove_dir_all(environment.project().join("mirror")).unwrap();
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&**package.archive)).unwrap();
    archive
        .extract(environment.project().join(folder).join("3.2.4/linux_amd64"))
        .unwrap();
    assert_eq!(lock(), expected);
}

/// A file with a hole takes no room, and as long to hash as data.
#[cfg(target_os = "linux")]
#[test]
fn a_package_in_a_filesystem_mirror_has_a_limit() {
    let folder = "mirror/registry.opentofu.org/hashicorp/null";
    let files = [
        "3.2.4/linux_amd64/terraform-provider-null",
        "3.2.4/linux_amd64/more/data",
        "terraform-provider-null_3.2.4_linux_amd64.zip",
    ];
    for file in files {
        let environment = TestEnvironment::new();
        environment.write("main.tf", requires("hashicorp/null", ""));
        environment.write(
            format!("{folder}/3.2.4/linux_amd64/terraform-provider-null_v3.2.4"),
            "",
        );
        let sparse = environment.write(format!("{folder}/{file}"), "");
        std::fs::File::options()
            .write(true)
            .open(sparse)
            .unwrap()
            .set_len(5 << 30)
            .unwrap();
        if file.ends_with("_amd64.zip") {
            std::fs::remove_dir_all(environment.project().join(folder).join("3.2.4")).unwrap();
        }
        let output = environment.provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"]);
        output
            .assert_code(2)
            .assert_stderr_has("larger than 4294967296 bytes");
    }
    survived("a package that is larger than packages may be", files.len());
}

#[test]
fn a_filesystem_mirror_that_does_not_exist_is_named() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    let output = environment.provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "nowhere"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror directory nowhere does not exist, so it has no package of registry.opentofu.org/hashicorp/null
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
"#]]);
    std::fs::create_dir(environment.project().join("nowhere")).unwrap();
    let output = environment.provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "nowhere"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror nowhere has no package of registry.opentofu.org/hashicorp/null
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: expected below nowhere/registry.opentofu.org/hashicorp/null
"#]]);
}

/// To open a named pipe would wait for a writer.
#[cfg(unix)]
#[test]
fn only_regular_files_of_a_filesystem_mirror_are_packages() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let package = &null.packages["linux_amd64"];
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    let folder = environment
        .project()
        .join("mirror/registry.opentofu.org/hashicorp/null");
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("terraform-provider-null_3.2.5_linux_amd64.zip");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(pipe)
            .status()
            .unwrap()
            .success()
    );
    let lock = || environment.provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"]);
    lock().matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror mirror has no package of registry.opentofu.org/hashicorp/null
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: expected below mirror/registry.opentofu.org/hashicorp/null
"#]]);

    let archive = environment.write("elsewhere.zip", &*package.archive);
    std::os::unix::fs::symlink(archive, folder.join(&package.filename)).unwrap();
    lock().assert_code(0);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[null.entry("", std::slice::from_ref(&package.h1))])
    );
}

/// OpenTofu and Terraform follow links to packages, but not to the directories above them.
#[cfg(unix)]
#[test]
fn links_to_directories_of_a_filesystem_mirror_are_not_followed() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let package = &null.packages["linux_amd64"];
    let packed = format!("registry.opentofu.org/hashicorp/null/{}", package.filename);
    for link in [
        "registry.opentofu.org",
        "registry.opentofu.org/hashicorp",
        "registry.opentofu.org/hashicorp/null",
    ] {
        let environment = TestEnvironment::new();
        environment.write("main.tf", requires("hashicorp/null", ""));
        environment.write(format!("mirror/{packed}"), &*package.archive);
        let lock = || environment.provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"]);
        let (directory, elsewhere) = (
            environment.project().join("mirror").join(link),
            environment.root().join("real"),
        );
        std::fs::rename(&directory, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &directory).unwrap();
        let help = format!("help: replace the symbolic link mirror/{link} by a directory");
        lock()
            .assert_code(2)
            .assert_stderr_has("error[provider-not-found]")
            .assert_stderr_has(&help);
        assert!(
            !environment.project().join(".terraform.lock.hcl").exists(),
            "{link}"
        );
        std::fs::remove_file(&directory).unwrap();
        std::fs::rename(&elsewhere, &directory).unwrap();
        lock().assert_code(0);
    }
}

/// In a list, `2.0` and `02.0.0` are 2.0.0, as for Terraform.
#[test]
fn versions_in_lists_may_have_fewer_numbers_or_leading_zeros() {
    let registry = Registry::start();
    for version in ["1.0.0", "2.0.0"] {
        registry
            .publish("hashicorp/null", version)
            .platforms(["linux_amd64"])
            .done();
    }
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("hashicorp/null", ""));
    let package = registry
        .publish("hashicorp/random", "3.0.0")
        .platforms(["linux_amd64"])
        .done();
    let archive = &package.packages["linux_amd64"].archive;
    for written in ["2.0", "02.0.0", "2"] {
        let others = r#"{"version":"1.0.0"},{"version":"x"},{"version":null},{}"#;
        let versions = format!(r#"{{"versions":[{{"version":"{written}"}},{others}]}}"#);
        registry.serve("/v1/providers/hashicorp/null/versions", versions);
        let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
        environment
            .provlock(["lock", "-p", "linux_amd64", "--no-cache"])
            .assert_code(0);
        assert!(
            environment.lock_file().contains("version = \"2.0.0\""),
            "{written}"
        );

        let of_mirror = TestEnvironment::new();
        of_mirror.write("main.tf", requires("hashicorp/random", ""));
        let folder = "mirror/registry.opentofu.org/hashicorp/random";
        of_mirror.write(
            format!("{folder}/terraform-provider-random_{written}_linux_amd64.zip"),
            &**archive,
        );
        of_mirror
            .provlock(["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"])
            .assert_code(0);
        assert!(
            of_mirror.lock_file().contains("version = \"2.0.0\""),
            "{written}"
        );
    }
}

/// A mirror knows the hashes of its own packages, but not what the registry publishes for other
/// platforms.
#[test]
fn hashes_that_a_mirror_cannot_confirm_are_neither_wrong_nor_lost() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    let package = &null.packages["linux_amd64"];
    let elsewhere = null.hashes(&["darwin_arm64"]);
    let darwin = &null.packages["darwin_arm64"];
    let only_darwin = vec![darwin.h1.clone(), darwin.zh.clone()];
    let folder = "mirror/registry.opentofu.org/hashicorp/null";
    for (is_packed, recorded) in [(false, &elsewhere), (true, &only_darwin)] {
        let environment = TestEnvironment::new();
        environment.write("main.tf", requires("hashicorp/null", ""));
        let place = if is_packed { folder } else { "." };
        let archive = environment.write(format!("{place}/{}", package.filename), &*package.archive);
        if !is_packed {
            let mut archive = zip::ZipArchive::new(std::fs::File::open(&archive).unwrap()).unwrap();
            archive
                .extract(environment.project().join(folder).join("3.2.4/linux_amd64"))
                .unwrap();
        }
        let before = lock_file(&[null.entry("", recorded)]);
        environment.write_lock_file(before.clone());
        let lock = ["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"];

        let output = environment.provlock(lock);
        output.assert_code(2).assert_stderr_has(
            "the mirror mirror cannot confirm the hashes of hashicorp/null 3.2.4",
        );
        if !is_packed {
            output.matches(str![[r#"
exit code: 2
----- stderr -----
error[hashes-changed]: the mirror mirror cannot confirm the hashes of hashicorp/null 3.2.4 in the lock file
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 4 hashes that no package in it has
  |
  = they may belong to other platforms, or its packages differ from the locked ones
help: lock from the registry, which has all hashes; or compare with it: provlock verify --online; to keep these hashes and add the mirror's, pass --accept-changed-hashes
"#]]);
        }
        assert_eq!(environment.lock_file(), before);

        let output = environment.provlock([&lock[..], &["--accept-changed-hashes"]].concat());
        output
            .assert_code(0)
            .assert_stderr_has("could be confirmed");
        let hashes = [recorded.clone(), vec![package.h1.clone()]].concat();
        assert_eq!(
            environment.lock_file(),
            lock_file(&[null.entry("", &hashes)]),
            "packed: {is_packed}"
        );
    }
}

#[test]
fn a_network_mirror_adds_the_zh_that_it_reports_in_the_tofu_dialect() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    environment.write("main.tf", requires("hashicorp/null", ""));

    environment.provlock(FROM_MIRROR).assert_code(0);

    let hashes = [
        null.h1("linux_amd64").to_owned(),
        null.zh("linux_amd64").to_owned(),
    ];
    assert_eq!(
        environment.lock_file(),
        lock_file(&[null.entry("", &hashes)])
    );
    assert_eq!(registry.requests_to("registry.opentofu.org/*"), 0);
    assert_eq!(registry.requests_to(url::PACKAGE), 1);
}

#[test]
fn a_mirror_that_reports_other_hashes_is_refused() {
    let reports = [
        (MirrorHashes::H1, true),
        (MirrorHashes::Zh, true),
        (MirrorHashes::None, true),
        (MirrorHashes::H1WithDirectories, true),
        (
            MirrorHashes::Fixed(vec!["h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]),
            false,
        ),
        (MirrorHashes::Fixed(vec!["h9:abcdef"]), false),
        (MirrorHashes::Fixed(vec!["nocolon"]), false),
    ];
    for (hashes, accepted) in reports {
        let (registry, environment) = Registry::with_project();
        registry
            .publish("hashicorp/null", "3.2.4")
            .platforms(["linux_amd64"])
            .done();
        registry.mirror(
            MIRROR,
            Mirror {
                hashes: hashes.clone(),
            },
        );
        environment.write("main.tf", requires("hashicorp/null", ""));
        let output = environment.provlock(FROM_MIRROR);
        assert_eq!(
            output.code,
            Some(if accepted { 0 } else { 2 }),
            "{hashes:?}\n{output}"
        );
        assert_eq!(environment.has_lock_file(), accepted);
    }
}

#[test]
fn the_token_of_a_mirror_goes_to_its_documents_only() {
    let (registry, mut environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    environment.set("TF_TOKEN_mirror_example_com", "t0ken");
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(FROM_MIRROR)
        .assert_code(0)
        .assert_lacks("t0ken");
    let sent = |pattern: &str| {
        registry
            .requests_matching(pattern)
            .iter()
            .map(|r| r.authorization().is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(sent("*.json"), [true, true]);
    assert_eq!(sent(url::PACKAGE), [false]);
}

#[test]
fn the_url_of_a_mirror_is_https() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    let output = environment.provlock(["lock", "--net-mirror", "http://mirror.example.com/"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: http://mirror.example.com/ is not the URL of a network mirror: it does not start with https
help: write it as https://HOST/PATH/
"#]]);
}

#[test]
fn all_platforms_of_a_version_that_has_none_are_an_error() {
    let (registry, environment) = Registry::with_project();
    registry.add_host("mirror.example.com");
    let folder = "/providers/registry.opentofu.org/hashicorp/null";
    registry.serve(
        &format!("{folder}/index.json"),
        r#"{ "versions": { "3.2.4": {} } }"#,
    );
    registry.serve(&format!("{folder}/3.2.4.json"), r#"{ "archives": {} }"#);
    environment.write("main.tf", requires("hashicorp/null", ""));
    let output = environment.provlock(["lock", "-p", "all", "--net-mirror", MIRROR]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[platform-not-available]: no platform to lock registry.opentofu.org/hashicorp/null 3.2.4 for
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: name the platforms, for example: --platform linux_amd64
"#]]);
    assert!(
        !environment.has_lock_file(),
        "without a hash any package would be accepted"
    );
}

#[test]
fn the_secrets_in_the_url_of_a_mirror_are_not_shown() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    environment.write("main.tf", requires("hashicorp/null", ""));
    let run = |mirror: &str, says: &str| {
        let output = environment.provlock(["lock", "-p", "linux_amd64", "--net-mirror", mirror]);
        output
            .assert_code(2)
            .assert_stderr_has(says)
            .assert_lacks("hunter2");
        output
    };
    let shown = "http://redacted@mirror.example.com/ is not the URL of a network mirror";
    run("http://user:hunter2@mirror.example.com/", shown).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: http://redacted@mirror.example.com/ is not the URL of a network mirror: it does not start with https
help: write it as https://HOST/PATH/
"#]]);
    run(
        "https://user:hunter2@mirror.exa mple.com/",
        "invalid international domain name",
    )
    .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: a network mirror must have a URL: invalid international domain name
help: write it as https://HOST/PATH/
"#]]);
    let _ = run(
        "user:hunter2@mirror.example.com",
        "user:[redacted] is not the URL of a network mirror",
    );
    let with_password = MIRROR.replace("https://", "https://user:hunter2@");
    let nowhere = with_password.replace("/providers/", "/nowhere/");
    run(&nowhere, "the mirror https://redacted@mirror.example.com/nowhere/ has no package of").matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror https://redacted@mirror.example.com/nowhere/ has no package of registry.opentofu.org/hashicorp/null
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
  = asked for https://redacted@mirror.example.com/nowhere/registry.opentofu.org/hashicorp/null/index.json
"#]]);
    let answer = |url: &str| {
        let document = format!(
            r#"{{"archives": {{"linux_amd64": {{"url": "{url}", "hashes": ["h9:abcdef"]}}}}}}"#
        );
        registry.fault(
            "*/3.2.4.json",
            Times::Always,
            Fault::Body(document.into_bytes()),
        );
    };
    answer("https://user:hunter2@:1/a.zip?sig=hunter2");
    let _ = run(
        MIRROR,
        "the mirror sent an invalid URL for the package: empty host",
    );
    registry.clear_faults();
    let package = null.packages["linux_amd64"].archive.to_vec();
    registry.fault(
        "mirror.example.com/null.zip*",
        Times::Always,
        Fault::Body(package),
    );
    answer("https://mirror.example.com/null.zip?sig=hunter2");
    run(MIRROR, "the mirror reports only hashes of unknown schemes").matches(str![[r#"
exit code: 2
----- stderr -----
error[package-not-authentic]: registry.opentofu.org/hashicorp/null 3.2.4 for linux_amd64: the mirror reports only hashes of unknown schemes: h9:abcdef
 |
 = downloaded from https://mirror.example.com/null.zip?[redacted]
help: ask the provider's publisher; the package may have been tampered with
"#]]);
}

/// A mirror has copies of some versions, and never shows what a registry has withdrawn.
#[test]
fn a_mirror_without_the_locked_version_has_not_withdrawn_it() {
    let (registry, environment) = Registry::with_project();
    let old = registry
        .publish("hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.write_lock_file(old.lock_file("", &["linux_amd64"]));
    registry.withdraw("hashicorp/null", "3.1.0");
    let new = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    let package = &new.packages["linux_amd64"];
    environment.write(
        format!(
            "mirror/registry.opentofu.org/hashicorp/null/{}",
            package.filename
        ),
        &*package.archive,
    );
    environment.provlock(FROM_MIRROR).matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: hashicorp/null 3.1.0 is locked, but the mirror https://mirror.example.com/providers/ does not have it
 --> .terraform.lock.hcl:5:13
  |
5 |   version = "3.1.0"
  |             ^^^^^^^ locked here
  |
help: put the version into the mirror; or, to lock a version that is there: provlock upgrade hashicorp/null --net-mirror https://mirror.example.com/providers/
"#]]);
    let lock = ["lock", "-p", "linux_amd64", "--fs-mirror", "mirror"];
    environment
        .provlock(lock)
        .assert_code(2)
        .assert_stderr_has("is locked, but the mirror mirror does not have it")
        .assert_lacks("version-withdrawn");
    // The registry itself has withdrawn it.
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("error[version-withdrawn]");
}
