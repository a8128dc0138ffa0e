//! Logins with which archives of providers are requested: those in `.netrc` and in the URL of a
//! mirror. Terraform 1.15.5 sends the same.

use super::lock::requires;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Fault, TestEnvironment, Times, str, url};
use serde_json::json;

const LINUX: &str = "linux_amd64";
const GAMMA: &str = "registry.example.com/acme/gamma";
const TERRAFORM: [&str; 5] = ["--dialect", "terraform", "lock", "-p", LINUX];
const TOFU: [&str; 5] = ["--dialect", "tofu", "lock", "-p", LINUX];
/// Documents and archives of the mirror.
const MIRROR_URL: &str = "https://us%20er:s3cr3t@mirror.example.com/providers/";

/// A release whose files are on a host of their own.
fn project(netrc: &str) -> (Registry, TestEnvironment, Published) {
    let (registry, environment) = Registry::with_project();
    let gamma = registry
        .publish(GAMMA, "1.0.0")
        .platforms([LINUX])
        .files_on("releases.example.com")
        .done();
    environment.write("main.tf", requires(GAMMA, ""));
    environment.write(environment.home().join(".netrc"), netrc);
    (registry, environment, gamma)
}

/// Logins of the requests that match a pattern, a bearer token as it is.
pub(crate) fn sent(registry: &Registry, pattern: &str) -> Vec<String> {
    let mut logins = Vec::new();
    for request in registry.requests_matching(pattern) {
        let token = request.authorization().unwrap_or("none").to_owned();
        logins.push(request.basic().unwrap_or(token));
    }
    logins
}

#[test]
fn terraform_requests_archives_of_a_registry_with_the_login_in_netrc() {
    let netrc = "machine releases.example.com login user password s3cr3t\n\
        machine registry.example.com login other password wr0ng\n";
    for (arguments, expected) in [(TERRAFORM, "user:s3cr3t"), (TOFU, "none")] {
        let (registry, environment, _) = project(netrc);
        environment
            .provlock(arguments)
            .assert_code(0)
            .assert_lacks("s3cr3t");
        assert_eq!(sent(&registry, url::PACKAGE), [expected]);
        for pattern in [
            url::DISCOVERY,
            url::VERSIONS,
            url::DOWNLOAD,
            url::SHASUMS,
            url::SIGNATURE,
        ] {
            assert_eq!(sent(&registry, pattern), ["none"], "{pattern}");
        }
    }
}

#[test]
fn a_mirror_directory_is_filled_with_the_login_in_netrc() {
    let (registry, environment, _) = project("default login user password s3cr3t\n");
    environment.provlock(TERRAFORM).assert_code(0);
    registry.reset_statistics();
    environment
        .provlock(["--dialect", "terraform", "mirror", "-p", LINUX, "mirror"])
        .assert_code(0);
    assert_eq!(sent(&registry, url::PACKAGE), ["user:s3cr3t"]);
}

#[test]
fn the_login_in_netrc_stays_with_its_host() {
    let (registry, environment, _) =
        project("machine releases.example.com login user password s3cr3t\n");
    registry.fault(
        "releases.example.com/files/*.zip",
        Times::Always,
        Fault::RedirectTo("mirror.example.com"),
    );
    environment.provlock(TERRAFORM).assert_code(0);
    assert_eq!(sent(&registry, url::PACKAGE), ["user:s3cr3t", "none"]);

    // With a port it is a different machine.
    let (registry, environment, _) =
        project("machine releases.example.com:8443 login user password s3cr3t\n");
    environment.provlock(TERRAFORM).assert_code(0);
    assert_eq!(sent(&registry, url::PACKAGE), ["none"]);
}

#[test]
fn a_refused_archive_has_help_about_netrc() {
    let (registry, environment, _) = project("");
    registry.fault(url::PACKAGE, Times::Always, Fault::Status(401));
    environment.provlock(TERRAFORM).matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma 1.0.0 for linux_amd64: https://releases.example.com/files/registry.example.com/acme/gamma/1.0.0/terraform-provider-gamma_1.0.0_linux_amd64.zip was refused (401); no credentials were sent
help: put user and password for releases.example.com into ~/.netrc; tokens of registries are not sent to archives
"#]]);
    environment.provlock(TOFU).matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma 1.0.0 for linux_amd64: https://releases.example.com/files/registry.example.com/acme/gamma/1.0.0/terraform-provider-gamma_1.0.0_linux_amd64.zip was refused (401); no credentials were sent
help: this server must answer without credentials, since no tokens are sent to it
"#]]);
    environment.write(
        environment.home().join(".netrc"),
        "default login user password s3cr3t",
    );
    environment.provlock(TERRAFORM).matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.example.com/acme/gamma 1.0.0 for linux_amd64: https://releases.example.com/files/registry.example.com/acme/gamma/1.0.0/terraform-provider-gamma_1.0.0_linux_amd64.zip was refused (401) with the credentials that were sent
help: check user and password for releases.example.com in ~/.netrc, or in the URL
"#]]);
}

