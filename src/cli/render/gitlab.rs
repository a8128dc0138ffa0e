//! Findings as GitLab's Code Quality report, which a merge request shows beside the changed lines
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use provlock::diagnostic::{Severity, Threat};
use serde_json::{Value, json};

use super::issue::Issue;
use super::verify::Verification;

/// Name and fingerprint of the entry about the run. They are the same in every run, so that a merge
/// request shows it as neither new nor fixed.
const RUN: &str = "provlock-run";

/// Returns an array with an object for each finding and each failure, and one for the run: the form
/// has no other place for it.
pub(crate) fn report(verification: Verification<'_>) -> String {
    let mut objects: Vec<_> = Issue::all(verification)
        .iter()
        .map(entry_of_issue)
        .collect();
    objects.push(entry_of_run(verification));
    format!("{}\n", Value::Array(objects))
}

fn entry_of_issue(issue: &Issue) -> Value {
    json!({
        "description": issue.lines().join("\n"),
        "check_name": issue.code.as_str(),
        "severity": severity(issue),
        "location": {
            "path": issue.file.as_deref().unwrap_or("."),
            "lines": { "begin": issue.positions.first().map_or(1, |position| position.start.0) },
        },
        "fingerprint": issue.identity.fingerprint,
    })
}

/// Returns the entry about the run: what it is of, and what was not checked.
fn entry_of_run(verification: Verification<'_>) -> Value {
    let mut lines = vec![verification.run.line()];
    lines.extend(verification.lines_about_not_checked());
    json!({
        "description": lines.join("\n"),
        "check_name": RUN,
        "severity": "info",
        "location": { "path": ".", "lines": { "begin": 1 } },
        "fingerprint": RUN,
    })
}

/// Returns the severity. Possible forgeries are the most severe, as in SARIF's severity for
/// security.
fn severity(issue: &Issue) -> &'static str {
    match (issue.severity, issue.threat()) {
        (Severity::Error, Threat::Forgery) => "blocker",
        (Severity::Error, Threat::Substitution | Threat::Exposure) => "critical",
        (Severity::Error, _) => "major",
        (Severity::Warning, _) => "minor",
        (Severity::Note, _) => "info",
    }
}
