//! Findings as annotations of a GitHub workflow: commands that the runner reads from the output of a step.

use std::path::Path;

use provlock::diagnostic::{Diagnostic, Severity};
use provlock::workspace::VerifiedRoot;

use super::help::Invocation;
use super::style::printable;
use super::verify::RepositoryPaths;

/// One line for each finding, and for each thing that could not be checked.
pub(crate) fn annotations(
    roots: &[VerifiedRoot],
    errors: &[Diagnostic],
    paths: &RepositoryPaths<'_>,
    invocation: &Invocation,
) -> String {
    let findings = roots.iter().flat_map(|root| root.findings.iter().map(|finding| (finding, Some(&*root.lock_path))));
    let errors = errors.iter().map(|error| (error, None));
    findings.chain(errors).map(|(finding, path)| annotation(finding, path, paths, invocation)).collect()
}

/// `path` is the file that stands for a finding without a place.
fn annotation(
    finding: &Diagnostic,
    path: Option<&Path>,
    paths: &RepositoryPaths<'_>,
    invocation: &Invocation,
) -> String {
    let kind = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = finding.labels.first().map(|label| &label.location);
    let mut properties = Vec::new();
    if let Some(path) = place.map(provlock::diagnostic::Location::path).or(path) {
        properties.push(("file", paths.shown(path)));
    }
    if let Some(place) = place {
        let (line, column) = place.line_column();
        properties.extend([("line", line.to_string()), ("col", column.to_string())]);
    }
    properties.push(("title", finding.code.to_string()));
    let properties: Vec<_> = properties.iter().map(|(key, value)| format!("{key}={}", property(value))).collect();
    let help = finding.help.iter().map(|help| format!("help: {}", invocation.help(help)));
    let lines: Vec<_> = std::iter::once(finding.message.clone()).chain(finding.notes.clone()).chain(help).collect();
    format!("::{kind} {}::{}\n", properties.join(","), data(&printable(&lines.join("\n"))))
}

/// Escapes the text after the last `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use provlock::diagnostic::{Code, Location, SourceFile};
    use provlock::dialect::Dialect;

    use super::*;

    #[test]
    fn nothing_in_a_finding_ends_the_command_or_starts_another() {
        let file = SourceFile::new("a,b:c/.terraform.lock.hcl", "x\n  y\n");
        let finding = Diagnostic::warning(Code::Downgrade, "50% off\r\n::error::boo")
            .at(Location::new(&file, 4..5), "")
            .help("run this");
        let root = VerifiedRoot {
            path: PathBuf::from("a,b:c"),
            lock_path: PathBuf::from("a,b:c/.terraform.lock.hcl"),
            dialect: Dialect::Tofu,
            dialect_reason: provlock::workspace::DialectReason::Default,
            platforms: None,
            entries: 1,
            findings: vec![finding],
            errors: Vec::new(),
        };
        let paths = RepositoryPaths { current_directory: Path::new("/nowhere"), top: None };
        let text = annotations(&[root], &[], &paths, &Invocation::new(None));
        let expected = "::warning file=a%2Cb%3Ac/.terraform.lock.hcl,line=2,col=3,title=downgrade\
                        ::50%25 off\\r%0A::error::boo%0Ahelp: run this\n";
        assert_eq!(text, expected);
    }
}
