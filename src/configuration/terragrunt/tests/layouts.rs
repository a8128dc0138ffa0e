//! Repositories as people lay them out, in miniature.

use super::super::{UnitSource, WorkingDirectory};
use super::Tree;

fn text(working: &WorkingDirectory) -> String {
    let texts: Vec<_> = working
        .files
        .iter()
        .map(|(name, file)| format!("== {name}\n{}", file.text))
        .collect();
    texts.concat()
}

/// Units run modules of another repository; only the root declares providers.
#[test]
fn units_with_a_remote_source() {
    let root = r#"
locals {
  account = read_terragrunt_config(find_in_parent_folders("account.hcl"))
  region  = try(read_terragrunt_config("region.hcl").locals.region, "eu-west-1")
}
generate "provider" {
  path      = "provider.tf"
  if_exists = "overwrite_terragrunt"
  contents  = <<EOF
provider "aws" {
  region              = "${local.region}"
  allowed_account_ids = ["${local.account.locals.id}"]
}
EOF
}
remote_state {
  backend = "s3"
  generate = {
    path      = "backend.tf"
    if_exists = "overwrite_terragrunt"
  }
  config = {
    bucket = "state-${local.account.locals.id}"
    key    = "${path_relative_to_include()}/tofu.tfstate"
  }
}
"#;
    let unit = r#"
include "root" {
  path = find_in_parent_folders("root.hcl")
}
terraform {
  source = "git::https://example.com/modules.git//vpc?ref=v1.2.0"
}
dependency "network" {
  config_path = "../network"
}
inputs = { id = dependency.network.outputs.id }
"#;
    let tree = Tree::new(&[
        ("root.hcl", root),
        (
            "prod/account.hcl",
            "locals {\n  id = \"${get_env(\"ACCOUNT\", \"42\")}\"\n}\n",
        ),
        ("prod/eu/vpc/terragrunt.hcl", unit),
        ("prod/eu/vpc/.terraform.lock.hcl", ""),
    ]);
    let working = tree.working_directory("prod/eu/vpc");
    assert!(working.is_module_missing);
    assert_eq!(working.unknown, []);
    let expected = r#"== backend.tf
terraform {
  backend "s3" {
  }
}
== provider.tf
provider "aws" {
  region              = "eu-west-1"
  allowed_account_ids = ["unknown"]
}
"#;
    assert_eq!(text(&working), expected);
}

/// Units run modules of their own repository; a legacy root generates what is required.
#[test]
fn units_with_a_local_source() {
    let versions = r#"
generate "versions" {
  path      = "versions_override.tf"
  if_exists = "overwrite"
  contents  = templatefile("versions.tmpl", { version = local.version })
}
locals {
  version = trimspace(file("aws.version"))
}
"#;
    let unit = r#"
include {
  path = find_in_parent_folders()
}
terraform {
  source = "${get_parent_terragrunt_dir()}/../modules//vpc"
}
"#;
    let tree = Tree::new(&[
        ("live/terragrunt.hcl", versions),
        (
            "live/versions.tmpl",
            "terraform {\n  required_providers {\n    aws = \"${version}\"\n  }\n}\n",
        ),
        ("live/aws.version", "5.0.0\n"),
        ("live/prod/vpc/terragrunt.hcl", unit),
        ("live/prod/vpc/extra.tf", "# extra\n"),
        (
            "modules/vpc/main.tf",
            "module \"subnet\" {\n  source = \"../subnet\"\n}\n",
        ),
        ("modules/subnet/main.tf", ""),
    ]);
    let root = tree.root();
    let source = UnitSource::Local(root.join("modules/vpc"));
    assert_eq!(tree.unit("live/prod/vpc").source, Ok(source));
    let working = tree.working_directory("live/prod/vpc");
    assert_eq!(working.unknown, []);
    let expected = r#"== extra.tf
# extra
== main.tf
module "subnet" {
  source = "../subnet"
}
== versions_override.tf
terraform {
  required_providers {
    aws = "5.0.0"
  }
}
"#;
    assert_eq!(text(&working), expected);
}

/// A stack's units, with their values if they are generated.
#[test]
fn a_stack() {
    let unit = |module: &str| {
        format!("terraform {{\n  source = \"${{get_repo_root()}}/modules/{module}\"\n}}\n")
    };
    let tree = Tree::new(&[
        (
            "live/terragrunt.stack.hcl",
            "unit \"api\" {\n  source = \"../units/service\"\n  path = \"api\"\n}\n",
        ),
        ("live/.terragrunt-stack/api/terragrunt.hcl", &unit("lambda")),
        (
            "live/.terragrunt-stack/other/terragrunt.hcl",
            &unit("${values.module}"),
        ),
        (
            "live/.terragrunt-stack/other/terragrunt.values.hcl",
            "module = \"lambda\"\n",
        ),
        (
            "live/.terragrunt-stack/without/terragrunt.hcl",
            &unit("${values.module}"),
        ),
        ("modules/lambda/main.tf", "# lambda\n"),
    ]);
    for generated in ["api", "other"] {
        assert_eq!(
            text(&tree.working_directory(&format!("live/.terragrunt-stack/{generated}"))),
            "== main.tf\n# lambda\n"
        );
    }
    let unknown = tree
        .unit("live/.terragrunt-stack/without")
        .source
        .unwrap_err();
    assert_eq!(unknown.reason, "values of stacks are not read");
}
