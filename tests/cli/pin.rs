//! `provlock pin`: commits in place of tags and branches.

use std::fs;

use serde_json::json;

use super::json_output::validated;
use super::modules::{commit_of, publish};
use super::upgrade::modules::publish_module;
use provlock_test::{Registry, TestEnvironment, str};

/// A project with four calls: a tag, a branch with `depth`, no ref, and a version of a registry.
fn project() -> (Registry, TestEnvironment, String) {
    let (registry, environment) = Registry::with_project();
    publish_module(&registry, &["1.0.0", "1.1.0"]);
    publish(&environment, "# one\n", "v1.0.0");
    let repository = environment.root().join("modules.git");
    let repository = repository.display();
    let calls = format!(
        "module \"tag\" {{\n  source = \"git::file://{repository}//network?ref=v1.0.0\" # the network\n}}\r\n\
         module \"branch\" {{\n  source = \"git::file://{repository}//network?depth=1&ref=main\"\n}}\n\
         module \"head\" {{ source = \"git::file://{repository}//network\" }}\n\
         module \"net\" {{\n  source  = \"acme/net/aws\"\n  version = \"~> 1.0\"\n}}\n"
    );
    environment.write("main.tf", &calls);
    (registry, environment, calls)
}

fn pinned(calls: &str, commit: &str) -> String {
    let reference = format!("?ref={commit}\"");
    calls
        .replace("?ref=v1.0.0\"", &format!("{reference} # v1.0.0"))
        .replace("?depth=1&ref=main\"", &format!("{reference} # main"))
        .replace(
            "//network\" }",
            &format!("//network{reference} /* HEAD */ }}"),
        )
}

