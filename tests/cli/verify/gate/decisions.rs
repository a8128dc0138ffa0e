//! `decision-changed`: a pull request shows what it decides, once, and whatever was decided or
//! undecided before does not stop it.

use super::gate::Gate;
use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::str;

/// The decisions of the change, once everything in it is committed, with their paths.
fn decisions(gate: &Gate, arguments: &[&str]) -> Vec<String> {
    gate.commit();
    let output = gate.provlock(
        &[
            &[
                "verify",
                "-r",
                "--json",
                "--base",
                "main",
                "--allow",
                "single-platform",
            ],
            arguments,
        ]
        .concat(),
    );
    let report = validated(&output.stdout);
    let of_roots = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|root| root["findings"].as_array())
        .flatten();
    let of_change = report["findings"].as_array().into_iter().flatten();
    let mut decisions = Vec::new();
    for finding in of_change.chain(of_roots) {
        if finding["code"] == "decision-changed" {
            decisions.push(finding["message"].as_str().unwrap().to_owned());
        }
    }
    decisions
}

/// A module call whose source is in git.
fn call(source: &str) -> String {
    format!("module \"vpc\" {{\n  source = \"{source}\"\n}}\n")
}

/// The name of a change, the change, and its notes.
type Change = (&'static str, fn(&Gate), &'static [&'static str]);

#[test]
fn an_upgrade_in_several_root_modules_is_one_note() {
    let gate = Gate::new();
    for directory in ["live", "other"] {
        let upgraded = entry(NULL, "3.2.5", "", &[H1, ZH]);
        gate.write(
            &format!("{directory}/.terraform.lock.hcl"),
            lock_file(&[upgraded]),
        );
    }
    gate.commit();
    let output = gate.provlock(&[
        "verify",
        "-r",
        "--base",
        "main",
        "--allow",
        "single-platform,hash-not-checked",
    ]);
    output.assert_code(0).matches(str![[r#"
exit code: 0
----- stdout -----
note[decision-changed]: hashicorp/null 3.2.4 → 3.2.5, in 2 root modules
 --> live/.terraform.lock.hcl:5:13
  |
5 |   version = "3.2.5"
  |             ^^^^^^^
  |
  = also in other
help: make sure that this is intended

----- stderr -----
OK: 2 providers of 2 root modules locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
2 notes in live/.terraform.lock.hcl and other/.terraform.lock.hcl
3 root modules: 2 OK, 1 excluded by provlock.toml
"#]]);
}

#[test]
fn each_decision_about_a_root_module_is_a_note() {
    let gate = Gate::with(|gate| {
        gate.write(
            "live/modules.tf",
            call("git::https://github.com/acme/vpc?ref=v2.1.8"),
        );
    });
    let attempts: [Change; 9] = [
        ("nothing", |gate| gate.write("README.md", "text"), &[]),
        (
            "a comment",
            |gate| {
                let text = gate.read("live/main.tf");
                gate.write("live/main.tf", format!("# A comment.\n{text}"));
            },
            &[],
        ),
        (
            "a different version of a module",
            |gate| {
                gate.write(
                    "live/modules.tf",
                    call("git::https://github.com/acme/vpc?ref=v3.2.5"),
                );
            },
            &[
                "module \"vpc\" git::https://github.com/acme/vpc?ref=v2.1.8 → git::https://github.com/acme/vpc?ref=v3.2.5",
            ],
        ),
        (
            "the same version, computed",
            |gate| {
                let source = "git::https://github.com/acme/vpc?ref=v${local.version}";
                let text = format!("locals {{\n  version = \"2.1.8\"\n}}\n{}", call(source));
                gate.write("live/modules.tf", text);
            },
            &[],
        ),
        (
            "a call that is removed",
            |gate| gate.remove("live/modules.tf"),
            &["module \"vpc\" git::https://github.com/acme/vpc?ref=v2.1.8 is no longer called"],
        ),
        (
            "an entry that is removed",
            |gate| {
                gate.write("live/main.tf", "");
                gate.remove("live/modules.tf");
                gate.write("live/.terraform.lock.hcl", lock_file(&[]));
            },
            &[
                "hashicorp/null 3.2.4 is no longer locked",
                "module \"vpc\" git::https://github.com/acme/vpc?ref=v2.1.8 is no longer called",
            ],
        ),
        (
            "a new root module",
            |gate| gate.root("new", NULL, &[H1, ZH]),
            &["the root module in new is new"],
        ),
        (
            "a new unit of Terragrunt",
            |gate| {
                gate.root("new", NULL, &[H1, ZH]);
                gate.write("new/terragrunt.hcl", "");
            },
            &["the unit in new is new"],
        ),
        (
            "a lock file for a configuration",
            |gate| {
                gate.write(
                    "live/modules.tf",
                    call("git::https://github.com/acme/vpc?ref=v2.1.8"),
                );
                gate.write("examples/b/main.tf", requires("hashicorp/null", ""));
            },
            &[],
        ),
    ];
    for (name, attempt, expected) in attempts {
        attempt(&gate);
        let decisions = decisions(&gate, &["--no-fetch-modules"]);
        assert_eq!(decisions, expected, "{name}");
        gate.reset();
    }
}

/// A backend in S3 with these arguments.
fn s3(arguments: &str) -> String {
    format!("terraform {{\n  backend \"s3\" {{\n    {arguments}\n  }}\n}}\n")
}

#[test]
fn the_store_of_a_new_root_module_is_compared_with_the_nearest_one() {
    let gate = Gate::with(|gate| {
        gate.write(
            "live/state.tf",
            s3("bucket = \"acme\"\n    key = \"live\"\n    region = \"us-east-1\""),
        );
        gate.write(
            "other/state.tf",
            s3("bucket = \"logs\"\n    region = \"eu-west-1\""),
        );
    });
    for (arguments, expected) in [
        (
            "bucket = \"acme\"\n    key = \"new\"\n    region = \"us-west-2\"",
            "unlike the nearest one, region \"us-east-1\" → \"us-west-2\"",
        ),
        (
            "bucket = \"acme\"\n    key = \"new\"",
            "unlike the nearest one, region \"us-east-1\" → none",
        ),
        (
            "bucket = \"evil\"\n    region = \"eu-west-1\"",
            "unlike the nearest one, bucket \"logs\" → \"evil\"",
        ),
    ] {
        gate.root("new", NULL, &[H1, ZH]);
        gate.write("new/state.tf", s3(arguments));
        let message =
            format!("the state of new is in a store that the base does not use: {expected}");
        let found = decisions(&gate, &[]);
        assert!(found.contains(&message), "{message}\n{found:#?}");
        gate.reset();
    }
    gate.root("new", NULL, &[H1, ZH]);
    gate.write("new/state.tf", s3("bucket = \"b\"").replace("s3", "gcs"));
    let found = decisions(&gate, &[]);
    let message =
        "the state of new is in a store that the base does not use: backend \"gcs\", bucket \"b\"";
    assert!(found.contains(&message.to_owned()), "{found:#?}");
}

#[test]
fn a_root_module_of_which_nothing_is_left_does_not_stop_a_change() {
    let gate = Gate::new();
    gate.git(&["rm", "-r", "--quiet", "live"]);
    assert_eq!(
        decisions(&gate, &[]),
        ["the root module in live was removed"]
    );
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.reset();

    gate.rename("live", "network/live");
    assert_eq!(
        decisions(&gate, &[]),
        ["the root module in live was moved to network/live"]
    );
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
    gate.reset();

    // A configuration that stays would get any version.
    gate.remove("live/.terraform.lock.hcl");
    assert_eq!(gate.errors(&["-r"]), ["root-removed"]);
}

/// Arguments by which only the findings that a change brings stop it.
const NEW: [&str; 2] = ["-r", "--new"];

#[test]
fn what_could_not_be_read_at_the_base_either_does_not_stop_a_change() {
    let gate = Gate::with(|gate| {
        gate.write("broken/main.tf", "terraform {");
        gate.write("broken/.terraform.lock.hcl", lock_file(&[]));
    });
    gate.write("README.md", "text");
    gate.commit();
    gate.run(&["-r"]).assert_code(2);
    let output = gate.run(&NEW);
    output
        .assert_code(0)
        .assert_stderr_has("Not checked: 1 root module, for the same reason as at the base");

    // A different reason is one of the change.
    gate.write("broken/main.tf", "terraform {\n  backend {\n");
    gate.commit();
    gate.run(&NEW).assert_code(2);
}

#[test]
fn a_lock_file_that_git_did_not_track_before_either_does_not_stop_a_change() {
    let gate = Gate::new();
    let deny = ["-r", "--new", "--deny", "untracked-lock-file"];
    gate.git(&["checkout", "--quiet", "main"]);
    gate.write(".gitignore", "/ignored/.terraform.lock.hcl\n");
    gate.write(
        "ignored/main.tf",
        requires("hashicorp/null", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    gate.git(&["add", "--all"]);
    gate.git(&["commit", "--quiet", "--message=base"]);
    gate.git(&["checkout", "--quiet", "-B", "change"]);
    gate.write("ignored/.terraform.lock.hcl", lock_file(&[]));
    gate.write("README.md", "text");
    gate.git(&["add", "--all"]);
    gate.git(&["commit", "--quiet", "--message=change"]);
    let output = gate.run(&deny);
    output.assert_code(0).assert_stderr_has("by --new");
}

#[test]
fn a_source_that_was_as_unknown_before_does_not_stop_a_change() {
    let source = "git::https://github.com/acme/vpc?ref=${file(\"version.txt\")}";
    let gate = Gate::with(|gate| {
        gate.write("live/modules.tf", call(source));
        gate.write("live/version.txt", "v1");
    });
    let changes: [Change; 6] = [
        (
            "a file beside it",
            |gate| gate.write("live/notes.txt", "text"),
            &[],
        ),
        (
            "a comment and space in the same file",
            |gate| {
                let text = gate
                    .read("live/modules.tf")
                    .replace("source = ", "source   =   ");
                gate.write("live/modules.tf", format!("# A comment.\r\n\r\n{text}"));
            },
            &[],
        ),
        (
            "a different name of the file",
            |gate| gate.rename("live/modules.tf", "live/network.tf"),
            &[],
        ),
        (
            "the file that it reads",
            |gate| gate.write("live/version.txt", "v2"),
            &["not-decided"],
        ),
        (
            "a different text",
            |gate| {
                let text = gate.read("live/modules.tf").replace("acme", "evil");
                gate.write("live/modules.tf", text);
            },
            &["not-decided"],
        ),
        (
            "a different file",
            |gate| {
                let text = gate
                    .read("live/modules.tf")
                    .replace("version.txt", "other.txt");
                gate.write("live/modules.tf", text);
            },
            &["not-decided"],
        ),
    ];
    for (name, change, expected) in changes {
        change(&gate);
        assert_eq!(gate.errors(&["-r"]), expected, "{name}");
        gate.reset();
    }
}

#[test]
fn a_source_that_differs_in_a_secret_is_a_note_without_it() {
    const ARCHIVE: &str = "https://example.com/vpc.zip?key=";
    let gate = Gate::with(|gate| {
        gate.write("live/modules.tf", call(&format!("{ARCHIVE}first-secret")));
    });
    gate.write("live/modules.tf", call(&format!("{ARCHIVE}other-secret")));
    for arguments in [&[][..], &["--new"]] {
        assert_eq!(
            decisions(&gate, arguments),
            [format!(
                "module \"vpc\" {ARCHIVE}[redacted] differs from the base in a part that may be a secret"
            )]
        );
    }
}
