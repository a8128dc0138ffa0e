//! Changes that put a different directory or file behind a path: symbolic links, submodules, and
//! names that differ only in case.

use std::fs;

use provlock_test::survived;

use super::gate::{Attempt, FORBIDDEN, Gate, OTHER_H1};
use super::gate_bypass::all_are_errors;
use super::{H1, NULL, ZH};

/// A root module with stricter settings than the repository.
fn strict(gate: &Gate) {
    gate.root("prod", NULL, &[H1, ZH]);
    gate.write(
        "prod/provlock.toml",
        "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n",
    );
}

/// Moves `prod` to a directory without its settings, and locks there what these do not allow.
#[cfg(unix)]
fn evil_behind_link(gate: &Gate) {
    gate.rename("prod", "prod2");
    gate.remove("prod2/provlock.toml");
    gate.root("prod2", "evil.test/hashicorp/null", &[H1, ZH]);
    gate.link("prod2", "prod");
}

#[test]
#[cfg(unix)]
fn a_checked_directory_does_not_become_a_link() {
    let gate = Gate::with(strict);
    let arguments: [&[&str]; 5] = [
        &["verify", "prod", "--base", "main"],
        &["verify", "prod/main.tf", "--base", "main"],
        &["verify", "./live/../prod", "--base", "main"],
        &["-C", "prod", "verify", "--base", "main"],
        &["verify", "-r", "--base", "main"],
    ];
    for arguments in arguments {
        gate.provlock(arguments).assert_code(0);
    }
    evil_behind_link(&gate);
    gate.commit();
    for arguments in arguments {
        let output = gate.provlock(arguments);
        assert!(
            output.code == Some(1) && output.stdout.contains("error[not-decided]: "),
            "{output}"
        );
    }
    gate.reset();
    gate.rename("prod", "hidden");
    fs::create_dir(gate.project().join("a")).unwrap();
    gate.rename("hidden", "a/prod");
    gate.link("a/prod", "prod");
    gate.write("a/prod/provlock.toml", "");
    gate.commit();
    let output = gate.provlock(arguments[0]);
    assert!(
        output.code == Some(1) && output.stdout.contains("error[not-decided]: "),
        "{output}"
    );
    survived(
        "a pull request makes a link of a checked directory",
        arguments.len() + 1,
    );
}

#[test]
#[cfg(unix)]
fn a_link_of_the_base_leads_to_the_directory_behind_it() {
    let gate = Gate::with(|gate| {
        strict(gate);
        gate.link("prod", "current");
    });
    gate.write("prod/more.tf", "locals {}\n");
    gate.link("live", "unrelated");
    gate.commit();
    for path in ["current", "prod", "live"] {
        gate.provlock(&["verify", path, "--base", "main"])
            .assert_code(0)
            .assert_lacks("not-decided");
    }
    gate.provlock(&["verify", "-r", "--base", "main"])
        .assert_code(0)
        .assert_lacks("not-decided");
    gate.evil("prod");
    gate.commit();
    let output = gate.provlock(&["verify", "current", "--base", "main"]);
    assert!(
        output.code == Some(1) && output.stdout.contains(FORBIDDEN),
        "{output}"
    );
}

/// A root module that calls a module in a submodule which is not checked out.
fn submodule(gate: &Gate) {
    gate.write(
        "live/m.tf",
        "module \"m\" {\n  source = \"../vendor/net/vpc\"\n}\n",
    );
    gate.write(".gitmodules", MODULES);
    add_submodule(gate, "vendor/net", '1');
    add_submodule(gate, "vendor/other", '1');
    gate.write(
        "other/m.tf",
        "module \"m\" {\n  source = \"../vendor/late\"\n}\n",
    );
    add_submodule(gate, "vendor/late", '1');
    for directory in ["vendor/net", "vendor/other", "vendor/late"] {
        fs::create_dir_all(gate.project().join(directory)).unwrap();
    }
}

const MODULES: &str = "[submodule \"net\"]\n\tpath = vendor/net\n\turl = https://good.test/net.git\n\
                       [submodule \"other\"]\n\tpath = vendor/other\n\turl = https://good.test/other.git\n";

/// Stages a commit as a submodule.
fn add_submodule(gate: &Gate, path: &str, digit: char) {
    let entry = format!("160000,{},{path}", digit.to_string().repeat(40));
    gate.git(&["update-index", "--add", "--cacheinfo", &entry]);
}

