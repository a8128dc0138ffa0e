//! Findings about the project's policy.

use super::{H1, NOTHING, NULL, entry, found, good, lock, verify};
use crate::lock::requires;

#[test]
fn host_not_allowed() {
    let environment = good();
    environment.write("provlock.toml", "[policy]\nallowed-hosts = [\"registry.example.com\"]\n");
    assert_eq!(found(&environment, &[]), ["error host-not-allowed"]);
    environment.write("provlock.toml", "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n");
    assert_eq!(found(&environment, &[]), NOTHING);
}

#[test]
fn namespace_not_allowed() {
    let environment = good();
    environment
        .write("provlock.toml", "[policy]\nallowed-namespaces = [\"registry.example.com/hashicorp\", \"acme\"]\n");
    assert_eq!(found(&environment, &[]), ["error namespace-not-allowed"]);
    for allowed in ["hashicorp", "registry.opentofu.org/hashicorp"] {
        environment.write("provlock.toml", format!("[policy]\nallowed-namespaces = [\"{allowed}\"]\n"));
        assert_eq!(found(&environment, &[]), NOTHING);
    }
}

#[test]
fn bundled_plugins() {
    let environment = good();
    std::fs::create_dir_all(environment.project().join("terraform.d/plugins")).unwrap();
    assert_eq!(found(&environment, &[]), NOTHING, "the directory is empty");
    environment.write("terraform.d/plugins/linux_amd64/terraform-provider-null_v1.0.0", "program");
    std::fs::create_dir_all(environment.project().join("terraform.d/plugins").join(NULL).join("3.2.4")).unwrap();
    assert_eq!(found(&environment, &[]), NOTHING, "no program of today reads this layout");
    environment.write(format!("terraform.d/plugins/{NULL}/3.2.4/linux_amd64/terraform-provider-null"), "program");
    assert_eq!(found(&environment, &[]), ["error bundled-plugins"]);
}

#[test]
fn lookalike() {
    let environment = good();
    environment.write("main.tf", requires("hashlcorp/null", ""));
    lock(&environment, &[entry("registry.opentofu.org/hashlcorp/null", "3.2.4", "", &[H1])]);
    assert_eq!(found(&environment, &[]), ["error look-alike"]);
    environment.write("provlock.toml", "[policy]\nallowed-namespaces = [\"hashlcorp\"]\n");
    assert_eq!(found(&environment, &[]), NOTHING, "it is meant as it is written");
}

#[test]
fn a_policy_that_cannot_be_understood_checks_nothing() {
    for line in
        ["[policy]\nallowed-hosts = [\"a b\"]", "[policy]\nallowed-namespaces = [\"a/b/c\"]", "[trust]\n\"x\" = []"]
    {
        let environment = good();
        environment.write("provlock.toml", line);
        verify(&environment, &[]).assert_code(2).assert_stderr_has("provlock.toml");
    }
}
