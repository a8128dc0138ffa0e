//! Ways around the gate: what a change adds so that `verify -r --base` looks at something else than what runs.

use std::fs;

use provlock_test::survived;

use super::gate::{Attempt, FORBIDDEN, Gate};
use super::{H1, NULL, ZH, entry};
use crate::lock::{lock_file, requires};

const TERRAFORM_HEADER: &str = "# This file is maintained automatically by \"terraform init\".\n";
const BACKEND: &str = "terraform {\n  backend \"s3\" {}\n}\n";

/// Makes each attempt in a repository of its own.
#[track_caller]
fn all_are_errors(attack: &str, prepare: fn(&Gate), attempts: &[Attempt]) {
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
fn evil_configuration(gate: &Gate, directory: &str) {
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
2 root modules: 1 OK, 1 excluded by provlock.toml
1 Terragrunt unit: with warnings
2 changed modules: 2 need no lock file
"#]]);
}

/// Writes a clean file that only OpenTofu reads, and an evil one that it hides.
fn hidden_by_tofu(gate: &Gate, directory: &str) {
    gate.write(&format!("{directory}/main.tofu"), requires("hashicorp/null", ""));
    evil_configuration(gate, directory);
}

/// Puts the header of a dialect in front of the lock file, without entries that tell.
fn header(gate: &Gate, directory: &str, program: &str) {
    let text = format!("# This file is maintained automatically by \"{program} init\".\n");
    gate.write(&format!("{directory}/.terraform.lock.hcl"), text);
}

#[test]
fn a_change_does_not_choose_its_dialect() {
    all_are_errors(
        "a pull request turns a root module into one of the other program",
        |gate| {
            let terraform = NULL.replace("opentofu.org", "terraform.io");
            for directory in ["live", "other"] {
                let text = lock_file(&[entry(&terraform, "3.2.4", "", &[H1, ZH])]);
                let (_, rest) = text.split_once('\n').unwrap();
                gate.write(&format!("{directory}/.terraform.lock.hcl"), format!("{TERRAFORM_HEADER}{rest}"));
            }
            gate.remove("examples/a/.terraform.lock.hcl");
            gate.write("backend/main.tf", BACKEND);
        },
        &[
            (
                "by the header of its lock file",
                |gate| {
                    hidden_by_tofu(gate, "live");
                    header(gate, "live", "tofu");
                },
                "dialect-changed",
            ),
            (
                "and what it hides is found",
                |gate| {
                    hidden_by_tofu(gate, "live");
                    header(gate, "live", "tofu");
                },
                "provider-not-locked",
            ),
            (
                "by the addresses in its lock file",
                |gate| {
                    hidden_by_tofu(gate, "live");
                    let text = lock_file(&[entry(NULL, "3.2.4", "", &[H1, ZH])]);
                    gate.write("live/.terraform.lock.hcl", text.split_once("\n\n").unwrap().1);
                },
                "dialect-changed",
            ),
            (
                "a new one",
                |gate| {
                    gate.root("new", NULL, &[H1, ZH]);
                    hidden_by_tofu(gate, "new");
                },
                "dialect-changed",
            ),
            (
                "one that had no lock file, by a file for OpenTofu",
                |gate| {
                    gate.write("backend/main.tofu", "");
                    gate.write("backend/main.tf", format!("{BACKEND}{}", requires("evil/null", "")));
                    gate.write("backend/.terraform.lock.hcl", lock_file(&[]));
                },
                "provider-not-locked",
            ),
        ],
    );
}

/// A base that has no lock file at all, and nothing that only OpenTofu reads.
fn without_lock_files(gate: &Gate) {
    for directory in ["live", "other", "examples/a"] {
        gate.remove(&format!("{directory}/.terraform.lock.hcl"));
    }
    gate.write("live/main.tf", format!("{BACKEND}{}", requires("hashicorp/null", "")));
    gate.write("provlock.toml", "[policy]\nallowed-namespaces = [\"hashicorp\"]\n");
}

#[test]
fn a_first_lock_file_does_not_choose_the_dialect() {
    let attempts: [Attempt; 3] = [
        ("by its header", |gate| header(gate, "live", "tofu"), FORBIDDEN),
        (
            "by its header, and a file that mentions the program",
            |gate| {
                header(gate, "live", "tofu");
                gate.write("README.md", "We use tofu.\n");
            },
            FORBIDDEN,
        ),
        (
            "by that of another root module",
            |gate| {
                header(gate, "live", "tofu");
                header(gate, "other", "tofu");
            },
            "dialect-changed",
        ),
    ];
    let gate = Gate::with(without_lock_files);
    for (name, attempt, code) in attempts {
        hidden_by_tofu(&gate, "live");
        attempt(&gate);
        let found = gate.judge(&["-r"]);
        assert!(found.iter().any(|found| found == code), "{name}: {found:?}");
        gate.reset();
    }
    survived("a pull request brings the first lock file, for the other program", attempts.len());

    gate.write("new/main.tofu", requires("hashicorp/null", ""));
    header(&gate, "new", "tofu");
    assert!(!gate.judge(&["-r"]).contains(&"dialect-changed".to_owned()), "a new root module has a dialect of its own");
    for (path, text) in [("README.md", "Run tofu init.\n"), ("docs/tofu/README.md", "")] {
        let gate = Gate::with(|gate| {
            without_lock_files(gate);
            gate.write(path, text);
        });
        header(&gate, "live", "tofu");
        assert!(!gate.judge(&["-r"]).contains(&"dialect-changed".to_owned()), "the base has {path}");
    }
}

#[test]
fn an_owner_chooses_the_dialect() {
    let gate = Gate::with(|gate| gate.write("tofu/main.tofu", requires("hashicorp/null", "")));
    gate.write(
        "live/.terraform.lock.hcl",
        format!("{TERRAFORM_HEADER}{}", entry(&NULL.replace("opentofu.org", "terraform.io"), "3.2.4", "", &[H1, ZH])),
    );
    assert!(gate.judge(&["-r"]).contains(&"dialect-changed".to_owned()));
    assert!(!gate.judge(&["-r", "--dialect", "terraform"]).contains(&"dialect-changed".to_owned()));
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
                "lock-file-missing",
            ),
            (
                "it deletes the lock file, and a unit runs it",
                |gate| {
                    gate.remove("live/.terraform.lock.hcl");
                    gate.write("caller/terragrunt.hcl", "terraform {\n  source = \"../live\"\n}\n");
                },
                "lock-file-missing",
            ),
            (
                "it deletes the lock file, and a unit of the base runs it",
                |gate| {
                    gate.remove("live/.terraform.lock.hcl");
                    gate.write("units/u/terragrunt.hcl", "terraform {\n  source = \"../../live\"\n}\n");
                },
                "lock-file-missing",
            ),
            (
                "it takes lock file and backend away",
                |gate| {
                    gate.write("backed/main.tf", requires("hashicorp/null", ""));
                    gate.remove("backed/.terraform.lock.hcl");
                },
                "lock-file-missing",
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

/// A call of a module.
fn call(source: &str) -> String {
    format!("module \"m\" {{\n  source = {source}\n}}\n")
}

const UNIT: &str = "remote_state {\n  backend = \"local\"\n  config = {}\n}\n";

#[test]
fn what_a_change_makes_unknown_is_an_error() {
    all_are_errors(
        "a pull request puts something where nobody can read what it requires",
        |gate| {
            gate.write("known/main.tf", format!("{BACKEND}{}", call("\"s3::https://s3.amazonaws.com/b/known.zip\"")));
            gate.write("known/.terraform.lock.hcl", lock_file(&[]));
            gate.write("modules/m/main.tf", "");
            gate.write("caller/main.tf", format!("{BACKEND}{}", call("\"../modules/m\"")));
            gate.write("caller/.terraform.lock.hcl", lock_file(&[]));
            gate.root("unit", NULL, &[H1, ZH]);
            gate.write("unit/terragrunt.hcl", UNIT);
        },
        &[
            ("s3", |gate| gate.write("live/m.tf", call("\"s3::https://s3.amazonaws.com/b/m.zip\"")), "made-unknown"),
            (
                "gcs",
                |gate| gate.write("live/m.tf", call("\"gcs::https://www.googleapis.com/storage/v1/b/m.zip\"")),
                "made-unknown",
            ),
            ("hg", |gate| gate.write("live/m.tf", call("\"hg::http://example.com/m.hg\"")), "made-unknown"),
            ("ftp", |gate| gate.write("live/m.tf", call("\"ftp::ftp://example.com/m.zip\"")), "made-unknown"),
            (
                "a variable",
                |gate| gate.write("live/m.tf", format!("variable \"x\" {{}}\n{}", call("\"${var.x}\""))),
                "made-unknown",
            ),
            (
                "one more call of what was unknown",
                |gate| {
                    let more = call("\"s3::https://s3.amazonaws.com/b/known.zip\"").replace("\"m\"", "\"n\"");
                    gate.write("known/main.tf", gate.read("known/main.tf") + &more);
                },
                "made-unknown",
            ),
            (
                "behind three calls that were unknown",
                |gate| {
                    let sources = ["a", "b", "c", "d"].map(|name| {
                        call(&format!("\"s3::https://s3.amazonaws.com/b/{name}.zip\""))
                            .replace("\"m\"", &format!("\"{name}\""))
                    });
                    gate.write("known/z.tf", sources.concat());
                },
                "made-unknown",
            ),
            (
                "a module becomes a submodule that is not checked out",
                |gate| {
                    gate.remove("modules/m/main.tf");
                    gate.write(
                        ".gitmodules",
                        "[submodule \"m\"]\n\tpath = modules/m\n\turl = https://example.com/m.git\n",
                    );
                },
                "made-unknown",
            ),
            (
                "a module is removed, and ignored",
                |gate| {
                    fs::remove_dir_all(gate.project().join("modules")).unwrap();
                    gate.write(".gitignore", "/modules/\n");
                },
                "made-unknown",
            ),
            (
                "a unit runs a command",
                |gate| {
                    let generate = "generate \"a\" {\n  path = \"a.tf\"\n  if_exists = \"overwrite\"\n  contents = run_cmd(\"cat\", \"x\")\n}\n";
                    gate.write("unit/terragrunt.hcl", format!("{UNIT}{generate}"));
                },
                "made-unknown",
            ),
            (
                "a unit runs a module from a source that is not read",
                |gate| {
                    let source = "terraform {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n";
                    gate.write("unit/terragrunt.hcl", format!("{UNIT}{source}"));
                },
                "made-unknown",
            ),
            ("an entry has hashes that nobody compares", |gate| gate.root("live", NULL, &["h2:abc"]), "no-hashes"),
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
fn what_was_unknown_before_stays_a_warning() {
    let gate = Gate::with(|gate| {
        gate.write("known/main.tf", format!("{BACKEND}{}", call("\"s3::https://s3.amazonaws.com/b/known.zip\"")));
        gate.write("known/.terraform.lock.hcl", lock_file(&[]));
    });
    gate.write("known/main.tf", format!("\n{}  # other\n", gate.read("known/main.tf")));
    gate.write("live/m.tf", call("\"example.com/acme/m/null\"").replace('}', "  version = \"1.0.0\"\n}"));
    let found = gate.judge(&["-r"]);
    // What could be fetched is not asked for. That the change calls it is news, whether it can be read or not.
    assert_eq!(found, ["module-not-installed", "module-source-added", "module-not-installed"]);
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
        let report = format!("sarif={path}");
        for arguments in [&["--report", &report][..], &["--baseline", path, "--write-baseline"]] {
            let output = gate.provlock(&[&["verify", "-r"], arguments].concat());
            assert!(output.code == Some(2) && output.stderr.contains("is a link of the repository"), "{output}");
            assert_eq!(gate.read(".git/config"), before, "{output}");
            attempts += 1;
        }
    }
    for path in [".git/new", "outside", "new", "../outside"] {
        assert!(!gate.project().join(path).exists(), "{path}");
    }
    gate.provlock(&["verify", "-r", "--report", "sarif=/dev/stdout"]).assert_code(0);
    survived("a pull request puts a link where a report is written", attempts);
}

/// Where the base does not tell which program reads a directory, it is judged as each of them reads it.
#[test]
fn what_either_program_reads_is_judged_where_the_base_tells_no_dialect() {
    fn mixed(gate: &Gate) {
        without_lock_files(gate);
        let terraform = format!(
            "{TERRAFORM_HEADER}{}",
            entry(&NULL.replace("opentofu.org", "terraform.io"), "3.2.4", "", &[H1, ZH])
        );
        gate.write("live/.terraform.lock.hcl", terraform);
        gate.root("other", NULL, &[H1, ZH]);
    }
    let attempts: [Attempt; 6] = [
        (
            "by the header of OpenTofu",
            |gate| {
                hidden_by_tofu(gate, "new");
                header(gate, "new", "tofu");
            },
            FORBIDDEN,
        ),
        (
            "by the header of Terraform",
            |gate| {
                gate.write("new/main.tf", requires("hashicorp/null", ""));
                gate.write("new/main.tofu", requires("evil/null", ""));
                header(gate, "new", "terraform");
            },
            FORBIDDEN,
        ),
        (
            "with all it has in files for OpenTofu",
            |gate| {
                gate.write("new/evil.tofu", requires("evil/null", ""));
                header(gate, "new", "terraform");
            },
            FORBIDDEN,
        ),
        ("without a lock file", |gate| hidden_by_tofu(gate, "new"), FORBIDDEN),
        (
            "in a module that it calls",
            |gate| {
                gate.write("new/main.tf", "module \"m\" {\n  source = \"../called\"\n}\n");
                hidden_by_tofu(gate, "called");
                header(gate, "new", "tofu");
            },
            FORBIDDEN,
        ),
        (
            "with a call that nobody can read",
            |gate| {
                gate.write("new/main.tf", "module \"m\" {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n");
                gate.write("new/main.tofu", requires("hashicorp/null", ""));
                header(gate, "new", "tofu");
            },
            "made-unknown",
        ),
    ];
    let bases: [fn(&Gate); 2] = [without_lock_files, mixed];
    for base in bases {
        let gate = Gate::with(base);
        let before = gate.errors(&["-r"]);
        for (name, attempt, code) in attempts {
            attempt(&gate);
            let found = gate.errors(&["-r"]);
            assert!(found.iter().any(|found| found == code), "{name}: {found:?}");
            gate.reset();
        }
        gate.write("new/main.tf", requires("hashicorp/null", "~> 3.0"));
        gate.write("new/main.tofu", requires("hashicorp/null", ""));
        gate.write("new/.terraform.lock.hcl", lock_file(&[entry(NULL, "3.2.4", "", &[H1, ZH])]));
        assert_eq!(gate.errors(&["-r"]), before, "files for both programs may differ");
    }
    survived("a pull request brings a root module for the other program", bases.len() * attempts.len());
}
