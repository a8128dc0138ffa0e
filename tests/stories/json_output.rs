//! `--json`: every command's output follows `docs/output.schema.json`.

use serde_json::Value;

use super::lock::requires;
use super::support::TestEnvironment;
use super::support::registry::Registry;

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

#[test]
fn an_error_is_data_too() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "terraform {\n  required_providers {\n    a = { source = \"a b\" }\n  }\n}\n");
    let output = environment.provlock(["lock", "--json"]);
    output.assert_code(2);
    let error = &validated(&output.stdout)["errors"][0];
    assert_eq!((&error["file"], &error["line"]), (&Value::from("main.tf"), &Value::from(3)));
}
