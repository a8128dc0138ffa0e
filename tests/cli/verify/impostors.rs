//! Addresses that attackers have used, as they were.

use super::gate::Gate;
use super::{H1, NOTHING, ZH, entry, found, good, lock};
use crate::lock::requires;
use provlock_test::{TestEnvironment, survived};

/// The first two stood in poisoned lock files, the third was malware in Terraform's registry. So was
/// `gocommunity-io/dockerd`, which looks like no other provider.
const INCIDENTS: [&str; 3] = [
    "registry.hashicorp-aws.com/hashicorp/awsbeta",
    "hashicorp-terraform.io/hashicorp/aws",
    "registry.terraform.io/kreuzwenker/docker",
];

/// A project that requires and locks just this provider.
fn locking(address: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    environment
}

#[test]
fn the_impostors_of_2026_are_found() {
    for address in INCIDENTS {
        assert_eq!(found(&locking(address), &["--dialect", "terraform"]), ["error look-alike"], "{address}");
    }
    survived("an address pretends to be that of a well-known provider", INCIDENTS.len());
}

#[test]
fn the_incidents_of_2026_are_stopped_where_they_are_new() {
    let attempts: [(&str, &[&str]); 4] = [
        (INCIDENTS[0], &["host-not-allowed", "namespace-not-allowed", "look-alike"]),
        (INCIDENTS[1], &["host-not-allowed", "namespace-not-allowed", "look-alike"]),
        (INCIDENTS[2], &["namespace-not-allowed", "look-alike"]),
        ("registry.terraform.io/gocommunity-io/dockerd", &["namespace-not-allowed"]),
    ];
    let gate = Gate::with(|gate| {
        let settings = "dialect = \"terraform\"\n[policy]\nallowed-hosts = [\"registry.terraform.io\"]\n\
            allowed-namespaces = [\"registry.terraform.io/hashicorp\"]\n";
        gate.write("provlock.toml", settings);
        gate.remove("examples/a/.terraform.lock.hcl");
        for directory in ["live", "other"] {
            gate.root(directory, "registry.terraform.io/hashicorp/null", &[H1, ZH]);
        }
    });
    for (address, codes) in attempts {
        gate.root("live", address, &[H1, ZH]);
        gate.write("live/main.tf", requires(address, ""));
        assert_eq!(gate.errors(&["-r"]), codes, "{address}");
        gate.reset();
    }
    survived("the addresses of the incidents of 2026 in a pull request", attempts.len());
}

#[test]
fn an_impostor_is_found_where_it_is_only_required() {
    for address in INCIDENTS {
        let environment = TestEnvironment::new();
        environment.write("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n");
        environment.write("m/main.tf", requires(address, ""));
        let found = found(&environment, &["--dialect", "terraform"]);
        assert_eq!(found, ["error lock-file-missing", "error look-alike"], "{address}");
    }
}

#[test]
fn the_host_of_a_company_is_not_an_impostor() {
    let environment = good();
    let address = "registry.example.com/acme/gamma";
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    assert_eq!(found(&environment, &[]), NOTHING);

    let address = "terraform-example.com/acme/gamma";
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    assert_eq!(found(&environment, &[]), ["error look-alike"]);
    environment.write("provlock.toml", "[policy]\nallowed-hosts = [\"terraform-example.com\"]\n");
    assert_eq!(found(&environment, &[]), NOTHING);
}

#[test]
fn a_host_that_the_base_has_is_meant() {
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", "");
        gate.root("old", "registry.example.com/acme/gamma", &[H1, ZH]);
    });
    let is_found = || gate.judge(&["-r"]).contains(&"look-alike".to_owned());
    gate.root("new", "registry.example.com/acme/delta", &[H1, ZH]);
    assert!(!is_found());
    gate.root("new", "registry.example.net/acme/delta", &[H1, ZH]);
    assert!(is_found(), "the change brings the host");
}
