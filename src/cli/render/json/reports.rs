//! Output of `init`, `explain` and `cache push` as JSON.

use provlock::diagnostic::{Code, Severity};
use provlock::packages;
use provlock::provider::{OciRepository, ProviderAddress, PublicKey, Version};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::AsText;
use crate::cli::render::pages;

/// Explanation of a code.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "explanation", deny_unknown_fields)
)]
pub(crate) struct Explanation {
    code: &'static str,
    /// The meaning in a sentence.
    summary: &'static str,
    /// The meaning and the next step, as a paragraph of Markdown.
    page: &'static str,
    /// The severity unless settings or flags change it; null for errors that are not findings.
    #[cfg_attr(test, schemars(with = "Option<schema::Severity>"))]
    severity: Option<Severity>,
    /// The title of the code's chapter in docs/findings.md, or `Other errors`.
    class: &'static str,
    /// Ways to let such a finding through, a line each; null for errors that are not findings.
    suppression: Option<String>,
}

impl Explanation {
    pub(crate) fn new(code: Code) -> Self {
        Self {
            code: code.as_str(),
            summary: code.summary(),
            page: pages::markdown(code),
            severity: pages::severity(code),
            class: pages::class(code),
            suppression: pages::suppression_list(code),
        }
    }
}

/// The settings file of a project.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "settings_file", deny_unknown_fields)
)]
pub(crate) struct SettingsFile<'a> {
    pub(crate) path: &'static str,
    pub(crate) text: &'a str,
    /// Whether the file was written; false with --dry-run.
    pub(crate) written: bool,
}

/// The published facts, and their location.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "published_facts", deny_unknown_fields)
)]
pub(crate) struct PublishedFacts<'a> {
    /// `oci://HOST/PATH`
    place: String,
    /// The public key for the signatures.
    public_key: AsText<PublicKey>,
    /// Releases that are published now; failures are among the errors.
    releases: Vec<ReleaseReport<'a>>,
}

/// A release with published facts.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "published_release", deny_unknown_fields)
)]
struct ReleaseReport<'a> {
    address: AsText<&'a ProviderAddress>,
    version: AsText<&'a Version>,
    /// Number of its packages that this machine knows.
    packages: usize,
    /// Whether the published facts have changed.
    changed: bool,
}

impl<'a> PublishedFacts<'a> {
    pub(crate) fn new(
        repository: &OciRepository,
        key: PublicKey,
        releases: &'a [packages::PublishedRelease],
    ) -> Self {
        let mut published = Vec::new();
        for release in releases {
            // The error of a release is reported elsewhere; after it no other is begun.
            if let Some(Ok(changed)) = &release.outcome {
                published.push(ReleaseReport {
                    address: AsText(&release.facts.address),
                    version: AsText(&release.facts.version),
                    packages: release.facts.packages.len(),
                    changed: *changed,
                });
            }
        }
        Self {
            place: format!("oci://{repository}"),
            public_key: AsText(key),
            releases: published,
        }
    }
}
