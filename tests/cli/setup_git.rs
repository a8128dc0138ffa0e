//! `provlock setup git`: git runs provlock to merge and to show lock files.

use provlock_test::files::{entry, lock_file};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};

#[test]
fn setup_prints_what_it_would_write() {
    let output = TestEnvironment::new().provlock(["setup", "git"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
# .gitattributes
.terraform.lock.hcl merge=provlock diff=provlock
.modules.lock.hcl merge=provlock diff=provlock

# once in each clone
git config merge.provlock.name "lock files, provider by provider"
git config merge.provlock.driver "provlock merge %O %A %B --path %P --marker-size %L"
git config merge.provlock.recursive "binary"
git config diff.provlock.textconv 'command -v provlock >/dev/null || exec cat -- "$1"; provlock diff --textconv'
"#]]);
}

#[test]
fn setup_outside_of_a_repository_is_refused() {
    let output = TestEnvironment::new().provlock(["setup", "git", "--write"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git rev-parse failed: not a git repository (or any of the parent directories): .git
help: run in a git repository
"#]]);
}

#[test]
fn setup_writes_once() {
    let repository = Repository::new();
    repository
        .environment
        .write(".gitattributes", "*.png binary");
    let setup = || {
        repository
            .environment
            .command(["setup", "git", "--write"])
            .run_in("below")
            .run()
    };
    repository.environment.write("below/main.tf", "");
    setup().matches(str![[r#"
exit code: 0
----- stderr -----
Added to .gitattributes: .terraform.lock.hcl merge=provlock diff=provlock
Added to .gitattributes: .modules.lock.hcl merge=provlock diff=provlock
Set merge.provlock.name to: lock files, provider by provider
Set merge.provlock.driver to: provlock merge %O %A %B --path %P --marker-size %L
Set merge.provlock.recursive to: binary
Set diff.provlock.textconv to: command -v provlock >/dev/null || exec cat -- "$1"; provlock diff --textconv
"#]]);
    let expected = "*.png binary\n.terraform.lock.hcl merge=provlock diff=provlock\n\
                    .modules.lock.hcl merge=provlock diff=provlock\n";
    assert_eq!(repository.environment.read(".gitattributes"), expected);
    let before = repository.environment.snapshot();
    setup().matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: git runs provlock for lock files
"#]]);
    before.assert_same(&repository.environment.snapshot());
    // A pattern of one's own that says the same will do.
    repository
        .environment
        .write(".gitattributes", "*.hcl diff=provlock merge=provlock\n");
    setup().matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: git runs provlock for lock files
"#]]);
}

#[test]
#[cfg(unix)]
fn git_diff_shows_the_file_where_provlock_is_not_installed() {
    let repository = Repository::new();
    repository
        .provlock(["setup", "git", "--write"])
        .assert_code(0);
    repository.commit(&lock_file(&[entry(
        "hashicorp/null",
        "1.0.0",
        "",
        &["h1:a"],
    )]));
    repository.environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "2.0.0",
        "",
        &["h1:a"],
    )]));
    let with = repository.git(["diff"]);
    assert!(
        with.contains("+registry.opentofu.org/hashicorp/null  2.0.0"),
        "{with}"
    );
    std::fs::remove_file(repository.environment.bin().join("provlock")).unwrap();
    let without = repository.git(["diff"]);
    assert!(
        without.contains("-  version = \"1.0.0\"") && without.contains("+  version = \"2.0.0\""),
        "{without}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_at_the_path_of_the_attributes_is_refused() {
    for target in ["../outside", ".git/config", "other", "absent"] {
        let repository = Repository::new();
        let environment = &repository.environment;
        environment.write("../outside", "outside\n");
        environment.write("other", "other\n");
        let link = environment.project().join(".gitattributes");
        std::os::unix::fs::symlink(target, link).unwrap();
        let before = environment.snapshot();
        let configuration = environment.read(".git/config");
        let output = repository.provlock(["setup", "git", "--write"]);
        output
            .assert_code(2)
            .assert_stderr_has(".gitattributes: it is a symbolic link");
        before.assert_same(&environment.snapshot());
        assert_eq!(environment.read("../outside"), "outside\n");
        assert_eq!(environment.read(".git/config"), configuration);
    }
}

/// Git adds the path of a file to the command, and it may begin like a flag.
#[cfg(unix)]
#[test]
fn git_diff_shows_lock_files_in_directories_whose_names_are_flags() {
    let repository = Repository::new();
    repository
        .provlock(["setup", "git", "--write"])
        .assert_code(0);
    let lock = |version| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    for directory in ["--help", "--", "-", "-h", "--git", "--version"] {
        let path = format!("{directory}/.terraform.lock.hcl");
        repository.environment.write(&path, lock("1.0.0"));
    }
    repository.environment.commit_all(".");
    for directory in ["--help", "--", "-", "-h", "--git", "--version"] {
        let path = format!("{directory}/.terraform.lock.hcl");
        repository.environment.write(&path, lock("2.0.0"));
    }
    let output = repository.try_git(["diff"]);
    output.assert_code(0);
    let shown = "+registry.opentofu.org/hashicorp/null  2.0.0";
    assert_eq!(output.stdout.matches(shown).count(), 6, "{output}");
    std::fs::remove_file(repository.environment.bin().join("provlock")).unwrap();
    let output = repository.try_git(["diff"]);
    output.assert_code(0);
    let shown = "+  version = \"2.0.0\"";
    assert_eq!(output.stdout.matches(shown).count(), 6, "{output}");
}
