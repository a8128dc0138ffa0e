//! Files of a pull request that Terragrunt would copy or generate into the working directory of a
//! unit.

use super::gate::Gate;
use super::gate_bypass::all_are_errors;
use super::{H1, NULL, ZH};
use crate::lock::requires;

const UNIT: &str = "terraform {\n  source = \"../../modules//m\"\n}\nremote_state {\n  backend = \"s3\"\n  config  = {}\n}\n";

/// A locked unit that runs the module `m`, which calls a module in one of its directories.
fn unit(gate: &Gate) {
    gate.root("units/u", NULL, &[H1, ZH]);
    gate.remove("units/u/main.tf");
    gate.write("units/u/terragrunt.hcl", UNIT);
    gate.write(
        "modules/m/main.tf",
        requires("hashicorp/null", "") + "module \"s\" {\n  source = \"./sub\"\n}\n",
    );
    gate.write("modules/m/sub/main.tf", "");
    gate.write("modules/m/text/README.md", "");
}

/// Copies files of these names from the module, also hidden ones.
fn copying(patterns: &str) -> String {
    UNIT.replacen("}\n", &format!("  include_in_copy = [{patterns}]\n}}\n"), 1)
}

#[test]
fn files_that_terragrunt_does_not_use_are_no_finding() {
    let gate = Gate::with(|gate| {
        unit(gate);
        gate.write("units/u/terragrunt.hcl", copying("\"*.json\""));
    });
    for path in [
        "units/u/other/main.tf",
        "units/u/text/notes.md",
        "units/u/.sub/main.tf",
        "modules/m/text/plan.json",
    ] {
        gate.write(path, "");
    }
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
    let disabled = "generate \"g\" {\n  path = \"sub/a.tf\"\n  if_exists = \"overwrite\"\n  disable = true\n  contents = \"\"\n}\n";
    gate.write("units/u/terragrunt.hcl", copying("\"*.json\"") + disabled);
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
}

/// A configuration that requires a provider, and a comment that makes the file too large to be
/// read.
fn large() -> String {
    requires("evil/null", "") + &"#".repeat(5 << 20)
}

/// Makes a link in place of a directory, which moves.
#[cfg(unix)]
fn replace_by_link(gate: &Gate, directory: &str, to: &str) {
    gate.rename(directory, to);
    gate.link(&format!("../{to}"), directory);
}

#[cfg(unix)]
#[test]
fn a_unit_that_the_change_makes_unreadable_is_an_error() {
    all_are_errors(
        "a pull request makes files of a Terragrunt unit unreadable",
        |gate| {
            unit(gate);
            gate.write("units/x.hcl", "locals {}\n");
            gate.write(
                "units/u/terragrunt.hcl",
                UNIT.to_owned() + "include \"x\" {\n  path = \"../x.hcl\"\n}\n",
            );
        },
        &[
            (
                "a large file of the module",
                |gate| gate.write("modules/m/big.tf", large()),
                "not-decided",
            ),
            (
                "a file that is not UTF-8",
                |gate| {
                    let text = requires("evil/null", "") + "# ";
                    gate.write("modules/m/z.tf", [text.as_bytes(), b"caf\xe9\n"].concat());
                },
                "not-decided",
            ),
            (
                "a large file that is included",
                |gate| gate.write("units/x.hcl", large()),
                "not-decided",
            ),
            (
                "a link out of the repository",
                |gate| gate.link("/etc/hosts", "modules/m/hosts.tf"),
                "not-decided",
            ),
            (
                "an included link out of the repository",
                |gate| {
                    gate.remove("units/x.hcl");
                    gate.link("/etc/hosts", "units/x.hcl");
                },
                "not-decided",
            ),
            (
                "a link in place of the module",
                |gate| replace_by_link(gate, "modules/m", "moved/m"),
                "not-decided",
            ),
        ],
    );
}

#[test]
fn a_unit_that_was_unknown_before_is_no_error() {
    let gate = Gate::with(|gate| {
        unit(gate);
        gate.write("modules/m/big.tf", "#".repeat(5 << 20));
    });
    gate.write("modules/m/more.tf", "locals {}\n");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
}

#[test]
fn a_second_directory_that_replaces_a_module_is_seen() {
    let gate = Gate::with(|gate| {
        unit(gate);
        gate.write("units/u/sub/main.tf", "");
        gate.write("modules/m/sub/deep/main.tf", "");
    });
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0], "it is as before");
    gate.write("units/u/sub/deep/evil.tf", "locals {}\n");
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);
}

/// Links in a circle would make as many directories as there are paths through them.
#[cfg(unix)]
#[test]
fn linked_directories_are_not_followed() {
    let gate = Gate::with(unit);
    for directory in ["modules/m", "units/u"] {
        for name in 0..20 {
            gate.link(".", &format!("{directory}/link-{name}"));
        }
    }
    assert_eq!(gate.errors(&["-r"]), ["not-decided"]);

    let gate = Gate::with(|gate| {
        unit(gate);
        gate.write("elsewhere/v.tf", "");
        gate.link("../../elsewhere", "units/u/sub");
    });
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0], "it is as before");
    gate.write("elsewhere/evil.tf", "locals {}\n");
    assert_eq!(gate.errors(&["-r"]), ["not-decided"], "behind an old link");
}
