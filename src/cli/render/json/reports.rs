//! Output of `init`, `explain` and `cache push` as JSON.

use provlock::diagnostic::Code;
use provlock::packages;
use provlock::provider::{OciRepository, PublicKey};
use serde::Serialize;

use crate::cli::render::pages;

/// Explanation of a code.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "explanation", deny_unknown_fields))]
pub(crate) struct Explanation {
    code: String,
    /// The meaning in a sentence.
    summary: String,
    /// The meaning and the next step, as a paragraph of Markdown.
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

/// The settings file of a project.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "settings_file", deny_unknown_fields))]
pub(crate) struct SettingsFile {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Whether the file was written; false with --dry-run.
    pub(crate) written: bool,
}

/// The published facts, and their location.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_facts", deny_unknown_fields))]
pub(crate) struct PublishedFacts {
    /// `oci://HOST/PATH`
    place: String,
    /// The public key for the signatures.
    public_key: String,
    /// Releases that are published now; failures are among the errors.
    releases: Vec<PublishedRelease>,
}

/// A release with published facts.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_release", deny_unknown_fields))]
struct PublishedRelease {
    address: String,
    version: String,
    /// Number of its packages that this machine knows.
    packages: usize,
    /// Whether the published facts have changed.
    changed: bool,
}

impl PublishedFacts {
    pub(crate) fn new(repository: &OciRepository, key: PublicKey, releases: &[packages::PublishedRelease]) -> Self {
        let releases = releases.iter().filter_map(|release| {
            let changed = *release.outcome.as_ref()?.as_ref().ok()?;
            let (address, version) = (release.facts.address.to_string(), release.facts.version.to_string());
            Some(PublishedRelease { address, version, packages: release.facts.packages.len(), changed })
        });
        let place = format!("oci://{repository}");
        Self { place, public_key: key.to_string(), releases: releases.collect() }
    }
}
