//! `provlock merge` as git's merge driver and for files with conflict markers, and `provlock setup
//! git`.

use super::json_output::validated;
use provlock_test::files::{entry, h1, lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str};

/// A repository whose git merges lock files with provlock.
fn repository(base: &str) -> Repository {
    let repository = Repository::new();
    repository
        .provlock(["setup", "git", "--write"])
        .assert_code(0);
    repository.commit(base);
    repository
}

fn null() -> String {
    entry("hashicorp/null", "3.2.4", "", &[&h1("n")])
}

#[test]
fn branches_that_each_add_a_provider_merge_clean() {
    let repository = repository(&lock_file(&[null()]));
    let aws = entry("hashicorp/aws", "5.0.0", "", &[&h1("a")]);
    let archive = entry("hashicorp/archive", "2.4.0", "", &[&h1("b")]);
    repository.branch("one", &lock_file(&[archive.clone(), null()]));
    repository.branch("two", &lock_file(&[aws.clone(), null()]));
    // Without provlock this is a conflict.
    let without = repository.try_git([
        "-c",
        "merge.provlock.driver=git merge-file %A %O %B",
        "merge",
        "--quiet",
        "one",
    ]);
    without.assert_code(1);
    repository.git(["merge", "--abort"]);
    repository.git(["merge", "--quiet", "--no-edit", "one"]);
    assert_eq!(
        repository.environment.lock_file(),
        lock_file(&[archive, aws, null()])
    );
    assert_eq!(repository.git(["status", "--porcelain"]), "");
}

#[test]
fn hashes_of_the_same_version_are_united() {
    let repository = repository(&lock_file(&[null()]));
    repository.branch(
        "one",
        &lock_file(&[entry(
            "hashicorp/null",
            "3.2.4",
            "",
            &[&h1("linux"), &h1("n")],
        )]),
    );
    repository.branch(
        "two",
        &lock_file(&[entry(
            "hashicorp/null",
            "3.2.4",
            "",
            &[&h1("darwin"), &h1("n")],
        )]),
    );
    repository.git(["merge", "--quiet", "--no-edit", "one"]);
    let expected = lock_file(&[entry(
        "hashicorp/null",
        "3.2.4",
        "",
        &[&h1("darwin"), &h1("linux"), &h1("n")],
    )]);
    assert_eq!(repository.environment.lock_file(), expected);
}

