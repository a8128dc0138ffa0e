//! Attempts to bypass the gate: files in a pull request that make `verify -r --base` check something else than what runs.

use std::fs;

use provlock_test::survived;

use super::gate::{Attempt, FORBIDDEN, Gate};
use super::{H1, NULL, ZH};
use crate::lock::requires;

pub(super) const BACKEND: &str = "terraform {\n  backend \"s3\" {}\n}\n";

/// Makes each attempt in a repository of its own.
#[track_caller]
pub(super) fn all_are_errors(attack: &str, prepare: fn(&Gate), attempts: &[Attempt]) {
    let gate = Gate::with(prepare);
    assert_eq!(gate.judge(&["-r", "--allow", "module-not-installed"]), [] as [&str; 0], "nothing has changed");
    for (name, attempt, code) in attempts {
        attempt(&gate);
        gate.commit();
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        assert_eq!(output.code, Some(1), "{name}: {output}");
        assert!(output.stdout.contains(&format!("error[{code}]")), "{name}: {output}");
        gate.reset();
    }
    survived(attack, attempts.len());
}

/// What a unit generates over the evil file: the text of the base.
fn overwriting(file: &str) -> String {
    format!(
        "generate \"main\" {{\n  path      = \"{file}\"\n  if_exists = \"overwrite\"\n  contents  = <<EOF\n{}EOF\n}}\n",
        requires("hashicorp/null", "")
    )
}

/// An evil configuration beside the lock file of the base.
pub(super) fn evil_configuration(gate: &Gate, directory: &str) {
    gate.write(&format!("{directory}/main.tf"), requires("evil/null", ""));
}

#[test]
fn a_new_unit_does_not_hide_the_root_module_beside_it() {
    all_are_errors(
        "a pull request puts a Terragrunt unit in front of a root module",
        |gate| {
            gate.root("modules/m", NULL, &[H1, ZH]);
            gate.write("units/u/terragrunt.hcl", "terraform {\n  source = \"../../modules/m\"\n}\n");
        },
        &[
            (
                "it generates the old text over the new one",
                |gate| {
                    evil_configuration(gate, "live");
                    gate.write("live/terragrunt.hcl", overwriting("main.tf"));
                },
                "provider-not-locked",
            ),
            (
                "in JSON",
                |gate| {
                    evil_configuration(gate, "live");
                    gate.write("live/terragrunt.hcl.json", "{\"terraform\": {\"source\": \"../other\"}}");
                },
                "provider-not-locked",
            ),
            (
                "it runs another module",
                |gate| {
                    evil_configuration(gate, "live");
                    gate.write("live/terragrunt.hcl", "terraform {\n  source = \"../other\"\n}\n");
                },
                "provider-not-locked",
            ),
            (
                "it runs the root module from elsewhere",
                |gate| {
                    evil_configuration(gate, "live");
                    gate.write(
                        "a/terragrunt.hcl",
                        format!("terraform {{\n  source = \"../live\"\n}}\n{}", overwriting("main.tf")),
                    );
                },
                "provider-not-locked",
            ),
            (
                "a unit of the base runs it now",
                |gate| {
                    evil_configuration(gate, "live");
                    gate.write(
                        "units/u/terragrunt.hcl",
                        format!("terraform {{\n  source = \"../../live\"\n}}\n{}", overwriting("main.tf")),
                    );
                },
                "provider-not-locked",
            ),
            (
                "both are new",
                |gate| {
                    gate.root("new", NULL, &[H1, ZH]);
                    evil_configuration(gate, "new");
                    gate.write("new/terragrunt.hcl", overwriting("main.tf"));
                },
                "provider-not-locked",
            ),
        ],
    );
}

