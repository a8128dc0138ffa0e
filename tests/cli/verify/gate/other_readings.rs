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
