//! `--json`: every command's output follows `docs/output.schema.json`.

use std::path::Path;

use serde_json::Value;

use super::lock::requires;
use provlock_test::TestEnvironment;
use provlock_test::registry::Registry;

/// Parses and validates the output of a command.
pub(super) fn validated(stdout: &str) -> Value {
    let stdout = if cfg!(windows) {
        stdout.replace(r"\\", "/")
    } else {
        stdout.to_owned()
    };
    let value: Value = serde_json::from_str(&stdout).unwrap();
    follows("output.schema.json", &value);
    value
}

/// Asserts that a value follows a schema of `docs/`.
#[track_caller]
pub(super) fn follows(schema: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(schema);
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    let remedy =
        "a new field needs a new schema: SNAPSHOTS=overwrite cargo test --bins commands::tests";
    assert!(errors.is_empty(), "{errors:#?}\n{value:#}\n{remedy}");
}

#[test]
fn lock_reports_what_changed() {
    let (_registry, environment, null) =
        Registry::with_required("hashicorp/null", "3.2.4", ["linux_amd64"], "~> 3.0");

    let output = environment.provlock(["lock", "-p", "linux_amd64", "--json"]);
    output.assert_code(0);
    let root = &validated(&output.stdout)["roots"][0];
    assert_eq!(root["changed"], true);
    let provider = &root["providers"][0];
    assert_eq!(provider["address"], "registry.opentofu.org/hashicorp/null");
    assert_eq!(provider["action"], "added");
    assert_eq!(
        provider["version"],
        serde_json::json!({ "old": null, "new": "3.2.4" })
    );
    assert_eq!(
        provider["hashes"]["added"].as_array().unwrap().len(),
        null.hashes(&["linux_amd64"]).len()
    );
    assert_eq!(provider["authentication"]["result"], "signed");

    let again = environment.provlock(["lock", "-p", "linux_amd64", "--json"]);
    let root = &validated(&again.stdout)["roots"][0];
    assert_eq!(
        (&root["changed"], &root["providers"][0]["action"]),
        (&Value::from(false), &Value::from("unchanged"))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn paths_that_are_no_text_are_shown_as_far_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let root = std::ffi::OsStr::from_bytes(b"bad\xff");
    environment.write(
        std::path::Path::new(root).join("main.tf"),
        requires("hashicorp/null", ""),
    );
    environment.write(std::path::Path::new(root).join(".terraform.lock.hcl"), "");
    for (arguments, code) in [
        (&["verify", "--json", "-r"][..], 1),
        (&["verify", "--format", "sarif", "-r"], 1),
        (&["verify", "--format", "github", "-r"], 1),
        (&["upgrade", "--json", "--dry-run", "-r"], 0),
        (&["lock", "--json", "-p", "linux_amd64", "-r"], 0),
    ] {
        let output = environment
            .command(arguments.iter().map(std::ffi::OsStr::new).chain([root]))
            .run();
        output.assert_code(code).assert_stdout_has("bad\u{fffd}");
        if arguments.contains(&"--json") {
            assert_eq!(validated(&output.stdout)["roots"][0]["path"], "bad\u{fffd}");
        }
    }
}

#[test]
fn an_error_is_data_too() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "terraform {\n  required_providers {\n    a = { source = \"a b\" }\n  }\n}\n",
    );
    let output = environment.provlock(["lock", "--json"]);
    output.assert_code(2);
    let error = &validated(&output.stdout)["errors"][0];
    assert_eq!(
        (&error["file"], &error["line"]),
        (&Value::from("main.tf"), &Value::from(3))
    );
}

