//! Comparison with OpenTofu's and Terraform's reading of recorded sources.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::*;

/// Description of a source, in the words of the recorded vectors.
fn described(text: &str, dialect: Dialect) -> (&'static str, String, String) {
    match ModuleSource::parse(text, dialect) {
        Ok(ModuleSource::Local(path)) => ("local", path, String::new()),
        Ok(ModuleSource::Registry(source)) => {
            ("registry", source.module.to_string(), source.directory)
        }
        Ok(ModuleSource::Remote(source)) => ("remote", source.package, source.directory),
        Err(_) => ("error", String::new(), String::new()),
    }
}

/// OpenTofu's and Terraform's reading of 300 sources.
#[test]
fn sources_are_read_as_by_opentofu_and_terraform() {
    let lines = include_str!("../../../testdata/module-sources.jsonl").lines();
    let vectors: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(vectors.len(), 300);
    let mut wrong = Vec::new();
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        // They were recorded on Linux, where a drive is a scheme.
        for vector in vectors
            .iter()
            .filter(|vector| !is_on_drive(vector["source"].as_str().unwrap()))
        {
            // The kind of a Bitbucket repository is not looked up, so all are as in Terraform.
            let is_of_terraform = dialect == Dialect::Terraform || vector.get("network").is_some();
            let expected = if is_of_terraform {
                vector.get("terraform").unwrap_or(vector)
            } else {
                vector
            };
            let text = |name: &str| {
                expected
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let mut package = text("package");
            if dialect == Dialect::Terraform && vector.get("default_host").is_some() {
                package = package.replace("registry.opentofu.org", "registry.terraform.io");
            }
            let source = vector["source"].as_str().unwrap();
            let found = described(source, dialect);
            if (found.0, &found.1, &found.2) != (text("kind").as_str(), &package, &text("subdir")) {
                wrong.push(format!("{source:?} is {found:?}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_source_is_shown_without_its_secrets() {
    for (source, shown) in [
        (
            "git::https://user:s3cr3t@h.test/a.git?ref=v1",
            "git::https://redacted@h.test/a.git?ref=v1",
        ),
        (
            "git::https://t0ken@h.test/a.git",
            "git::https://redacted@h.test/a.git",
        ),
        (
            "git@h.test:a.git//m?ref=v1&sshkey=S3CR3T",
            "git::ssh://git@h.test/a.git//m?ref=v1&sshkey=[redacted]",
        ),
        (
            "https://h.test/a.zip?X-Amz-Signature=s",
            "https://h.test/a.zip?X-Amz-Signature=[redacted]",
        ),
        (
            "https://h.test/a.zip?S3CR3T&archive=zip",
            "https://h.test/a.zip?[redacted]&archive=zip",
        ),
        (
            "https://h.test/a.zip?checksum=file:https://u:p@h.test/",
            "https://h.test/a.zip?checksum=[redacted]",
        ),
        ("github.com/a/b/c", "git::https://github.com/a/b.git//c"),
        (
            "https://evil.test#@h.test/a.zip",
            "https://evil.test#@h.test/a.zip",
        ),
        (
            "https://u:s3cr3t@evil.test\\@h.test/a.zip",
            "https://redacted@evil.test\\@h.test/a.zip",
        ),
    ] {
        let parsed = ModuleSource::parse(source, Dialect::Tofu).unwrap();
        assert_eq!(parsed.to_string(), shown);
        assert!(!format!("{parsed:?}").contains("s3cr3t"));
    }
}

#[test]
fn an_address_does_not_end_with_a_space() {
    for source in [
        "git::https://h.test/a.git ",
        "git::https://h.test/a.git?ref=v1 ",
        "https://h.test/a.zip //part",
        "github.com/a/b ",
        "git@h.test:a.git ",
        "/a.zip ",
    ] {
        assert_eq!(
            ModuleSource::parse(source, Dialect::Tofu),
            Err(ModuleSourceError::TrailingSpace),
            "{source:?}"
        );
        assert_eq!(RemoteSource::parse_full(source), None, "{source:?}");
    }
    ModuleSource::parse("git::https://h.test/a b.git//part ?ref=v1", Dialect::Tofu).unwrap();
}

#[test]
fn an_unencrypted_address_may_have_capitals() {
    for (source, is_unencrypted) in [
        ("git::http://h.test/a.git", true),
        ("git::HTTP://h.test/a.git", true),
        ("git::Git://h.test/a.git", true),
        ("http://h.test/a.zip", true),
        ("git::HTTPS://h.test/a.git", false),
        ("git::ssh://git@h.test/a.git", false),
    ] {
        let Ok(ModuleSource::Remote(remote)) = ModuleSource::parse(source, Dialect::Tofu) else {
            panic!("{source}")
        };
        assert_eq!(remote.is_unencrypted(), is_unencrypted, "{source}");
    }
}

#[test]
fn an_address_selects_its_getter() {
    for (source, expected) in [
        (
            "github.com/a/b",
            (Getter::Git, "https://github.com/a/b.git"),
        ),
        (
            "https://h.test/a.zip",
            (Getter::Http, "https://h.test/a.zip"),
        ),
        ("oci://h.test/a", (Getter::Oci, "oci://h.test/a")),
        ("git::ext::sh", (Getter::Git, "ext::sh")),
        (
            "hg::https://h.test/a",
            (Getter::Unsupported, "https://h.test/a"),
        ),
        (
            "ftp://h.test/a.zip",
            (Getter::Unknown, "ftp://h.test/a.zip"),
        ),
    ] {
        let Ok(ModuleSource::Remote(source)) = ModuleSource::parse(source, Dialect::Tofu) else {
            panic!("{source}")
        };
        assert_eq!((source.getter(), source.url()), expected);
    }
}

/// Parts of addresses that programs may read in different ways.
const PARTS: [&str; 15] = [
    "a.test", "b.test", "@", "#", "\\", "/", "//", ":", "443", "?", "&", "..", "%2e", "%40", "=",
];

proptest! {
    /// Addresses are split as text where they are recorded and shown, and by a URL parser where
    /// they are requested.
    #[test]
    fn the_recorded_and_the_shown_host_are_the_one_that_is_requested(
        start in select(&["https://", "git::https://", "git::ssh://", "https:/", "https:", "oci://", "git@", ""]),
        parts in vec(select(&PARTS), 1..12),
    ) {
        let text = format!("{start}{}", parts.concat());
        let Ok(ModuleSource::Remote(source)) = ModuleSource::parse(&text, Dialect::Tofu) else { return Ok(()) };
        if !source.can_be_fetched(Dialect::Tofu) {
            return Ok(());
        }
        let requested = request_url(source.url()).unwrap();
        for text in [source.without_credentials().package, source.to_string()] {
            let found = RemoteSource::parse_full(&text).map(|source| request_url(source.url()).unwrap());
            let found = found.expect("it can be fetched, too");
            prop_assert_eq!((found.host(), found.port()), (requested.host(), requested.port()), "{}", text);
        }
    }
}
