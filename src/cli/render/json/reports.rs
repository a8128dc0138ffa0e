//! What `init`, `explain`, `login`, `setup`, `cache` and `completions` say, as JSON.

use provlock::cli_config::CredentialsOrigin;
use provlock::diagnostic::Code;
use provlock::packages;
use provlock::provider::{Hostname, OciRepository, PublicKey};
use serde::Serialize;

use super::values::shown;
use crate::cli::render::pages;

/// What a code means.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "explanation", deny_unknown_fields))]
pub(crate) struct Explanation {
    code: String,
    /// A sentence.
    summary: String,
    /// A paragraph of Markdown: what it means, and what to do about it.
    page: String,
    /// How to suppress such a finding; null for errors that are not findings.
    suppression: Option<String>,
}

impl Explanation {
    pub(crate) fn new(code: Code) -> Self {
        let (page, suppression) = (pages::page(code).to_owned(), pages::suppression(code));
        Self { code: code.to_string(), summary: code.summary().to_owned(), page, suppression }
    }
}

/// Of `login` and `logout`: where the token of a host is, or was. The token itself is never printed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "credentials", deny_unknown_fields))]
pub(crate) struct Credentials {
    host: String,
    /// null when there is no token.
    origin: Option<Origin>,
    /// The variable's name, or the path of the file or program.
    place: Option<String>,
}

/// What holds a token.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "credentials_origin"))]
enum Origin {
    Environment,
    File,
    Helper,
}

impl Credentials {
    pub(crate) fn new(host: &Hostname, origin: Option<&CredentialsOrigin>) -> Self {
        let (origin, place) = match origin {
            Some(CredentialsOrigin::Environment(variable)) => (Some(Origin::Environment), Some(variable.clone())),
            Some(CredentialsOrigin::Block(path)) => (Some(Origin::File), Some(shown(path))),
            Some(CredentialsOrigin::Helper(path)) => (Some(Origin::Helper), Some(shown(path))),
            None => (None, None),
        };
        Self { host: host.to_string(), origin, place }
    }
}

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

/// The settings file of a project.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "settings_file", deny_unknown_fields))]
pub(crate) struct SettingsFile {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Whether it was written; false with --dry-run.
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

/// Where facts were published, and which.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_facts", deny_unknown_fields))]
pub(crate) struct PublishedFacts {
    /// `oci://HOST/PATH`
    place: String,
    /// The key that checks the signatures.
    public_key: String,
    /// Those that are published now; what could not be published is among the errors.
    releases: Vec<PublishedRelease>,
}

/// A release about which facts are published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_release", deny_unknown_fields))]
struct PublishedRelease {
    address: String,
    version: String,
    /// How many packages of it this machine knows.
    packages: usize,
    /// Whether it was not published so before.
    changed: bool,
}

/// A new key.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "signing_key_file", deny_unknown_fields))]
pub(crate) struct SigningKeyFile {
    /// The file with the private key, which is not printed.
    pub(crate) file: String,
    pub(crate) public_key: String,
}

impl PublishedFacts {
    pub(crate) fn new(repository: &OciRepository, key: PublicKey, releases: &[packages::PublishedRelease]) -> Self {
        let releases = releases.iter().filter_map(|release| {
            let changed = *release.outcome.as_ref()?.as_ref().ok()?;
            let (address, version) = (release.address.to_string(), release.version.to_string());
            Some(PublishedRelease { address, version, packages: release.packages, changed })
        });
        let place = format!("oci://{repository}");
        Self { place, public_key: key.to_string(), releases: releases.collect() }
    }
}
