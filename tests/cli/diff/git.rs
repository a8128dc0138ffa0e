//! Differences between revisions, and `diff` as git's textconv.

use super::*;

#[test]
fn head_is_compared_with_the_working_tree() {
    let repository = Repository::new();
    repository.commit(&lock_file(&[entry(
        "hashicorp/null",
        "3.2.3",
        "",
        &["h1:a"],
    )]));
    let output = repository.provlock(["diff", "--exit-code"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
No provider differs in 1 lock file
"#]]);
    repository.environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "3.2.4",
        "",
        &["h1:b"],
    )]));
    let output = repository.provlock(["diff", "--exit-code"]);
    assert_eq!(
        output.assert_code(1).stdout,
        ".terraform.lock.hcl\n  ~ hashicorp/null   3.2.3 → 3.2.4   patch\n"
    );
    std::fs::remove_file(repository.environment.project().join(".terraform.lock.hcl")).unwrap();
    repository.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  - hashicorp/null   3.2.3
"#]]);
}

#[test]
fn revisions_are_git_s() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    repository.commit(&version("3.0.0"));
    repository.branch("topic", &version("3.1.0"));
    repository.git(["checkout", "--quiet", "main"]);
    repository.commit(&version("4.0.0"));
    repository.environment.write_lock_file(version("5.0.0"));
    for (revisions, expected) in [
        ("topic", "3.1.0 → 5.0.0   major"),
        ("HEAD~1..topic", "3.0.0 → 3.1.0   minor"),
        ("topic..", "3.1.0 → 4.0.0   major"),
        ("..topic", "4.0.0 → 3.1.0   major downgrade"),
        ("main...topic", "3.0.0 → 3.1.0   minor"),
        ("topic...", "3.0.0 → 4.0.0   major"),
    ] {
        repository
            .provlock(["diff", "--git", revisions])
            .assert_code(0)
            .assert_stdout_has(expected);
        if !revisions.starts_with('.') {
            repository
                .provlock(["diff", revisions])
                .assert_code(0)
                .assert_stdout_has(expected);
        }
    }
    for revision in [
        "nowhere",
        "--output=x",
        "main..-x",
        "",
        "main:missing..main",
    ] {
        let output = repository.provlock(["diff", "--git", revision]);
        output.assert_code(2).assert_stderr_has("invalid-argument");
    }
    repository.git(["branch", "--", "a&b;c$(d)"]);
    repository
        .provlock(["diff", "--git", "a&b;c$(d)"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  ~ hashicorp/null   4.0.0 → 5.0.0   major
"#]]);
}

#[test]
fn an_argument_is_a_file_or_a_revision() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    repository.commit(&version("3.0.0"));
    repository.branch("topic", &version("3.1.0"));
    let environment = &repository.environment;
    repository
        .provlock(["diff", "main", "topic"])
        .assert_code(0)
        .assert_stdout_has("3.0.0 → 3.1.0   minor");
    repository
        .provlock(["diff", "-r", "main", "topic"])
        .assert_code(0)
        .assert_stdout_has("3.0.0 → 3.1.0   minor");
    environment.write("old.hcl", version("2.0.0"));
    environment.write("main", version("1.0.0"));
    repository
        .provlock(["diff", "old.hcl"])
        .assert_code(0)
        .assert_stdout_has("2.0.0 → 3.1.0   major");
    repository
        .provlock(["diff", "./main"])
        .assert_code(0)
        .assert_stdout_has("1.0.0 → 3.1.0   major");
    repository
        .provlock(["diff", "--git", "main"])
        .assert_code(0)
        .assert_stdout_has("3.0.0 → 3.1.0   minor");
    repository.provlock(["diff", "main"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: main is both a file and a git revision
help: for the revision: provlock diff --git main, for the file: provlock diff ./main
"#]]);
    repository.provlock(["diff", "mian"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: mian is neither a file nor a git revision
help: name a lock file, or a commit, branch or tag of the repository here
"#]]);
    repository
        .provlock(["diff", "old.hcl", "topic"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: of old.hcl and topic, one is a file and one a git revision
help: compare two files or two revisions; a revision and the files here: provlock diff REV
"#]]);
    repository
        .provlock(["diff", "-r", "old.hcl"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: -r compares revisions, but files are named
help: name a revision, as in: provlock diff -r main
"#]]);
    repository
        .provlock(["diff", "gone.hcl", "old.hcl"])
        .assert_code(0)
        .assert_stderr_has("no lock file gone.hcl");
}

#[test]
fn two_revisions_are_compared_in_a_bare_repository() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    repository
        .environment
        .write("app/.terraform.lock.hcl", version("1.0.0"));
    repository.commit(&version("3.0.0"));
    repository.branch("topic", &version("3.1.0"));
    repository.git(["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let environment = &repository.environment;
    let run = |directory: &str, more: &[&str]| {
        environment
            .command(["diff"].iter().chain(more))
            .run_in(directory)
            .run()
    };
    for directory in ["../bare.git", "../bare.git/refs"] {
        let output = run(directory, &["--git", "main..topic"]);
        assert_eq!(
            output.assert_code(0).stdout,
            ".terraform.lock.hcl\n  ~ hashicorp/null   3.0.0 → 3.1.0   minor\n"
        );
        let output = run(directory, &["-r", "--git", "main..topic", "--exit-code"]);
        output.assert_code(1).assert_stdout_has("3.0.0 → 3.1.0");
        run(directory, &["--git", "main:app..topic"])
            .assert_code(0)
            .assert_stdout_has("1.0.0 → 3.1.0");
    }
    for more in [&["--git", "main"][..], &[], &["-r"]] {
        let output = run("../bare.git", more);
        output
            .assert_code(2)
            .assert_stderr_has("a bare repository has no working tree");
    }
    // A directory of the repository that is one by itself is not trusted.
    repository.git(["clone", "--quiet", "--bare", ".", "inner.git"]);
    run("inner.git", &["--git", "main..topic"])
        .assert_code(2)
        .assert_stderr_has("safe.bareRepository");
}

#[test]
fn a_revision_of_a_directory_is_compared_with_the_current_directory() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let write = |path: &str, number: &str| repository.environment.write(path, version(number));
    write("app/.terraform.lock.hcl", "1.0.0");
    write("app/deep/.terraform.lock.hcl", "2.0.0");
    repository.commit(&version("3.0.0"));
    write("app/.terraform.lock.hcl", "1.1.0");
    write("app/deep/.terraform.lock.hcl", "2.1.0");
    let diff = |directory: &str, more: &[&str]| {
        let output = repository
            .environment
            .command(["diff", "--git"].iter().chain(more))
            .run_in(directory)
            .run();
        output.assert_code(0).stdout.clone()
    };
    let app = ".terraform.lock.hcl\n  ~ hashicorp/null   1.0.0 → 1.1.0   minor\n";
    for revision in ["HEAD:app", "HEAD:app/", "HEAD:./", "HEAD", "HEAD^{tree}"] {
        assert_eq!(diff("app", &[revision]), app, "{revision}");
    }
    let deep = "deep/.terraform.lock.hcl\n  ~ hashicorp/null   2.0.0 → 2.1.0   minor\n";
    assert_eq!(diff("app", &["HEAD:app", "-r"]), format!("{app}{deep}"));
    assert_eq!(
        diff("app", &["HEAD:..HEAD"]),
        app.replace("1.0.0 → 1.1.0   minor", "3.0.0 → 1.0.0   major downgrade")
    );
    assert_eq!(
        diff(".", &["HEAD:app"]),
        app.replace("1.1.0   minor", "3.0.0   major")
    );
    repository
        .environment
        .write("app/.terraform.lock.hcl", "provider");
    repository.commit(&version("3.0.0"));
    let output = repository.provlock(["diff", "--git", "HEAD:app"]);
    output
        .assert_code(2)
        .assert_stderr_has("HEAD:app/.terraform.lock.hcl:1:");
}

#[test]
fn an_unreadable_side_is_named_with_its_revision() {
    let repository = Repository::new();
    repository.commit("provider {\n");
    let output = repository.provlock(["diff"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> HEAD:.terraform.lock.hcl:1:11
  |
1 | provider {
  |           ^
"#]]);
}

/// A repository with lock files; some of them have changed since the only commit.
fn changed_below() -> Repository {
    let repository = Repository::new();
    let lock = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let write = |path: &str, version: &str| {
        repository
            .environment
            .write(format!("{path}/.terraform.lock.hcl"), lock(version))
    };
    write("infra/a", "1.0.0");
    write("infra/ü b", "1.0.0");
    write("infra/gone", "1.0.0");
    write("infra/same", "1.0.0");
    repository
        .environment
        .write("infra/untouched/.terraform.lock.hcl", "cannot be parsed");
    write("other", "1.0.0");
    repository.environment.write(".gitignore", "ignored/\n");
    repository.commit(&lock("1.0.0"));
    write("infra/a", "1.1.0");
    write("infra/ü b", "1.0.1");
    write("infra/new", "1.0.0");
    write("infra/ignored", "1.0.0");
    write("other", "2.0.0");
    std::fs::remove_dir_all(repository.environment.project().join("infra/gone")).unwrap();
    repository
}

#[test]
fn recursive_compares_every_lock_file_below() {
    let repository = changed_below();
    let expected = "\
a/.terraform.lock.hcl
  ~ hashicorp/null   1.0.0 → 1.1.0   minor
gone/.terraform.lock.hcl
  - hashicorp/null   1.0.0
new/.terraform.lock.hcl
  + hashicorp/null   1.0.0   1 h1
ü b/.terraform.lock.hcl
  ~ hashicorp/null   1.0.0 → 1.0.1   patch
";
    let here = repository.provlock(["-C", "infra", "diff"]);
    here.assert_code(2)
        .assert_stderr_has("there is no lock file here, but 6 below, such as a");
    here.assert_stderr_has("help: provlock -C infra diff -r\n");
    let output = repository.provlock(["-C", "infra", "diff", "--recursive"]);
    assert_eq!(output.assert_code(0).stdout.replace('\\', "/"), expected);
    repository.environment.commit_all(".");
    let output = repository.provlock(["-C", "infra", "diff", "-r", "--git", "HEAD~1..HEAD"]);
    assert_eq!(output.assert_code(0).stdout.replace('\\', "/"), expected);
}

#[test]
fn the_same_change_in_many_lock_files_is_shown_once() {
    let repository = Repository::new();
    let lock = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let write = |path: &str, version: &str| {
        repository
            .environment
            .write(format!("{path}/.terraform.lock.hcl"), lock(version));
    };
    let roots = ["a", "b", "c", "d", "e"];
    for root in &roots {
        write(root, "1.0.0");
    }
    repository.commit(&lock("1.0.0"));
    for root in &roots {
        write(root, if *root == "c" { "1.0.1" } else { "2.0.0" });
    }
    let output = repository.provlock(["diff", "-r"]);
    let expected = "\
a/.terraform.lock.hcl, b/.terraform.lock.hcl, d/.terraform.lock.hcl and 1 more: -v lists them
  ~ hashicorp/null   1.0.0 → 2.0.0   major
c/.terraform.lock.hcl
  ~ hashicorp/null   1.0.0 → 1.0.1   patch
";
    assert_eq!(output.assert_code(0).stdout.replace('\\', "/"), expected);
    let all = repository.provlock(["diff", "-r", "-v"]);
    assert_eq!(
        all.assert_code(0).stdout.matches("2.0.0").count(),
        4,
        "{all}"
    );
}

#[test]
fn markdown_has_one_section_for_lock_files_with_the_same_changes() {
    let repository = Repository::new();
    let lock = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let write = |version: &str| {
        for directory in ["a", "b", "c", "d", "e"] {
            repository
                .environment
                .write(format!("{directory}/.terraform.lock.hcl"), lock(version));
        }
    };
    write("1.0.0");
    repository
        .environment
        .write("other/.terraform.lock.hcl", lock("1.0.0"));
    repository.git(["add", "--all"]);
    repository.git(["commit", "--quiet", "--message=base"]);
    write("1.0.1");
    repository
        .environment
        .write("other/.terraform.lock.hcl", lock("2.0.0"));
    repository
        .provlock(["diff", "-r", "--format=markdown"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
#### 5 lock files

`a/.terraform.lock.hcl`, `b/.terraform.lock.hcl`, `c/.terraform.lock.hcl` and 2 more

| | Provider | Version | Change |
|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0 → 1.0.1` | patch |

#### `other/.terraform.lock.hcl`

| | Provider | Version | Change |
|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0 → 2.0.0` | major |
"#]]);
}

#[test]
fn markdown_has_a_table_for_every_lock_file_below() {
    let repository = changed_below();
    repository.environment.commit_all(".");
    let output = repository.provlock(["diff", "-r", "--git=HEAD~1..", "--format=markdown"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
#### `infra/a/.terraform.lock.hcl`

| | Provider | Version | Change |
|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0 → 1.1.0` | minor |

#### `infra/gone/.terraform.lock.hcl`

| | Provider | Version |
|---|---|---|
| **−** | `hashicorp/null` | `1.0.0` |

<details>
<summary>1 hash added or removed</summary>

```diff
@@ hashicorp/null @@
- h1:a
```

</details>

#### `infra/new/.terraform.lock.hcl`

| | Provider | Version | Details |
|---|---|---|---|
| **+** | `hashicorp/null` | `1.0.0` | 1 h1 |

<details>
<summary>1 hash added or removed</summary>

```diff
@@ hashicorp/null @@
+ h1:a
```

</details>

#### `infra/ü b/.terraform.lock.hcl`

| | Provider | Version | Change |
|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0 → 1.0.1` | patch |

#### `other/.terraform.lock.hcl`

| | Provider | Version | Change |
|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0 → 2.0.0` | major |
"#]]);
}

#[test]
fn textconv_has_a_line_per_provider_for_git_diff() {
    let repository = Repository::new();
    repository
        .provlock(["setup", "git", "--write"])
        .assert_code(0);
    repository.commit(&lock_file(&[
        entry("hashicorp/aws", "5.0.0", "~> 5.0", &["h1:a", "zh:a"]),
        entry("hashicorp/null", "3.2.4", "", &["h1:n"]),
    ]));
    repository.environment.write_lock_file(lock_file(&[
        entry("hashicorp/aws", "5.1.0", "~> 5.0", &["h1:b", "zh:b"]),
        entry("hashicorp/null", "3.2.4", "", &["h1:m"]),
    ]));
    let output = repository.try_git(["diff"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
diff --git a/.terraform.lock.hcl b/.terraform.lock.hcl
index 58fc25d..af8db85 100644
--- a/.terraform.lock.hcl
+++ b/.terraform.lock.hcl
@@ -1,2 +1,2 @@
-registry.opentofu.org/hashicorp/aws  5.0.0  ~> 5.0  1 h1, 1 zh  #2c71701f
-registry.opentofu.org/hashicorp/null  3.2.4  1 h1  #8b780b9f
+registry.opentofu.org/hashicorp/aws  5.1.0  ~> 5.0  1 h1, 1 zh  #dfbb94ff
+registry.opentofu.org/hashicorp/null  3.2.4  1 h1  #eadb7100
"#]]);
    // What provlock reads from git has to be the file itself.
    repository
        .provlock(["diff"])
        .assert_code(0)
        .assert_stdout_has("5.0.0 → 5.1.0");
}

/// The output for git has one form.
#[test]
fn textconv_takes_neither_a_format_nor_an_exit_code() {
    let environment = TestEnvironment::new();
    environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "3.2.4",
        "",
        &["h1:n"],
    )]));
    for flags in [&["--json"][..], &["--format", "markdown"], &["--exit-code"]] {
        let output =
            environment.provlock([&["diff", "--textconv", ".terraform.lock.hcl"], flags].concat());
        output
            .assert_code(2)
            .assert_stderr_has(&format!("cannot be used with '{}", flags[0]));
    }
}

#[test]
fn textconv_prints_what_it_cannot_parse() {
    let environment = TestEnvironment::new();
    for text in ["<<<<<<< HEAD\nx\n", "provider {", "\u{feff}", ""] {
        environment.write("file", text);
        let output = environment.provlock(["diff", "--textconv", "file"]);
        assert_eq!(
            output.assert_code(0).stdout,
            if text == "\u{feff}" { "" } else { text }
        );
    }
    let mut expected = vec![b'\xff'];
    environment.write("file", &expected);
    let output = environment.provlock(["diff", "--textconv", "file"]);
    expected = String::from_utf8_lossy(&expected).into_owned().into_bytes();
    assert_eq!(output.assert_code(0).stdout.as_bytes(), expected);
}

#[test]
fn without_a_commit_or_a_lock_file_it_says_what_was_compared() {
    let repository = Repository::new();
    repository.environment.write("empty/x", "");
    repository.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stderr -----
HEAD has no commit yet: every lock file is compared with an empty one
No lock file here or below, neither in HEAD nor in the working tree
"#]]);
    repository.environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "3.2.3",
        "",
        &["h1:a"],
    )]));
    repository.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  + hashicorp/null   3.2.3   1 h1
----- stderr -----
HEAD has no commit yet: every lock file is compared with an empty one
"#]]);
    repository
        .provlock(["diff", "-r", "HEAD"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  + hashicorp/null   3.2.3   1 h1
----- stderr -----
HEAD has no commit yet: every lock file is compared with an empty one
"#]]);
    repository.git(["add", "--all"]);
    repository.git(["commit", "--quiet", "--message", "one"]);
    repository
        .provlock(["-C", "empty", "diff"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
No lock file here or below, neither in HEAD nor in the working tree
"#]]);
    repository
        .provlock(["-C", "empty", "diff", "-r"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
No lock file here or below, neither in HEAD nor in the working tree
"#]]);
    repository
        .provlock(["-C", "empty", "diff", "-r", "HEAD..HEAD", "--exit-code"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
No lock file here or below in HEAD
"#]]);
}

/// Git sets `GIT_DIR` in hooks of a linked worktree.
#[test]
fn a_hook_of_a_linked_worktree_compares_the_same_files() {
    let repository = Repository::new();
    repository.commit(&lock_file(&[entry(
        "hashicorp/null",
        "3.2.3",
        "",
        &["h1:a"],
    )]));
    repository.environment.write(
        "app/.terraform.lock.hcl",
        lock_file(&[entry("hashicorp/null", "3.2.3", "", &["h1:a"])]),
    );
    repository.environment.commit_all(".");
    repository.git(["worktree", "add", "--quiet", "linked"]);
    let directory = repository
        .environment
        .git("linked", ["rev-parse", "--absolute-git-dir"]);
    repository.environment.write(
        "linked/app/.terraform.lock.hcl",
        lock_file(&[entry("hashicorp/null", "3.2.4", "", &["h1:a"])]),
    );
    let run = repository
        .environment
        .command(["diff", "HEAD"])
        .env("GIT_DIR", directory)
        .run_in("linked/app");
    run.run().assert_code(0).assert_stdout_has("3.2.3 → 3.2.4");
}

#[test]
fn a_failure_of_git_is_not_an_unknown_name() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    repository.commit(&version("3.0.0"));
    let of_other_owner = |arguments: &[&str]| {
        let command = repository.environment.command(arguments);
        command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").run()
    };
    of_other_owner(&["diff", "HEAD"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git rev-parse failed: detected dubious ownership in repository at '[ROOT]/project'
help: if you trust its owner: git config --global --add safe.directory [ROOT]/project, or name two files: provlock diff OLD NEW
"#]]);
    of_other_owner(&["diff", "main..HEAD"])
        .assert_code(2)
        .assert_stderr_has("dubious ownership");
    // Files need no git.
    repository.environment.write("old.hcl", version("2.0.0"));
    of_other_owner(&["diff", "old.hcl"]).assert_code(0);
    of_other_owner(&["diff", "absent.lock.hcl"]).assert_lacks("dubious ownership");

    repository.git(["checkout", "--quiet", "--orphan", "unrelated"]);
    repository.commit(&version("4.0.0"));
    repository
        .provlock(["diff", "main...unrelated"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: the revisions main and unrelated have no common ancestor
help: in a shallow clone, fetch the history: git fetch --unshallow; or compare them directly: provlock diff main..unrelated
"#]]);
    repository
        .provlock(["diff", "main..unrelated"])
        .assert_code(0);
    repository
        .provlock(["diff", "main...absent"])
        .assert_code(2)
        .assert_stderr_has("main...absent is neither a file nor a git revision");
    repository
        .provlock(["diff", "--git", "main...absent"])
        .assert_code(2)
        .assert_stderr_has("unknown git revision \"absent\"");
}

#[test]
fn line_endings_that_git_converts_are_no_difference() {
    let repository = Repository::new();
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let windows = |text: String| text.replace('\n', "\r\n");
    let environment = &repository.environment;
    repository.commit(&version("3.0.0"));
    environment.write("below/.terraform.lock.hcl", version("3.0.0"));
    environment.commit_all(".");
    environment.write_lock_file(windows(version("3.0.0")));
    environment.write("below/.terraform.lock.hcl", windows(version("3.0.0")));
    let unified = ["diff", "-r", "--format", "unified", "--exit-code"];
    repository.provlock(unified).assert_code(1);
    repository.git(["config", "core.autocrlf", "true"]);
    assert_eq!(repository.git(["diff"]), "");
    let output = repository.provlock(unified);
    assert_eq!(output.assert_code(0).stdout, "");
    let below = environment.command(unified).run_in("below").run();
    assert_eq!(below.assert_code(0).stdout, "");

    // Only changed lines differ.
    environment.write_lock_file(windows(version("4.0.0")));
    let output = repository.provlock(unified);
    let changed = output.assert_code(1).stdout.lines();
    let changed: Vec<_> = changed
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    assert_eq!(changed.len(), 4, "{output}");
    repository.git(["config", "--unset", "core.autocrlf"]);
    environment.write(".gitattributes", "*.hcl text eol=crlf\n");
    let output = repository.provlock(unified);
    assert_eq!(
        output
            .stdout
            .lines()
            .filter(|line| line.starts_with('-'))
            .count(),
        2
    );

    // Windows line endings in git, too.
    environment.write(".gitattributes", "");
    repository.git(["config", "core.autocrlf", "false"]);
    environment.commit_all(".");
    repository.git(["config", "core.autocrlf", "true"]);
    let output = repository.provlock(unified);
    assert_eq!(output.assert_code(0).stdout, "");
}

/// A link is read in its revision: nothing of the work tree, or of this machine, is behind it.
#[cfg(unix)]
#[test]
fn a_link_stands_for_the_file_behind_it_in_its_revision() {
    use std::os::unix::fs::symlink;

    let repository = Repository::new();
    let environment = &repository.environment;
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, "", &["h1:a"])]);
    let project = environment.project();
    environment.write("shared/1/lock.hcl", version("1.0.0"));
    symlink("1", project.join("shared/current")).unwrap();
    environment.write("live/main.tf", "");
    symlink(
        "../shared/current/lock.hcl",
        project.join("live/.terraform.lock.hcl"),
    )
    .unwrap();
    environment.write("lost/main.tf", "");
    symlink("nowhere", project.join("lost/.terraform.lock.hcl")).unwrap();
    repository.commit(&version("3.0.0"));
    repository.git(["tag", "old"]);
    environment.write("shared/2/lock.hcl", version("1.1.0"));
    std::fs::remove_file(project.join("shared/current")).unwrap();
    symlink("2", project.join("shared/current")).unwrap();
    repository.commit(&version("3.0.0"));
    repository.git(["tag", "new"]);
    repository.git(["clone", "--quiet", "--bare", ".", "../bare.git"]);
    // Neither revision has this, which is behind the link that leads nowhere.
    environment.write("lost/nowhere", version("9.0.0"));
    let diff = |directory: &str, more: &[&str]| {
        let output = environment
            .command(["diff", "--git", "old..new"].iter().chain(more))
            .run_in(directory)
            .run();
        output.assert_code(0).stdout.clone()
    };
    let live = "live/.terraform.lock.hcl\n  ~ hashicorp/null   1.0.0 → 1.1.0   minor\n";
    assert_eq!(diff(".", &["-r"]), live);
    assert_eq!(diff("../bare.git", &["-r"]), live);
    assert_eq!(diff("live", &[]), live.replace("live/", ""));

    // A link out of the repository is its text, and not a file of this machine.
    environment.write("../outside.hcl", version("8.0.0"));
    std::fs::remove_file(project.join("live/.terraform.lock.hcl")).unwrap();
    symlink(
        "../../outside.hcl",
        project.join("live/.terraform.lock.hcl"),
    )
    .unwrap();
    repository.commit(&version("3.0.0"));
    let output = environment
        .command(["diff", "--git", "new..HEAD"])
        .run_in("live")
        .run();
    output
        .assert_code(2)
        .assert_stderr_has("HEAD:.terraform.lock.hcl:1:")
        .assert_lacks("8.0.0");
}