#[test]
fn a_changed_submodule_with_a_called_module_is_an_error() {
    all_are_errors(
        "a pull request changes a submodule in which a called module is",
        submodule,
        &[
            (
                "another commit",
                |gate| add_submodule(gate, "vendor/net", '2'),
                "not-decided",
            ),
            (
                "another repository",
                |gate| gate.write(".gitmodules", MODULES.replace("good", "evil")),
                "not-decided",
            ),
            (
                "another branch",
                |gate| {
                    gate.write(
                        ".gitmodules",
                        MODULES.replacen("net.git\n", "net.git\n\tbranch = evil\n", 1),
                    );
                },
                "not-decided",
            ),
            (
                "a second section",
                |gate| {
                    let more = "[submodule \"x\"]\n\tpath = vendor/net\n\turl = https://evil.test/net.git\n";
                    gate.write(".gitmodules", format!("{MODULES}{more}"));
                },
                "not-decided",
            ),
            (
                "the first section of a commit that nothing fetched",
                |gate| {
                    let late = "[submodule \"late\"]\n\tpath = vendor/late\n\turl = https://evil.test/late.git\n";
                    gate.write(".gitmodules", format!("{MODULES}{late}"));
                },
                "not-decided",
            ),
            (
                "a directory becomes a submodule",
                |gate| {
                    fs::remove_dir_all(gate.project().join("examples")).unwrap();
                    gate.write(
                        "live/m.tf",
                        "module \"m\" {\n  source = \"../vendor/new\"\n}\n",
                    );
                    add_submodule(gate, "vendor/new", '1');
                    fs::create_dir_all(gate.project().join("vendor/new")).unwrap();
                    let new = "[submodule \"new\"]\n\tpath = vendor/new\n\turl = https://evil.test/new.git\n";
                    gate.write(".gitmodules", format!("{MODULES}{new}"));
                },
                "not-decided",
            ),
        ],
    );
}

/// Units that include a file: one by its path, and one by a search in the directories above.
fn including_units(gate: &Gate) {
    gate.write("env/shared.hcl", "locals {}\n");
    gate.write("root.hcl", "locals {}\n");
    let includes = [
        ("units/path", "\"${get_repo_root()}/env/shared.hcl\""),
        ("units/above", "find_in_parent_folders(\"root.hcl\")"),
    ];
    for (directory, path) in includes {
        let text = format!("include {{\n  path = {path}\n}}\n");
        gate.write(&format!("{directory}/terragrunt.hcl"), text);
        gate.write(
            &format!("{directory}/.terraform.lock.hcl"),
            gate.read("live/.terraform.lock.hcl"),
        );
        gate.write(&format!("{directory}/main.tf"), gate.read("live/main.tf"));
    }
}

#[test]
fn an_included_file_that_is_not_surely_gone_is_an_error() {
    let mut attempts: Vec<Attempt> = vec![
        (
            "its directory is a submodule",
            |gate| {
                gate.git(&["rm", "--quiet", "env/shared.hcl"]);
                gate.write(".gitmodules", MODULES.replace("vendor/net", "env"));
                add_submodule(gate, "env", '1');
            },
            "not-decided",
        ),
        (
            "its name differs in case",
            |gate| gate.rename("root.hcl", "ROOT.hcl"),
            "not-decided",
        ),
    ];
    #[cfg(unix)]
    attempts.extend([
        (
            "a link that leads nowhere is found above",
            |gate: &Gate| {
                gate.remove("root.hcl");
                gate.link("../elsewhere/root.hcl", "root.hcl");
            },
            "not-decided",
        ),
        (
            "a new unit includes a link that leads nowhere",
            |gate: &Gate| {
                gate.link("../elsewhere/absent.hcl", "units/absent.hcl");
                let include = "include {\n  path = find_in_parent_folders(\"absent.hcl\")\n}\n";
                gate.write("units/new/terragrunt.hcl", include);
                gate.write("units/new/main.tf", gate.read("live/main.tf"));
                gate.write(
                    "units/new/.terraform.lock.hcl",
                    gate.read("live/.terraform.lock.hcl"),
                );
            },
            "not-decided",
        ),
        (
            "a link that leads nowhere is at the path",
            |gate: &Gate| {
                gate.remove("env/shared.hcl");
                gate.link("../../elsewhere/shared.hcl", "env/shared.hcl");
            },
            "not-decided",
        ),
        (
            "a link that leads nowhere is its directory",
            |gate: &Gate| {
                gate.rename("env", "old");
                gate.link("../elsewhere", "env");
            },
            "not-decided",
        ),
    ] as [Attempt; 4]);
    all_are_errors(
        "a pull request puts an included file where this run does not find it",
        including_units,
        &attempts,
    );
}

