//! `provlock explain`: what a code means.

use provlock::diagnostic::Code;
use provlock_test::{TestEnvironment, str};

use super::json_output::validated;

#[test]
fn a_code_is_explained() {
    let environment = TestEnvironment::new();
    environment.provlock(["explain", "no-hashes"]).matches(str![[r#"
exit code: 0
----- stdout -----
no-hashes: An entry has no hashes.

Error. A provider is locked without any hash, so `init` accepts every package that claims to be this version, and records what it
got. That is the moment an attacker waits for. Run `provlock lock -p all`, or with the platforms that you use, which records the
hashes of the signed release.
"#]]);
}

#[test]
fn the_nearest_code_is_proposed() {
    let environment = TestEnvironment::new();
    environment.provlock(["explain", "no-hash"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'no-hash' for '[CODE]'
  [possible values: lock-file-missing, lock-file-syntax, conflict-markers, merge-conflict, duplicate-provider, not-canonical, malformed-hash, unknown-hash-scheme, unsorted-hashes, untracked-lock-file, provider-not-locked, provider-not-required, version-outside-constraints, constraints-differ, no-hashes, platform-missing, platform-not-known, hash-not-published, version-withdrawn, signature-invalid, key-expired, key-not-trusted, installed-package-differs, host-not-allowed, namespace-not-allowed, unsigned-provider, bundled-plugins, look-alike, hashes-replaced, downgrade, host-changed, too-young, invalid-argument, invalid-configuration, no-configuration, module-not-installed, requirements-not-known, module-cycle, invalid-cli-configuration, credentials-not-used, credentials-helper, dev-override, no-matching-version, provider-not-found, platform-not-available, unsupported-protocol, request-failed, unauthorized, package-not-authentic, invalid-package, hashes-changed, io, file-changed]

  tip: a similar value exists: 'no-hashes'

For more information, try '--help'.
"#]]);
}

#[test]
fn every_code_is_listed_and_has_a_page() {
    let environment = TestEnvironment::new();
    let list = environment.provlock(["explain"]).stdout;
    assert_eq!(list.lines().count(), Code::ALL.len());
    let json = validated(&environment.provlock(["explain", "--json"]).stdout);
    for (code, explanation) in Code::ALL.iter().zip(json["explanations"].as_array().unwrap()) {
        assert_eq!(explanation["code"], code.as_str());
        assert_ne!(explanation["page"].as_str().unwrap(), code.summary(), "{code} has no page");
    }
}
