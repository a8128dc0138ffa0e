//! `provlock diff`: of two files, of git's revisions, and as git's textconv.

use std::path::Path;

use super::json_output::validated;
use super::repository::{Repository, constrained, entry, lock_file};
use provlock_test::{TestEnvironment, str};

fn old() -> String {
    lock_file(&[
        constrained("hashicorp/aws", "5.60.0", "~> 4.0", &["h1:a", "zh:b"]),
        entry("hashicorp/null", "3.2.4", &["h1:n"]),
        entry("hashicorp/random", "3.6.3", &["h1:r"]),
        entry("hashicorp/template", "2.2.0", &["h1:t"]),
        entry("hashicorp/tls", "4.0.5", &["h1:x", "zh:y"]),
        entry("hashicorp/vault", "4.0.0", &["zh:1", "zh:2"]),
    ])
}

fn new() -> String {
    lock_file(&[
        entry("datadog/datadog", "3.44.1", &["h1:d", "zh:d", "zh:e"]),
        constrained("hashicorp/aws", "5.82.2", "~> 5.0", &["h1:c", "zh:d"]),
        entry("hashicorp/null", "3.2.4", &["h1:n"]),
        entry("hashicorp/random", "3.6.3", &["h1:1", "h1:2", "h1:3", "h1:r"]),
        entry("hashicorp/tls", "4.0.5", &["h1:p", "zh:q"]),
        entry("hashicorp/vault", "3.9.0", &["zh:3", "zh:4"]),
    ])
}

