//! Changes whose lines do not show what they change: files behind links, comments, overrides, and
//! forms that OpenTofu and Terraform read as well.

use super::gate::Gate;
use super::gate_bypass::{BACKEND, all_are_errors};
use crate::lock::requires;
use provlock_test::{TestEnvironment, survived};

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

    /// A root module with a file and values behind links, and a module behind a link to a
    /// directory. Both directories have a `lib` beside them.
    fn linked(gate: &Gate) {
        gate.write("live/net.tf", call("n", "\"./link\""));
        gate.write("live/lib/main.tf", "locals {}\n");
        gate.write("live/m/main.tf", "locals {}\n");
        gate.write("shared/sub/main.tf", call("k", "\"../lib\""));
        gate.write("shared/lib/main.tf", "locals {}\n");
        gate.write(
            "shared/common.txt",
            "variable \"s\" {\n  default = \"./lib\"\n}\n",
        );
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
                        gate.write(
                            "shared/common.txt",
                            "variable \"s\" {}\n".to_owned() + &call("x", "var.unknown"),
                        );
                    },
                    "not-decided",
                ),
                (
                    "values behind a link",
                    |gate| gate.write("shared/values.txt", "s = \"./m\"\n"),
                    "not-decided",
                ),
                (
                    "a file that a link of the base leads to from elsewhere",
                    |gate| {
                        gate.write("shared/more.txt", call("x", &format!("\"{UNKNOWN}\"")));
                        std::fs::remove_file(gate.project().join("live/common.tf")).unwrap();
                        symlink("../shared/more.txt", gate.project().join("live/common.tf"))
                            .unwrap();
                    },
                    "not-decided",
                ),
            ],
        );
    }

    #[test]
    fn other_changes_beside_links_are_none() {
        let gate = Gate::with(linked);
        gate.write("live/lib/main.tf", "locals {\n  a = 1\n}\n");
        gate.write(
            "shared/common.txt",
            "# A comment.\n".to_owned() + &gate.read("shared/common.txt"),
        );
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
        gate.write(
            "shared/common.tf",
            gate.read("shared/common.tf") + "locals {}\n",
        );
        assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
        gate.write(
            "shared/common.tf",
            gate.read("shared/common.tf") + "resource \"evil_x\" \"a\" {}\n",
        );
        assert_eq!(
            gate.errors(&["-r"]),
            ["provider-not-locked"],
            "where the link is"
        );
        gate.write("shared/own.tf", requires("evil/null", ""));
        gate.write("shared/m/main.tf", "locals {}\n");
        let found = gate.judge(&["-r"]);
        assert!(
            found.contains(&"namespace-not-allowed".to_owned()),
            "a module of its own now: {found:?}"
        );
    }

    /// Links that lead to a file and that no checked module loads.
    const IDLE_LINKS: [&str; 6] = [
        "docs/.hidden.tf",
        "docs/root.hcl",
        "docs/a.tftest.hcl",
        "docs/terraform.tfvars",
        "examples/a/more.tf",
        "live/main.tf",
    ];

    #[test]
    fn a_link_that_nothing_loads_hides_no_change() {
        for link in IDLE_LINKS {
            let gate = Gate::with(|gate| {
                gate.write("shared/main.tf", "locals {}\n");
                gate.write("live/main.tofu", gate.read("live/main.tf"));
                gate.remove("live/main.tf");
                gate.write(link, "");
                gate.remove(link);
                let up = "../".repeat(link.matches('/').count());
                symlink(format!("{up}shared/main.tf"), gate.project().join(link)).unwrap();
            });
            gate.write("shared/main.tf", requires("evil/null", ""));
            let found = gate.judge(&["-r"]);
            assert!(
                found.contains(&"namespace-not-allowed".to_owned()),
                "{link}: {found:?}"
            );
        }
        survived("a link of the base that nothing loads", IDLE_LINKS.len());
    }

    #[test]
    fn a_root_module_behind_a_link_is_read_where_it_is() {
        let environment = TestEnvironment::new();
        environment.write(
            "a/real/main.tf",
            BACKEND.to_owned() + &call("m", "\"../lib\""),
        );
        environment.write("a/lib/main.tf", requires("hashicorp/null", ""));
        environment.write("lib/main.tf", "locals {}\n");
        symlink("a/real", environment.project().join("root")).unwrap();
        for path in ["root", "./root/.", "root/main.tf"] {
            let output = environment.provlock(["verify", path, "--json"]);
            assert!(
                output.stdout.contains("\"file\":\"a/lib/main.tf\""),
                "{path}: {output}"
            );
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
                format!(
                    "locals {{\n  text = <<EOT\n{}EOT\n}}\n",
                    other.replace("\"x\"", "\"y\"")
                ),
            );
            let member =
                format!("{{\n  \"//\": {{\n    \"z\": {{\"source\": \"{UNKNOWN}\"}}\n  }}\n}}\n");
            gate.write("live/other.tf.json", member);
            gate.write("live/own.tf", call("o", &format!("\"{UNKNOWN}\"")));
            gate.write(
                "live/own_override.tf",
                call("o", "\"./m\"") + &call("p", "\"./m\""),
            );
            gate.write(
                "live/variable.tf",
                "variable \"s\" {\n  default = \"./m\"\n}\n".to_owned() + &call("p", "var.s"),
            );
            gate.write("live/m/main.tf", "locals {}\n");
            gate.write(
                "live/local.tf",
                format!(
                    "locals {{\n  a = \"./m\"\n  b = \"{UNKNOWN}\"\n}}\n{}",
                    call("l", "local.a")
                ),
            );
        },
        &[
            (
                "a comment",
                |gate| gate.write("live/comment.tf", call("x", &format!("\"{UNKNOWN}\""))),
                "not-decided",
            ),
            (
                "a heredoc",
                |gate| gate.write("live/heredoc.tf", call("y", &format!("\"{UNKNOWN}\""))),
                "not-decided",
            ),
            (
                "a comment of JSON",
                |gate| replace(gate, "live/other.tf.json", "//", "module"),
                "not-decided",
            ),
            (
                "an override",
                |gate| gate.write("live/own_override.tf", call("p", "\"./m\"")),
                "not-decided",
            ),
            (
                "an override of a source that depends on a variable",
                |gate| gate.write("live/own_override.tf", call("o", "\"./m\"")),
                "not-decided",
            ),
            (
                "exchanged names of locals",
                |gate| {
                    let locals = format!(
                        "locals {{\n  b = \"./m\"\n  a = \"{UNKNOWN}\"\n}}\n{}",
                        call("l", "local.a")
                    );
                    gate.write("live/local.tf", locals);
                },
                "not-decided",
            ),
        ],
    );
}

