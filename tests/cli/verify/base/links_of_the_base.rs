//! Lock files and settings that are symbolic links at the base revision are compared by the files
//! behind them.
#![cfg(unix)]

use provlock_test::survived;

use super::gate::{Attempt, COMMIT, Gate, OTHER_H1, OTHER_ZH, locked};
use super::gate_bypass::BACKEND;
use super::{H1, NULL, entry};
use crate::lock::lock_file;

const LOCK_FILE: &str = "live/.terraform.lock.hcl";
const FLAGS: [&str; 3] = ["-r", "--allow", "hash-not-checked"];

/// A root module whose lock file is a link, by a directory that is one, too.
fn linked(gate: &Gate) {
    gate.write("shared/1/lock.hcl", gate.read(LOCK_FILE));
    gate.link("1", "shared/current");
    gate.remove(LOCK_FILE);
    gate.link("../shared/current/lock.hcl", LOCK_FILE);
}

/// The lock file with a different hash.
fn replaced() -> String {
    lock_file(&[entry(NULL, "3.2.4", "", &[OTHER_H1, OTHER_ZH])])
}

#[test]
fn the_file_behind_a_link_of_the_base_is_compared() {
    let attempts: &[Attempt] = &[
        (
            "in the file behind the link",
            |gate| gate.write("shared/1/lock.hcl", replaced()),
            "hashes-replaced",
        ),
        (
            "by another target",
            |gate| {
                gate.write("shared/1/other.hcl", replaced());
                gate.remove(LOCK_FILE);
                gate.link("../shared/1/other.hcl", LOCK_FILE);
            },
            "hashes-replaced",
        ),
        (
            "by another target of the directory",
            |gate| {
                gate.write("shared/2/lock.hcl", replaced());
                gate.remove("shared/current");
                gate.link("2", "shared/current");
            },
            "hashes-replaced",
        ),
        (
            "by a file instead of the link",
            |gate| {
                gate.remove(LOCK_FILE);
                gate.write(LOCK_FILE, replaced());
            },
            "hashes-replaced",
        ),
        (
            "in another directory, and by a new link",
            |gate| {
                gate.rename("shared", "common");
                gate.write("common/1/lock.hcl", replaced());
                gate.remove(LOCK_FILE);
                gate.link("../common/1/lock.hcl", LOCK_FILE);
            },
            "hashes-replaced",
        ),
    ];
    let gate = Gate::with(linked);
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0], "nothing has changed");
    for (name, attempt, code) in attempts {
        attempt(&gate);
        assert_eq!(gate.errors(&FLAGS), [*code], "{name}");
        let found = gate.judge(&FLAGS);
        assert!(
            !found
                .iter()
                .any(|code| code.ends_with("-added") || code == "lock-file-syntax"),
            "{name}: {found:?}"
        );
        gate.provlock(&["diff", "-r", "main"])
            .assert_code(0)
            .assert_stdout_has("! hashicorp/null");
        gate.provlock(&["diff", "-r", "main..HEAD"])
            .assert_code(0)
            .assert_stdout_has("! hashicorp/null");
        gate.reset();
    }
    survived(
        "a pull request replaces hashes behind a link of the base",
        attempts.len(),
    );
}

#[test]
fn the_same_content_in_another_place_is_no_change() {
    let gate = Gate::with(linked);
    gate.rename("shared", "common");
    gate.remove(LOCK_FILE);
    gate.link("../common/1/lock.hcl", LOCK_FILE);
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
    gate.provlock(&["diff", "-r", "main"])
        .assert_code(0)
        .assert_lacks("hashicorp/null");
}

#[test]
fn a_lock_file_of_modules_behind_a_link_is_compared() {
    let source = |reference: &str| format!("git::https://example.com/net.git?ref={reference}");
    let entry = locked("net", &source("v1"), &source(COMMIT));
    let gate = Gate::with(|gate| {
        gate.write(
            "net/main.tf",
            format!(
                "{BACKEND}module \"net\" {{\n  source = \"{}\"\n}}\n",
                source("v1")
            ),
        );
        gate.write("shared/one.hcl", &entry);
        gate.link("../shared/one.hcl", "net/.modules.lock.hcl");
    });
    gate.write("shared/two.hcl", entry.replace(H1, OTHER_H1));
    gate.remove("net/.modules.lock.hcl");
    gate.link("../shared/two.hcl", "net/.modules.lock.hcl");
    let found = gate.judge(&["-r"]);
    assert!(found.contains(&"hashes-replaced".to_owned()), "{found:?}");
    survived(
        "a pull request replaces the hash of a module behind a link of the base",
        1,
    );
}

#[test]
fn settings_behind_a_link_of_the_base_apply() {
    const STRICT: &str = "[policy]\nallowed-namespaces = [\"hashicorp\"]\n";
    let gate = Gate::with(|gate| {
        gate.write("ci/strict.toml", STRICT);
        gate.remove("provlock.toml");
        gate.remove("examples/a/.terraform.lock.hcl");
        gate.link("ci/strict.toml", "provlock.toml");
        gate.link("strict.toml", "ci/named.toml");
    });
    let named = ["-r", "--config", "ci/named.toml"];
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0], "nothing has changed");
    assert_eq!(gate.judge(&named), [] as [&str; 0], "nothing has changed");
    gate.write("ci/other.toml", "");
    for link in ["provlock.toml", "ci/named.toml"] {
        gate.remove(link);
    }
    gate.link("ci/other.toml", "provlock.toml");
    gate.link("other.toml", "ci/named.toml");
    gate.evil("live");
    for flags in [&["-r"][..], &named] {
        let found = gate.errors(flags);
        for code in ["policy-changed", "namespace-not-allowed"] {
            assert!(found.contains(&code.to_owned()), "{flags:?}: {found:?}");
        }
    }
    survived(
        "a pull request changes settings behind a link of the base",
        2,
    );
}

/// Links to nothing, in a circle and out of the repository do not stop the comparison of other
/// files.
#[test]
fn a_link_of_the_base_may_lead_nowhere() {
    let gate = Gate::with(|gate| {
        for (directory, target) in [
            ("a", "missing"),
            ("b", ".terraform.lock.hcl"),
            ("c", "../../../etc/x\ny/z"),
        ] {
            gate.write(&format!("links/{directory}/main.tf"), "");
            gate.link(target, &format!("links/{directory}/.terraform.lock.hcl"));
        }
    });
    for directory in ["a", "b", "c"] {
        gate.remove(&format!("links/{directory}/.terraform.lock.hcl"));
    }
    gate.write(LOCK_FILE, replaced());
    let found = gate.judge(&FLAGS);
    assert!(found.contains(&"hashes-replaced".to_owned()), "{found:?}");
    gate.provlock(&["diff", "-r", "main"])
        .assert_code(2)
        .assert_stderr_has("links/c/.terraform.lock.hcl");
}
