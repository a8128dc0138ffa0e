//! `upgrade --check` and `upgrade --dry-run`: what would move.

use serde_json::json;

use super::{UPGRADE, locked, publish, two_providers, upgrade};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::files::entry;
use provlock_test::registry::Registry;
use provlock_test::{Fault, Times, str, url};

#[test]
fn a_check_shows_a_table_and_fetches_no_package() {
    let (registry, environment, ..) = two_providers();
    environment.write(
        "more.tf",
        "provider \"null\" {}\nmodule \"a\" {\n  source = \"./a\"\n}\nresource \"random_id\" \"x\" {}\n",
    );
    environment.write("a/main.tf", requires("acme/gamma", "< 1.5"));
    publish(&registry, "hashicorp/random", "3.6.3");
    let before = environment.snapshot();

    let output = environment.provlock(["upgrade", "--check"]);

    output.matches(str![[r#"
exit code: 1
----- stdout -----
provider           locked   allowed   change   newest   held back by
acme/gamma         1.0.0    1.1.0     minor    2.0.0    main.tf:5  ~> 1.0
                                                        a/main.tf:5  < 1.5.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
hashicorp/null     3.1.0    3.2.4     minor    3.2.4
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4
hashicorp/random            3.6.3              3.6.3
  https://github.com/hashicorp/terraform-provider-random/releases/tag/v3.6.3
----- stderr -----
3 providers can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints
"#]]);
    assert_eq!(
        (
            registry.requests_to(url::VERSIONS),
            registry.requests_to(url::DOWNLOAD)
        ),
        (3, 0)
    );
    before.assert_same(&environment.snapshot());
}

/// `upgrade --dry-run` does the same as `upgrade`, but writes nothing.
#[test]
fn a_dry_run_shows_the_change_as_a_diff_and_the_table() {
    let (_registry, environment, ..) = two_providers();
    let (before, locked) = (environment.snapshot(), environment.lock_file());
    let dry_run = environment.provlock(upgrade(&["--dry-run", "acme/gamma"]));
    dry_run.matches(str![[r#"
exit code: 0
----- stdout -----
--- a/.terraform.lock.hcl
+++ b/.terraform.lock.hcl
@@ -2,12 +2,12 @@
 # Manual edits may be lost in future updates.
 
 provider "registry.opentofu.org/acme/gamma" {
-  version     = "1.0.0"
+  version     = "1.1.0"
   constraints = "~> 1.0"
   hashes = [
-    "h1:+By8lX3W0NzsR9yGnVJPphljsUJqD+kylP0F4VjGWLg=",
+    "h1:CS94v4eKKCnn4Cr4B7S7zROZCJHsXhnHnsNulrw8XRs=",
     "zh:[HASH]",
-    "zh:[HASH]",
+    "zh:[HASH]",
   ]
 }
 

provider     locked   allowed   change   newest   held back by
acme/gamma   1.0.0    1.1.0     minor    2.0.0    main.tf:5  ~> 1.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
----- stderr -----
  ~ acme/gamma   1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Would upgrade 1 provider for linux_amd64 (1 changed); [SIZE] downloaded
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints acme/gamma -p linux_amd64
"#]]);
    let both = environment.provlock(upgrade(&["--dry-run", "--check", "acme/gamma"]));
    both.assert_code(1).assert_stdout_has(&dry_run.stdout);
    let json = validated(
        &environment
            .provlock(upgrade(&["--dry-run", "--json", "acme/gamma"]))
            .stdout,
    );
    assert_eq!(
        json["roots"][0]["providers"][0]["version"],
        json!({ "old": "1.0.0", "new": "1.1.0" })
    );
    assert_eq!(
        (&json["roots"][0]["changed"], &json["roots"][0]["written"]),
        (&json!(true), &json!(false))
    );
    before.assert_same(&environment.snapshot());

    // The printed patch can be applied.
    environment.write("change.patch", &dry_run.stdout);
    environment.git(".", ["apply", "change.patch"]);
    let patched = environment.lock_file();
    environment.write_lock_file(locked);
    environment
        .provlock(upgrade(&["acme/gamma"]))
        .assert_code(0);
    assert_eq!(environment.lock_file(), patched);
}

/// Of many root modules as of one; a root module that would fail fails.
#[test]
fn a_dry_run_of_many_root_modules_shows_each_change() {
    let (registry, environment, ..) = two_providers();
    for root in ["a", "b"] {
        environment.write(format!("{root}/main.tf"), environment.read("main.tf"));
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            environment.lock_file(),
        );
    }
    let before = environment.snapshot();
    let dry_run = environment.provlock(upgrade(&["-r", "--dry-run"]));
    dry_run
        .assert_code(0)
        .assert_stdout_has("+++ b/a/.terraform.lock.hcl")
        .assert_stderr_has("Would upgrade 3 root");
    dry_run.assert_stdout_has("hashicorp/null   3.1.0    3.2.4     minor    3.2.4    3\n");
    registry.fault("*/null/3.2.4/*", Times::Always, Fault::Status(404));
    registry.fault("*_3.2.4_*", Times::Always, Fault::Status(404));
    environment
        .provlock(upgrade(&["--dry-run", "--no-cache"]))
        .assert_code(2)
        .assert_stderr_has("3.2.4");
    before.assert_same(&environment.snapshot());
}

#[test]
fn check_finds_what_can_move() {
    let (_registry, environment, ..) = two_providers();
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "--check"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   change   newest   held back by
acme/gamma       1.0.0    1.1.0     minor    2.0.0    main.tf:5  ~> 1.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
hashicorp/null   3.1.0    3.2.4     minor    3.2.4
  https://github.com/hashicorp/terraform-provider-null/releases/tag/v3.2.4
  https://github.com/hashicorp/terraform-provider-null/compare/v3.1.0...v3.2.4
----- stderr -----
2 providers can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints
"#]]);
    environment
        .provlock(["upgrade", "--check", "null@3.1.0"])
        .assert_code(0);
    before.assert_same(&environment.snapshot());
    environment.provlock(UPGRADE).assert_code(0);
    environment
        .provlock(["upgrade", "--check"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
provider         locked   allowed   newest   held back by
acme/gamma       1.1.0              2.0.0    main.tf:5  ~> 1.0
hashicorp/null   3.2.4              3.2.4
----- stderr -----
0 providers can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints
"#]]);
}

/// An entry that would be carried over has no hashes yet, and is no entry of the lock file.
#[test]
fn a_check_warns_of_no_entry_that_is_carried_over() {
    let (registry, environment) = Registry::with_project();
    let theirs = publish(&registry, "registry.terraform.io/hashicorp/null", "3.1.0");
    publish(&registry, "hashicorp/null", "3.1.0");
    environment.write("main.tf", requires("hashicorp/null", ">= 3.0"));
    environment.write_lock_file(lock_file(&[locked(&theirs, ">= 3.0.0")]));
    let output = environment.provlock(["--dialect", "tofu", "upgrade", "--check"]);
    output
        .assert_code(1)
        .assert_stdout_has("hashicorp/null            3.1.0")
        .assert_lacks("warning");
    // An entry of the lock file without hashes is reported.
    let bare = entry("hashicorp/null", "3.1.0", ">= 3.0.0", &[]);
    environment.write_lock_file(lock_file(&[bare]));
    let output = environment.provlock(["--dialect", "tofu", "upgrade", "--check"]);
    output
        .assert_code(1)
        .assert_stderr_has("warning[no-hashes]");
}

#[test]
fn a_check_shows_the_warnings_of_a_registry() {
    let (registry, environment, ..) = two_providers();
    registry.warn("acme/gamma", &["this provider is no longer maintained"]);
    registry.warn("hashicorp/null", &["please use acme/null instead"]);
    for arguments in [&["--check"][..], &["--dry-run"], &[]] {
        let output = environment.provlock(upgrade(arguments));
        output
            .assert_stderr_has("no longer maintained")
            .assert_stderr_has("please use acme/null instead");
        let advice = "ask its publisher what this means";
        assert_eq!(output.stderr.matches(advice).count(), 1, "{output}");
    }
}

#[test]
fn rewritten_constraints_are_shown_before_the_summary() {
    for selection in [&[][..], &["-r"]] {
        let (_registry, environment, ..) = two_providers();
        let arguments = [&["--constraints"][..], selection].concat();
        let output = environment.provlock(upgrade(&arguments));
        let edit = output.stderr.find("~ main.tf:").unwrap();
        let summary = output.stderr.find("Upgraded ").unwrap();
        assert!(edit < summary, "{output}");
    }
}
