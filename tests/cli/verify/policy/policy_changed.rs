//! `policy-changed` and similar findings: settings and comments of a pull request cannot loosen how
//! `verify -r --base` checks it.

use super::gate::{Gate, OTHER_H1};
use super::{H1, NULL, ZH, entry};
use crate::lock::lock_file;

const RULES: &str =
    "[verify]\nallow = [\"hash-not-checked\"]\n[roots]\nexclude = [\"examples/**\"]\n";
const IGNORE: &str = "# provlock: ignore[no-hashes] known\n";
/// The finding that the attempts try to hide.
const BAD: &str = "no-hashes";

/// A repository whose rules are in `ci/rules.toml`, and in which a comment lets the root module
/// `commented` be without hashes.
pub(in crate::verify) fn gate() -> Gate {
    Gate::with(|gate| {
        gate.write("provlock.toml", "");
        gate.write("ci/rules.toml", RULES);
        gate.root("old", NULL, &[H1, OTHER_H1]);
        gate.root("commented", NULL, &[]);
        comment(gate, "commented");
    })
}

/// Puts the comment above the entries of a root module.
fn comment(gate: &Gate, root: &str) {
    let path = format!("{root}/.terraform.lock.hcl");
    gate.write(
        &path,
        gate.read(&path)
            .replace("provider \"", &format!("{IGNORE}provider \"")),
    );
}

fn bad(gate: &Gate) {
    gate.root("live", NULL, &[]);
}

const FLAGS: [&str; 3] = ["-r", "--config", "ci/rules.toml"];

/// An attempt, and the codes of the findings.
type Attempt = (&'static str, fn(&Gate), &'static [&'static str]);

#[track_caller]
fn all_are_caught(attempts: &[Attempt]) {
    let gate = gate();
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0], "nothing has changed");
    for (name, attempt, codes) in attempts {
        attempt(&gate);
        let found = gate.judge(&FLAGS);
        for code in *codes {
            assert!(found.iter().any(|found| found == code), "{name}: {found:?}");
        }
        gate.reset();
    }
}

#[test]
fn settings_count_as_the_base_has_them() {
    const ALLOW: &str = "[verify]\nallow = [\"no-hashes\"]\n";
    let gate = gate();
    for (name, attempt) in [
        (
            "an edit",
            (|gate| gate.write("provlock.toml", ALLOW)) as fn(&Gate),
        ),
        ("a nearer file", |gate| {
            gate.write("live/provlock.toml", ALLOW);
        }),
        ("for a path", |gate| {
            gate.write(
                "provlock.toml",
                "[[verify.paths]]\npaths = [\"live\"]\nallow = [\"no-hashes\", \"policy-changed\"]\n",
            );
        }),
    ] {
        bad(&gate);
        attempt(&gate);
        let found = gate.judge(&["-r"]);
        assert!(
            found.iter().any(|code| code == BAD)
                && found.iter().any(|code| code == "policy-changed"),
            "{name}: {found:?}"
        );
        gate.reset();
    }
}

