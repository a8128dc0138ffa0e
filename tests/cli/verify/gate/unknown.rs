//! A change that makes requirements unknown is a finding.

use std::fs;

use super::gate::Gate;
use super::gate_bypass::{BACKEND, all_are_errors};
use super::{H1, NULL, ZH, entry};
use crate::lock::lock_file;
use provlock_test::str;

/// A call of a module.
fn call(source: &str) -> String {
    format!("module \"m\" {{\n  source = {source}\n}}\n")
}

pub(in crate::verify) const UNIT: &str =
    "remote_state {\n  backend = \"local\"\n  config = {}\n}\n";

/// Root modules that call a module of the repository and a module that cannot be read, and a unit.
fn calls_and_units(gate: &Gate) {
    gate.write(
        "known/main.tf",
        format!(
            "{BACKEND}{}",
            call("\"s3::https://s3.amazonaws.com/b/known.zip\"")
        ),
    );
    gate.write("known/.terraform.lock.hcl", lock_file(&[]));
    gate.write("modules/m/main.tf", "");
    gate.write(
        "caller/main.tf",
        format!("{BACKEND}{}", call("\"../modules/m\"")),
    );
    gate.write("caller/.terraform.lock.hcl", lock_file(&[]));
    gate.root("unit", NULL, &[H1, ZH]);
    gate.write("unit/terragrunt.hcl", UNIT);
}

#[test]
fn requirements_made_unknown_by_missing_files_are_an_error() {
    all_are_errors(
        "a pull request makes requirements unknown",
        calls_and_units,
        &[
            (
                "a module becomes a submodule that is not checked out",
                |gate| {
                    gate.remove("modules/m/main.tf");
                    gate.write(
                        ".gitmodules",
                        "[submodule \"m\"]\n\tpath = modules/m\n\turl = https://example.com/m.git\n",
                    );
                },
                "not-decided",
            ),
            (
                "a module is removed, and ignored",
                |gate| {
                    fs::remove_dir_all(gate.project().join("modules")).unwrap();
                    gate.write(".gitignore", "/modules/\n");
                },
                "not-decided",
            ),
            (
                "an entry has hashes that nobody compares",
                |gate| gate.root("live", NULL, &["h2:abc"]),
                "no-hashes",
            ),
            #[cfg(unix)]
            (
                "init takes a tracked directory for its own",
                |gate| {
                    gate.write("data/modules/modules.json", "{\"Modules\":[]}");
                    gate.link("../data", "live/.terraform");
                },
                "tracked-data-directory",
            ),
        ],
    );
}

#[test]
fn requirements_unknown_in_the_base_stay_a_warning() {
    let gate = Gate::with(|gate| {
        gate.write(
            "known/main.tf",
            format!(
                "{BACKEND}{}",
                call("\"s3::https://s3.amazonaws.com/b/known.zip\"")
            ),
        );
        gate.write("known/.terraform.lock.hcl", lock_file(&[]));
    });
    gate.write(
        "known/main.tf",
        format!("\n{}  # other\n", gate.read("known/main.tf")),
    );
    gate.write(
        "live/m.tf",
        call("\"example.com/acme/m/null\"").replace('}', "  version = \"1.0.0\"\n}"),
    );
    let found = gate.judge(&["-r"]);
    // A module that could be fetched is not `not-decided`. The new call is a finding, whether its
    // module can be read or not.
    assert_eq!(
        found,
        [
            "module-not-installed",
            "publisher-added",
            "module-not-installed"
        ]
    );
}

/// A module that is installed for another call can be read, unless the package of that call cannot.
#[test]
fn a_new_call_by_the_path_of_an_installed_package_is_as_unknown_as_the_call_of_the_package() {
    let installed = |name: &str| {
        call(&format!("\"./.terraform/modules/{name}/part\"")).replace("\"m\"", "\"part\"")
    };
    let known = "\"git::https://example.com/net.git?ref=v1.0.0\"";
    let gate = Gate::with(|gate| {
        gate.write("live/known.tf", call(known));
        gate.write(
            "other/unknown.tf",
            call("\"s3::https://s3.amazonaws.com/b/known.zip\""),
        );
    });
    let before = gate.judge(&["-r"]);
    gate.write("live/part.tf", installed("m"));
    assert_eq!(gate.judge(&["-r"]), before);
    all_are_errors(
        "a pull request calls a module by the directory of an unreadable module",
        |gate| {
            gate.write(
                "live/known.tf",
                call("\"git::https://example.com/net.git?ref=v1.0.0\""),
            );
            gate.write(
                "other/unknown.tf",
                call("\"s3::https://s3.amazonaws.com/b/known.zip\""),
            );
        },
        &[
            (
                "of a call that cannot be read",
                |gate| {
                    let part = call("\"./.terraform/modules/m/part\"").replace("\"m\"", "\"part\"");
                    gate.write("other/part.tf", part);
                },
                "not-decided",
            ),
            (
                "of no call",
                |gate| {
                    let part = call("\"./.terraform/modules/none\"").replace("\"m\"", "\"part\"");
                    gate.write("live/part.tf", part);
                },
                "not-decided",
            ),
            (
                "of itself",
                |gate| {
                    let part = call("\"./.terraform/modules/part\"").replace("\"m\"", "\"part\"");
                    gate.write("live/part.tf", part);
                },
                "not-decided",
            ),
            (
                "that the pull request fills",
                |gate| {
                    let part = call("\"./.terraform/modules/m/part\"").replace("\"m\"", "\"part\"");
                    gate.write("live/part.tf", part);
                    gate.write("live/.terraform/modules/m/part/main.tf", "");
                },
                "tracked-data-directory",
            ),
        ],
    );
}

