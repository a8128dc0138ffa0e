//! HCL's expressions and templates with unknown values.

use super::{Tree, evaluate, evaluate_in};

#[track_caller]
fn assert_value(expression: &str, expected: &str) {
    assert_eq!(
        evaluate(expression).as_deref(),
        Ok(expected),
        "{expression}"
    );
}

#[track_caller]
fn assert_unknown(expression: &str, reason: &str) {
    assert_eq!(
        evaluate(expression).map_err(|unknown| unknown.contains(reason)),
        Err(true),
        "{expression}"
    );
}

#[test]
fn literals_and_operators() {
    assert_value("-5", "-5");
    assert_value("!(1 < 2) || 2 >= 2 && \"a\" != \"b\"", "true");
    assert_value("1 == \"1\"", "false");
    assert_value("[1] == null", "false");
    for arithmetic in ["1 + 2", "7 / 2", "1 / 0", "1 % 0", "-(5)", "\"a\" + 1"] {
        assert_unknown(arithmetic, "arithmetic is not evaluated");
    }
    for number in ["1.0", "1e3", "9007199254740992"] {
        assert_unknown(number, "only integers in plain digits are computed");
    }
    assert_unknown("[1, {}] == [1, {}]", "lists and objects are not compared");
    assert_unknown("\"a\" < 1", "a number is needed");
}

#[test]
fn conditions_choose_one_branch() {
    assert_value("true ? \"a\" : run_cmd(\"b\")", "a");
    assert_value("true ? 1 : \"a\"", "1");
    assert_value("(true ? 1 : \"a\") == \"1\"", "true");
    assert_value("(true ? [1] : null)[0]", "1");
    assert_unknown("true ? [1] : [\"a\"]", "branches that are lists");
    assert_unknown("true ? 1 : false", "conversions to a common type");
    assert_unknown("true ? \"a\" : []", "conversions to a common type");
    assert_unknown(
        "true ? \"a\" : [run_cmd(\"a\")][0]",
        "the type of the other branch",
    );
    assert_unknown("run_cmd(\"a\") ? 1 : 2", "`run_cmd` is not evaluated");
}

#[test]
fn a_decided_condition_accepts_an_unknown_operand() {
    assert_value("false && run_cmd(\"a\")", "false");
    assert_value("run_cmd(\"a\") || true", "true");
    assert_unknown("true && run_cmd(\"a\")", "`run_cmd`");
}

#[test]
fn traversals_and_splats() {
    assert_value("{ a = [1, { b = 2 }] }.a[1].b", "2");
    assert_value("{ a = 1 }[\"a\"]", "1");
    assert_value("join(\",\", [{ a = 1 }, { a = 2 }][*].a)", "1,2");
    assert_value("length(null[*])", "0");
    assert_unknown("{}.a", "there is no attribute \"a\"");
    assert_unknown("[1][1]", "past the end");
    assert_unknown(
        "{ a = run_cmd(\"a\"), b = 1 }.b",
        "`run_cmd` is not evaluated",
    );
}

#[test]
fn for_expressions() {
    assert_value(
        "join(\",\", [for x in [1, 2, 3] : \"${x}0\" if x != 2])",
        "10,30",
    );
    assert_value(
        "join(\",\", [for k, v in { b = 1, a = 2 } : \"${k}${v}\"])",
        "a2,b1",
    );
    assert_value("{ for x in [\"a\"] : upper(x) => x }.A", "a");
    assert_value("length({ for x in [1, 2] : \"k\" => x... }.k)", "2");
    assert_unknown("{ for x in [1, 2] : \"k\" => x }", "the same key");
}

#[test]
fn templates() {
    assert_value("\"a-${2}-${true}\"", "a-2-true");
    assert_value("\"%{ if 1 == 1 }yes%{ else }no%{ endif }\"", "yes");
    assert_value("\"%{ for x in [1, 2] }<${x}>%{ endfor }\"", "<1><2>");
    assert_value("\"$${kept}\"", "${kept}");
    assert_unknown("\"a${null}\"", "a string is needed, not null");
}

#[test]
fn heredocs_lose_their_indent_and_markers_strip_a_line() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        r"locals {
  a = <<-EOT
    a
      b ${1}
  EOT
  b = <<EOT
a
%{ if true ~}
b
  %{~ endif }
c
EOT
}
",
    )]);
    assert_eq!(
        evaluate_in(&tree, "unit", "\"${local.a}${local.b}\"").as_deref(),
        Ok("a\n  b 1\na\nb\n\nc\n")
    );
}

#[test]
fn locals_in_any_order() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        "locals {\n  a = \"${local.b}!\"\n  b = local[\"c\"]\n  c = \"x\"\n}\n",
    )]);
    assert_eq!(evaluate_in(&tree, "unit", "local.a").as_deref(), Ok("x!"));
}

#[test]
fn locals_that_refer_to_each_other_have_no_value() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        "locals {\n  a = local.b\n  b = local.a\n}\n",
    )]);
    let unknown = evaluate_in(&tree, "unit", "local.a").unwrap_err();
    assert_eq!(unknown, "the local \"a\" refers to itself");
}

#[test]
fn only_dependants_of_an_unknown_value_are_unknown() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        r#"locals {
  config = { known = "a", account = run_cmd("x") }
  all = merge(local.config, { more = 1 })
}
"#,
    )]);
    assert_eq!(
        evaluate_in(&tree, "unit", "local.all.known").as_deref(),
        Ok("a")
    );
    let unknown = evaluate_in(&tree, "unit", "jsonencode(local.all)").unwrap_err();
    assert_eq!(unknown, "`run_cmd` is not evaluated");
}

#[test]
fn try_and_can_skip_failures_but_not_unknown_values() {
    assert_value("try({}.a, \"b\")", "b");
    assert_value("try(\"a\", run_cmd(\"b\"))", "a");
    assert_value("can({}.a)", "false");
    assert_unknown("try(run_cmd(\"a\"), \"b\")", "`run_cmd`");
    assert_unknown(
        "try(dependency.vpc.outputs.id, \"b\")",
        "outputs of other units",
    );
}

#[test]
fn features_are_not_read() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        "feature \"new\" {\n  default = \"on\"\n}\n",
    )]);
    assert!(
        evaluate_in(&tree, "unit", "feature.new.value")
            .unwrap_err()
            .contains("features are not read")
    );
}

#[test]
fn values_of_a_stack_are_read_in_the_file_that_terragrunt_generates() {
    let tree = Tree::new(&[
        ("unit/terragrunt.hcl", ""),
        ("unit/terragrunt.values.hcl", "name = \"a\"\n"),
        ("other/terragrunt.hcl", ""),
    ]);
    assert_eq!(evaluate_in(&tree, "unit", "values.name").unwrap(), "a");
    assert!(
        evaluate_in(&tree, "other", "values.name")
            .unwrap_err()
            .contains("values of stacks are not read")
    );
}

#[test]
fn the_reason_has_a_location() {
    let tree = Tree::new(&[(
        "unit/terragrunt.hcl",
        "terraform {\n  source = run_cmd(\"x\")\n}\n",
    )]);
    let unknown = tree.unit("unit").source.unwrap_err();
    assert_eq!(unknown.to_string(), "`run_cmd` is not evaluated");
    assert_eq!(unknown.location.unwrap().line_column(), (2, 12));
}
