//! `--json`: every command's output follows `docs/output.schema.json`.

use serde_json::Value;

use super::lock::requires;
use provlock_test::TestEnvironment;
use provlock_test::registry::Registry;

/// Parses and validates what a command printed.
pub(super) fn validated(stdout: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/output.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value: Value = serde_json::from_str(stdout).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}");
    value
}

#[test]
fn lock_reports_what_changed() {
    let registry = Registry::start();
    let null = registry.publish("hashicorp/null", "3.2.4").platforms(["linux_amd64"]).done();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));

    let output = environment.provlock(["lock", "-p", "linux_amd64", "--json"]);
    output.assert_code(0);
    let root = &validated(&output.stdout)["roots"][0];
    assert_eq!(root["changed"], true);
    let provider = &root["providers"][0];
    assert_eq!(provider["address"], "registry.opentofu.org/hashicorp/null");
    assert_eq!(provider["action"], "added");
    assert_eq!(provider["version"], serde_json::json!({ "old": null, "new": "3.2.4" }));
    assert_eq!(provider["hashes"]["added"].as_array().unwrap().len(), null.hashes(&["linux_amd64"]).len());
    assert_eq!(provider["authentication"]["result"], "signed");

    let again = environment.provlock(["lock", "-p", "linux_amd64", "--json"]);
    let root = &validated(&again.stdout)["roots"][0];
    assert_eq!((&root["changed"], &root["providers"][0]["action"]), (&Value::from(false), &Value::from("unchanged")));
}

#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_no_text_are_shown_as_far_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").platforms(["linux_amd64"]).done();
    let environment = TestEnvironment::with_registry(&registry);
    let root = std::ffi::OsStr::from_bytes(b"bad\xff");
    environment.write(std::path::Path::new(root).join("main.tf"), requires("hashicorp/null", ""));
    environment.write(std::path::Path::new(root).join(".terraform.lock.hcl"), "");
    for (arguments, code) in [
        (&["verify", "--json", "-r"][..], 1),
        (&["verify", "--format", "sarif", "-r"], 1),
        (&["verify", "--format", "github", "-r"], 1),
        (&["upgrade", "--json", "--dry-run", "-r"], 0),
        (&["lock", "--json", "-p", "linux_amd64", "-r"], 0),
    ] {
        let output = environment.command(arguments.iter().map(std::ffi::OsStr::new).chain([root])).run();
        output.assert_code(code).assert_stdout_has("bad\u{fffd}");
        if arguments.contains(&"--json") {
            assert_eq!(validated(&output.stdout)["roots"][0]["path"], "bad\u{fffd}");
        }
    }
}

#[test]
fn an_error_is_data_too() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "terraform {\n  required_providers {\n    a = { source = \"a b\" }\n  }\n}\n");
    let output = environment.provlock(["lock", "--json"]);
    output.assert_code(2);
    let error = &validated(&output.stdout)["errors"][0];
    assert_eq!((&error["file"], &error["line"]), (&Value::from("main.tf"), &Value::from(3)));
}
