//! The gate: pull requests that add, replace or hide packages, checked by `verify -r --base`.
//!
//! A pull request cannot switch the gate off: attempts to get an entry past `verify -r --base`.

mod added;
mod data_directory;
mod decisions;
mod dialects;
mod everyday_changes;
pub(super) mod gate_bypass;
mod gate_table;
mod impostors;
mod lost_platforms;
#[cfg(unix)]
mod other_readings;
#[cfg(unix)]
mod outside_modules;
mod own_repository;
mod programs;
mod read_files;
mod replaced_modules;
mod replaced_paths;
#[cfg(unix)]
mod retargeted_links;
mod root_removed;
mod stacks;
mod unit_files;
mod unit_sources;
mod unknown;
mod variable_sources;

use super::*;
use std::fs;

use provlock_test::{Output, survived};
use serde_json::Value;

use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::git::Repository;

const EVIL: &str = "registry.opentofu.org/evil/null";
pub(super) const OTHER_ZH: &str =
    "zh:1111111111111111111111111111111111111111111111111111111111111111";
pub(super) const OTHER_H1: &str = "h1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
/// A hash that no lock file of the base records.
const UNKNOWN_H1: &str = "h1:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
/// A commit of a module.
pub(in crate::verify) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const SETTINGS: &str =
    "[policy]\nallowed-namespaces = [\"hashicorp\"]\n[roots]\nexclude = [\"**/examples/**\"]\n";
/// The finding about a provider that the policy does not allow.
pub(super) const FORBIDDEN: &str = "namespace-not-allowed";

/// An entry of a lock file of modules.
pub(in crate::verify) fn locked(name: &str, source: &str, package: &str) -> String {
    let [source, package] = [source, package].map(|text| text.replace('\\', "\\\\"));
    format!(
        "module \"{name}\" {{\n  source  = \"{source}\"\n  package = \"{package}\"\n  hashes = [\n    \"{H1}\",\n    \
         \"{ZH}\",\n  ]\n}}\n"
    )
}

/// A repository with two root modules and a policy, on a branch for the change.
pub(super) struct Gate(pub(super) Repository);

impl Gate {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A repository with more in it than that.
    pub(super) fn with(prepare: impl FnOnce(&Self)) -> Self {
        let gate = Self(Repository::new());
        gate.write("provlock.toml", SETTINGS);
        gate.root("live", NULL, &[H1, ZH]);
        gate.root("other", NULL, &[H1, ZH]);
        gate.write("examples/a/main.tf", "");
        gate.write(
            "examples/a/.terraform.lock.hcl",
            lock_file(&[entry(EVIL, "1.0.0", "", &[H1])]),
        );
        prepare(&gate);
        gate.0.environment.commit_all(".");
        gate.0.git(["checkout", "--quiet", "-b", "change"]);
        gate
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        self.0.environment.write(path, text);
    }

    /// Writes a root module that locks this provider only.
    pub(super) fn root(&self, directory: &str, provider: &str, hashes: &[&str]) {
        self.write(
            &format!("{directory}/main.tf"),
            requires(provider.split_once('/').unwrap().1, ""),
        );
        let entry = entry(provider, "3.2.4", "", hashes);
        self.write(
            &format!("{directory}/.terraform.lock.hcl"),
            lock_file(&[entry]),
        );
    }

    pub(super) fn project(&self) -> std::path::PathBuf {
        self.0.environment.project()
    }

    pub(super) fn read(&self, path: &str) -> String {
        self.0.environment.read(path)
    }

