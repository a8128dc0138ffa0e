//! Module sources of a change that depend on a value of the run: a variable, the workspace, or a
//! file. Deployment may set other values than the run of `verify` has.

use provlock_test::str;

use super::gate::Gate;
use super::gate_bypass::all_are_errors;

const GOOD: &str = "https://good.test/net.zip?checksum=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const EVIL: &str = "https://evil.test/net.zip?checksum=sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const ENVIRONMENT: &str = "variable \"env\" {\n  default = \"dev\"\n}\n";

/// A root module that calls a pinned module, with the settings that `init` writes.
fn pinned(gate: &Gate) {
    gate.write(
        "provlock.toml",
        "dialect = \"tofu\"\n[policy]\npin-modules = true\n[verify]\ndeny = [\"publisher-added\"]\n\
         [roots]\nexclude = [\"examples/**\"]\n",
    );
    gate.write("live/net.tf", call(&format!("\"{GOOD}\"")));
}

/// A call of a module. `GOOD` and `EVIL` in the source stand for addresses.
fn call(source: &str) -> String {
    format!("module \"net\" {{\n  source = {source}\n}}\n")
        .replace("GOOD", GOOD)
        .replace("EVIL", EVIL)
}

/// Writes the call with a variable that has a default.
fn change(gate: &Gate, source: &str) {
    gate.write("live/net.tf", format!("{ENVIRONMENT}{}", call(source)));
}

#[test]
fn a_source_that_depends_on_a_value_of_the_run_is_an_error() {
    all_are_errors(
        "a pull request makes a module's source depend on a variable, the workspace or a file",
        pinned,
        &[
            (
                "a condition",
                |gate| change(gate, "var.env == \"dev\" ? \"GOOD\" : \"EVIL\""),
                "not-decided",
            ),
            (
                "the workspace",
                |gate| {
                    change(
                        gate,
                        "terraform.workspace == \"default\" ? \"GOOD\" : \"EVIL\"",
                    );
                },
                "not-decided",
            ),
            (
                "the workspace of OpenTofu",
                |gate| change(gate, "tofu.workspace == \"default\" ? \"GOOD\" : \"EVIL\""),
                "not-decided",
            ),
            (
                "an index",
                |gate| change(gate, "{ dev = \"GOOD\", prod = \"EVIL\" }[var.env]"),
                "not-decided",
            ),
            (
                "a lookup",
                |gate| {
                    change(
                        gate,
                        "lookup({ dev = \"GOOD\", prod = \"EVIL\" }, var.env, \"GOOD\")",
                    );
                },
                "not-decided",
            ),
            (
                "a for expression",
                |gate| {
                    change(
                        gate,
                        "[for e in [\"dev\"] : e == var.env ? \"GOOD\" : \"EVIL\"][0]",
                    );
                },
                "not-decided",
            ),
            (
                "a template",
                |gate| {
                    let host = "\"https://${var.env == \"dev\" ? \"good\" : \"evil\"}.test/net.zip?checksum=sha256:";
                    change(gate, &format!("{host}{}\"", "a".repeat(64)));
                },
                "not-decided",
            ),
            (
                "a directive of a template",
                |gate| {
                    change(
                        gate,
                        "\"%{ if var.env == \"dev\" }GOOD%{ else }EVIL%{ endif }\"",
                    );
                },
                "not-decided",
            ),
            (
                "coalesce",
                |gate| change(gate, "coalesce(var.env == \"dev\" ? \"GOOD\" : \"EVIL\")"),
                "not-decided",
            ),
            (
                "files of the machine",
                |gate| {
                    change(
                        gate,
                        "length(fileset(path.module, \"*.x\")) == 0 ? \"GOOD\" : \"EVIL\"",
                    );
                },
                "not-decided",
            ),
            (
                "a template in a file",
                |gate| change(gate, "templatefile(\"source.tpl\", {})"),
                "not-decided",
            ),
        ],
    );
}