#[test]
fn a_named_settings_file_is_read_from_the_base() {
    const ALLOW: &str = "[verify]\nallow = [\"no-hashes\", \"hash-not-checked\"]\n";
    all_are_caught(&[
        (
            "an edit",
            |gate| {
                bad(gate);
                gate.write("ci/rules.toml", ALLOW);
            },
            &[BAD, "policy-changed"],
        ),
        (
            "a root module that the file excludes",
            |gate| {
                bad(gate);
                gate.write("ci/rules.toml", "[roots]\nexclude = [\"live\"]\n");
            },
            &[BAD, "policy-changed"],
        ),
        #[cfg(unix)]
        (
            "a link to another file",
            |gate| {
                bad(gate);
                gate.write("other.toml", ALLOW);
                gate.remove("ci/rules.toml");
                gate.link("../other.toml", "ci/rules.toml");
            },
            &[BAD, "policy-changed"],
        ),
        #[cfg(unix)]
        (
            "a directory that is a link",
            |gate| {
                bad(gate);
                gate.rename("ci", "moved");
                gate.write("moved/rules.toml", ALLOW);
                gate.link("moved", "ci");
            },
            &[BAD, "policy-changed"],
        ),
    ]);
    #[cfg(unix)]
    {
        const STRICT: &str = "[verify]\ndeny = [\"hash-not-checked\"]\n";
        let gate = Gate::with(|gate| gate.write("ci/strict.toml", STRICT));
        gate.root("live", NULL, &[H1, OTHER_H1, ZH]);
        gate.rename("ci", "moved");
        gate.write("moved/strict.toml", "");
        gate.link("moved", "ci");
        gate.commit();
        let output = gate.provlock(&[
            "verify",
            "-r",
            "--base",
            "main",
            "--config",
            "ci/strict.toml",
        ]);
        output
            .assert_code(1)
            .assert_stdout_has("error[hash-not-checked]")
            .assert_stdout_has("error[policy-changed]");
    }
    let gate = gate();
    bad(&gate);
    gate.write("new.toml", ALLOW);
    let found = gate.judge(&["-r", "--config", "new.toml"]);
    assert!(
        found.iter().any(|code| code == BAD) && found.iter().any(|code| code == "policy-changed"),
        "{found:?}"
    );
}

#[test]
fn comments_count_as_the_base_has_them() {
    const EVIL: &str = "registry.opentofu.org/evil/null";
    all_are_caught(&[
        (
            "a new comment",
            |gate| {
                bad(gate);
                comment(gate, "live");
            },
            &[BAD, "policy-changed"],
        ),
        (
            "the entry below a comment is for another provider",
            |gate| {
                gate.root("commented", EVIL, &[]);
                comment(gate, "commented");
            },
            &[BAD, "policy-changed"],
        ),
        (
            "another entry comes between",
            |gate| {
                let entries =
                    [entry(EVIL, "1.0.0", "", &[]), entry(NULL, "3.2.4", "", &[])].concat();
                gate.write(
                    "commented/.terraform.lock.hcl",
                    lock_file(&[entries.replacen("\nprovider", &format!("\n{IGNORE}provider"), 1)]),
                );
            },
            &[BAD, "policy-changed"],
        ),
        (
            "a root module that is copied",
            |gate| {
                gate.root("copy", NULL, &[]);
                comment(gate, "copy");
            },
            &[BAD, "policy-changed"],
        ),
        (
            "another finding",
            |gate| {
                gate.root("commented", NULL, &[ZH, H1]);
                comment(gate, "commented");
            },
            &["unsorted-hashes"],
        ),
        (
            "a finding that cannot be ignored",
            |gate| {
                gate.root("other", NULL, &[H1, &ZH.replace('0', "1")]);
                let path = "other/.terraform.lock.hcl";
                let line =
                    "# provlock: ignore[hashes-replaced, policy-changed] please\nprovider \"";
                gate.write(path, gate.read(path).replace("provider \"", line));
            },
            &["hashes-replaced", "invalid-ignore"],
        ),
    ]);
}

/// Settings of [`Gate`] in a different order, with comments.
const SAME: &str = "# Ours.\n[roots]\nexclude = [\n  \"**/examples/**\", # for users\n]\n\
    [policy]\nallowed-namespaces = [ \"hashicorp\" ]\n";

/// The severities of `policy-changed` in a run.
fn policy_changed(gate: &Gate) -> Vec<String> {
    let mut found = gate.judged(&["-r"]);
    found.retain(|(_, code)| code == "policy-changed");
    found.into_iter().map(|(severity, _)| severity).collect()
}

