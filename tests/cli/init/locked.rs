//! `init` writes settings for locked providers, refuses suspicious ones, and ignores problems of
//! other files.

use super::{FILE, lock, project, registry};
use crate::lock::requires;
use provlock_test::{Registry, TestEnvironment, str};

#[test]
fn a_namespace_that_is_required_and_not_locked_is_not_allowed() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    environment.write(
        "live/new/main.tf",
        requires("evil/gamma", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    let output = environment.provlock(["init"]);
    output
        .assert_code(0)
        .assert_stderr_has("Not locked, so the file does not allow: ");
    output.assert_stderr_has("registry.opentofu.org/evil/gamma");
    assert!(!environment.read(FILE).contains("evil"));
    environment
        .provlock(["verify", "-r"])
        .assert_code(1)
        .assert_stdout_has("error[namespace-not-allowed]");
}

#[test]
fn a_provider_that_looks_like_another_is_refused_whether_it_is_locked_or_not() {
    let registry = registry();
    registry
        .publish("hashlcorp/null", "1.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    let repository = project(&registry);
    let environment = &repository.environment;
    environment.write(
        "live/new/main.tf",
        requires("hashlcorp/null", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[look-alike]: registry.opentofu.org/hashlcorp/null looks like hashicorp/null, but is not
 --> live/new/main.tf:4:16
  |
4 |       source = "hashlcorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
  = root module: live/new
help: correct the source; if the address is right, add its namespace to allowed-namespaces in provlock.toml
"#]]);
    assert!(!environment.project().join(FILE).exists());

    lock(environment, "live/new", "hashlcorp/null", "1.0.0");
    environment
        .provlock(["init"])
        .assert_code(2)
        .assert_stderr_has("error[look-alike]");
    environment
        .provlock(["init", "--dry-run"])
        .assert_code(2)
        .assert_stderr_has("error[look-alike]");
    assert!(!environment.project().join(FILE).exists());

    environment.write(
        FILE,
        "[policy]\nallowed-namespaces = [\"acme\", \"hashicorp\", \"hashlcorp\"]\n",
    );
    environment.provlock(["init", "--force"]).assert_code(0);
    assert!(
        environment.read(FILE).contains("hashlcorp"),
        "the user has allowed it before"
    );
}

/// A root module that is locked for one platform.
fn on_a_laptop() -> (Registry, TestEnvironment) {
    let registry = registry();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("acme/gamma", "1.0.0"));
    environment
        .provlock(["lock", "-p", "darwin_arm64"])
        .assert_code(0);
    (registry, environment)
}

#[test]
fn the_platform_of_one_laptop_does_not_become_the_rule() {
    let (_registry, environment) = on_a_laptop();
    let output = environment.provlock(["init"]);
    output.assert_code(0);
    assert!(!environment.read(FILE).contains("\nplatforms"), "{output}");
    let suggested = "# platforms = [\"darwin_arm64\", \"linux_amd64\"]\n";
    assert!(environment.read(FILE).contains(suggested), "{output}");
    environment.provlock(["init", "--dry-run"]).matches(str![[r#"
exit code: 0
----- stdout -----
# Written by provlock init; docs/gate.md of provlock explains each line.
dialect = "tofu"
# Name the platforms of your team and of CI, then run provlock lock -r:
# platforms = ["darwin_arm64", "linux_amd64"]

[policy]
allowed-hosts = ["registry.opentofu.org"]
allowed-namespaces = ["registry.opentofu.org/acme"]
allowed-modules = []
require-signed = true

[verify]
deny = ["downgrade", "signing-key-changed"]

[trust]
"registry.opentofu.org/acme/*" = ["A25ECC4C5F13D8BD58C8F042D4C3D99898E3BB5C"]
----- stderr -----
warning[platform-missing]: every lock file covers darwin_arm64, and no other platform is covered by all of them
help: name the platforms of your team and of CI, as in: provlock init --force -p darwin_arm64,linux_amd64; then lock them: provlock lock -r
Found 1 root module for tofu, 1 platform, 1 host, 1 namespace and 1 signing key
"#]]);
    let report = crate::json_output::validated(
        &environment.provlock(["init", "--dry-run", "--json"]).stdout,
    );
    assert_eq!(report["warnings"][0]["code"], "platform-missing");

    environment
        .provlock(["init", "--force", "-p", "linux_amd64,darwin_arm64"])
        .assert_code(0)
        .assert_lacks("warning[");
    assert!(
        environment
            .read(FILE)
            .contains("\nplatforms = [\"darwin_arm64\", \"linux_amd64\"]\n")
    );
    environment.provlock(["lock", "-r"]).assert_code(0);
    environment
        .provlock(["verify", "-r"])
        .assert_code(0)
        .assert_stderr_has("for darwin_arm64 and linux_amd64");
}

#[test]
fn the_platforms_of_the_flag_become_the_rule() {
    let (_registry, environment) = on_a_laptop();
    for (named, setting) in [
        ("darwin_arm64", "platforms = [\"darwin_arm64\"]"),
        ("all", "platforms = [\"all\"]"),
    ] {
        environment
            .provlock(["init", "--force", "-p", named])
            .assert_code(0)
            .assert_lacks("warning[");
        assert!(
            environment.read(FILE).contains(&format!("\n{setting}\n")),
            "{}",
            environment.read(FILE)
        );
    }
    environment
        .provlock(["init", "--dry-run", "--no-cache"])
        .assert_code(0)
        .assert_stdout_has("# platforms = [");
}

#[test]
fn a_lock_file_without_a_configuration_does_not_stop_the_others() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    std::fs::remove_file(environment.project().join("live/c/main.tf")).unwrap();
    let output = environment.provlock(["init"]);
    output
        .assert_code(0)
        .assert_stderr_has("warning[no-configuration]")
        .assert_stderr_has("Found 3 root modules");
    assert!(
        environment.read(FILE).contains("hashicorp"),
        "what it locks is allowed as before"
    );
    environment.provlock(["verify", "-r"]).assert_code(0);
}

#[test]
fn a_configuration_that_cannot_be_read_does_not_stop_the_others() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    environment.write("live/c/broken.tf", "resource {");
    let output = environment.provlock(["init"]);
    output
        .assert_code(0)
        .assert_stderr_has("warning[")
        .assert_stderr_has("live/c/broken.tf");
    assert!(
        !environment.read(FILE).contains("pin-modules"),
        "it may call a module that moves"
    );
    environment.write("live/c/.terraform.lock.hcl", "provider {");
    environment
        .provlock(["init", "--force"])
        .assert_code(2)
        .assert_stderr_has("error[lock-file-syntax]");
}

#[test]
fn init_without_lock_files_proposes_lock() {
    let registry = registry();
    let environment = TestEnvironment::with_registry(&registry);
    let with_backend = requires("acme/gamma", "") + "terraform {\n  backend \"s3\" {}\n}\n";
    environment.write("a/main.tf", &with_backend);
    environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: no root module here has locked a provider, and init writes only what is locked
help: lock first: provlock lock -r
"#]]);
    environment.write("main.tf", with_backend);
    std::fs::remove_dir_all(environment.project().join("a")).unwrap();
    environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: no root module here has locked a provider, and init writes only what is locked
help: lock first: provlock lock
"#]]);
}

#[test]
fn a_possible_root_module_is_proposed_by_name() {
    let registry = registry();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write(
        "main.tf",
        requires("acme/gamma", "") + "resource \"gamma_thing\" \"a\" {}\n",
    );
    environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[no-configuration]: No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml; to lock the configuration in . as a root module: provlock lock
"#]]);
    environment.provlock(["lock", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml; to lock the configuration in . as a root module: provlock lock
"#]]);
    environment.provlock(["lock"]).assert_code(0);
    environment.provlock(["init"]).assert_code(0);
}