#[test]
fn every_part_of_a_call_and_its_values_is_compared() {
    all_are_errors(
        "a pull request alters what a source is computed from, where no line of the call is new",
        |gate| {
            let variable = |text: &str| format!("variable \"s\" {{\n  {text}\n}}\n");
            gate.write("live/m/main.tf", "locals {}\n");
            gate.write("live/own.tf", call("o", "\"./m\""));
            gate.write(
                "live/own_override.tf",
                format!("/*\n{}*/\n", call("o", &format!("\"{UNKNOWN}\""))),
            );
            let optional = "type = object({ a = optional(string, \"./m\") })\n  default = {}";
            gate.write(
                "live/type/main.tf",
                variable(optional) + &call("t", "var.s.a"),
            );
            gate.write(
                "live/nullable/main.tf",
                variable("default = \"./m\"") + &call("n", "try(var.s, \"s3::x\")"),
            );
            gate.write("live/nullable/m/main.tf", "locals {}\n");
            gate.write("live/type/m/main.tf", "locals {}\n");
            gate.write(
                "live/child/main.tf",
                variable(&format!("default = \"{UNKNOWN}\"")) + &call("c", "var.s"),
            );
            gate.write("live/child/m/main.tf", "locals {}\n");
            let child = call("child", "\"./child\"").replace("}\n", "  s = \"./m\"\n}\n");
            gate.write(
                "live/calls.tf",
                child + &call("t", "\"./type\"") + &call("n", "\"./nullable\""),
            );
        },
        &[
            (
                "a call in a comment of an override file",
                |gate| gate.write("live/own_override.tf", call("o", &format!("\"{UNKNOWN}\""))),
                "not-decided",
            ),
            (
                "a default in a type",
                |gate| {
                    replace(
                        gate,
                        "live/type/main.tf",
                        "string, \"./m\"",
                        &format!("string, \"{UNKNOWN}\""),
                    );
                },
                "not-decided",
            ),
            (
                "an argument that is removed",
                |gate| replace(gate, "live/calls.tf", "  s = \"./m\"\n", ""),
                "not-decided",
            ),
            (
                "a new name of the call without the argument",
                |gate| {
                    replace(gate, "live/calls.tf", "\"child\" {", "\"other\" {");
                    replace(gate, "live/calls.tf", "  s = \"./m\"\n", "");
                },
                "not-decided",
            ),
        ],
    );
}