/// A network mirror of one release, whose archive is at `archive`.
fn mirrored(archive: &str) -> (Registry, TestEnvironment) {
    let (registry, environment, gamma) = project("");
    registry.add_host("mirror.example.com");
    let document = |name: &str| format!("/providers/{GAMMA}/{name}");
    registry.serve(
        &document("index.json"),
        json!({ "versions": { "1.0.0": {} } }).to_string(),
    );
    registry.serve(
        &document("1.0.0.json"),
        json!({ "archives": { LINUX: { "url": archive } } }).to_string(),
    );
    let package = gamma.packages[LINUX].archive.to_vec();
    for path in [&document("gamma.zip"), "/files/gamma.zip"] {
        registry.serve(path, package.clone());
    }
    (registry, environment)
}

#[test]
fn relative_urls_of_a_mirror_have_its_login() {
    for (archive, expected) in [
        ("gamma.zip", "us er:s3cr3t"),
        ("./gamma.zip", "us er:s3cr3t"),
        ("/files/gamma.zip", "us er:s3cr3t"),
        ("https://mirror.example.com/files/gamma.zip", "none"),
        ("//mirror.example.com/files/gamma.zip", "none"),
        ("https://releases.example.com/files/gamma.zip", "none"),
        ("https://a:b@releases.example.com/files/gamma.zip", "a:b"),
    ] {
        for dialect in [TERRAFORM, TOFU] {
            let (registry, environment) = mirrored(archive);
            environment
                .provlock([&dialect[..], &["--net-mirror", MIRROR_URL]].concat())
                .assert_code(0)
                .assert_lacks("s3cr3t");
            assert_eq!(sent(&registry, "*.json"), ["us er:s3cr3t"; 2]);
            assert_eq!(sent(&registry, url::PACKAGE), [expected], "{archive}");
        }
    }
}

/// The token of the host goes to the documents, as it does without a login in the URL.
#[test]
fn a_token_takes_the_place_of_the_login_in_the_documents_of_a_mirror() {
    let (registry, mut environment) = mirrored("gamma.zip");
    environment.set("TF_TOKEN_mirror_example_com", "t0ken");
    environment
        .provlock([&TERRAFORM[..], &["--net-mirror", MIRROR_URL]].concat())
        .assert_code(0);
    assert_eq!(sent(&registry, "*.json"), ["Bearer t0ken"; 2]);
    assert_eq!(sent(&registry, url::PACKAGE), ["us er:s3cr3t"]);
}

#[test]
fn the_login_of_a_mirror_does_not_follow_a_redirect_to_another_host() {
    let (registry, environment) = mirrored("gamma.zip");
    registry.fault(
        "mirror.example.com/providers/*/1.0.0.json",
        Times::Always,
        Fault::RedirectTo("releases.example.com"),
    );
    environment
        .provlock([&TERRAFORM[..], &["--net-mirror", MIRROR_URL]].concat())
        .assert_lacks("s3cr3t");
    let elsewhere = sent(&registry, "releases.example.com/*");
    assert!(!elsewhere.is_empty());
    assert!(
        elsewhere.iter().all(|login| login == "none"),
        "{elsewhere:?}"
    );
}

#[test]
fn the_login_in_the_url_of_a_mirror_precedes_that_in_netrc() {
    for (archive, url_of_mirror, expected) in [
        ("gamma.zip", MIRROR_URL, "us er:s3cr3t"),
        (
            "https://mirror.example.com/files/gamma.zip",
            MIRROR_URL,
            "n:p",
        ),
        ("gamma.zip", "https://mirror.example.com/providers/", "n:p"),
    ] {
        let (registry, environment) = mirrored(archive);
        environment.write(
            environment.home().join(".netrc"),
            "machine mirror.example.com login n password p",
        );
        environment
            .provlock([&TERRAFORM[..], &["--net-mirror", url_of_mirror]].concat())
            .assert_code(0);
        assert_eq!(sent(&registry, url::PACKAGE), [expected], "{archive}");
    }
}

#[test]
fn a_mirror_of_the_cli_configuration_has_its_login_too() {
    let (registry, mut environment) = mirrored("gamma.zip");
    let text = format!(
        "provider_installation {{\n  network_mirror {{\n    url = \"{MIRROR_URL}\"\n  }}\n}}\n"
    );
    let file = environment.write(environment.home().join("cli.tfrc"), text);
    environment.set("TF_CLI_CONFIG_FILE", file);
    environment
        .provlock([&TERRAFORM[..], &["--use-cli-config"]].concat())
        .assert_code(0)
        .assert_lacks("s3cr3t");
    assert_eq!(sent(&registry, url::PACKAGE), ["us er:s3cr3t"]);
}
