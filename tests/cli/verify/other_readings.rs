//! Changes whose lines do not show what they change: files behind links, comments, overrides, and forms that OpenTofu
//! and Terraform read as well.

use super::gate::Gate;
use super::gate_bypass::{BACKEND, all_are_errors};
use crate::lock::requires;
use provlock_test::TestEnvironment;

const UNKNOWN: &str = "s3::https://evil.test/m.zip";

fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = {source}\n}}\n")
}

/// Files that are the other way round than they are in the base.
fn replace(gate: &Gate, path: &str, from: &str, to: &str) {
    let text = gate.read(path);
    assert!(text.contains(from), "{path} does not contain {from}");
    gate.write(path, text.replace(from, to));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A root module with a file and values behind links, and a module behind a link to a directory. Both directories
    /// have a `lib` beside them.
    fn linked(gate: &Gate) {
        gate.write("live/net.tf", call("n", "\"./link\""));
        gate.write("live/lib/main.tf", "locals {}\n");
        gate.write("live/m/main.tf", "locals {}\n");
        gate.write("shared/sub/main.tf", call("k", "\"../lib\""));
        gate.write("shared/lib/main.tf", "locals {}\n");
        gate.write("shared/common.txt", "variable \"s\" {\n  default = \"./lib\"\n}\n");
        gate.write("shared/values.txt", "s = \"./lib\"\n");
        gate.write("live/calls.tf", call("v", "var.s"));
        for (target, link) in [
            ("../shared/sub", "live/link"),
            ("../shared/common.txt", "live/common.tf"),
            ("../shared/values.txt", "live/terraform.tfvars"),
        ] {
            symlink(target, gate.project().join(link)).unwrap();
        }
    }

    #[test]
    fn changes_behind_links_are_changes() {
        all_are_errors(
            "a pull request changes what is behind a link",
            linked,
            &[
                (
                    "a module that is called from behind a link to a directory",
                    |gate| gate.write("shared/lib/main.tf", requires("evil/null", "")),
                    "provider-not-locked",
                ),
                (
                    "a file behind a link",
                    |gate| {
                        gate.write("shared/common.txt", "variable \"s\" {}\n".to_owned() + &call("x", "var.unknown"));
                    },
                    "made-unknown",
                ),
                ("values behind a link", |gate| gate.write("shared/values.txt", "s = \"./m\"\n"), "made-unknown"),
                (
                    "a file that a link of the base leads to from elsewhere",
                    |gate| {
                        gate.write("shared/more.txt", call("x", &format!("\"{UNKNOWN}\"")));
                        std::fs::remove_file(gate.project().join("live/common.tf")).unwrap();
                        symlink("../shared/more.txt", gate.project().join("live/common.tf")).unwrap();
                    },
                    "made-unknown",
                ),
            ],
        );
    }

    #[test]
    fn other_changes_beside_links_are_none() {
        let gate = Gate::with(linked);
        gate.write("live/lib/main.tf", "locals {\n  a = 1\n}\n");
        gate.write("shared/common.txt", "# A comment.\n".to_owned() + &gate.read("shared/common.txt"));
        gate.commit();
        assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
    }

    #[test]
    fn files_that_are_shared_by_links_are_no_module_of_their_own() {
        let gate = Gate::with(|gate| {
            gate.write("shared/common.tf", call("c", "\"./m\""));
            gate.write("live/m/main.tf", "locals {}\n");
            symlink("../shared/common.tf", gate.project().join("live/common.tf")).unwrap();
        });
        gate.write("shared/common.tf", gate.read("shared/common.tf") + "locals {}\n");
        assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
        gate.write("shared/common.tf", gate.read("shared/common.tf") + "resource \"evil_x\" \"a\" {}\n");
        assert_eq!(gate.errors(&["-r"]), ["provider-not-locked"], "where the link is");
        gate.write("shared/own.tf", requires("evil/null", ""));
        gate.write("shared/m/main.tf", "locals {}\n");
        let found = gate.judge(&["-r"]);
        assert!(found.contains(&"namespace-not-allowed".to_owned()), "a module of its own now: {found:?}");
    }

    #[test]
    fn a_root_module_behind_a_link_is_read_where_it_is() {
        let environment = TestEnvironment::new();
        environment.write("a/real/main.tf", BACKEND.to_owned() + &call("m", "\"../lib\""));
        environment.write("a/lib/main.tf", requires("hashicorp/null", ""));
        environment.write("lib/main.tf", "locals {}\n");
        symlink("a/real", environment.project().join("root")).unwrap();
        for path in ["root", "./root/.", "root/main.tf"] {
            let output = environment.provlock(["verify", path, "--json"]);
            assert!(output.stdout.contains("\"file\":\"a/lib/main.tf\""), "{path}: {output}");
        }
    }
}