#[test]
fn a_default_that_counts_from_now_on_may_name_a_new_publisher() {
    fn child(argument: &str) -> String {
        format!("module \"c\" {{\n  source = \"./c\"\n{argument}}}\n")
    }
    all_are_errors(
        "a pull request lets a default of the base count",
        |gate| {
            gate.write(
                "provlock.toml",
                gate.read("provlock.toml") + "[verify]\ndeny = [\"publisher-added\"]\n",
            );
            let (good, evil) = (
                "git::https://good.test/a/x.git",
                "git::https://evil.test/a/x.git",
            );
            let variable =
                format!("variable \"s\" {{\n  nullable = true\n  default  = \"{evil}\"\n}}\n");
            gate.write("live/c/main.tf", variable.clone() + &call("z", "var.s"));
            gate.write("live/calls.tf", child(&format!("  s = \"{good}\"\n")));
            gate.write(
                "live/d/main.tf",
                variable + &call("z", &format!("var.s == null ? \"{good}\" : var.s")),
            );
            gate.write(
                "live/null.tf",
                child("  s = null\n")
                    .replace("\"c\"", "\"d\"")
                    .replace("./c", "./d"),
            );
        },
        &[
            (
                "no argument",
                |gate| gate.write("live/calls.tf", child("")),
                "publisher-added",
            ),
            (
                "no null",
                |gate| replace(gate, "live/d/main.tf", "= true", "= false"),
                "publisher-added",
            ),
        ],
    );
}

#[test]
fn calls_in_tests_are_compared_as_they_are_read() {
    let run = |name: &str, source: &str| {
        format!("run \"{name}\" {{\n  module {{\n    source = \"{source}\"\n  }}\n}}\n")
    };
    let gate = Gate::with(|gate| {
        gate.write("live/m/main.tf", "locals {}\n");
        gate.write(
            "live/a.tftest.hcl",
            run("a", "./m") + "/*\n" + &run("b", UNKNOWN) + "*/\n",
        );
        gate.write("live/b.tftest.hcl", run("c", UNKNOWN));
    });
    gate.write(
        "live/b.tftest.hcl",
        "# A comment.\n".to_owned() + &run("c", UNKNOWN) + &run("d", "./m"),
    );
    gate.commit();
    assert_eq!(
        gate.errors(&["-r"]),
        [] as [&str; 0],
        "the unknown call is as before"
    );
    gate.write("live/a.tftest.hcl", run("a", "./m") + &run("b", UNKNOWN));
    gate.commit();
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
}

#[test]
fn a_variable_that_is_constant_by_a_text_is_constant() {
    let variable =
        |flag: &str| format!("variable \"s\" {{\n  const   = {flag}\n  default = \"./m\"\n}}\n");
    let gate = Gate::with(|gate| {
        gate.write(
            "provlock.toml",
            "dialect = \"terraform\"\n[policy]\nallowed-namespaces = [\"hashicorp\"]\n",
        );
        let null = "registry.terraform.io/hashicorp/null";
        gate.root("live", null, &[super::H1, super::ZH]);
        gate.root("other", null, &[super::H1, super::ZH]);
        gate.write("live/net.tf", variable("true") + &call("m", "var.s"));
        gate.write("live/m/main.tf", "locals {}\n");
    });
    gate.write("live/net.tf", variable("\"true\"") + &call("m", "var.s"));
    gate.write("live/m/main.tf", requires("evil/null", ""));
    gate.commit();
    let found = gate.errors(&["live"]);
    assert!(
        found.contains(&"provider-not-locked".to_owned()),
        "{found:?}"
    );
    gate.write("live/net.tf", variable("var.other") + &call("m", "var.s"));
    gate.commit();
    assert_eq!(
        gate.errors(&["live"]),
        ["not-decided"],
        "a flag that is not known"
    );
}

#[test]
fn calls_in_generated_files_are_altered_with_the_files_of_terragrunt() {
    let generate = |text: &str| {
        let contents = format!("contents = <<EOF\n{text}EOF\n");
        let block = format!(
            "generate \"net\" {{\n  path = \"net.tf\"\n  if_exists = \"overwrite\"\n  {contents}}}\n"
        );
        "terraform {\n  source = \"../../modules/m\"\n}\n".to_owned() + &block
    };
    let gate = Gate::with(|gate| {
        gate.root("modules/m", super::NULL, &[super::H1, super::ZH]);
        gate.write("modules/m/lib/main.tf", "locals {}\n");
        gate.write(
            "units/u/.terraform.lock.hcl",
            gate.read("modules/m/.terraform.lock.hcl"),
        );
        let other = call("x", &format!("\"{UNKNOWN}\""));
        gate.write(
            "units/u/terragrunt.hcl",
            generate(&("/*\n".to_owned() + &other + "*/\n")),
        );
    });
    gate.write(
        "units/u/terragrunt.hcl",
        generate(&call("x", &format!("\"{UNKNOWN}\""))),
    );
    gate.commit();
    assert!(gate.errors(&["-r"]).contains(&"not-decided".to_owned()));
}

