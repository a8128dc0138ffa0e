//! Requirements that `init` refuses, whatever is locked.

use super::project;

fn required(entry: &str) -> String {
    format!("terraform {{\n  required_providers {{\n    {entry}\n  }}\n}}\n")
}

#[test]
fn verify_reports_a_provider_that_init_refuses() {
    let project = project();
    let environment = &project.environment;
    let state = |provider: &str| {
        format!(
            r#"{{"version": 4, "terraform_version": "1.5.0", "serial": 1, "lineage": "a", "outputs": {{}}, "resources": [
            {{"mode": "managed", "type": "a_b", "name": "c", "provider": "provider[\"{provider}\"]", "instances": []}}]}}"#
        )
    };
    let main = |entry: &str| vec![("main.tf", required(entry))];
    let cases = [
        (main("aws = { source = \"-/aws\" }"), false),
        (
            main("aws = { source = \"registry.terraform.io/-/aws\" }"),
            false,
        ),
        (
            main("aws = { source = \"-/aws\", version = \"1.0\" }"),
            false,
        ),
        (
            main("null = { source = \"terraform.io/builtin/null\" }"),
            false,
        ),
        (
            main("terraform = { source = \"terraform.io/builtin/terraform\", version = \">= 0\" }"),
            false,
        ),
        (main("terraform = \"1.0\""), false),
        (main("terraform = { version = \"1.0\" }"), false),
        (
            vec![(
                "main.tf",
                "provider \"terraform\" {\n  version = \"1.0\"\n}\n".to_owned(),
            )],
            false,
        ),
        (
            vec![
                (
                    "main.tf",
                    "module \"m\" {\n  source = \"./m\"\n}\n".to_owned(),
                ),
                ("m/main.tf", required("aws = { source = \"-/aws\" }")),
            ],
            false,
        ),
        (
            vec![
                ("main.tf", "locals {}\n".to_owned()),
                ("terraform.tfstate", state("terraform.io/builtin/null")),
            ],
            false,
        ),
        (
            main("terraform = { source = \"terraform.io/builtin/terraform\" }"),
            true,
        ),
        (
            main("x = { source = \"Terraform.io/Builtin/Terraform\" }"),
            true,
        ),
        (main("terraform = {}"), true),
        (
            vec![("main.tf", "provider \"terraform\" {}\n".to_owned())],
            true,
        ),
        (
            vec![(
                "main.tf",
                "data \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n}\n".to_owned(),
            )],
            true,
        ),
        (
            vec![
                ("main.tf", required("null = { source = \"-/aws\" }")),
                (
                    "override.tf",
                    required("null = { source = \"hashicorp/null\" }"),
                ),
            ],
            true,
        ),
    ];
    for (files, is_accepted) in &cases {
        let texts: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        project.write(&texts);
        // As `providers lock`, `lock` ignores such a requirement, but not in silence.
        let lock = environment.provlock(["lock", "-p", "linux_amd64"]);
        lock.assert_code(0);
        let has_warning = lock.stderr.contains("warning[requirement-refused]");
        assert_eq!(has_warning, !is_accepted, "{files:?}: {lock}");
        let verify = environment.provlock(["verify", "--allow", "single-platform"]);
        assert_eq!(
            verify.code,
            Some(i32::from(!is_accepted)),
            "{files:?}: {verify}"
        );
        let has_error = verify.stdout.contains("error[requirement-refused]");
        assert_eq!(has_error, !is_accepted, "{files:?}: {verify}");
        if let Some(result) = project.init() {
            assert_eq!(result.0.is_some(), *is_accepted, "Terraform: {files:?}");
        }
    }
}

#[test]
fn a_refused_requirement_is_shown_with_its_correction() {
    let project = project();
    let environment = &project.environment;
    let entries = "aws = { source = \"-/aws\" }\n    \
                   null = { source = \"terraform.io/builtin/null\" }\n    \
                   terraform = { source = \"terraform.io/builtin/terraform\", version = \"~> 1.0\" }";
    environment.write("main.tf", required(entries));
    let findings = r#"
LEVEL[requirement-refused]: the legacy address -/aws is required, and terraform init refuses it
 --> main.tf:3:22
  |
3 |     aws = { source = "-/aws" }
  |                      ^^^^^^^ required here
  |
help: write the namespace of the provider, such as source = "hashicorp/aws"

LEVEL[requirement-refused]: terraform.io/builtin/null is required, but terraform has no such built-in provider
 --> main.tf:4:23
  |
4 |     null = { source = "terraform.io/builtin/null" }
  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: correct or remove the source; the only built-in provider is terraform.io/builtin/terraform

LEVEL[requirement-refused]: terraform.io/builtin/terraform is built in, and its version cannot be constrained
 --> main.tf:5:72
  |
5 |     terraform = { source = "terraform.io/builtin/terraform", version = "~> 1.0" }
  |                                                                        ^^^^^^^^ init refuses this
  |
help: remove the version
"#;
    let verify = environment.provlock(["verify"]);
    verify.assert_code(1);
    assert_eq!(
        verify.stdout.trim(),
        findings.replace("LEVEL", "error").trim()
    );
    let lock = environment.provlock(["lock"]);
    let shown = findings.replace("LEVEL", "warning") + "Locked 0 providers\n";
    assert_eq!(lock.assert_code(0).stderr, shown.trim_start());
}
