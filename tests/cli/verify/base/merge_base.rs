//! A branch that lacks commits of the base revision: its own changes count, and the settings and
//! comments of the revision apply.

use super::gate::{FORBIDDEN, Gate, OTHER_H1, OTHER_ZH};
use super::{H1, NULL, ZH, entry, lock_file};

/// Commits something on `main` after the branch was made.
fn commit_on_main(gate: &Gate, change: impl FnOnce()) {
    gate.commit();
    gate.git(&["checkout", "--quiet", "main"]);
    change();
    gate.commit();
    gate.git(&["checkout", "--quiet", "change"]);
}

/// Locks a version of the provider in a root module.
fn lock(gate: &Gate, directory: &str, version: &str) {
    let entry = entry(NULL, version, "", &[OTHER_H1, OTHER_ZH]);
    let path = format!("{directory}/.terraform.lock.hcl");
    gate.write(&path, lock_file(&[entry]));
}

#[test]
fn what_only_the_base_has_is_no_change() {
    let gate = Gate::new();
    gate.write("live/outputs.tf", "output \"a\" {\n  value = 1\n}\n");
    commit_on_main(&gate, || {
        lock(&gate, "other", "3.2.5");
        gate.root("new", NULL, &[H1, ZH]);
    });
    gate.run(&["-r", "--warn", "decision-changed"])
        .assert_code(0)
        .assert_stderr_has("HEAD lacks 1 commit of refs/heads/main, so it is compared with")
        .assert_stderr_has("OK: 2 providers of 2 root modules locked as required")
        .assert_lacks("decision-changed");

    // The changes of the branch count.
    lock(&gate, "live", "3.2.5");
    gate.commit();
    gate.run(&["-r", "--warn", "decision-changed"])
        .assert_stdout_has("hashicorp/null 3.2.4 → 3.2.5")
        .assert_lacks("other/.terraform.lock.hcl");
}

#[test]
fn a_policy_that_the_base_has_gained_applies_to_an_older_branch() {
    let gate = Gate::with(|gate| gate.write("provlock.toml", ""));
    gate.evil("live");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    commit_on_main(&gate, || {
        gate.write(
            "provlock.toml",
            "[policy]\nallowed-namespaces = [\"hashicorp\"]\n",
        );
    });
    assert!(gate.errors(&["-r"]).contains(&FORBIDDEN.to_owned()));
}

#[test]
fn a_comment_that_the_base_has_removed_ignores_nothing_in_an_older_branch() {
    let gate = Gate::with(|gate| {
        gate.root("commented", NULL, &[]);
        let text = gate.read("commented/.terraform.lock.hcl");
        let comment = "\n# provlock: ignore[no-hashes] for now\nprovider";
        gate.write(
            "commented/.terraform.lock.hcl",
            text.replace("\nprovider", comment),
        );
    });
    gate.write("live/outputs.tf", "output \"a\" {\n  value = 1\n}\n");
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    commit_on_main(&gate, || gate.root("commented", NULL, &[]));
    assert_eq!(gate.errors(&["-r"]), ["policy-changed", "no-hashes"]);
}
