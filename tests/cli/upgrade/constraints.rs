//! Constraints that `--constraints` rewrites, and constraints that it cannot.

use super::age::document;
use super::*;

#[test]
fn constraints_are_rewritten_in_every_module_of_the_project() {
    let (_registry, environment, gamma, null) = two_providers();
    let main = format!(
        "{}# ~> 1.0\r\nmodule \"a\" {{\n  source = \"./a\"\n}}\n",
        requires_both("~> 1.0", ">= 3.0, < 4.0")
    );
    environment.write("main.tf", &main);
    environment.write("a/main.tf", requires("acme/gamma", "< 1.5"));
    let before = environment.snapshot();

    let dry_run = environment.provlock(["upgrade", "--constraints", "--dry-run"]);
    dry_run.matches(str![[r#"
exit code: 0
----- stdout -----
--- a/.terraform.lock.hcl
+++ b/.terraform.lock.hcl
@@ -2,21 +2,21 @@
 # Manual edits may be lost in future updates.
 
 provider "registry.opentofu.org/acme/gamma" {
-  version     = "1.0.0"
-  constraints = "~> 1.0"
+  version     = "2.0.0"
+  constraints = "~> 2.0, < 2.1.0"
   hashes = [
-    "h1:+By8lX3W0NzsR9yGnVJPphljsUJqD+kylP0F4VjGWLg=",
+    "h1:pRfEVIEYvkPUiZPwz14xHW5Sv+DieHOdQz36O6aB2p0=",
     "zh:[HASH]",
-    "zh:[HASH]",
+    "zh:[HASH]",
   ]
 }
 
 provider "registry.opentofu.org/hashicorp/null" {
-  version     = "3.1.0"
-  constraints = "~> 3.0"
+  version     = "3.2.4"
+  constraints = ">= 3.0.0, < 4.0.0"
   hashes = [
-    "h1:J0HwSOlcoKRrSd/zDQgNuMCOnVC96nJO9G9C7IiPNOE=",
-    "zh:[HASH]",
+    "h1:DtNFvSSFRQfRiy/2IIgxol70KAERtZXn1/Npr/JrVvg=",
+    "zh:[HASH]",
     "zh:[HASH]",
   ]
 }
--- a/a/main.tf
+++ b/a/main.tf
@@ -2,7 +2,7 @@
   required_providers {
     gamma = {
       source = "acme/gamma"
-      version = "< 1.5"
+      version = "< 2.1"
     }
   }
 }
--- a/main.tf
+++ b/main.tf
@@ -2,7 +2,7 @@
   required_providers {
     gamma = {
       source  = "acme/gamma"
-      version = "~> 1.0"
+      version = "~> 2.0"
     }
     null = {
       source  = "hashicorp/null"

provider         locked   allowed   change   newest
acme/gamma       1.0.0    2.0.0     major    2.0.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v2.0.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v2.0.0
hashicorp/null   3.1.0    3.2.4     minor    3.2.4
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4
----- stderr -----
  ~ acme/gamma       1.0.0 → 2.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Would upgrade 2 providers for linux_amd64 (2 changed); [SIZE] downloaded
"#]]);
    before.assert_same(&environment.snapshot());

    let output = environment.provlock(upgrade(&["--constraints"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
  ~ acme/gamma       1.0.0 → 2.0.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ a/main.tf:5   < 1.5 → < 2.1
  ~ main.tf:5   ~> 1.0 → ~> 2.0
Upgraded 2 providers for linux_amd64 (2 changed)
"#]]);
    assert_eq!(
        environment.read("main.tf"),
        main.replace("\"~> 1.0\"", "\"~> 2.0\"")
    );
    assert_eq!(
        environment.read("a/main.tf"),
        requires("acme/gamma", "< 2.1")
    );
    let expected = [
        locked(&gamma[2], "~> 2.0, < 2.1.0"),
        locked(&null[1], ">= 3.0.0, < 4.0.0"),
    ];
    assert_eq!(environment.lock_file(), lock_file(&expected));
    environment
        .provlock(["lock", "-p", "linux_amd64", "--check"])
        .assert_code(0);
}

/// Each file is replaced in one step and the lock file is the last, so a killed run leaves some
/// files of the configuration with their new constraints, and the old lock file.
#[test]
fn the_next_run_completes_a_killed_one() {
    let (_registry, environment, gamma, null) = two_providers();
    let main = format!(
        "{}module \"a\" {{\n  source = \"./a\"\n}}\n",
        requires_both("~> 1.0", ">= 3.0, < 4.0")
    );
    let old = [
        ("main.tf", main.clone()),
        ("a/main.tf", requires("acme/gamma", "< 1.5")),
    ];
    let new = [
        ("main.tf", main.replace("~> 1.0", "~> 2.0")),
        ("a/main.tf", requires("acme/gamma", "< 2.1")),
    ];
    let old_lock_file = environment.lock_file();
    for written in 0..4 {
        for (index, (old, new)) in old.iter().zip(&new).enumerate() {
            let (path, content) = if written >> index & 1 == 1 { new } else { old };
            environment.write(path, content);
        }
        environment.write_lock_file(&old_lock_file);

        environment
            .provlock(upgrade(&["--constraints"]))
            .assert_code(0);

        for (path, content) in &new {
            assert_eq!(environment.read(path), *content, "{written:b}");
        }
        let expected = [
            locked(&gamma[2], "~> 2.0, < 2.1.0"),
            locked(&null[1], ">= 3.0.0, < 4.0.0"),
        ];
        assert_eq!(environment.lock_file(), lock_file(&expected), "{written:b}");
    }
}

#[test]
fn constraints_that_cannot_be_rewritten_hold_back_with_a_reason() {
    let (_registry, environment, gamma, null) = two_providers();
    let main = requires_both("~> 1.0", "~> 3.0").replace("\"~> 1.0\"", "<<EOT\n~> 1.0\nEOT");
    environment.write("main.tf", &main);
    let output = environment.provlock(upgrade(&["--constraints"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[version-outside-constraints]: the constraint ~> 1.0 cannot be made to allow 2.0.0: it is not a plain string
 --> main.tf:5:17
  |
5 |       version = <<EOT
  |                 ^^^^^
  ~ acme/gamma       1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 2 providers for linux_amd64 (2 changed); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64 --constraints
"#]]);
    assert_eq!(environment.read("main.tf"), main);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
}

#[test]
fn constraints_are_never_rewritten_for_an_older_version() {
    let (registry, environment, gamma, null) = two_providers();
    registry.add_host("api.opentofu.org");
    publish(&registry, "acme/gamma", "1.2.0");
    document(
        &registry,
        "acme/gamma",
        &[("2.0.0", 1), ("1.2.0", 1), ("1.1.0", 100), ("1.0.0", 200)],
    );
    let main = requires_both("~> 1.2", "~> 3.0");
    environment.write("main.tf", &main);
    let arguments = upgrade(&["--constraints", "--min-age", "7d", "acme/gamma"]);
    environment.provlock(arguments).matches(str![[r#"
exit code: 2
----- stderr -----
error[too-young]: acme/gamma 2.0.0 is not chosen: published [TIME], and it must be 7 days old
 |
 = 1.2.0 is not chosen: published [TIME], and it must be 7 days old
help: to use it anyway, pass --min-age 0d
"#]]);
    assert_eq!(environment.read("main.tf"), main);
    environment
        .provlock(upgrade(&["--constraints", "acme/gamma@1.0.0"]))
        .assert_code(0);
    assert_eq!(
        environment.read("main.tf"),
        requires_both("~> 1.0", "~> 3.0")
    );
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );
}

#[cfg(unix)]
#[test]
fn when_the_lock_file_cannot_be_written_the_configuration_is_restored() {
    use std::os::unix::fs::symlink;
    let (_registry, environment, ..) = two_providers();
    environment.provlock(UPGRADE).assert_code(0);
    let lock_file = environment.project().join(".terraform.lock.hcl");
    std::fs::remove_file(&lock_file).unwrap();
    symlink("missing/directory/lock", &lock_file).unwrap();
    let before = environment.read("main.tf");
    let output = environment.provlock(upgrade(&["--constraints"]));
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot write .terraform.lock.hcl: No such file or directory (os error 2)
help: create its directory; a symbolic link must lead into one
"#]]);
    assert_eq!(environment.read("main.tf"), before);
}

#[test]
fn held_back_providers_are_named_with_the_flag_for_constraints() {
    let (_registry, environment, ..) = two_providers();
    environment.write("main.tf", requires_both("~> 1.0", "~> 3.0"));
    let hint =
        "Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints";
    environment
        .provlock(["upgrade", "--check"])
        .assert_stderr_has(hint);
    environment
        .provlock(["upgrade", "--dry-run"])
        .assert_stderr_has(hint);
    environment
        .provlock(["upgrade", "--check", "--constraints"])
        .assert_lacks("Constraints hold back");
    environment
        .provlock(["upgrade", "-r", "--check"])
        .assert_stderr_has("provlock upgrade -r --constraints\n");
    environment
        .provlock(["upgrade", "acme/gamma"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  ~ acme/gamma   1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 1 provider for linux_amd64 (1 changed)
acme/gamma is held back from 2.0.0 by main.tf:5  ~> 1.0
1 provider held back from the newest version; see: provlock upgrade --check acme/gamma
"#]]);
}
