//! `docs/findings.md` explains every code.

use std::path::Path;

use provlock::diagnostic::{Code, Needs, Severity};

#[test]
fn every_code_has_a_section_the_findings_first() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sections: Vec<_> = text.split("\n### ").skip(1).collect();
    let names: Vec<_> = sections
        .iter()
        .map(|section| section.split('\n').next().unwrap().trim_matches('`'))
        .collect();
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names, codes);
    let always = text
        .split("**Always reported.**")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    for (section, code) in sections.into_iter().zip(Code::ALL) {
        let paragraph = section
            .split_once('\n')
            .unwrap()
            .1
            .split("\n## ")
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
        assert_eq!(
            always.contains(&format!("`{code}`")),
            !rule.may_be_suppressed,
            "{code}"
        );
    }
}
