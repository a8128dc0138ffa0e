//! Client certificates (mTLS) from the CLI configuration.

use std::fs;

use super::lock::requires;
use provlock_test::archive::{self, Packing};
use provlock_test::{Fault, Registry, TestEnvironment, Times, survived};

const HOST: &str = "private.example.com";
const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];

/// A project that requires a provider of a host which refuses clients without a certificate, and
/// the block for the CLI configuration.
fn project() -> (Registry, TestEnvironment, String) {
    let registry = Registry::start_asking_for_certificates();
    let environment = TestEnvironment::with_registry(&registry);
    registry
        .publish("acme/gamma", "1.5.0")
        .on_host(HOST)
        .platforms(["linux_amd64"])
        .done();
    registry.require_client_certificate(HOST);
    let [certificate, key] = registry.client_identity();
    environment.write(environment.home().join("client.pem"), certificate);
    environment.write(environment.home().join("client-key.pem"), key);
    environment.write("main.tf", requires(&format!("{HOST}/acme/gamma"), ""));
    let block = block(HOST);
    (registry, environment, block)
}

fn block(host: &str) -> String {
    format!(
        "client_certificate \"{host}\" {{\n  certificate = \"client.pem\"\n  key         = \"client-key.pem\"\n}}\n"
    )
}

/// Writes the CLI configuration.
fn configure(environment: &TestEnvironment, text: &str) {
    environment.write(environment.home().join(".tofurc"), text);
}

/// The hosts that were shown a certificate.
fn identified(registry: &Registry) -> Vec<String> {
    let mut hosts: Vec<_> = registry
        .requests()
        .into_iter()
        .filter(|request| request.has_client_certificate)
        .map(|request| request.host)
        .collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

#[test]
fn a_host_that_requires_a_certificate_gets_it() {
    let (registry, environment, block) = project();
    let output = environment.provlock(LOCK);
    output
        .assert_code(2)
        .assert_stderr_has("No required SSL certificate was sent");
    assert_eq!(identified(&registry), [] as [&str; 0]);

    configure(&environment, &block);
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(identified(&registry), [HOST]);
    environment
        .provlock(["verify", "--online"])
        .assert_lacks("SSL certificate");
}

#[test]
fn no_other_host_gets_the_certificate() {
    let (registry, environment, block) = project();
    let [certificate, key] = [
        environment.read(environment.home().join("client.pem")),
        environment.read(environment.home().join("client-key.pem")),
    ];
    registry
        .publish("acme/beta", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/delta", "1.0.0")
        .on_host(HOST)
        .files_on("files.example.net")
        .platforms(["linux_amd64"])
        .done();
    let files = [("main.tf".to_owned(), b"# one\n".to_vec())];
    registry.serve("/site.zip", archive::pack(&files, Packing::Deflated));
    configure(&environment, &block);

    // A provider of a different host, and files of the host on a different one.
    environment.write("main.tf", requires("acme/beta", ""));
    environment.write("delta/main.tf", requires(&format!("{HOST}/acme/delta"), ""));
    environment.write("calls.tf", "module \"delta\" { source = \"./delta\" }\n");
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(identified(&registry), [HOST]);

    fs::remove_file(environment.project().join("calls.tf")).unwrap();

    // A redirect of the host to a different one, and of a different one to the host.
    let call = |host: &str| format!("module \"m\" {{ source = \"https://{host}/site.zip\" }}\n");
    registry.add_host("evil.example.org");
    registry.fault(
        &format!("{HOST}/site.zip"),
        Times::Always,
        Fault::RedirectTo("evil.example.org"),
    );
    environment.write("main.tf", call(HOST));
    environment.provlock(["lock", "--modules"]).assert_code(0);
    environment.write("main.tf", call(&format!("{HOST}:8443")));
    environment
        .provlock(["lock", "--modules"])
        .assert_lacks("private-key");
    environment.write("main.tf", call(&format!("sub.{HOST}")));
    environment
        .provlock(["lock", "--modules"])
        .assert_lacks("private-key");
    assert_eq!(identified(&registry), [HOST]);

    // The settings of a repository name no certificate.
    configure(&environment, "");
    environment.write("client.pem", certificate);
    environment.write("client-key.pem", key);
    registry.reset_statistics();
    environment.write("main.tf", requires(&format!("{HOST}/acme/gamma"), ""));
    for (name, text) in [
        (
            "provlock.toml",
            format!(
                "[client-certificate.\"{HOST}\"]\ncertificate = \"client.pem\"\nkey = \"client-key.pem\"\n"
            ),
        ),
        (".tofurc", block.clone()),
        (".terraformrc", block.clone()),
        ("tofu.rc", block),
    ] {
        environment.write(name, text);
        let output = environment.provlock(LOCK);
        assert_eq!(output.code, Some(2), "{name}");
        fs::remove_file(environment.project().join(name)).unwrap();
    }
    assert_eq!(identified(&registry), [] as [&str; 0]);
    survived("a different host asks for a client certificate", 6);
    survived("a repository names a client certificate", 4);
}

#[test]
fn a_certificate_that_cannot_be_read_fails_only_its_host() {
    let (registry, environment, block) = project();
    registry
        .publish("acme/beta", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    for (file, content) in [
        ("client.pem", None),
        ("client-key.pem", Some("secret-of-mine")),
        ("client.pem", Some("no certificate")),
    ] {
        configure(&environment, &block);
        let path = environment.home().join(file);
        let old = environment.read(&path);
        match content {
            Some(content) => _ = environment.write(&path, content),
            None => fs::remove_file(&path).unwrap(),
        }
        environment.write("main.tf", requires(&format!("{HOST}/acme/gamma"), ""));
        let output = environment.provlock(LOCK);
        output
            .assert_code(2)
            .assert_stderr_has("the client certificate for private.example.com cannot be used")
            .assert_stderr_has("client-key.pem")
            .assert_lacks("secret-of-mine");
        environment.write("main.tf", requires("acme/beta", ""));
        environment.provlock(LOCK).assert_code(0);
        environment.write(&path, old);
    }
    for bad in [
        "client_certificate \"private.example.com\" {}\n",
        "client_certificate \"private.example.com\" { certificate = \"client.pem\" }\n",
        "client_certificate \"not a host\" { certificate = \"client.pem\" }\n",
    ] {
        configure(&environment, bad);
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has("invalid-cli-configuration");
    }
}
