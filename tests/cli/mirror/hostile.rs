//! What may be in the directory of a mirror before it is filled.

use super::{MIRROR_BOTH, NULL, locked};
use provlock_test::registry::Registry;
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
        let registry = Registry::start();
        let (environment, _) = locked(&registry);
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
    survived("a document of a mirror that is none", documents.len());
}

#[test]
fn what_documents_say_of_other_packages_stays() {
    let registry = Registry::start();
    let (environment, null) = locked(&registry);
    let other = r#"{"hashes": ["h1:abc"], "url": "other.zip"}"#;
    environment.write(format!("{NULL}/index.json"), r#"{"versions": {"3.2.3": {"x": 1}, "later": {}}, "y": 2}"#);
    environment.write(
        format!("{NULL}/3.2.4.json"),
        format!(r#"{{"archives": {{"plan9_386": {other}, "linux_amd64": {other}}}, "z": 3}}"#),
    );
    environment.provlock(MIRROR_BOTH).assert_code(0);
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&environment.read(format!("{NULL}/{name}"))).unwrap()
    };
    let versions = serde_json::json!({ "versions": { "3.2.3": { "x": 1 }, "3.2.4": {}, "later": {} }, "y": 2 });
    assert_eq!(read("index.json"), versions);
    let archives = read("3.2.4.json");
    assert_eq!((&archives["archives"]["plan9_386"]["url"], &archives["z"]), (&"other.zip".into(), &3.into()));
    assert_eq!(archives["archives"]["linux_amd64"]["url"], *null.packages["linux_amd64"].filename);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_outside_of_the_mirror() {
    use super::{has, names};
    use std::os::unix::fs::symlink;
    let links = ["", "/hashicorp", "/hashicorp/null", "/hashicorp/null/index.json", "/hashicorp/null/3.2.4.json"];
    for link in links {
        let registry = Registry::start();
        let (environment, _) = locked(&registry);
        let target = environment.project().join("elsewhere");
        std::fs::create_dir(&target).unwrap();
        let target = if link.contains(".json") { target.join("new.json") } else { target };
        let link = environment.project().join(format!("mirror/registry.opentofu.org{link}"));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, &link).unwrap();
        environment.provlock(MIRROR_BOTH).assert_code(2);
        assert_eq!(names(&environment, "elsewhere"), [""; 0], "{}", link.display());
        assert_eq!(registry.requests_to(url::PACKAGE), 0);
    }
    survived("a link in a mirror that leads out of it", links.len());

    let registry = Registry::start();
    let (environment, null) = locked(&registry);
    let file = environment.write("file", "mine");
    let package = environment.project().join(NULL).join(&null.packages["linux_amd64"].filename);
    std::fs::create_dir_all(package.parent().unwrap()).unwrap();
    symlink(&file, &package).unwrap();
    environment.provlock(MIRROR_BOTH).assert_code(0);
    assert!(has(&environment, &null, "linux_amd64") && !package.is_symlink(), "the link made room for the package");
    assert_eq!(environment.read("file"), "mine");
    std::fs::remove_dir_all(environment.project().join("mirror")).unwrap();
    std::fs::create_dir_all(environment.project().join("mirror")).unwrap();
    symlink("nowhere", environment.project().join("mirror/registry.opentofu.org")).unwrap();
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot create mirror/registry.opentofu.org/hashicorp/null: File exists (os error 17)
help: name a directory that you can write to, where only a mirror is
"#]]);
}

#[test]
fn what_is_no_directory_is_an_error() {
    let registry = Registry::start();
    let (environment, _) = locked(&registry);
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
    let registry = Registry::start();
    let (environment, _) = locked(&registry);
    let locked = environment.lock_file().replace("hashicorp/null", "hashicorp/con");
    environment.write_lock_file(locked);
    environment.provlock(MIRROR_BOTH).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: registry.opentofu.org/hashicorp/con cannot be mirrored: con is not the name of a directory on every system
help: name the root modules that do not lock it
"#]]);
}
