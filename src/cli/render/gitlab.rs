//! Findings as GitLab's Code Quality report, which a merge request shows beside the lines of its change
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use provlock::diagnostic::{Diagnostic, Severity, Threat};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::foreign::{clean, shown};
use super::help::Invocation;
use super::verify::{Found, RepositoryPaths};

/// An array with an object for each finding and for each thing that could not be checked.
pub(crate) fn report(found: Found<'_>, paths: &RepositoryPaths<'_>, invocation: &Invocation) -> String {
    let findings = found.all().map(|(root, finding)| (finding, root.map(|root| root.lock_path.clone())));
    let errors = found.errors.iter().map(|error| (error, error.root().map(Path::to_owned)));
    let mut equal_before = HashMap::new();
    let issues = findings.chain(errors).map(|(finding, path)| {
        let mut issue = issue(finding, path, paths, invocation);
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
fn issue(finding: &Diagnostic, path: Option<PathBuf>, paths: &RepositoryPaths<'_>, invocation: &Invocation) -> Value {
    let finding = &shown(finding, invocation);
    let place = finding.labels.first().map(|label| &label.location);
    let path = place.map(|place| place.path().to_owned()).or(path).unwrap_or_else(|| ".".into());
    let mut issue = json!({
        "description": invocation.lines(finding).join("\n"),
        "check_name": finding.code.as_str(),
        "severity": severity(finding),
        "location": {
            "path": invocation.secrets.redact(&paths.shown(&path)),
            "lines": { "begin": place.map_or(1, |place| place.line_column().0) },
        },
    });
    clean(&mut issue, &invocation.secrets);
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
