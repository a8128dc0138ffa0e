//! With `--base`, modules and providers are requested only from hosts that the base uses, and from
//! public ones. A pull request must not choose what the checking machine requests.

use std::net::TcpListener;

use provlock_test::archive::{self, Packing};
use provlock_test::git::Repository;
use provlock_test::{Fault, Output, Registry, TestEnvironment, Times, str, survived};

use super::{H1, entry};
use crate::lock::{lock_file, requires};

const VERIFY: [&str; 7] = [
    "verify",
    "-r",
    "--online",
    "--base",
    "main",
    "-p",
    "linux_amd64",
];

/// A registry, and a repository whose root module `app` locks a provider; on a branch for the
/// change.
fn repository(prepare: impl FnOnce(&Registry, &TestEnvironment)) -> (Registry, Repository) {
    let registry = Registry::start();
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    for host in ["modules.example.com", "evil.test"] {
        registry.add_host(host);
    }
    let module = ("network/main.tf".to_owned(), b"".to_vec());
    registry.serve("/modules.zip", archive::pack(&[module], Packing::Deflated));
    let environment = &repository.environment;
    environment.write("app/main.tf", requires("acme/gamma", "1.0.0"));
    environment
        .provlock(["-C", "app", "lock", "-p", "linux_amd64"])
        .assert_code(0);
    prepare(&registry, environment);
    environment.commit_all(".");
    environment.git(".", ["branch", "--quiet", "-M", "main"]);
    environment.git(".", ["checkout", "--quiet", "-b", "change"]);
    (registry, repository)
}

fn call(source: &str) -> String {
    format!("module \"network\" {{\n  source = {source:?}\n}}\n")
}

fn verify(repository: &Repository) -> Output {
    repository.environment.commit_all(".");
    repository.environment.provlock(VERIFY)
}

/// Whether a host was requested.
fn is_requested(registry: &Registry, host: &str) -> bool {
    let requests = registry.requests();
    requests.iter().any(|request| request.url().contains(host))
}

const ARCHIVE: &str = "https://modules.example.com/modules.zip//network";

#[test]
fn no_module_is_requested_from_a_host_that_only_the_change_names() {
    let (registry, repository) = repository(|_, _| {});
    let mut attempts = 0;
    for (source, host) in [
        ("https://evil.test/modules.zip//network", "evil.test"),
        ("https://evil.test:8443/modules.zip", "evil.test:8443"),
        ("https://user@evil.test/modules.zip", "evil.test"),
        ("git::https://evil.test/acme/network.git", "evil.test"),
        ("evil.test/acme/network/aws", "evil.test"),
        (
            "https://github.com.evil.test/modules.zip",
            "github.com.evil.test",
        ),
        ("https://github.com:8443/modules.zip", "github.com:8443"),
        ("https://127.0.0.1:8443/modules.zip", "127.0.0.1:8443"),
        ("http://127.0.0.1/modules.zip", "127.0.0.1"),
        ("http://localhost:8080/modules.zip", "localhost:8080"),
        ("https://[::1]/modules.zip", "[::1]"),
        ("https://169.254.169.254/latest.zip", "169.254.169.254"),
        ("https://10.0.0.1/modules.zip", "10.0.0.1"),
        ("git::ssh://git@10.0.0.1/acme.git", "10.0.0.1"),
        ("git::https://192.168.0.1/acme.git", "192.168.0.1"),
    ] {
        repository.environment.write("app/calls.tf", call(source));
        let output = verify(&repository);
        let message = format!(
            "error[not-decided]: module \"network\" was not fetched: the base does not use {host}"
        );
        output.assert_stdout_has(&message);
        assert_ne!(output.code, Some(0), "{source}: {output}");
        assert!(!is_requested(&registry, host), "{source}");
        attempts += 1;
    }
    survived(
        "a pull request lets provlock request a module of a new host",
        attempts,
    );
}