    /// Runs git, which must succeed, and returns its standard output.
    #[track_caller]
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.0.environment.git(".", arguments)
    }

    pub(super) fn provlock(&self, arguments: &[&str]) -> Output {
        self.0.environment.provlock(arguments)
    }

    /// Locks a provider that the policy forbids.
    pub(super) fn evil(&self, directory: &str) {
        self.root(directory, EVIL, &[H1, ZH]);
    }

    /// Locks a provider that the policy forbids, and writes a file that might hide it.
    fn evil_and(&self, path: &str, text: impl AsRef<[u8]>) {
        self.evil("live");
        self.write(path, text);
    }

    /// Locks a provider that the policy forbids, and removes a file.
    fn evil_without(&self, path: &str) {
        self.evil("live");
        self.remove(path);
    }

    /// Renames a root module, and locks a provider there that the policy forbids.
    fn evil_after_rename(&self, to: &str) {
        self.rename("live", to);
        self.evil(to);
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        let project = self.0.environment.project();
        fs::create_dir_all(project.join(to).parent().unwrap()).unwrap();
        fs::rename(project.join(from), project.join(to)).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.0.environment.project().join(path)).unwrap();
    }

    #[cfg(unix)]
    pub(super) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.0.environment.project().join(path)).unwrap();
    }

    /// Commits everything, also what git ignores.
    pub(super) fn commit(&self) {
        self.0.git(["add", "--all", "--force"]);
        self.0
            .git(["commit", "--quiet", "--allow-empty", "--message=change"]);
    }

    /// Output of `verify` for the committed change.
    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        let base = [
            "verify",
            "--allow",
            "single-platform,decision-changed",
            "--base",
            "main",
        ];
        self.0.environment.provlock(base.iter().chain(arguments))
    }

    /// The codes of findings in the change after everything in it has been committed.
    pub(super) fn judge(&self, arguments: &[&str]) -> Vec<String> {
        self.judged(arguments)
            .into_iter()
            .map(|(_, code)| code)
            .collect()
    }

    /// The codes of the errors in the change once everything in it is committed.
    pub(super) fn errors(&self, arguments: &[&str]) -> Vec<String> {
        let judged = self.judged(arguments).into_iter();
        judged
            .filter(|(severity, _)| severity == "error")
            .map(|(_, code)| code)
            .collect()
    }

    /// The severity and the code of each finding in the change once everything in it is committed.
    pub(super) fn judged(&self, arguments: &[&str]) -> Vec<(String, String)> {
        self.commit();
        let base = [
            "verify",
            "--json",
            "--allow",
            "single-platform,decision-changed",
            "--base",
            "main",
        ];
        let output = self.0.environment.provlock(base.iter().chain(arguments));
        let report = validated(&output.stdout);
        let of_roots = report["roots"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|root| root["findings"].as_array())
            .flatten();
        let of_change = report["findings"].as_array().into_iter().flatten();
        let errors = report["errors"].as_array().unwrap();
        let text = |value: &Value, otherwise: &str| value.as_str().unwrap_or(otherwise).to_owned();
        let found = |finding: &Value| {
            (
                text(&finding["severity"], "error"),
                text(&finding["code"], ""),
            )
        };
        of_change.chain(of_roots).chain(errors).map(found).collect()
    }

    /// Starts another attempt.
    pub(super) fn reset(&self) {
        self.0.git(["reset", "--quiet", "--hard", "main"]);
        self.0.git(["clean", "--quiet", "-ffdx"]);
    }
}

/// An attempt, and the code of a finding.
pub(super) type Attempt = (&'static str, fn(&Gate), &'static str);

#[track_caller]
fn all_are_caught(attack: &str, attempts: &[Attempt]) {
    let gate = Gate::new();
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0], "nothing has changed");
    for (name, attempt, code) in attempts {
        attempt(&gate);
        let found = gate.judge(&["-r"]);
        assert!(found.iter().any(|found| found == code), "{name}: {found:?}");
        gate.reset();
    }
    survived(attack, attempts.len());
}

