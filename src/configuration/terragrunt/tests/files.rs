//! Functions that depend on where they are called.

use super::{Tree, evaluate_in};

#[track_caller]
fn assert_in(tree: &Tree, expression: &str, expected: &str) {
    assert_eq!(
        evaluate_in(tree, "live/prod/vpc", expression).as_deref(),
        Ok(expected),
        "{expression}"
    );
}

#[test]
fn directories_of_a_unit_without_includes() {
    for (expression, expected) in [
        ("get_path_from_repo_root()", "live/prod/vpc"),
        ("get_path_to_repo_root()", "../../.."),
        ("path_relative_to_include()", "."),
        ("basename(get_terragrunt_dir())", "vpc"),
        (
            "get_original_terragrunt_dir() == get_parent_terragrunt_dir()",
            "true",
        ),
        (
            "\"${get_repo_root()}/live/prod/vpc\" == get_terragrunt_dir()",
            "true",
        ),
    ] {
        assert_in(&Tree::new(&[]), expression, expected);
    }
}

#[test]
fn find_in_parent_folders_starts_above_the_unit() {
    let files = [
        ("live/prod/vpc/env.hcl", ""),
        ("live/prod/env.hcl", ""),
        ("live/env.hcl", ""),
        ("terragrunt.hcl", ""),
    ];
    let tree = Tree::new(&files);
    assert_in(
        &tree,
        "find_in_parent_folders(\"env.hcl\")",
        &tree.path("live/prod/env.hcl"),
    );
    let tree = Tree::new(&files);
    assert_in(
        &tree,
        "find_in_parent_folders()",
        &tree.path("terragrunt.hcl"),
    );
    // Terragrunt would go on above the repository.
    for arguments in [
        "\"env.hcl\"",
        "\"env.hcl\", \"none\"",
        "\"../env.hcl\", \"none\"",
    ] {
        let call = format!("find_in_parent_folders({arguments})");
        let unknown = evaluate_in(&Tree::new(&[]), "live/prod/vpc", &call).unwrap_err();
        assert!(
            unknown.contains("finds nothing in the repository"),
            "{call}"
        );
    }
}

#[test]
fn get_env_reads_the_given_variables() {
    let prod = || Tree::new(&[]).with_environment("STAGE", "prod");
    assert_in(
        &prod(),
        "get_env(\"STAGE\", \"dev\") == \"prod\" ? \"yes\" : \"no\"",
        "yes",
    );
    assert_in(
        &prod(),
        "\"eu-${get_env(\"STAGE\")}\" != \"eu-dev\" ? \"yes\" : \"no\"",
        "yes",
    );
    assert_in(
        &prod(),
        "{ prod = \"yes\", dev = \"no\" }[get_env(\"STAGE\")]",
        "yes",
    );
    // Any machine that runs Terragrunt may set it.
    for call in [
        "get_env(\"STAGE\")",
        "get_env(\"STAGE\", \"dev\")",
        "get_env(\"STAGE\", \"dev\") == \"dev\" ? 1 : 2",
    ] {
        let unknown = evaluate_in(&Tree::new(&[]), "unit", call).unwrap_err();
        assert_eq!(unknown, "the environment variable is not set", "{call}");
    }
}

#[test]
fn paths_are_relative_to_their_file() {
    let tree = Tree::new(&[
        (
            "root.hcl",
            "locals {\n  text = trimspace(file(\"version\"))\n}\n",
        ),
        ("version", "1.2\n"),
        ("live/prod/vpc/version", "3.4\n"),
        (
            "live/prod/vpc/terragrunt.hcl",
            "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n  expose = true\n}\n",
        ),
    ]);
    assert_in(
        &tree,
        "\"${include.root.locals.text} ${trimspace(file(\"version\"))} ${fileexists(\"x\")}\"",
        "1.2 3.4 false",
    );
}

#[test]
fn templatefile_sees_its_variables_alone() {
    let template = "%{ for name in names ~}\n${name}\n%{ endfor ~}\n";
    let tree = Tree::new(&[("live/prod/vpc/list.tmpl", template)]);
    assert_in(
        &tree,
        "templatefile(\"list.tmpl\", { names = [\"a\", \"b\"] })",
        "a\nb\n",
    );
    let tree = Tree::new(&[("live/prod/vpc/list.tmpl", "${local.a}\n")]);
    let unknown =
        evaluate_in(&tree, "live/prod/vpc", "templatefile(\"list.tmpl\", {})").unwrap_err();
    assert!(
        unknown.contains("a variable that it is not given"),
        "{unknown}"
    );
}

#[test]
fn read_terragrunt_config_reads_a_configuration_as_its_own() {
    let tree = Tree::new(&[
        ("live/root.hcl", "inputs = { a = \"root\", b = \"root\" }\n"),
        (
            "live/env.hcl",
            r#"
include {
  path = "root.hcl"
}
locals {
  place = "${basename(get_terragrunt_dir())} of ${basename(get_original_terragrunt_dir())}"
}
inputs = { a = "env" }
"#,
        ),
        (
            "live/prod/vpc/terragrunt.hcl",
            "locals {\n  env = read_terragrunt_config(\"../../env.hcl\")\n}\n",
        ),
    ]);
    assert_in(&tree, "local.env.locals.place", "live of vpc");
    assert_in(
        &tree,
        "\"${local.env.inputs.a} ${local.env.inputs.b}\"",
        "env root",
    );
}

#[test]
fn read_terragrunt_config_of_a_directory_or_a_missing_file() {
    let tree = Tree::new(&[("live/other/terragrunt.hcl", "locals {\n  a = 1\n}\n")]);
    assert_in(
        &tree,
        "read_terragrunt_config(\"../../other\").locals.a",
        "1",
    );
    assert_in(
        &Tree::new(&[]),
        "read_terragrunt_config(\"none.hcl\", { a = 2 }).a",
        "2",
    );
}
