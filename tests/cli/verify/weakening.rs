//! A change cannot loosen how it is judged: attempts to get a finding past `verify -r --base` by settings, comments and
//! baselines.

use super::gate::{Gate, OTHER_H1};
use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::lock_file;
use crate::repository::Repository;

const RULES: &str = "[verify]\nallow = [\"hash-not-checked\"]\n[roots]\nexclude = [\"examples/**\"]\n";
const KNOWN: &str = r#"{"schema": 1, "findings": [{"path": "old", "code": "no-hashes", "provider": "registry.opentofu.org/hashicorp/null"}]}"#;
const IGNORE: &str = "# provlock: ignore[no-hashes] known\n";
/// What the attempts are about.
const BAD: &str = "no-hashes";

/// A repository whose rules are in `ci/rules.toml` and `ci/known.json`, and whose root module `old` both a comment and
/// the baseline let be without hashes.
fn gate() -> Gate {
    Gate::with(|gate| {
        gate.write("provlock.toml", "");
        gate.write("ci/rules.toml", RULES);
        gate.write("ci/known.json", KNOWN.replace("\"old\"", "\"../old\""));
        gate.write("known.json", KNOWN);
        gate.root("old", NULL, &[]);
        gate.root("commented", NULL, &[]);
        comment(gate, "commented");
    })
}

/// Puts the comment above the entries of a root module.
fn comment(gate: &Gate, root: &str) {
    let path = format!("{root}/.terraform.lock.hcl");
    gate.write(&path, gate.read(&path).replace("provider \"", &format!("{IGNORE}provider \"")));
}

fn bad(gate: &Gate) {
    gate.root("live", NULL, &[]);
}

const FLAGS: [&str; 5] = ["-r", "--config", "ci/rules.toml", "--baseline", "known.json"];

/// An attempt, and the codes of what is found.
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
        ("an edit", (|gate| gate.write("provlock.toml", ALLOW)) as fn(&Gate)),
        ("a nearer file", |gate| gate.write("live/provlock.toml", ALLOW)),
        ("for a path", |gate| {
            gate.write(
                "provlock.toml",
                "[[verify.paths]]\npaths = [\"live\"]\nallow = [\"no-hashes\", \"policy-changed\"]\n",
            );
        }),
    ] {
        bad(&gate);
        attempt(&gate);
        let found = gate.judge(&["-r", "--baseline", "known.json"]);
        assert!(
            found.iter().any(|code| code == BAD) && found.iter().any(|code| code == "policy-changed"),
            "{name}: {found:?}"
        );
        gate.reset();
    }
}

#[test]
fn a_file_of_settings_that_is_named_counts_as_the_base_has_it() {
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
        let output = gate.provlock(&["verify", "-r", "--base", "main", "--config", "ci/strict.toml"]);
        output.assert_code(1).assert_stdout_has("error[hash-not-checked]").assert_stdout_has("error[policy-changed]");
    }
    let gate = gate();
    bad(&gate);
    gate.write("new.toml", ALLOW);
    let found = gate.judge(&["-r", "--config", "new.toml", "--baseline", "known.json"]);
    assert!(found.iter().any(|code| code == BAD) && found.iter().any(|code| code == "policy-changed"), "{found:?}");
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
                let entries = [entry(EVIL, "1.0.0", "", &[]), entry(NULL, "3.2.4", "", &[])].concat();
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
                let line = "# provlock: ignore[hashes-replaced, policy-changed] please\nprovider \"";
                gate.write(path, gate.read(path).replace("provider \"", line));
            },
            &["hashes-replaced", "invalid-ignore"],
        ),
    ]);
}

#[test]
fn the_baseline_counts_as_the_base_has_it() {
    const MORE: &str =
        r#", {"path": "live", "code": "no-hashes", "provider": "registry.opentofu.org/hashicorp/null"}]"#;
    all_are_caught(&[
        (
            "one finding more",
            |gate| {
                bad(gate);
                gate.write("known.json", KNOWN.replace(']', MORE));
            },
            &[BAD, "policy-changed"],
        ),
        (
            "another root module takes the place of one that it knows",
            |gate| {
                bad(gate);
                gate.root("old", NULL, &[H1, OTHER_H1]);
            },
            &[BAD, "stale-baseline"],
        ),
        #[cfg(unix)]
        (
            "a link",
            |gate| {
                bad(gate);
                gate.write("other.json", KNOWN.replace(']', MORE));
                gate.remove("known.json");
                gate.link("other.json", "known.json");
            },
            &[BAD, "policy-changed"],
        ),
    ]);
    let gate = gate();
    bad(&gate);
    gate.write("new.json", KNOWN.replace(']', MORE));
    let found = gate.judge(&["-r", "--config", "ci/rules.toml", "--baseline", "new.json"]);
    assert!(found.iter().filter(|code| *code == BAD).count() == 2, "{found:?}");
}