#[test]
fn a_call_that_becomes_active_is_new() {
    all_are_errors(
        "a pull request makes a call active whose lines are in the base",
        |gate| {
            let other = call("x", &format!("\"{UNKNOWN}\""));
            gate.write("live/comment.tf", format!("/*\n{other}*/\n"));
            gate.write(
                "live/heredoc.tf",
                format!("locals {{\n  text = <<EOT\n{}EOT\n}}\n", other.replace("\"x\"", "\"y\"")),
            );
            let member = format!("{{\n  \"//\": {{\n    \"z\": {{\"source\": \"{UNKNOWN}\"}}\n  }}\n}}\n");
            gate.write("live/other.tf.json", member);
            gate.write("live/own.tf", call("o", &format!("\"{UNKNOWN}\"")));
            gate.write("live/own_override.tf", call("o", "\"./m\"") + &call("p", "\"./m\""));
            gate.write(
                "live/variable.tf",
                "variable \"s\" {\n  default = \"./m\"\n}\n".to_owned() + &call("p", "var.s"),
            );
            gate.write("live/m/main.tf", "locals {}\n");
            gate.write(
                "live/local.tf",
                format!("locals {{\n  a = \"./m\"\n  b = \"{UNKNOWN}\"\n}}\n{}", call("l", "local.a")),
            );
        },
        &[
            ("a comment", |gate| gate.write("live/comment.tf", call("x", &format!("\"{UNKNOWN}\""))), "made-unknown"),
            ("a heredoc", |gate| gate.write("live/heredoc.tf", call("y", &format!("\"{UNKNOWN}\""))), "made-unknown"),
            ("a comment of JSON", |gate| replace(gate, "live/other.tf.json", "//", "module"), "made-unknown"),
            ("an override", |gate| gate.write("live/own_override.tf", call("p", "\"./m\"")), "made-unknown"),
            (
                "an override of a source that depends on a variable",
                |gate| gate.write("live/own_override.tf", call("o", "\"./m\"")),
                "made-unknown",
            ),
            (
                "exchanged names of locals",
                |gate| {
                    let locals = format!("locals {{\n  b = \"./m\"\n  a = \"{UNKNOWN}\"\n}}\n{}", call("l", "local.a"));
                    gate.write("live/local.tf", locals);
                },
                "made-unknown",
            ),
        ],
    );
}

#[test]
fn a_value_that_becomes_an_expression_makes_a_call_unknown() {
    all_are_errors(
        "a pull request turns a value of a variable into an expression",
        |gate| {
            gate.write("live/net.tf", "variable \"s\" {}\n".to_owned() + &call("m", "var.s"));
            gate.write("live/terraform.tfvars", "s = \"./m\"\n");
            gate.write("live/m/main.tf", "locals {}\n");
        },
        &[
            ("a template", |gate| gate.write("live/terraform.tfvars", "s = \"./${\"other\"}\"\n"), "made-unknown"),
            ("a condition", |gate| gate.write("live/terraform.tfvars", "s = true ? \"./a\" : \"\"\n"), "made-unknown"),
        ],
    );
}

#[test]
fn providers_of_the_root_module_are_required_while_a_call_is_unknown() {
    all_are_errors(
        "a pull request implies a provider beside an unknown call",
        |gate| gate.write("live/net.tf", call("m", &format!("\"{UNKNOWN}\""))),
        &[
            ("a resource", |gate| gate.write("live/x.tf", "resource \"evil_x\" \"a\" {}\n"), "provider-not-locked"),
            ("a provider block", |gate| gate.write("live/x.tf", "provider \"evil\" {}\n"), "provider-not-locked"),
            ("a data source", |gate| gate.write("live/x.tf", "data \"evil_x\" \"a\" {}\n"), "provider-not-locked"),
        ],
    );
}

#[test]
fn an_empty_block_of_json_requires_its_provider() {
    all_are_errors(
        "a pull request requires a provider by an empty block of JSON",
        |_| {},
        &[
            (
                "a resource",
                |gate| gate.write("live/x.tf.json", r#"{"resource":{"evil_x":{"a":[null]}}}"#),
                "provider-not-locked",
            ),
            (
                "a provider",
                |gate| gate.write("live/x.tf.json", r#"{"provider":{"evil":[null]}}"#),
                "provider-not-locked",
            ),
            (
                "nested arrays",
                |gate| gate.write("live/x.tf.json", r#"{"data":{"evil_x":{"a":[[{}]]}}}"#),
                "provider-not-locked",
            ),
        ],
    );
}

#[test]
fn packages_beside_the_configuration_are_found_by_any_name() {
    all_are_errors(
        "a pull request adds packages beside the configuration under unusual names",
        |_| {},
        &[
            (
                "capitals in the host",
                |gate| plugin(gate, "Registry.OpenTofu.org/hashicorp/null/9.9.9/linux_amd64/x"),
                "bundled-plugins",
            ),
            (
                "a port",
                |gate| plugin(gate, "registry.opentofu.org:443/hashicorp/null/9.9.9/linux_amd64/x"),
                "bundled-plugins",
            ),
            (
                "capitals in the type",
                |gate| plugin(gate, "registry.opentofu.org/hashicorp/Null/9.9.9/linux_amd64/x"),
                "bundled-plugins",
            ),
            (
                "an archive in capitals",
                |gate| {
                    plugin(gate, "registry.opentofu.org/hashicorp/null/terraform-provider-null_9.9.9_linux_amd64.ZIP");
                },
                "bundled-plugins",
            ),
        ],
    );
}

fn plugin(gate: &Gate, path: &str) {
    gate.write(&format!("live/terraform.d/plugins/{path}"), "#!/bin/sh\n");
}
