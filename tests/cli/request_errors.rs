//! Answers of servers that are no answers: their errors say what came, and what helps.

use provlock_test::registry::{Mirror, Registry};
use provlock_test::{Fault, TestEnvironment, Times, str, url};

const LINUX: &str = "linux_amd64";
const LOCK: [&str; 4] = ["lock", "-p", LINUX, "--no-cache"];
const PAGE: &str = "\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n";

fn project() -> (Registry, TestEnvironment) {
    let (registry, environment, _) = Registry::with_required("acme/gamma", "1.0.0", [LINUX], "");
    (registry, environment)
}

#[test]
fn a_web_page_in_place_of_a_document_is_called_that() {
    for (pattern, expected) in [
        (
            url::PACKAGE,
            "linux_amd64.zip returned a web page instead of an archive",
        ),
        (
            url::SHASUMS,
            "SHA256SUMS returned a web page instead of checksums",
        ),
        (
            url::SIGNATURE,
            "SHA256SUMS.sig returned a web page instead of a signature",
        ),
    ] {
        for page in [PAGE, "\u{feff}<HTML><body>Sign in"] {
            let (registry, environment) = project();
            registry.fault(pattern, Times::Always, Fault::Body(page.into()));
            let output = environment.provlock(LOCK);
            output
                .assert_code(2)
                .assert_stderr_has("error[request-failed]");
            output.assert_stderr_has(expected);
            output.assert_stderr_has("help: open the URL in a browser");
            output.assert_lacks("tampered");
            assert!(!environment.has_lock_file());
        }
    }
}

#[test]
fn a_web_page_in_place_of_json_is_called_that() {
    for pattern in [url::VERSIONS, url::DOWNLOAD] {
        let (registry, environment) = project();
        registry.fault(pattern, Times::Always, Fault::Body(PAGE.into()));
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has("returned a web page instead of JSON")
            .assert_stderr_has("help: open the URL in a browser");
    }
}

#[test]
fn a_web_page_in_place_of_service_discovery_is_called_that() {
    let (registry, environment) = project();
    registry.fault(url::DISCOVERY, Times::Always, Fault::Body(PAGE.into()));
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get providers from registry.opentofu.org: https://registry.opentofu.org/.well-known/terraform.json returned a web page instead of a service discovery document
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
help: open the URL in a browser: a proxy, a firewall or the login of a site may have answered
"#]]);
    let (registry, environment) = project();
    let text = Fault::Body(b"<xml/>".to_vec());
    registry.fault(url::DISCOVERY, Times::Always, text);
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_lacks("web page");
}

#[test]
fn a_mirror_and_a_module_may_be_a_web_page_too() {
    let (registry, environment) = project();
    let mirror = "https://mirror.example.com/providers/";
    registry.mirror(mirror, Mirror::default());
    registry.fault(url::PACKAGE, Times::Always, Fault::Body(PAGE.into()));
    let from_mirror = ["--net-mirror", mirror];
    let output = environment.provlock([&LOCK[..], &from_mirror].concat());
    output
        .assert_code(2)
        .assert_stderr_has("returned a web page instead of an archive");

    let source = "https://registry.opentofu.org/site.zip";
    environment.write(
        "main.tf",
        format!("module \"site\" {{\n  source = \"{source}\"\n}}\n"),
    );
    registry.serve("/site.zip", PAGE);
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("it is a web page instead of an archive");
}

#[test]
fn other_wrong_bytes_are_not_called_a_web_page() {
    let (registry, environment) = project();
    registry.fault(
        url::PACKAGE,
        Times::Always,
        Fault::Body(b"<xml>no page</xml>".to_vec()),
    );
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_lacks("web page")
        .assert_stderr_has("error[package-not-authentic]");
}

#[test]
fn the_wait_that_a_server_asks_for_is_shown() {
    let (registry, mut environment) = project();
    environment.set("TF_REGISTRY_DISCOVERY_RETRY", "0");
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::TooManyRequests { retry_after: 90 },
    );
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/acme/gamma: https://registry.opentofu.org/v1/providers/acme/gamma/versions answered with status 429 and asks to wait 90 seconds: {"errors":["status 429"]}
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
help: run the command again after that time
"#]]);
    registry.clear_faults();
    registry.fault(url::VERSIONS, Times::Always, Fault::Status(429));
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("answered with status 429: ");
}

#[test]
fn a_timeout_names_the_variable_that_sets_it() {
    let (registry, mut environment) = project();
    environment.set("TF_REGISTRY_DISCOVERY_RETRY", "0");
    environment.set("TF_REGISTRY_CLIENT_TIMEOUT", "1");
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::Delay(std::time::Duration::from_mins(1)),
    );
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/acme/gamma: https://registry.opentofu.org/v1/providers/acme/gamma/versions did not answer within 1 second
 --> main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
help: check the network and its proxy, or set TF_REGISTRY_CLIENT_TIMEOUT to a longer time, in seconds
"#]]);
}

#[test]
fn a_public_registry_that_refuses_gets_no_login() {
    for status in [401, 403] {
        for (dialect, host) in [
            ("tofu", "registry.opentofu.org"),
            ("terraform", "registry.terraform.io"),
        ] {
            let (registry, environment) = project();
            registry.fault(&format!("{host}/*"), Times::Always, Fault::Status(status));
            let output = environment.provlock([&LOCK[..], &["--dialect", dialect]].concat());
            output.assert_code(2).assert_lacks("login ");
            output.assert_stderr_has(&format!(
                "help: {host} is public and needs no login: a proxy or a firewall may block it, or it is down"
            ));
        }
    }
}

/// A host block may give the name of a public registry to a private one.
#[test]
fn a_private_registry_under_a_public_name_gets_a_login() {
    let (registry, environment) = project();
    registry.require_token("registry.example.com", "t0ken");
    environment.write(
        environment.home().join(".tofurc"),
        "host \"registry.opentofu.org\" {\n  services = {\n    \"providers.v1\" = \"https://registry.example.com/v1/providers/\"\n  }\n}\n",
    );
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("help: add credentials: provlock login registry.opentofu.org");
}
