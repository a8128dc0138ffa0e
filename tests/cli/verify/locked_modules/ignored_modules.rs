//! Comments that ignore findings about locked modules.

use super::modules::{LOCK, Project, commit_all};
use super::{NOTHING, found, messages};
use crate::get::module_lock_file;
use provlock_test::{TestEnvironment, survived};

/// Results of a run as SARIF, without notes.
pub(in crate::verify) fn sarif_results(
    environment: &TestEnvironment,
    arguments: &[&str],
) -> Vec<serde_json::Value> {
    let output = environment.provlock(["verify", "--format", "sarif"].iter().chain(arguments));
    let sarif: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let results = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .cloned();
    results.filter(|result| result["level"] != "note").collect()
}

#[test]
fn a_comment_ignores_findings_about_its_module() {
    let project = Project::new();
    let environment = &project.environment;
    project.edit("main.tf", "~> 1.0", ">= 1.1");
    let good = module_lock_file(environment);
    let with = |line: &str, label: &str| {
        let entry = format!("module \"{label}\"");
        environment.write(LOCK, good.replace(&entry, &format!("{line}\n{entry}")));
        project.found(&[])
    };
    let stale = "warning module-lock-stale";
    assert_eq!(
        with("# provlock: ignore[module-lock-stale] known", "vpc"),
        NOTHING
    );
    let json = environment.provlock(["verify", "--json"]);
    assert_eq!(
        crate::json_output::validated(&json.stdout)["roots"][0]["suppressed"]["ignored"],
        1
    );
    assert_eq!(
        with("# provlock: ignore[module-lock-stale] known", "site"),
        ["warning unused-ignore", stale]
    );
    assert!(
        messages(environment, &[])
            .contains("module-lock-stale, but module.site has no such finding")
    );
    assert_eq!(
        with("# provlock: ignore[module-lock-stale]", "vpc"),
        ["warning invalid-ignore", stale],
        "no reason"
    );
    assert_eq!(
        with("# provlock: ignore[module-replaced] why", "vpc"),
        ["warning invalid-ignore", stale]
    );
    assert_eq!(
        with("# provlock: ignore[module-moved] why", "vpc"),
        [stale],
        "nobody has asked"
    );

    with(
        "# provlock: ignore[module-lock-stale, module-withdrawn] known",
        "vpc",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(
        module_lock_file(environment)
            .contains("# provlock: ignore[module-lock-stale, module-withdrawn] known\n")
    );
    let text = environment.lock_file();
    environment.write_lock_file(text.replace(
        "provider ",
        "# provlock: ignore[module-lock-stale] why\nprovider ",
    ));
    project.edit("main.tf", ">= 1.1", ">= 1.0");
    assert_eq!(
        project.found(&[]),
        ["warning unused-ignore"],
        "a comment is for the entries of its own file"
    );
}

#[test]
fn a_comment_above_one_entry_does_not_ignore_what_is_wrong_with_others() {
    let project = Project::new();
    project.edit(
        "main.tf",
        "module \"vpc\"",
        "module \"again\" {\n  source = \"acme/vpc/aws\"\n}\n\nmodule \"vpc\"",
    );
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    project.registry.serve(
        "/v1/modules/acme/vpc/aws/versions",
        r#"{"modules":[{"versions":[{"version":"1.3.0"}]}]}"#,
    );
    let withdrawn = "error module-withdrawn";
    assert_eq!(project.found(&["--online"]), [withdrawn]);
    for label in ["again", "vpc"] {
        let entry = format!("module \"{label}\"");
        project.edit(
            LOCK,
            &entry,
            &format!("# provlock: ignore[module-withdrawn] known\n{entry}"),
        );
        let found = project.found(&["--online"]);
        assert!(found.contains(&withdrawn.to_owned()), "{label}: {found:?}");
    }
}

#[test]
fn a_comment_of_a_change_ignores_nothing_yet() {
    let project = Project::new();
    let environment = &project.environment;
    project.edit("main.tf", "~> 1.0", ">= 1.1");
    commit_all(environment);
    project.edit(
        LOCK,
        "module \"vpc\"",
        "# provlock: ignore[module-lock-stale] known\nmodule \"vpc\"",
    );
    let base = || {
        found(
            environment,
            &[
                "--base",
                "HEAD",
                "--allow-outside",
                "--allow",
                "module-not-installed",
            ],
        )
    };
    assert_eq!(
        base(),
        ["error policy-changed", "warning module-lock-stale"]
    );
    commit_all(environment);
    assert_eq!(base(), NOTHING);
    survived("a change that ignores its own finding about a module", 1);
}