#[test]
fn a_source_that_depends_on_a_value_of_the_run_through_another_is_an_error() {
    all_are_errors(
        "a pull request makes a module's source depend on a variable, the workspace or a file",
        pinned,
        &[
            (
                "the whole source",
                |gate| {
                    gate.write(
                        "live/net.tf",
                        format!(
                            "variable \"source\" {{\n  default = \"{GOOD}\"\n}}\n{}",
                            call("var.source")
                        ),
                    );
                },
                "not-decided",
            ),
            (
                "through locals",
                |gate| {
                    change(gate, "local.chosen");
                    let locals = "locals {\n  is_dev = var.env == \"dev\"\n  chosen = local.is_dev ? \"GOOD\" : \"EVIL\"\n}\n";
                    gate.write(
                        "live/locals.tf",
                        locals.replace("GOOD", GOOD).replace("EVIL", EVIL),
                    );
                },
                "not-decided",
            ),
            (
                "through the argument of a call",
                |gate| {
                    gate.write(
                        "live/net.tf",
                        format!("{ENVIRONMENT}module \"m\" {{\n  source = \"./m\"\n  env    = var.env\n}}\n"),
                    );
                    let source = "var.env == \"dev\" ? \"GOOD\" : \"EVIL\"";
                    gate.write(
                        "live/m/main.tf",
                        format!("variable \"env\" {{}}\n{}", call(source)),
                    );
                },
                "not-decided",
            ),
        ],
    );
}

#[test]
fn a_path_or_version_that_depends_on_a_value_of_the_run_is_an_error() {
    all_are_errors(
        "a pull request makes a module's source depend on a variable, the workspace or a file",
        pinned,
        &[
            (
                "in JSON",
                |gate| {
                    gate.write("live/env.tf", ENVIRONMENT);
                    gate.remove("live/net.tf");
                    let source = "${var.env == \\\"dev\\\" ? \\\"GOOD\\\" : \\\"EVIL\\\"}"
                        .replace("GOOD", GOOD)
                        .replace("EVIL", EVIL);
                    gate.write(
                        "live/net.tf.json",
                        format!("{{\"module\": {{\"net\": {{\"source\": \"{source}\"}}}}}}"),
                    );
                },
                "not-decided",
            ),
            (
                "a directory of the repository",
                |gate| {
                    change(gate, "\"./${var.env}\"");
                    gate.write("live/dev/main.tf", "");
                    gate.write("live/prod/main.tf", "");
                },
                "not-decided",
            ),
            (
                "the version of a module of a registry",
                |gate| {
                    change(
                        gate,
                        "\"example.com/acme/net/null\"\n  version = var.env == \"dev\" ? \"1.0.0\" : \"6.6.6\"",
                    );
                },
                "not-decided",
            ),
        ],
    );
}

/// Root modules of the base may have such sources. The change alters the value, and not the line of
/// the source. Root modules whose source is computed from a variable, a local, lines of a
/// condition, and an argument.
fn computed(gate: &Gate) {
    pinned(gate);
    let text = |source: &str| source.replace("GOOD", GOOD);
    gate.write(
        "var/net.tf",
        text("variable \"source\" {\n  default = \"GOOD\"\n}\n") + &call("var.source"),
    );
    gate.write(
        "local/net.tf",
        text("locals {\n  source = \"GOOD\"\n}\n") + &call("local.source"),
    );
    gate.write(
        "lines/net.tf",
        format!(
            "{ENVIRONMENT}{}",
            call("(var.env == \"dev\" ?\n  \"GOOD\" :\n  \"GOOD\")")
        ),
    );
    gate.write(
        "argument/net.tf",
        text("module \"m\" {\n  source  = \"./m\"\n  address = \"GOOD\"\n}\n"),
    );
    gate.write(
        "argument/m/main.tf",
        format!("variable \"address\" {{}}\n{}", call("var.address")),
    );
}

#[test]
fn a_change_of_what_a_source_is_computed_from_is_a_change_of_the_source() {
    all_are_errors(
        "a pull request alters what a module's source is computed from",
        computed,
        &[
            (
                "the default of a variable",
                |gate| gate.write("var/net.tf", gate.read("var/net.tf").replace(GOOD, EVIL)),
                "not-decided",
            ),
            (
                "a file of values",
                |gate| gate.write("var/terraform.tfvars", format!("source = \"{EVIL}\"\n")),
                "not-decided",
            ),
            (
                "a file of values that deployment names",
                |gate| gate.write("var/prod.tfvars", format!("source = \"{EVIL}\"\n")),
                "not-decided",
            ),
            (
                "a local",
                |gate| {
                    gate.write(
                        "local/net.tf",
                        gate.read("local/net.tf").replace(GOOD, EVIL),
                    );
                },
                "publisher-added",
            ),
            (
                "a local, to what is not known",
                |gate| {
                    let quoted = format!("\"{GOOD}\"");
                    gate.write(
                        "local/net.tf",
                        gate.read("local/net.tf")
                            .replace(&quoted, "file(\"source\")"),
                    );
                },
                "not-decided",
            ),
            (
                "the third line of a source",
                |gate| {
                    let text = gate
                        .read("lines/net.tf")
                        .replace(&format!("\"{GOOD}\")"), &format!("\"{EVIL}\")"));
                    gate.write("lines/net.tf", text);
                },
                "not-decided",
            ),
            (
                "the argument of a call",
                |gate| {
                    gate.write(
                        "argument/net.tf",
                        gate.read("argument/net.tf").replace(GOOD, EVIL),
                    );
                },
                "publisher-added",
            ),
        ],
    );
}

