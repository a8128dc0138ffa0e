//! Findings as SARIF 2.1.0, the exchange format of static analysis tools.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use provlock::diagnostic::{Code, Diagnostic, Label, Location, Threat};
use provlock::lockfile::LOCK_FILE_NAME;
use serde_json::{Value, json};

use super::foreign::{clean, shown};
use super::pages;
use super::verify::Found;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A log with one run. What could not be checked is a notification, and the run is then not successful.
pub(crate) fn log(found: Found<'_>) -> String {
    let results = found.all().map(|(root, finding)| {
        let lock_path = root.map_or(Path::new("."), |root| &root.lock_path);
        result(finding, lock_path, found)
    });
    let (results, errors): (Vec<_>, _) = (results.collect(), found.errors);
    let notification = |error: &Diagnostic| {
        let error = shown(error, found.invocation);
        let lock_file = error.root().map(|root| json!({ "artifactLocation": file(&root.join(LOCK_FILE_NAME), found) }));
        let location = error.labels.first().map(|label| place(&label.location, found)).or(lock_file);
        json!({
            "level": "error",
            "message": { "text": error.message },
            "descriptor": { "id": error.code.as_str() },
            "locations": location.iter().map(|location| json!({ "physicalLocation": location })).collect::<Vec<_>>(),
        })
    };
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "provlock",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": Code::FINDINGS.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": errors.is_empty(),
                "toolExecutionNotifications": errors.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    });
    format!("{log}\n")
}

fn rule(code: Code) -> Value {
    let page = pages::page(code);
    let mut rule = json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.summary() },
        "fullDescription": { "text": page },
        "help": { "text": page, "markdown": page },
        "properties": { "tags": ["lock-file"] },
    });
    if let Some(url) = pages::url(code) {
        rule["helpUri"] = url.into();
    }
    if let Some(severity) = security_severity(code) {
        rule["properties"] =
            json!({ "tags": ["lock-file", "security", "supply-chain"], "security-severity": severity });
    }
    rule
}

/// The severity of a finding for security, on the scale of CVSS, as GitHub shows it
/// (<https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning>).
/// `None` for findings that do not matter to security.
fn security_severity(code: Code) -> Option<&'static str> {
    match code.rule()?.threat {
        Threat::Forgery => Some("9.0"),
        Threat::Substitution | Threat::Exposure => Some("7.0"),
        Threat::Weakness => Some("5.0"),
        Threat::None => None,
    }
}

fn result(finding: &Diagnostic, lock_path: &Path, found: Found<'_>) -> Value {
    let finding = &shown(finding, found.invocation);
    let lines = found.invocation.lines(finding);
    let (first, others) = match &finding.labels[..] {
        [] => (json!({ "artifactLocation": file(lock_path, found) }), &[][..]),
        [first, others @ ..] => (place(&first.location, found), others),
    };
    let related = |label: &Label| {
        let mut related = json!({ "physicalLocation": place(&label.location, found) });
        if !label.text.is_empty() {
            related["message"] = json!({ "text": label.text });
        }
        related
    };
    let index = Code::FINDINGS.iter().position(|code| *code == finding.code);
    let mut result = json!({
        "ruleId": finding.code.as_str(),
        "level": finding.severity.to_string(),
        "message": { "text": lines.join("\n") },
        "locations": [{ "physicalLocation": first }],
        "relatedLocations": others.iter().map(related).collect::<Vec<_>>(),
    });
    clean(&mut result, &found.invocation.secrets);
    if let Some(index) = index {
        result["ruleIndex"] = index.into();
    }
    result
}

fn place(location: &Location, found: Found<'_>) -> Value {
    json!({ "artifactLocation": file(location.path(), found), "region": region(location) })
}

/// Its secrets are gone before it is encoded.
fn file(path: &Path, found: Found<'_>) -> Value {
    json!({ "uri": uri(&found.path(path)) })
}

fn region(location: &Location) -> Value {
    let (line, column) = location.line_column();
    let (end_line, end_column) = location.file.line_column(location.span.end);
    json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column })
}

/// A path as a relative reference (RFC 3986).
fn uri(path: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(path, ESCAPED).to_string()
}