/// A unit with a lock file, whose source is an expression.
fn unit(gate: &Gate, directory: &str, source: &str) {
    gate.write(
        &format!("{directory}/terragrunt.hcl"),
        format!("{UNIT}terraform {{\n  source = {source}\n}}\n"),
    );
    gate.write(
        &format!("{directory}/.terraform.lock.hcl"),
        gate.read("live/.terraform.lock.hcl"),
    );
}

#[test]
fn a_new_unit_with_the_unknown_source_of_a_unit_in_the_base_is_no_finding() {
    let gate = Gate::with(|gate| unit(gate, "units/old", S3));
    unit(&gate, "units/new", S3);
    gate.commit();
    let output = gate.run(&["-r", "--allow", "module-not-installed,hash-not-checked"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
OK: 4 providers locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: unknown requirements of 2 Terragrunt units
Not checked: the state of 2 Terragrunt units (Terragrunt decides where the state is)
3 root modules: 2 OK, 1 excluded by provlock.toml
2 Terragrunt units: 2 partly checked
"#]]);
    gate.run(&["-r", "--deny", "not-decided"]).assert_code(0);
}

const RECORDED: &str = ">= 3.7.0";
const S3: &str = "\"s3::https://s3.amazonaws.com/b/known.zip\"";

/// Writes a root module and a unit that call a module which provlock cannot read, both with a
/// locked provider.
fn locked_beside_unknown(gate: &Gate) {
    let lock = lock_file(&[entry(NULL, "4.9.0", RECORDED, &[H1, ZH])]);
    gate.write("known/main.tf", format!("{BACKEND}{}", call(S3)));
    gate.write("known/.terraform.lock.hcl", &lock);
    gate.write(
        "unit/terragrunt.hcl",
        format!("{UNIT}terraform {{\n  source = {S3}\n}}\n"),
    );
    gate.write("unit/.terraform.lock.hcl", &lock);
}

/// Replaces the lock file of the root module and of the unit.
fn relock(gate: &Gate, directory: &str, entries: &[String]) {
    gate.write(
        &format!("{directory}/.terraform.lock.hcl"),
        lock_file(entries),
    );
}

#[test]
fn a_version_outside_its_own_recorded_constraints_is_an_error_without_a_base() {
    let gate = Gate::with(locked_beside_unknown);
    relock(&gate, "known", &[entry(NULL, "3.0.0", RECORDED, &[H1, ZH])]);
    let output = gate.provlock(&[
        "verify",
        "known",
        "--allow",
        "module-not-installed,single-platform",
    ]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[version-outside-constraints]: hashicorp/null is locked at 3.0.0, but the lock file records the constraints >= 3.7.0
 --> known/.terraform.lock.hcl:5:17
  |
5 |   version     = "3.0.0"
  |                 ^^^^^^^
6 |   constraints = ">= 3.7.0"
  |                 ---------- recorded here
  |
  = they are treated as required, because the configuration is not completely known
help: provlock -C known upgrade hashicorp/null

----- stderr -----
1 error in known/.terraform.lock.hcl
"#]]);
}

#[test]
fn an_entry_may_leave_a_lock_file_whose_requirements_are_known() {
    let gate = Gate::with(|gate| {
        let entries = [NULL, "registry.opentofu.org/hashicorp/other"]
            .map(|name| entry(name, "3.2.4", "", &[H1, ZH]));
        gate.write("live/.terraform.lock.hcl", lock_file(&entries));
    });
    relock(&gate, "live", &[entry(NULL, "3.2.4", "", &[H1, ZH])]);
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
}
