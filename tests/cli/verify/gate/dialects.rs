//! A change cannot choose a dialect: OpenTofu and Terraform read different files.

use provlock_test::survived;

use super::gate::{Attempt, FORBIDDEN, Gate};
use super::gate_bypass::{BACKEND, all_are_errors, evil_configuration};
use super::{H1, NULL, ZH, entry};
use crate::lock::{lock_file, requires};

const TERRAFORM_HEADER: &str = "# This file is maintained automatically by \"terraform init\".\n";

/// Writes a clean file that only OpenTofu reads, which hides an evil file.
fn hidden_by_tofu(gate: &Gate, directory: &str) {
    gate.write(
        &format!("{directory}/main.tofu"),
        requires("hashicorp/null", ""),
    );
    evil_configuration(gate, directory);
}

/// Puts the header of a dialect in front of the lock file, without entries that tell.
fn header(gate: &Gate, directory: &str, program: &str) {
    let text = format!("# This file is maintained automatically by \"{program} init\".\n");
    gate.write(&format!("{directory}/.terraform.lock.hcl"), text);
}

/// A repository for Terraform.
fn of_terraform(gate: &Gate) {
    let terraform = NULL.replace("opentofu.org", "terraform.io");
    for directory in ["live", "other"] {
        let text = lock_file(&[entry(&terraform, "3.2.4", "", &[H1, ZH])]);
        let (_, rest) = text.split_once('\n').unwrap();
        gate.write(
            &format!("{directory}/.terraform.lock.hcl"),
            format!("{TERRAFORM_HEADER}{rest}"),
        );
    }
    gate.remove("examples/a/.terraform.lock.hcl");
}

#[test]
fn a_change_does_not_choose_its_dialect() {
    all_are_errors(
        "a pull request switches the dialect of a root module",
        |gate| {
            of_terraform(gate);
            gate.write("backend/main.tf", BACKEND);
        },
        &[
            (
                "by the header of its lock file",
                |gate| {
                    hidden_by_tofu(gate, "live");
                    header(gate, "live", "tofu");
                },
                "not-decided",
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
                    gate.write(
                        "live/.terraform.lock.hcl",
                        text.split_once("\n\n").unwrap().1,
                    );
                },
                "not-decided",
            ),
            (
                "a new one",
                |gate| {
                    gate.root("new", NULL, &[H1, ZH]);
                    hidden_by_tofu(gate, "new");
                },
                "provider-not-locked",
            ),
            (
                "one that had no lock file, by a file for OpenTofu",
                |gate| {
                    gate.write("backend/main.tofu", "");
                    gate.write(
                        "backend/main.tf",
                        format!("{BACKEND}{}", requires("evil/null", "")),
                    );
                    gate.write("backend/.terraform.lock.hcl", lock_file(&[]));
                },
                "provider-not-locked",
            ),
        ],
    );
}

/// Writes a new root module with a lock file of Terraform's, which the lock files around it are
/// not.
fn new_for_terraform(gate: &Gate) {
    let terraform = NULL.replace("opentofu.org", "terraform.io");
    gate.root("new", &terraform, &[H1, ZH]);
    let entry = entry(&terraform, "3.2.4", "", &[H1, ZH]);
    gate.write(
        "new/.terraform.lock.hcl",
        format!("{TERRAFORM_HEADER}{entry}"),
    );
}

#[test]
fn a_new_root_module_for_the_other_tool_is_no_changed_dialect() {
    let gate = Gate::with(|gate| gate.write("empty/main.tf", BACKEND));
    new_for_terraform(&gate);
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    let found = gate.judge(&["-r"]);
    assert!(
        found.contains(&"publisher-added".to_owned()),
        "its registry is new: {found:?}"
    );
    gate.rename("new/.terraform.lock.hcl", "empty/.terraform.lock.hcl");
    gate.write(
        "empty/main.tf",
        format!("{BACKEND}{}", requires("hashicorp/null", "")),
    );
    assert!(
        gate.errors(&["-r"]).contains(&"not-decided".to_owned()),
        "empty is not new"
    );
}

/// A base that has no lock file at all, and nothing that only OpenTofu reads.
fn without_lock_files(gate: &Gate) {
    for directory in ["live", "other", "examples/a"] {
        gate.remove(&format!("{directory}/.terraform.lock.hcl"));
    }
    gate.write(
        "live/main.tf",
        format!("{BACKEND}{}", requires("hashicorp/null", "")),
    );
    gate.write(
        "provlock.toml",
        "[policy]\nallowed-namespaces = [\"hashicorp\"]\n",
    );
}

