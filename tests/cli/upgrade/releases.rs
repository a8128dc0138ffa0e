//! Dates and pages of releases.

use super::*;
use crate::upgrade::age::document;

/// Entry of `hashicorp/null` in version 2 of the API of registry.terraform.io.
fn terraform_document(source: &str) -> String {
    let version =
        |version, date| json!({ "attributes": { "version": version, "published-at": date } });
    let versions = [
        version("3.2.4", "2025-04-20T10:00:00Z"),
        version("3.1.0", "2021-02-19T10:00:00Z"),
    ];
    json!({ "data": { "attributes": { "source": source } }, "included": versions }).to_string()
}

/// A project for Terraform that has locked `hashicorp/null` 3.1.0.
fn terraform_project() -> (Registry, TestEnvironment) {
    let (registry, mut environment) = Registry::with_project();
    let null = ["3.1.0", "3.2.4"]
        .map(|version| publish(&registry, "registry.terraform.io/hashicorp/null", version));
    environment.set("PROVLOCK_DIALECT", "terraform");
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write_lock_file(lock_file(&[locked(&null[0], "~> 3.0")]));
    (registry, environment)
}

#[test]
fn terraforms_registry_names_dates_and_repository() {
    let (registry, environment) = terraform_project();
    registry.serve(
        "/v2/providers/hashicorp/null",
        terraform_document("https://github.com/acme/null.fork"),
    );
    let table = environment.provlock(["upgrade", "--check"]);
    table.matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   change   released     newest
hashicorp/null   3.1.0    3.2.4     minor    [DATE]   3.2.4
  https://github.com/acme/null.fork/releases/tag/v3.2.4
  https://github.com/acme/null.fork/compare/v3.1.0...v3.2.4
----- stderr -----
1 provider can move within the constraints
"#]]);
    let markdown = environment.provlock(["upgrade", "--check", "--format", "markdown"]);
    markdown.matches(str![[r#"
exit code: 1
----- stdout -----
| Provider | Locked | Allowed | Change | Released | Newest |
|---|---|---|---|---|---|
| `hashicorp/null` | `3.1.0` | [`3.2.4`](https://github.com/acme/null.fork/releases/tag/v3.2.4) | [minor](https://github.com/acme/null.fork/compare/v3.1.0...v3.2.4) | [DATE] | `3.2.4` |
----- stderr -----
1 provider can move within the constraints
"#]]);
    let json = validated(
        &environment
            .provlock(["upgrade", "--check", "--json"])
            .stdout,
    );
    let versions = &json["roots"][0]["versions"][0];
    assert_eq!(versions["published"], "2025-04-20T10:00:00Z");
    assert_eq!(versions["newest_published"], "2025-04-20T10:00:00Z");
    assert_eq!(
        versions["comparison"],
        "https://github.com/acme/null.fork/compare/v3.1.0...v3.2.4"
    );
}

/// A registry may say anything; only a repository on github.com becomes a link.
#[test]
fn a_source_that_is_no_repository_is_not_linked_to() {
    for source in [
        "https://evil.example.com/acme/null",
        "https://github.com/acme/null)[x](https://evil.example.com",
        "",
    ] {
        let (registry, environment) = terraform_project();
        registry.serve("/v2/providers/hashicorp/null", terraform_document(source));
        for format in ["text", "markdown", "json"] {
            let output = environment.provlock(["upgrade", "--check", "--format", format]);
            output
                .assert_code(1)
                .assert_lacks("https://")
                .assert_lacks("evil");
            assert!(output.stdout.contains("2025-04-20"), "{output}");
        }
    }
}

#[test]
fn without_the_document_the_table_has_no_dates() {
    let faults = [
        Some(Fault::Status(500)),
        Some(Fault::Status(404)),
        Some(Fault::Truncated),
        None,
    ];
    for fault in faults {
        let (registry, environment, ..) = two_providers();
        registry.add_host("api.opentofu.org");
        document(&registry, "acme/gamma", &[("1.1.0", 8)]);
        match fault {
            Some(fault) => registry.fault("api.opentofu.org/*", Times::Always, fault),
            None => registry.serve("/registry/docs/providers/acme/gamma/index.json", "no JSON"),
        }
        let output = environment.provlock(["upgrade", "--check"]);
        output
            .assert_code(1)
            .assert_lacks("released")
            .assert_lacks("error")
            .assert_lacks("warning");
        assert!(
            output.stdout.contains(
                "https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0"
            )
        );
    }
}

#[test]
fn dates_are_requested_only_for_moves_in_a_table() {
    let (registry, environment, _, null) = two_providers();
    environment.write_lock_file(environment.lock_file().replace("3.1.0", "3.2.4"));
    environment.write("main.tf", requires_both("~> 1.0", "3.2.4"));
    environment.write_lock_file(lock_file(&[
        locked(&publish(&registry, "acme/gamma", "1.0.0"), "~> 1.0"),
        locked(&null[1], "3.2.4"),
    ]));
    registry.add_host("api.opentofu.org");
    document(&registry, "acme/gamma", &[("1.1.0", 8)]);
    let asked = || registry.requests_to("api.opentofu.org/*");
    for (arguments, number) in [
        (&["upgrade", "--check"][..], 1),
        (&["upgrade", "--check", "--offline"], 0),
        (&["upgrade", "--check", "acme/gamma@1.0.0"], 0),
        (&["upgrade", "--check", "-r", ".", "--json"], 1),
        (&UPGRADE, 0),
        (&["upgrade", "--check"], 0),
    ] {
        registry.reset_statistics();
        let output = environment.provlock(arguments);
        assert!(matches!(output.code, Some(0 | 1)), "{output}");
        assert_eq!(asked(), number, "{arguments:?}");
    }
}

#[test]
fn packages_from_a_mirror_ask_no_registry_for_dates() {
    let (registry, environment, ..) = two_providers();
    registry.add_host("api.opentofu.org");
    environment
        .provlock(["mirror", "mirror", "-p", "linux_amd64"])
        .assert_code(0);
    environment.write_lock_file("");
    registry.reset_statistics();
    let output = environment.provlock(["upgrade", "--check", "--fs-mirror", "mirror"]);
    output.assert_code(1).assert_lacks("https://");
    assert_eq!(registry.requests_to("*"), 0);
}

/// Links alone may be longer.
#[test]
fn no_line_of_the_table_is_longer_than_80_columns() {
    let (registry, environment) = Registry::with_project();
    let names = ["gamma", "a-longer-name"].map(|name| format!("registry.example.com/acme/{name}"));
    for (name, version) in names
        .iter()
        .flat_map(|name| ["10.100.0", "10.101.0", "11.0.0"].map(|version| (name, version)))
    {
        publish(&registry, name, version);
    }
    publish(&registry, "acme/gamma", "1.1.0");
    registry.add_host("api.opentofu.org");
    document(&registry, "acme/gamma", &[("1.1.0", 8)]);
    for root in ["live/production/europe/network", "live/production/asia"] {
        for (index, name) in names
            .iter()
            .map(String::as_str)
            .chain(["acme/gamma"])
            .enumerate()
        {
            let constraint = if name == "acme/gamma" {
                "1.1.0"
            } else {
                "~> 10.100"
            };
            let text = requires(name, constraint).replace("gamma =", &format!("gamma{index} ="));
            environment.write(format!("{root}/{index}/main.tf"), text);
            environment.write(format!("{root}/{index}/.terraform.lock.hcl"), "");
        }
    }
    for arguments in [
        &["upgrade", "--check", "-r"][..],
        &["upgrade", "--check", "-r", "-v"],
    ] {
        let output = environment.provlock(arguments);
        output.assert_code(1);
        for line in output
            .stdout
            .lines()
            .filter(|line| !line.contains("https://"))
        {
            assert!(line.chars().count() <= 80, "{output}");
        }
        for text in ["held back by live/production/", "11.0.0", "released"] {
            assert!(output.stdout.contains(text), "{text}: {output}");
        }
    }
}
