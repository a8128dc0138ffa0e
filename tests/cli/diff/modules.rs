//! Differences of lock files of modules.

use super::*;
use provlock_test::files::{module_entry, module_lock_file};

fn registry(version: &str, constraints: &str, commit: &str) -> String {
    format!(
        "module \"network\" {{\n  source      = \"registry.opentofu.org/acme/network/aws\"\n  version     = \
         \"{version}\"\n  constraints = \"{constraints}\"\n  package     = \
         \"git::https://example.com/network.git?ref={commit}\"\n  hashes = [\n    \"h1:{commit}\",\n  ]\n}}\n"
    )
}

fn two_files() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let old = [
        module_entry("a", "v1", "1"),
        module_entry("b", "v1", "1"),
        registry("1.0.0", "~> 1", "c1"),
        module_entry("z", "v1", "1"),
    ];
    let new = [
        module_entry("b", "v1", "2"),
        module_entry("c", "v2", "3"),
        registry("2.1.0", "~> 2.0", "c2"),
        module_entry("z", "v1", "1"),
    ];
    environment.write("old.hcl", module_lock_file(&old));
    environment.write("new.hcl", module_lock_file(&new));
    environment
}

#[test]
fn each_module_that_differs_has_a_line() {
    two_files().provlock(["diff", "old.hcl", "new.hcl"]).matches(str![[r#"
exit code: 0
----- stdout -----
new.hcl
  - module.a
  ! module.b                                 package replaced under the same source; package git::https://example.com/b.git?ref=1 → git::https://example.com/b.git?ref=2; h1 1 added, 1 removed
  + module.c                                 package git::https://example.com/c.git?ref=3; 1 h1
  ~ module.network   1.0.0 → 2.1.0   major   constraints ~> 1 → ~> 2.0; package git::https://example.com/network.git?ref=c1 → git::https://example.com/network.git?ref=c2
"#]]);
}

#[test]
fn markdown_and_json_name_modules() {
    let environment = two_files();
    let markdown = environment.provlock(["diff", "--format", "markdown", "old.hcl", "new.hcl"]);
    markdown
        .assert_stdout_has("| | Module | Version |")
        .assert_stdout_has("package replaced under the same source");
    let output = environment.provlock(["diff", "--json", "old.hcl", "new.hcl"]);
    let json = validated(&output.stdout);
    assert_eq!(json["roots"][0]["providers"], serde_json::json!([]));
    let modules = json["roots"][0]["modules"].as_array().unwrap();
    let names: Vec<_> = modules
        .iter()
        .map(|module| module["address"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "c", "network", "z"]);
    assert_eq!(
        (
            &modules[1]["package_replaced"],
            &modules[3]["package_replaced"]
        ),
        (&true.into(), &false.into())
    );
    assert_eq!(
        modules[3]["version"],
        serde_json::json!({ "old": "1.0.0", "new": "2.1.0" })
    );
    assert_eq!(
        modules[2]["package"]["new"],
        "git::https://example.com/c.git?ref=3"
    );
    assert_eq!(
        json["warnings"][0]["message"],
        "new.hcl: module.b: package replaced under the same source"
    );
}

#[test]
fn git_compares_both_kinds_of_lock_files() {
    let repository = Repository::new();
    repository.environment.write(
        ".modules.lock.hcl",
        module_lock_file(&[module_entry("a", "v1", "1")]),
    );
    repository
        .environment
        .write("sub/.modules.lock.hcl", module_lock_file(&[]));
    repository.commit(&lock_file(&[entry(
        "hashicorp/null",
        "3.2.3",
        "",
        &["h1:a"],
    )]));
    repository.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stderr -----
No entry differs in 2 lock files
"#]]);
    repository.environment.write(
        ".modules.lock.hcl",
        module_lock_file(&[module_entry("a", "v1", "2")]),
    );
    repository.environment.write(
        "sub/.modules.lock.hcl",
        module_lock_file(&[module_entry("x", "v1", "2")]),
    );
    repository.environment.write_lock_file(lock_file(&[entry(
        "hashicorp/null",
        "3.2.4",
        "",
        &["h1:b"],
    )]));
    repository.provlock(["diff"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  ~ hashicorp/null   3.2.3 → 3.2.4   patch
.modules.lock.hcl
  ! module.a   package replaced under the same source; package git::https://example.com/a.git?ref=1 → git::https://example.com/a.git?ref=2; h1 1 added, 1 removed
"#]]);
    repository.provlock(["diff", "-r", "--git", "HEAD"]).matches(str![[r#"
exit code: 0
----- stdout -----
.terraform.lock.hcl
  ~ hashicorp/null   3.2.3 → 3.2.4   patch
.modules.lock.hcl
  ! module.a   package replaced under the same source; package git::https://example.com/a.git?ref=1 → git::https://example.com/a.git?ref=2; h1 1 added, 1 removed
sub/.modules.lock.hcl
  + module.x   package git::https://example.com/x.git?ref=2; 1 h1
"#]]);
    repository
        .provlock(["diff", "--textconv", ".modules.lock.hcl"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
a  git::https://example.com/a.git?ref=v1  git::https://example.com/a.git?ref=2  1 h1  #6a7bcfc2
"#]]);
    repository
        .environment
        .write(".modules.lock.hcl", "module \"a\" {");
    let broken = repository.provlock(["diff"]);
    broken.assert_code(2).assert_stderr_has("lock-file-syntax");
    repository
        .provlock(["diff", "--textconv", ".modules.lock.hcl"])
        .assert_code(0)
        .assert_stdout_has("module \"a\" {");
}
