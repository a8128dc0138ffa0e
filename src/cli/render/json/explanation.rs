//! What codes mean, as JSON.

use provlock::diagnostic::Code;
use serde::Serialize;

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
    /// How to suppress such a finding; null for errors that are no findings.
    suppression: Option<String>,
}

impl Explanation {
    pub(crate) fn new(code: Code) -> Self {
        let (page, suppression) = (pages::page(code).to_owned(), pages::suppression(code));
        Self { code: code.to_string(), summary: code.summary().to_owned(), page, suppression }
    }
}