#[test]
fn a_first_lock_file_does_not_choose_the_dialect() {
    let attempts: [Attempt; 3] = [
        (
            "by its header",
            |gate| header(gate, "live", "tofu"),
            FORBIDDEN,
        ),
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
            "not-decided",
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
    survived(
        "a pull request adds the first lock file, for the other dialect",
        attempts.len(),
    );

    gate.write("new/main.tofu", requires("hashicorp/null", ""));
    header(&gate, "new", "tofu");
    assert!(
        !gate.judge(&["-r"]).contains(&"not-decided".to_owned()),
        "a new root module has a dialect of its own"
    );
    for (path, text) in [
        ("README.md", "Run tofu init.\n"),
        ("docs/tofu/README.md", ""),
    ] {
        let gate = Gate::with(|gate| {
            without_lock_files(gate);
            gate.write(path, text);
        });
        header(&gate, "live", "tofu");
        assert!(
            !gate.judge(&["-r"]).contains(&"not-decided".to_owned()),
            "the base has {path}"
        );
    }
}

#[test]
fn an_owner_chooses_the_dialect() {
    let gate = Gate::with(|gate| gate.write("tofu/main.tofu", requires("hashicorp/null", "")));
    gate.write(
        "live/.terraform.lock.hcl",
        format!(
            "{TERRAFORM_HEADER}{}",
            entry(
                &NULL.replace("opentofu.org", "terraform.io"),
                "3.2.4",
                "",
                &[H1, ZH]
            )
        ),
    );
    assert!(gate.judge(&["-r"]).contains(&"not-decided".to_owned()));
    assert!(
        !gate
            .judge(&["-r", "--dialect", "terraform"])
            .contains(&"not-decided".to_owned())
    );
}

/// Lock files of both dialects.
fn mixed(gate: &Gate) {
    without_lock_files(gate);
    let terraform = format!(
        "{TERRAFORM_HEADER}{}",
        entry(
            &NULL.replace("opentofu.org", "terraform.io"),
            "3.2.4",
            "",
            &[H1, ZH]
        )
    );
    gate.write("live/.terraform.lock.hcl", terraform);
    gate.root("other", NULL, &[H1, ZH]);
}

/// Root modules whose files differ by dialect.
const NEW_ROOT_MODULES: [Attempt; 6] = [
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
    (
        "without a lock file",
        |gate| hidden_by_tofu(gate, "new"),
        FORBIDDEN,
    ),
    (
        "in a module that it calls",
        |gate| {
            gate.write(
                "new/main.tf",
                "module \"m\" {\n  source = \"../called\"\n}\n",
            );
            hidden_by_tofu(gate, "called");
            header(gate, "new", "tofu");
        },
        FORBIDDEN,
    ),
    (
        "with a call that nobody can read",
        |gate| {
            gate.write(
                "new/main.tf",
                "module \"m\" {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n",
            );
            gate.write("new/main.tofu", requires("hashicorp/null", ""));
            header(gate, "new", "tofu");
        },
        "not-decided",
    ),
];

/// If the base does not determine a directory's dialect, both dialects are checked.
#[test]
fn both_dialects_are_checked_if_the_base_determines_none() {
    let bases: [fn(&Gate); 2] = [without_lock_files, mixed];
    for base in bases {
        let gate = Gate::with(base);
        let before = gate.errors(&["-r"]);
        for (name, attempt, code) in NEW_ROOT_MODULES {
            attempt(&gate);
            let found = gate.errors(&["-r"]);
            assert!(found.iter().any(|found| found == code), "{name}: {found:?}");
            gate.reset();
        }
        gate.write("new/main.tf", requires("hashicorp/null", "~> 3.0"));
        gate.write("new/main.tofu", requires("hashicorp/null", ""));
        gate.write(
            "new/.terraform.lock.hcl",
            lock_file(&[entry(NULL, "3.2.4", "", &[H1, ZH])]),
        );
        assert_eq!(
            gate.errors(&["-r"]),
            before,
            "files for both programs may differ"
        );
    }
    survived(
        "a pull request adds a root module whose files differ by dialect",
        bases.len() * NEW_ROOT_MODULES.len(),
    );
}
