//! The severity of findings is changed by `[verify]` in provlock.toml, comments in the lock file,
//! and flags.

use std::collections::BTreeSet;

use super::gate::Gate;
use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, messages, verify};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::{Output, TestEnvironment, str, survived};

const AWS: &str = "registry.opentofu.org/hashicorp/aws";

/// A project whose hashes are in the wrong order, and that locks a provider without need.
fn untidy() -> TestEnvironment {
    let environment = good();
    lock(&environment, &untidy_entries(""));
    environment
}

/// The entries of [`untidy`], the first with a line above it.
fn untidy_entries(line: &str) -> [String; 2] {
    let aws = entry(AWS, "5.0.0", "", &[H1, ZH]);
    [
        aws.replacen("\nprovider", &format!("\n{line}provider"), 1),
        entry(NULL, "3.2.4", "~> 3.0", &[ZH, H1]),
    ]
}

#[test]
fn settings_give_findings_their_level() {
    let environment = untidy();
    assert_eq!(
        found(&environment, &[]),
        ["warning provider-not-required", "warning unsorted-hashes"]
    );
    environment.write(
        "provlock.toml",
        "[verify]\ndeny = [\"unsorted-hashes\"]\nallow = [\"provider-not-required\"]\n",
    );
    assert_eq!(found(&environment, &[]), ["error unsorted-hashes"]);
    assert_eq!(
        found(
            &environment,
            &["--warn", "unsorted-hashes,provider-not-required"]
        )
        .len(),
        2,
        "flags win"
    );
    environment.write(
        "provlock.toml",
        "[verify]\ndeny = [\"warnings\"]\nwarn = [\"unsorted-hashes\"]\n",
    );
    assert_eq!(
        found(&environment, &[]),
        ["error provider-not-required", "warning unsorted-hashes"]
    );
    assert_eq!(
        found(&environment, &["--deny", "warnings"]),
        ["error provider-not-required", "error unsorted-hashes"]
    );
    environment.write("provlock.toml", "");
    let flags = [
        "--deny",
        "warnings",
        "--warn",
        "unsorted-hashes",
        "--allow",
        "provider-not-required",
    ];
    assert_eq!(found(&environment, &flags), ["warning unsorted-hashes"]);
}

#[test]
fn the_last_flag_for_a_code_applies() {
    let environment = untidy();
    let other = "warning provider-not-required";
    let [error, warning] = ["error unsorted-hashes", "warning unsorted-hashes"];
    for (flags, expected) in [
        (
            "--deny unsorted-hashes --warn unsorted-hashes",
            &[other, warning][..],
        ),
        (
            "--warn unsorted-hashes --deny unsorted-hashes",
            &[other, error],
        ),
        ("--deny unsorted-hashes --allow unsorted-hashes", &[other]),
        (
            "--allow unsorted-hashes --deny unsorted-hashes",
            &[other, error],
        ),
        (
            "--allow unsorted-hashes --warn unsorted-hashes",
            &[other, warning],
        ),
        ("--warn unsorted-hashes --allow unsorted-hashes", &[other]),
        // In lists, beside other codes.
        (
            "--deny downgrade,unsorted-hashes,no-hashes --warn no-hashes,unsorted-hashes",
            &[other, warning],
        ),
        (
            "--warn=no-hashes,unsorted-hashes --deny=downgrade,unsorted-hashes,no-hashes",
            &[other, error],
        ),
        // Repeated.
        (
            "--deny unsorted-hashes --warn unsorted-hashes --deny unsorted-hashes",
            &[other, error],
        ),
        (
            "--allow unsorted-hashes --deny unsorted-hashes --allow downgrade,unsorted-hashes",
            &[other],
        ),
        // A code takes precedence over `warnings`, wherever it is.
        (
            "--warn unsorted-hashes --deny warnings",
            &["error provider-not-required", warning],
        ),
        (
            "--deny warnings,unsorted-hashes --allow provider-not-required --warn unsorted-hashes",
            &[warning],
        ),
    ] {
        let flags: Vec<_> = flags.split(' ').collect();
        assert_eq!(found(&environment, &flags), expected, "{flags:?}");
    }
    // Flags win over settings, whatever their order.
    environment.write("provlock.toml", "[verify]\ndeny = [\"unsorted-hashes\"]\n");
    let flags = ["--deny", "unsorted-hashes", "--warn", "unsorted-hashes"];
    assert_eq!(found(&environment, &flags), [other, warning]);
}

/// The gate of docs/gate.md, without the network.
const RECIPE: [&str; 6] = [
    "verify",
    "-r",
    "--base",
    "main",
    "--deny",
    "downgrade,signing-key-changed,untracked-lock-file",
];