#[test]
fn a_module_that_cannot_be_fetched_is_one_finding_with_its_reason() {
    let (registry, repository) = repository(|_, _| {});
    let calls = [
        ("one", "https://evil.test/modules.zip"),
        ("two", "acme/network/aws"),
    ];
    for (name, source) in calls {
        let text = format!("module \"{name}\" {{\n  source = {source:?}\n}}\n");
        repository.environment.write(format!("app/{name}.tf"), text);
    }
    let denied = [
        "--deny",
        "module-not-installed",
        "--allow",
        "single-platform",
    ];
    repository.environment.commit_all(".");
    let verify = VERIFY.iter().chain(&denied);
    let output = repository.environment.provlock(verify);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[not-decided]: this change makes the requirements of the configuration unknown
 --> app/two.tf:2:12
  |
2 |   source = "acme/network/aws"
  |            ^^^^^^^^^^^^^^^^^^ cannot be read
  |
  = cannot get the versions of registry.opentofu.org/acme/network/aws: https://registry.opentofu.org/v1/modules/acme/network/aws/versions was not found (404)
help: use a source that provlock can read, or give the job access to it; if this is intended, an owner allows it with --warn not-decided

error[not-decided]: module "one" was not fetched: the base does not use evil.test
 --> app/one.tf:2:12
  |
2 |   source = "https://evil.test/modules.zip"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: if this is intended, name the host in allowed-hosts or allowed-modules of provlock.toml first, in a pull request of its own; if this is intended, an owner allows it with --warn not-decided

warning[publisher-added]: module "one" comes from evil.test, which is new: the base calls no module from it
 --> app/one.tf:2:12
  |
2 |   source = "https://evil.test/modules.zip"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: make sure that you trust the publisher

warning[publisher-added]: module "two" comes from registry.opentofu.org/acme, which is new: the base calls no module from it
 --> app/two.tf:2:12
  |
2 |   source = "acme/network/aws"
  |            ^^^^^^^^^^^^^^^^^^
  |
help: make sure that you trust the publisher

note[decision-changed]: module "one" https://evil.test/modules.zip is called
 --> app/one.tf:2:12
  |
2 |   source = "https://evil.test/modules.zip"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: make sure that this is intended

note[decision-changed]: module "two" registry.opentofu.org/acme/network/aws is called
 --> app/two.tf:2:12
  |
2 |   source = "acme/network/aws"
  |            ^^^^^^^^^^^^^^^^^^
  |
help: make sure that this is intended

----- stderr -----
2 errors, 2 warnings and 2 notes in app/one.tf and app/two.tf
"#]]);

    // It is no consequence of a finding that was lowered.
    let flags = ["--warn", "not-decided"];
    let verify = VERIFY.iter().chain(&denied).chain(&flags);
    let output = repository.environment.provlock(verify);
    output
        .assert_code(1)
        .assert_stdout_has("error[module-not-installed]");
    drop(registry);
}

#[test]
fn no_module_is_requested_for_a_fetched_module_from_a_host_that_the_base_does_not_use() {
    let (registry, repository) = repository(|_, environment| {
        environment.write("app/calls.tf", call(ARCHIVE));
    });
    let files = call("https://evil.test/modules.zip//network").into_bytes();
    let module = ("network/main.tf".to_owned(), files);
    registry.serve("/other.zip", archive::pack(&[module], Packing::Deflated));
    let source = "https://modules.example.com/other.zip//network";
    repository.environment.write("app/calls.tf", call(source));
    let output = verify(&repository);
    output.assert_stdout_has("was not fetched: the base does not use evil.test");
    assert!(!is_requested(&registry, "evil.test"), "{output}");
    assert!(is_requested(&registry, "modules.example.com/other.zip"));
}

#[test]
fn no_provider_is_requested_from_a_host_that_only_the_change_names() {
    let (registry, repository) = repository(|_, _| {});
    let mut attempts = 0;
    for host in ["evil.test", "127.0.0.1:8443", "registry.opentofu.org:8443"] {
        let address = format!("{host}/acme/gamma");
        let environment = &repository.environment;
        environment.write("app/main.tf", requires(&address, "1.0.0"));
        let text = lock_file(&[entry(&address, "1.0.0", "1.0.0", &[H1])]);
        environment.write("app/.terraform.lock.hcl", text);
        let output = verify(&repository);
        let message = format!("was not checked: the base does not use {host}");
        output.assert_stdout_has(&message);
        assert_ne!(output.code, Some(0), "{output}");
        assert!(!is_requested(&registry, &format!("{host}/")), "{output}");
        attempts += 1;
    }
    survived(
        "a pull request lets provlock request a provider of a new host",
        attempts,
    );
}

