//! Included files and how they are merged.

use super::super::{Unit, UnitSource};
use super::{Tree, contents, evaluate_in};

fn remote(unit: &Unit) -> Result<&UnitSource, &str> {
    unit.source
        .as_ref()
        .map_err(|unknown| unknown.reason.as_str())
}

fn source(text: &str) -> UnitSource {
    UnitSource::Remote(text.to_owned())
}

/// A unit that includes a root, each with a text of its own.
fn tree(strategy: &str, root: &str, unit: &str) -> Tree {
    let include = format!(
        "include \"root\" {{\n  path = find_in_parent_folders(\"root.hcl\")\n  merge_strategy = \"{strategy}\"\n}}\n"
    );
    Tree::new(&[
        ("root.hcl", root),
        ("a/b/terragrunt.hcl", &format!("{include}{unit}")),
    ])
}

fn generate(label: &str, contents: &str) -> String {
    format!(
        "generate \"{label}\" {{\n  path = \"{label}.tf\"\n  if_exists = \"overwrite\"\n  contents = {contents}\n}}\n"
    )
}

#[test]
fn the_child_wins() {
    let root = "terraform {\n  source = \"git::https://example.com/root\"\n}\nterraform_binary = \"tofu\"\n";
    assert_eq!(
        remote(&tree("shallow", root, "").unit("a/b")),
        Ok(&source("git::https://example.com/root"))
    );
    let child = "terraform {\n  source = \"git::https://example.com/child\"\n}\nterraform_binary = \"terraform\"\n";
    for strategy in ["shallow", "deep"] {
        let unit = tree(strategy, root, child).unit("a/b");
        assert_eq!(remote(&unit), Ok(&source("git::https://example.com/child")));
    }
}

#[test]
fn a_later_include_beats_an_earlier_one() {
    let tree = Tree::new(&[
        (
            "one.hcl",
            "terraform {\n  source = \"git::https://example.com/one\"\n}\n",
        ),
        (
            "two.hcl",
            "terraform {\n  source = \"git::https://example.com/two\"\n}\n",
        ),
        (
            "a/terragrunt.hcl",
            "include \"one\" {\n  path = \"../one.hcl\"\n}\ninclude \"two\" {\n  path = \"../two.hcl\"\n}\n",
        ),
    ]);
    assert_eq!(
        remote(&tree.unit("a")),
        Ok(&source("git::https://example.com/two"))
    );
}

#[test]
fn no_merge_merges_nothing() {
    let tree = tree("no_merge", &generate("provider", "\"\""), "");
    let unit = tree.unit("a/b");
    assert_eq!(remote(&unit), Ok(&UnitSource::Unit));
    assert!(unit.generated.is_empty());
}

#[test]
fn generated_files_of_all_files_add_up() {
    let unit = tree("shallow", &generate("a", "\"\""), &generate("b", "\"\"")).unit("a/b");
    let labels: Vec<_> = unit
        .generated
        .iter()
        .map(|file| file.label.as_str())
        .collect();
    assert_eq!(labels, ["a", "b"]);
    assert!(unit.unknown.is_empty());
}

#[test]
fn the_same_label_is_an_error_under_shallow_merging_and_replaces_under_deep_merging() {
    let unit = tree(
        "shallow",
        &generate("a", "\"# root\""),
        &generate("a", "\"# child\""),
    )
    .unit("a/b");
    assert_eq!(
        unit.unknown[0].reason,
        "the included file also generates \"a\", which Terragrunt refuses"
    );
    let unit = tree(
        "deep",
        &generate("a", "\"# root\""),
        &generate("a", "\"# child\""),
    )
    .unit("a/b");
    assert_eq!(
        (contents(&unit), unit.unknown.as_slice()),
        (Ok("# child"), [].as_slice())
    );
}

