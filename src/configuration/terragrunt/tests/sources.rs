//! Sources of modules.

use super::super::UnitSource;
use super::Tree;

fn tree(source: &str) -> Tree {
    Tree::new(&[
        (
            "live/vpc/terragrunt.hcl",
            &format!("terraform {{\n  source = {source}\n}}\n"),
        ),
        ("modules/vpc/main.tf", ""),
    ])
}

#[track_caller]
fn assert_local(source: &str, module: &str) {
    let tree = tree(source);
    let module = tree.root().join(module);
    assert_eq!(
        tree.unit("live/vpc").source,
        Ok(UnitSource::Local(module)),
        "{source}"
    );
}

#[track_caller]
fn assert_unknown(source: &str, reason: &str) {
    let unknown = tree(source).unit("live/vpc").source.unwrap_err();
    assert!(unknown.reason.contains(reason), "{source}: {unknown}");
}

#[test]
fn local_paths_are_relative_to_the_unit() {
    assert_local("\"../../modules/vpc\"", "modules/vpc");
    assert_local("\"../../modules//vpc\"", "modules/vpc");
    assert_local("\"${get_repo_root()}/modules//vpc\"", "modules/vpc");
    assert_local("\"file://${get_repo_root()}/modules/vpc\"", "modules/vpc");
    assert_local("\"../../modules/vpc/main.tf\"", "modules/vpc/main.tf");
}

#[test]
fn an_include_sets_a_path_that_is_relative_to_the_unit() {
    let tree = Tree::new(&[
        (
            "root.hcl",
            "terraform {\n  source = \"../../modules/vpc\"\n}\n",
        ),
        (
            "live/vpc/terragrunt.hcl",
            "include {\n  path = \"../../root.hcl\"\n}\n",
        ),
        ("modules/vpc/main.tf", ""),
    ]);
    let module = tree.root().join("modules/vpc");
    assert_eq!(tree.unit("live/vpc").source, Ok(UnitSource::Local(module)));
}

#[test]
fn a_source_that_is_a_file_is_copied_alone() {
    let tree = tree("\"../../modules/vpc/main.tf\"");
    tree.write("modules/vpc/other.tf", "");
    let working = tree.working_directory("live/vpc");
    assert_eq!(working.files.keys().collect::<Vec<_>>(), ["main.tf"]);
}

#[test]
fn other_sources_are_kept_unchanged() {
    for source in [
        "git::https://example.com/modules.git//vpc?ref=v1",
        "git@github.com:acme/modules.git//vpc",
        "github.com/acme/modules//vpc",
        "tfr://registry.example.com/acme/vpc/aws?version=1.0.0",
        "tfr:///acme/vpc/aws",
        "https://example.com/vpc.zip",
        "s3::https://s3.amazonaws.com/bucket/vpc.zip",
        "git::../../..//modules/vpc?ref=v1",
    ] {
        let tree = tree(&format!("\"{source}\""));
        assert_eq!(
            tree.unit("live/vpc").source,
            Ok(UnitSource::Remote(source.to_owned()))
        );
        assert_eq!(
            tree.unit("live/vpc").source,
            Ok(UnitSource::Remote(source.to_owned()))
        );
        assert!(tree.working_directory("live/vpc").is_module_missing);
    }
}

#[test]
fn no_source_is_the_unit_itself() {
    for text in [
        "",
        "terraform {\n}\n",
        "terraform {\n  source = null\n}\n",
        "terraform {\n  source = \".\"\n}\n",
    ] {
        let tree = Tree::new(&[("unit/terragrunt.hcl", text), ("unit/main.tf", "")]);
        assert_eq!(tree.unit("unit").source, Ok(UnitSource::Unit), "{text}");
        assert_eq!(
            tree.working_directory("unit")
                .files
                .keys()
                .collect::<Vec<_>>(),
            ["main.tf"]
        );
    }
}

#[test]
fn missing_paths_and_paths_out_of_the_repository_are_unknown() {
    assert_unknown("\"../../modules/none\"", "does not exist");
    assert_unknown("\"../../../elsewhere\"", "leads out of the repository");
    assert_unknown(
        "\"../../modules//../live\"",
        "leads out of the one before it",
    );
    assert_unknown("values.source", "values of stacks are not read");
}

#[test]
fn a_conditional_source() {
    let source = "get_env(\"STAGE\", \"dev\") == \"dev\" && true ? \"../../modules//vpc\" : \"git::https://example.com/x\"";
    let with = |stage| {
        tree(source)
            .with_environment("STAGE", stage)
            .unit("live/vpc")
            .source
    };
    assert!(
        matches!(with("dev"), Ok(UnitSource::Local(module)) if module.ends_with("modules/vpc"))
    );
    assert_eq!(
        with("prod"),
        Ok(UnitSource::Remote("git::https://example.com/x".to_owned()))
    );
    assert_unknown(source, "is not set");
}
