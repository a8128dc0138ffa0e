//! Every fault at every stage of a run.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use super::Project;
use crate::lock::LOCK_BOTH;
use provlock_test::{Fault, TestEnvironment, Times, UNTRUSTED_HOST, survived};

/// Faults that no retry heals.
fn lasting_faults() -> Vec<(&'static str, Fault)> {
    let body = |text: &str| Fault::Body(text.as_bytes().to_vec());
    vec![
        ("not found", Fault::Status(404)),
        ("unauthorized", Fault::Status(401)),
        ("forbidden", Fault::Status(403)),
        (
            "too many requests",
            Fault::TooManyRequests { retry_after: 0 },
        ),
        ("server error", Fault::Status(500)),
        ("connection reset", Fault::Reset),
        ("truncated body", Fault::Truncated),
        ("wrong length", Fault::WrongLength),
        (
            "slow drip",
            Fault::Drip {
                pause: Duration::from_millis(300),
            },
        ),
        ("empty body", body("")),
        ("login page", body("<html>log in</html>")),
        ("empty object", body("{}")),
        ("broken JSON", body("{\"versions\": [")),
        ("oversized body", Fault::Body(vec![b' '; 8 << 20])),
        ("redirect loop", Fault::RedirectLoop),
        ("TLS failure", Fault::RedirectTo(UNTRUSTED_HOST)),
    ]
}

/// Faults that a retry heals.
fn passing_faults() -> [(&'static str, Fault); 4] {
    [
        (
            "too many requests",
            Fault::TooManyRequests { retry_after: 0 },
        ),
        ("server error", Fault::Status(500)),
        ("connection reset", Fault::Reset),
        ("truncated body", Fault::Truncated),
    ]
}

/// Runs `lock` against each fault at one URL.
fn check(url: &str) {
    let (lasting, passing) = (lasting_faults(), passing_faults());
    let faults = lasting.len() + passing.len();
    for (name, fault) in lasting {
        let project = Project::new();
        let before = project.environment.snapshot();
        let limit = if matches!(fault, Fault::Drip { .. }) {
            "1"
        } else {
            "60"
        };
        project.registry.fault(url, Times::Always, fault);

        let lock = project
            .environment
            .command(LOCK_BOTH)
            .env("TF_REGISTRY_DISCOVERY_RETRY", "0");
        let lock = lock
            .env("TF_PROVIDER_DOWNLOAD_RETRY", "0")
            .env("TF_REGISTRY_CLIENT_TIMEOUT", limit);
        let output = lock.env("PROVLOCK_DOWNLOAD_TIMEOUT", limit).run();

        assert_eq!(output.code, Some(2), "{name}\n{output}");
        assert!(
            output.stderr.contains(url),
            "{name} at {url} is not named:\n{output}"
        );
        before.assert_same(&project.environment.snapshot());
        project.assert_nothing_is_left();
    }
    for (name, fault) in passing {
        let project = Project::new();
        project.registry.fault(url, Times::First(1), fault);
        let output = project.environment.provlock(LOCK_BOTH);
        assert_eq!(output.code, Some(0), "{name}\n{output}");
        assert_eq!(
            project.environment.lock_file(),
            project.new,
            "{name}\n{output}"
        );
        project.assert_nothing_is_left();
    }
    survived("a fault of a registry, at each stage of a run", faults);
}

#[test]
fn without_faults_the_lock_file_is_right() {
    let project = Project::new();
    project.environment.provlock(LOCK_BOTH).assert_code(0);
    assert_ne!(project.old, project.new);
    assert_eq!(project.environment.lock_file(), project.new);
    project.assert_nothing_is_left();
}

/// Starts a server that sends a part of the headers again and again, and never ends them.
fn dripping(start: &'static str, piece: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                let _ = connection.read(&mut [0; 4096]);
                let mut sent = connection.write_all(start.as_bytes());
                while sent.is_ok() {
                    thread::sleep(Duration::from_millis(100));
                    sent = connection.write_all(piece.as_bytes());
                }
            });
        }
    });
    address
}

#[test]
fn headers_that_drip_have_a_time_limit() {
    let drips = [
        ("HTTP/1.1 200 ", "O"),
        ("HTTP/1.1 200 OK\r\nX: ", "x"),
        ("HTTP/1.1 200 OK\r\n", "X: y\r\n"),
    ];
    for (start, piece) in drips {
        let address = dripping(start, piece);
        let environment = TestEnvironment::new();
        environment.write(
            "main.tf",
            format!("module \"m\" {{\n  source = \"http://{address}/a.zip\"\n}}\n"),
        );
        let lock = environment
            .command(["lock", "--modules"])
            .env("TF_REGISTRY_DISCOVERY_RETRY", "0");
        let lock = lock
            .env("TF_PROVIDER_DOWNLOAD_RETRY", "0")
            .env("TF_REGISTRY_CLIENT_TIMEOUT", "1");
        let output = lock.env("PROVLOCK_DOWNLOAD_TIMEOUT", "1").run();
        output.assert_code(2).assert_stderr_has(&format!(
            "http://{address}/a.zip did not answer within 1 second"
        ));
    }
    survived("headers of a response that never end", drips.len());
}

#[test]
fn discovery() {
    check("registry.opentofu.org/.well-known/terraform.json");
}

#[test]
fn versions() {
    check("registry.opentofu.org/v1/providers/acme/gamma/versions");
}

#[test]
fn download_metadata() {
    check("registry.opentofu.org/v1/providers/acme/gamma/1.5.0/download/darwin/arm64");
}

#[test]
fn sha256sums() {
    check(&file("SHA256SUMS"));
}

#[test]
fn signature() {
    check(&file("SHA256SUMS.sig"));
}

#[test]
fn package() {
    check(&file("darwin_arm64.zip"));
}

#[test]
fn module_versions() {
    check("registry.opentofu.org/v1/modules/acme/network/aws/versions");
}

#[test]
fn module_location() {
    check("registry.opentofu.org/v1/modules/acme/network/aws/1.0.0/download");
}

#[test]
fn module_package() {
    check("registry.opentofu.org/modules/network.zip");
}

/// Address of a file of the release.
fn file(name: &str) -> String {
    format!(
        "registry.opentofu.org/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_{name}"
    )
}