const TEXT: &str = "\
new.hcl
  + datadog/datadog      3.44.1            1 h1, 2 zh
  ~ hashicorp/aws        5.60.0 → 5.82.2   minor             constraints ~> 4.0 → ~> 5.0
  ~ hashicorp/random     3.6.3             h1 1 → 4
  - hashicorp/template   2.2.0
  ! hashicorp/tls        4.0.5             hashes replaced under the same version; h1 1 added, 1 removed, zh 1 added, 1 removed
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
    environment.provlock(["diff", "--exit-code", "old.hcl", "new.hcl"]).assert_code(1);
    environment.provlock(["diff", "--exit-code", "old.hcl", "old.hcl"]).assert_code(0);
    let all = environment.provlock(["diff", "-v", "old.hcl", "new.hcl"]);
    all.matches(str![[r#"
exit code: 0
----- stdout -----
new.hcl
  + datadog/datadog      3.44.1            1 h1, 2 zh
  ~ hashicorp/aws        5.60.0 → 5.82.2   minor             constraints ~> 4.0 → ~> 5.0
  = hashicorp/null       3.2.4
  ~ hashicorp/random     3.6.3             h1 1 → 4
  - hashicorp/template   2.2.0
  ! hashicorp/tls        4.0.5             hashes replaced under the same version; h1 1 added, 1 removed, zh 1 added, 1 removed
  ~ hashicorp/vault      4.0.0 → 3.9.0     major downgrade
"#]]);
}

#[test]
fn colour_only_adds() {
    let environment = two_files();
    let colored = environment.provlock(["diff", "--color=always", "old.hcl", "new.hcl"]).stdout;
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

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **+** | `datadog/datadog` | `3.44.1` | added |  | 1 h1, 2 zh |
| **~** | `hashicorp/aws` | `5.60.0` → `5.82.2` | minor upgrade | `~> 4.0` → `~> 5.0` |  |
| **~** | `hashicorp/random` | `3.6.3` |  |  | h1 1 → 4 |
| **−** | `hashicorp/template` | `2.2.0` | removed |  |  |
| **!** | `hashicorp/tls` | `4.0.5` |  |  | **hashes replaced under the same version**; h1 1 added, 1 removed, zh 1 added, 1 removed |
| **~** | `hashicorp/vault` | `4.0.0` → `3.9.0` | **major downgrade** |  |  |

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
    let hashes: Vec<_> = (0..1000).map(|number| format!("zh:{number:064x}")).collect();
    let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
    environment.write("old.hcl", "");
    environment.write("new.hcl", lock_file(&[entry("hashicorp/null", "3.2.4", &hashes)]));
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "new.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
#### `new.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **+** | `hashicorp/null` | `3.2.4` | added |  | 1000 zh |

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
    environment.write("a|`b`<i>.hcl", lock_file(&[entry("hashicorp/null", "3.2.4", &hostile)]));
    let output = environment.provlock(["diff", "--format=markdown", "old.hcl", "a|`b`<i>.hcl"]);
    output
        .matches(str![[r#"
exit code: 0
----- stdout -----
#### ``a|`b`<i>.hcl``

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **+** | `hashicorp/null` | `3.2.4` | added |  | 2 other |

<details>
<summary>2 hashes added or removed</summary>

```diff
@@ hashicorp/null @@
+ h9:/u{1b}[31m/u{202e}
+ h9:`|<b>@all</b>/u{a}```/u{a}# owned
```

</details>
"#]])
        .assert_lacks("\n# owned")
        .assert_lacks("\u{1b}");
    output.assert_lacks("\u{202e}");
    assert_eq!(output.stdout.lines().filter(|line| line.starts_with("```")).count(), 2, "{output}");
}

#[test]
fn json_has_every_provider() {
    let environment = two_files();
    let output = environment.provlock(["diff", "--json", "old.hcl", "new.hcl"]);
    output.assert_code(0);
    assert_eq!(output.stdout, environment.provlock(["diff", "--format=json", "old.hcl", "new.hcl"]).stdout);
    let json = validated(&output.stdout);
    assert_eq!((&json["schema"], &json["command"]), (&1.into(), &"diff".into()));
    assert_eq!(json["warnings"][0]["code"], "hashes-replaced");
    let root = &json["roots"][0];
    assert_eq!((&root["path"], &root["lock_file"], &root["dialect"]), (&".".into(), &"new.hcl".into(), &"tofu".into()));
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
    let actions: Vec<_> = providers.iter().map(|provider| provider["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["added", "changed", "unchanged", "changed", "removed", "changed", "changed"]);
    assert_eq!(providers[4]["version"], serde_json::json!({ "old": "2.2.0", "new": null }));
}

#[test]
fn unified_needs_no_parsing() {
    let environment = TestEnvironment::new();
    environment.write("old.hcl", "a\n<<<<<<< HEAD\n");
    environment.write("new.hcl", "a\nb");
    let output = environment.provlock(["diff", "--format=unified", "--exit-code", "old.hcl", "new.hcl"]);
    let expected =
        "--- a/new.hcl\n+++ b/new.hcl\n@@ -1,2 +1,2 @@\n a\n-<<<<<<< HEAD\n+b\n\\ No newline at end of file\n";
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
/ No newline at end of file
----- stderr -----
warning[lock-file-missing]: there is no lock file missing.hcl
 |
 = it counts as an empty one
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
    assert_eq!(validated(&output.stdout)["errors"][0]["code"], "lock-file-syntax");
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
 = it counts as an empty one
"#]]);
    environment.provlock(["diff", "missing.hcl", "missing-too.hcl"]).assert_code(2);
}

#[test]
fn without_git_two_files_have_to_be_named() {
    let environment = TestEnvironment::new();
    let output = environment.provlock(["diff"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: git rev-parse failed: not a git repository (or any of the parent directories): .git
 |
help: run in a git repository, or name two files: provlock diff OLD NEW
"#]]);
}

#[test]
fn head_is_compared_with_the_working_tree() {
    let repository = Repository::new();
    repository.commit(&lock_file(&[entry("hashicorp/null", "3.2.3", &["h1:a"])]));
    let output = repository.provlock(["diff", "--exit-code"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
No provider differs in 1 lock file
"#]]);
    repository.environment.write_lock_file(lock_file(&[entry("hashicorp/null", "3.2.4", &["h1:b"])]));
    let output = repository.provlock(["diff", "--exit-code"]);
    assert_eq!(output.assert_code(1).stdout, ".terraform.lock.hcl\n  ~ hashicorp/null   3.2.3 → 3.2.4   patch\n");
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
    let version = |version: &str| lock_file(&[entry("hashicorp/null", version, &["h1:a"])]);
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
        repository.provlock(["diff", "--git", revisions]).assert_code(0).assert_stdout_has(expected);
    }
    for revision in ["nowhere", "--output=x", "main..-x", "", "main:missing..main"] {
        let output = repository.provlock(["diff", "--git", revision]);
        output.assert_code(2).assert_stderr_has("invalid-argument");
    }
    repository.git(["branch", "--", "a&b;c$(d)"]);
    repository.provlock(["diff", "--git", "a&b;c$(d)"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  ~ hashicorp/null   4.0.0 → 5.0.0   major
"#]]);
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

#[test]
fn recursive_compares_every_lock_file_below() {
    let repository = Repository::new();
    let lock = |version: &str| lock_file(&[entry("hashicorp/null", version, &["h1:a"])]);
    let write =
        |path: &str, version: &str| repository.environment.write(format!("{path}/.terraform.lock.hcl"), lock(version));
    write("infra/a", "1.0.0");
    write("infra/ü b", "1.0.0");
    write("infra/gone", "1.0.0");
    write("infra/same", "1.0.0");
    repository.environment.write("infra/untouched/.terraform.lock.hcl", "cannot be parsed");
    write("other", "1.0.0");
    repository.environment.write(".gitignore", "ignored/\n");
    repository.commit(&lock("1.0.0"));
    write("infra/a", "1.1.0");
    write("infra/ü b", "1.0.1");
    write("infra/new", "1.0.0");
    write("infra/ignored", "1.0.0");
    write("other", "2.0.0");
    std::fs::remove_dir_all(repository.environment.project().join("infra/gone")).unwrap();
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
    let output = repository.provlock(["-C", "infra", "diff", "--recursive"]);
    assert_eq!(output.assert_code(0).stdout.replace('\\', "/"), expected);
    repository.git(["add", "--all"]);
    repository.git(["commit", "--quiet", "--message=change"]);
    let output = repository.provlock(["-C", "infra", "diff", "-r", "--git", "HEAD~1..HEAD"]);
    assert_eq!(output.assert_code(0).stdout.replace('\\', "/"), expected);
    let output = repository.provlock(["diff", "-r", "--git=HEAD~1..", "--format=markdown"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
#### `infra/a/.terraform.lock.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0` → `1.1.0` | minor upgrade |  |  |

#### `infra/gone/.terraform.lock.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **−** | `hashicorp/null` | `1.0.0` | removed |  |  |

<details>
<summary>1 hash added or removed</summary>

```diff
@@ hashicorp/null @@
- h1:a
```

</details>

#### `infra/new/.terraform.lock.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **+** | `hashicorp/null` | `1.0.0` | added |  | 1 h1 |

<details>
<summary>1 hash added or removed</summary>

```diff
@@ hashicorp/null @@
+ h1:a
```

</details>

#### `infra/ü b/.terraform.lock.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0` → `1.0.1` | patch upgrade |  |  |

#### `other/.terraform.lock.hcl`

| | Provider | Version | Change | Constraints | Hashes |
|---|---|---|---|---|---|
| **~** | `hashicorp/null` | `1.0.0` → `2.0.0` | major upgrade |  |  |
"#]]);
}

#[test]
fn textconv_has_a_line_per_provider_for_git_diff() {
    let repository = Repository::new();
    repository.provlock(["setup", "git", "--write"]).assert_code(0);
    repository.commit(&lock_file(&[
        constrained("hashicorp/aws", "5.0.0", "~> 5.0", &["h1:a", "zh:a"]),
        entry("hashicorp/null", "3.2.4", &["h1:n"]),
    ]));
    repository.environment.write_lock_file(lock_file(&[
        constrained("hashicorp/aws", "5.1.0", "~> 5.0", &["h1:b", "zh:b"]),
        entry("hashicorp/null", "3.2.4", &["h1:m"]),
    ]));
    let output = repository.git(["diff"]);
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
    repository.provlock(["diff"]).assert_code(0).assert_stdout_has("5.0.0 → 5.1.0");
}

#[test]
fn textconv_prints_what_it_cannot_parse() {
    let environment = TestEnvironment::new();
    for text in ["<<<<<<< HEAD\nx\n", "provider {", "\u{feff}", ""] {
        environment.write("file", text);
        let output = environment.provlock(["diff", "--textconv", "file"]);
        assert_eq!(output.assert_code(0).stdout, if text == "\u{feff}" { "" } else { text });
    }
    let mut expected = vec![b'\xff'];
    environment.write("file", &expected);
    let output = environment.provlock(["diff", "--textconv", "file"]);
    expected = String::from_utf8_lossy(&expected).into_owned().into_bytes();
    assert_eq!(output.assert_code(0).stdout.as_bytes(), expected);
}

/// `PROVLOCK_CORPUS=DIR`: a directory with `index.tsv` (number, repository, path) and `locks/NUMBER.lock.hcl`.
#[test]
#[ignore = "reads the folder that PROVLOCK_CORPUS names"]
fn versions_of_real_lock_files_are_compared() {
    let folder = std::env::var("PROVLOCK_CORPUS").expect("PROVLOCK_CORPUS=DIR");
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
    let mut versions = std::collections::BTreeMap::<_, Vec<_>>::new();
    for line in index.lines() {
        let (number, place) = line.split_once('\t').unwrap();
        versions.entry(place).or_default().push(folder.join(format!("locks/{number}.lock.hcl")));
    }
    let environment = TestEnvironment::new();
    let readable = |path: &Path| environment.provlock([Path::new("diff"), path, path]).code == Some(0);
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
