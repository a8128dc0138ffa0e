//! `verify --base REV --new` reports only the findings that a pull request brings.

use provlock_test::survived;

use super::gate::{Attempt, FORBIDDEN, Gate, OTHER_H1};
use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};

const ARGUMENTS: [&str; 7] = [
    "verify",
    "-r",
    "--base",
    "main",
    "--new",
    "--allow",
    "single-platform",
];
const EVIL: &str = "registry.opentofu.org/evil/null";

/// Root modules with errors that the main branch has, too.
fn debts(gate: &Gate) {
    gate.write("old/main.tf", requires("hashicorp/null", "~> 2.0"));
    gate.write(
        "old/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", "~> 2.0", &[H1, ZH])]),
    );
    gate.evil("evil");
}

#[test]
fn findings_of_the_base_are_counted_in_one_line() {
    let gate = Gate::with(debts);
    gate.write("README.md", "changed\n");
    // Lines move, and a root module without findings changes.
    gate.write(
        "evil/main.tf",
        format!("# A comment.\n\n{}", requires("evil/null", "")),
    );
    gate.write(
        "live/main.tf",
        format!("{}# A comment.\n", requires("hashicorp/null", "")),
    );
    gate.commit();
    gate.run(&["-r"]).assert_code(1);
    let output = gate.provlock(&ARGUMENTS);
    output.assert_code(0);
    assert_eq!(output.stdout, "");
    assert!(!output.stderr.contains("OK:"), "{output}");
    assert!(
        output
            .stderr
            .contains("Suppressed: 2 findings by --new, because the base also has them\n"),
        "{output}"
    );
    // The same from a directory below, and for one root module.
    for arguments in [&["-C", "evil", "verify"][..], &["verify", "evil"]] {
        let output = gate.provlock(&[arguments, &ARGUMENTS[2..]].concat());
        output.assert_code(0);
        assert!(output.stderr.contains("by --new"), "{output}");
    }
    let output = gate.provlock(&[&ARGUMENTS[..], &["--json"]].concat());
    let json = validated(&output.assert_code(0).stdout);
    let known = json["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["suppressed"]["base"].as_u64().unwrap());
    assert_eq!(known.sum::<u64>(), 2);
    assert!(
        json["roots"]
            .as_array()
            .unwrap()
            .iter()
            .all(|root| root["findings"].as_array().unwrap().is_empty())
    );
}

#[test]
fn a_finding_that_the_change_brings_is_the_only_one() {
    let gate = Gate::with(debts);
    gate.write("live/main.tf", requires("hashicorp/null", "~> 2.0"));
    gate.commit();
    let output = gate.provlock(&ARGUMENTS);
    output.assert_code(1);
    assert_eq!(output.stdout.matches("error[").count(), 1, "{output}");
    assert!(
        output.stdout.contains("live/.terraform.lock.hcl") && !output.stdout.contains("old"),
        "{output}"
    );
}

/// Files below `.terraform` that git tracks, in the root module `live`.
const DATA: [&str; 2] = [
    "live/.terraform/modules/m/main.tf",
    "live/.terraform/plugins/x",
];

fn tracked_data(gate: &Gate) {
    gate.write(DATA[0], "locals {}\r\n");
    gate.write(DATA[1], "#!/bin/sh\n");
}

#[test]
fn tracked_data_of_the_base_is_no_finding_of_the_change() {
    let gate = Gate::with(tracked_data);
    gate.write("README.md", "changed\n");
    assert_eq!(gate.judge(&["-r"]), ["tracked-data-directory"]);
    let output = gate.provlock(&ARGUMENTS);
    assert_eq!(output.assert_code(0).stdout, "");
    assert!(
        output
            .stderr
            .contains("Suppressed: 1 finding by --new, because the base also has them\n"),
        "{output}"
    );
    gate.provlock(&[&["-C", "live"], &ARGUMENTS[..]].concat())
        .assert_code(0);
}

#[test]
fn tracked_data_that_changes_is_a_finding_of_the_change() {
    let attempts: &[Attempt] = &[
        (
            "another text",
            |gate| gate.write(DATA[1], "#!/bin/evil\n"),
            "tracked-data-directory",
        ),
        (
            "one more file",
            |gate| gate.write("live/.terraform/plugins/y", ""),
            "tracked-data-directory",
        ),
        (
            "one in place of another",
            |gate| gate.rename(DATA[1], "live/.terraform/plugins/y"),
            "tracked-data-directory",
        ),
        (
            "one file less",
            |gate| gate.remove(DATA[1]),
            "tracked-data-directory",
        ),
        (
            "line breaks that git is told to ignore",
            |gate| {
                gate.write(".gitattributes", "*.tf text\n");
                gate.write(DATA[0], "locals {}\n");
            },
            "tracked-data-directory",
        ),
        (
            "in another root module",
            |gate| gate.write("other/.terraform/plugins/x", ""),
            "tracked-data-directory",
        ),
        #[cfg(unix)]
        (
            "a link to a file with the same text",
            |gate| {
                gate.rename(DATA[1], "script");
                gate.link("../../../script", DATA[1]);
            },
            "tracked-data-directory",
        ),
        #[cfg(unix)]
        (
            "a link to a directory with the same files",
            |gate| {
                gate.rename("live/.terraform", "data");
                gate.link("../data", "live/.terraform");
            },
            "tracked-data-directory",
        ),
        (
            "files that git takes for unchanged",
            |gate| {
                gate.git(&["update-index", "--assume-unchanged", DATA[1]]);
                gate.write(DATA[1], "#!/bin/evil\n");
            },
            "tracked-data-directory",
        ),
    ];
    let gate = Gate::with(tracked_data);
    for (name, attempt, code) in attempts {
        attempt(&gate);
        gate.commit();
        let output = gate.provlock(&ARGUMENTS);
        assert_eq!(output.code, Some(1), "{name}: {output}");
        assert!(
            output.stdout.contains(&format!("error[{code}]")),
            "{name}: {output}"
        );
        gate.reset();
    }
    survived(
        "a pull request changes tracked data behind a finding of the base (--new)",
        attempts.len(),
    );
}

#[test]
fn a_link_in_the_base_is_a_link_in_its_copy() {
    let gate = Gate::with(|gate| {
        debts(gate);
        gate.write("shared.tf", requires("evil/null", ""));
        gate.remove("evil/main.tf");
        #[cfg(unix)]
        gate.link("../shared.tf", "evil/main.tf");
    });
    gate.commit();
    gate.provlock(&ARGUMENTS)
        .assert_code(0)
        .assert_stderr_has("Suppressed: 2 findings by --new");
}

#[test]
fn findings_about_moved_copied_or_replaced_content_are_new() {
    let attempts: [Attempt; 8] = [
        (
            "other hashes of what was forbidden",
            |gate| gate.root("evil", EVIL, &[OTHER_H1, ZH]),
            FORBIDDEN,
        ),
        (
            "one more hash",
            |gate| gate.root("evil", EVIL, &[H1, OTHER_H1, ZH]),
            FORBIDDEN,
        ),
        (
            "another version of what was forbidden",
            |gate| {
                gate.write(
                    "evil/.terraform.lock.hcl",
                    lock_file(&[entry(EVIL, "9.9.9", "", &[H1, ZH])]),
                );
            },
            FORBIDDEN,
        ),
        (
            "a copy in another root module",
            |gate| gate.evil("live"),
            FORBIDDEN,
        ),
        (
            "a root module that moves",
            |gate| gate.rename("evil", "moved"),
            FORBIDDEN,
        ),
        (
            "another provider of the same namespace",
            |gate| {
                gate.write("evil/main.tf", requires("evil/other", ""));
                let other = "registry.opentofu.org/evil/other";
                gate.write(
                    "evil/.terraform.lock.hcl",
                    lock_file(&[entry(other, "1.0.0", "", &[H1, ZH])]),
                );
            },
            FORBIDDEN,
        ),
        (
            "a lock file that cannot be read any more",
            |gate| gate.write("evil/.terraform.lock.hcl", "provider \"\n"),
            "lock-file-syntax",
        ),
        (
            "settings that allow it",
            |gate| {
                gate.write(
                    "provlock.toml",
                    "[verify]\nallow = [\"version-outside-constraints\"]\n",
                );
                gate.write("live/main.tf", requires("hashicorp/null", "~> 2.0"));
            },
            "version-outside-constraints",
        ),
    ];
    let gate = Gate::with(debts);
    for (name, attempt, code) in &attempts {
        attempt(&gate);
        gate.commit();
        let output = gate.provlock(&ARGUMENTS);
        assert_eq!(output.code, Some(1), "{name}: {output}");
        assert!(
            output.stdout.contains(&format!("error[{code}]")),
            "{name}: {output}"
        );
        gate.reset();
    }
    survived(
        "a pull request hides its errors behind the base's (--new)",
        attempts.len(),
    );
}

#[test]
fn it_is_about_a_change() {
    let gate = Gate::with(debts);
    gate.provlock(&["verify", "--new"])
        .assert_code(2)
        .assert_stderr_has("--base <REV>");
}