#[test]
fn an_included_file_sees_the_unit_as_the_current_configuration() {
    let root = r#"
locals {
  facts = [
    path_relative_to_include(), path_relative_from_include(), basename(get_terragrunt_dir()),
    get_parent_terragrunt_dir() == get_repo_root(), basename(find_in_parent_folders("root.hcl")),
  ]
}
"#;
    let tree = tree(
        "shallow",
        &format!("{root}{}", generate("x", "join(\" \", local.facts)")),
        "",
    );
    assert_eq!(contents(&tree.unit("a/b")), Ok("a/b ../.. b true root.hcl"));
}

#[test]
fn several_includes_are_distinguished_by_label() {
    let files = [
        ("root.hcl", ""),
        ("a/env.hcl", ""),
        (
            "a/b/terragrunt.hcl",
            "include \"root\" {\n  path = \"../../root.hcl\"\n}\ninclude \"env\" {\n  path = \"../env.hcl\"\n}\n",
        ),
    ];
    let value = |expression| evaluate_in(&Tree::new(&files), "a/b", expression);
    assert_eq!(
        value("path_relative_to_include(\"env\")").as_deref(),
        Ok("b")
    );
    assert_eq!(
        value("path_relative_to_include(\"root\")").as_deref(),
        Ok("a/b")
    );
    assert!(
        value("path_relative_to_include()")
            .unwrap_err()
            .contains("a label is needed")
    );
}

#[test]
fn only_exposed_includes_are_seen() {
    let root = (
        "root.hcl",
        "locals {\n  region = \"eu\"\n}\ninputs = { a = 1 }\n",
    );
    let value = |include: &str, expression: &str| {
        evaluate_in(
            &Tree::new(&[root, ("a/terragrunt.hcl", include)]),
            "a",
            expression,
        )
    };
    let labelled = "include \"root\" {\n  path = \"../root.hcl\"\n  expose = true\n  merge_strategy = \"no_merge\"\n}\n";
    assert_eq!(
        value(labelled, "include.root.locals.region").as_deref(),
        Ok("eu")
    );
    assert_eq!(value(labelled, "include.root.inputs.a").as_deref(), Ok("1"));
    let bare = "include {\n  path = \"../root.hcl\"\n  expose = true\n}\n";
    assert_eq!(value(bare, "include.locals.region").as_deref(), Ok("eu"));
    let hidden = "include \"root\" {\n  path = \"../root.hcl\"\n}\n";
    assert!(
        value(hidden, "include.root.locals.region")
            .unwrap_err()
            .contains("no attribute \"root\"")
    );
    assert!(
        value(hidden, "local.region")
            .unwrap_err()
            .contains("no attribute \"region\"")
    );
}

#[test]
fn an_included_file_may_not_include() {
    let tree = Tree::new(&[
        ("top.hcl", ""),
        ("root.hcl", "include {\n  path = \"top.hcl\"\n}\n"),
        (
            "a/terragrunt.hcl",
            "include \"root\" {\n  path = \"../root.hcl\"\n}\n",
        ),
    ]);
    let unit = tree.unit("a");
    assert!(unit.unknown[0].reason.contains("includes a file"));
    assert!(unit.source.is_err(), "the include may have set it");
}

#[test]
fn an_unknown_include_keeps_the_units_own_source() {
    let unit = "include {\n  path = get_env(\"ROOT\")\n}\nterraform {\n  source = \"git::https://example.com/x\"\n}\n";
    let unit = Tree::new(&[("a/terragrunt.hcl", unit)]).unit("a");
    assert_eq!(remote(&unit), Ok(&source("git::https://example.com/x")));
    assert_eq!(
        unit.unknown[0].reason,
        "the environment variable is not set"
    );
}

#[test]
fn an_autoinclude_makes_everything_uncertain() {
    let tree = Tree::new(&[
        ("a/terragrunt.hcl", &generate("x", "\"# unit\"")),
        (
            "a/terragrunt.autoinclude.hcl",
            &generate("x", "\"# stack\""),
        ),
    ]);
    assert_eq!(
        tree.unit("a").unknown[0].reason,
        "terragrunt.autoinclude.hcl is not read"
    );
}