/// The ways out that helps of a run name: `--warn CODE`.
fn ways_out(output: &Output) -> BTreeSet<String> {
    let text = [output.stdout.as_str(), output.stderr.as_str()].concat();
    let helps = text.lines().filter(|line| line.starts_with("help: "));
    let mut codes = BTreeSet::new();
    for help in helps {
        if let Some((_, code)) = help.split_once("--warn ") {
            codes.insert(code.to_owned());
        }
    }
    codes
}

/// A code, and a change that has it.
type Case = (&'static str, fn(&Gate));

#[test]
fn the_way_out_that_a_help_names_works_at_the_end_of_the_recipe() {
    let cases: &[Case] = &[
        ("root-removed", |gate| {
            gate.remove("live/.terraform.lock.hcl");
        }),
        ("downgrade", |gate| {
            let entry = entry(NULL, "3.2.3", "", &[H1, ZH]);
            gate.write("live/.terraform.lock.hcl", lock_file(&[entry]));
        }),
        #[cfg(unix)]
        ("not-decided", |gate| {
            gate.rename("live", "elsewhere");
            gate.link("elsewhere", "live");
        }),
    ];
    for (code, change) in cases {
        let gate = Gate::new();
        change(&gate);
        gate.commit();
        let stopped = gate.provlock(&RECIPE);
        stopped
            .assert_code(1)
            .assert_stdout_has(&format!("error[{code}]"));
        let ways_out = ways_out(&stopped);
        assert!(ways_out.contains(*code), "{stopped}");

        let mut arguments = RECIPE.to_vec();
        for way_out in &ways_out {
            arguments.extend(["--warn", way_out]);
        }
        let output = gate.provlock(&arguments);
        output.assert_stdout_has(&format!("warning[{code}]"));
        assert!(
            !output.stdout.contains(&format!("error[{code}]")),
            "{output}"
        );
    }
}

/// Outside of a repository, nothing is tracked, and the recipe of such a job must be able to pass.
#[test]
fn the_way_out_works_where_git_cannot_be_asked() {
    let environment = good();
    let recipe = ["verify", "--deny", "downgrade,untracked-lock-file"];
    let stopped = environment.provlock(recipe);
    stopped.assert_code(2);
    assert_eq!(
        ways_out(&stopped),
        BTreeSet::from(["untracked-lock-file".to_owned()])
    );
    let appended = ["--warn", "untracked-lock-file"];
    environment
        .provlock(recipe.iter().chain(&appended))
        .assert_code(0);
}

#[test]
fn a_level_may_be_for_some_root_modules() {
    let environment = untidy();
    for root in ["legacy/a", "live/a"] {
        environment.write(format!("{root}/main.tf"), environment.read("main.tf"));
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            environment.lock_file(),
        );
    }
    let settings = "[verify]\ndeny = [\"unsorted-hashes\"]\nallow = [\"provider-not-required\"]\n\
        [[verify.paths]]\npaths = [\"legacy/**\"]\nallow = [\"unsorted-hashes\"]\n\
        [[verify.paths]]\npaths = [\".\"]\nwarn = [\"provider-not-required\", \"unsorted-hashes\"]\n";
    environment.write("provlock.toml", settings);
    assert_eq!(found(&environment, &["legacy/a"]), NOTHING);
    assert_eq!(found(&environment, &["live/a"]), ["error unsorted-hashes"]);
    assert_eq!(
        found(&environment, &["."]),
        ["warning provider-not-required", "warning unsorted-hashes"]
    );
}

#[test]
fn a_nearer_file_lowers_no_level() {
    let environment = good();
    environment.git_init(".");
    environment.write("live/main.tf", environment.read("main.tf"));
    environment.write(
        "live/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[])]),
    );
    environment.git(".", ["add", "."]);
    let mut attempts = 0;
    for (above, expected) in [
        ("deny = [\"warnings\"]", "error no-hashes"),
        (
            "deny = [\"warnings\"]\nallow = [\"downgrade\"]",
            "error no-hashes",
        ),
        ("deny = [\"no-hashes\"]", "error no-hashes"),
        ("warn = [\"no-hashes\"]", "warning no-hashes"),
        (
            "deny = [\"warnings\"]\nwarn = [\"no-hashes\"]",
            "warning no-hashes",
        ),
    ] {
        for nearer in [
            "[verify]\nallow = [\"no-hashes\"]\n",
            "[verify]\nwarn = [\"no-hashes\"]\n",
            "[[verify.paths]]\npaths = [\".\"]\nallow = [\"no-hashes\"]\n",
        ] {
            environment.write("provlock.toml", format!("[verify]\n{above}\n"));
            environment.write("live/provlock.toml", nearer);
            assert_eq!(
                found(&environment, &["live"]),
                [expected],
                "{above}, {nearer}"
            );
            attempts += 1;
        }
    }
    survived("a nearer file that lowers the level of a finding", attempts);
}