#[test]
fn an_entry_that_the_policy_forbids_is_found_wherever_it_is() {
    all_are_caught(
        "a pull request puts a forbidden provider into an unusual place",
        &[
            ("in a root module", |gate| gate.evil("live"), FORBIDDEN),
            ("in a new root module", |gate| gate.evil("new"), FORBIDDEN),
            (
                "in a hidden directory",
                |gate| gate.evil(".hidden"),
                FORBIDDEN,
            ),
            (
                "in a vendored directory",
                |gate| gate.evil("node_modules/a"),
                FORBIDDEN,
            ),
            (
                "in an excluded directory",
                |gate| gate.evil("examples/b"),
                FORBIDDEN,
            ),
            ("among modules", |gate| gate.evil("modules/b"), FORBIDDEN),
            (
                "below .terraform",
                |gate| gate.evil("live/.terraform/modules/a"),
                FORBIDDEN,
            ),
            (
                "below .terragrunt-cache",
                |gate| gate.evil(".terragrunt-cache/a"),
                FORBIDDEN,
            ),
            (
                "without a configuration",
                |gate| gate.evil_without("live/main.tf"),
                FORBIDDEN,
            ),
            (
                "beside a configuration that is broken",
                |gate| gate.evil_and("live/main.tf", "terraform {"),
                "invalid-configuration",
            ),
            (
                "beside another program's configuration",
                |gate| {
                    gate.evil("live");
                    gate.rename("live/main.tf", "live/main.tofu");
                },
                FORBIDDEN,
            ),
            (
                "beside a terragrunt.hcl",
                |gate| {
                    gate.evil_and(
                        "live/terragrunt.hcl",
                        "terraform {\n  source = \"../other\"\n}\n",
                    );
                },
                FORBIDDEN,
            ),
            (
                "with other line breaks",
                |gate| {
                    gate.evil("live");
                    let path = "live/.terraform.lock.hcl";
                    gate.write(
                        path,
                        format!(
                            "\u{feff}{}",
                            gate.0.environment.read(path).replace('\n', "\r\n")
                        ),
                    );
                },
                FORBIDDEN,
            ),
            (
                "after a rename",
                |gate| gate.evil_after_rename("Live"),
                FORBIDDEN,
            ),
            (
                "after a rename to a name that looks the same",
                |gate| gate.evil_after_rename("l\u{456}ve"),
                FORBIDDEN,
            ),
            (
                "in another repository in this one",
                |gate| {
                    gate.evil("sub");
                    gate.0.git(["init", "--quiet", "sub"]);
                    gate.0.git(["-C", "sub", "add", "--all"]);
                    gate.0
                        .git(["-C", "sub", "commit", "--quiet", "--message=evil"]);
                },
                FORBIDDEN,
            ),
        ],
    );
}

/// The rules of a directory do not follow a root module that leaves it, so leaving them is a
/// finding.
#[test]
fn a_root_module_that_leaves_its_settings_is_seen() {
    let rules = "[policy]\nallowed-namespaces = [\"hashicorp\"]\n";
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", "");
        gate.write("live/provlock.toml", rules);
    });
    let attempts: [Attempt; 3] = [
        (
            "the settings move along",
            |gate| gate.rename("live", "renamed"),
            "policy-changed",
        ),
        (
            "they move along and allow more",
            |gate| {
                gate.rename("live", "renamed");
                gate.write("renamed/provlock.toml", "");
                gate.evil("renamed");
            },
            "policy-changed",
        ),
        (
            "they stay",
            |gate| {
                gate.rename("live/main.tf", "renamed/main.tf");
                gate.rename("live/.terraform.lock.hcl", "renamed/.terraform.lock.hcl");
                gate.evil("renamed");
            },
            "root-removed",
        ),
    ];
    for (name, attempt, code) in attempts {
        attempt(&gate);
        assert!(
            gate.errors(&["-r"]).iter().any(|found| found == code),
            "{name}"
        );
        gate.reset();
    }
    survived(
        "a pull request moves a root module away from its settings",
        attempts.len(),
    );
}

#[test]
#[cfg(unix)]
fn symbolic_links_hide_nothing() {
    all_are_caught(
        "a pull request adds symbolic links",
        &[
            (
                "a root module that is a link to a directory that is skipped",
                |gate| {
                    gate.rename("live", ".terraform/live");
                    gate.link(".terraform/live", "live");
                    gate.evil(".terraform/live");
                },
                FORBIDDEN,
            ),
            (
                "that its place is a link is seen",
                |gate| {
                    gate.rename("live", "elsewhere");
                    gate.link("elsewhere", "live");
                },
                "root-removed",
            ),
            (
                "a lock file that is a link",
                |gate| {
                    gate.evil("live");
                    gate.rename("live/.terraform.lock.hcl", "live/a.txt");
                    gate.link("a.txt", "live/.terraform.lock.hcl");
                },
                FORBIDDEN,
            ),
            (
                "a settings file that is a link",
                |gate| {
                    gate.evil("live");
                    gate.remove("provlock.toml");
                    gate.write("empty", "");
                    gate.link("empty", "provlock.toml");
                },
                FORBIDDEN,
            ),
        ],
    );
}

