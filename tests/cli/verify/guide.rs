//! `docs/findings.md` explains every code.

use std::path::Path;

use provlock::diagnostic::Code;
use provlock::project::verify::CODES;

#[test]
fn every_code_has_a_section_the_findings_first() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sections: Vec<_> = text.split("\n### ").skip(1).collect();
    let names: Vec<_> = sections.iter().map(|section| section.split('\n').next().unwrap().trim_matches('`')).collect();
    let others = Code::ALL.iter().filter(|code| !CODES.contains(code));
    let codes: Vec<_> = CODES.iter().chain(others).map(|code| code.as_str()).collect();
    assert_eq!(names, codes);
    for section in sections {
        let paragraph = section.split_once('\n').unwrap().1.split("\n## ").next().unwrap().trim();
        assert!(paragraph.len() > 150 && !paragraph.contains("\n\n"), "one whole paragraph, please: {section}");
    }
}
