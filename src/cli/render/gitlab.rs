//! Findings as GitLab's Code Quality report, which a merge request shows beside the changed lines
//! (<https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>).

use std::collections::HashMap;

use provlock::diagnostic::{Severity, Threat};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::issue::Issue;
use super::verify::Verification;

/// Returns an array with an object for each finding and each failure.
pub(crate) fn report(found: Verification<'_>) -> String {
    let mut equal_before = HashMap::new();
    let object = |issue: Issue| {
        let (code, path, description) = (
            issue.code.as_str(),
            issue.file.as_deref().unwrap_or("."),
            issue.lines().join("\n"),
        );
        let text = [code, path, &description]
            .map(|text| json!(text).to_string())
            .join("\n");
        let number = equal_before.entry(text.clone()).or_insert(0);
        // Lines move between two commits, so they are not part of the fingerprint.
        let fingerprint = Sha256::digest(format!("{text}\n{number}"));
        *number += 1;
        json!({
            "description": description,
            "check_name": code,
            "severity": severity(&issue),
            "location": {
                "path": path,
                "lines": { "begin": issue.positions.first().map_or(1, |position| position.start.0) },
            },
            "fingerprint": format!("{fingerprint:x}"),
        })
    };
    format!(
        "{}\n",
        Value::Array(Issue::all(found).into_iter().map(object).collect())
    )
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
