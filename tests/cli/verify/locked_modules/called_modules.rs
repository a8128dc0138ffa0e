//! Findings that a module of another package causes: reports show them at the user's own call.

use serde_json::Value;

use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::archive::{self, Packing};
use provlock_test::{Registry, TestEnvironment, str};

const VERIFY: [&str; 5] = ["verify", "live", "--online", "--allow", "single-platform"];

/// A project that calls a module in an archive with this configuration, at line 4 of a file in
/// `live`.
fn calls(configuration: &str) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .done();
    let file = (
        "network/main.tf".to_owned(),
        configuration.as_bytes().to_vec(),
    );
    registry.serve("/modules.zip", archive::pack(&[file], Packing::Deflated));
    environment.write(
        "live/network.tf",
        "# The network.\n\nmodule \"network\" {\n  source = \"https://registry.opentofu.org/modules.zip//network\"\n}\n",
    );
    environment.write("live/.terraform.lock.hcl", crate::lock::lock_file(&[]));
    environment.git_init(".");
    environment.commit_all(".");
    (registry, environment)
}

/// Line of a fetched module, as reports without excerpts write it.
fn is_module_line(text: &str, position: &str) -> bool {
    text.contains("https://registry.opentofu.org/modules.zip")
        && text.contains(&format!("//network/main.tf:{position} (required here)"))
}

fn report(environment: &TestEnvironment, format: &str) -> String {
    let output = environment.provlock(VERIFY.iter().chain(&["--format", format]));
    output.assert_code(1);
    output.stdout.clone()
}

#[test]
fn a_finding_that_a_remote_module_causes_is_at_the_call_in_every_format() {
    let (_registry, environment) = calls(&requires("acme/gamma", "~> 1.0"));
    environment.provlock(VERIFY).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: acme/gamma is required, but not locked
 --> live/network.tf:4:12
  |
4 |   source = "https://registry.opentofu.org/modules.zip//network"
  |            ^^^[..]^^^ called from here
  |
 ::: https://registry.opentofu.org/modules.zip//network/main.tf:5:17
  |
5 |       version = "~> 1.0"
  |                 -------- required here
  |
help: provlock -C live lock

----- stderr -----
1 error in live/network.tf
"#]]);

    let json = validated(&report(&environment, "json"));
    let finding = &json["roots"][0]["findings"][0];
    assert_eq!(
        (&finding["file"], &finding["line"]),
        (&"live/network.tf".into(), &4.into())
    );
    let second = finding["places"][1]["file"].as_str().unwrap();
    assert!(
        second.starts_with("https://registry.opentofu.org/modules.zip")
            && second.ends_with("//network/main.tf"),
        "{second}"
    );

    let sarif: Value = serde_json::from_str(&report(&environment, "sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "live/network.tf");
    assert_eq!(place["region"]["startLine"], 4);
    assert!(!result.to_string().contains("https%3A"), "{result}");
    assert!(
        is_module_line(result["message"]["text"].as_str().unwrap(), "5:17"),
        "{result}"
    );

    let github = report(&environment, "github");
    assert!(
        github
            .starts_with("::error file=live/network.tf,line=4,col=12,title=provider-not-locked::"),
        "{github}"
    );
    assert!(is_module_line(&github, "5:17"), "{github}");

    let gitlab: Value = serde_json::from_str(&report(&environment, "gitlab")).unwrap();
    let expected = serde_json::json!({ "path": "live/network.tf", "lines": { "begin": 4 } });
    assert_eq!(gitlab[0]["location"], expected);
    assert!(
        is_module_line(gitlab[0]["description"].as_str().unwrap(), "5:17"),
        "{gitlab}"
    );

    let junit = report(&environment, "junit");
    assert!(
        junit.contains("file=\"live/network.tf\" line=\"4\""),
        "{junit}"
    );
    assert!(is_module_line(&junit, "5:17"), "{junit}");

    let html = report(&environment, "html");
    let call = html
        .find("<code>live/network.tf:4</code> called from here")
        .unwrap();
    let module = html
        .find("//network/main.tf:5</code> required here")
        .unwrap();
    assert!(call < module, "{html}");
}

#[test]
fn the_summary_of_a_job_names_the_call_and_then_the_line_of_the_module() {
    let (_registry, mut environment) = calls(&requires("acme/gamma", "~> 1.0"));
    environment.set("GITHUB_STEP_SUMMARY", environment.root().join("summary.md"));
    report(&environment, "github");
    let summary = environment.read(environment.root().join("summary.md"));
    assert!(summary.contains("| `live/network.tf:4` |\n"), "{summary}");
    assert!(is_module_line(&summary, "5:17"), "{summary}");
}

#[test]
fn every_kind_of_finding_about_a_remote_module_is_at_the_call() {
    // Each with the first position, and the code.
    let cases = [
        (
            "a syntax error",
            "terraform {\n".to_owned(),
            "",
            "invalid-configuration",
        ),
        (
            "a module that is not fetched",
            "module \"deep\" {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n"
                .to_owned(),
            "",
            "module-not-installed",
        ),
        (
            "a module that does not exist",
            "module \"deep\" {\n  source = \"./nowhere\"\n}\n".to_owned(),
            "",
            "invalid-package",
        ),
        (
            "a source that is not known",
            "variable \"x\" {}\nmodule \"deep\" {\n  source = \"${var.x}\"\n}\n".to_owned(),
            "",
            "module-not-installed",
        ),
        (
            "a host that the policy forbids",
            requires("example.com/acme/other", ""),
            "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n",
            "host-not-allowed",
        ),
    ];
    for (name, configuration, settings, code) in cases {
        let (_registry, environment) = calls(&configuration);
        environment.write("provlock.toml", settings);
        let output = environment.provlock(["verify", "live", "--online", "--json"]);
        let json = validated(&output.stdout);
        let findings = json["roots"][0]["findings"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let all = json["errors"].as_array().unwrap().iter().chain(&findings);
        let found = all
            .filter(|one| one["code"] == code)
            .inspect(|one| assert_eq!(one["file"], "live/network.tf", "{name}: {one:#}"))
            .count();
        assert_eq!(found, 1, "{name}: {json:#}");
    }
}

/// The user's own modules stay where they are, however deep they are called.
#[test]
fn a_finding_about_a_local_module_is_at_its_own_line() {
    let (_registry, environment) = calls("# nothing\n");
    environment.write(
        "live/network.tf",
        "module \"own\" {\n  source = \"./own\"\n}\n",
    );
    environment.write("live/own/main.tf", requires("acme/gamma", "~> 1.0"));
    let json = validated(&report(&environment, "json"));
    let finding = &json["roots"][0]["findings"][0];
    assert_eq!(finding["file"], "live/own/main.tf");
    assert_eq!(finding["places"].as_array().unwrap().len(), 1);
}

/// Two calls of one module, and two declarations in it: each call once.
#[test]
fn a_call_is_named_once_for_all_lines_of_its_module() {
    let twice = format!(
        "{}provider \"gamma\" {{\n  region = \"x\"\n}}\n",
        requires("acme/gamma", "~> 1.0")
    );
    let (_registry, environment) = calls(&twice);
    let json = validated(&report(&environment, "json"));
    let places = json["roots"][0]["findings"][0]["places"]
        .as_array()
        .unwrap();
    let own = places
        .iter()
        .filter(|place| place["file"] == "live/network.tf");
    assert_eq!(own.count(), 1, "{json:#}");
    assert_eq!(places[0]["file"], "live/network.tf");
}
