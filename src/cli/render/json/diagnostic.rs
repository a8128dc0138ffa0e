//! Errors, warnings and findings as JSON.

use std::borrow::Cow;

use provlock::diagnostic::{Diagnostic, Reason, Severity};
use provlock::provider::ProviderAddress;
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::{AsText, Place};
use crate::cli::render::foreign::safe_to_show;
use crate::cli::render::help::Invocation;
use crate::cli::render::identity::Identity;

/// An error or a warning.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "diagnostic", deny_unknown_fields)
)]
pub(crate) struct Notice {
    #[cfg_attr(test, schemars(regex(pattern = "^[a-z]+(-[a-z]+)*$")))]
    code: &'static str,
    /// The reason, where the code has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    message: String,
    notes: Vec<String>,
    help: Option<String>,
    file: Option<String>,
    /// Line number, from 1.
    line: Option<usize>,
    /// Column, from 1, in characters.
    column: Option<usize>,
    /// All positions of the diagnostic, including the first one.
    places: Vec<Label>,
}

/// A position of a diagnostic.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "label", extend("additionalProperties" = false)))]
struct Label {
    #[serde(flatten)]
    place: Place,
    /// Role of the position, such as the reason; may be empty.
    text: String,
}

/// A finding of `verify`; docs/findings.md lists their codes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "finding", extend("additionalProperties" = false)))]
pub(crate) struct Finding<'a> {
    #[cfg_attr(test, schemars(with = "schema::Severity"))]
    severity: Severity,
    /// The addresses of the providers that the finding is about; may be empty.
    providers: Vec<AsText<&'a ProviderAddress>>,
    /// The fact that the same findings of several root modules share, in words.
    cause: String,
    /// Identity of the finding: the same in later runs and from every directory.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{64}$")))]
    fingerprint: String,
    #[serde(flatten)]
    notice: Notice,
}

/// A finding in the list of all findings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "listed_finding", extend("additionalProperties" = false)))]
pub(crate) struct ListedFinding<'a> {
    /// The path of its root module; null for a finding about no single root module.
    pub(crate) root: Option<Cow<'a, str>>,
    #[serde(flatten)]
    pub(crate) finding: &'a Finding<'a>,
}

impl Notice {
    pub(crate) fn new(diagnostic: &Diagnostic, invocation: &Invocation) -> Self {
        let diagnostic = safe_to_show(diagnostic, invocation);
        let mut file = None;
        let mut line = None;
        let mut column = None;
        if let Some(first) = diagnostic.labels.first() {
            let position = first.location.line_column();
            file = Some(first.location.path().to_string_lossy().into_owned());
            line = Some(position.0);
            column = Some(position.1);
        }
        let mut places = Vec::new();
        for label in &diagnostic.labels {
            places.push(Label {
                place: Place::from(&label.location),
                text: label.text.clone(),
            });
        }
        Self {
            code: diagnostic.code.as_str(),
            reason: diagnostic.reason.map(Reason::as_str),
            notes: diagnostic.all_notes(),
            help: invocation.help(&diagnostic),
            file,
            line,
            column,
            message: diagnostic.message,
            places,
        }
    }

    pub(crate) fn all(diagnostics: &[Diagnostic], invocation: &Invocation) -> Vec<Self> {
        diagnostics
            .iter()
            .map(|diagnostic| Self::new(diagnostic, invocation))
            .collect()
    }
}

impl<'a> Finding<'a> {
    pub(crate) fn new(
        finding: &'a Diagnostic,
        identity: Identity,
        invocation: &Invocation,
    ) -> Self {
        let providers = finding.providers.iter().map(AsText).collect();
        Self {
            severity: finding.severity,
            providers,
            cause: identity.cause,
            fingerprint: identity.fingerprint,
            notice: Notice::new(finding, invocation),
        }
    }
}
