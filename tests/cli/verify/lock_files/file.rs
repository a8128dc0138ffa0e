//! Findings about the lock file itself.

use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, messages};
use provlock_test::str;

#[test]
fn lock_file_missing() {
    let environment = good();
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    assert_eq!(found(&environment, &[]), ["error lock-file-missing"]);
    environment.write("main.tf", "locals {}\n");
    assert_eq!(
        found(&environment, &[]),
        NOTHING,
        "nothing is required, so there is nothing to lock"
    );
}

#[test]
fn lock_file_syntax() {
    for text in [
        "provider {",
        "provider \"a\" {}\n",
        "version = 1\n",
        "other {}\n",
    ] {
        let environment = good();
        environment.write_lock_file(text);
        assert!(
            found(&environment, &[]).contains(&"error lock-file-syntax".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_module_block_is_a_warning() {
    let environment = good();
    environment.write_lock_file(environment.lock_file() + "module \"a\" {}\n");
    assert_eq!(found(&environment, &[]), ["warning lock-file-syntax"]);
}

/// A lock file with a conflict.
fn conflict() -> String {
    let entries = entry(NULL, "3.2.4", "~> 3.0", &[H1]);
    format!("<<<<<<< HEAD\n{entries}=======\n{entries}>>>>>>> topic\n")
}

#[test]
fn conflict_markers() {
    let environment = good();
    environment.write_lock_file(conflict());
    assert_eq!(found(&environment, &[]), ["error conflict-markers"]);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[conflict-markers]: the lock file contains git conflict markers
 --> .terraform.lock.hcl:1:1
  |
1 | <<<<<<< HEAD
  | ^^^^^^^^^^^^ the first of them
  |
  = conflicts in the file: 1
help: provlock merge .terraform.lock.hcl; to lock the entries in conflict again: provlock merge --resolve .terraform.lock.hcl

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[conflict-markers]: the lock file contains git conflict markers
 --> .terraform.lock.hcl:1:1
  |
1 | <<<<<<< HEAD
  | ^^^^^^^^^^^^ the first of them
  |
  = conflicts in the file: 1
help: provlock merge .terraform.lock.hcl; to lock the entries in conflict again: provlock merge --resolve .terraform.lock.hcl
"#]]);
}

#[test]
fn conflict_markers_that_do_not_match_are_for_no_merge() {
    let environment = good();
    for lost in ["<<<<<<<", "=======", ">>>>>>>"] {
        let text = conflict();
        let kept = text
            .lines()
            .filter(|line| !line.starts_with(lost))
            .map(|line| format!("{line}\n"));
        environment.write_lock_file(kept.collect::<String>());
        let output = environment.provlock(["verify"]);
        let help =
            "help: take one side with `git checkout --ours` or `--theirs`, then lock again\n";
        output.assert_code(1).assert_stdout_has(help);
        environment
            .provlock(["merge", ".terraform.lock.hcl"])
            .assert_code(2);
    }
}

#[test]
fn conflict_markers_below() {
    let environment = good();
    environment.write("live/a/main.tf", "");
    environment.write("live/a/.terraform.lock.hcl", conflict());
    environment.provlock(["verify", "live/a"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[conflict-markers]: the lock file contains git conflict markers
 --> live/a/.terraform.lock.hcl:1:1
  |
1 | <<<<<<< HEAD
  | ^^^^^^^^^^^^ the first of them
  |
  = conflicts in the file: 1
help: provlock -C live/a merge .terraform.lock.hcl; to lock the entries in conflict again: provlock -C live/a merge --resolve .terraform.lock.hcl

----- stderr -----
1 error in live/a/.terraform.lock.hcl
"#]]);
    environment.provlock(["lock", "-r", "live"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[conflict-markers]: the lock file contains git conflict markers
 --> live/a/.terraform.lock.hcl:1:1
  |
1 | <<<<<<< HEAD
  | ^^^^^^^^^^^^ the first of them
  |
  = conflicts in the file: 1
  = root module: live/a
help: provlock -C live/a merge .terraform.lock.hcl; to lock the entries in conflict again: provlock -C live/a merge --resolve .terraform.lock.hcl
Locked 0 of 1 root module: 0 changed, 0 up to date; 1 failed
1 error
"#]]);
}

#[test]
fn conflict_markers_of_many_root_modules() {
    let environment = good();
    for root in ["a", "b"] {
        environment.write(format!("live/{root}/main.tf"), "");
        environment.write(format!("live/{root}/.terraform.lock.hcl"), conflict());
    }
    for arguments in [
        &["verify", "-r", "live"][..],
        &["-C", "live", "verify", "-r"],
    ] {
        environment
            .provlock(arguments)
            .assert_code(1)
            .assert_stdout_has(
                "\nhelp: in each root module: provlock merge .terraform.lock.hcl; \
             to lock the entries in conflict again: provlock merge --resolve .terraform.lock.hcl\n",
            );
    }
}

#[test]
fn lock_says_what_verify_says_of_a_broken_file() {
    let environment = good();
    environment.write("live/a/main.tf", "");
    environment.write("live/a/.terraform.lock.hcl", "providers {}\n");
    let help = "help: correct the file, or remove it and run: provlock -C live/a lock\n";
    environment
        .provlock(["verify", "live/a"])
        .assert_stdout_has(help);
    environment
        .provlock(["lock", "-r", "live"])
        .assert_stderr_has(help);
}

#[test]
fn duplicate_provider() {
    let environment = good();
    let one = entry(NULL, "3.2.4", "~> 3.0", &[H1]);
    lock(&environment, &[one.clone(), one]);
    assert_eq!(found(&environment, &[]), ["error duplicate-provider"]);
}

#[test]
fn not_canonical() {
    for (canonical, other) in [
        ("registry.opentofu.org/", ""),
        ("3.2.4", "3.2"),
        ("~> 3.0", "~>3.0"),
    ] {
        let environment = good();
        lock(
            &environment,
            &[entry(NULL, "3.2.4", "~> 3.0", &[H1]).replace(canonical, other)],
        );
        let found = found(&environment, &[]);
        assert!(
            found.iter().any(|finding| finding == "error not-canonical"),
            "{other}: {found:?}"
        );
    }
}

#[test]
fn malformed_hash() {
    let upper = ZH.to_uppercase().replace("ZH:", "zh:");
    for hash in ["h1:AAAA", "h1:!", "zh:12", &upper] {
        let environment = good();
        lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[hash])]);
        assert_eq!(found(&environment, &[]), ["error malformed-hash"], "{hash}");
    }
    let environment = good();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &["none"])]);
    assert_eq!(found(&environment, &[]), ["error malformed-hash"]);
}

#[test]
fn unknown_hash_scheme() {
    let environment = good();
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, "h2:anything"])],
    );
    assert_eq!(found(&environment, &[]), ["warning unknown-hash-scheme"]);
    assert!(messages(&environment, &[]).contains("h2:anything"));
}

