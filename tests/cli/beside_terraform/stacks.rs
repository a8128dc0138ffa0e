//! Lock files of the units of Terragrunt's stacks, in working directories as Terragrunt would make
//! them.

use super::project;

const STACK: &str = "unit \"one\" {\n  source = \"../units/app\"\n  path   = \"one\"\n  values = {\n    module = \"old\"\n  }\n}\n\
     unit \"two\" {\n  source = \"../units/app\"\n  path   = \"two\"\n  values = {\n    module = \"new\"\n  }\n}\n";
const UNIT: &str = "terraform {\n  source = \"${get_repo_root()}/modules//${values.module}\"\n}\n";

/// A module that requires a version.
fn module(constraints: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    null = {{\n      source  = \"hashicorp/null\"\n      version = {constraints:?}\n    }}\n  }}\n}}\n"
    )
}

/// `terragrunt stack generate` copies the files of a unit, and Terragrunt copies its lock file and
/// its module into the directory in which it runs `init`.
#[test]
fn init_accepts_the_lock_files_of_units_of_stacks_unchanged() {
    let project = project();
    let environment = &project.environment;
    let modules = [
        ("old", module("~> 3.0.0")),
        ("new", module(">= 3.1.0, < 3.2.0")),
    ];
    let files = [
        ("live/terragrunt.stack.hcl", STACK),
        ("units/app/terragrunt.hcl", UNIT),
        ("modules/old/main.tf", &modules[0].1),
        ("modules/new/main.tf", &modules[1].1),
        ("live/.terragrunt-stack/one/.terraform.lock.hcl", ""),
        ("live/.terragrunt-stack/two/.terraform.lock.hcl", ""),
    ];
    project.write(&files);
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0);
    for (unit, version, (_, module)) in
        [("one", "3.0.0", &modules[0]), ("two", "3.1.0", &modules[1])]
    {
        let path = format!("live/.terragrunt-stack/{unit}/.terraform.lock.hcl");
        let locked = environment.read(path);
        assert!(locked.contains(&format!("{version:?}")), "{locked}");
        assert_accepted(&project, unit, module, &locked);
    }

    // One lock file for both: the version must be allowed by both.
    let both = module(">= 3.0.0, < 3.2.0");
    let files = [
        ("live/terragrunt.stack.hcl", STACK),
        ("units/app/terragrunt.hcl", UNIT),
        ("modules/old/main.tf", &both),
        ("modules/new/main.tf", &both),
        ("units/app/.terraform.lock.hcl", ""),
    ];
    project.write(&files);
    environment
        .provlock(["lock", "-r", "-p", "linux_amd64"])
        .assert_code(0);
    let locked = environment.read("units/app/.terraform.lock.hcl");
    assert!(locked.contains("\"3.1.0\""), "{locked}");
    assert_accepted(&project, "both", &both, &locked);
}

/// Fails if the real `terraform init` refuses or changes a lock file beside a module.
fn assert_accepted(project: &super::Project, unit: &str, module: &str, locked: &str) {
    let environment = &project.environment;
    let directory = format!(".terragrunt-cache/{unit}");
    environment.write(format!("{directory}/main.tf"), module);
    environment.write(format!("{directory}/.terraform.lock.hcl"), locked);
    if project.has_terraform {
        let arguments = ["init", "-input=false", "-no-color", "-lockfile=readonly"];
        let init = environment.terraform(arguments).run_in(&directory).run();
        init.assert_code(0);
        let path = format!("{directory}/.terraform.lock.hcl");
        assert_eq!(environment.read(path), locked);
    }
}
