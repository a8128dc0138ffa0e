//! Findings as SARIF 2.1.0, the exchange format of static analysis tools.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use provlock::diagnostic::{Code, Threat};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::issue::{Issue, Position};
use super::pages;
use super::verify::Verification;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Identifier of the notifications about parts that were not checked.
const NOT_CHECKED: &str = "not-checked";

/// Returns a log with one run. A failure is a notification, and the run is then not successful.
pub(crate) fn log(verification: Verification<'_>) -> String {
    let (failures, findings): (Vec<_>, Vec<_>) = Issue::all(verification)
        .into_iter()
        .partition(|issue| issue.is_failure);
    let mut results: Vec<_> = findings.iter().map(result_object).collect();
    add_fingerprints(&mut results);
    let not_checked = verification.lines_about_not_checked();
    let mut notifications: Vec<_> = failures.iter().map(notification_object).collect();
    notifications.extend(not_checked.iter().map(|line| {
        json!({ "level": "note", "message": { "text": line }, "descriptor": { "id": NOT_CHECKED } })
    }));
    let run = verification.run;
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver_object(env!("CARGO_PKG_REPOSITORY")) },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": failures.is_empty(),
                "startTimeUtc": run.time(),
                "toolExecutionNotifications": notifications,
            }],
            "properties": {
                "commit": run.commit,
                "base": run.base,
                "online": run.is_online,
                "notChecked": not_checked,
            },
            "results": results,
        }],
    });
    format!("{log}\n")
}

/// Returns the notification about a reason why something was not checked.
fn notification_object(error: &Issue) -> Value {
    json!({
        "level": "error",
        "message": { "text": error.lines().join("\n") },
        "descriptor": { "id": error.code.as_str() },
        "locations": first_location(error).iter().collect::<Vec<_>>(),
    })
}

/// The program with its rules. Its page is omitted while the address of the repository is unknown.
fn driver_object(repository: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let mut driver = json!({
        "name": "provlock",
        "version": version,
        "semanticVersion": version,
        "rules": Code::FINDINGS.iter().map(|code| rule_object(*code)).collect::<Vec<_>>(),
    });
    if !repository.is_empty() {
        driver["informationUri"] = repository.into();
    }
    driver
}

/// The text at a JSON pointer; empty if there is none.
fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Adds a fingerprint to each result, so that a service recognizes a finding after lines have
/// moved. It is computed from code, file and message; GitHub prescribes the name of the property,
/// and the number of equal results before it.
fn add_fingerprints(results: &mut [Value]) {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for result in results {
        let file = text_at(result, "/locations/0/physicalLocation/artifactLocation/uri");
        // The first line is the message; notes and help contain other positions of a finding.
        let text = text_at(result, "/message/text");
        let message = text.lines().next().unwrap_or_default();
        let digest = Sha256::digest([text_at(result, "/ruleId"), file, message].join("\n"));
        let hash = digest[..8]
            .iter()
            .fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
        let number = numbers.entry(hash.clone()).or_default();
        *number += 1;
        result["partialFingerprints"]["primaryLocationLineHash"] =
            format!("{hash}:{number}").into();
    }
}

fn rule_object(code: Code) -> Value {
    let page = pages::markdown(code);
    // The first paragraph says what it means; there are many rules in each report.
    let (meaning, _) = page.split_once("\n\n").unwrap_or((page, ""));
    let mut rule = json!({
        "id": code.as_str(),
        "shortDescription": { "text": code.summary() },
        "fullDescription": { "text": meaning },
        "help": { "text": page, "markdown": page },
        "properties": { "tags": ["lock-file"] },
    });
    if let Some(url) = pages::url(code) {
        rule["helpUri"] = url.into();
    }
    if let Some(severity) = security_severity(code) {
        rule["properties"] = json!({ "tags": ["lock-file", "security", "supply-chain"], "security-severity": severity });
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

/// The `result` object of an issue.
fn result_object(issue: &Issue) -> Value {
    let mut related = Vec::new();
    for position in issue.positions.iter().skip(1) {
        let mut location = json!({ "physicalLocation": physical_location(position) });
        if !position.text.is_empty() {
            location["message"] = json!({ "text": position.text });
        }
        related.push(location);
    }
    let mut result = json!({
        "ruleId": issue.code.as_str(),
        "level": issue.severity.to_string(),
        "message": { "text": issue.lines().join("\n") },
        "locations": first_location(issue).iter().collect::<Vec<_>>(),
        "relatedLocations": related,
        "partialFingerprints": { "provlock/v1": issue.identity.fingerprint },
    });
    // Only codes of findings are in the list of rules.
    if let Some(index) = Code::FINDINGS.iter().position(|code| *code == issue.code) {
        result["ruleIndex"] = index.into();
    }
    result
}

/// Returns the first position, or the file that represents it.
fn first_location(issue: &Issue) -> Option<Value> {
    let place = match issue.positions.first() {
        Some(position) => physical_location(position),
        None => json!({ "artifactLocation": { "uri": uri(issue.file.as_ref()?) } }),
    };
    Some(json!({ "physicalLocation": place }))
}

fn physical_location(
    Position {
        path, start, end, ..
    }: &Position,
) -> Value {
    json!({
        "artifactLocation": { "uri": uri(path) },
        "region": { "startLine": start.0, "startColumn": start.1, "endLine": end.0, "endColumn": end.1 },
    })
}

/// A path as a relative reference (RFC 3986).
fn uri(path: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(path, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_has_its_version_and_page() {
        let driver = driver_object("https://github.com/acme/locks");
        assert_eq!(driver["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(driver["informationUri"], "https://github.com/acme/locks");
        assert!(super::driver_object("").get("informationUri").is_none());
    }

    #[test]
    fn a_finding_keeps_its_fingerprint_where_lines_move() {
        let result = |message: &str, line: usize| {
            let file = json!({ "artifactLocation": { "uri": "live/.terraform.lock.hcl" }, "region": { "startLine": line } });
            let locations = [json!({ "physicalLocation": file })];
            json!({ "ruleId": "no-hashes", "message": { "text": message }, "locations": locations })
        };
        let fingerprints = |results: &[Value]| {
            let mut results = results.to_vec();
            add_fingerprints(&mut results);
            let fingerprint =
                |result: &Value| result["partialFingerprints"]["primaryLocationLineHash"].clone();
            results
                .iter()
                .map(|result| fingerprint(result).as_str().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let first = fingerprints(&[result("a\nhelp: x", 1), result("b", 2), result("a", 3)]);
        assert_eq!(first.iter().map(String::len).collect::<Vec<_>>(), [18; 3]);
        assert!(
            first[0].ends_with(":1")
                && first[2].ends_with(":2")
                && first[0][..16] == first[2][..16]
        );
        assert_ne!(first[0][..16], first[1][..16]);
        assert_eq!(fingerprints(&[result("a", 7)])[0], first[0]);
    }
}