#[test]
fn a_unit_beside_a_root_module_is_seen() {
    let gate = Gate::with(|_| {});
    gate.write("live/terragrunt.hcl", "locals {}\n");
    assert_eq!(gate.judge(&["-r"]), ["unit-added"]);
    gate.write("units/a/terragrunt.hcl", "terraform {\n  source = \"../../modules/m\"\n}\n");
    gate.write("modules/m/main.tf", requires("hashicorp/null", ""));
    assert_eq!(gate.judge(&["-r"]), ["unit-added"], "a new unit of a new module hides nothing");
    let output = gate.provlock(&["verify", "-r", "--base", "main", "--allow", "single-platform"]);
    output.matches(provlock_test::str![[r#"
exit code: 0
----- stdout -----
warning[unit-added]: the change lets Terragrunt run the root module in live, which is checked with and without it
help: make sure that Terragrunt is meant to run it from now on

----- stderr -----
Not checked: platforms (-p names some), hashes against the registry (--online)
1 warning in live/.terraform.lock.hcl
2 root modules: 1 OK, 1 excluded by provlock.toml
1 Terragrunt unit: with warnings
2 changed modules: 2 need no lock file
"#]]);
}

#[test]
fn what_was_a_root_module_stays_one() {
    all_are_errors(
        "a pull request makes nothing of a root module",
        |gate| {
            gate.write("backed/main.tf", format!("{BACKEND}{}", requires("hashicorp/null", "")));
            gate.write("backed/.terraform.lock.hcl", gate.read("live/.terraform.lock.hcl"));
            gate.write("units/u/terragrunt.hcl", "terraform {\n  source = \"../../modules/m\"\n}\n");
            gate.root("modules/m", NULL, &[H1, ZH]);
        },
        &[
            (
                "it deletes the lock file, and a new module calls it",
                |gate| {
                    gate.remove("live/.terraform.lock.hcl");
                    gate.write("caller/main.tf", "module \"m\" {\n  source = \"../live\"\n}\n");
                },
                "root-removed",
            ),
            (
                "it deletes the lock file, and a unit runs it",
                |gate| {
                    gate.remove("live/.terraform.lock.hcl");
                    gate.write("caller/terragrunt.hcl", "terraform {\n  source = \"../live\"\n}\n");
                },
                "root-removed",
            ),
            (
                "it deletes the lock file, and a unit of the base runs it",
                |gate| {
                    gate.remove("live/.terraform.lock.hcl");
                    gate.write("units/u/terragrunt.hcl", "terraform {\n  source = \"../../live\"\n}\n");
                },
                "root-removed",
            ),
            (
                "it takes lock file and backend away",
                |gate| {
                    gate.write("backed/main.tf", requires("hashicorp/null", ""));
                    gate.remove("backed/.terraform.lock.hcl");
                },
                "root-removed",
            ),
            ("it deletes the lock file", |gate| gate.remove("live/.terraform.lock.hcl"), "root-removed"),
            (
                "it deletes all root modules",
                |gate| {
                    for directory in ["live", "other", "backed", "modules", "examples", "units"] {
                        fs::remove_dir_all(gate.project().join(directory)).unwrap();
                    }
                },
                "root-removed",
            ),
            (
                "it deletes all root modules, and changes the policy",
                |gate| {
                    for directory in ["live", "other", "backed", "modules", "examples", "units"] {
                        fs::remove_dir_all(gate.project().join(directory)).unwrap();
                    }
                    gate.remove("provlock.toml");
                },
                "policy-changed",
            ),
        ],
    );
}

#[test]
fn ignore_files_of_a_change_hide_nothing_that_git_has() {
    all_are_errors(
        "a pull request hides a new root module by ignore files",
        |_| {},
        &[
            (
                ".gitignore names it",
                |gate| {
                    gate.write("new/main.tf", format!("{BACKEND}{}", requires("hashicorp/null", "")));
                    gate.write(".gitignore", "new/\n");
                },
                "lock-file-missing",
            ),
            (
                ".gitignore in it names its files",
                |gate| {
                    gate.write("new/main.tf", format!("{BACKEND}{}", requires("hashicorp/null", "")));
                    gate.write("new/.gitignore", "*\n");
                },
                "lock-file-missing",
            ),
            (
                ".ignore names it",
                |gate| {
                    gate.write("new/main.tf", format!("{BACKEND}{}", requires("hashicorp/null", "")));
                    gate.write(".ignore", "new\n");
                },
                "lock-file-missing",
            ),
            (
                ".ignore names everything, and the policy forbids what is locked",
                |gate| {
                    gate.evil("new");
                    gate.write(".ignore", "*\n");
                },
                FORBIDDEN,
            ),
            (
                ".ignore names a unit",
                |gate| {
                    gate.write(
                        "new/terragrunt.hcl",
                        "terraform {\n  source = \"./m\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {}\n}\n",
                    );
                    gate.write("new/m/main.tf", requires("hashicorp/null", ""));
                    gate.write(".ignore", "new\n");
                },
                "lock-file-missing",
            ),
        ],
    );
}

#[test]
fn a_cache_in_the_repository_is_refused() {
    let gate = Gate::with(|_| {});
    for cache in [".cache", "live/none/yet", "../project/a"] {
        let output = gate.provlock(&["verify", "-r", "--base", "main", "--cache-dir", cache]);
        assert!(output.code == Some(2) && output.stderr.contains("so the change may have forged it"), "{output}");
    }
    gate.provlock(&["verify", "-r", "--base", "main", "--cache-dir", "../cache"]).assert_code(0);
    gate.provlock(&["verify", "-r", "--base", "main", "--cache-dir", ".cache", "--no-cache"]).assert_code(0);
    gate.provlock(&["verify", "-r", "--cache-dir", ".cache"]).assert_code(0);
    survived("a pull request brings a cache along", 3);
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_links() {
    let gate = Gate::with(|_| {});
    gate.link(".git", "reports");
    gate.link(".git/config", "report.sarif");
    gate.link("../outside", "outside.json");
    gate.link("new", "none.json");
    gate.commit();
    let before = gate.read(".git/config");
    let mut attempts = 0;
    for path in ["report.sarif", "reports/config", "reports/new", "outside.json", "none.json"] {
        let output = gate.provlock(&["verify", "-r", "--report", &format!("sarif={path}")]);
        assert!(output.code == Some(2) && output.stderr.contains("is a link of the repository"), "{output}");
        assert_eq!(gate.read(".git/config"), before, "{output}");
        attempts += 1;
    }
    for path in [".git/new", "outside", "new", "../outside"] {
        assert!(!gate.project().join(path).exists(), "{path}");
    }
    gate.provlock(&["verify", "-r", "--report", "sarif=/dev/stdout"]).assert_code(0);
    survived("a pull request puts a link where a report is written", attempts);
}