#[test]
fn a_nearer_file_can_only_tighten() {
    let environment = untidy();
    environment.write(".git/HEAD", "ref: refs/heads/main\n");
    environment.write("live/main.tf", environment.read("main.tf"));
    environment.write("live/.terraform.lock.hcl", environment.lock_file());
    let check = |above: &str, nearer: &str| {
        environment.write("provlock.toml", format!("[verify]\n{above}"));
        environment.write("live/provlock.toml", format!("[verify]\n{nearer}"));
        found(
            &environment,
            &[
                "live",
                "--allow",
                "provider-not-required,untracked-lock-file",
            ],
        )
    };
    assert_eq!(
        check(
            "deny = [\"unsorted-hashes\"]",
            "allow = [\"unsorted-hashes\"]"
        ),
        ["error unsorted-hashes"]
    );
    assert_eq!(
        check("deny = [\"warnings\"]", "allow = [\"unsorted-hashes\"]"),
        ["error unsorted-hashes"]
    );
    assert_eq!(
        check(
            "warn = [\"unsorted-hashes\"]",
            "allow = [\"unsorted-hashes\"]"
        ),
        ["warning unsorted-hashes"]
    );
    assert_eq!(
        check(
            "allow = [\"unsorted-hashes\"]",
            "deny = [\"unsorted-hashes\"]"
        ),
        ["error unsorted-hashes"]
    );
    assert_eq!(check("", "allow = [\"unsorted-hashes\"]"), NOTHING);
    environment.write(
        "live/main.tf",
        "module \"m\" {\n  source = \"git::https://example.com/m.git\"\n}\n",
    );
    let pinned = check(
        "[policy]\npin-modules = true",
        "allow = [\"module-ref-floating\", \"unsorted-hashes\"]",
    );
    assert!(
        pinned.contains(&"error module-ref-floating".to_owned()),
        "{pinned:?}"
    );
}

#[test]
fn invalid_settings_are_errors_at_their_position() {
    let environment = good();
    for (settings, place, message) in [
        (
            "[verify]\ndeny = [\"warning\"]",
            "2:9",
            "\"warning\": unknown finding",
        ),
        (
            "[verify]\nallow = [\"no-hashes\", \"io\"]",
            "2:23",
            "\"io\": unknown finding",
        ),
        (
            "[verify]\nallow = [\"hash-not-published\"]",
            "2:10",
            "hash-not-published cannot be loosened",
        ),
        (
            "[verify]\nwarn = [\"namespace-not-allowed\"]",
            "2:9",
            "namespace-not-allowed cannot be loosened",
        ),
        (
            "[verify]\ndeny = [\"downgrade\"]\nallow = [\"downgrade\"]",
            "3:10",
            "downgrade is listed twice",
        ),
        (
            "[[verify.paths]]\nallow = [\"downgrade\"]",
            "1:1",
            "missing field `paths`",
        ),
        (
            "[[verify.paths]]\npaths = [\"a[\"]\n",
            "2:10",
            "unclosed character class",
        ),
    ] {
        environment.write("provlock.toml", settings);
        let output = environment.provlock(["verify"]);
        output
            .assert_code(2)
            .assert_stderr_has(message)
            .assert_stderr_has(&format!("provlock.toml:{place}\n"));
    }
}

#[test]
fn a_comment_ignores_findings_about_its_entry() {
    let environment = good();
    lock(
        &environment,
        &untidy_entries("# provlock: ignore[provider-not-required] state still holds it\n"),
    );
    assert_eq!(
        found(&environment, &[]),
        ["warning unsorted-hashes"],
        "of the other entry"
    );
    lock(
        &environment,
        &untidy_entries("// Ours.\n# provlock: ignore[provider-not-required] why\n# Really.\n"),
    );
    assert_eq!(found(&environment, &[]), ["warning unsorted-hashes"]);
    let report = validated(&verify(&environment, &[]).stdout);
    assert_eq!(report["roots"][0]["suppressed"]["ignored"], 1);
    assert_eq!(report["roots"][0]["findings"][0]["providers"][0], NULL);
}

