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
 = not checked against a stack: the unit in units/a runs no module
help: terragrunt stack generate writes the unit; the lock file is then checked against it

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in live/.terragrunt-stack/a/.terraform.lock.hcl
1 root module: with warnings
1 Terragrunt unit: without a lock file
"#]]);
    let lock = environment.provlock(["lock", "-r", "--offline"]);
    lock.assert_code(0).assert_lacks("remove the lock file");
    environment.write(format!("{unit}/.terraform.lock.hcl"), "other {}\n");
    environment.provlock(["verify", "-r"]).assert_code(1);
}

/// A stack whose unit `a` is not generated, with a committed lock file.
fn stack_with_unit(stack: &str, unit: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("live/terragrunt.stack.hcl", stack);
    environment.write("units/a/terragrunt.hcl", unit);
    environment.write("m/main.tf", crate::lock::requires("hashicorp/null", ""));
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", locked());
    environment
}

const STACK_OF_A: &str = "unit \"a\" {\n  source = \"../units/a\"\n  path   = \"a\"\n}\n";
/// A unit of the module `m`. The path is relative to the directory in which it is generated.
const UNIT_OF_M: &str = "terraform {\n  source = \"../../../m\"\n}\n";
const VERIFY_STACK: [&str; 4] = ["verify", "-r", "--allow", "single-platform"];

#[test]
fn the_lock_file_of_a_unit_that_is_not_generated_is_checked_against_the_unit_of_its_stack() {
    let environment = stack_with_unit(STACK_OF_A, UNIT_OF_M);
    environment.provlock(VERIFY_STACK).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state (Terragrunt decides where the state is)
2 Terragrunt units: 1 OK, 1 without a lock file
"#]]);

    environment.write("m/main.tf", crate::lock::requires("hashicorp/random", ""));
    environment.provlock(VERIFY_STACK).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/random is required, but not locked
 --> m/main.tf:4:16
  |
4 |       source = "hashicorp/random"
  |                ^^^^^^^^^^^^^^^^^^ required here
  |
help: provlock -C live/.terragrunt-stack/a lock

warning[provider-not-required]: hashicorp/null is locked, but the configuration does not require it
 --> live/.terragrunt-stack/a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = terraform init -lockfile=readonly fails because of the entry, unless the state needs it, which is unknown: Terragrunt decides where the state is
help: provlock -C live/.terragrunt-stack/a lock --prune, unless the state still has resources of it

----- stderr -----
1 error and 1 warning in live/.terragrunt-stack/a/.terraform.lock.hcl and m/main.tf
2 Terragrunt units: 1 with errors, 1 without a lock file
"#]]);
    environment.write(
        "m/main.tf",
        crate::lock::requires("hashicorp/null", "~> 4.0"),
    );
    environment
        .provlock(VERIFY_STACK)
        .assert_code(1)
        .assert_stdout_has("version-outside-constraints");
}