#[test]
fn hashes_of_unknown_schemes_alone_are_no_hashes() {
    for hashes in [
        &["h2:abc"][..],
        &["h2:abc", "sha512:def"],
        &["H1:abc"],
        &["zh1:abc"],
    ] {
        let environment = good();
        lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", hashes)]);
        assert!(
            found(&environment, &[]).contains(&"error no-hashes".to_owned()),
            "{hashes:?}"
        );
        assert!(
            messages(&environment, &[]).contains("only hashes of unknown schemes are recorded"),
            "{hashes:?}"
        );
        // The error stays if the warning is allowed.
        assert_eq!(
            found(&environment, &["--allow", "unknown-hash-scheme"]),
            ["error no-hashes"]
        );
    }
}

#[test]
fn unsorted_hashes() {
    let environment = good();
    for hashes in [[ZH, H1], [H1, H1]] {
        lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &hashes)]);
        assert_eq!(
            found(&environment, &[]),
            ["warning unsorted-hashes"],
            "{hashes:?}"
        );
    }
}

#[test]
fn untracked_lock_file() {
    let environment = good();
    assert_eq!(found(&environment, &[]), NOTHING, "there is no repository");
    environment.git_init(".");
    assert_eq!(found(&environment, &[]), ["warning untracked-lock-file"]);
    assert!(messages(&environment, &[]).contains("git does not track"));
    environment.write(".gitignore", ".terraform.lock.hcl\n");
    assert_eq!(found(&environment, &[]), ["warning untracked-lock-file"]);
    assert!(messages(&environment, &[]).contains("git ignores"));
    environment.git(".", ["add", "--force", ".terraform.lock.hcl"]);
    assert_eq!(found(&environment, &[]), NOTHING);
}

/// Other systems have no such names.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_file_is_tracked_whatever_the_name_of_its_directory() {
    use std::os::unix::ffi::OsStrExt as _;
    let environment = good();
    let directory = std::path::Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    for file in ["main.tf", ".terraform.lock.hcl"] {
        environment.write(directory.join(file), environment.read(file));
    }
    environment.git_init(".");
    environment.git(".", ["add", "--all"]);
    let output = environment.provlock(["verify", "--allow", "single-platform", "--recursive"]);
    output.assert_code(0);
    assert_eq!(output.stdout, "");
    assert!(
        output
            .stderr
            .starts_with("OK: 2 providers of 2 root modules"),
        "{output}"
    );
}

#[test]
fn without_git_tracking_is_not_checked() {
    let environment = good();
    environment.git_init(".");
    let output = environment
        .command(["verify", "--allow", "single-platform"])
        .env("PATH", environment.bin())
        .run();
    output
        .assert_code(0)
        .assert_stderr_has("could not check whether git tracks the lock files");
    assert_eq!(output.stdout, "");
}
