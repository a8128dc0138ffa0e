//! Remote modules that no program has installed.

use std::path::Path;

use super::lock::requires;
use provlock_test::{Registry, TestEnvironment, str};

/// Runs git in a directory of the test.
fn git<const N: usize>(environment: &TestEnvironment, directory: &Path, arguments: [&str; N]) {
    let who = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];
    environment.program("git", who.into_iter().chain(arguments)).run_in(directory).run().assert_code(0);
}

/// Commits a module to `work`, and hands it to the bare repository `modules.git` beside it.
fn publish(environment: &TestEnvironment, configuration: &str, tag: &str) {
    let work = environment.root().join("work");
    let is_new = !work.exists();
    environment.write(work.join("network/main.tf"), configuration);
    environment.write(work.join("network/README"), "No configuration.\n");
    if is_new {
        git(environment, &work, ["init", "--quiet"]);
        git(environment, &environment.root(), ["init", "--quiet", "--bare", "modules.git"]);
    }
    git(environment, &work, ["add", "."]);
    git(environment, &work, ["commit", "--quiet", "--message=m"]);
    git(environment, &work, ["tag", tag]);
    git(environment, &work, ["push", "--quiet", "../modules.git", "main", tag]);
}

/// A project that calls the module at a tag.
fn calls(environment: &TestEnvironment, tag: &str) {
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref={tag}", repository.display());
    environment.write("main.tf", format!("module \"network\" {{\n  source = \"{source}\"\n}}\n"));
}

#[test]
fn a_module_in_git_is_fetched_once_and_read_from_the_cache() {
    let registry = Registry::start();
    registry.publish("acme/gamma", "1.5.0").platforms(["linux_amd64"]).done();
    registry.publish("acme/gamma", "2.0.0").platforms(["linux_amd64"]).done();
    let environment = TestEnvironment::with_registry(&registry);
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    publish(&environment, &requires("acme/gamma", "~> 2.0"), "v2.0.0");
    calls(&environment, "v1.0.0");

    environment.provlock(["lock", "-p", "linux_amd64", "--no-fetch-modules"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: module "network" from "git::file://[ROOT]/modules.git//network?ref=v1.0.0" is not installed
 --> main.tf:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            [..]^ called here
  |
help: install it with tofu get or tofu init, or skip it with --allow-missing-modules
"#]]);
    assert!(!environment.has_lock_file());

    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/gamma   1.5.0   signed, key ID 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
"#]]);
    assert!(environment.lock_file().contains("constraints = \"~> 1.0\""), "{}", environment.lock_file());

    std::fs::rename(environment.root().join("modules.git"), environment.root().join("gone.git")).unwrap();
    environment.provlock(["verify"]).assert_code(0).assert_lacks("module-not-installed");
    environment.provlock(["lock", "-p", "linux_amd64", "--offline", "--check"]).assert_code(0);
    environment.provlock(["verify", "--no-fetch-modules"]).assert_code(0).assert_stdout_has("module-not-installed");
    environment.provlock(["verify", "--no-cache"]).assert_code(0).assert_stdout_has("module-not-installed");

    calls(&environment, "v2.0.0");
    environment.provlock(["verify"]).assert_code(0).assert_stdout_has("module-not-installed");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("cannot get the module package");
    std::fs::rename(environment.root().join("gone.git"), environment.root().join("modules.git")).unwrap();
    environment.provlock(["verify", "--online"]).assert_code(1).assert_stdout_has("version-outside-constraints");
}

#[test]
fn the_cache_is_for_the_user_alone_whatever_is_put_there_first() {
    use std::os::unix::fs::PermissionsExt as _;
    let registry = Registry::start();
    registry.publish("acme/gamma", "1.5.0").platforms(["linux_amd64"]).done();
    let mut environment = TestEnvironment::with_registry(&registry);
    let cache = environment.root().join("new/cache");
    environment.set("PROVLOCK_CACHE_DIR", &cache);
    publish(&environment, &requires("acme/gamma", "~> 1.0"), "v1.0.0");
    calls(&environment, "v1.0.0");
    let lock = format!("umask 0; exec {} lock -p linux_amd64", env!("CARGO_BIN_EXE_provlock"));
    for _ in 0..2 {
        environment.program("sh", ["-c", &lock]).run().assert_code(0);
        for directory in [&cache, &cache.join("provlock-modules-v1/contents")] {
            assert_eq!(std::fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
