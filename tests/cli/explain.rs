//! `provlock explain`: the meaning of a code.

use provlock::diagnostic::Code;
use provlock_test::{TestEnvironment, str};

use super::json_output::validated;

#[test]
fn a_code_is_explained() {
    let environment = TestEnvironment::new();
    environment
        .provlock(["explain", "no-hashes"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
no-hashes: An entry has no hash that could identify its package.

Severity: error
Class: Lock file and configuration

Error. A provider or a module is locked without any hash, or only with hashes of schemes other than
`h1:` and `zh:`, which OpenTofu and Terraform ignore.

Why it matters. `init` accepts every package that claims to be this version, and records its hash:
an opportunity for an attacker.

How to fix. Run `provlock lock -p all`, or with the platforms that you use, which records the hashes
of the signed release. For a module, remove the entry and run `provlock lock --modules`.

Reviewer: ask. Does the pull request change a constraint or a source on purpose? Then the lock file
must change in the same pull request.

Owner: let through, by one of:
- `--warn no-hashes` at the end of the command, for one run
- `warn = ["no-hashes"]` in `[verify]` of `provlock.toml`
- `# provlock: ignore[no-hashes] REASON` above the entry
"#]]);
}

#[test]
fn the_nearest_code_is_proposed() {
    let environment = TestEnvironment::new();
    let output = environment.provlock(["explain", "no-hash"]);
    output.assert_code(2);
    assert!(
        output
            .stderr
            .contains("tip: a similar value exists: 'no-hashes'\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn every_code_is_listed_and_has_a_page() {
    let environment = TestEnvironment::new();
    let list = environment.provlock(["explain"]).stdout;
    assert_eq!(list.lines().count(), Code::ALL.len());
    let json = validated(&environment.provlock(["explain", "--json"]).stdout);
    for (code, explanation) in Code::ALL
        .iter()
        .zip(json["explanations"].as_array().unwrap())
    {
        assert_eq!(explanation["code"], code.as_str());
        assert_ne!(
            explanation["page"].as_str().unwrap(),
            code.summary(),
            "{code} has no page"
        );
    }
}

#[test]
fn pages_have_no_stray_spaces_and_no_links() {
    let environment = TestEnvironment::new();
    for code in Code::ALL {
        let output = environment.provlock(["explain", code.as_str()]);
        output.assert_code(0).assert_stdout_has(code.as_str());
        for line in output.stdout.lines() {
            assert!(!line.trim_end().contains("  "), "{code}: {line:?}");
            assert!(
                line == line.trim_end() && !line.contains("]("),
                "{code}: {line:?}"
            );
        }
    }
}
