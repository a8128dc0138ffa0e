//! `provlock.toml` outside of a repository: it is searched up to the home directory, and files of
//! other users are not read.

use std::path::Path;

use provlock_test::files::{entry, lock_file, requires};
use provlock_test::{Output, TestEnvironment};

/// Settings that forbid what the root module locks.
const STRICT: &str = "[policy]\nallowed-namespaces = [\"acme\"]\n";

/// A root module in a directory.
fn root_module(environment: &TestEnvironment, directory: &Path) {
    environment.write(directory.join("main.tf"), requires("hashicorp/null", ""));
    let hash = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let entries = [entry("hashicorp/null", "1.0.0", "", &[hash])];
    environment.write(directory.join(".terraform.lock.hcl"), lock_file(&entries));
}

fn verify(environment: &TestEnvironment, directory: &Path) -> Output {
    let arguments = ["verify", "--allow", "single-platform,untracked-lock-file"];
    environment.command(arguments).run_in(directory).run()
}

#[test]
fn the_search_ends_at_the_home_directory() {
    let environment = TestEnvironment::new();
    let above = environment.root().join("provlock.toml");
    environment.write(&above, STRICT);
    let below = environment.home().join("work/live");
    root_module(&environment, &below);
    verify(&environment, &below).assert_code(0);
    root_module(&environment, &environment.home());
    verify(&environment, &environment.home()).assert_code(0);
    // Outside of the home directory, it goes on.
    root_module(&environment, &environment.project());
    verify(&environment, &environment.project()).assert_code(1);

    environment.write(environment.home().join("provlock.toml"), STRICT);
    verify(&environment, &below).assert_code(1);
    // A repository around the home directory is searched to its top.
    std::fs::remove_file(environment.home().join("provlock.toml")).unwrap();
    environment.git_init(environment.root());
    verify(&environment, &below).assert_code(1);
}

/// A user that no test runs as.
#[cfg(unix)]
const OTHER: u32 = 54_321;

/// Gives a file to another user. `false` if this process may not do so, or if there is no file.
#[cfg(unix)]
fn give(path: &Path) -> bool {
    std::os::unix::fs::lchown(path, Some(OTHER), None).is_ok()
}

#[cfg(unix)]
#[test]
fn settings_of_other_users_are_not_read() {
    type Attempt = fn(&TestEnvironment, &Path);
    if !provlock_test::requires(provlock_test::Tool::Root) {
        return;
    }
    let attempts: [(&str, Attempt); 5] = [
        ("a file", |_, _| {}),
        ("a link of another user", |environment, path| {
            let own = environment.root().join("own.toml");
            std::fs::rename(path, &own).unwrap();
            std::os::unix::fs::symlink(&own, path).unwrap();
        }),
        ("a link to a file of another user", |environment, path| {
            let other = environment.root().join("other.toml");
            std::fs::rename(path, &other).unwrap();
            assert!(give(&other));
            std::os::unix::fs::symlink(&other, path).unwrap();
        }),
        ("a directory of another user", |_, path| {
            assert!(give(path.parent().unwrap()));
        }),
        ("a repository of another user", |environment, path| {
            environment.git_init(path.parent().unwrap());
            assert!(give(&path.with_file_name(".git")));
        }),
    ];
    for (name, attempt) in attempts {
        let environment = TestEnvironment::new();
        let path = environment.root().join("shared/provlock.toml");
        environment.write(&path, "[policy");
        let root = path.with_file_name("live");
        root_module(&environment, &root);
        attempt(&environment, &path);
        assert!(name.starts_with("a link to") || give(&path));
        let output = verify(&environment, &root);
        output.assert_code(0).assert_stderr_has(
            "provlock.toml was not read, because it belongs neither to you nor to the owner of the root module",
        );
        let warnings = output.stderr.matches("was not read").count();
        assert_eq!(warnings, 1, "{name}: {output}");
        // A user who names it trusts it.
        let named = ["verify", "--config", "../provlock.toml"];
        environment
            .command(named)
            .run_in(&root)
            .run()
            .assert_code(2);
        // The owner of the root module decides, too.
        assert!(give(&root));
        verify(&environment, &root).assert_code(2);
    }
}