#[test]
fn different_versions_are_a_conflict_around_their_entries_only() {
    let locks =
        |aws: &str, hash: &str| lock_file(&[entry("hashicorp/aws", aws, "", &[hash]), null()]);
    let repository = repository(&locks("5.0.0", &h1("a")));
    let random = entry("hashicorp/random", "3.6.3", "", &[&h1("r")]);
    repository.branch("one", &format!("{}\n{random}", locks("5.1.0", &h1("b"))));
    repository.branch("two", &locks("5.2.0", &h1("c")));
    let output = repository.try_git(["merge", "--no-edit", "one"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
Auto-merging .terraform.lock.hcl
CONFLICT (content): Merge conflict in .terraform.lock.hcl
Automatic merge failed; fix conflicts and then commit the result.
----- stderr -----
error[merge-conflict]: conflict: ours has hashicorp/aws 5.2.0, theirs 5.1.0
 |
 = locked at 5.0.0 before
help: choose a side of each conflict in .terraform.lock.hcl, or run: provlock merge --resolve .terraform.lock.hcl
"#]]);
    let conflict = format!(
        "\n<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n",
        entry("hashicorp/aws", "5.2.0", "", &[&h1("c")]).trim_start(),
        entry("hashicorp/aws", "5.1.0", "", &[&h1("b")]).trim_start()
    );
    assert_eq!(
        repository.environment.lock_file(),
        lock_file(&[conflict, null(), random])
    );
    assert_eq!(
        repository.git(["status", "--porcelain"]),
        "UU .terraform.lock.hcl\n"
    );
    // A person must decide on the rest: a second `merge` finds the same conflict, and changes
    // nothing.
    let before = repository.environment.snapshot();
    let output = repository.provlock(["merge", "--json", ".terraform.lock.hcl"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
(JSON)
----- stderr -----
error[merge-conflict]: conflict: ours has hashicorp/aws 5.2.0, theirs 5.1.0
help: choose a side of each conflict in .terraform.lock.hcl, or run: provlock merge --resolve .terraform.lock.hcl
"#]]);
    assert_eq!(
        validated(&output.stdout)["errors"][0]["code"],
        "merge-conflict"
    );
    before.assert_same(&repository.environment.snapshot());
}

#[test]
fn markers_of_at_least_seven_characters_are_recognised() {
    let environment = TestEnvironment::new();
    let comment = "/*\n< one\n=\n> two\n*/\n";
    let write = |name: &str, version: &str| {
        environment.write(
            name,
            format!(
                "{comment}{}",
                lock_file(&[entry("hashicorp/aws", version, "", &[&h1("a")]), null()])
            ),
        );
    };
    write("base", "5.0.0");
    environment
        .provlock(["merge", "base"])
        .assert_code(0)
        .assert_stderr_has("No conflict in base");
    for size in ["2", "5", "6", "7", "8", "32"] {
        write("ours", "5.1.0");
        write("theirs", "5.2.0");
        environment
            .provlock([
                "merge",
                "--marker-size",
                size,
                "--path",
                "ours",
                "base",
                "ours",
                "theirs",
            ])
            .assert_code(1);
        let merged = environment.read("ours");
        let marker = format!(
            "\n{} ours\n",
            "<".repeat(size.parse::<usize>().unwrap().max(7))
        );
        assert!(
            merged.contains(&marker) && merged.starts_with(comment),
            "{merged}"
        );
        let again = environment.provlock(["merge", "ours"]);
        again
            .assert_code(1)
            .assert_stderr_has("conflict: ours has hashicorp/aws 5.1.0, theirs 5.2.0");
        assert_eq!(environment.read("ours"), merged, "{size}");
        environment.write_lock_file(&merged);
        environment
            .provlock(["diff", "base", ".terraform.lock.hcl"])
            .assert_code(2)
            .assert_stderr_has("conflict-markers");
    }
    environment.write("ours", "<<<<<<< ours\n=======\n");
    environment
        .provlock(["merge", "ours"])
        .assert_code(2)
        .assert_stderr_has("this conflict has no end");
    environment.write("ours", "<<<<<< ours\n======\n>>>>>> theirs\n");
    environment
        .provlock(["merge", "ours"])
        .assert_code(2)
        .assert_stderr_has("the lock file cannot be parsed");
}

#[test]
fn providers_in_conflict_are_locked_again() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.1.0")
        .platforms(["linux_amd64"])
        .done();
    let newest = registry
        .publish("hashicorp/null", "3.2.0")
        .platforms(["linux_amd64"])
        .done();
    // The versions may be anywhere; the configuration is beside the path.
    environment.write("infra/main.tf", requires("hashicorp/null", "~> 3.0"));
    let side = |version: &str, rest: &[String]| {
        environment.write(
            version,
            lock_file(&[&[entry("hashicorp/null", version, "", &[&h1("x")])], rest].concat()),
        );
    };
    side("3.0.0", &[entry("hashicorp/old", "1.0.0", "", &[&h1("o")])]);
    side("3.1.0", &[entry("hashicorp/old", "2.0.0", "", &[&h1("p")])]);
    environment.write("3.2.0", newest.lock_file("", &["linux_amd64"]));
    let path = "infra/.terraform.lock.hcl";
    let merge = |arguments: &[&str]| {
        let first = [
            "merge",
            "3.0.0",
            "3.1.0",
            "3.2.0",
            "--path",
            path,
            "--resolve",
        ];
        environment.provlock(first.iter().chain(arguments))
    };
    let output = merge(&["-p", "linux_arm64"]);
    output.matches(str![[r#"
exit code: 1
----- stderr -----
error[platform-not-available]: registry.opentofu.org/hashicorp/null 3.2.0 has no package for linux_arm64
 |
 = there are packages for linux_amd64
help: remove the platform; if the provider has none, add "hashicorp/null" = ["linux_arm64"] to [without-platforms] in provlock.toml

error[merge-conflict]: conflict: ours has hashicorp/null 3.1.0, theirs 3.2.0
 |
 = locked at 3.0.0 before

error[merge-conflict]: conflict: theirs removed hashicorp/old, ours changed it (now 2.0.0)
 |
 = locked at 1.0.0 before
help: choose a side of each conflict in infra/.terraform.lock.hcl, or run: provlock merge --resolve infra/.terraform.lock.hcl -p linux_arm64
"#]]);
    assert!(environment.read("3.1.0").contains("<<<<<<< ours\n"));
    side("3.1.0", &[entry("hashicorp/old", "2.0.0", "", &[&h1("p")])]);
    let errors = validated(&merge(&["-p", "linux_arm64", "--json"]).stdout)["errors"].clone();
    let codes: Vec<_> = errors
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        codes,
        ["platform-not-available", "merge-conflict", "merge-conflict"]
    );
    side("3.1.0", &[entry("hashicorp/old", "2.0.0", "", &[&h1("p")])]);
    let output = merge(&["-p", "linux_amd64"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[provider-not-required]: the configuration does not require hashicorp/old; it has no entry
  hashicorp/null   3.2.0 (ours 3.1.0, theirs 3.2.0)
  hashicorp/old   no entry (ours 2.0.0, theirs no entry)
Merged infra/.terraform.lock.hcl
"#]]);
    assert_eq!(
        environment.read("3.1.0"),
        newest.lock_file("~> 3.0", &["linux_amd64"])
    );
}

#[test]
fn removal_against_change_is_a_conflict() {
    let repository = repository(&lock_file(&[
        entry("hashicorp/aws", "5.0.0", "", &[&h1("a")]),
        null(),
    ]));
    repository.branch(
        "one",
        &lock_file(&[entry("hashicorp/aws", "5.1.0", "", &[&h1("b")]), null()]),
    );
    repository.branch("two", &lock_file(&[null()]));
    let output = repository.try_git(["merge", "--no-edit", "one"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
Auto-merging .terraform.lock.hcl
CONFLICT (content): Merge conflict in .terraform.lock.hcl
Automatic merge failed; fix conflicts and then commit the result.
----- stderr -----
error[merge-conflict]: conflict: ours removed hashicorp/aws, theirs changed it (now 5.1.0)
 |
 = locked at 5.0.0 before
help: choose a side of each conflict in .terraform.lock.hcl, or run: provlock merge --resolve .terraform.lock.hcl
"#]]);
    let aws = |version, hash| entry("hashicorp/aws", version, "", &[hash]);
    let conflict = format!(
        "<<<<<<< ours\n||||||| base\n{}=======\n{}>>>>>>> theirs\n",
        aws("5.0.0", &h1("a")),
        aws("5.1.0", &h1("b"))
    );
    assert_eq!(
        repository.environment.lock_file(),
        lock_file(&[null()]).replace("\nprovider", &format!("{conflict}\nprovider"))
    );
    // The base is shown, so that the conflict is still one when the file is mended.
    let before = repository.environment.snapshot();
    repository
        .provlock(["merge", ".terraform.lock.hcl"])
        .assert_code(1);
    before.assert_same(&repository.environment.snapshot());
}

/// As shells of Unix quote it.
#[cfg(unix)]
#[test]
fn a_conflict_names_the_file_wherever_it_is() {
    let repository = repository(&lock_file(&[null()]));
    let path = "-infra/it's a $(test)/.terraform.lock.hcl";
    let version = |version: &str, hash: &str| {
        repository.environment.write(
            path,
            lock_file(&[entry("hashicorp/aws", version, "", &[hash])]),
        );
    };
    version("5.0.0", &h1("a"));
    repository.commit(&lock_file(&[null()]));
    version("5.1.0", &h1("b"));
    repository.branch("one", &lock_file(&[null()]));
    repository.git(["checkout", "--quiet", "-b", "two", "main"]);
    version("5.2.0", &h1("c"));
    repository.commit(&lock_file(&[null()]));
    let output = repository.try_git(["merge", "--no-edit", "one"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
Auto-merging -infra/it's a $(test)/.terraform.lock.hcl
CONFLICT (content): Merge conflict in -infra/it's a $(test)/.terraform.lock.hcl
Automatic merge failed; fix conflicts and then commit the result.
----- stderr -----
error[merge-conflict]: conflict: ours has hashicorp/aws 5.2.0, theirs 5.1.0
 |
 = locked at 5.0.0 before
help: choose a side of each conflict in -infra/it's a $(test)/.terraform.lock.hcl, or run: provlock merge --resolve './-infra/it'\''s a $(test)/.terraform.lock.hcl'
"#]]);
    assert!(
        repository
            .environment
            .read(path)
            .contains("\n>>>>>>> theirs\n")
    );
}

#[test]
fn a_marker_size_of_the_attributes_is_used() {
    let repository = repository(&lock_file(&[]));
    repository.environment.write(
        ".gitattributes",
        ".terraform.lock.hcl merge=provlock conflict-marker-size=12\n",
    );
    repository.commit(&lock_file(&[null()]));
    repository.branch(
        "one",
        &lock_file(&[entry("hashicorp/null", "4.0.0", "", &[&h1("a")])]),
    );
    repository.branch(
        "two",
        &lock_file(&[entry("hashicorp/null", "5.0.0", "", &[&h1("b")])]),
    );
    repository
        .try_git(["merge", "--no-edit", "one"])
        .assert_code(1);
    assert!(
        repository
            .environment
            .lock_file()
            .contains("\n<<<<<<<<<<<< ours\n")
    );
    repository
        .provlock(["merge", ".terraform.lock.hcl"])
        .assert_code(1);
}

#[test]
fn our_formatting_stays() {
    let environment = TestEnvironment::new();
    let windows = |text: String| {
        text.replace('\n', "\r\n")
            .replace("\r\nprovider", "\r\n# ours\r\nprovider")
    };
    environment.write("base", lock_file(&[null()]));
    environment.write("ours", windows(lock_file(&[null()])));
    environment.write(
        "theirs",
        lock_file(&[entry("hashicorp/null", "3.2.5", "", &[&h1("m")])]),
    );
    environment
        .provlock([
            "merge",
            "base",
            "ours",
            "theirs",
            "--path",
            "-x/.terraform.lock.hcl",
        ])
        .assert_code(0);
    assert_eq!(
        environment.read("ours"),
        windows(lock_file(&[entry(
            "hashicorp/null",
            "3.2.5",
            "",
            &[&h1("m")]
        )]))
    );
}

#[test]
fn files_that_cannot_be_parsed_are_merged_line_by_line() {
    let environment = TestEnvironment::new();
    let broken = "provider {\n";
    environment.write("base", broken);
    environment.write("ours", format!("# ours\n\n\n\n{broken}"));
    environment.write("theirs", format!("{broken}# theirs\n"));
    let output = environment.provlock([
        "merge",
        "base",
        "ours",
        "theirs",
        "--path",
        "infra/lock.hcl",
    ]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> infra/lock.hcl (base):1:11
  |
1 | provider {
  |           ^
  |
  = the file was merged line by line instead, as git does without provlock

warning[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> infra/lock.hcl (ours):5:11
  |
5 | provider {
  |           ^
  |
  = the file was merged line by line instead, as git does without provlock

warning[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> infra/lock.hcl (theirs):2:9
  |
2 | # theirs
  |         ^
  |
  = the file was merged line by line instead, as git does without provlock
"#]]);
    assert_eq!(
        environment.read("ours"),
        format!("# ours\n\n\n\n{broken}# theirs\n")
    );
    environment.write("theirs", "provider x {\n");
    environment.write("ours", "provider y {\n");
    let output = environment.provlock(["merge", "base", "ours", "theirs", "--path", "ours"]);
    output
        .assert_code(1)
        .assert_stderr_has("error[merge-conflict]: conflicts remain in ours");
    assert_eq!(
        environment.read("ours"),
        "<<<<<<< ours\nprovider y {\n=======\nprovider x {\n>>>>>>> theirs\n"
    );
}

#[test]
fn a_file_with_conflict_markers_is_mended() {
    let repository = Repository::new();
    repository.commit(&lock_file(&[null()]));
    let aws = entry("hashicorp/aws", "5.0.0", "", &[&h1("a")]);
    let archive = entry("hashicorp/archive", "2.4.0", "", &[&h1("b")]);
    let more = entry("hashicorp/null", "3.2.4", "", &[&h1("m"), &h1("n")]);
    repository.branch("one", &lock_file(&[archive.clone(), null()]));
    repository.branch("two", &lock_file(&[aws.clone(), more.clone()]));
    for style in ["merge", "diff3", "zdiff3"] {
        let output = repository.try_git([
            "-c",
            &format!("merge.conflictStyle={style}"),
            "merge",
            "--no-edit",
            "one",
        ]);
        output.assert_code(1);
        assert!(repository.environment.lock_file().contains("<<<<<<< "));
        let output = repository.provlock(["merge", ".terraform.lock.hcl"]);
        output.assert_code(0);
        assert_eq!(
            repository.environment.lock_file(),
            lock_file(&[archive.clone(), aws.clone(), more.clone()]),
            "{style}"
        );
        // Only a base tells what was added from what was removed, and zdiff3 does not show all of
        // it.
        assert_eq!(
            output.stderr.contains("only ours has"),
            style != "diff3",
            "{style} {output}"
        );
        let before = repository.environment.snapshot();
        repository
            .provlock(["merge", ".terraform.lock.hcl"])
            .assert_code(0)
            .assert_stderr_has("No conflict");
        before.assert_same(&repository.environment.snapshot());
        repository.git(["merge", "--abort"]);
    }
}

#[test]
fn files_that_cannot_be_repaired_stay_unchanged() {
    let environment = TestEnvironment::new();
    for text in [
        "<<<<<<< HEAD\n",
        "<<<<<<< HEAD\nprovider {\n=======\n>>>>>>> topic\n",
    ] {
        environment.write_lock_file(text);
        let before = environment.snapshot();
        let output = environment.provlock(["merge", ".terraform.lock.hcl"]);
        output
            .assert_code(2)
            .assert_stderr_has(".terraform.lock.hcl");
        before.assert_same(&environment.snapshot());
    }
    environment.provlock(["merge", "missing"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: there is no lock file missing
"#]]);
    environment.provlock(["merge", "one", "two"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: two files cannot be merged without their common ancestor
help: the three versions of one file: provlock merge --path PATH BASE OURS THEIRS; to repair files with conflict markers: provlock merge FILE
"#]]);
}

/// A command in help would fail in the same way.
#[test]
fn a_conflict_that_merge_cannot_repair_is_not_referred_to_it() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    let take = "help: take one side with `git checkout --ours` or `--theirs`, then lock again";
    for text in [
        "<<<<<<< HEAD\n>>>>>>> topic\n",
        "<<<<<<< HEAD\nprovider {\n=======\n>>>>>>> topic\n",
    ] {
        environment.write_lock_file(text);
        for command in ["verify", "lock"] {
            let output = environment.provlock([command]);
            assert!(
                output.code != Some(0) && format!("{output}").contains(take),
                "{command} {output}"
            );
            output.assert_lacks("provlock merge");
        }
    }
    environment.write_lock_file("");
    environment.write(
        ".modules.lock.hcl",
        "<<<<<<< HEAD\n=======\n>>>>>>> topic\n",
    );
    let output = environment.provlock(["verify"]);
    assert!(
        format!("{output}").contains("help: provlock merge .modules.lock.hcl\n"),
        "{output}"
    );
}

#[test]
fn branches_with_two_common_ancestors_merge() {
    let repository = repository(&lock_file(&[null()]));
    let versions = |aws: &str| lock_file(&[entry("hashicorp/aws", aws, "", &[&h1("a")]), null()]);
    repository.branch("one", &versions("5.1.0"));
    repository.branch("two", &versions("5.2.0"));
    // Each takes the other in, and decides differently.
    repository.git(["branch", "two-before"]);
    repository
        .try_git(["merge", "--no-edit", "one"])
        .assert_code(1);
    repository.commit(&versions("5.2.0"));
    repository.git(["checkout", "--quiet", "one"]);
    repository
        .try_git(["merge", "--no-edit", "two-before"])
        .assert_code(1);
    repository.commit(&versions("5.1.0"));
    let output = repository.try_git(["merge", "--no-edit", "two"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
Auto-merging .terraform.lock.hcl
CONFLICT (content): Merge conflict in .terraform.lock.hcl
Automatic merge failed; fix conflicts and then commit the result.
----- stderr -----
error[merge-conflict]: conflict: ours has hashicorp/aws 5.1.0, theirs 5.2.0
help: choose a side of each conflict in .terraform.lock.hcl, or run: provlock merge --resolve .terraform.lock.hcl
"#]]);
}

/// A lock file whose two sides each add a provider.
fn in_conflict() -> String {
    let side = |name: &str| entry(name, "1.0.0", "", &[&h1("a")]);
    lock_file(&[format!(
        "<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n",
        side("hashicorp/aws"),
        side("hashicorp/null")
    )])
}

#[test]
fn without_a_file_the_lock_files_here_are_repaired() {
    let environment = TestEnvironment::new();
    environment.provlock(["merge"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-missing]: there is no lock file in .
help: to repair the lock files of all root modules below: provlock merge -r
"#]]);
    environment.write_lock_file(in_conflict());
    environment
        .provlock(["merge"])
        .assert_code(0)
        .assert_stderr_has("Merged .terraform.lock.hcl");
    assert!(!environment.lock_file().contains("<<<<<<<"));
    environment.provlock(["merge", "."]).matches(str![[r#"
exit code: 0
----- stderr -----
No conflict in .terraform.lock.hcl
"#]]);
}

#[test]
fn all_lock_files_below_are_repaired() {
    let environment = TestEnvironment::new();
    let versions =
        ["1.0.0", "2.0.0"].map(|version| entry("hashicorp/null", version, "", &[&h1("a")]));
    let real = format!(
        "<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n",
        versions[0], versions[1]
    );
    let roots = [
        ("a", in_conflict()),
        ("b", lock_file(&[null()])),
        ("c", lock_file(&[real])),
        ("d", "provider {".into()),
    ];
    for (root, text) in roots {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"local\" {}\n}\n",
        );
        environment.write(format!("{root}/.terraform.lock.hcl"), text);
    }
    environment.provlock(["merge", "-r"]).matches(str![[r#"
exit code: 1
----- stderr -----
warning[merge-conflict]: only ours has hashicorp/aws; it was kept
 |
 = the conflict does not show whether one side added it or the other removed it
 = root module: a
help: if the configuration no longer requires it: provlock -C a lock --prune

warning[merge-conflict]: only theirs has hashicorp/null; it was kept
 |
 = the conflict does not show whether one side added it or the other removed it
 = root module: a
help: if the configuration no longer requires it: provlock -C a lock --prune
error[merge-conflict]: conflict: ours has hashicorp/null 1.0.0, theirs 2.0.0
help: choose a side of each conflict in c/.terraform.lock.hcl, or run: provlock merge --resolve c/.terraform.lock.hcl
Merged a/.terraform.lock.hcl
Merged 1 of 2 lock files with conflicts
"#]]);
    assert!(
        !environment
            .read("a/.terraform.lock.hcl")
            .contains("<<<<<<<")
    );
    assert!(
        environment
            .read("c/.terraform.lock.hcl")
            .contains("<<<<<<<")
    );
    validated(
        &environment
            .provlock(["merge", "-r", "a", "c", "--json"])
            .stdout,
    );
    environment.write("b/provlock.toml", "platforms = [");
    let output = environment.provlock(["merge", "-r"]);
    output
        .assert_code(2)
        .assert_stderr_has("b/provlock.toml")
        .assert_stderr_has("Merged 0 of 1 lock file with");
}

#[test]
fn three_files_without_the_driver_s_path_are_refused() {
    let environment = TestEnvironment::new();
    for name in ["one", "two", "three"] {
        environment.write(
            name,
            lock_file(&[entry("hashicorp/null", "1.0.0", "", &[name])]),
        );
    }
    let before = environment.snapshot();
    environment.provlock(["merge", "one", "two", "three"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: pass --path PATH to merge three versions of one file
help: as in: provlock merge --path PATH BASE OURS THEIRS; to repair files with conflict markers: provlock merge FILE
"#]]);
    before.assert_same(&environment.snapshot());
}

#[cfg(unix)]
#[test]
fn a_lock_file_behind_a_link_out_of_the_repository_is_not_merged() {
    type Attempt = fn(&TestEnvironment);
    let conflict = "<<<<<<< a\n=======\n>>>>>>> b\n";
    let attempts: [(&str, Attempt); 3] = [
        ("../outside/.terraform.lock.hcl", |environment| {
            let link = environment.project().join(".terraform.lock.hcl");
            std::os::unix::fs::symlink("../outside/.terraform.lock.hcl", link).unwrap();
        }),
        (".git/lock", |environment| {
            let link = environment.project().join(".terraform.lock.hcl");
            std::os::unix::fs::symlink(".git/lock", link).unwrap();
        }),
        ("../outside/.terraform.lock.hcl", |environment| {
            std::os::unix::fs::symlink("../outside", environment.project().join("live")).unwrap();
        }),
    ];
    for (target, attempt) in attempts {
        let repository = Repository::new();
        let environment = &repository.environment;
        let text = lock_file(&[null()]) + conflict;
        environment.write(target, &text);
        environment.write("main.tf", requires("hashicorp/null", ""));
        attempt(environment);
        let directory = if environment.has_lock_file() {
            "."
        } else {
            "live"
        };
        let file = format!("{directory}/.terraform.lock.hcl");
        for arguments in [
            &["merge", directory][..],
            &["merge", &file],
            &["merge", "-r"],
        ] {
            let output = environment.provlock(arguments);
            assert_eq!(environment.read(target), text, "{output}");
            if arguments[1] != "-r" {
                output
                    .assert_code(2)
                    .assert_stderr_has("leads out of the repository");
            }
        }
    }
    // A link to a file of the repository is followed, as by `lock`.
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("shared.lock.hcl", lock_file(&[null()]) + conflict);
    let link = environment.project().join(".terraform.lock.hcl");
    std::os::unix::fs::symlink("shared.lock.hcl", link).unwrap();
    repository.provlock(["merge"]).assert_code(0);
    assert_eq!(environment.read("shared.lock.hcl"), lock_file(&[null()]));
}