#[test]
fn commands_without_a_result_refuse_json_and_do_nothing() {
    let environment = TestEnvironment::new();
    environment.git_init(".");
    for arguments in [
        &["setup", "git", "--write"][..],
        &["login", "registry.example.com"],
        &["login", "--check", "registry.example.com"],
        &["logout", "registry.example.com"],
        &["cache", "dir"],
        &["cache", "clean"],
        &["cache", "keygen", "key"],
        &["completions", "fish"],
    ] {
        let output = environment
            .command(arguments.iter().chain(&["--json"]))
            .stdin("token")
            .run();
        output
            .assert_code(2)
            .assert_stderr_has("error[invalid-argument]: this command prints no JSON");
        let object = validated(&output.stdout);
        assert_eq!(object["command"], arguments[0]);
        assert_eq!(object["errors"][0]["code"], "invalid-argument");
    }
    assert!(
        !environment.project().join(".gitattributes").exists()
            && !environment.project().join("key").exists()
    );
}

#[test]
fn a_command_line_that_cannot_be_understood_is_an_error_as_data() {
    let environment = TestEnvironment::new();
    for (arguments, command, message, help) in [
        (
            &["lock", "--json", "-jobs=4"][..],
            "lock",
            "unexpected argument '-jobs=4'",
            Some("'--jobs'"),
        ),
        (
            &["verify", "--format", "json", "--bogus"],
            "verify",
            "unexpected argument '--bogus'",
            Some("'-- --bogus'"),
        ),
        (&["--json"], "provlock", "requires a subcommand", None),
        (
            &["--json", "locck"],
            "provlock",
            "unrecognized subcommand",
            Some("'lock'"),
        ),
        (
            &["upgrade", "--format=json", "--jobs=0"],
            "upgrade",
            "invalid value '0'",
            None,
        ),
    ] {
        let output = environment.provlock(arguments);
        output.assert_code(2);
        let object = validated(&output.stdout);
        let error = &object["errors"][0];
        assert_eq!(
            (&object["command"], &error["code"]),
            (&Value::from(command), &Value::from("invalid-argument"))
        );
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{object:#}"
        );
        assert_eq!(
            error["help"]
                .as_str()
                .is_some_and(|text| text.contains(help.unwrap_or("-"))),
            help.is_some(),
            "{object:#}"
        );
        assert!(!output.stderr.is_empty());
    }
    let text = environment.provlock(["lock", "--bogus", "--", "--json"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(2), ""));
    environment
        .provlock(["lock", "--json", "--help"])
        .assert_code(0)
        .assert_stdout_has("Usage: provlock lock");
}

#[test]
fn root_modules_that_could_not_be_verified_are_there_with_their_errors() {
    let environment = TestEnvironment::new();
    for (root, constraint) in [("a", "~> 3.0"), ("b", "not a constraint")] {
        environment.write(
            format!("{root}/main.tf"),
            requires("hashicorp/null", constraint),
        );
        environment.write(format!("{root}/.terraform.lock.hcl"), "");
    }
    let output = environment.provlock(["verify", "-r", "--json"]);
    output.assert_code(2);
    let json = validated(&output.stdout);
    let roots = json["roots"].as_array().unwrap();
    assert_eq!(
        roots.iter().map(|root| &root["path"]).collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(roots[0]["findings"][0]["code"], "provider-not-locked");
    assert_eq!(roots[1]["errors"], json["errors"]);
}

#[test]
fn root_modules_that_failed_are_there_with_their_errors() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    for (root, source) in [("a", "acme/gamma"), ("b", "acme/none")] {
        environment.write(format!("{root}/main.tf"), requires(source, ""));
        environment.write(format!("{root}/.terraform.lock.hcl"), "");
    }
    for command in [&["upgrade", "--dry-run"][..], &["lock"], &["upgrade"]] {
        let arguments = command.iter().chain(&["-p", "linux_amd64", "--json", "-r"]);
        let output = environment.provlock(arguments);
        output.assert_code(2);
        let roots = &validated(&output.stdout)["roots"];
        assert_eq!(roots.as_array().unwrap().len(), 2, "{roots:#}");
        assert_eq!(
            (&roots[0]["path"], &roots[1]["path"]),
            (&Value::from("a"), &Value::from("b"))
        );
        assert_eq!(roots[1]["errors"][0]["code"], "provider-not-found");
    }
}