#[test]
fn a_comment_that_ignores_nothing_is_a_finding() {
    let environment = good();
    let with = |line: &str| {
        lock(&environment, &untidy_entries(line));
        found(
            &environment,
            &["--allow", "unsorted-hashes,provider-not-required"],
        )
    };
    assert_eq!(
        with("# provlock: ignore[no-hashes] why\n"),
        ["warning unused-ignore"]
    );
    assert_eq!(
        with("# provlock: ignore[provider-not-required]\n"),
        ["warning invalid-ignore"],
        "no reason"
    );
    assert_eq!(
        with("# provlock: ignore[no-such-code] why\n"),
        ["warning invalid-ignore"]
    );
    assert_eq!(
        with("# provlock: ignore[hashes-replaced] why\n"),
        ["warning invalid-ignore"]
    );
    assert_eq!(with("# provlock: ignore why\n"), ["warning invalid-ignore"]);
    assert_eq!(
        with("# provlock: ignore[provider-not-required] why\n\n"),
        ["warning unused-ignore"],
        "a blank line"
    );
    assert_eq!(
        with("# provlock: ignore[version-withdrawn] why\n"),
        NOTHING,
        "nobody has asked"
    );
    assert_eq!(
        with("# provlock: ignore[provider-not-required, unknown-hash-scheme] why\n"),
        ["warning unused-ignore"]
    );
}

#[test]
fn invalid_ignore_comments_are_reported_at_their_position() {
    let environment = good();
    lock(
        &environment,
        &untidy_entries("# provlock: ignore[no-hashes, provider-not-required] why\n"),
    );
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[unused-ignore]: this comment ignores no-hashes, but hashicorp/aws has no such finding
 --> .terraform.lock.hcl:4:1
  |
4 | # provlock: ignore[no-hashes, provider-not-required] why
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: remove it

note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
  --> .terraform.lock.hcl:5:10
   |
 5 | provider "registry.opentofu.org/hashicorp/aws" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
13 | provider "registry.opentofu.org/hashicorp/null" {
   |          --------------------------------------
   |
help: provlock lock -p all, or set platforms in provlock.toml

warning[unsorted-hashes]: the hashes of hashicorp/null are unsorted or duplicated
  --> .terraform.lock.hcl:18:5
   |
18 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ should be further up
   |
help: provlock lock --repair

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
2 warnings and 1 note in .terraform.lock.hcl
Suppressed: 1 finding by comments
"#]]);
}

#[test]
fn editing_keeps_the_comments() {
    let registry = provlock_test::registry::Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let comment = "# provlock: ignore[single-platform] CI only\nprovider ";
    environment.write_lock_file(environment.lock_file().replace("provider ", comment));
    assert_eq!(messages(&environment, &["--warn", "single-platform"]), "");
    environment
        .provlock(["lock", "-p", "darwin_arm64"])
        .assert_code(0);
    assert!(
        environment.lock_file().contains(comment),
        "{}",
        environment.lock_file()
    );
    let unused = ["--warn", "single-platform", "--deny", "unused-ignore"];
    assert_eq!(
        found(&environment, &unused),
        ["error unused-ignore"],
        "now there are two h1"
    );
}

#[test]
fn a_file_of_settings_can_be_named() {
    let environment = untidy();
    environment.write("provlock.toml", "[verify]\ndeny = [\"warnings\"]\n");
    let settings = "[verify]\n[[verify.paths]]\npaths = [\".\"]\nallow = [\"unsorted-hashes\", \"provider-not-required\"]\n";
    environment.write("ci/other.toml", settings);
    assert_eq!(found(&environment, &["--config", "ci/other.toml"]), NOTHING);
    environment
        .provlock(["lock", "--config", "ci/none.toml"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: cannot read ci/none.toml: [..] (os error 2)
"#]]);
    environment.write(
        "ci/other.toml",
        "[policy]\nallowed-namespaces = [\"acme\"]\n",
    );
    let output = environment.provlock(["lock", "--offline", "--config", "ci/other.toml"]);
    output
        .assert_code(2)
        .assert_stderr_has("namespace-not-allowed");
}

/// Settings of one named directory do not apply to findings about another one.
#[test]
fn findings_about_the_whole_change_have_the_level_of_their_own_directories() {
    let gate = Gate::with(|gate| {
        gate.write(
            "live/provlock.toml",
            "[verify]\nallow = [\"not-decided\"]\n",
        );
    });
    gate.write("live/MAIN.TF", "");
    assert_eq!(gate.errors(&["-r", "live", "other"]), [] as [&str; 0]);
    gate.write("other/MAIN.TF", "");
    for paths in [["live", "other"], ["other", "live"]] {
        assert_eq!(
            gate.errors(&[&["-r"], &paths[..]].concat()),
            ["not-decided"],
            "{paths:?}"
        );
    }
}
