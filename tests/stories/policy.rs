//! The policy of `provlock.toml` holds for what is locked.

use super::lock::requires;
use super::support::publish::Flaw;
use super::support::{Registry, TestEnvironment, keys};

#[test]
fn what_the_policy_forbids_is_not_locked() {
    let registry = Registry::start();
    registry.publish("acme/gamma", "1.5.0").platforms(["linux_amd64"]).signed_by(&keys::RSA).done();
    registry.publish("acme/unsigned", "1.0.0").platforms(["linux_amd64"]).flaw(Flaw::NoKeys).done();
    let story = |settings: &str, provider: &str, code: Option<&str>| {
        let environment = TestEnvironment::with_registry(&registry);
        environment.write("main.tf", requires(provider, ""));
        environment.write("provlock.toml", settings);
        let output = environment.provlock(["lock", "-p", "linux_amd64"]);
        assert_eq!(output.code, Some(if code.is_some() { 2 } else { 0 }), "{settings}\n{output}");
        if let Some(code) = code {
            output.assert_stderr_has(&format!("error[{code}]")).assert_stderr_has("main.tf:4:");
        }
        assert_eq!(environment.has_lock_file(), code.is_none());
    };
    let trust = |fingerprint: &str| format!("[trust]\n\"acme/*\" = [\"{fingerprint}\"]\n");
    story("[policy]\nallowed-hosts = [\"registry.example.com\"]\n", "acme/gamma", Some("host-not-allowed"));
    story("[policy]\nallowed-namespaces = [\"hashicorp\"]\n", "acme/gamma", Some("namespace-not-allowed"));
    story("[policy]\nallowed-namespaces = [\"acme\"]\nrequire-signed = true\n", "acme/gamma", None);
    story("[policy]\nrequire-signed = true\n", "acme/unsigned", Some("unsigned-provider"));
    story(&trust(&keys::RSA.fingerprint()), "acme/gamma", None);
    story(&trust(&keys::OTHER.fingerprint()), "acme/gamma", Some("key-not-trusted"));
}