/// No run reads a lock file beside a called module, so it need not fit the configuration.
#[test]
fn whether_a_lock_file_fits_its_configuration_matters_in_root_modules_only() {
    let gate = Gate::with(|gate| {
        gate.write(
            "provlock.toml",
            format!("platforms = [\"linux_amd64\", \"darwin_arm64\"]\n{SETTINGS}"),
        );
        for root in ["live", "other"] {
            gate.root(root, NULL, &[H1, OTHER_H1, ZH]);
        }
        gate.root("called", NULL, &[H1]);
        gate.write("called/main.tf", requires("hashicorp/random", "~> 3.0"));
        gate.write(
            "caller/main.tf",
            "module \"m\" {\n  source = \"../called\"\n}\n",
        );
        gate.write("examples/a/main.tf", requires("hashicorp/random", ""));
    });
    assert_eq!(gate.judge(&["-r"]), [] as [&str; 0], "nothing has changed");
    assert!(
        !gate.judge(&["called"]).is_empty(),
        "it is named, so it is a root module"
    );
    gate.0
        .provlock(["verify", "-r", "--base", "main"])
        .matches(provlock_test::str![[r#"
exit code: 0
----- stderr -----
OK: 3 providers locked as required
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
3 root modules: 2 OK, 1 excluded by provlock.toml
1 other lock file: OK
Passed over: 1 directory without a sign of a root module; -v lists them
"#]]);
    gate.root("called", NULL, &[H1, UNKNOWN_H1]);
    assert_eq!(gate.judge(&["-r"]), ["hash-not-checked"]);
    gate.root("called", EVIL, &[H1, ZH]);
    assert!(gate.judge(&["-r"]).iter().any(|code| code == FORBIDDEN));
    gate.write(
        "called/.terraform.lock.hcl",
        "<<<<<<< a\n=======\n>>>>>>> b\n",
    );
    assert_eq!(gate.judge(&["-r"]), ["conflict-markers"]);
}

#[test]
fn hashes_that_a_change_adds_are_checked() {
    all_are_caught(
        "a pull request adds or replaces hashes",
        &[
            (
                "a zh for another",
                |gate| gate.root("live", NULL, &[H1, OTHER_ZH]),
                "hashes-replaced",
            ),
            (
                "one more zh",
                |gate| gate.root("live", NULL, &[H1, ZH, OTHER_ZH]),
                "hashes-replaced",
            ),
            (
                "one more h1",
                |gate| gate.root("live", NULL, &[H1, OTHER_H1, ZH]),
                "hash-not-checked",
            ),
            (
                "one more h1 after a rename",
                |gate| {
                    gate.rename("live", "moved");
                    gate.root("moved", NULL, &[H1, OTHER_H1, ZH]);
                },
                "hash-not-checked",
            ),
            (
                "in a new root module",
                |gate| gate.root("new", NULL, &[OTHER_H1]),
                "hash-not-checked",
            ),
        ],
    );
}

#[test]
fn without_recursion_only_the_root_modules_that_are_named_count() {
    let gate = Gate::new();
    gate.evil("live");
    gate.write("provlock.toml", "");
    assert_eq!(gate.judge(&["other"]), ["policy-changed"]);
    let found = gate.judge(&["live"]);
    assert!(found.iter().any(|found| found == FORBIDDEN), "{found:?}");
}

#[test]
#[cfg(unix)]
fn git_runs_no_program_of_the_repository() {
    let gate = Gate::new();
    let marker = gate.0.environment.root().join("ran");
    let program = crate::credentials_helper::write_program;
    let monitor = gate.0.environment.root().join("monitor");
    program(
        &monitor,
        &format!("#!/bin/sh\necho ran >> {}\n", marker.display()),
    );
    gate.0
        .git(["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    gate.0
        .provlock(["verify", "-r", "--base", "main"])
        .assert_code(0);
    gate.0.provlock(["diff", "-r"]).assert_code(0);
    assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap());

    // A directory that looks like a bare repository brings a configuration of its own.
    gate.0.git(["init", "--quiet", "--bare", "live/.store"]);
    let store = gate.0.environment.project().join("live/.store");
    let output = gate
        .0
        .environment
        .command(["diff", "-r"])
        .run_in(&store)
        .run();
    output
        .assert_code(2)
        .assert_stderr_has("safe.bareRepository");
}

#[test]
fn paths_are_no_patterns() {
    let gate = Gate::new();
    gate.evil("examples/b");
    gate.0.git(["add", "--all"]);
    for variable in [
        "GIT_LITERAL_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
    ] {
        let command = gate
            .0
            .environment
            .command(["verify", "-r", "--base", "main"]);
        command.env(variable, "1").run().assert_code(1);
    }
}
