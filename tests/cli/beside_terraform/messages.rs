//! Mistakes that both provlock and Terraform call by their names.

use super::project;
use provlock_test::str;

const MAIN: &str =
    "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\" }\n  }\n}\n";

#[test]
fn conflict_markers_in_a_configuration_are_called_that() {
    let project = project();
    let environment = &project.environment;
    let conflict = "<<<<<<< HEAD\n  a = 1\n=======\n  a = 2\n>>>>>>> topic\n";
    let cases = [
        ("top level", format!("{conflict}{MAIN}"), 1),
        (
            "skipped block",
            format!("locals {{\n{conflict}}}\n{MAIN}"),
            2,
        ),
        (
            "skipped object",
            format!("locals {{\n  b = {{\n{conflict}  }}\n}}\n{MAIN}"),
            3,
        ),
        (
            "read block",
            MAIN.replace("    null", &format!("{conflict}    null")),
            3,
        ),
        (
            "label missing",
            format!("{MAIN}<<<<<<<\n=======\n>>>>>>>\n"),
            6,
        ),
        ("last marker", format!("{MAIN}>>>>>>> topic\n"), 6),
        ("ends of lines", conflict.replace('\n', "\r\n"), 1),
    ];
    for (name, text, line) in &cases {
        project.assert_locked_as_by_terraform(name, &[("main.tf", text)], false);
        environment
            .provlock(["lock"])
            .assert_stderr_has("this is a git conflict marker")
            .assert_stderr_has(&format!("main.tf:{line}:1"));
    }
    let json = "{\n<<<<<<< HEAD\n  \"locals\": {}\n=======\n>>>>>>> topic\n}\n";
    project.assert_locked_as_by_terraform("JSON", &[("main.tf.json", json)], false);
    environment
        .provlock(["lock"])
        .assert_stderr_has("this is a git conflict marker")
        .assert_stderr_has("main.tf.json:2:1");

    // Text about conflicts is no conflict.
    let heredoc = format!("{MAIN}locals {{\n  a = <<E\n{conflict}E\n}}\n");
    let comment = format!("/*\n{conflict}*/\n{MAIN}");
    for text in [heredoc, comment] {
        project.assert_locked_as_by_terraform(&text, &[("main.tf", &text)], true);
    }
}

#[test]
fn a_variable_in_a_version_of_a_provider_is_not_allowed() {
    let project = project();
    let environment = &project.environment;
    let variable = "variable \"v\" {\n  default = \"3.1.0\"\n}\n";
    let object = MAIN.replace("null\" }", "null\", version = var.v }");
    for text in [
        format!("{object}{variable}"),
        format!("provider \"null\" {{\n  version = var.v\n}}\n{variable}"),
        MAIN.replace("\"hashicorp/null\"", "\"hashicorp/${local.n}\""),
    ] {
        project.assert_locked_as_by_terraform(&text, &[("main.tf", &text)], false);
        environment
            .provlock(["lock"])
            .assert_stderr_has("variables are not allowed here");
    }
    project.write(&[("main.tf", &object)]);
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: variables are not allowed here
 --> main.tf:3:51
  |
3 |     null = { source = "hashicorp/null", version = var.v }
  |                                                   ^^^^^
"#]]);
}
