//! Hostile content in the directory of a mirror before it is filled.

use super::{BOTH, MIRROR_BOTH, NULL, has, locked, package};
use provlock_test::registry::Mirror;
use provlock_test::{str, survived, url};

#[test]
fn documents_that_cannot_be_read_stop_the_provider_before_anything_is_fetched() {
    let large = vec![b' '; (4 << 20) + 1];
    let deep = "[".repeat(100_000);
    let documents: [(&str, &[u8]); 8] = [
        ("index.json", b"{"),
        ("index.json", b"[]"),
        ("index.json", br#"{"versions": []}"#),
        ("index.json", &large),
        ("3.2.4.json", b"\xff"),
        ("3.2.4.json", br#"{"archives": {"linux_amd64": {}"#),
        ("3.2.4.json", &large),
        ("index.json", deep.as_bytes()),
    ];
    for (name, content) in &documents {
        let (registry, environment, _) = locked();
        let path = environment.write(format!("{NULL}/{name}"), content);
        let output = environment.provlock(MIRROR_BOTH);
        output
            .assert_code(2)
            .assert_stderr_has("cannot read mirror")
            .assert_stderr_has(name)
            .assert_stderr_has("remove it");
        assert_eq!(registry.requests_to(url::PACKAGE), 0);
        assert_eq!(std::fs::read(path).unwrap(), *content);
    }
    survived("an invalid document of a mirror", documents.len());
}

/// A document that names files as packages of platforms.
fn document(packages: &[(&str, &str)]) -> String {
    let archives: Vec<_> = packages
        .iter()
        .map(|(platform, url)| format!(r#""{platform}": {{"hashes": ["h1:abc"], "url": "{url}"}}"#))
        .collect();
    format!(r#"{{"archives": {{{}}}, "z": 3}}"#, archives.join(", "))
}

#[test]
fn true_entries_of_other_packages_stay_in_documents() {
    let (registry, environment, null) = locked();
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&environment.read(format!("{NULL}/{name}"))).unwrap()
    };
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let right = read("3.2.4.json");
    let (linux, darwin) = (
        &null.packages["linux_amd64"].filename,
        &null.packages["darwin_arm64"].filename,
    );
    let gone = "terraform-provider-null_3.2.4_plan9_386.zip";
    let named = [
        ("linux_amd64", &**linux),
        ("darwin_arm64", darwin),
        ("plan9_386", gone),
        ("2024", "https://h.test/x"),
    ];
    for cache in [&[][..], &["--no-cache"]] {
        environment.write(format!("{NULL}/3.2.4.json"), document(&named));
        let index = r#"{"versions": {"9.9.9": {}, "3.2.4": {"x": 1}, "later": {}}, "y": 2}"#;
        environment.write(format!("{NULL}/index.json"), index);
        environment
            .provlock(
                ["mirror", "mirror", "-p", "linux_amd64"]
                    .iter()
                    .chain(cache),
            )
            .assert_code(0);
        assert_eq!(
            read("3.2.4.json"),
            right,
            "hashes are those of the files, and nothing else is named"
        );
        assert_eq!(
            read("index.json"),
            serde_json::json!({ "versions": { "3.2.4": {} } })
        );
    }
    registry
        .publish("hashicorp/null", "3.2.5")
        .platforms(BOTH)
        .done();
    environment
        .provlock(["upgrade", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0);
    environment
        .provlock([&MIRROR_BOTH[..], &["--no-cache"]].concat())
        .assert_code(0);
    assert_eq!(
        read("index.json"),
        serde_json::json!({ "versions": { "3.2.4": {}, "3.2.5": {} } })
    );
    assert_eq!(read("3.2.4.json"), right);
}

#[test]
fn documents_that_name_something_else_are_not_written() {
    let linux = "terraform-provider-null_3.2.4_linux_amd64.zip";
    let evil = |name: &str| document(&[("plan9_386", name)]);
    let canonical = "terraform-provider-null_3.2.4_plan9_386.zip";
    let cases = [
        ("3.2.4.json", evil("https://evil.test/null.zip")),
        ("3.2.4.json", evil("../../../../evil.zip")),
        ("3.2.4.json", evil("evil.zip")),
        ("3.2.4.json", evil(linux)),
        ("3.2.4.json", evil(canonical)),
        ("3.2.3.json", evil("https://evil.test/null.zip")),
        (
            "3.2.3.json",
            document(&[(
                "linux_amd64",
                "terraform-provider-null_3.2.3_linux_amd64.zip",
            )]),
        ),
    ];
    for (name, evil) in &cases {
        let (_registry, environment, null) = locked();
        environment.provlock(MIRROR_BOTH).assert_code(0);
        environment.write(format!("{NULL}/{name}"), evil);
        environment.write(
            format!("{NULL}/index.json"),
            r#"{"versions": {"3.2.3": {}, "3.2.4": {}}}"#,
        );
        // The bytes are a locked package, but for another platform.
        for file in [canonical, "terraform-provider-null_3.2.3_linux_amd64.zip"] {
            environment.write(
                format!("{NULL}/{file}"),
                &**null.packages["linux_amd64"].archive,
            );
        }
        let before = environment.snapshot();
        for more in [&[][..], &["--no-cache"]] {
            let output = environment.provlock(MIRROR_BOTH.iter().chain(more));
            output
                .assert_code(2)
                .assert_stderr_has(name)
                .assert_stderr_has("is not known to be");
            before.assert_same(&environment.snapshot());
        }
    }
    survived("an unverified file in a mirror", 2 * cases.len());
}

#[test]
fn a_package_under_the_name_of_another_platform_is_replaced() {
    let runs: [&[&str]; 3] = [
        &[],
        &["--no-cache"],
        &[
            "--no-cache",
            "--net-mirror",
            "https://mirror.example.com/p/",
        ],
    ];
    let cases = [
        ("linux_amd64", "darwin_arm64"),
        ("darwin_arm64", "linux_amd64"),
    ];
    for (name, of) in cases {
        for more in runs {
            let (registry, environment, null) = locked();
            registry.mirror("https://mirror.example.com/p/", Mirror::default());
            environment.provlock(MIRROR_BOTH).assert_code(0);
            std::fs::write(
                package(&environment, &null, name),
                &**null.packages[of].archive,
            )
            .unwrap();
            environment
                .provlock(MIRROR_BOTH.iter().chain(more))
                .assert_code(0)
                .assert_stderr_has("replaced another file");
            assert!(
                BOTH.iter()
                    .all(|platform| has(&environment, &null, platform))
            );
        }
    }
    for more in &runs[..2] {
        let (_registry, environment, null) = locked();
        environment.provlock(MIRROR_BOTH).assert_code(0);
        for (name, of) in cases {
            std::fs::write(
                package(&environment, &null, name),
                &**null.packages[of].archive,
            )
            .unwrap();
        }
        environment
            .provlock(MIRROR_BOTH.iter().chain(*more))
            .assert_code(0);
        assert!(
            BOTH.iter()
                .all(|platform| has(&environment, &null, platform))
        );
    }
    survived(
        "an unverified file in a mirror",
        cases.len() * runs.len() + 2,
    );
}

#[cfg(unix)]
#[test]
fn nothing_is_written_outside_of_the_mirror() {
    use super::names;
    use std::os::unix::fs::symlink;
    let links = [
        "",
        "/hashicorp",
        "/hashicorp/null",
        "/hashicorp/null/index.json",
        "/hashicorp/null/3.2.4.json",
    ];
    for link in links {
        let (registry, environment, _) = locked();
        let target = environment.project().join("elsewhere");
        std::fs::create_dir(&target).unwrap();
        let target = if link.contains(".json") {
            target.join("new.json")
        } else {
            target
        };
        let link = environment
            .project()
            .join(format!("mirror/registry.opentofu.org{link}"));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, &link).unwrap();
        environment.provlock(MIRROR_BOTH).assert_code(2);
        assert_eq!(
            names(&environment, "elsewhere"),
            [""; 0],
            "{}",
            link.display()
        );
        assert_eq!(registry.requests_to(url::PACKAGE), 0);
    }
    survived("a link in a mirror that leads out of it", links.len());

    let (_registry, environment, null) = locked();
    let file = environment.write("file", "mine");
    let package = environment
        .project()
        .join(NULL)
        .join(&null.packages["linux_amd64"].filename);
    std::fs::create_dir_all(package.parent().unwrap()).unwrap();
    symlink(&file, &package).unwrap();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    assert!(
        has(&environment, &null, "linux_amd64") && !package.is_symlink(),
        "the link made room for the package"
    );
    assert_eq!(environment.read("file"), "mine");
    std::fs::remove_dir_all(environment.project().join("mirror")).unwrap();
    std::fs::create_dir_all(environment.project().join("mirror")).unwrap();
    symlink(
        "nowhere",
        environment.project().join("mirror/registry.opentofu.org"),
    )
    .unwrap();
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot create mirror/registry.opentofu.org/hashicorp/null: File exists (os error 17)
help: name a directory that you can write to, where only a mirror is
"#]]);
}

#[test]
fn a_mirror_path_that_is_no_directory_is_an_error() {
    let (_registry, environment, _) = locked();
    environment.write("mirror", "a file");
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot create mirror: File exists (os error 17)
help: name a directory that you can write to, where only a mirror is
"#]]);
}

#[test]
fn names_that_are_devices_on_windows_are_refused() {
    let (_registry, environment, _) = locked();
    let locked = environment
        .lock_file()
        .replace("hashicorp/null", "hashicorp/con");
    environment.write_lock_file(locked);
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: registry.opentofu.org/hashicorp/con cannot be mirrored: con is not the name of a directory on every system
help: name the root modules that do not lock it
"#]]);
}