#[test]
fn equal_settings_are_silent_and_stricter_ones_a_note() {
    let settings = Gate::new().read("provlock.toml");
    let cases: &[(&str, &str, String, &[&str])] = &[
        ("equal", "provlock.toml", SAME.to_owned(), &[]),
        (
            "a comment",
            "provlock.toml",
            format!("# Why.\n{settings}"),
            &[],
        ),
        (
            "a minimum age",
            "provlock.toml",
            format!("{SAME}min-age = \"7d\"\n"),
            &["note"],
        ),
        (
            "an empty list",
            "provlock.toml",
            SAME.replace("\"hashicorp\"", ""),
            &["note"],
        ),
        (
            "a file in a directory",
            "live/provlock.toml",
            "[policy]\nrequire-signed = true\n".to_owned(),
            &["note"],
        ),
        (
            "an empty file in a directory",
            "live/provlock.toml",
            "# Nothing yet.\n".to_owned(),
            &[],
        ),
        (
            "one key stricter, one looser",
            "provlock.toml",
            format!("{}min-age = \"7d\"\n", SAME.replace("hashicorp", "evil")),
            &["error"],
        ),
        (
            "a further exclusion",
            "provlock.toml",
            SAME.replace("exclude = [", "exclude = [\"live\","),
            &["error"],
        ),
        (
            "a further namespace",
            "provlock.toml",
            SAME.replace("\"hashicorp\"", "\"hashicorp\", \"evil\""),
            &["error"],
        ),
    ];
    for (name, path, text, expected) in cases {
        let gate = Gate::new();
        gate.write(path, text);
        assert_eq!(policy_changed(&gate), *expected, "{name}");
    }
}

#[test]
fn adoption_is_a_note() {
    const TODAY: &str = "dialect = \"tofu\"\nplatforms = [\"linux_amd64\"]\n[policy]\n\
        allowed-hosts = [\"registry.opentofu.org\"]\n\
        allowed-namespaces = [\"registry.opentofu.org/hashicorp\"]\n\
        min-age = \"7d\"\nmin-age-exempt = [\"hashicorp/null\"]\n\
        [verify]\ndeny = [\"downgrade\"]\n";
    let before = |gate: &Gate| gate.remove("provlock.toml");
    for (name, text, expected) in [
        ("of today", TODAY.to_owned(), "note"),
        (
            "with an excluded directory",
            format!("{TODAY}[roots]\nexclude = [\"live\"]\n"),
            "error",
        ),
        (
            "of the other tool",
            TODAY.replace("\"tofu\"", "\"terraform\""),
            "error",
        ),
        (
            "with a suppressed finding",
            format!("{TODAY}allow = [\"no-hashes\"]\n"),
            "error",
        ),
        (
            "with a namespace that looks like a different one",
            TODAY.replace("org/hashicorp\"", "org/hashicorp\", \"hashlcorp\""),
            "error",
        ),
        (
            "with a host that looks like a different one",
            TODAY.replace(
                "[\"registry.opentofu.org\"]",
                "[\"registry.opentofu.org\", \"registry.0pentofu.org\"]",
            ),
            "error",
        ),
    ] {
        let gate = Gate::with(before);
        gate.write("provlock.toml", &text);
        assert_eq!(policy_changed(&gate), [expected], "{name}");
    }
}