#[test]
fn a_source_that_is_computed_from_the_files_alone_is_checked_as_before() {
    let gate = Gate::with(|gate| {
        pinned(gate);
        gate.write(
            "var/net.tf",
            format!(
                "{ENVIRONMENT}{}",
                call("var.env == \"dev\" ? \"GOOD\" : \"GOOD\"")
            ),
        );
    });
    let before = gate.judge(&["-r"]);
    gate.write(
        "live/net.tf",
        format!(
            "locals {{\n  good = \"{GOOD}\"\n}}\n{}",
            call("true ? local.good : \"EVIL\"")
        ),
    );
    gate.write("var/other.tf", "locals {\n  more = var.env\n}\n");
    assert_eq!(gate.judge(&["-r"]), before, "locals and literals");
    gate.write(
        "var/net.tf",
        format!("# a comment\n{}", gate.read("var/net.tf")),
    );
    assert_eq!(gate.judge(&["-r"]), before, "the base has the source");
}

#[test]
fn the_finding_names_the_variable() {
    let gate = Gate::with(pinned);
    change(&gate, "\"./${var.env}\"");
    gate.write("live/dev/main.tf", "");
    gate.commit();
    gate.run(&["-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[not-decided]: because of this change the variable "env" decides from where module "net" comes
 --> live/net.tf:5:12
  |
5 |   source = "./${var.env}"
  |            ^^^^^^^^^^^^^^
  |
  = a run with a different value uses a module that was not checked
help: write source and version as plain text, or compute them from locals

----- stderr -----
1 error in live/net.tf
3 root modules: 1 with errors, 1 OK, 1 excluded by provlock.toml
1 changed module: needs no lock file
"#]]);
    gate.run(&["-r", "--warn", "not-decided"]).assert_code(0);
}

/// A unit whose inputs come from a file that is in no directory above it, and choose a module.
fn inputs_from_elsewhere(gate: &Gate) {
    gate.root("modules/m", super::NULL, &[super::H1, super::ZH]);
    gate.write("modules/m/lib/main.tf", "locals {}\n");
    gate.write(
        "modules/m/net.tf",
        format!("variable \"s\" {{}}\n{}", call("var.s")),
    );
    let source = "terraform {\n  source = \"../../modules/m\"\n}\n".to_owned();
    let inputs_of = "inputs = read_terragrunt_config(\"../../env/c.hcl\").inputs\n";
    gate.write("units/u/terragrunt.hcl", source + inputs_of);
    gate.write(
        "units/u/.terraform.lock.hcl",
        gate.read("modules/m/.terraform.lock.hcl"),
    );
    inputs(gate, "\"./lib\"");
}

fn inputs(gate: &Gate, source: &str) {
    gate.write("env/c.hcl", format!("inputs = {{\n  s = {source}\n}}\n"));
}

#[test]
fn values_of_a_unit_from_any_file_are_compared() {
    all_are_errors(
        "a pull request alters the values of a unit in a file elsewhere",
        inputs_from_elsewhere,
        &[
            (
                "a source that is not fetched",
                |gate| inputs(gate, "\"s3::https://evil.test/m.zip\""),
                "not-decided",
            ),
            (
                "a command",
                |gate| inputs(gate, "run_cmd(\"x\")"),
                "not-decided",
            ),
            (
                "a repository",
                |gate| inputs(gate, &format!("\"{EVIL}\"")),
                "not-decided",
            ),
            (
                "values beside the module",
                |gate| {
                    gate.write(
                        "modules/m/terraform.tfvars",
                        "s = \"s3::https://evil.test/m.zip\"\n",
                    );
                },
                "not-decided",
            ),
        ],
    );
}
