//! Stacks of Terraform, which provlock does not read, and units that stacks of Terragrunt generate.

use provlock_test::files::entry;
use provlock_test::{TestEnvironment, str};

use crate::lock::lock_file;
use crate::verify::H1;

const NULL: &str = "registry.terraform.io/hashicorp/null";
const COMPONENT: &str = "component \"a\" {\n  source = \"./m\"\n}\n";

fn locked() -> String {
    lock_file(&[entry(NULL, "3.2.4", "", &[H1])])
}

#[test]
fn nothing_proposes_to_lock_a_stack_of_terraform() {
    let environment = TestEnvironment::new();
    environment.write("stack/a.tfcomponent.hcl", COMPONENT);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; stacks of Terraform are not read (stack)
"#]]);
    let explained =
        "help: provlock reads no stacks; terraform stacks providers-lock updates the lock file";
    for command in [
        &["lock", "--offline"][..],
        &["upgrade", "--offline"],
        &["tree"],
    ] {
        let output = environment.provlock(command.iter().chain(&["stack"]));
        output
            .assert_code(2)
            .assert_stderr_has("stack contains only a stack, and no root module")
            .assert_stderr_has(explained);
    }

    environment.write("stack/.terraform.lock.hcl", locked().replace(H1, "h1:AAAA"));
    let verify = ["verify", "-r", "-p", "linux_amd64,darwin_arm64"];
    let output = environment.provlock(verify);
    output.assert_code(1).assert_lacks("provlock lock");
    output.assert_lacks("provlock -C stack lock");
    let output = environment.provlock(["lock", "--offline", "stack"]);
    output.assert_code(2).assert_stderr_has(explained);

    // A root module beside the stack is one.
    environment.write("stack/main.tf", "locals {}\n");
    environment.write("stack/.terraform.lock.hcl", "");
    environment
        .provlock(["lock", "--offline", "stack"])
        .assert_code(0);
}

/// Teams commit these lock files, and not the units.
#[test]
fn a_lock_file_of_a_unit_that_is_not_generated_is_not_to_be_removed() {
    let environment = TestEnvironment::new();
    let unit = "live/.terragrunt-stack/a";
    environment.write(format!("{unit}/.terraform.lock.hcl"), locked());
    let stack = "unit \"a\" {\n  source = \"../units/a\"\n  path = \"a\"\n}\n";
    environment.write("live/terragrunt.stack.hcl", stack);
    environment.write("units/a/terragrunt.hcl", "");
    environment
        .provlock(["verify", "-r", "--allow", "single-platform"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[no-configuration]: there is no generated unit beside live/.terragrunt-stack/a/.terraform.lock.hcl, so it was checked on its own
 --> live/.terragrunt-stack/a/.terraform.lock.hcl:1:1
  |
1 |
  | ^
  |
help: terragrunt stack generate writes the unit; the lock file is then checked against it

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in live/.terragrunt-stack/a/.terraform.lock.hcl
"#]]);
    let lock = environment.provlock(["lock", "-r", "--offline"]);
    lock.assert_code(0).assert_lacks("remove the lock file");
    environment.write(format!("{unit}/.terraform.lock.hcl"), "other {}\n");
    environment.provlock(["verify", "-r"]).assert_code(1);
}

/// Terragrunt refuses such a unit, and its state may be remote.
#[test]
fn a_unit_whose_included_file_is_not_found_is_not_passed_over() {
    let environment = TestEnvironment::new();
    let include = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";
    let source = "terraform {\n  source = \"../../m\"\n}\n";
    environment.write("live/a/terragrunt.hcl", format!("{include}{source}"));
    environment.write("m/main.tf", crate::lock::requires("hashicorp/null", ""));
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-missing]: live/a/.terraform.lock.hcl is missing, and the configuration requires a provider
 --> m/main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: provlock -C live/a lock -p all

warning[requirements-not-known]: the requirements of the unit in live/a are not completely known
 --> live/a/terragrunt.hcl:2:10
  |
2 |   path = find_in_parent_folders("root.hcl")
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `find_in_parent_folders` finds nothing in the repository
  |
  = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

----- stderr -----
1 error and 1 warning in live/a/terragrunt.hcl and m/main.tf
"#]]);
    environment
        .provlock(["verify", "live/a"])
        .assert_code(1)
        .assert_stdout_has("error[lock-file-missing]");
    environment.write("live/root.hcl", "");
    environment.provlock(["verify", "-r"]).assert_code(0);
}
