//! Findings about a change: `--base`.

use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, verify};
use crate::lock::requires;
use provlock_test::{TestEnvironment, str};

const OTHER_H1: &str = "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// A project whose state is committed.
fn committed() -> TestEnvironment {
    let environment = good();
    commit(&environment);
    environment
}

fn commit(environment: &TestEnvironment) {
    environment.git_init(".");
    environment.commit_all(".");
}

#[test]
fn nothing_changed() {
    assert_eq!(found(&committed(), &["--base", "HEAD"]), NOTHING);
}

#[test]
fn hashes_replaced() {
    let environment = committed();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[OTHER_H1])]);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["error hashes-replaced"]
    );
    assert_eq!(found(&environment, &[]), NOTHING, "not asked for");
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, OTHER_H1, ZH])],
    );
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["warning hash-not-checked"],
        "a hash was added"
    );
    lock(&environment, &[entry(NULL, "3.2.5", "~> 3.0", &[OTHER_H1])]);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["warning hash-not-checked"],
        "the version is another"
    );
}

/// The base is the commit, whatever the index contains: `verify` checks the working tree.
#[test]
fn the_base_is_the_commit_and_not_the_index() {
    let environment = committed();
    let good = environment.read(".terraform.lock.hcl");
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[OTHER_H1])]);
    environment.git(".", ["add", "--all"]);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["error hashes-replaced"],
        "staged as it is"
    );
    environment.write_lock_file(good);
    verify(&environment, &["--base", "HEAD"])
        .assert_code(0)
        .assert_lacks("hashes-replaced");
    environment.git(".", ["reset", "--quiet"]);
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[OTHER_H1])]);
    environment.git(
        ".",
        ["update-index", "--force-remove", ".terraform.lock.hcl"],
    );
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["warning untracked-lock-file", "error hashes-replaced"]
    );
    for stage in ["1", "2", "3"] {
        let blob = environment.git(".", ["hash-object", "-w", ".terraform.lock.hcl"]);
        let entry = format!("100644 {blob} {stage}\t.terraform.lock.hcl\n");
        environment
            .git_command(["update-index", "--index-info"])
            .stdin(entry)
            .run()
            .assert_code(0);
    }
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["error hashes-replaced"],
        "while a merge is not done"
    );
}

#[test]
fn one_zh_exchanged_is_as_bad_as_all() {
    let (one, other) = (
        &format!("zh:{}", "1".repeat(64)),
        &format!("zh:{}", "2".repeat(64)),
    );
    let environment = good();
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH, one])],
    );
    commit(&environment);
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH, other])],
    );
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["error hashes-replaced"]
    );
    let output = environment.provlock(["verify", "--allow", "single-platform", "--base", "HEAD"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[hashes-replaced]: 1 zh hash of hashicorp/null 3.2.4 changed although the version did not
  --> .terraform.lock.hcl:10:5
   |
10 |     "zh:2222222222222222222222222222222222222222222222222222222222222222",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
help: provlock verify --online; if this is intended, an owner allows it with --warn hashes-replaced

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  ! hashicorp/null   3.2.4   1 zh replaced under the same version; zh 1 added, 1 removed
"#]]);
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[OTHER_H1, ZH, one])],
    );
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["warning hash-not-checked"],
        "an h1 is of one platform"
    );
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH])]);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        NOTHING,
        "a zh is gone"
    );
}

#[test]
fn downgrade() {
    let environment = committed();
    lock(&environment, &[entry(NULL, "3.2.3", "~> 3.0", &[OTHER_H1])]);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        ["warning downgrade", "warning hash-not-checked"]
    );
}

#[test]
fn host_changed() {
    let environment = committed();
    environment.write(
        "main.tf",
        requires("registry.example.com/hashicorp/null", "~> 3.0"),
    );
    lock(
        &environment,
        &[entry(
            "registry.example.com/hashicorp/null",
            "3.2.4",
            "~> 3.0",
            &[OTHER_H1],
        )],
    );
    let expected = [
        "error look-alike",
        "warning publisher-added",
        "warning hash-not-checked",
    ];
    assert_eq!(found(&environment, &["--base", "HEAD"]), expected);
}

