//! Findings as GitLab's Code Quality report, which a merge request shows beside the lines of its change
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use std::collections::HashMap;
use std::path::Path;

use provlock::diagnostic::{Diagnostic, Location, Severity, Threat};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::foreign::{clean, shown};
use super::verify::Found;

/// An array with an object for each finding and for each thing that could not be checked.
pub(crate) fn report(found: Found<'_>) -> String {
    let findings = found.all().map(|(root, finding)| (finding, root.map(|root| root.lock_path.as_path())));
    let errors = found.errors.iter().map(|error| (error, error.root()));
    let mut equal_before = HashMap::new();
    let issues = findings.chain(errors).map(|(finding, path)| {
        let mut issue = issue(finding, path, found);
        let text = format!("{}\n{}\n{}", issue["check_name"], issue["location"]["path"], issue["description"]);
        let number = equal_before.entry(text.clone()).or_insert(0);
        // Lines move between two commits, so they are not what a finding is recognised by.
        issue["fingerprint"] = format!("{:x}", Sha256::digest(format!("{text}\n{number}"))).into();
        *number += 1;
        issue
    });
    format!("{}\n", Value::Array(issues.collect()))
}

/// `path` is the file that stands for a finding without a place.
fn issue(finding: &Diagnostic, path: Option<&Path>, found: Found<'_>) -> Value {
    let finding = &shown(finding, found.invocation);
    let place = finding.labels.first().map(|label| &label.location);
    let path = place.map(Location::path).or(path).unwrap_or(Path::new("."));
    let mut issue = json!({
        "description": found.invocation.lines(finding).join("\n"),
        "check_name": finding.code.as_str(),
        "severity": severity(finding),
        "location": {
            "path": found.path(path),
            "lines": { "begin": place.map_or(1, |place| place.line_column().0) },
        },
    });
    clean(&mut issue, &found.invocation.secrets);
    issue
}

/// What cannot be trusted is worst, as in SARIF's severity for security.
fn severity(finding: &Diagnostic) -> &'static str {
    let threat = finding.code.rule().map_or(Threat::None, |rule| rule.threat);
    match (finding.severity, threat) {
        (Severity::Error, Threat::Forgery) => "blocker",
        (Severity::Error, Threat::Substitution | Threat::Exposure) => "critical",
        (Severity::Error, _) => "major",
        (Severity::Warning, _) => "minor",
        (Severity::Note, _) => "info",
    }
}
