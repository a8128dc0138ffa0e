//! Reports as JSON, in the schema of `docs/output.schema.json`.

use provlock::diagnostic::Diagnostic;
use serde_json::{Value, json};

/// The version of the schema. It grows when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The result of a command that could not do what it was asked for.
pub(crate) fn failure(command: &str, errors: &[Diagnostic]) -> String {
    document(command, &[], &[], errors)
}

/// The result of `merge`: conflicts are its errors.
pub(crate) fn merge(warnings: &[Diagnostic], conflicts: &[Diagnostic]) -> String {
    document("merge", &[], warnings, conflicts)
}

pub(super) fn document(command: &str, roots: &[Value], warnings: &[Diagnostic], errors: &[Diagnostic]) -> String {
    let value = json!({
        "schema": SCHEMA,
        "command": command,
        "roots": roots,
        "warnings": warnings.iter().map(diagnostic).collect::<Vec<_>>(),
        "errors": errors.iter().map(diagnostic).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let place = diagnostic.labels.first().map(|label| &label.location);
    let position = place.map(provlock::diagnostic::Location::line_column);
    json!({
        "code": diagnostic.code.as_str(),
        "message": diagnostic.message,
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "file": place.map(provlock::diagnostic::Location::path),
        "line": position.map(|(line, _)| line),
        "column": position.map(|(_, column)| column),
    })
}
