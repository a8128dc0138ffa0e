//! Changes that alter no provider and no module are no findings, also beside calls that cannot be
//! read.

use super::gate::Gate;
use super::{H1, NULL, ZH};
use crate::lock::requires;

const PRIVATE: &str = "s3::https://private.test/m.zip";

/// The name of a change, and the change.
type Change = (&'static str, fn(&Gate));

/// Replaces a text in a file.
fn replace(gate: &Gate, path: &str, from: &str, to: &str) {
    let text = gate.read(path);
    assert!(text.contains(from), "{from} in {path}");
    gate.write(path, text.replace(from, to));
}

/// Calls whose sources are computed and not fetched, in the root module, in a called module and in
/// a unit.
fn unknown_calls(gate: &Gate) {
    let call = |name: &str, source: &str| {
        format!("module \"{name}\" {{\n  source = {source}\n  a = 1\n}}\n")
    };
    let map = format!("  m = {{\n    a = \"{PRIVATE}\"\n    bb = 2\n  }}\n");
    let module = format!("locals {{\n  s = local.m.a\n  b = 1\n{map}}}\n") + &call("x", "local.s");
    let version = "variable \"v\" {\n  default = \"1.0.0\"\n}\n".to_owned()
        + &call("w", "\"acme/w/aws\"").replace("a = 1", "version = var.v");
    gate.write("live/calls.tf", module + &call("y", "\"../c\"") + &version);
    let variable = format!("variable \"t\" {{\n  type = string\n  default = \"{PRIVATE}\"\n}}\n");
    gate.write(
        "c/main.tf",
        format!("variable \"a\" {{}}\n{variable}") + &call("z", "var.t"),
    );
    gate.root("units/u", NULL, &[H1, ZH]);
    let unit = "locals {\n  a = run_cmd(\"x\")\n  b = \"one\"\n}\nterraform {\n  source = \"s3::https://private.test/u.zip\"\n}\n";
    gate.write(
        "units/u/terragrunt.hcl",
        unit.to_owned() + "inputs = {\n  b = local.b\n}\n",
    );
}

#[test]
fn everyday_changes_beside_unknown_calls_are_no_errors() {
    let gate = Gate::with(unknown_calls);
    let changes: [Change; 11] = [
        ("an argument", |gate| {
            replace(gate, "live/calls.tf", "a = 1", "a = 2\n  b = 3");
        }),
        ("a comment and alignment", |gate| {
            replace(
                gate,
                "live/calls.tf",
                "  s = ",
                "  # A comment.\n  s     = ",
            );
        }),
        ("alignment in a map", |gate| {
            replace(
                gate,
                "live/calls.tf",
                "    a = ",
                "    # A comment.\n    a  = ",
            );
        }),
        ("ends of lines", |gate| {
            replace(gate, "live/calls.tf", "\n", "\r\n");
        }),
        ("another local", |gate| {
            replace(gate, "live/calls.tf", "b = 1", "b = 2");
        }),
        ("another variable", |gate| {
            replace(
                gate,
                "c/main.tf",
                "\"a\" {}",
                "\"a\" {\n  type = number\n}\nvariable \"b\" {}",
            );
        }),
        ("a description", |gate| {
            replace(
                gate,
                "c/main.tf",
                "  default",
                "  description = \"T\"\n  default",
            );
        }),
        ("another name of a file", |gate| {
            drop(gate.git(&["mv", "c/main.tf", "c/calls.tf"]));
        }),
        ("a comment in a unit", |gate| {
            replace(
                gate,
                "units/u/terragrunt.hcl",
                "  a = run",
                "  /* one */ a = run",
            );
        }),
        ("another local of a unit", |gate| {
            replace(gate, "units/u/terragrunt.hcl", "\"one\"", "\"two\" # 2");
        }),
        ("another input of a unit", |gate| {
            replace(gate, "units/u/terragrunt.hcl", "b = local.b", "b = 2");
        }),
    ];
    for (name, change) in changes {
        change(&gate);
        assert_eq!(gate.errors(&["-r"]), [] as [&str; 0], "{name}");
        gate.reset();
    }
}

/// Git for Windows converts line endings at checkout by default.
#[test]
fn converted_line_endings_are_no_change() {
    let gate = Gate::with(|gate| {
        let random = r#"{"terraform": {"required_providers": {"random": {"source": "modules.example.com/acme/random"}}}}"#;
        gate.write("live/random.tf.json", format!("{random}\n"));
    });
    gate.git(&["config", "core.autocrlf", "true"]);
    gate.git(&["rm", "--quiet", "-r", "--cached", "."]);
    gate.git(&["reset", "--quiet", "--hard"]);
    assert!(gate.read("examples/a/.terraform.lock.hcl").contains("\r\n"));
    let before = gate.judge(&["-r"]);
    gate.write("live/more.tf", "locals {}\n");
    let found = gate.judge(&["-r"]);
    assert_eq!(
        found, before,
        "neither the excluded lock file nor the JSON has changed"
    );
    assert!(
        !found
            .iter()
            .any(|code| code.ends_with("-added") || code == "namespace-not-allowed"),
        "{found:?}"
    );
}

/// The policy applies to the change, and nothing else is checked.
#[test]
fn a_changed_root_module_that_the_settings_exclude_is_called_excluded() {
    let excluded = "1 changed module: excluded by [roots] in provlock.toml\n";
    let gate = Gate::with(|gate| gate.write("examples/plain/main.tf", "locals {}\n"));
    let verify = ["verify", "-r", "--base", "main"];
    let changed = requires("hashicorp/null", "");
    gate.write("examples/plain/main.tf", &changed);
    let output = gate.provlock(&verify);
    output.assert_code(0).assert_stderr_has(excluded);

    gate.write("examples/new/main.tf", &changed);
    let output = gate.provlock(&verify);
    output
        .assert_code(0)
        .assert_stderr_has("All 2 changed modules are excluded by [roots] in provlock.toml\n");
    gate.remove("examples/new/main.tf");

    // What the settings do not exclude needs no lock file.
    gate.write("modules/m/main.tf", &changed);
    let output = gate.provlock(&verify);
    output.assert_code(0).assert_stderr_has(
        "2 changed modules: 1 needs no lock file, 1 excluded by [roots] in provlock.toml\n",
    );
    gate.write("examples/plain/main.tf", requires("evil/null", ""));
    gate.provlock(&verify).assert_code(1);
}
