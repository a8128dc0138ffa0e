//! `provlock diff`: of two files, of git's revisions, and as git's textconv.

mod git;
mod modules;
#[cfg(target_os = "linux")]
use std::path::Path;

use crate::json_output::validated;
use provlock_test::files::{entry, lock_file};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};

fn old() -> String {
    lock_file(&[
        entry("hashicorp/aws", "5.60.0", "~> 4.0", &["h1:a", "zh:b"]),
        entry("hashicorp/null", "3.2.4", "", &["h1:n"]),
        entry("hashicorp/random", "3.6.3", "", &["h1:r"]),
        entry("hashicorp/template", "2.2.0", "", &["h1:t"]),
        entry("hashicorp/tls", "4.0.5", "", &["h1:x", "zh:y"]),
        entry("hashicorp/vault", "4.0.0", "", &["zh:1", "zh:2"]),
    ])
}

fn new() -> String {
    lock_file(&[
        entry("datadog/datadog", "3.44.1", "", &["h1:d", "zh:d", "zh:e"]),
        entry("hashicorp/aws", "5.82.2", "~> 5.0", &["h1:c", "zh:d"]),
        entry("hashicorp/null", "3.2.4", "", &["h1:n"]),
        entry(
            "hashicorp/random",
            "3.6.3",
            "",
            &["h1:1", "h1:2", "h1:3", "h1:r"],
        ),
        entry("hashicorp/tls", "4.0.5", "", &["h1:p", "zh:q"]),
        entry("hashicorp/vault", "3.9.0", "", &["zh:3", "zh:4"]),
    ])
}

const TEXT: &str = r"new.hcl
  + datadog/datadog      3.44.1                              1 h1, 2 zh
  ~ hashicorp/aws        5.60.0 → 5.82.2   minor             constraints ~> 4.0 → ~> 5.0
  ~ hashicorp/random     3.6.3                               h1 1 → 4
  - hashicorp/template   2.2.0
  ! hashicorp/tls        4.0.5                               hashes replaced under the same version; h1 1 added, 1 removed, zh 1 added, 1 removed
  ~ hashicorp/vault      4.0.0 → 3.9.0     major downgrade
";

fn two_files() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("old.hcl", old());
    environment.write("new.hcl", new());
    environment
}

