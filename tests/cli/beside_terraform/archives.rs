//! Logins with which packages are requested, and when their signatures are valid.

use provlock_test::registry::Registry;
use provlock_test::{Flaw, url};

use super::{LINUX, Project, project};
use crate::lock::requires;
use crate::logins_of_archives::sent;

const GAMMA: &str = "registry.example.com/acme/gamma";
const NETRC: &str = "machine releases.example.com login user password s3cr3t\n\
    machine registry.example.com login other password wr0ng\n";

/// Logins of the requests for documents and then for archives.
fn logins(registry: &Registry) -> Vec<String> {
    let mut logins = Vec::new();
    for pattern in [url::DOWNLOAD, url::SHASUMS, url::SIGNATURE, url::PACKAGE] {
        logins.extend(sent(registry, pattern));
    }
    logins
}

#[test]
fn an_archive_is_requested_with_the_login_in_netrc_as_by_terraform() {
    let project = project();
    let Project {
        registry,
        environment,
        ..
    } = &project;
    let gamma = registry.publish(GAMMA, "1.0.0").platforms(LINUX);
    gamma.files_on("releases.example.com").done();
    environment.write(environment.home().join(".netrc"), NETRC);
    let files = [("main.tf", &*requires(GAMMA, ""))];
    let expected = ["none", "none", "none", "user:s3cr3t"];

    project.assert_locked_as_by_terraform("netrc", &files, true);
    registry.reset_statistics();
    project.write(&files);
    let lock = ["lock", "-p", "linux_amd64", "--no-cache"];
    environment.provlock(lock).assert_code(0);
    assert_eq!(logins(registry), expected);

    registry.reset_statistics();
    project.write(&files);
    if project.init().is_some() {
        assert_eq!(logins(registry), expected);
    }
}

#[test]
fn a_signature_is_valid_at_its_check_as_for_terraform() {
    let project = project();
    let published = |name: &str| {
        let address = format!("registry.terraform.io/acme/{name}");
        project.registry.publish(&address, "1.0.0").platforms(LINUX)
    };
    published("now").signed_on_request().done();
    published("later").flaw(Flaw::FutureSignature).done();

    for (name, is_accepted) in [("now", true), ("later", false)] {
        let required = requires(&format!("acme/{name}"), "");
        project.assert_locked_as_by_terraform(name, &[("main.tf", &required)], is_accepted);
    }
}
