//! Providers that are named by a part of their address.

use provlock_test::files::{entry, lock_file};
use provlock_test::{Registry, TestEnvironment};

use super::lock::requires;

const LINUX: &str = "linux_amd64";
const HOST: &str = "registry.acme.test";

/// A project that requires two providers of a private registry, and one of the public one; older
/// versions are locked.
fn private_providers() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry.add_host(HOST);
    let mut entries = Vec::new();
    let mut required = Vec::new();
    for (name, source) in [
        ("alpha", format!("{HOST}/acme/alpha")),
        ("beta", format!("{HOST}/acme/beta")),
        ("null", "hashicorp/null".to_owned()),
    ] {
        let (host, provider) = match source.strip_prefix(&format!("{HOST}/")) {
            Some(provider) => (HOST, provider.to_owned()),
            None => ("registry.opentofu.org", source.clone()),
        };
        for version in ["1.0.0", "2.0.0"] {
            let published = registry.publish(&provider, version).on_host(host);
            let published = published.platforms([LINUX]).done();
            if version == "1.0.0" {
                entries.push(published.entry_for("", &[LINUX]));
            }
        }
        required.push(format!("    {name} = {{ source = \"{source}\" }}\n"));
    }
    let required = required.concat();
    let configuration = format!("terraform {{\n  required_providers {{\n{required}  }}\n}}\n");
    environment.write("main.tf", configuration);
    entries.sort();
    environment.write_lock_file(lock_file(&entries));
    (registry, environment)
}

/// Types of the providers whose version 2.0.0 is locked.
fn upgraded(environment: &TestEnvironment) -> Vec<String> {
    let text = environment.lock_file();
    let mut types = Vec::new();
    for block in text.split("provider \"").skip(1) {
        if block.contains("\"2.0.0\"") {
            let address = block.split('"').next().unwrap();
            types.push(address.rsplit('/').next().unwrap().to_owned());
        }
    }
    types
}

#[test]
fn a_short_name_takes_the_only_required_provider_with_it() {
    for (name, expected) in [
        ("alpha", "alpha"),
        ("acme/alpha", "alpha"),
        ("registry.acme.test/acme/alpha", "alpha"),
        ("alpha@2.0.0", "alpha"),
        ("null", "null"),
    ] {
        for recursive in [&[][..], &["-r"]] {
            let (_registry, environment) = private_providers();
            let arguments = [&["upgrade", "-p", LINUX, name][..], recursive].concat();
            environment.provlock(arguments).assert_code(0);
            assert_eq!(upgraded(&environment), [expected], "{name} {recursive:?}");
        }
    }
    // The two tools refuse a short name in `providers lock`.
    let (_registry, environment) = private_providers();
    for recursive in [&[][..], &["-r"]] {
        let lock = [&["lock", "--check", "alpha", "-p", LINUX][..], recursive].concat();
        environment.provlock(lock).assert_code(2);
    }
    for command in [&["tree", "alpha"][..], &["tree", "-r", "alpha"]] {
        environment
            .provlock(command)
            .assert_code(0)
            .assert_stdout_has("registry.acme.test/acme/alpha")
            .assert_lacks("beta");
    }
}

#[test]
fn a_short_name_of_several_providers_is_refused() {
    let (registry, environment) = private_providers();
    registry.add_host("other.test");
    let other = registry
        .publish("other/alpha", "1.0.0")
        .on_host("other.test");
    assert!(!other.platforms([LINUX]).done().h1(LINUX).is_empty());
    environment.write(
        "more.tf",
        "terraform {\n  required_providers {\n    other = { source = \"other.test/other/alpha\" }\n  }\n}\n",
    );
    let main = environment.read("main.tf");
    environment.write(
        "main.tf",
        main.replace(
            "  }\n}",
            "    other = { source = \"other.test/other/alpha\" }\n  }\n}",
        ),
    );
    std::fs::remove_file(environment.project().join("more.tf")).unwrap();
    let before = environment.lock_file();
    for arguments in [&["upgrade", "alpha"][..], &["upgrade", "-r", "alpha"]] {
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has("alpha may be any of several required providers")
            .assert_stderr_has("other.test/other/alpha");
        assert_eq!(environment.lock_file(), before);
    }
    // A part more is enough.
    environment
        .provlock(["upgrade", "acme/alpha", "-p", LINUX])
        .assert_code(0);
    assert_eq!(upgraded(&environment), ["alpha"]);
}

#[test]
fn a_provider_without_a_namespace_is_preferred() {
    let (registry, environment) = Registry::with_project();
    for provider in ["hashicorp/null", "acme/null"] {
        for version in ["1.0.0", "2.0.0"] {
            let published = registry.publish(provider, version);
            assert!(!published.platforms([LINUX]).done().h1(LINUX).is_empty());
        }
    }
    for (root, source) in [("a", "hashicorp/null"), ("b", "acme/null")] {
        environment.write(format!("{root}/main.tf"), requires(source, ""));
        let address = format!("registry.opentofu.org/{source}");
        let text = lock_file(&[entry(&address, "1.0.0", "", &[])]);
        environment.write(format!("{root}/.terraform.lock.hcl"), text);
    }
    environment
        .provlock(["upgrade", "-r", "null", "-p", LINUX])
        .assert_code(0);
    assert!(environment.read("a/.terraform.lock.hcl").contains("2.0.0"));
    assert!(environment.read("b/.terraform.lock.hcl").contains("1.0.0"));
}

#[test]
fn a_name_that_matches_nothing_is_reported_beside_other_errors() {
    let (_registry, environment) = private_providers();
    for file in ["main.tf", ".terraform.lock.hcl"] {
        environment.write(format!("good/{file}"), environment.read(file));
    }
    environment.write("broken/main.tf", "terraform {\n");
    environment.write("broken/.terraform.lock.hcl", "");
    let output = environment.provlock(["upgrade", "good", "broken", "nulll"]);
    output
        .assert_code(2)
        .assert_stderr_has("the \"{\" after terraform is never closed")
        .assert_stderr_has(
            "no root module that can be read requires hashicorp/nulll, and there is no directory",
        );
    assert!(
        !environment
            .read("good/.terraform.lock.hcl")
            .contains("2.0.0")
    );

    // The others go on where the name is known.
    environment
        .provlock(["upgrade", "good", "broken", "null", "-p", LINUX])
        .assert_code(2)
        .assert_lacks("no root module");
    assert!(
        environment
            .read("good/.terraform.lock.hcl")
            .contains("2.0.0")
    );
}
