//! `root-removed`: a pull request that removes root modules, or only their lock files.

use super::gate::{COMMIT, Gate, locked};
use super::gate_bypass::BACKEND;
use super::policy_changed::gate;
use super::{H1, NULL, ZH};
use crate::json_output::validated;
use provlock_test::git::Repository;
use provlock_test::survived;

#[test]
fn removing_the_only_root_module_is_a_note() {
    let repository = Repository::new();
    repository
        .environment
        .write("main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    repository.commit("# empty\n");
    repository.git(["rm", "--quiet", "main.tf", ".terraform.lock.hcl"]);
    repository.git(["commit", "--quiet", "--message=remove"]);

    let arguments = ["verify", "-r", "--base", "HEAD~1"];
    repository.environment.provlock(arguments).matches(provlock_test::str![[r#"
exit code: 0
----- stdout -----
note[decision-changed]: the root module in . was removed
--> .:1:1
 |
help: make sure that this is intended

----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
1 note in .
1 note about the change as a whole
"#]]);
    let report = validated(
        &repository
            .environment
            .provlock(arguments.iter().chain(&["--json"]))
            .stdout,
    );
    assert_eq!(report["findings"][0]["code"], "decision-changed");
    for format in ["github", "sarif", "gitlab", "junit", "html"] {
        let output = repository
            .environment
            .provlock(arguments.iter().chain(&["--format", format]));
        output.assert_code(0).assert_stdout_has("decision-changed");
    }
}

/// Commits the removal of files and directories.
fn remove(gate: &Gate, paths: &[&str]) {
    gate.git(&[&["rm", "-r", "--quiet"], paths].concat());
    gate.git(&["commit", "--quiet", "--message=remove"]);
}

#[test]
fn a_removed_lock_file_is_reported_once_and_not_as_a_removed_root_module() {
    let gate = gate();
    remove(&gate, &["old/.terraform.lock.hcl"]);
    gate.run(&["-r"]).matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[root-removed]: the lock file old/.terraform.lock.hcl was removed
--> old/.terraform.lock.hcl:1:1
 |
help: restore it; if this is intended, an owner allows it with --warn root-removed

warning[provider-not-required]: evil/null is locked, but the configuration does not require it
 --> examples/a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/evil/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = tofu init -lockfile=readonly fails because of the entry
help: provlock -C examples/a lock --prune, unless a state elsewhere still has resources of it

----- stderr -----
1 error and 1 warning in examples/a/.terraform.lock.hcl and old/.terraform.lock.hcl
5 root modules: 1 with errors, 1 with warnings, 3 OK
Suppressed: 1 finding by comments
"#]]);
    gate.git(&[
        "checkout",
        "--quiet",
        "HEAD~1",
        "--",
        "old/.terraform.lock.hcl",
    ]);
    gate.git(&["rm", "--quiet", "--cached", "old/.terraform.lock.hcl"]);
    gate.write(".gitignore", ".terraform.lock.hcl\n");
    gate.run(&["-r"])
        .assert_code(1)
        .assert_stdout_has("git no longer has the lock file old/.terraform.lock.hcl");
}

#[test]
fn a_named_directory_whose_lock_file_was_removed_is_not_weaker_than_recursive() {
    let gate = Gate::with(|gate| {
        gate.write("modest/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
        gate.write("modest/.terraform.lock.hcl", "# empty\n");
    });
    for directory in ["modest", "live"] {
        remove(&gate, &[&format!("{directory}/.terraform.lock.hcl")]);
        assert_eq!(gate.errors(&[directory]), ["root-removed"], "{directory}");
        assert_eq!(
            gate.errors(&[&format!("./{directory}/main.tf")]),
            ["root-removed"],
            "{directory}"
        );
        assert_eq!(
            gate.errors(&["-r", directory]),
            ["root-removed"],
            "{directory}"
        );
        assert_eq!(gate.errors(&["other"]), [] as [&str; 0], "{directory}");
        gate.reset();
    }
}

/// A root module without providers has only a lock file of modules.
#[test]
fn a_removed_lock_file_of_modules_is_reported_once() {
    let gate = Gate::with(|gate| {
        let source = |reference: &str| format!("git::https://example.com/net.git?ref={reference}");
        let call = format!("module \"net\" {{\n  source = \"{}\"\n}}\n", source("v1"));
        for directory in ["net", "both"] {
            gate.write(&format!("{directory}/main.tf"), format!("{BACKEND}{call}"));
            gate.write(
                &format!("{directory}/.modules.lock.hcl"),
                locked("net", &source("v1"), &source(COMMIT)),
            );
        }
        gate.write("both/.terraform.lock.hcl", "# empty\n");
    });
    let errors = || {
        let found = gate.errors(&["-r"]);
        gate.reset();
        found
    };
    remove(&gate, &["net/.modules.lock.hcl"]);
    assert_eq!(errors(), ["root-removed"]);
    remove(&gate, &["net"]);
    assert_eq!(errors(), [] as [&str; 0], "nothing is left of it");
    remove(&gate, &["both"]);
    assert_eq!(errors(), [] as [&str; 0]);
    remove(
        &gate,
        &["both/.modules.lock.hcl", "both/.terraform.lock.hcl"],
    );
    assert_eq!(errors(), ["root-removed"]);
    gate.git(&["mv", "net", "moved"]);
    gate.remove("moved/.modules.lock.hcl");
    assert_eq!(errors(), ["root-removed"]);
}

/// The removed lock files are outside of the checked directory, so that the moved root modules lack
/// them.
#[test]
fn no_setting_is_named_for_lock_files_of_modules_that_only_the_base_has() {
    let gate = Gate::with(|gate| {
        let source = |reference: &str| format!("git::https://example.com/net.git?ref={reference}");
        let call = format!("module \"net\" {{\n  source = \"{}\"\n}}\n", source("v1"));
        for directory in ["old/a", "old/b"] {
            gate.write(
                &format!("{directory}/main.tf"),
                format!("{BACKEND}{call}# {directory}\n"),
            );
            gate.write(
                &format!("{directory}/.modules.lock.hcl"),
                locked("net", &source("v1"), &source(COMMIT)),
            );
            gate.write(&format!("{directory}/.terraform.lock.hcl"), "# empty\n");
        }
    });
    remove(
        &gate,
        &["old/a/.modules.lock.hcl", "old/b/.modules.lock.hcl"],
    );
    gate.git(&["mv", "old", "new"]);
    gate.git(&["commit", "--quiet", "--message=move"]);
    gate.run(&["-r", "new"]).matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[module-not-locked]: .modules.lock.hcl is missing, so called modules are not locked, in 2 root modules
 --> new/a/main.tf:5:12
  |
5 |   source = "git::https://example.com/net.git?ref=v1"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
  = also in new/b
help: provlock lock -r new --modules; if this is intended, an owner allows it with --warn module-not-locked

warning[module-not-installed]: called modules are not installed, so what they require is not known, in 2 root modules
 --> new/a/main.tf:5:12
  |
5 |   source = "git::https://example.com/net.git?ref=v1"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
  = also in new/b
help: install it with tofu get or tofu init; to fetch it for the check only: provlock verify -r new --online

----- stderr -----
2 errors and 2 warnings in new/a/main.tf and new/b/main.tf
2 root modules: 2 with errors
"#]]);
}

#[test]
fn a_directory_that_was_removed_as_a_whole_is_one_line() {
    let gate = Gate::with(|gate| {
        for directory in ["team/a", "team/b/c", "team/b/d"] {
            gate.root(directory, NULL, &[H1, ZH]);
        }
    });
    remove(&gate, &["team"]);
    gate.provlock(&["verify", "-r", "--base", "main"])
        .matches(provlock_test::str![[r#"
exit code: 0
----- stdout -----
note[decision-changed]: team was removed, with 3 root modules
--> team:1:1
 = the root module in team/a was removed
 = the root module in team/b/c was removed
 = the root module in team/b/d was removed
help: make sure that this is intended

note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails, in 2 root modules
 --> live/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = also in other
help: provlock lock -r -p all, or set platforms in provlock.toml

----- stderr -----
OK: 2 providers of 2 root modules locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
3 notes in 3 files
3 root modules: 2 OK, 1 excluded by provlock.toml
1 note about the change as a whole
"#]]);
}

#[test]
fn a_version_that_reads_no_lock_file_is_an_error() {
    let required =
        |constraints: &str| format!("terraform {{\n  required_version = \"{constraints}\"\n}}\n");
    let gate = Gate::with(|gate| {
        gate.write("live/versions.tf", required(">= 1.0"));
        gate.write("other/versions.tf", required("~> 0.13.0"));
    });
    for (constraints, codes) in [
        ("~> 0.13.0", &["root-removed"][..]),
        (">= 0.12, < 0.14", &["root-removed"]),
        (">= 0.13", &[]),
        ("~> 0.14.0", &[]),
    ] {
        gate.write("live/versions.tf", required(constraints));
        gate.write("other/more.tf", format!("# {constraints}\n"));
        assert_eq!(gate.judge(&["-r"]), codes, "{constraints}");
    }
    survived("a change that makes Terraform ignore the lock file", 2);
}

#[test]
fn a_lock_file_that_remote_runs_do_not_get_is_an_error() {
    const IGNORE: &str = ".terraformignore";
    let gate = Gate::with(|gate| {
        gate.write("live/backend.tf", "terraform {\n  cloud {}\n}\n");
        gate.write(
            "other/backend.tf",
            "terraform {\n  backend \"remote\" {}\n}\n",
        );
        gate.root("s3", NULL, &[H1, ZH]);
        gate.write("s3/backend.tf", BACKEND);
        gate.write("other/.terraformignore", "/.terraform.lock.hcl\n");
        gate.write("live/.terraformignore", "# .terraform.lock.hcl\n*.md\n");
    });
    let patterns = [
        ("live", ".terraform.lock.hcl"),
        ("live", "*.md\n/.terraform.lock.hcl"),
        ("live", ".terraform.*"),
        ("live", "*"),
        ("live", ".terraform.lock.hcl+"),
        ("live", ".terraform.lock.hc(l)"),
        ("live", "x|.terraform.lock.hcl"),
        ("live", "x\\"),
        ("", "live/.terraform.lock.hcl"),
        ("", "live/"),
        ("", "!live\n/live/**/.terraform.lock.*"),
    ];
    for (directory, text) in patterns {
        let before = gate.read("live/.terraformignore");
        gate.write(
            format!("{directory}/{IGNORE}").trim_start_matches('/'),
            text,
        );
        gate.write(
            "other/.terraformignore",
            format!("/.terraform.lock.hcl\n# {text:?}\n"),
        );
        assert_eq!(
            gate.errors(&["-r"]),
            ["root-removed"],
            "{directory} {text:?}"
        );
        let _ = std::fs::remove_file(gate.project().join(IGNORE));
        gate.write("live/.terraformignore", before);
    }
    for text in [
        "*.md\n*.png\n",
        "s3\n",
        "!.terraform.lock.hcl\n",
        "/live/docs/\n",
        "*.hcl\n!.terraform.lock.hcl\n",
    ] {
        gate.write(IGNORE, text);
        assert_eq!(gate.errors(&["-r"]), [] as [&str; 0], "{text:?}");
    }
    survived(
        "a pull request keeps the lock file from remote runs",
        patterns.len(),
    );
}

#[cfg(unix)]
#[test]
fn patterns_behind_a_link_are_read() {
    let gate = Gate::with(|gate| {
        gate.write("live/backend.tf", "terraform {\n  cloud {}\n}\n");
        gate.write("live/patterns", "*.md\n");
        gate.link("patterns", "live/.terraformignore");
    });
    gate.write("live/patterns", "*.md\n*.png\n");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.write("live/patterns", "*.hcl\n");
    assert_eq!(gate.errors(&["-r"]), ["root-removed"]);
}

#[test]
fn a_lock_file_of_git_lfs_in_the_base_is_not_passed_over() {
    let gate = Gate::with(|gate| {
        gate.write(
            "live/.terraform.lock.hcl",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        );
    });
    gate.root("live", NULL, &[H1, ZH]);
    assert_eq!(gate.errors(&["-r"]), ["lock-file-syntax"]);
    gate.git(&["branch", "--force", "main"]);
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
}
