//! Directions of the keys of settings.

use std::path::PathBuf;

use super::*;
use crate::diagnostic::SourceFile;

fn settings(text: &str) -> Settings {
    let source = SourceFile::new("provlock.toml", text.to_owned());
    Settings::parse(&source, PathBuf::from("/p/provlock.toml")).unwrap()
}

/// The looser keys, or else whether there are stricter ones.
fn compared(before: &str, now: &str, above: &str) -> String {
    let compared = ComparedSettings {
        before: &settings(before),
        now: &settings(now),
        above: &settings(above),
        dialects: &[Dialect::Tofu],
    };
    let difference = compared.difference();
    if difference.is_empty() {
        return "equal".to_owned();
    }
    if difference.looser.is_empty() {
        return "stricter".to_owned();
    }
    let keys: Vec<_> = difference.looser.into_iter().collect();
    keys.join(" ")
}

const KEY: &str = "\"0123456789ABCDEF0123456789ABCDEF01234567\"";
const OTHER_KEY: &str = "\"1123456789ABCDEF0123456789ABCDEF01234567\"";

/// Values of a key, each stricter than the one before it.
fn increasing() -> Vec<(&'static str, Vec<String>)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    vec![
        (
            "platforms",
            texts(&[
                "",
                "platforms = [\"linux_amd64\"]",
                "platforms = [\"linux_amd64\", \"darwin_arm64\"]",
                "platforms = \"all\"",
            ]),
        ),
        (
            "without-platforms",
            texts(&[
                "[without-platforms]\n\"a/b\" = [\"linux_arm\", \"linux_386\"]",
                "[without-platforms]\n\"a/b\" = [\"linux_arm\"]",
                "",
            ]),
        ),
        ("fetch-modules", texts(&["fetch-modules = false", ""])),
        (
            "modules.lock",
            texts(&["[modules]\nlock = false", "", "[modules]\nlock = true"]),
        ),
        (
            "roots.exclude",
            texts(&[
                "[roots]\nexclude = [\"a\", \"b/**\"]",
                "[roots]\nexclude = [\"a\"]",
                "",
            ]),
        ),
        (
            "roots.include",
            texts(&[
                "[roots]\ninclude = [\"a/*\"]",
                "[roots]\ninclude = [\"a/*\", \"b/*\"]",
                "",
            ]),
        ),
        (
            "policy.allowed-hosts",
            texts(&[
                "",
                "[policy]\nallowed-hosts = [\"a.test\", \"b.test\"]",
                "[policy]\nallowed-hosts = [\"b.test\"]",
                "[policy]\nallowed-hosts = []",
            ]),
        ),
        (
            "policy.allowed-namespaces",
            texts(&[
                "",
                "[policy]\nallowed-namespaces = [\"a.test/x\", \"y\"]",
                "[policy]\nallowed-namespaces = [\"y\"]",
            ]),
        ),
        (
            "policy.allowed-modules",
            texts(&[
                "",
                "[policy]\nallowed-modules = [\"github.com/acme/*\", \"acme/*\"]",
                "[policy]\nallowed-modules = [\"github.com/acme/*\"]",
                "[policy]\nallowed-modules = [\"github.com/acme/network\"]",
                "[policy]\nallowed-modules = []",
            ]),
        ),
        (
            "policy.allow",
            texts(&[
                "",
                "[[policy.allow]]\nprovider = \"a/*\"\n[[policy.allow]]\nprovider = \"b/c\"",
                "[[policy.allow]]\nprovider = \"a/*\"",
            ]),
        ),
        (
            "policy.deny",
            texts(&[
                "",
                "[[policy.deny]]\nprovider = \"a/*\"",
                "[[policy.deny]]\nprovider = \"a/*\"\n[[policy.deny]]\nprovider = \"b/c\"",
            ]),
        ),
        (
            "policy.require",
            texts(&[
                "",
                "[[policy.require]]\nprovider = \"a/*\"\nversions = \">= 1.0\"",
            ]),
        ),
        (
            "policy.require-signed",
            texts(&["", "[policy]\nrequire-signed = true"]),
        ),
        (
            "policy.min-age",
            texts(&[
                "",
                "[policy]\nmin-age = \"3d\"",
                "[policy]\nmin-age = \"1w\"",
            ]),
        ),
        (
            "policy.min-provider-age",
            texts(&[
                "",
                "[policy]\nmin-provider-age = \"3d\"",
                "[policy]\nmin-provider-age = \"1w\"",
            ]),
        ),
        (
            "policy.tiers",
            texts(&[
                "",
                "[policy]\ntiers = [\"official\", \"partner\"]",
                "[policy]\ntiers = [\"official\"]",
            ]),
        ),
        (
            "policy.min-age-exempt",
            texts(&[
                "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"a/b\", \"a/c\"]",
                "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"a/c\"]",
                "[policy]\nmin-age = \"7d\"",
            ]),
        ),
        (
            "policy.pin-modules",
            texts(&["", "[policy]\npin-modules = true"]),
        ),
        (
            "policy.new-hosts",
            texts(&["", "[policy]\nnew-hosts = \"deny\""]),
        ),
        (
            "verify",
            texts(&[
                "[verify]\nallow = [\"no-hashes\"]",
                "[verify]\nwarn = [\"no-hashes\"]",
                "",
                "[verify]\ndeny = [\"downgrade\"]",
                "[verify]\ndeny = [\"downgrade\", \"warnings\"]",
            ]),
        ),
        (
            "verify",
            texts(&[
                "[[verify.paths]]\npaths = [\"a\"]\nallow = [\"no-hashes\"]",
                "[[verify.paths]]\npaths = [\"a\"]\nwarn = [\"no-hashes\"]",
                "",
                "[[verify.paths]]\npaths = [\"a\"]\ndeny = [\"downgrade\"]",
            ]),
        ),
        (
            "trust",
            vec![
                format!("[trust]\n\"a/*\" = [{KEY}, {OTHER_KEY}]"),
                format!("[trust]\n\"a/*\" = [{KEY}]"),
                format!("[trust]\n\"a/*\" = [{KEY}]\n\"b/*\" = [{OTHER_KEY}]"),
            ],
        ),
    ]
}