#[test]
fn a_unit_that_includes_a_removed_file_is_no_error() {
    let gate = Gate::with(including_units);
    gate.rename("root.hcl", "old.hcl");
    gate.remove("env/shared.hcl");
    assert_eq!(
        gate.judged(&["-r"]),
        [("warning", "requirements-not-known"); 2]
            .map(|(severity, code)| (severity.to_owned(), code.to_owned()))
    );
    gate.run(&["-r"])
        .assert_code(0)
        .assert_stdout_has("finds nothing in the repository")
        .assert_stdout_has("the path does not exist");
}

/// Root modules may be in it.
#[test]
fn a_changed_submodule_without_called_modules_is_a_note() {
    const NOTE: &str = "note[decision-changed]: the submodule vendor/other differs from the base, and is not checked out";
    let changes: [fn(&Gate); 3] = [
        |gate| add_submodule(gate, "vendor/other", '2'),
        |gate| {
            let moved = MODULES.replace("good.test/other", "new.test/other");
            gate.write(".gitmodules", moved);
        },
        |gate| {
            let new = "[submodule \"b\"]\n\tpath = vendor/b\n\turl = https://good.test/b.git\n";
            gate.write(".gitmodules", format!("{MODULES}{new}"));
            add_submodule(gate, "vendor/other", '2');
            // A directory that is not a submodule yet.
            gate.write("vendor/b/README.md", "");
        },
    ];
    for change in changes {
        let gate = Gate::with(submodule);
        change(&gate);
        for arguments in [&[][..], &["--new"]] {
            let output = gate.provlock(&[&["verify", "-r", "--base", "main"], arguments].concat());
            output.assert_code(0).assert_stdout_has(NOTE);
        }
    }
}

#[test]
fn a_submodule_that_stays_or_leaves_is_no_finding() {
    const NOTE: &str = "vendor/other differs";
    let changes: [fn(&Gate); 3] = [
        |gate| gate.write("live/more.tf", "# A comment.\n"),
        |gate| gate.write(".gitmodules", format!("# A comment.\n{MODULES}")),
        |gate| {
            let (own, _) = MODULES.split_once("[submodule \"other\"]").unwrap();
            gate.write(".gitmodules", own);
            gate.git(&["update-index", "--force-remove", "vendor/other"]);
            fs::remove_dir(gate.project().join("vendor/other")).unwrap();
        },
    ];
    for change in changes {
        let gate = Gate::with(submodule);
        change(&gate);
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        output.assert_code(0).assert_stderr_has("root modules");
        assert!(!output.stdout.contains(NOTE), "{output}");
    }
}

#[test]
fn other_names_and_those_of_the_base_are_no_variants() {
    let gate = Gate::with(|gate| {
        gate.write("live/OLD.TF", "");
        gate.write("live/Terraform.d/plugins/old", "");
    });
    gate.write("live/OLD.TF", "# changed");
    gate.write("README.MD", "");
    gate.write("live/Makefile", "");
    gate.write("live/Network.tf", "locals {}\n");
    gate.write("docs/Guide/LIVE.md", "");
    gate.write("new/MAIN.tf.txt", "");
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0]);
}

#[test]
fn files_that_a_sparse_checkout_omits_are_not_removed_and_not_checked() {
    let gate = Gate::new();
    gate.git(&["sparse-checkout", "set", "live"]);
    assert_eq!(
        gate.judge(&["-r"]),
        [] as [&str; 0],
        "what is not there has not changed"
    );
    gate.git(&["sparse-checkout", "disable"]);
    gate.root("other", NULL, &[OTHER_H1, ZH]);
    gate.write("new/main.tf", "");
    gate.commit();
    gate.git(&["sparse-checkout", "set", "live"]);
    let output = gate.provlock(&["verify", "-r", "--base", "main"]);
    output.assert_code(1).assert_stdout_has(
        "error[not-decided]: new/main.tf and other/.terraform.lock.hcl are changed but not checked out (sparse \
         checkout), so the change was not checked",
    );
    gate.provlock(&["verify", "live", "--base", "main"])
        .assert_code(0);
    survived("a sparse checkout omits what a pull request changes", 1);
}
