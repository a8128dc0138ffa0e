//! What `setup`, `cache` and `completions` say, as JSON.

use serde::Serialize;

/// What has git run provlock for lock files.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "git_setup", deny_unknown_fields))]
pub(crate) struct GitSetup {
    pub(crate) attributes_file: String,
    /// The line that the file has to hold.
    pub(crate) attributes: String,
    pub(crate) configuration: Vec<GitVariable>,
    /// Whether any of it was added; false without --write, and when all of it was there.
    pub(crate) written: bool,
}

/// A variable of git's configuration.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "git_variable", deny_unknown_fields))]
pub(crate) struct GitVariable {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The cache.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "cache", deny_unknown_fields))]
pub(crate) struct Cache {
    pub(crate) directory: String,
    /// How much `clean` removed; null for `dir`.
    pub(crate) removed_bytes: Option<u64>,
}

/// A completion script.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "completions", deny_unknown_fields))]
pub(crate) struct Completions {
    pub(crate) shell: String,
    pub(crate) script: String,
}
