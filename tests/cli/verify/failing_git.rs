//! `verify` where git cannot be run, or refuses to read the repository.

use super::gate::Gate;

#[test]
fn git_that_cannot_be_asked_is_reported() {
    let gate = Gate::new();
    let run = |arguments: &[&str], variable: &str, value: &str| {
        gate.0
            .environment
            .command(
                ["verify", "--allow", "single-platform", "-r"]
                    .iter()
                    .chain(arguments),
            )
            .env(variable, value)
            .run()
    };
    let other_owner = "GIT_TEST_ASSUME_DIFFERENT_OWNER";
    run(&[], other_owner, "1").matches(provlock_test::str![[r#"
exit code: 0
----- stderr -----
warning[io]: git ls-files failed: detected dubious ownership in repository at '[ROOT]/project'
 |
 = could not check whether git tracks the lock files
help: if you trust its owner: git config --global --add safe.directory [ROOT]/project
OK: 2 providers of 2 root modules locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
3 root modules: 2 OK, 1 excluded by provlock.toml
"#]]);
    run(&["--base", "main"], other_owner, "1").matches(provlock_test::str![[r#"
exit code: 2
----- stderr -----
error[io]: git for-each-ref failed: detected dubious ownership in repository at '[ROOT]/project'
help: if you trust its owner: git config --global --add safe.directory [ROOT]/project
"#]]);
    run(&[], "PATH", "").matches(provlock_test::str![[r#"
exit code: 0
----- stderr -----
warning[io]: cannot run git
 |
 = could not check whether git tracks the lock files
help: install git
OK: 2 providers of 2 root modules locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
3 root modules: 2 OK, 1 excluded by provlock.toml
"#]]);
    run(&["--base", "main"], "PATH", "").matches(provlock_test::str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot run git
 |
 = caused by: [..]
help: install git
"#]]);
}
