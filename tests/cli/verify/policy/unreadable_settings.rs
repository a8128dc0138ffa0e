//! A `provlock.toml` that cannot be read is an error in the pull request that brings it, and one of
//! the base does not stop the pull request that repairs it.

use provlock_test::str;

use super::gate::{FORBIDDEN, Gate};

/// Settings that cannot be read, and a part of the reason.
const BROKEN: [(&str, &str); 5] = [
    ("[policy", "unclosed table"),
    ("dialect = \"pulumi\"", "is not a dialect"),
    ("platform = \"all\"", "unknown field `platform`"),
    ("[policy]\nmin-age = 7", "invalid type"),
    ("\u{feff}\0", "provlock.toml"),
];
const CACHE: &str = "[cache]\nshared = \"oci://registry.example.com/facts\"\n\
    trusted-keys = [\"ed25519:vjO/CpuikOpevsb4jBzMcnOUUN0zWU2hHFSk05mnT/0=\"]\n";
const FLAGS: [&str; 3] = ["-r", "--warn", "policy-changed"];

#[test]
fn settings_that_cannot_be_read_are_an_error_that_no_flag_allows() {
    for (text, reason) in BROKEN {
        for path in ["provlock.toml", "live/provlock.toml"] {
            let gate = Gate::new();
            gate.write(path, text);
            gate.commit();
            let output = gate.run(&FLAGS);
            output.assert_code(1).assert_has("error[invalid-argument]");
            output.assert_has(reason).assert_has(path);
            let allowed = ["--allow", "policy-changed,single-platform"];
            gate.run(&[&["-r"], &allowed[..]].concat()).assert_code(1);
        }
    }
    let gate = Gate::new();
    gate.write("provlock.toml", b"dialect = \"\xff\"");
    gate.commit();
    gate.run(&FLAGS)
        .assert_code(1)
        .assert_has("it is not UTF-8 text");
    gate.write("provlock.toml", "platform = \"all\"\n");
    gate.run(&FLAGS).matches(str![[r#"
exit code: 1
----- stdout -----
error[invalid-argument]: unknown field `platform`, expected one of `dialect`, `platforms`, `without-platforms`, `fetch-modules`, `modules`, `roots`, `policy`, `verify`, `trust`, `cache`
 --> provlock.toml:1:1
  |
1 | platform = "all"
  | ^^^^^^^^
  |
help: did you mean platforms?

warning[policy-changed]: provlock.toml has changed; this change is checked without it
--> provlock.toml:1:1
 |
help: review what it will allow for later changes

----- stderr -----
1 error and 1 warning in provlock.toml
3 root modules: 2 OK, 1 excluded by provlock.toml
1 error and 1 warning about the change as a whole
"#]]);
}

#[test]
fn a_nested_cache_is_an_error_wherever_it_comes_from() {
    let gate = Gate::new();
    gate.write("live/provlock.toml", CACHE);
    gate.run(&FLAGS)
        .assert_code(1)
        .assert_has("[cache] may only be in the topmost provlock.toml");

    let gate = Gate::with(|gate| {
        gate.remove("provlock.toml");
        gate.write("live/provlock.toml", CACHE);
    });
    gate.run(&FLAGS).assert_code(0);
    gate.write("provlock.toml", "");
    gate.run(&FLAGS)
        .assert_code(1)
        .assert_has("[cache] may only be in the topmost provlock.toml");
}

#[test]
fn named_settings_that_cannot_be_read_are_an_error() {
    let flags = [
        "-r",
        "--config",
        "ci/rules.toml",
        "--warn",
        "policy-changed",
    ];
    for (text, reason) in BROKEN {
        let gate = super::policy_changed::gate();
        gate.write("ci/rules.toml", text);
        let output = gate.run(&flags);
        output
            .assert_code(2)
            .assert_has(reason.trim_end_matches("provlock.toml"));
    }
    let gate = Gate::with(|gate| gate.write("ci/rules.toml", "platform = \"all\""));
    gate.run(&flags).assert_code(2);
    gate.write("ci/rules.toml", "platforms = [\"linux_amd64\"]\n");
    gate.run(&flags)
        .assert_code(0)
        .assert_has("that of the base cannot be read, so this change is checked with it");
}

/// A repository whose settings cannot be read, with these at a path.
fn broken(path: &'static str, text: &'static str) -> Gate {
    Gate::with(|gate| gate.write(path, text))
}

#[test]
fn a_change_can_repair_settings_of_the_base() {
    const POLICY: &str = "[policy]\nallowed-namespaces = [\"hashicorp\"]\n\
        [roots]\nexclude = [\"**/examples/**\"]\n";
    for (text, _) in BROKEN {
        let gate = broken("provlock.toml", text);
        gate.run(&["-r"]).assert_code(2);
        gate.write("provlock.toml", POLICY);
        gate.run(&FLAGS).assert_code(0).assert_has(
            "provlock.toml has changed; that of the base cannot be read, so this change is checked with it",
        );
        assert_eq!(gate.judge(&["-r"]), ["policy-changed"]);
        gate.evil("live");
        let found = gate.judge(&["-r"]);
        assert!(found.contains(&FORBIDDEN.to_owned()), "{found:?}");
    }
}

#[test]
fn settings_that_the_base_has_apply_beside_a_repaired_file() {
    let gate = broken("live/provlock.toml", "[policy");
    gate.write("live/provlock.toml", "");
    gate.write("provlock.toml", "");
    gate.evil("live");
    let found = gate.judge(&["-r"]);
    assert!(found.contains(&FORBIDDEN.to_owned()), "{found:?}");

    let gate = broken("live/provlock.toml", CACHE);
    gate.run(&["-r"]).assert_code(2);
    gate.write("live/provlock.toml", "");
    gate.run(&FLAGS).assert_code(0);
    gate.remove("live/provlock.toml");
    gate.run(&FLAGS)
        .assert_code(0)
        .assert_has("live/provlock.toml was removed; that of the base cannot be read");
    gate.write("provlock.toml", "");
    gate.evil("live");
    let found = gate.judge(&["-r"]);
    assert!(found.contains(&FORBIDDEN.to_owned()), "{found:?}");
}

#[test]
fn a_repair_that_cannot_be_read_is_refused() {
    let gate = broken("provlock.toml", "[policy");
    gate.write("provlock.toml", "[roots");
    gate.run(&FLAGS).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: unclosed table, expected `]`
 --> provlock.toml:1:7
  |
1 | [roots
  |       ^
  |
  = the file of the base revision cannot be used, either
"#]]);
    gate.write("provlock.toml", "[policy");
    let unchanged = gate.run(&FLAGS);
    unchanged.assert_code(2).assert_stderr_has("[policy");
}

#[cfg(unix)]
#[test]
fn a_file_of_the_base_is_called_so_if_a_link_replaces_it() {
    let gate = broken("provlock.toml", "\n\n\n[policy");
    gate.write("other.toml", "");
    gate.remove("provlock.toml");
    gate.link("other.toml", "provlock.toml");
    gate.commit();
    let output = gate.run(&FLAGS);
    output
        .assert_code(2)
        .assert_stderr_has("provlock.toml:4:")
        .assert_stderr_has("this is the file of the base revision");
}
