//! Hosts, namespaces and providers that a change adds, and versions that are too young.

use super::gate::Gate;
use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use crate::upgrade::age::document;
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str, survived};

const GAMMA: &str = "registry.opentofu.org/acme/gamma";

/// A repository of two root modules without settings, and with a module that nothing calls.
fn gate(settings: &str) -> Gate {
    Gate::with(|gate| {
        gate.write("provlock.toml", settings);
        gate.remove("examples/a/.terraform.lock.hcl");
        gate.write("modules/unused/main.tf", requires("hashicorp/null", ""));
    })
}

/// Writes a root module that requires and locks just this provider.
fn root(gate: &Gate, directory: &str, address: &str) {
    gate.root(directory, address, &[H1, ZH]);
    gate.write(&format!("{directory}/main.tf"), requires(address, ""));
}

const FLAGS: [&str; 3] = ["-r", "--allow", "hash-not-checked"];

/// An entry in a comment of REV makes nothing known.
#[test]
fn a_comment_of_the_base_contains_no_provider() {
    let evil = "modules.example.com/acme/gamma";
    let comment = format!("/*\nprovider \"{evil}\" {{\n}}\n*/\n");
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", "[policy]\nnew-hosts = \"deny\"\n");
        gate.remove("examples/a/.terraform.lock.hcl");
        gate.write(
            "other/.terraform.lock.hcl",
            comment.clone() + &gate.read("other/.terraform.lock.hcl"),
        );
    });
    root(&gate, "live", evil);
    let found = gate.judge(&FLAGS);
    let new = found.iter().filter(|code| *code == "publisher-added");
    assert_eq!(new.count(), 3, "host, namespace and provider: {found:?}");
    survived("a comment of the base contains the entry of a new host", 1);
}