#[test]
fn units_of_stacks_are_found_by_the_rules_of_terragrunt() {
    let own_files =
        "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\" }\n  }\n}\n";
    let cases = [
        (STACK_OF_A.to_owned(), UNIT_OF_M.to_owned()),
        (
            STACK_OF_A.replace("../units/a", "../units//a"),
            UNIT_OF_M.to_owned(),
        ),
        (
            STACK_OF_A.replace("../units/a", "${get_repo_root()}/units/a"),
            UNIT_OF_M.to_owned(),
        ),
        (
            STACK_OF_A.replace("\"a\"\n}", "\"./a\"\n}"),
            UNIT_OF_M.to_owned(),
        ),
        (
            STACK_OF_A.replace('}', "no_dot_terragrunt_stack = false\n}"),
            UNIT_OF_M.to_owned(),
        ),
        (
            STACK_OF_A.replace('}', "values = { m = local.m }\n}"),
            UNIT_OF_M.to_owned(),
        ),
        (
            format!("unit \"b\" {{\n  source = local.b\n  path = \"b\"\n}}\n{STACK_OF_A}"),
            UNIT_OF_M.to_owned(),
        ),
        (
            STACK_OF_A.to_owned(),
            "terraform {\n  source = \"${get_repo_root()}//m\"\n}\n".to_owned(),
        ),
        (
            STACK_OF_A.to_owned(),
            format!(
                "include \"root\" {{\n  path = find_in_parent_folders(\"root.hcl\")\n}}\n{UNIT_OF_M}"
            ),
        ),
    ];
    for (stack, unit) in &cases {
        let environment = stack_with_unit(stack, unit);
        environment.write("live/root.hcl", "");
        let output = environment.provlock(VERIFY_STACK);
        output.assert_code(0).assert_lacks("warning");
        environment.write("m/main.tf", crate::lock::requires("hashicorp/random", ""));
        let output = environment.provlock(VERIFY_STACK);
        assert_eq!(output.code, Some(1), "{stack} {unit}: {output}");
        output.assert_stdout_has("hashicorp/random is required, but not locked");
    }

    // Files beside the unit are its module.
    let environment = stack_with_unit(STACK_OF_A, "");
    environment.write("units/a/main.tf", own_files);
    let output = environment.provlock(VERIFY_STACK);
    output.assert_code(0).assert_lacks("warning");
    environment.write("units/a/main.tf", own_files.replace("null", "random"));
    environment.provlock(VERIFY_STACK).assert_code(1);
}