#[test]
fn each_key_has_a_direction() {
    for (keys, texts) in increasing() {
        for (index, looser) in texts.iter().enumerate() {
            assert_eq!(compared(looser, looser, ""), "equal", "{looser}");
            for stricter in &texts[index + 1..] {
                assert_eq!(compared(looser, stricter, ""), "stricter", "{stricter}");
                assert_eq!(
                    compared(stricter, looser, ""),
                    keys,
                    "{stricter} -> {looser}"
                );
            }
        }
    }
}

#[test]
fn comments_order_and_formatting_are_no_difference() {
    let before = format!(
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n[policy]\n\
         allowed-hosts = [\"a.test\", \"b.test\"]\nmin-age = \"7d\"\n\
         [[policy.deny]]\nprovider = \"a/b\"\nreason = \"why\"\n\
         [verify]\ndeny = [\"downgrade\", \"no-hashes\"]\n[trust]\n\"a/*\" = [{KEY}]\n"
    );
    let now = format!(
        "# Ours.\nplatforms = [\n  \"darwin_arm64\",\n  \"linux_amd64\", # CI\n]\n\
         [trust]\n\"a/*\" = [{}]\n[verify]\ndeny = [\"no-hashes\", \"downgrade\"]\n\
         [policy]\nmin-age = \"1w\"\nallowed-hosts = [\"B.test:443\", \"a.test\"]\n\
         deny = [{{ provider = \"a/b\", reason = \"because\" }}]\n",
        KEY.to_lowercase()
    );
    assert_eq!(compared(&before, &now, ""), "equal");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_value_that_is_not_clearly_stricter_is_looser() {
    for (before, now, above, keys) in [
        // A different value is neither more nor less.
        (
            "dialect = \"tofu\"",
            "dialect = \"terraform\"",
            "",
            "dialect",
        ),
        ("dialect = \"tofu\"", "", "", "dialect"),
        ("", "dialect = \"terraform\"", "", "dialect"),
        ("", "dialect = \"tofu\"", "", "stricter"),
        (
            "",
            "dialect = \"tofu\"",
            "dialect = \"terraform\"",
            "dialect",
        ),
        (
            "[policy]\nallowed-hosts = [\"a.test\"]",
            "[policy]\nallowed-hosts = [\"b.test\"]",
            "",
            "policy.allowed-hosts",
        ),
        (
            "[[policy.deny]]\nprovider = \"a/b\"\nversions = \"< 2\"",
            "[[policy.deny]]\nprovider = \"a/b\"\nversions = \"< 1\"",
            "",
            "policy.deny",
        ),
        // A stricter key does not make up for a looser one.
        (
            "[policy]\nmin-age = \"7d\"",
            "[policy]\nmin-age = \"1d\"\nrequire-signed = true",
            "",
            "policy.min-age",
        ),
        // The nearest file decides.
        (
            "",
            "platforms = [\"linux_amd64\"]",
            "platforms = [\"linux_amd64\", \"darwin_arm64\"]",
            "platforms",
        ),
        (
            "platforms = [\"linux_amd64\"]",
            "",
            "platforms = \"all\"",
            "stricter",
        ),
        (
            "",
            "fetch-modules = true",
            "fetch-modules = false",
            "stricter",
        ),
        // The levels of a nearer file apply once the file above changes.
        (
            "",
            "[verify]\nallow = [\"no-hashes\"]",
            "[verify]\ndeny = [\"no-hashes\"]",
            "verify",
        ),
        (
            "[verify]\nwarn = [\"no-hashes\"]",
            "",
            "[verify]\nallow = [\"no-hashes\"]",
            "verify",
        ),
        (
            "",
            "[verify]\nwarn = [\"hash-not-checked\"]",
            "[verify]\ndeny = [\"downgrade\"]",
            "verify",
        ),
        (
            "",
            "[[verify.paths]]\npaths = [\"a\"]\nwarn = [\"downgrade\"]",
            "",
            "verify",
        ),
        (
            "[verify]\ndeny = [\"warnings\"]",
            "[verify]\ndeny = [\"warnings\"]\nwarn = [\"downgrade\"]",
            "",
            "verify",
        ),
        // Paths that were made directories of root modules.
        ("[roots]\ninclude = [\"a\"]", "", "", "roots.include"),
        // Facts of others.
        (
            "",
            "[cache]\nshared = \"oci://r.test/facts\"\ntrusted-keys = [\"ed25519:vjO/CpuikOpevsb4jBzMcnOUUN0zWU2hHFSk05mnT/0=\"]",
            "",
            "cache",
        ),
        // An exemption without an age has no effect.
        (
            "",
            "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"a/b\"]",
            "",
            "stricter",
        ),
        (
            "",
            "[policy]\nmin-age-exempt = [\"a/b\"]",
            "[policy]\nmin-age = \"7d\"\nmin-age-exempt = [\"a/b\"]",
            "policy.min-age-exempt",
        ),
    ] {
        assert_eq!(compared(before, now, above), keys, "{before} -> {now}");
    }
}

#[test]
fn a_line_of_keys_is_looser_where_a_different_line_matched_fewer() {
    let line = |providers: &str, keys: &str| format!("[trust]\n\"{providers}\" = [{keys}]\n");
    let add = |providers: &str, keys: &str| format!("\"{providers}\" = [{keys}]\n");
    let before = line("a/*", KEY);
    for (added, expected) in [
        (add("a/b", OTHER_KEY), "trust"),
        (add("registry.opentofu.org/a/b", OTHER_KEY), "trust"),
        (add("*/*/*", OTHER_KEY), "trust"),
        (add("*/*/*", KEY), "stricter"),
        (add("c/d", OTHER_KEY), "stricter"),
        (add("registry.example.com/a/b", OTHER_KEY), "stricter"),
    ] {
        let now = format!("{before}{added}");
        assert_eq!(compared(&before, &now, ""), expected, "{now}");
    }
    assert_eq!(compared(&before, &line("a/b", KEY), ""), "trust");
    assert_eq!(compared(&before, "", ""), "trust");
}
