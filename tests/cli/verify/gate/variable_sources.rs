//! Module sources of a change that depend on a value of the run: a variable, the workspace, or a
//! file. Deployment may set other values than the run of `verify` has.

use provlock_test::str;

use super::gate::Gate;

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
help: write source and version as plain text, or compute them from locals; if this is intended, an owner allows it with --warn not-decided

----- stderr -----
1 error in live/net.tf
3 root modules: 1 with errors, 1 OK, 1 excluded by provlock.toml
1 changed module: needs no lock file
"#]]);
    gate.run(&["-r", "--warn", "not-decided"]).assert_code(0);
}
