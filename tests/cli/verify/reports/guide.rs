//! `docs/findings.md` explains every code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use provlock::diagnostic::{Code, Needs, Severity};
use provlock_test::TestEnvironment;
use provlock_test::snapbox::{Assert, Data};
use serde_json::Value;

use crate::json_output::validated;

const START: &str = "<!-- made by tests/cli/verify/reports/guide.rs -->\n";
const END: &str = "<!-- table ends -->\n";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md")
}

/// Other severities of a finding, which its section explains.
fn other_severity(code: Code) -> Option<&'static str> {
    match code {
        Code::LockFileSyntax
        | Code::ModuleLockStale
        | Code::NotDecided
        | Code::VersionNotAllowed
        | Code::VersionTooYoung
        | Code::PublisherAdded => Some("warning"),
        Code::KeyExpired | Code::PlatformsLost => Some("error"),
        Code::PolicyChanged => Some("note"),
        _ => None,
    }
}

/// A row of the table for a finding: its severity, the flags without which a run does not report
/// it, and the persons who can let it through.
fn row(code: Code, text: &str, explanation: &Value) -> String {
    let (_, section) = text.split_once(&format!("\n### `{code}`\n")).unwrap();
    let first = section.split(". ").next().unwrap();
    let needs = |flag: &str| {
        let is_needed =
            first.contains(&format!("with {flag}")) || first.contains(&format!("and {flag}"));
        if is_needed { "yes" } else { "" }
    };
    let ways = explanation["suppression"].as_str().unwrap();
    let owner = if code.may_be_suppressed() {
        "settings, command"
    } else if ways.starts_with("- change the policy") {
        "policy, command"
    } else {
        "command"
    };
    let mut severity = explanation["severity"].as_str().unwrap().to_owned();
    if let Some(other) = other_severity(code) {
        // The section says when.
        let words = paragraph_of(section);
        assert!(words.to_lowercase().contains(other), "{code}: {words}");
        severity = format!("{severity}/{other}");
    }
    format!(
        "| [`{code}`](#{code}) | {severity} | {} | {} | {} | {owner} |",
        needs("`--base REV`"),
        needs("`--online`"),
        if code.may_be_suppressed() {
            "yes"
        } else {
            "no"
        },
    )
}

/// The text of a section up to the next one.
fn paragraph_of(section: &str) -> &str {
    section.split("\n##").next().unwrap()
}

#[test]
fn the_table_lists_every_finding() {
    let text = std::fs::read_to_string(path()).unwrap();
    let (before, rest) = text.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let mut table = "| code | default | needs `--base` | needs `--online` | can be ignored | who can let it through |\n\
        | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let json = validated(
        &TestEnvironment::new()
            .provlock(["explain", "--json"])
            .stdout,
    );
    let explanations = json["explanations"].as_array().unwrap();
    for (code, explanation) in Code::FINDINGS.iter().zip(explanations) {
        assert_eq!(explanation["code"], code.as_str());
        let _ = writeln!(table, "{}", row(*code, &text, explanation));
    }
    Assert::new().action_env("SNAPSHOTS").eq(
        format!("{before}{START}{table}{END}{after}"),
        Data::read_from(&path(), None).raw(),
    );
}

#[test]
fn every_code_has_a_section_the_findings_first() {
    let errors = std::fs::read_to_string(path().with_file_name("errors.md")).unwrap();
    let text = std::fs::read_to_string(path()).unwrap() + &errors;
    let sections: Vec<_> = text.split("\n### ").skip(1).collect();
    let names: Vec<_> = sections
        .iter()
        .map(|section| section.split('\n').next().unwrap().trim_matches('`'))
        .collect();
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names, codes);
    for (section, code) in sections.into_iter().zip(Code::ALL) {
        let paragraph = section
            .split_once('\n')
            .unwrap()
            .1
            .split("\n## ")
            .next()
            .unwrap()
            .split("# Other errors\n")
            .next()
            .unwrap()
            .trim();
        let parts = |title: &str| paragraph.matches(&format!("\n\n**{title}** ")).count();
        assert!(
            paragraph.len() > 150 && parts("How to fix.") == 1,
            "what it means, and how to fix it: {section}"
        );
        assert_eq!(
            parts("Why it matters."),
            usize::from(code.rule().is_some()),
            "{section}"
        );
        let Some(rule) = code.rule() else { continue };
        let level = match rule.level {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Note => "Note",
        };
        let first_words = paragraph.split('.').next().unwrap();
        assert!(
            first_words.starts_with(level),
            "{code} is a finding of another level: {first_words}"
        );
        let flag = match rule.needs {
            Needs::Base => "`--base REV`",
            Needs::Network => "`--online`",
            Needs::Installation => "`--installed`",
            _ => "",
        };
        assert!(
            first_words.contains(flag),
            "{code} needs {flag}: {first_words}"
        );
    }
}

#[test]
fn every_chapter_asks_author_reviewer_and_owner() {
    let text = std::fs::read_to_string(path()).unwrap();
    let mut chapters = 0;
    for chapter in text.split("\n## ").skip(1) {
        let Some((introduction, sections)) = chapter.split_once("\n### `") else {
            continue;
        };
        let first = sections.split('`').next().unwrap();
        assert!(first.parse::<Code>().is_ok(), "{first}");
        for part in [
            "\n```console\n$ provlock ",
            "\n**Author: do.** ",
            "\n**Reviewer: ask.** ",
            "\n**Owner: let through.** ",
        ] {
            assert_eq!(
                introduction.matches(part).count(),
                1,
                "{part:?} in {introduction}"
            );
        }
        chapters += 1;
    }
    assert!(chapters > 5, "only {chapters} chapters were found");
}