/// A name, and a preparation of the base.
type Case = (&'static str, fn(&Registry, &TestEnvironment));

#[test]
fn a_host_that_the_base_uses_is_requested() {
    let cases: &[Case] = &[
        ("a call of a different root module", |_, environment| {
            environment.write("other/main.tf", call(ARCHIVE));
        }),
        ("a call of a module that nothing calls", |_, environment| {
            environment.write("modules/a/main.tf", call(ARCHIVE));
        }),
        ("an allowed host", |_, environment| {
            let settings =
                "[policy]\nallowed-hosts = [\"registry.opentofu.org\", \"modules.example.com\"]\n";
            environment.write("provlock.toml", settings);
        }),
        ("an allowed module", |_, environment| {
            let settings = "[policy]\nallowed-modules = [\"modules.example.com/*\"]\n";
            environment.write("provlock.toml", settings);
        }),
        ("a module of a module", |registry, environment| {
            let files = call(ARCHIVE).into_bytes();
            let module = ("network/main.tf".to_owned(), files);
            registry.serve("/outer.zip", archive::pack(&[module], Packing::Deflated));
            let source = "https://registry.opentofu.org/outer.zip//network";
            environment.write("other/main.tf", call(source));
        }),
    ];
    for (name, prepare) in cases {
        let (registry, repository) = repository(prepare);
        repository.environment.write("app/calls.tf", call(ARCHIVE));
        let output = verify(&repository);
        output.assert_lacks("does not use");
        assert!(
            is_requested(&registry, "modules.example.com"),
            "{name}: {output}"
        );
    }
}

/// A port of this machine, which a service of the internal network stands for.
fn internal_service() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port.to_string())
}

#[test]
fn no_host_that_the_base_uses_redirects_to_the_internal_network() {
    let (service, port) = internal_service();
    let mut attempts = 0;
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        "169.254.169.254".to_owned(),
        "10.0.0.1:8443".to_owned(),
    ] {
        let host: &'static str = host.leak();
        for source in [
            "https://modules.example.com/other.zip//network",
            "https://modules.example.com/page",
            "git::https://modules.example.com/acme/network.git",
        ] {
            let (registry, repository) = repository(|registry, environment| {
                registry.add_host(host);
                environment.write("other/main.tf", call(ARCHIVE));
            });
            for pattern in ["**/other.zip", "**/network.git/**"] {
                registry.fault(pattern, Times::Always, Fault::RedirectTo(host));
            }
            let page = format!(
                "<html><head><meta name=\"terraform-get\" content=\"https://{host}/a.zip\"></head></html>"
            );
            registry.serve("/page", page);
            repository.environment.write("app/calls.tf", call(source));
            let output = verify(&repository);
            assert_ne!(output.code, Some(0), "{source} {host}: {output}");
            output.assert_has("is in the internal network and the base does not use it");
            assert!(service.accept().is_err(), "{source} {host}: {output}");
            assert!(!is_requested(&registry, &format!("{host}/")), "{output}");
            attempts += 1;
        }
    }
    survived(
        "a host that the base uses lets provlock request the internal network",
        attempts,
    );
}

#[test]
fn packages_of_providers_do_not_come_from_the_internal_network() {
    let (service, port) = internal_service();
    let host: &'static str = format!("127.0.0.1:{port}").leak();
    let (registry, repository) = repository(|_, _| {});
    let environment = &repository.environment;
    environment.write("app/README.md", "Hello.\n");
    environment.commit_all(".");
    for pattern in ["**SHA256SUMS*", "**/download/linux/amd64"] {
        registry.clear_faults();
        registry.fault(pattern, Times::Always, Fault::RedirectTo(host));
        let output = environment.provlock(VERIFY.into_iter().chain(["--no-cache"]));
        assert_ne!(output.code, Some(0), "{output}");
        output.assert_has("is in the internal network and the base does not use it");
        assert!(service.accept().is_err(), "{output}");
    }
}

#[test]
fn a_host_that_the_base_uses_may_redirect_to_a_public_host_and_to_hosts_of_the_base() {
    for host in ["archives.example.com", "10.0.0.1"] {
        let (registry, repository) = repository(|_, environment| {
            let settings =
                "[policy]\nallowed-modules = [\"modules.example.com/*\", \"10.0.0.1/*\"]\n";
            environment.write("provlock.toml", settings);
        });
        registry.fault(
            "modules.example.com/modules.zip",
            Times::Always,
            Fault::RedirectTo(host),
        );
        repository.environment.write("app/calls.tf", call(ARCHIVE));
        let output = verify(&repository);
        output.assert_lacks("internal network");
        // No certificate is for the address, so that the connection to it fails.
        let is_connected = output
            .stdout
            .contains(&format!("not valid for name \"{host}\""));
        let is_answered = is_requested(&registry, &format!("{host}/via/"));
        assert!(is_answered || is_connected, "{output}");
    }
}
