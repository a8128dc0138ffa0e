//! Versions that are too young, and where their dates come from.

use jiff::{SignedDuration, Timestamp};

use super::*;

/// A time so many days ago, as RFC 3339 and as HTTP write it.
fn days_ago(days: i64) -> (String, String) {
    let time = Timestamp::now() - SignedDuration::from_hours(24 * days);
    (
        time.to_string(),
        jiff::fmt::rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&time)
            .unwrap(),
    )
}

/// The index of the documentation of a provider of registry.opentofu.org.
pub(crate) fn document(registry: &Registry, provider: &str, versions: &[(&str, i64)]) {
    let version = |(version, days): &(&str, i64)| json!({ "id": format!("v{version}"), "published": days_ago(*days).0 });
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let index = json!({ "addr": { "display": provider }, "versions": versions });
    registry.serve(
        &format!("/registry/docs/providers/{provider}/index.json"),
        index.to_string(),
    );
}

#[test]
fn versions_that_are_too_young_are_skipped() {
    let (registry, environment, gamma, null) = two_providers();
    registry.add_host("api.opentofu.org");
    publish(&registry, "acme/gamma", "1.2.0");
    publish(&registry, "acme/gamma", "1.3.0");
    document(
        &registry,
        "acme/gamma",
        &[("1.3.0", 1), ("1.2.0", 6), ("1.1.0", 8), ("1.0.0", 100)],
    );
    document(&registry, "hashicorp/null", &[("3.2.4", 400)]);

    let table = environment.provlock(["upgrade", "--check", "--min-age", "7d", "acme/gamma"]);
    table.matches(str![[r#"
exit code: 1
----- stdout -----
provider     locked   allowed   change   released     newest   held back by
acme/gamma   1.0.0    1.1.0     minor    [DATE]   2.0.0    main.tf:5  ~> 1.0
  https://github.com/acme/terraform-provider-gamma/releases/tag/v1.1.0
  https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0
----- stderr -----
warning[too-young]: acme/gamma 1.3.0 is not chosen: published [TIME], and it must be 7 days old
 |
 = 1.2.0 is not chosen: published [TIME], and it must be 7 days old
1 provider can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints acme/gamma --min-age 7d
"#]]);
    registry.reset_statistics();
    let output = environment.provlock(upgrade(&["--min-age", "7d"]));

    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: acme/gamma 1.3.0 is not chosen: published [TIME], and it must be 7 days old
 |
 = 1.2.0 is not chosen: published [TIME], and it must be 7 days old
  ~ acme/gamma       1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 2 providers for linux_amd64 (2 changed); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check --min-age 7d -p linux_amd64
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
    assert_eq!(registry.requests_to("api.opentofu.org/registry/docs/*"), 2);
    assert!(
        registry
            .requests_matching("api.opentofu.org/*")
            .iter()
            .all(|request| request.authorization().is_none())
    );
}

#[test]
fn the_age_comes_from_the_settings_unless_the_flag_says_otherwise() {
    let (registry, environment, gamma, null) = two_providers();
    registry.add_host("api.opentofu.org");
    document(&registry, "acme/gamma", &[("1.1.0", 1)]);
    document(&registry, "hashicorp/null", &[("3.2.4", 1)]);
    environment.write(
        "provlock.toml",
        "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"hashicorp/null\"]\n",
    );

    environment.provlock(UPGRADE).assert_code(0);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
    let named = environment.provlock(upgrade(&["acme/gamma@1.1.0"]));
    named.matches(str![[r#"
exit code: 2
----- stderr -----
error[too-young]: acme/gamma 1.1.0 is not chosen: published [TIME], and it must be 7 days old
help: to use it anyway, pass --min-age 0d
"#]]);
    environment
        .provlock(upgrade(&["--min-age", "0d", "acme/gamma@1.1.0"]))
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );
    // A locked version stays locked, however young it is.
    environment.provlock(["upgrade", "--check"]).assert_code(0);
    environment
        .provlock(["upgrade", "--check", "acme/gamma@1.1.0"])
        .assert_code(0);
    environment.provlock(["upgrade", "--min-age", "soon"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'soon' for '--min-age <DURATION>': "soon" is not a duration; write a number and a unit, for example 7d or 36h

help: for more information, try '--help'.
"#]]);
}

#[test]
fn without_a_date_a_version_is_not_chosen() {
    let (registry, environment, gamma, null) = two_providers();
    registry.add_host("api.opentofu.org");
    document(&registry, "hashicorp/null", &[("3.2.4", 400)]);

    let output = environment.provlock(upgrade(&["--min-age", "7d"]));
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: acme/gamma 1.1.0 is not chosen: its publication date is not known: https://api.opentofu.org/registry/docs/providers/acme/gamma/index.json was not found (404), and SHA256SUMS has no time stamp
  ~ hashicorp/null   3.1.0 → 3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 2 providers for linux_amd64 (1 changed, 1 unchanged); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check --min-age 7d -p linux_amd64
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );

    environment.write_lock_file("");
    let nothing_left = environment.provlock(upgrade(&["--min-age", "7d", "acme/gamma"]));
    nothing_left.matches(str![[r#"
exit code: 2
----- stderr -----
error[too-young]: acme/gamma 1.1.0 is not chosen: its publication date is not known: https://api.opentofu.org/registry/docs/providers/acme/gamma/index.json was not found (404), and SHA256SUMS has no time stamp
 |
 = 1.0.0 is not chosen for the same reason
help: to use it anyway, pass --min-age 0d
"#]]);
}

#[test]
fn without_a_service_the_date_of_the_checksums_is_used() {
    let (registry, environment) = Registry::with_project();
    let gamma = ["1.0.0", "1.1.0", "1.2.0"]
        .map(|version| publish(&registry, "registry.example.com/acme/gamma", version));
    registry.last_modified("*1.0.0_SHA256SUMS", &days_ago(90).1);
    registry.last_modified("*1.1.0_SHA256SUMS", &days_ago(30).1);
    registry.last_modified("*1.2.0_SHA256SUMS", &days_ago(2).1);
    environment.write(
        "main.tf",
        requires("registry.example.com/acme/gamma", "~> 1.0"),
    );
    environment.write_lock_file(lock_file(&[locked(&gamma[0], "~> 1.0")]));

    environment.provlock(upgrade(&["--min-age", "2w"])).matches(str![[r#"
exit code: 0
----- stderr -----
Not checked: dates of releases on registry.example.com (Last-Modified, the server's own claim)
warning[too-young]: registry.example.com/acme/gamma 1.2.0 is not chosen: published [TIME], and it must be 14 days old
  ~ registry.example.com/acme/gamma   1.0.0 → 1.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Upgraded 1 provider for linux_amd64 (1 changed); [SIZE] downloaded
1 provider held back from the newest version; see: provlock upgrade --check --min-age 2w -p linux_amd64
"#]]);

    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0")])
    );
    for (pattern, expected) in [
        ("*1.1.0_SHA256SUMS", 1),
        ("*1.0.0_SHA256SUMS", 0),
        ("*/1.1.0/download/*", 1),
    ] {
        assert_eq!(registry.requests_to(pattern), expected, "{pattern}");
    }
}

#[test]
fn dates_come_from_both_registries_at_any_address() {
    let (registry, mut environment) = Registry::with_project();
    let null = ["3.1.0", "3.2.4"]
        .map(|version| publish(&registry, "registry.terraform.io/hashicorp/null", version));
    let gamma = ["1.0.0", "1.1.0"]
        .map(|version| publish(&registry, "registry.opentofu.org/acme/gamma", version));
    let version = |version: &str, days| {
        let attributes = json!({ "version": version, "published-at": days_ago(days).0 });
        json!({ "type": "provider-versions", "attributes": attributes })
    };
    let included = json!({ "data": {}, "included": [version("3.2.4", 3), version("3.1.0", 300)] });
    registry.serve("/v2/providers/hashicorp/null", included.to_string());
    registry.fault(
        "registry.terraform.io/v2/*",
        Times::Always,
        Fault::Status(404),
    );
    document(&registry, "acme/gamma", &[("1.1.0", 3)]);
    environment.set("PROVLOCK_TERRAFORM_API", "https://mirror.example.com");
    environment.set("PROVLOCK_OPENTOFU_API", "https://releases.example.com/");
    environment.set("PROVLOCK_DIALECT", "terraform");
    environment.write(
        "main.tf",
        requires_both("~> 1.0", "~> 3.0").replace("acme/gamma", "registry.opentofu.org/acme/gamma"),
    );

    environment
        .provlock(upgrade(&["--min-age", "1d"]))
        .assert_code(0);

    let written = environment.lock_file();
    assert!(
        written.contains(null[1].h1("linux_amd64")) && written.contains(gamma[1].h1("linux_amd64")),
        "{written}"
    );
    assert_eq!(
        registry.requests_to(
            "mirror.example.com/v2/providers/hashicorp/null?include=provider-versions"
        ),
        1
    );
    assert_eq!(
        registry.requests_to("releases.example.com/registry/docs/*"),
        1
    );
}

#[test]
fn dates_come_over_the_connection_that_the_versions_came_over() {
    let (registry, environment) = Registry::with_project();
    publish(&registry, "registry.terraform.io/hashicorp/null", "3.2.4");
    let version = json!({ "attributes": { "version": "3.2.4", "published-at": days_ago(3).0 } });
    registry.serve(
        "/v2/providers/hashicorp/null",
        json!({ "included": [version] }).to_string(),
    );
    environment.write("main.tf", requires("hashicorp/null", ""));
    let arguments = [
        "--dialect",
        "terraform",
        "upgrade",
        "--check",
        "--min-age",
        "1d",
    ];
    environment.provlock(arguments).matches(str![[r#"
exit code: 1
----- stdout -----
provider         locked   allowed   released     newest
hashicorp/null            3.2.4     [DATE]   3.2.4
----- stderr -----
1 provider can move within the constraints
"#]]);
    let statistics = registry.statistics();
    assert_eq!(
        (statistics.requests, statistics.connections),
        (3, 1),
        "discovery, versions, dates"
    );
}