#[test]
fn git_sources_get_the_commit_and_the_name_as_a_comment() {
    let (_registry, environment, calls) = project();
    let before = environment.snapshot();
    environment
        .provlock(["pin", "--check"])
        .assert_code(1)
        .assert_stderr_has("Would pin 3 calls");
    let dry_run = environment.provlock(["pin", "--dry-run"]);
    dry_run
        .assert_code(0)
        .assert_stdout_has("# v1.0.0 # the network")
        .assert_stderr_has("Would pin 3 calls");
    before.assert_same(&environment.snapshot());

    environment
        .provlock(["pin"])
        .assert_code(0)
        .assert_stderr_has("Pinned 3 calls");
    let commit = commit_of(&environment, "v1.0.0");
    let expected = pinned(&calls, &commit);
    assert_eq!(environment.read("main.tf"), expected);
    // No lock file is created.
    assert!(!environment.project().join(".modules.lock.hcl").exists());
    environment.provlock(["pin", "--check"]).matches(str![[r#"
exit code: 0
----- stderr -----
Nothing to pin
"#]]);
    environment.provlock(["lock", "--modules"]).assert_code(0);

    publish(&environment, "# two\n", "v1.1.0");
    environment
        .provlock(["upgrade", "--modules", "--constraints"])
        .assert_code(0);
    let new = self::commit_of(&environment, "v1.1.0");
    let moved = expected
        .replace(&commit, &new)
        .replace("# v1.0.0", "# v1.1.0");
    assert_eq!(environment.read("main.tf"), moved);
    environment.provlock(["lock", "--check"]).assert_code(0);
}

#[test]
fn pin_uses_the_locked_commit_and_updates_the_lock_file() {
    let (registry, environment, calls) = project();
    environment.provlock(["lock", "--modules"]).assert_code(0);
    let old = commit_of(&environment, "v1.0.0");
    publish(&environment, "# two\n", "v1.1.0");
    publish_module(&registry, &["1.0.0", "1.1.0", "1.2.0"]);
    fs::rename(
        environment.root().join("modules.git"),
        environment.root().join("gone.git"),
    )
    .unwrap();

    let output = environment.provlock(["pin", "--registry", "--json", "--offline"]);
    output.assert_code(0);
    let root = validated(&output.stdout)["roots"][0].clone();
    assert_eq!(
        (&root["changed"], &root["written"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(root["edits"].as_array().map(Vec::len), Some(4));
    let version =
        json!({ "file": "main.tf", "line": 10, "column": 14, "old": "~> 1.0", "new": "1.1.0" });
    assert_eq!(root["edits"][3], version);
    for edit in root["edits"].as_array().unwrap() {
        let texts = [&edit["old"], &edit["new"]].map(|text| text.as_str().unwrap());
        assert!(
            texts.iter().all(|text| !text.contains('"')),
            "no part of the source's quotes: {edit}"
        );
    }
    assert_eq!(
        environment.read("main.tf"),
        pinned(&calls, &old).replace("\"~> 1.0\"", "\"1.1.0\"")
    );
    let locked = environment.read(environment.project().join(".modules.lock.hcl"));
    assert_eq!(
        locked.matches(&format!("//network?ref={old}\"")).count(),
        3,
        "{locked}"
    );
    assert!(locked.contains("constraints = \"1.1.0\""), "{locked}");
    // Nothing is fetched for a module that was locked under a different source.
    environment.provlock(["lock", "--check"]).assert_code(0);
    environment.provlock(["get", "--offline"]).assert_code(0);
}

#[test]
fn calls_that_cannot_be_pinned_are_reported_and_stay() {
    let (registry, environment) = Registry::with_project();
    publish_module(&registry, &["1.0.0"]);
    publish(&environment, "# one\n", "v1.0.0");
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref=", repository.display());
    let calls = format!(
        "variable \"tag\" {{\n  default = \"v1.0.0\"\n}}\n\
         module \"variable\" {{\n  source = \"{source}${{var.tag}}\"\n}}\n\
         module \"parent\" {{\n  source = \"{source}v1.0.0~0\"\n}}\n\
         module \"none\" {{\n  source = \"{source}v9\"\n}}\n\
         module \"net\" {{\n  source  = \"acme/net/aws\"\n  version = \"~> 1.0\"\n}}\n"
    );
    environment.write("main.tf", calls);
    let before = environment.snapshot();
    let output = environment.provlock(["pin", "--registry"]);
    output.assert_code(0).assert_stderr_has("Nothing to pin");
    for why in [
        "module.variable is not pinned: it is not a plain string",
        "module.parent is not pinned: its ref is neither a branch nor a tag",
        "module.none is not pinned: its repository has no such branch or tag",
        "module.net is not pinned, because it is not locked",
    ] {
        output.assert_stderr_has(why);
    }
    environment
        .provlock(["pin", "--offline"])
        .assert_code(2)
        .assert_stderr_has("no requests are made");
    before.assert_same(&environment.snapshot());
}

#[test]
fn a_hostile_repository_cannot_write_into_the_configuration() {
    let (_registry, environment, _) = project();
    let work = environment.root().join("work");
    let repository = environment.root().join("modules.git");
    let source = format!("git::file://{}//network?ref=v1.0.0", repository.display());
    environment.write(
        "main.tf",
        format!("module \"a\" {{\n  source = \"{source}\"\n}}\n"),
    );
    environment.provlock(["lock", "--modules"]).assert_code(0);
    // Git accepts such a tag. It is not one of the same form.
    environment.git(&work, ["tag", "v9.0.0-\"}$(x)"]);
    environment.git(&work, ["push", "--quiet", "--tags", "../modules.git"]);
    let before = environment.snapshot();
    let upgrade = || environment.provlock(["upgrade", "--modules", "--constraints"]);
    upgrade().assert_code(0).assert_stderr_has("Up to date");
    before.assert_same(&environment.snapshot());
    // The tags of the repository are read: one of the same form is chosen.
    environment.git(&work, ["tag", "v1.1.0"]);
    environment.git(&work, ["push", "--quiet", "--tags", "../modules.git"]);
    upgrade().assert_code(0);
    assert!(environment.read("main.tf").contains("?ref=v1.1.0\""));
}

#[test]
fn root_modules_that_share_a_call_pin_it_once() {
    let (_registry, environment, calls) = project();
    fs::remove_file(environment.project().join("main.tf")).unwrap();
    environment.write("modules/shared/main.tf", &calls);
    for root in ["one", "two"] {
        let call = "terraform {\n  backend \"local\" {}\n}\nmodule \"shared\" {\n  source = \"../modules/shared\"\n}\n";
        environment.write(format!("{root}/main.tf"), call);
    }
    environment
        .provlock(["lock", "-r", "--modules"])
        .assert_code(0);
    environment
        .provlock(["pin", "-r"])
        .assert_code(0)
        .assert_stderr_has("Pinned 3 calls");
    let expected = pinned(&calls, &commit_of(&environment, "v1.0.0"));
    assert_eq!(environment.read("modules/shared/main.tf"), expected);
    environment
        .provlock(["lock", "-r", "--check"])
        .assert_code(0);
}

#[test]
fn pins_are_printed_in_the_order_of_the_files() {
    let (_registry, environment, _) = project();
    let repository = environment.root().join("modules.git");
    let calls = (1..=12).map(|number| {
        format!(
            "module \"m{number}\" {{ source = \"git::file://{}//network?ref=v1.0.0\" }}",
            repository.display()
        )
    });
    environment.write("main.tf", calls.collect::<Vec<_>>().join("\n") + "\n");
    let output = environment.provlock(["pin"]);
    output.assert_code(0).assert_stderr_has("Pinned 12 calls");
    let commit = commit_of(&environment, "v1.0.0");
    let expected: Vec<_> = (1..=12)
        .map(|line| format!("  ~ main.tf:{line}   ref=v1.0.0 → ref={commit} /* v1.0.0 */"))
        .collect();
    let printed: Vec<_> = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("  ~"))
        .collect();
    assert_eq!(printed, expected, "{output}");
}

#[test]
fn the_beginning_of_a_commit_is_completed() {
    let (_registry, environment) = Registry::with_project();
    publish(&environment, "# one\n", "v1.0.0");
    let commit = commit_of(&environment, "v1.0.0");
    publish(&environment, "# two\n", "v1.1.0");
    let repository = environment.root().join("modules.git");
    let source = |reference: &str| {
        let url = format!(
            "git::file://{}//network?ref={reference}",
            repository.display()
        );
        format!("module \"short\" {{\n  source = \"{url}\" # the network\n}}\n")
    };
    for is_locked in [false, true] {
        environment.write("main.tf", source(&commit[..9]));
        environment.provlock(["pin", "--check"]).assert_code(1);
        if is_locked {
            environment.provlock(["lock", "--modules"]).assert_code(0);
            environment
                .provlock(["pin", "--offline"])
                .assert_code(0)
                .assert_stderr_has("Pinned 1 call");
            environment.provlock(["lock", "--check"]).assert_code(0);
        } else {
            environment
                .provlock(["pin"])
                .assert_code(0)
                .assert_stderr_has("Pinned 1 call");
        }
        assert_eq!(environment.read("main.tf"), source(&commit));
        environment.provlock(["pin", "--check"]).assert_code(0);
    }
    fs::remove_file(environment.project().join(".modules.lock.hcl")).unwrap();
    environment.write("main.tf", source("abcdef123"));
    environment
        .provlock(["pin"])
        .assert_code(2)
        .assert_stderr_has("it has no branch, tag or commit \"abcdef123\"");
    environment.write("main.tf", source(&commit[..9]));
    environment
        .provlock(["pin", "--offline"])
        .assert_code(2)
        .assert_stderr_has("no requests are made");
    environment.write("main.tf", source("v1.0.0~0"));
    environment
        .provlock(["pin"])
        .assert_code(0)
        .assert_stderr_has("its ref is neither a branch nor a tag");
}
