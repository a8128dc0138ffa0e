//! Lock files under other names: Atmos copies `.STACK-COMPONENT.terraform.lock.hcl` over the lock
//! file before `init`.

use provlock_test::files::entry;
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};

use super::{H1, ZH, found};
use crate::lock::{lock_file, requires};

const COPIED: &str = "components/vpc/.dev-vpc.terraform.lock.hcl";

fn locked(address: &str) -> String {
    lock_file(&[entry(address, "1.0.0", "", &[H1, ZH])])
}

#[test]
fn a_lock_file_under_another_name_is_checked_on_its_own() {
    let environment = TestEnvironment::new();
    environment.write("components/vpc/main.tf", requires("acme/null", ""));
    environment.write(
        "components/vpc/.terraform.lock.hcl",
        locked("registry.opentofu.org/acme/null"),
    );
    environment.write(COPIED, locked("registry.opentofu.org/acme/null"));
    assert_eq!(found(&environment, &["-r"]), [""; 0]);
    environment.write(COPIED, locked("registry.opentofu.org/hashlcorp/null"));
    assert_eq!(found(&environment, &["-r"]), ["error look-alike"]);
    assert_eq!(
        found(&environment, &["components/vpc"]),
        ["error look-alike"]
    );
    environment.write(COPIED, "other {}\n");
    assert_eq!(found(&environment, &["-r"]), ["error lock-file-syntax"]);
    environment.write(
        COPIED,
        locked("registry.opentofu.org/acme/null").replace(H1, "h1:AAAA"),
    );
    assert_eq!(found(&environment, &["-r"]), ["error malformed-hash"]);

    // Other commands leave it as it is.
    let before = environment.read(COPIED);
    environment
        .provlock(["lock", "-r", "--offline", "--check"])
        .assert_lacks("dev-vpc");
    assert_eq!(environment.read(COPIED), before);

    // Only in a directory of its own.
    std::fs::remove_file(environment.project().join(COPIED)).unwrap();
    environment.write(
        "stacks/.a.terraform.lock.hcl",
        locked("registry.opentofu.org/hashlcorp/null"),
    );
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[look-alike]: registry.opentofu.org/hashlcorp/null looks like hashicorp/null, but is not
 --> stacks/.a.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashlcorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: correct the source; if the address is right, add its namespace to allowed-namespaces in provlock.toml

note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> components/vpc/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/acme/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock -C components/vpc lock -p all, or set platforms in provlock.toml

----- stderr -----
1 error and 1 note in components/vpc/.terraform.lock.hcl and stacks/.a.terraform.lock.hcl
1 root module: OK
1 other lock file: with errors
"#]]);
    environment.write("provlock.toml", "[roots]\nexclude = [\"stacks\"]\n");
    assert_eq!(found(&environment, &["-r"]), [""; 0]);
}

#[test]
fn a_change_of_a_lock_file_under_another_name_is_checked() {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("components/vpc/main.tf", requires("acme/null", ""));
    let null = locked("registry.opentofu.org/acme/null");
    environment.write("components/vpc/.terraform.lock.hcl", &null);
    environment.write(COPIED, &null);
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-namespaces = [\"registry.opentofu.org/acme\"]\n",
    );
    environment.commit_all(".");
    let verify = || found(environment, &["-r", "--base", "HEAD"]);
    assert_eq!(verify(), [""; 0]);
    environment.write(COPIED, locked("registry.opentofu.org/evil/null"));
    let changed = verify();
    assert!(
        changed.contains(&"error namespace-not-allowed".to_owned()),
        "{changed:?}"
    );
    let policy = "[policy]\nallowed-namespaces = [\"registry.opentofu.org/acme\", \"registry.opentofu.org/evil\"]\n";
    environment.write("provlock.toml", policy);
    let changed = verify();
    assert!(
        changed.contains(&"error namespace-not-allowed".to_owned()),
        "{changed:?}"
    );
}

#[test]
fn the_draft_of_a_lock_file_of_opentofu_is_reported_as_not_read() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "locals {}\n");
    environment.write_lock_file("");
    environment.write(".opentofu.lock.hcl", "other {}\n");
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[lock-file-syntax]: .opentofu.lock.hcl is not read: its format is a draft
--> .opentofu.lock.hcl:1:1
 |
help: providers are checked by .terraform.lock.hcl; remove the draft unless OpenTofu reads it

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in .opentofu.lock.hcl
"#]]);
}
