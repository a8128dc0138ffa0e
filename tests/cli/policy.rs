//! The policy of `provlock.toml` applies to `lock`.

use super::lock::requires;
use provlock_test::publish::Flaw;
use provlock_test::{Registry, TestEnvironment, keys, str};

#[test]
fn forbidden_providers_are_not_locked() {
    let registry = Registry::start();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64"])
        .signed_by(&keys::RSA)
        .done();
    registry
        .publish("acme/unsigned", "1.0.0")
        .platforms(["linux_amd64"])
        .flaw(Flaw::NoKeys)
        .done();
    let check = |settings: &str, provider: &str, code: Option<&str>| {
        let environment = TestEnvironment::with_registry(&registry);
        environment.write("main.tf", requires(provider, ""));
        environment.write("provlock.toml", settings);
        let output = environment.provlock(["lock", "-p", "linux_amd64"]);
        assert_eq!(
            output.code,
            Some(if code.is_some() { 2 } else { 0 }),
            "{settings}\n{output}"
        );
        if let Some(code) = code {
            output
                .assert_stderr_has(&format!("error[{code}]"))
                .assert_stderr_has("main.tf:4:");
        }
        assert_eq!(environment.has_lock_file(), code.is_none());
    };
    let trust = |fingerprint: &str| format!("[trust]\n\"acme/*\" = [\"{fingerprint}\"]\n");
    check(
        "[policy]\nallowed-hosts = [\"registry.example.com\"]\n",
        "acme/gamma",
        Some("host-not-allowed"),
    );
    check(
        "[policy]\nallowed-namespaces = [\"hashicorp\"]\n",
        "acme/gamma",
        Some("namespace-not-allowed"),
    );
    check(
        "[policy]\nallowed-namespaces = [\"acme\"]\nrequire-signed = true\n",
        "acme/gamma",
        None,
    );
    check(
        "[policy]\nrequire-signed = true\n",
        "acme/unsigned",
        Some("unsigned-provider"),
    );
    check(&trust(&keys::RSA.fingerprint()), "acme/gamma", None);
    check(
        &trust(&keys::OTHER.fingerprint()),
        "acme/gamma",
        Some("key-not-trusted"),
    );
}

#[test]
fn a_setting_that_cannot_be_understood_is_shown_where_it_stands() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("acme/gamma", ""));
    for (settings, place, message) in [
        (
            "platforms = [\n  \"linux_amd64\",\n  \"linux-arm64\",\n]",
            "3:3",
            "is not a platform; did you mean linux_arm64?",
        ),
        (
            "[roots]\ninclude = [\"a\", \"b[\"]",
            "2:17",
            "unclosed character class",
        ),
        (
            "[policy]\nallowed-hosts = [\"a.test\", \"a b\"]",
            "2:28",
            "\"a b\" is not a host name",
        ),
        (
            "[policy]\nallowed-namespaces = [\"a/b/c\"]",
            "2:23",
            "\"a/b/c\" is not a namespace; write [HOSTNAME/]NAMESPACE",
        ),
        (
            "[policy]\nmin-age = \"soon\"",
            "2:11",
            "\"soon\" is not a duration",
        ),
        (
            "[policy]\nmin-age-exempt = [\n  \"acme/gamma\",\n  \"a/b/c/d\",\n]",
            "4:3",
            "\"a/b/c/d\" is not a provider: a provider address is [HOSTNAME/]NAMESPACE/TYPE",
        ),
        (
            "[[policy.deny]]\nprovider = \"acme\"",
            "2:12",
            "a pattern is [HOSTNAME/]NAMESPACE/TYPE",
        ),
        (
            "[[policy.deny]]\nprovider = \"acme/*\"\nversions = \"=> 2\"",
            "3:12",
            "\"=>\" is not an operator; did you mean \">=\"?",
        ),
        (
            "[[policy.allow]]\nprovider = \"acme/*\"\nversion = \"2\"",
            "3:1",
            "unknown field `version`",
        ),
        (
            "[[policy.deny]]\nprovider = \"acme/*\"\nreason = \"a\\nb\"",
            "3:10",
            "write the reason in one line",
        ),
        (
            "[[policy.require]]\nprovider = \"acme/*\"",
            "2:12",
            "name the versions that this provider must have",
        ),
        (
            "[trust]\n\"acme\" = []",
            "2:1",
            "a pattern is [HOSTNAME/]NAMESPACE/TYPE",
        ),
        (
            "[trust]\n\"acme/*\" = [\"12\"]",
            "2:13",
            "\"12\" is not the fingerprint of a key",
        ),
    ] {
        environment.write("provlock.toml", settings);
        let line = settings
            .lines()
            .nth(place.split_once(':').unwrap().0.parse::<usize>().unwrap() - 1)
            .unwrap();
        for command in ["lock", "upgrade", "verify"] {
            let output = environment.provlock([command]);
            output
                .assert_code(2)
                .assert_stderr_has(message)
                .assert_stderr_has(&format!("provlock.toml:{place}\n"));
            output.assert_stderr_has(line.trim_end());
        }
    }
    assert!(!environment.has_lock_file());
}