#[test]
fn additions_of_a_change_are_notes() {
    let gate = gate("");
    root(&gate, "live", "registry.opentofu.org/hashicorp/random");
    assert_eq!(gate.judge(&FLAGS), ["publisher-added"]);
    root(&gate, "live", GAMMA);
    assert_eq!(gate.judge(&FLAGS), ["publisher-added", "publisher-added"]);
    root(&gate, "live", "modules.example.com/acme/gamma");
    assert_eq!(
        gate.judge(&FLAGS),
        ["publisher-added", "publisher-added", "publisher-added"]
    );
    gate.run(&FLAGS).matches(str![[r#"
exit code: 0
----- stdout -----
warning[publisher-added]: the host modules.example.com is new: the base locks no provider from it
 --> live/.terraform.lock.hcl:4:10
  |
4 | provider "modules.example.com/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: find out who runs the host, because it controls the packages

note[publisher-added]: the namespace modules.example.com/acme is new: the base locks no provider from it
 --> live/.terraform.lock.hcl:4:10
  |
4 | provider "modules.example.com/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: find out whose namespace it is

note[publisher-added]: modules.example.com/acme/gamma is new: no lock file of the base contains it
 --> live/.terraform.lock.hcl:4:10
  |
4 | provider "modules.example.com/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: make sure that this provider and its publisher are intended

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning and 2 notes in live/.terraform.lock.hcl
2 root modules: 1 with warnings, 1 OK
"#]]);
}

#[test]
fn providers_of_other_root_modules_are_not_new() {
    let gate = gate("");
    root(&gate, "third", NULL);
    assert_eq!(gate.judge(&FLAGS), [] as [&str; 0]);
}

#[test]
fn providers_in_an_invalid_lock_file_of_the_base_are_not_new() {
    let locked = entry(GAMMA, "3.2.4", "", &[H1, ZH]);
    let conflict = format!("<<<<<<< ours\n{locked}=======\n{locked}>>>>>>> theirs\n");
    for text in [
        conflict,
        format!("{locked}\n{locked}"),
        locked.replace("h1:", "h1"),
    ] {
        let gate = Gate::with(|gate| {
            gate.write("provlock.toml", "");
            gate.remove("examples/a/.terraform.lock.hcl");
            gate.write("other/.terraform.lock.hcl", &text);
        });
        root(&gate, "live", GAMMA);
        let found = gate.judge(&FLAGS);
        assert!(
            !found.iter().any(|code| code.ends_with("-added")),
            "{found:?}\n{text}"
        );
    }
}

#[test]
fn settings_deny_what_a_change_brings() {
    for (settings, number) in [
        ("[policy]\nnew-hosts = \"deny\"\n", 1),
        ("[verify]\ndeny = [\"host-added\"]\n", 1),
        ("[verify]\ndeny = [\"namespace-added\"]\n", 1),
        ("[verify]\ndeny = [\"provider-added\"]\n", 1),
        ("[verify]\ndeny = [\"publisher-added\"]\n", 3),
    ] {
        let gate = gate(settings);
        root(&gate, "live", "modules.example.com/acme/gamma");
        let expected = vec!["publisher-added"; number];
        assert_eq!(gate.errors(&FLAGS), expected, "{settings}");
    }
    let gate = gate("[verify]\ndeny = [\"warnings\"]\n");
    root(&gate, "live", "registry.opentofu.org/hashicorp/random");
    assert_eq!(
        gate.errors(&FLAGS),
        [] as [&str; 0],
        "a note is not a warning"
    );
}

#[test]
fn new_hosts_are_denied_or_allowed() {
    let environment = super::good();
    environment.write("provlock.toml", "[policy]\nnew-hosts = \"never\"\n");
    environment
        .provlock(["verify"])
        .assert_code(2)
        .assert_stderr_has("write \"deny\" or \"allow\"");
}

/// An attempt, and the finding.
type Attempt = (&'static str, fn(&Gate), &'static [&'static str]);

const POLICY: &str = "[policy]\nallowed-namespaces = [\"hashicorp\"]\npin-modules = true\n\
    [roots]\nexclude = [\"examples/**\"]\n";
const FLOATING: &str = "module \"m\" {\n  source = \"git::https://example.com/m.git\"\n}\n";

/// Makes each attempt under a policy, and expects its findings.
#[track_caller]
fn unlocked_are_found(attempts: &[Attempt]) {
    let gate = gate(POLICY);
    for (name, attempt, codes) in attempts {
        attempt(&gate);
        let found = gate.judge(&FLAGS);
        for code in *codes {
            assert!(
                found.iter().any(|found| found == code),
                "{name}: {code} is not in {found:?}"
            );
        }
        gate.reset();
    }
    survived(
        "a pull request requires what the policy forbids, and locks nothing",
        attempts.len(),
    );
}

#[test]
fn unlocked_requirements_of_a_change_are_checked() {
    unlocked_are_found(&[
        (
            "a new directory without a lock file",
            |gate| gate.write("infra/evil/main.tf", requires("evil/null", "")),
            &["namespace-not-allowed"],
        ),
        (
            "a directory that the settings exclude",
            |gate| gate.write("examples/b/main.tf", requires("evil/null", "")),
            &["namespace-not-allowed"],
        ),
        (
            "a test",
            |gate| {
                gate.write(
                    "modules/unused/tests/a.tftest.hcl",
                    "run \"a\" {\n  module {\n    source = \"./evil\"\n  }\n}\n",
                );
                gate.write("modules/unused/evil/main.tf", requires("evil/null", ""));
            },
            &["namespace-not-allowed"],
        ),
        (
            "an impostor",
            |gate| gate.write("new/main.tf", requires("hashlcorp/null", "")),
            &["look-alike"],
        ),
        (
            "a module that floats",
            |gate| gate.write("new/main.tf", FLOATING),
            &["module-ref-floating"],
        ),
        (
            "beside a lock file that is no root module's",
            |gate| {
                gate.write(
                    "modules/unused/.terraform.lock.hcl",
                    lock_file(&[entry(NULL, "3.2.4", "", &[H1, ZH])]),
                );
                gate.write(
                    "modules/unused/more.tf",
                    "module \"m\" {\n  source = \"./evil\"\n}\n",
                );
                gate.write("modules/unused/evil/main.tf", requires("evil/null", ""));
            },
            &["namespace-not-allowed"],
        ),
    ]);
}

#[test]
fn unlocked_requirements_of_modules_of_a_change_are_checked() {
    unlocked_are_found(&[
        (
            "a module that nothing calls",
            |gate| {
                gate.write(
                    "modules/unused/more.tf",
                    "resource \"evil_null\" \"a\" {\n  provider = evil\n}\n",
                );
            },
            &["publisher-added"],
        ),
        (
            "a module that a root module calls",
            |gate| {
                gate.write(
                    "live/call.tf",
                    "module \"m\" {\n  source = \"../called\"\n}\n",
                );
                gate.write("called/main.tf", requires("evil/null", ""));
            },
            &["provider-not-locked", "namespace-not-allowed"],
        ),
        (
            "a module that only a module which is no root module calls",
            |gate| {
                gate.write(
                    "wrapper/main.tf",
                    "module \"m\" {\n  source = \"../evil\"\n}\n",
                );
                gate.write("evil/main.tf", requires("evil/null", ""));
            },
            &["namespace-not-allowed"],
        ),
    ]);
}

#[test]
fn honest_changes_of_modules_are_counted_and_nothing_else() {
    let gate = gate("[policy]\nallowed-namespaces = [\"hashicorp\"]\n");
    gate.write(
        "modules/unused/more.tf",
        "resource \"null_resource\" \"a\" {}\n",
    );
    gate.write("templates/{{name}}/main.tf", "module \"{{ name }}\" {");
    gate.judge(&FLAGS);
    gate.run(&FLAGS).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers of 2 root modules locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
2 root modules: 2 OK
1 changed module: needs no lock file
"#]]);
}

#[test]
fn a_version_that_is_too_young_is_not_let_in() {
    let registry = Registry::start();
    registry.add_host("api.opentofu.org");
    document(
        &registry,
        "acme/gamma",
        &[("1.2.0", 2), ("1.1.0", 8), ("1.0.0", 3)],
    );
    for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] {
        registry
            .publish("acme/gamma", version)
            .platforms(["linux_amd64"])
            .done();
    }
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    let environment = &repository.environment;
    let lock = |version: &str| {
        environment.write("main.tf", requires("acme/gamma", version));
        environment
            .provlock(["upgrade", "-p", "linux_amd64", "--min-age", "0d"])
            .assert_code(0);
    };
    let commit = |settings: &str, version: &str| {
        environment.write("provlock.toml", settings);
        lock(version);
        repository.environment.commit_all(".");
    };
    let verify = |flags: &[&str]| {
        environment.provlock(
            ["verify", "-p", "linux_amd64", "--base", "HEAD"]
                .iter()
                .chain(flags),
        )
    };
    let found = || {
        let report = validated(&verify(&["--online", "--json"]).stdout);
        let findings = report["roots"][0]["findings"].as_array().unwrap().clone();
        findings
            .into_iter()
            .filter(|finding| finding["code"] == "version-too-young")
            .count()
    };
    commit("[policy]\nmin-age = \"7d\"\n", "1.0.0");
    assert_eq!(
        found(),
        0,
        "what was locked before stays, however young it is"
    );
    lock("1.1.0");
    assert_eq!(found(), 0, "it is old enough");
    lock("1.3.0");
    assert_eq!(found(), 1, "nobody knows its age");
    lock("1.2.0");
    verify(&["--online"]).matches(str![[r#"
exit code: 1
----- stdout -----
note[decision-changed]: acme/gamma 1.0.0 → 1.2.0, as the configuration demands (1.2.0)
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.2.0"
  |                 ^^^^^^^
  |
help: make sure that this is intended

error[version-too-young]: acme/gamma 1.2.0 may not be used yet: published [TIME], and it must be 7 days old
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.2.0"
  |                 ^^^^^^^
  |
help: wait until it is old enough, or lock an older version; if this is intended, an owner allows it with --warn version-too-young

----- stderr -----
1 error and 1 note in .terraform.lock.hcl
"#]]);
    verify(&["--allow", "hash-not-checked"]).matches(str![[r#"
exit code: 0
----- stdout -----
note[decision-changed]: acme/gamma 1.0.0 → 1.2.0, as the configuration demands (1.2.0)
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.2.0"
  |                 ^^^^^^^
  |
help: make sure that this is intended

warning[version-too-young]: acme/gamma 1.2.0 is new, and its age was not checked against min-age
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "1.2.0"
  |                 ^^^^^^^
  |
help: provlock verify --online -p linux_amd64

----- stderr -----
Not checked: hashes against the registry (--online does)
1 warning and 1 note in .terraform.lock.hcl
"#]]);
    environment.write(
        "provlock.toml",
        "[policy]\nmin-age = \"1d\"\nmin-age-exempt = [\"acme/gamma\"]\n",
    );
    assert_eq!(found(), 1, "the settings of the change do not count");
    environment.write(
        "provlock.toml",
        "[policy]\nmin-age = \"7d\"\n[verify]\nallow = [\"version-too-young\"]\n",
    );
    assert_eq!(found(), 1, "nor do its levels");
    survived("a pull request adds a version that is too young", 4);

    commit(
        "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"acme/gamma\"]\n",
        "1.0.0",
    );
    lock("1.2.0");
    assert_eq!(found(), 0, "it is exempt");
    commit("", "1.0.0");
    lock("1.2.0");
    assert_eq!(found(), 0, "nobody demands an age");
}

#[test]
fn a_report_in_html_does_not_repeat_what_was_not_checked() {
    let registry = Registry::start();
    for version in ["1.0.0", "1.1.0"] {
        registry
            .publish("registry.example.com/acme/gamma", version)
            .platforms(["linux_amd64"])
            .done();
    }
    registry.last_modified("*_SHA256SUMS", "Wed, 01 Jan 2020 00:00:00 GMT");
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    let environment = &repository.environment;
    let lock = |version: &str| {
        environment.write(
            "main.tf",
            requires("registry.example.com/acme/gamma", version),
        );
        environment
            .provlock(["upgrade", "-p", "linux_amd64", "--min-age", "0d"])
            .assert_code(0);
    };
    environment.write("provlock.toml", "[policy]\nmin-age = \"7d\"\n");
    lock("1.0.0");
    environment.commit_all(".");
    lock("1.1.0");
    let verify = [
        "verify",
        "-p",
        "linux_amd64",
        "--base",
        "HEAD",
        "--online",
        "--format",
        "html",
    ];
    let output = environment.provlock(verify);
    let note = "Not checked: dates of releases on registry.example.com (Last-Modified, the server's own claim)\n";
    assert_eq!(output.stderr.matches(note).count(), 1, "{output}");
}

/// Without encryption anybody on the way can replace the module.
#[test]
fn a_module_source_that_loses_its_encryption_has_a_new_publisher() {
    let call = |source: &str| format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
    let git = call("git::https://example.com/acme/m.git?ref=v1.0.0");
    let (archive, ssh) = (
        call("https://example.com/m.zip"),
        call("git@example.com:acme/m.git"),
    );
    let gate = Gate::with(|gate| {
        gate.write("live/git.tf", &git);
        gate.write("other/archive.tf", &archive);
    });
    let flags = ["-r", "--allow", "module-not-installed"];
    gate.write("live/git.tf", git.replace("https", "http"));
    gate.run(&flags).matches(str![[r#"
exit code: 0
----- stdout -----
warning[publisher-added]: module "m" comes from http://example.com/acme, which is new: the base calls no module from it
 --> live/git.tf:2:12
  |
2 |   source = "git::http://example.com/acme/m.git?ref=v1.0.0"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: make sure that you trust the publisher

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: unknown requirements of 2 root modules
1 warning in live/git.tf
3 root modules: 1 with warnings, 1 partly checked, 1 excluded by provlock.toml
"#]]);
    gate.write("live/git.tf", git.replace("https", "git"));
    assert_eq!(gate.judge(&flags), ["publisher-added"]);
    gate.write("live/git.tf", &ssh);
    assert_eq!(gate.judge(&flags), [] as [&str; 0], "ssh is encrypted");
    gate.write("other/archive.tf", archive.replace("https", "http"));
    assert_eq!(gate.judge(&flags), ["publisher-added"]);
    gate.git(&["branch", "--force", "main"]);
    assert_eq!(gate.judge(&flags), [] as [&str; 0], "the base calls it");
}

const COMMIT_OF_EVIL: &str =
    "git::https://github.com/evil/m.git?ref=0123456789abcdef0123456789abcdef01234567";

#[test]
fn a_hidden_call_of_a_module_does_not_make_its_publisher_known() {
    let call = |name: &str, owner: &str| {
        format!(
            "module \"{name}\" {{\n  source = \"git::https://github.com/{owner}/m.git?ref=v1\"\n}}\n"
        )
    };
    let gate = Gate::with(|gate| {
        gate.write("live/call.tf", call("m", "acme"));
        gate.write("modules/net/v.tf", "");
    });
    let flags = ["-r", "--allow", "module-not-installed"];
    gate.write("modules/net/evil.tf", call("e", "evil"));
    gate.write("modules/net/evil.tofu", "locals {}\n");
    assert_eq!(gate.judge(&flags), [] as [&str; 0]);
    gate.git(&["branch", "--force", "main"]);
    gate.write("live/call.tf", call("m", "evil"));
    assert_eq!(gate.judge(&flags), ["publisher-added"]);
}

#[test]
fn a_call_that_nothing_loads_does_not_make_its_publisher_known() {
    let call = |owner: &str| {
        format!(
            "module \"m\" {{\n  source = \"git::https://github.com/{owner}/m.git?ref=v1\"\n}}\n"
        )
    };
    let evil = call("evil").replace("\"m\"", "\"e\"");
    let prepare = |gate: &Gate| {
        gate.write("live/call.tf", call("acme"));
        gate.root(
            "of-terraform",
            "registry.terraform.io/hashicorp/null",
            &[H1, ZH],
        );
        gate.write("of-terraform/call.tf", call("acme"));
    };
    let flags = ["-r", "--allow", "module-not-installed,mixed-dialects"];
    let (installed, cached) = (
        "new/.terraform/.modules.lock.hcl",
        "new/.terragrunt-cache/.modules.lock.hcl",
    );
    let entry = super::gate::locked(
        "e",
        "git::https://github.com/evil/m.git?ref=v1",
        COMMIT_OF_EVIL,
    );
    let files: [&[(&str, &str)]; 5] = [
        &[(installed, &entry)],
        &[(cached, &entry)],
        &[("of-terraform/evil.tofu", &evil)],
        &[("live/evil.tf", &evil), ("live/evil.tofu", "locals {}\n")],
        &[(
            "new/tests/a.tftest.hcl",
            &format!("run \"x\" {{\n{evil}}}\n").replace("module \"e\"", "module"),
        )],
    ];
    for files in files {
        let gate = Gate::with(prepare);
        for (path, text) in files {
            gate.write(path, text);
        }
        assert_eq!(gate.judge(&flags), [] as [&str; 0], "{files:?}");
        gate.git(&["branch", "--force", "main"]);
        for root in ["live", "of-terraform"] {
            gate.write(&format!("{root}/call.tf"), call("evil"));
            assert_eq!(gate.judge(&flags), ["publisher-added"], "{files:?}");
            gate.write(&format!("{root}/call.tf"), call("acme"));
        }
    }
    survived(
        "a call that nothing loads makes a publisher known",
        2 * files.len(),
    );
}
