//! Numbers in place of strings for versions, which Terraform converts in some places.

use super::project;
use provlock_test::archive::{self, Packing};
use provlock_test::str;

fn required(entry: &str) -> String {
    format!("terraform {{\n  required_providers {{\n    {entry}\n  }}\n}}\n")
}

#[test]
fn a_number_for_a_version_is_locked_as_by_terraform() {
    let project = project();
    let cases = [
        (required("null = 3.1"), true),
        (required("null = 3.10"), true),
        (required("null = 3"), true),
        (required("null = (3.1)"), true),
        (required("null = 31e-1"), true),
        (required("null = 0.31E1"), true),
        (required("null = 3e0"), true),
        (required("null = \"3.1\""), true),
        (required("null = -3"), false),
        (required("null = true"), false),
        (required("null = null"), false),
        (
            required("null = { source = \"hashicorp/null\", version = 3.1 }"),
            false,
        ),
        (
            required("null = { source = \"hashicorp/null\", version = 3 }"),
            false,
        ),
        (required("null = { source = 3.1 }"), false),
        ("provider \"null\" {\n  version = 3.1\n}\n".to_owned(), true),
        (
            "provider \"null\" {\n  version = 3.10\n}\n".to_owned(),
            true,
        ),
        ("provider \"null\" {\n  version = 3\n}\n".to_owned(), true),
        (
            "provider \"null\" {\n  version = null\n}\n".to_owned(),
            true,
        ),
        (
            "provider \"null\" {\n  version = true\n}\n".to_owned(),
            false,
        ),
        ("provider \"null\" {\n  alias = 3.1\n}\n".to_owned(), false),
    ];
    for (text, is_accepted) in &cases {
        project.assert_locked_as_by_terraform(text, &[("main.tf", text)], *is_accepted);
    }
    for text in [
        r#"{"terraform": {"required_providers": {"null": 3.1}}}"#,
        r#"{"terraform": {"required_providers": {"null": 3.10}}}"#,
        r#"{"provider": {"null": {"version": 3.1}}}"#,
    ] {
        project.assert_locked_as_by_terraform(text, &[("main.tf.json", text)], true);
    }
}

/// The result is rounded to 512 bits, and not all of them are short numbers again.
#[test]
fn arithmetic_for_a_version_is_computed_as_by_terraform() {
    let project = project();
    for (expression, is_accepted) in [
        ("3 + 0", true),
        ("3.0 + 0.1", true),
        ("3.1 * 1", true),
        ("6.2 / 2", true),
        ("31 / 10", true),
        ("7 % 4", true),
        ("-(-3)", true),
        ("(3.1e0 - 0.0)", true),
        ("3.4 - 0.3", false),
        ("9.3 / 3", false),
        ("1 - 4", false),
        ("3 / 0", false),
        ("3 + true", false),
    ] {
        for text in [
            required(&format!("null = {expression}")),
            format!("provider \"null\" {{\n  version = {expression}\n}}\n"),
        ] {
            project.assert_locked_as_by_terraform(&text, &[("main.tf", &text)], is_accepted);
        }
        let text = required(&format!("null = {{ version = {expression} }}"));
        project.assert_locked_as_by_terraform(&text, &[("main.tf", &text)], false);
    }
}

#[test]
fn a_number_for_the_version_of_a_module_is_its_text() {
    let project = project();
    let registry = &project.registry;
    let call = |version: &str| {
        format!("module \"m\" {{\n  source = \"acme/m/null\"\n  version = {version}\n}}\n")
    };
    let files = [("main.tf".to_owned(), b"locals {}\n".to_vec())];
    registry.serve("/m.zip", archive::pack(&files, Packing::Deflated));
    registry.serve(
        "/v1/modules/acme/m/null/versions",
        r#"{"modules":[{"versions":[{"version":"1.3.0"},{"version":"1.4.0"}]}]}"#,
    );
    registry.serve(
        "/v1/modules/acme/m/null/1.3.0/download",
        r#"{"location":"https://registry.terraform.io/m.zip"}"#,
    );
    for (written, is_accepted) in [
        ("1.3", true),
        ("1.30", true),
        ("13e-1", true),
        ("13 / 10", true),
        ("1.2 + 0.1", false),
        ("\"1.3\"", true),
        ("\"1.30\"", false),
        ("1.7", false),
    ] {
        let text = call(written);
        project.assert_locked_as_by_terraform(&text, &[("main.tf", &text)], is_accepted);
    }
}

#[test]
fn a_number_in_an_object_is_an_error_that_says_so() {
    let project = project();
    let text = required("null = { source = \"hashicorp/null\", version = 3.1 }");
    project.environment.write("main.tf", text);
    project.environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: a string is expected here, not a number
 --> main.tf:3:51
  |
3 |     null = { source = "hashicorp/null", version = 3.1 }
  |                                                   ^^^
"#]]);
}
