//! Mirrors for many root modules.

use super::super::lock::{BOTH, lock_file, requires};
use super::{has, package};
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

const MIRROR_ALL: [&str; 5] = ["mirror", "mirror", "-r", "-p", "linux_amd64"];

/// A root module with a lock file.
fn root(environment: &TestEnvironment, root: &str, lock_file: &str) {
    environment.write(format!("{root}/main.tf"), requires("hashicorp/null", ""));
    environment.write(format!("{root}/.terraform.lock.hcl"), lock_file);
}

#[test]
fn each_package_is_fetched_once_for_all_root_modules() {
    let (registry, environment) = Registry::with_project();
    let [old, new] = ["3.2.3", "3.2.4"].map(|version| {
        registry
            .publish("hashicorp/null", version)
            .platforms(BOTH)
            .done()
    });
    for name in ["a", "b", "deep/c"] {
        root(&environment, name, &new.lock_file("", &BOTH));
    }
    root(&environment, "d", &old.lock_file("", &BOTH));
    environment.provlock(MIRROR_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.3   linux_amd64   signed   [SIZE]
  + hashicorp/null   3.2.4   linux_amd64   signed   [SIZE]
Mirrored 2 packages of 1 provider in mirror: 2 downloaded ([SIZE])
"#]]);
    assert_eq!(registry.requests_to(url::PACKAGE), 2);
    environment
        .provlock(["mirror", "named", "-p", "linux_amd64", "a", "d/main.tf"])
        .assert_code(0);
    environment
        .provlock(["mirror", "../mirror", "-p", "linux_amd64", "-C", "a"])
        .assert_code(0)
        .assert_stderr_has("Up to date");
}

#[test]
fn hashes_missing_in_one_lock_file_do_not_stop_others() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(BOTH)
        .done();
    root(
        &environment,
        "a",
        &lock_file(&[null.entry("", &[null.h1("darwin_arm64").to_owned()])]),
    );
    root(
        &environment,
        "also",
        &environment.read("a/.terraform.lock.hcl"),
    );
    root(&environment, "b", &null.lock_file("", &BOTH));
    root(&environment, "broken", "provider {");
    root(&environment, "unlocked", "");
    std::fs::remove_file(environment.project().join("unlocked/.terraform.lock.hcl")).unwrap();
    environment.write(
        "unlocked/backend.tf",
        "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.provlock(MIRROR_ALL.into_iter().chain(["--prune"])).matches(str![[r#"
exit code: 2
----- stderr -----
warning[io]: nothing is removed from the mirror, because of the errors
  + hashicorp/null   3.2.4   linux_amd64   signed   [SIZE]
error[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> broken/.terraform.lock.hcl:1:10
  |
1 | provider {
  |          ^
  |
  = root module: broken
help: correct the file, or remove it and run: provlock -C broken lock

error[lock-file-missing]: there is no lock file, so the mirror gets no package of this root module
 |
 = root module: unlocked
help: provlock -C unlocked lock

error[platform-missing]: the lock file has no hash of the package of hashicorp/null 3.2.4 for linux_amd64
 --> a/.terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^ its only hash is not the package's
  |
  = the package has h1:DtNFvSSFRQfRiy/2IIgxol70KAERtZXn1/Npr/JrVvg= and zh:[HASH]
  = it was locked without this platform, or the release was replaced after it was locked
  = 1 other lock file records the same
  = root module: a
help: to record the platform, or see what was replaced: provlock -C a lock -p linux_amd64 hashicorp/null
Mirrored 1 package of 1 provider in mirror: 1 downloaded ([SIZE])
"#]]);
    assert!(has(&environment, &null, "linux_amd64"));
    // Existing packages are checked in the same way.
    environment
        .provlock(MIRROR_ALL)
        .assert_code(2)
        .assert_stderr_has("has no hash of the package");
    assert!(!package(&environment, &null, "darwin_arm64").exists());
}

#[test]
fn without_root_modules_there_is_nothing_to_do() {
    let environment = TestEnvironment::new();
    let before = environment.snapshot();
    environment
        .provlock(MIRROR_ALL.into_iter().chain(["--prune"]))
        .assert_code(0)
        .assert_stderr_has("No root module in .");
    before.assert_same(&environment.snapshot());
}