#[test]
fn to_tighten_is_nothing_new() {
    let gate = gate();
    gate.root("old", NULL, &[H1, OTHER_H1]);
    gate.root("commented", NULL, &[H1, OTHER_H1]);
    gate.write("known.json", r#"{"schema": 1, "findings": []}"#);
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
}

#[test]
fn nobody_removes_the_only_root_module_unseen() {
    let repository = Repository::new();
    repository.environment.write("main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    repository.commit("# empty\n");
    repository.git(["rm", "--quiet", "main.tf", ".terraform.lock.hcl"]);
    repository.git(["commit", "--quiet", "--message=remove"]);

    let arguments = ["verify", "-r", "--base", "HEAD~1", "--deny", "root-removed"];
    repository.environment.provlock(arguments).matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[root-removed]: the root module in . was removed
 --> .terraform.lock.hcl:1:1
  |
1 |
  | ^
  |
help: if this is intended, an owner lets it through with --warn root-removed; a root module that moved is checked as a new one

----- stderr -----
No root module in . or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
1 error in .terraform.lock.hcl
1 error about the change as a whole
"#]]);
    let report = validated(&repository.environment.provlock(arguments.iter().chain(&["--json"])).stdout);
    assert_eq!(report["findings"][0]["code"], "root-removed");
    for format in ["github", "sarif", "gitlab", "junit", "html"] {
        let output = repository.environment.provlock(arguments.iter().chain(&["--format", format]));
        output.assert_code(1).assert_stdout_has("root-removed");
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
1 |
  | ^
  |
help: restore it; if this is intended, an owner lets it through with --warn root-removed

warning[provider-not-required]: evil/null is locked, but the configuration does not require it
 --> examples/a/.terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/evil/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = tofu init -lockfile=readonly fails because of the entry
help: provlock -C examples/a lock --prune, unless a state that is not here still has resources of it

----- stderr -----
1 error and 1 warning in examples/a/.terraform.lock.hcl and old/.terraform.lock.hcl
5 root modules: 1 with errors, 1 with warnings, 3 OK
Suppressed: 1 finding by comments
"#]]);
    gate.git(&["checkout", "--quiet", "HEAD~1", "--", "old/.terraform.lock.hcl"]);
    gate.git(&["rm", "--quiet", "--cached", "old/.terraform.lock.hcl"]);
    gate.write(".gitignore", ".terraform.lock.hcl\n");
    gate.run(&["-r"]).assert_code(1).assert_stdout_has("git no longer has the lock file old/.terraform.lock.hcl");
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
        assert_eq!(gate.errors(&[&format!("./{directory}/main.tf")]), ["root-removed"], "{directory}");
        assert_eq!(gate.errors(&["-r", directory]), ["root-removed"], "{directory}");
        assert_eq!(gate.errors(&["other"]), [] as [&str; 0], "{directory}");
        gate.reset();
    }
}

#[test]
fn a_directory_that_was_removed_as_a_whole_is_one_line() {
    let gate = Gate::with(|gate| {
        for directory in ["team/a", "team/b/c", "team/b/d"] {
            gate.root(directory, NULL, &[H1, ZH]);
        }
    });
    remove(&gate, &["team"]);
    gate.run(&["-r"]).matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[root-removed]: team was removed, with 3 root modules
 --> team/a/.terraform.lock.hcl:1:1
  |
1 |
  | ^
  |
  = root modules: team/a, team/b/c and team/b/d
help: if this is intended, an owner lets it through with --warn root-removed; a root module that moved is checked as a new one

----- stderr -----
1 error in team/a/.terraform.lock.hcl
3 root modules: 2 OK, 1 excluded by provlock.toml
1 error about the change as a whole
"#]]);
}
