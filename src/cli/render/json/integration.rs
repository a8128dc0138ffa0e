//! What `setup`, `cache` and `completions` say, as JSON.

use std::path::Path;

use serde::Serialize;

use super::path::shown;

/// What has git run provlock for lock files.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "git_setup", deny_unknown_fields))]
pub(crate) struct GitSetup {
    attributes_file: String,
    /// The line that the file has to hold.
    attributes: String,
    configuration: Vec<GitVariable>,
    /// Whether any of it was added; false without --write, and when all of it was there.
    written: bool,
}

/// A variable of git's configuration.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "git_variable", deny_unknown_fields))]
struct GitVariable {
    name: String,
    value: String,
}

/// The cache.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "cache", deny_unknown_fields))]
pub(crate) struct Cache {
    directory: String,
    /// How much `clean` removed; null for `dir`.
    removed_bytes: Option<u64>,
}

/// A completion script.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "completions", deny_unknown_fields))]
pub(crate) struct Completions {
    shell: String,
    script: String,
}

impl GitSetup {
    /// A line of a file, and pairs of a variable and its value.
    pub(crate) fn new(attributes_file: &str, attributes: &str, configuration: &[(&str, &str)], written: bool) -> Self {
        let variable =
            |(name, value): &(&str, &str)| GitVariable { name: (*name).to_owned(), value: (*value).to_owned() };
        Self {
            attributes_file: attributes_file.to_owned(),
            attributes: attributes.to_owned(),
            configuration: configuration.iter().map(variable).collect(),
            written,
        }
    }
}

impl Cache {
    pub(crate) fn new(directory: &Path, removed_bytes: Option<u64>) -> Self {
        Self { directory: shown(directory), removed_bytes }
    }
}

impl Completions {
    pub(crate) fn new(shell: &str, script: &[u8]) -> Self {
        Self { shell: shell.to_owned(), script: String::from_utf8_lossy(script).into_owned() }
    }
}