#[test]
fn a_value_that_becomes_an_expression_makes_a_call_unknown() {
    all_are_errors(
        "a pull request turns a value of a variable into an expression",
        |gate| {
            gate.write(
                "live/net.tf",
                "variable \"s\" {}\n".to_owned() + &call("m", "var.s"),
            );
            gate.write("live/terraform.tfvars", "s = \"./m\"\n");
            gate.write("live/m/main.tf", "locals {}\n");
        },
        &[
            (
                "a template",
                |gate| gate.write("live/terraform.tfvars", "s = \"./${\"other\"}\"\n"),
                "not-decided",
            ),
            (
                "a condition",
                |gate| gate.write("live/terraform.tfvars", "s = true ? \"./a\" : \"\"\n"),
                "not-decided",
            ),
        ],
    );
}

#[test]
fn providers_of_the_root_module_are_required_while_a_call_is_unknown() {
    all_are_errors(
        "a pull request implies a provider beside an unknown call",
        |gate| gate.write("live/net.tf", call("m", &format!("\"{UNKNOWN}\""))),
        &[
            (
                "a resource",
                |gate| gate.write("live/x.tf", "resource \"evil_x\" \"a\" {}\n"),
                "provider-not-locked",
            ),
            (
                "a provider block",
                |gate| gate.write("live/x.tf", "provider \"evil\" {}\n"),
                "provider-not-locked",
            ),
            (
                "a data source",
                |gate| gate.write("live/x.tf", "data \"evil_x\" \"a\" {}\n"),
                "provider-not-locked",
            ),
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
                |gate| {
                    plugin(
                        gate,
                        "Registry.OpenTofu.org/hashicorp/null/9.9.9/linux_amd64/x",
                    );
                },
                "bundled-plugins",
            ),
            (
                "a port",
                |gate| {
                    plugin(
                        gate,
                        "registry.opentofu.org:443/hashicorp/null/9.9.9/linux_amd64/x",
                    );
                },
                "bundled-plugins",
            ),
            (
                "capitals in the type",
                |gate| {
                    plugin(
                        gate,
                        "registry.opentofu.org/hashicorp/Null/9.9.9/linux_amd64/x",
                    );
                },
                "bundled-plugins",
            ),
            (
                "an archive in capitals",
                |gate| {
                    plugin(
                        gate,
                        "registry.opentofu.org/hashicorp/null/terraform-provider-null_9.9.9_linux_amd64.ZIP",
                    );
                },
                "bundled-plugins",
            ),
        ],
    );
}

fn plugin(gate: &Gate, path: &str) {
    gate.write(&format!("live/terraform.d/plugins/{path}"), "#!/bin/sh\n");
}

#[test]
fn lines_of_a_unit_that_become_active_are_new() {
    fn module(source: &str) -> String {
        format!("terraform {{\n  source = {source}\n}}\n")
    }
    fn local(value: &str) -> String {
        format!("locals {{\n  a = {value}\n}}\n")
    }
    fn commented(text: &str) -> String {
        format!("/*\n{text}*/\n")
    }
    fn json(source: &str, input: &str) -> String {
        format!(
            "{{\n\"terraform\": {{\n\"source\": {source}\n}},\n\"inputs\": {{\n\"source\": {input}\n}}\n}}\n"
        )
    }
    let (good, evil) = ("\"../../modules/m\"", format!("\"{UNKNOWN}\""));
    let command = "run_cmd(\"evil\")";
    let gate = Gate::with(|gate| {
        gate.root("modules/m", super::NULL, &[super::H1, super::ZH]);
        for unit in ["a", "b", "c", "d"] {
            gate.write(
                &format!("units/{unit}/.terraform.lock.hcl"),
                gate.read("modules/m/.terraform.lock.hcl"),
            );
        }
        gate.write(
            "units/a/terragrunt.hcl",
            module(good) + &commented(&module(&evil)),
        );
        gate.write(
            "units/b/terragrunt.hcl",
            module("local.a") + &local(good) + &commented(&local(command)),
        );
        gate.write(
            "units/c/terragrunt.hcl",
            module(good) + "inputs = {\n  source = " + &evil + "\n}\n",
        );
        gate.write("units/d/terragrunt.hcl.json", json(good, &evil));
    });
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    for (name, unit, text) in [
        ("a member of another object of JSON", "d", json(&evil, good)),
        (
            "a comment around the source",
            "a",
            commented(&module(good)) + &module(&evil),
        ),
        (
            "a comment around a local",
            "b",
            module("local.a") + &commented(&local(good)) + &local(command),
        ),
        (
            "the same line in another block",
            "c",
            module(&evil) + "inputs = {}\n",
        ),
    ] {
        let end = if unit == "d" { ".json" } else { "" };
        gate.write(&format!("units/{unit}/terragrunt.hcl{end}"), text);
        assert_eq!(gate.errors(&["-r"]), ["not-decided"], "{name}");
        gate.reset();
    }
}