#[test]
fn a_unit_of_a_stack_that_is_not_known_is_not_checked_and_no_error() {
    let unit = |text: &str| STACK_OF_A.replace('}', &format!("{text}\n}}"));
    let cases = [
        (
            "locals {}\n".to_owned(),
            "no unit in live/terragrunt.stack.hcl has the path a",
        ),
        (
            STACK_OF_A.replace("\"../units/a\"", "local.source"),
            "there is no attribute \"source\"",
        ),
        (
            STACK_OF_A.replace("../units/a", "${run_cmd(\"units\")}/a"),
            "`run_cmd` is not evaluated",
        ),
        (
            STACK_OF_A.replace("\"a\"\n}", "local.path\n}"),
            "live/terragrunt.stack.hcl generates units whose paths are not known",
        ),
        (
            STACK_OF_A.replace("../units/a", "git::https://example.com/u.git//a?ref=v1"),
            "the source of the unit is not in the repository",
        ),
        (
            STACK_OF_A.replace("../units/a", "github.com/acme/units//a"),
            "the source of the unit is not in the repository",
        ),
        (
            STACK_OF_A.replace("../units", "../../units"),
            "the source of the unit is not in the repository",
        ),
        (
            STACK_OF_A.replace("../units/a", "../units"),
            "the source of the unit has no terragrunt.hcl",
        ),
        (
            unit("no_dot_terragrunt_stack = true"),
            "live/terragrunt.stack.hcl generates the unit beside it",
        ),
        (
            unit("no_dot_terragrunt_stack = run_cmd(\"x\")"),
            "the unit may be generated elsewhere, or not at all",
        ),
        (
            unit("enabled = local.enabled"),
            "the unit may be generated elsewhere, or not at all",
        ),
        (
            unit("expansion {\n    for_each = local.all\n  }"),
            "blocks in units of stacks are not read",
        ),
        (
            format!("{STACK_OF_A}{STACK_OF_A}"),
            "several units in live/terragrunt.stack.hcl have the path a",
        ),
        (
            "unit {".to_owned(),
            "live/terragrunt.stack.hcl cannot be parsed",
        ),
    ];
    for (stack, reason) in &cases {
        let environment = stack_with_unit(stack, UNIT_OF_M);
        // The lock file has an entry that the unit does not require.
        environment.write("m/main.tf", "locals {}\n");
        let output = environment.provlock(VERIFY_STACK);
        assert_eq!(output.code, Some(0), "{stack}: {output}");
        output
            .assert_stdout_has("so it was checked on its own")
            .assert_stdout_has(reason)
            .assert_lacks("remove the lock file");
    }

    // The attribute that is not known is shown, wherever it stands.
    for attribute in ["enabled", "no_dot_terragrunt_stack"] {
        let line = format!("  {attribute} = run_cmd(\"x\")\n");
        let stack = STACK_OF_A.replacen('\n', &format!("\n{line}"), 1);
        let output = stack_with_unit(&stack, UNIT_OF_M).provlock(VERIFY_STACK);
        output.assert_stdout_has("live/terragrunt.stack.hcl:2:3\n");
    }

    // Values of a stack are not read, so the module of the unit is not known.
    let environment = stack_with_unit(
        STACK_OF_A,
        "terraform {\n  source = \"../../../${values.m}\"\n}\n",
    );
    environment.provlock(VERIFY_STACK).matches(str![[r#"
exit code: 0
----- stdout -----
warning[requirements-not-known]: the requirements of the unit in units/a are not completely known
 --> units/a/terragrunt.hcl:2:24
  |
2 |   source = "../../../${values.m}"
  |                        ^^^^^^^^ there is no attribute "m"
  |
  = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state (Terragrunt decides where the state is)
1 warning in units/a/terragrunt.hcl
2 Terragrunt units: 1 with warnings, 1 without a lock file
Passed over: 1 directory without a sign of a root module; -v lists them
"#]]);
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
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `find_in_parent_folders`: finds nothing in the repository
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

#[test]
fn a_unit_without_a_lock_file_whose_included_file_may_exist_is_passed_over() {
    let environment = TestEnvironment::new();
    environment.write("m/main.tf", crate::lock::requires("hashicorp/null", ""));
    environment.write("above.hcl", "");
    environment.write(
        "checkout/m/main.tf",
        crate::lock::requires("hashicorp/null", ""),
    );
    environment.git_init("checkout");
    let unknown_state = "remote_state = run_cmd(\"state\")\n";
    environment.write("checkout/live/root.hcl", unknown_state);
    let unit = "checkout/live/a/terragrunt.hcl";
    let cases = [
        ("\"${get_env(\"ROOT\")}/root.hcl\"", 0),
        ("\"${get_env(\"ROOT\", \"..\")}/root.hcl\"", 0),
        ("run_cmd(\"find\", \"root.hcl\")", 0),
        // It is in the directory above the repository.
        ("find_in_parent_folders(\"above.hcl\")", 0),
        ("\"${get_repo_root()}/../root.hcl\"", 0),
        // Terragrunt takes the second file where it does not find the first one.
        (
            "find_in_parent_folders(\"no.hcl\", \"${get_terragrunt_dir()}/../root.hcl\")",
            0,
        ),
        ("find_in_parent_folders(\"root.hcl\")", 0),
        ("\"../root.hcl\"", 0),
        // Only a copy that a stack generates is run.
        (
            "find_in_parent_folders(\"no.hcl\")\n}\ninputs = {\n  a = values.a",
            0,
        ),
        // Terragrunt refuses these.
        ("find_in_parent_folders(\"no.hcl\")", 1),
        ("find_in_parent_folders()", 1),
        ("\"../no.hcl\"", 1),
    ];
    for (path, code) in cases {
        environment.write(
            unit,
            format!(
                "include \"root\" {{\n  path = {path}\n}}\n\
                 terraform {{\n  source = \"../../m\"\n}}\n"
            ),
        );
        let output = environment
            .command(["verify", "-r"])
            .run_in("checkout")
            .run();
        assert_eq!(output.code, Some(code), "{path}: {output}");
        let is_passed_over = output
            .stderr
            .contains("1 Terragrunt unit: without a lock file");
        assert_eq!(is_passed_over, code == 0, "{path}: {output}");
    }
}

/// The directory of a catalog has no file that its units include: those are beside their copies.
#[test]
fn a_unit_of_a_catalog_that_includes_a_file_of_its_users_needs_no_lock_file() {
    let environment = TestEnvironment::new();
    environment.write("m/main.tf", crate::lock::requires("hashicorp/null", ""));
    let unit = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n\
                terraform {\n  source = \"../../m\"\n}\n";
    for directory in ["units", "catalog", "modules"] {
        environment.write(format!("{directory}/a/terragrunt.hcl"), unit);
    }
    let output = environment.provlock(["verify", "-r"]);
    output
        .assert_code(0)
        .assert_stderr_has("3 Terragrunt units: none has a lock file");
}