#[test]
fn a_first_dialect_is_a_note_if_nothing_at_the_base_says_otherwise() {
    let opentofu: fn(&Gate) = |gate| gate.write("Makefile", "init:\n\ttofu init\n");
    let tofu_file: fn(&Gate) = |gate| gate.write("live/more.tofu", "");
    let locked: fn(&Gate) = |gate| gate.root("locked", NULL, &[H1, ZH]);
    for (name, more, path, expected) in [
        (
            "nothing",
            (|_| ()) as fn(&Gate),
            "provlock.toml",
            ["note", "note"],
        ),
        ("a mention", opentofu, "provlock.toml", ["note", "error"]),
        ("a file", tofu_file, "provlock.toml", ["note", "error"]),
        (
            "a file elsewhere",
            tofu_file,
            "other/provlock.toml",
            ["note", "error"],
        ),
        ("a lock file", locked, "provlock.toml", ["note", "error"]),
        (
            "a lock file elsewhere",
            locked,
            "other/provlock.toml",
            ["note", "error"],
        ),
    ] {
        for (dialect, expected) in ["tofu", "terraform"].into_iter().zip(expected) {
            let gate = Gate::with(|gate| {
                gate.remove("provlock.toml");
                for root in ["live", "other", "examples/a"] {
                    gate.remove(&format!("{root}/.terraform.lock.hcl"));
                }
                more(gate);
            });
            gate.write(path, format!("dialect = \"{dialect}\"\n"));
            assert_eq!(policy_changed(&gate), [expected], "{name}: {dialect}");
        }
    }
    // The change cannot bring the file that another tool reads together with the setting.
    let gate = Gate::with(|gate| {
        gate.remove("provlock.toml");
        for root in ["live", "other", "examples/a"] {
            gate.remove(&format!("{root}/.terraform.lock.hcl"));
        }
    });
    gate.write("provlock.toml", "dialect = \"terraform\"\n");
    gate.write("live/main.tofu", "");
    assert_eq!(policy_changed(&gate), ["error"]);
}

#[test]
fn a_named_file_is_compared_as_values() {
    let gate = gate();
    gate.write("ci/rules.toml", format!("# Ours.\n{RULES}"));
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
    gate.write(
        "ci/rules.toml",
        format!("{RULES}[policy]\npin-modules = true\n"),
    );
    assert_eq!(
        gate.judged(&FLAGS),
        [("note".to_owned(), "policy-changed".to_owned())]
    );
}

#[test]
fn to_tighten_is_nothing_new() {
    let gate = gate();
    gate.root("commented", NULL, &[H1, OTHER_H1]);
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
}

#[test]
fn changed_settings_are_reported_and_not_used() {
    let gate = Gate::new();
    gate.evil("live");
    gate.write("provlock.toml", "");
    gate.write("other/.terraform/terraform.tfstate", "");
    gate.write("new/main.tf", "provider \"null\" {}\n");
    gate.0.git(["rm", "--quiet", "-r", "examples"]);
    gate.judge(&["-r"]);
    gate.0.provlock(["verify", "--allow", "single-platform", "-r", "--base", "main"]).matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[policy-changed]: provlock.toml has changed; this change is checked without it
--> provlock.toml:1:1
 = may allow more: policy.allowed-namespaces
help: review what it will allow for later changes; if this is intended, an owner allows it with --warn policy-changed

error[namespace-not-allowed]: the policy does not allow evil/null: its namespace is registry.opentofu.org/evil
 --> live/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/evil/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: use another provider, or add "registry.opentofu.org/evil" to allowed-namespaces in provlock.toml; if this is intended, an owner allows it with --warn namespace-not-allowed

error[tracked-data-directory]: git tracks other/.terraform/terraform.tfstate, which init would trust as installed by itself
help: git rm -r --cached other/.terraform, and add .terraform/ to .gitignore; if this is intended, an owner allows it with --warn tracked-data-directory

warning[hash-not-checked]: 2 hashes of evil/null 3.2.4 were added, and nothing on this machine confirms them
 --> live/.terraform.lock.hcl:7:5
  |
7 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock -C live verify --online

note[decision-changed]: hashicorp/null 3.2.4 is no longer locked
--> live/.terraform.lock.hcl:1:1
 |
help: make sure that this is intended

note[decision-changed]: evil/null 3.2.4 is locked
 --> live/.terraform.lock.hcl:5:13
  |
5 |   version = "3.2.4"
  |             ^^^^^^^
  |
help: make sure that this is intended

----- stderr -----
3 errors, 1 warning and 2 notes in 3 files
2 root modules: 2 with errors
1 changed module: needs no lock file
1 error about the change as a whole
Passed over: 1 directory without a sign of a root module; -v lists them
"#]]);
}