#[test]
fn many_root_modules_complain_of_their_common_settings_once() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(
            format!("live/{root}/main.tf"),
            format!(
                "provider \"gamma\" {{}}\nresource \"gamma_thing\" \"a\" {{}}\n{}",
                requires("acme/gamma", "")
            ),
        );
    }
    environment.write(
        "provlock.toml",
        "[policy]\nmin-age-exempt = [\"acme/gamma/\"]\nallowed-namespaces = [\"\"]\n",
    );
    for arguments in [
        &["lock", "-r"][..],
        &["upgrade", "-r", "live"],
        &["verify", "--recursive", "live"],
    ] {
        let output = environment.provlock(arguments);
        output
            .assert_code(2)
            .assert_stderr_has(" provlock.toml:3:23\n");
        assert_eq!(output.stderr.matches("error[").count(), 1, "{output}");
    }
    let one = environment.provlock(["-C", "live/a", "lock"]);
    one.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "" is not a namespace; write [HOSTNAME/]NAMESPACE
 --> provlock.toml:3:23
  |
3 | allowed-namespaces = [""]
  |                       ^^
"#]]);
    environment.provlock(["verify", "live/a"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "" is not a namespace; write [HOSTNAME/]NAMESPACE
 --> provlock.toml:3:23
  |
3 | allowed-namespaces = [""]
  |                       ^^
"#]]);
}

const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];

/// A registry with two versions of acme/gamma and one of acme/delta, and a project that requires
/// acme/gamma.
fn versions() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    for (provider, version) in [
        ("acme/gamma", "1.5.0"),
        ("acme/gamma", "2.1.0"),
        ("acme/delta", "1.0.0"),
    ] {
        registry
            .publish(provider, version)
            .platforms(["linux_amd64"])
            .done();
    }
    environment.write("main.tf", requires("acme/gamma", ""));
    (registry, environment)
}

const DENIED: &str =
    "[[policy.deny]]\nprovider = \"acme/*\"\nversions = \">= 2.0\"\nreason = \"it loses state\"\n";

#[test]
fn a_version_that_the_policy_denies_is_skipped() {
    let (_registry, environment) = versions();
    environment.write("provlock.toml", DENIED);
    environment.provlock(LOCK).matches(str![[r#"
exit code: 0
----- stderr -----
warning[version-not-allowed]: acme/gamma 2.1.0 is not chosen: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
  + acme/gamma   1.5.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    environment.provlock(["upgrade", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[version-not-allowed]: acme/gamma 2.1.0 is not chosen: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
No newer version is allowed: 1 provider for linux_amd64
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64
"#]]);
    environment
        .provlock(["verify", "--platform", "linux_amd64"])
        .assert_code(0);
}

#[test]
fn a_version_that_the_policy_denies_is_refused() {
    let (_registry, environment) = versions();
    environment.write("main.tf", requires("acme/gamma", "~> 2.0"));
    environment.provlock(LOCK).assert_code(0);
    environment.write("provlock.toml", DENIED);
    let before = environment.lock_file();
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-not-allowed]: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
 --> provlock.toml:2:12
  |
2 | provider = "acme/*"
  |            ^^^^^^^^ this rule is for it
  |
 ::: .terraform.lock.hcl:5:17
  |
5 |   version     = "2.1.0"
  |                 ------- locked here
  |
help: provlock upgrade --constraints acme/gamma@1.5.0
"#]]);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[version-not-allowed]: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
 ::: provlock.toml:2:12
  |
2 | provider = "acme/*"
  |            -------- this rule is for it
  |
help: use another version

note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock lock -p all, or set platforms in provlock.toml

----- stderr -----
1 error and 1 note in .terraform.lock.hcl
"#]]);
    environment.provlock(["upgrade", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-not-allowed]: acme/gamma 2.1.0 is not chosen: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
help: allow a different version in required_providers, or use a different provider
"#]]);
    environment.provlock(["upgrade", "acme/gamma@2.1.0", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-not-allowed]: acme/gamma 2.1.0 is not chosen: the policy denies acme/gamma 2.1.0 (>= 2.0.0): it loses state
help: allow a different version in required_providers, or use a different provider
"#]]);
    let mirror = environment.provlock(["mirror", "copy", "-p", "linux_amd64"]);
    mirror
        .assert_code(2)
        .assert_stderr_has("error[version-not-allowed]");
    assert_eq!(environment.lock_file(), before);

    environment.write("main.tf", requires("acme/gamma", ""));
    environment
        .provlock(["upgrade", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(
        environment.lock_file().contains("\"1.5.0\""),
        "it moves to the newest that is allowed"
    );
}
