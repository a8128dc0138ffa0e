//! One directory is one root module, whatever it is called, and one lock file is written by one
//! root module at a time.

use std::os::unix::fs::{MetadataExt as _, symlink};

use super::lock::requires;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const CONFIGURATION: &str = "terraform {\n  backend \"local\" {}\n}\n";

/// Root modules `a` and `b` that require the same provider.
fn roots(registry: &Registry) -> TestEnvironment {
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let environment = TestEnvironment::with_registry(registry);
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            format!("{CONFIGURATION}{}", requires("hashicorp/null", "")),
        );
    }
    environment
}

#[test]
fn two_names_of_a_directory_are_one_root_module() {
    let registry = Registry::start();
    let environment = roots(&registry);
    symlink("a", environment.project().join("link")).unwrap();
    let absolute = environment.project().join("a");

    let names = [
        "lock",
        "-p",
        "linux_amd64",
        "a",
        absolute.to_str().unwrap(),
        "b/../a",
        "link",
    ];
    environment.provlock(names).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment
        .command(["lock", "-p", "linux_amd64", ".", "../a"])
        .run_in("a")
        .run()
        .assert_code(0);
    environment
        .provlock(["verify", "a", "link", "--allow", "single-platform"])
        .assert_code(0);
    assert!(!environment.project().join("b/.terraform.lock.hcl").exists());
}

#[test]
fn a_lock_file_that_root_modules_share_through_links_is_written_once() {
    let registry = Registry::start();
    let environment = roots(&registry);
    environment.write("shared.hcl", "");
    for root in ["a", "b"] {
        symlink(
            "../shared.hcl",
            environment.project().join(root).join(".terraform.lock.hcl"),
        )
        .unwrap();
    }

    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
Locked 2 root modules: 1 changed, 1 up to date; [SIZE] downloaded
"#]]);
    assert!(environment.read("shared.hcl").contains("hashicorp/null"));
    assert!(
        environment
            .project()
            .join("b/.terraform.lock.hcl")
            .is_symlink()
    );
    let number = || {
        environment
            .project()
            .join("shared.hcl")
            .metadata()
            .unwrap()
            .ino()
    };
    let before = number();
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(number(), before);
}

#[test]
fn root_modules_that_share_a_lock_file_each_add_what_they_require() {
    let registry = Registry::start();
    registry
        .publish("hashicorp/random", "3.7.2")
        .platforms(["linux_amd64"])
        .done();
    let environment = roots(&registry);
    environment.write("b/more.tf", "resource \"random_pet\" \"a\" {}\n");
    environment.write("a/.terraform.lock.hcl", "");
    symlink(
        "../a/.terraform.lock.hcl",
        environment.project().join("b/.terraform.lock.hcl"),
    )
    .unwrap();

    // Only the root module whose lock file is a link requires this provider.
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64", "hashicorp/random"])
        .assert_code(0);
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0);

    let lock_file = environment.read("a/.terraform.lock.hcl");
    assert!(
        lock_file.contains("hashicorp/null") && lock_file.contains("hashicorp/random"),
        "{lock_file}"
    );
}

#[test]
fn tree_obeys_the_settings_that_are_named() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "provider \"random\" {}\n");
    environment.write("ci/rules.toml", "dialect = \"terraform\"\n");

    let output = environment.provlock(["tree", "--json", "--config", "ci/rules.toml"]);

    output
        .assert_code(0)
        .assert_stdout_has("registry.terraform.io/hashicorp/random");
    environment
        .provlock(["tree", "--config", "missing.toml"])
        .assert_code(2)
        .assert_stderr_has("missing.toml");
}
