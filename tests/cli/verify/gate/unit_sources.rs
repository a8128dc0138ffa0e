//! Sources of Terragrunt units and stacks in a change: new publishers of the modules that they run.

use super::gate::Gate;
use super::{H1, NULL, ZH};

const PINNED: &str = "?ref=0123456789abcdef0123456789abcdef01234567";

fn unit(gate: &Gate, directory: &str, source: &str) {
    gate.write(
        &format!("{directory}/terragrunt.hcl"),
        format!("terraform {{\n  source = {source}\n}}\n"),
    );
}

fn pinned(repository: &str) -> String {
    format!("\"git::https://{repository}{PINNED}\"")
}

/// Units of modules in one repository: a plain source, and sources from a shared file, from the
/// file of a directory above, and from an included file.
fn units(gate: &Gate) {
    gate.write(
        "provlock.toml",
        "dialect = \"tofu\"\n[policy]\npin-modules = true\n[verify]\ndeny = [\"publisher-added\", \"not-decided\"]\n\
         [roots]\nexclude = [\"examples/**\"]\n",
    );
    unit(gate, "units/plain", &pinned("github.com/acme/net.git//vpc"));
    gate.write(
        "units/plain/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
    let locals = format!(
        "locals {{\n  base = \"git::https://github.com/acme\"\n  ref  = \"{PINNED}\"\n}}\n"
    );
    gate.write("common.hcl", locals);
    let shared = "read_terragrunt_config(\"../../common.hcl\").locals";
    unit(
        gate,
        "units/shared",
        &format!("\"${{{shared}.base}}/net.git${{{shared}.ref}}\""),
    );
    gate.write(
        "units/shared/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
    unit(gate, "units/above", &pinned("github.com/acme/net.git"));
    let locals = "locals {\n  base = \"git::https://github.com/acme\"\n}\n";
    gate.write(
        "units/above/terragrunt.hcl",
        gate.read("units/above/terragrunt.hcl") + locals,
    );
    gate.write(
        "units/above/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
    let above = "read_terragrunt_config(\"../terragrunt.hcl\").locals.base";
    unit(
        gate,
        "units/above/below",
        &format!("\"${{{above}}}/net.git{PINNED}\""),
    );
    gate.write(
        "units/above/below/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
    gate.write(
        "env/net.hcl",
        format!(
            "terraform {{\n  source = {}\n}}\n",
            pinned("github.com/acme/net.git")
        ),
    );
    gate.write(
        "units/included/terragrunt.hcl",
        "include \"net\" {\n  path = \"../../env/net.hcl\"\n}\n",
    );
    gate.write(
        "units/included/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
}

/// Replaces a text in a file.
fn replace(gate: &Gate, path: &str, from: &str, to: &str) {
    let text = gate.read(path);
    assert!(text.contains(from), "{from} in {path}");
    gate.write(path, text.replace(from, to));
}

#[test]
fn a_source_in_a_comment_is_no_source_of_the_base() {
    let (good, evil) = (
        pinned("github.com/acme/net.git"),
        pinned("github.com/evil/net.git"),
    );
    let source = |source: &str| format!("terraform {{\n  source = {source}\n}}\n");
    let gate = Gate::with(|gate| {
        units(gate);
        gate.write(
            "units/plain/terragrunt.hcl",
            source(&good) + "/*\n" + &source(&evil) + "*/\n",
        );
    });
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.write(
        "units/plain/terragrunt.hcl",
        "/*\n".to_owned() + &source(&good) + "*/\n" + &source(&evil),
    );
    assert_eq!(gate.errors(&["-r"]), ["publisher-added"]);
}

#[test]
fn a_unit_of_a_known_publisher_is_no_finding() {
    let gate = Gate::with(units);
    let arguments = [
        "-r",
        "--allow",
        "module-not-installed,requirements-not-known,module-ref-floating",
    ];
    assert_eq!(
        gate.judge(&arguments),
        [] as [&str; 0],
        "nothing has changed"
    );
    let changes: [fn(&Gate); 5] = [
        |gate| replace(gate, "units/plain/terragrunt.hcl", "0123", "4567"),
        |gate| replace(gate, "common.hcl", "0123", "4567"),
        |gate| replace(gate, "env/net.hcl", "net.git", "vpc.git"),
        |gate| unit(gate, "units/new", &pinned("github.com/acme/other.git")),
        |gate| gate.write("region.hcl", "locals {\n  region = \"eu\"\n}\n"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change(&gate);
        let found = gate.judge(&arguments);
        assert!(
            !found.iter().any(|code| code == "publisher-added"),
            "change {number}: {found:?}"
        );
        gate.reset();
    }
}

/// A file that units only include is not a unit.
#[test]
fn a_changed_file_that_units_include_is_no_root_module() {
    let gate = Gate::with(|gate| {
        gate.write("terragrunt.hcl", "locals {\n  region = \"eu\"\n}\n");
        gate.root("units/app", NULL, &[H1, ZH]);
        gate.write(
            "units/app/terragrunt.hcl",
            "include \"root\" {\n  path = find_in_parent_folders()\n}\n",
        );
    });
    replace(&gate, "terragrunt.hcl", "eu", "us");
    gate.commit();
    gate.run(&["-r"])
        .assert_code(0)
        .assert_lacks("no-configuration");
}