#[test]
fn each_provider_that_differs_has_a_line() {
    let environment = two_files();
    let output = environment.provlock(["diff", "old.hcl", "new.hcl"]);
    output.assert_code(0);
    assert_eq!(output.stdout, TEXT, "{output}");
    environment
        .provlock(["diff", "--exit-code", "old.hcl", "new.hcl"])
        .assert_code(1);
    environment
        .provlock(["diff", "--exit-code", "old.hcl", "old.hcl"])
        .assert_code(0);
    let all = environment.provlock(["diff", "-v", "old.hcl", "new.hcl"]);
    all.matches(str![[r#"
exit code: 0
----- stdout -----
new.hcl
  + datadog/datadog      3.44.1                              1 h1, 2 zh
  ~ hashicorp/aws        5.60.0 → 5.82.2   minor             constraints ~> 4.0 → ~> 5.0
  = hashicorp/null       3.2.4
  ~ hashicorp/random     3.6.3                               h1 1 → 4
  - hashicorp/template   2.2.0
  ! hashicorp/tls        4.0.5                               hashes replaced under the same version; h1 1 added, 1 removed, zh 1 added, 1 removed
  ~ hashicorp/vault      4.0.0 → 3.9.0     major downgrade
"#]]);
}

#[test]
fn colour_only_adds() {
    let environment = two_files();
    let colored = environment
        .provlock(["diff", "--color=always", "old.hcl", "new.hcl"])
        .stdout;
    assert_ne!(colored, TEXT);
    let mut plain = colored;
    for code in ["\u{1b}[0m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, TEXT);
}

#[test]
fn markdown_has_a_table_and_folded_hashes() {
    let environment = two_files();
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
#### `new.hcl`

| | Provider | Version | Change | Details |
|---|---|---|---|---|
| **+** | `datadog/datadog` | `3.44.1` |  | 1 h1, 2 zh |
| **~** | `hashicorp/aws` | `5.60.0 → 5.82.2` | minor | `constraints ~> 4.0 → ~> 5.0` |
| **~** | `hashicorp/random` | `3.6.3` |  | h1 1 → 4 |
| **−** | `hashicorp/template` | `2.2.0` |  |  |
| **!** | `hashicorp/tls` | `4.0.5` |  | **hashes replaced under the same version**<br>h1 1 added, 1 removed, zh 1 added, 1 removed |
| **~** | `hashicorp/vault` | `4.0.0 → 3.9.0` | **major downgrade** |  |

<details>
<summary>19 hashes added or removed</summary>

```diff
@@ datadog/datadog @@
+ h1:d
+ zh:d
+ zh:e
@@ hashicorp/aws @@
- h1:a
- zh:b
+ h1:c
+ zh:d
@@ hashicorp/random @@
+ h1:1
+ h1:2
+ h1:3
@@ hashicorp/template @@
- h1:t
@@ hashicorp/tls @@
- h1:x
- zh:y
+ h1:p
+ zh:q
@@ hashicorp/vault @@
- zh:1
- zh:2
+ zh:3
+ zh:4
```

</details>
"#]]);
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "old.hcl"]);
    assert_eq!(output.stdout, "No provider differs in 1 lock file.\n");
}

#[test]
fn markdown_fits_into_a_comment() {
    let environment = TestEnvironment::new();
    let hashes: Vec<_> = (0..1000)
        .map(|number| format!("zh:{number:064x}"))
        .collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    environment.write("old.hcl", "");
    environment.write(
        "new.hcl",
        lock_file(&[entry("hashicorp/null", "3.2.4", "", &hashes)]),
    );
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
#### `new.hcl`

| | Provider | Version | Details |
|---|---|---|---|
| **+** | `hashicorp/null` | `3.2.4` | 1000 zh |

The hashes are too many to be listed here; `provlock diff --format json` has them.
"#]]);
}

/// Windows allows no such file names.
#[cfg(unix)]
#[test]
fn text_in_a_lock_file_stays_text() {
    let environment = TestEnvironment::new();
    environment.write("old.hcl", "");
    let hostile = ["h9:`|<b>@all</b>\\n```\\n# owned", "h9:\\u001b[31m\\u202e"];
    environment.write(
        "a|`b`<i>.hcl",
        lock_file(&[entry("hashicorp/null", "3.2.4", "", &hostile)]),
    );
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "a|`b`<i>.hcl"]);
    output
        .matches(str![[r#"
exit code: 0
----- stdout -----
#### ``a|`b`<i>.hcl``

| | Provider | Version | Details |
|---|---|---|---|
| **+** | `hashicorp/null` | `3.2.4` | 2 other |

<details>
<summary>2 hashes added or removed</summary>

```diff
@@ hashicorp/null @@
+ h9:\u{1b}[31m\u{202e}
+ h9:`|<b>@all</b>\n```\n# owned
```

</details>
"#]])
        .assert_lacks("\n# owned")
        .assert_lacks("\u{1b}");
    output.assert_lacks("\u{202e}");
    assert_eq!(
        output
            .stdout
            .lines()
            .filter(|line| line.starts_with("```"))
            .count(),
        2,
        "{output}"
    );
}

#[test]
fn json_has_every_provider() {
    let environment = two_files();
    let output = environment.provlock(["diff", "--json", "old.hcl", "new.hcl"]);
    output.assert_code(0);
    assert_eq!(
        output.stdout,
        environment
            .provlock(["diff", "--format=json", "old.hcl", "new.hcl"])
            .stdout
    );
    let json = validated(&output.stdout);
    assert_eq!(
        (&json["schema"], &json["command"]),
        (&1.into(), &"diff".into())
    );
    assert_eq!(json["warnings"][0]["code"], "hashes-replaced");
    let root = &json["roots"][0];
    assert_eq!(
        (&root["path"], &root["lock_file"], &root["dialect"]),
        (&".".into(), &"new.hcl".into(), &"tofu".into())
    );
    assert_eq!(root["changed"], true);
    let aws = serde_json::json!({
        "address": "registry.opentofu.org/hashicorp/aws",
        "action": "changed",
        "version": { "old": "5.60.0", "new": "5.82.2" },
        "version_change": { "direction": "upgrade", "step": "minor" },
        "constraints": { "old": "~> 4.0", "new": "~> 5.0" },
        "hashes": { "added": ["h1:c", "zh:d"], "removed": ["h1:a", "zh:b"] },
        "hash_counts": { "old": { "h1": 1, "zh": 1, "other": 0 }, "new": { "h1": 1, "zh": 1, "other": 0 } },
        "hashes_replaced": false,
    });
    let providers = root["providers"].as_array().unwrap();
    assert!(providers.contains(&aws), "{output}");
    let actions: Vec<_> = providers
        .iter()
        .map(|provider| provider["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        [
            "added",
            "changed",
            "unchanged",
            "changed",
            "removed",
            "changed",
            "changed"
        ]
    );
    assert_eq!(
        providers[4]["version"],
        serde_json::json!({ "old": "2.2.0", "new": null })
    );
}

#[test]
fn unified_needs_no_parsing() {
    let environment = TestEnvironment::new();
    environment.write("old.hcl", "a\n<<<<<<< HEAD\n");
    environment.write("new.hcl", "a\nb");
    let output = environment.provlock([
        "diff",
        "--format=unified",
        "--exit-code",
        "old.hcl",
        "new.hcl",
    ]);
    let expected = "--- a/new.hcl\n+++ b/new.hcl\n@@ -1,2 +1,2 @@\n a\n-<<<<<<< HEAD\n+b\n\\ No newline at end of file\n";
    assert_eq!(output.assert_code(1).stdout, expected);
    let output = environment.provlock(["diff", "--format=unified", "missing.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
--- /dev/null
+++ b/new.hcl
@@ -0,0 +1,2 @@
+a
+b
[..] No newline at end of file
----- stderr -----
warning[lock-file-missing]: there is no lock file missing.hcl
 |
 = it is treated as empty
"#]]);
}

#[test]
fn a_side_that_cannot_be_read_is_an_error_and_a_missing_one_is_empty() {
    let environment = two_files();
    environment.write("broken.hcl", "provider \"x\" {\n");
    let output = environment.provlock(["diff", "broken.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[lock-file-syntax]: the lock file cannot be parsed: invalid block body; expected `}`, newline or identifier
 --> broken.hcl:1:15
  |
1 | provider "x" {
  |               ^
"#]]);
    let output = environment.provlock(["diff", "--format=json", "broken.hcl", "new.hcl"]);
    output.assert_code(2);
    assert_eq!(
        validated(&output.stdout)["errors"][0]["code"],
        "lock-file-syntax"
    );
    let output = environment.provlock(["diff", "missing.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
new.hcl
  + datadog/datadog    3.44.1   1 h1, 2 zh
  + hashicorp/aws      5.82.2   1 h1, 1 zh
  + hashicorp/null     3.2.4    1 h1
  + hashicorp/random   3.6.3    4 h1
  + hashicorp/tls      4.0.5    1 h1, 1 zh
  + hashicorp/vault    3.9.0    2 zh
----- stderr -----
warning[lock-file-missing]: there is no lock file missing.hcl
 |
 = it is treated as empty
"#]]);
    environment
        .provlock(["diff", "missing.hcl", "missing-too.hcl"])
        .assert_code(2);
}

#[test]
fn a_file_with_conflict_markers_is_for_merge() {
    let environment = two_files();
    let conflict = "<<<<<<< HEAD\n=======\n>>>>>>> other\n";
    environment.write("live/.terraform.lock.hcl", conflict);
    environment.provlock(["diff", "new.hcl", "live"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[conflict-markers]: the lock file contains git conflict markers
 --> live/.terraform.lock.hcl:1:1
  |
1 | <<<<<<< HEAD
  | ^^^^^^^^^^^^ the first of them
  |
  = conflicts in the file: 1
help: provlock -C live merge .terraform.lock.hcl; to lock the entries in conflict again: provlock -C live merge --resolve .terraform.lock.hcl
"#]]);
    environment.write("copy.hcl", conflict);
    environment
        .provlock(["diff", "new.hcl", "copy.hcl"])
        .assert_code(2)
        .assert_lacks("provlock merge");
}

#[test]
fn the_help_for_a_conflict_in_the_current_directory_can_be_run() {
    let environment = two_files();
    environment.write_lock_file("<<<<<<< HEAD\n=======\n>>>>>>> other\n");
    let output = environment.provlock(["diff", "new.hcl"]);
    output
        .assert_code(2)
        .assert_stderr_has("help: provlock merge .terraform.lock.hcl; ")
        .assert_lacks("-C");
}

#[test]
fn text_that_changes_no_entry_is_not_called_layout() {
    let environment = two_files();
    let old = environment.read("old.hcl");
    let hash = old.lines().find(|line| line.contains("h1:")).unwrap();
    for new in [
        format!("# comment\n{old}"),
        format!("{old}\nmodule \"x\" {{\n}}\n"),
        old.replacen(hash, &format!("{hash}\n{hash}"), 1),
    ] {
        environment.write("other.hcl", new);
        let output = environment.provlock(["diff", "--exit-code", "old.hcl", "other.hcl"]);
        let said = "No provider differs in 1 lock file; other text does, such as comments (see --format unified)\n";
        output.assert_code(0).assert_stderr_has(said);
    }
    environment
        .provlock(["diff", "old.hcl", "old.hcl"])
        .assert_stderr_has("No provider differs in 1 lock file\n");
}

#[test]
fn without_git_two_files_have_to_be_named() {
    let environment = TestEnvironment::new();
    let output = environment.provlock(["diff"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git rev-parse failed: not a git repository (or any of the parent directories): .git
help: run in a git repository, or name two files: provlock diff OLD NEW
"#]]);
}

/// `PROVLOCK_CORPUS=DIR`: a directory with `index.tsv` (number, repository, path) and
/// `locks/NUMBER.lock.hcl`.
#[test]
#[ignore = "reads the folder that PROVLOCK_CORPUS names"]
fn versions_of_real_lock_files_are_compared() {
    let folder = std::env::var("PROVLOCK_CORPUS").expect("PROVLOCK_CORPUS=DIR");
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
    let mut versions = std::collections::BTreeMap::<_, Vec<_>>::new();
    for line in index.lines() {
        let (number, place) = line.split_once('\t').unwrap();
        versions
            .entry(place)
            .or_default()
            .push(folder.join(format!("locks/{number}.lock.hcl")));
    }
    let environment = TestEnvironment::new();
    let readable =
        |path: &Path| environment.provlock([Path::new("diff"), path, path]).code == Some(0);
    let (mut pairs, mut refused) = (0, 0);
    for files in versions.values().filter(|files| files.len() > 1) {
        for pair in files.windows(2) {
            let refusal = !readable(&pair[0]) || !readable(&pair[1]);
            refused += usize::from(refusal);
            for format in ["text", "markdown", "json", "unified"] {
                let (old, new) = (pair[0].to_str().unwrap(), pair[1].to_str().unwrap());
                let output = environment.provlock(["diff", "--format", format, old, new]);
                output.assert_code(if refusal && format != "unified" { 2 } else { 0 });
            }
            pairs += 1;
        }
    }
    println!("{pairs} pairs compared in four formats; {refused} hold a file that cannot be read");
    assert!(pairs > 0 && refused * 20 < pairs);
}
