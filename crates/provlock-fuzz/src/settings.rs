//! `provlock.toml`.

use std::path::PathBuf;
use std::sync::Arc;

use provlock::diagnostic::{Result, SourceFile};
use provlock::settings::{FILE_NAME, Settings};

/// Reads settings. Errors lie within the file, and a comment at its end changes nothing.
pub fn settings(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else {
        return false;
    };
    let file = SourceFile::new(FILE_NAME, text);
    match parse(&file) {
        Err(errors) => {
            assert!(!errors.is_empty());
            for label in errors.iter().flat_map(|error| &error.labels) {
                assert!(text.get(label.location.span.clone()).is_some(), "{label:?}");
            }
            false
        }
        Ok(settings) => {
            let longer = parse(&SourceFile::new(
                FILE_NAME,
                format!("{text}\n# a comment\n"),
            ));
            assert_same(
                &longer.expect("a comment at the end is no error"),
                &settings,
            );
            true
        }
    }
}

fn parse(file: &Arc<SourceFile>) -> Result<Settings> {
    Settings::parse(file, PathBuf::from(FILE_NAME))
}

/// Everything but locations, which contain the text of the file.
fn assert_same(one: &Settings, other: &Settings) {
    assert_eq!(
        (one.dialect, &one.platforms, one.fetch_modules),
        (other.dialect, &other.platforms, other.fetch_modules)
    );
    assert_eq!(one.roots, other.roots);
    assert_eq!(one.policy.rules.len(), other.policy.rules.len());
    for (one, other) in one.policy.rules.iter().zip(&other.policy.rules) {
        assert_eq!(one.allowed_hosts, other.allowed_hosts);
        assert_eq!(one.allowed_namespaces, other.allowed_namespaces);
        assert_eq!(
            (one.require_signed, one.min_age),
            (other.require_signed, other.min_age)
        );
        assert_eq!(
            (one.pin_modules, &one.min_age_exempt),
            (other.pin_modules, &other.min_age_exempt)
        );
        assert_eq!(
            (&one.allow, &one.deny, &one.require),
            (&other.allow, &other.deny, &other.require)
        );
        assert_eq!(one.trust, other.trust);
    }
}
