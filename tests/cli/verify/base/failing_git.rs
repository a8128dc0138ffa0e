//! `verify` where git cannot be run, or refuses to read the repository.

use provlock_test::Output;

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

/// A way in which git cannot be asked, as a variable of the environment.
const OBSTACLES: [(&str, &str); 2] = [("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"), ("PATH", "")];

fn verify(gate: &Gate, (variable, value): (&str, &str), arguments: &[&str]) -> Output {
    let verify = ["verify", "-r", "--allow", "single-platform"];
    let command = gate.0.environment.command(verify.iter().chain(arguments));
    command.env(variable, value).run()
}

#[test]
fn a_check_of_git_that_is_an_error_and_was_not_made_fails() {
    let gate = Gate::new();
    for obstacle in OBSTACLES {
        for flags in [
            ["--deny", "untracked-lock-file"],
            ["--deny", "warnings"],
            ["--deny", "downgrade,untracked-lock-file"],
        ] {
            verify(&gate, obstacle, &flags)
                .assert_code(2)
                .assert_stderr_has("could not check untracked-lock-file, which is an error here")
                .assert_lacks("OK:");
        }
        verify(&gate, obstacle, &["--warn", "untracked-lock-file"]).assert_code(0);
    }
    gate.write(
        "provlock.toml",
        gate.read("provlock.toml") + "[verify]\ndeny = [\"untracked-lock-file\"]\n",
    );
    for obstacle in OBSTACLES {
        verify(&gate, obstacle, &[])
            .assert_code(2)
            .assert_stderr_has("could not check untracked-lock-file");
        verify(&gate, obstacle, &["--allow", "untracked-lock-file"]).assert_code(0);
    }
    gate.write("live/provlock.toml", "[verify]\ndeny = [\"warnings\"]\n");
    gate.write("provlock.toml", "");
    for obstacle in OBSTACLES {
        verify(&gate, obstacle, &["live"]).assert_code(2);
        verify(&gate, obstacle, &["other"]).assert_code(0);
    }
}

#[test]
fn installed_modules_that_git_may_track_fail_without_git() {
    let gate = Gate::new();
    gate.write("live/.terraform/modules/modules.json", "{\"Modules\":[]}");
    gate.commit();
    for obstacle in OBSTACLES {
        for flags in [&[][..], &["--deny", "warnings"]] {
            verify(&gate, obstacle, flags)
                .assert_code(2)
                .assert_stderr_has("tracked-data-directory");
        }
        for flag in ["--allow", "--warn"] {
            verify(&gate, obstacle, &[flag, "tracked-data-directory"]).assert_code(0);
        }
        verify(&gate, obstacle, &["other"]).assert_code(0);
        for format in ["json", "sarif", "junit", "gitlab", "github", "html"] {
            verify(&gate, obstacle, &["--format", format])
                .assert_code(2)
                .assert_has("tracked-data-directory");
        }
    }
    let no_git = verify(&gate, OBSTACLES[1], &[]);
    no_git.matches(provlock_test::str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot run git
 |
 = could not check tracked-data-directory, which is an error here
 = root module: live
help: install git
3 root modules: 1 partly checked, 1 OK, 1 excluded by provlock.toml
"#]]);
    // With git, they are a finding, or ordinary where git ignores them.
    assert_eq!(gate.judge(&["-r"]), ["tracked-data-directory"]);
    gate.git(&["rm", "-r", "--quiet", "--cached", "live/.terraform"]);
    gate.provlock(&["verify", "-r"]).assert_code(0);
}

#[test]
fn outside_of_a_repository_only_a_denied_code_needs_git() {
    let environment = super::good();
    environment.write(".terraform/modules/modules.json", "{\"Modules\":[]}");
    let verify = |flags: &[&str]| {
        let verify = ["verify", "--allow", "single-platform"];
        environment.provlock(verify.iter().chain(flags))
    };
    verify(&[]).assert_code(0);
    verify(&["--deny", "warnings"]).assert_code(0);
    verify(&["--deny", "tracked-data-directory"]).assert_code(0);
    verify(&["--deny", "untracked-lock-file"]).matches(provlock_test::str![[r#"
exit code: 2
----- stderr -----
error[io]: the root module is in no git repository
 |
 = could not check untracked-lock-file, which is an error here
help: run in a clone, or with --warn untracked-lock-file
"#]]);
    environment.write(
        "provlock.toml",
        "[verify]\ndeny = [\"untracked-lock-file\"]\n",
    );
    verify(&[]).assert_code(2);
    verify(&["--warn", "untracked-lock-file"]).assert_code(0);
}

#[test]
fn git_is_asked_in_the_repository_of_each_root_module() {
    let gate = Gate::new();
    let environment = &gate.0.environment;
    let flags = [
        "--allow",
        "single-platform",
        "--deny",
        "untracked-lock-file",
    ];
    let start = environment.root().join("elsewhere");
    std::fs::create_dir(&start).unwrap();
    let verify = |path: &str| {
        let arguments = ["verify", path].into_iter().chain(flags);
        environment.command(arguments).run_in(&start).run()
    };
    verify("../project/live").assert_code(0);
    gate.write("../elsewhere/.git/HEAD", "");
    environment.git(&start, ["init", "--quiet"]);
    verify("../project/live").assert_code(0);
    gate.git(&["rm", "--quiet", "--cached", "live/.terraform.lock.hcl"]);
    verify("../project/live")
        .assert_code(1)
        .assert_has("error[untracked-lock-file]: git does not track");

    // A repository in the current one.
    gate.root("below/live", super::NULL, &[super::H1, super::ZH]);
    gate.git(&["init", "--quiet", "below"]);
    let verify = || gate.provlock(&[&["verify", "below/live"], &flags[..]].concat());
    verify()
        .assert_code(1)
        .assert_has("error[untracked-lock-file]: git does not track");
    gate.git(&["-C", "below", "add", "--all"]);
    verify().assert_code(0);
    gate.write("below/live/.terraform/modules/modules.json", "{}");
    verify().assert_code(0);
    gate.git(&["-C", "below", "add", "--all"]);
    verify()
        .assert_code(1)
        .assert_has("error[tracked-data-directory]");
}