#[test]
fn a_root_that_is_new_has_no_change_to_judge() {
    let environment = committed();
    environment.write("new/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("new/.terraform.lock.hcl", environment.lock_file());
    assert_eq!(
        found(&environment, &["--base", "HEAD", "new"]),
        ["warning untracked-lock-file"]
    );
}

#[test]
fn a_lock_file_that_could_not_be_read_before_is_not_taken_for_none() {
    let environment = good();
    let right = environment.lock_file();
    environment.write("provlock.toml", "dialect = \"tofu\"\n");
    environment.write_lock_file("provider {");
    commit(&environment);
    environment.write_lock_file(right);
    assert_eq!(
        found(&environment, &["--base", "HEAD"]),
        [
            "warning lock-file-syntax",
            "note publisher-added",
            "note publisher-added"
        ]
    );
    let output = environment.provlock(["verify", "--allow", "single-platform", "--base", "HEAD"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[lock-file-syntax]: the change of .terraform.lock.hcl was not checked: the old file cannot be read
--> .terraform.lock.hcl:1:1
 = the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
help: review the change yourself

note[publisher-added]: the namespace registry.opentofu.org/hashicorp is new: the base locks no provider from it
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: find out whose namespace it is

note[publisher-added]: hashicorp/null is new: no lock file of the base contains it
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: make sure that this provider and its publisher are intended

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning and 2 notes in .terraform.lock.hcl
"#]]);
    environment
        .provlock(["verify", "--base", "HEAD", "--deny", "lock-file-syntax"])
        .assert_code(1);
}

#[test]
fn a_lock_file_that_git_cannot_read_is_an_error() {
    let environment = committed();
    let object = environment.git(".", ["rev-parse", "HEAD:.terraform.lock.hcl"]);
    let (folder, file) = object.split_at(2);
    std::fs::remove_file(
        environment
            .project()
            .join(".git/objects")
            .join(folder)
            .join(file),
    )
    .unwrap();
    // The file on disk has the content that git does not have.
    environment
        .provlock(["verify", "--allow", "single-platform", "--base", "HEAD"])
        .assert_code(0);
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    let output = environment.provlock(["verify", "--allow", "single-platform", "--base", "HEAD"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git cat-file failed: it printed "6c0afa9877cc8dd607d227be28eea4cb4274f5d9 missing"
help: look at the repository with git fsck; fetch what is missing
"#]]);
}

/// A configuration file may be larger than a lock file.
#[test]
fn a_large_configuration_file_of_the_base_is_read() {
    let environment = good();
    environment.write("large.tf", "# and so on\n".repeat(400_000));
    commit(&environment);
    environment.write("large.tf", "# and so on\n".repeat(400_001));
    environment
        .provlock(["verify", "--base", "HEAD"])
        .assert_code(0)
        .assert_stdout_has("note[single-platform]");
}

#[test]
fn a_committed_lock_file_that_is_too_large_is_refused() {
    let environment = good();
    let right = environment.lock_file();
    environment.write_lock_file(format!("{right}{}", "# and so on\n".repeat(400_000)));
    commit(&environment);
    environment.write_lock_file(right);
    for arguments in [
        &["verify", "--base", "HEAD"][..],
        &["diff"],
        &["diff", "-r", "--git", "HEAD"],
    ] {
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has("it is larger than 4 MiB");
    }
}

#[test]
fn a_commit_that_is_not_there_is_an_error() {
    for revision in ["no-such-branch", "--output=x", ""] {
        let base = format!("--base={revision}");
        committed()
            .provlock(["verify", &base])
            .assert_code(2)
            .assert_stderr_has("unknown git commit");
    }
}
