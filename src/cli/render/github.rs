//! Findings as annotations of a GitHub workflow: commands that the runner reads from the output of
//! a step.

use std::cmp::Reverse;
use std::collections::HashMap;

use provlock::diagnostic::{Code, Severity, Threat};

use super::foreign::printable;
use super::issue::Issue;
use super::style::{count, joined_with_and};
use super::verify::Verification;

/// Maximum number of annotations of a level that GitHub shows of a step; it drops the others
/// (<https://docs.github.com/en/rest/checks/runs>).
const MOST_OF_A_LEVEL: usize = 10;

/// Returns a line for each finding and each failure. If there are more than GitHub shows, returns
/// the most severe ones and the number of the others.
pub(crate) fn annotations(verification: Verification<'_>) -> String {
    let all = Issue::all(verification);
    let mut text = String::new();
    let mut omitted = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let issues = worst_first(all.iter().filter(|issue| issue.severity == severity));
        for issue in issues.iter().take(MOST_OF_A_LEVEL) {
            text += &annotation(issue);
        }
        if issues.len() > MOST_OF_A_LEVEL {
            let noun = format!("more {severity}");
            omitted.push(count(issues.len() - MOST_OF_A_LEVEL, &noun));
        }
    }
    if !omitted.is_empty() {
        text += "::notice title=provlock::";
        text += &joined_with_and(&omitted);
        text += ": the job summary has all causes\n";
    }
    text
}

/// Sorts issues by weight: possible substitutions and forgeries, failed checks, then the rest. The
/// first issue of each code comes before the second of any code, so that many issues of one code do
/// not hide others.
fn worst_first<'a>(all: impl Iterator<Item = &'a Issue>) -> Vec<&'a Issue> {
    let mut numbers: HashMap<Code, usize> = HashMap::new();
    let mut ranked = Vec::new();
    for issue in all {
        let number = numbers.entry(issue.code).or_default();
        *number += 1;
        let threat = issue.threat();
        let rank = (
            *number,
            Reverse(threat >= Threat::Substitution),
            Reverse(issue.is_failure),
            Reverse(threat),
        );
        ranked.push((rank, issue));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, issue)| issue).collect()
}

/// Returns the command by which GitHub annotates the first position of a finding:
/// `::error file=…,line=…::message`.
fn annotation(issue: &Issue) -> String {
    let mut properties = Vec::new();
    if let Some(file) = &issue.file {
        properties.push(("file", file.clone()));
    }
    if let Some(position) = issue.positions.first() {
        let (line, column) = position.start;
        properties.push(("line", line.to_string()));
        properties.push(("col", column.to_string()));
    }
    properties.push(("title", issue.code.to_string()));
    let mut written = Vec::new();
    for (key, value) in properties {
        written.push(format!("{key}={}", property(&printable(&value))));
    }

    // GitHub's word for a note.
    let level = if issue.severity == Severity::Note {
        "notice".to_owned()
    } else {
        issue.severity.to_string()
    };
    let lines: Vec<_> = issue.lines().iter().map(|line| printable(line)).collect();
    format!(
        "::{level} {}::{}\n",
        written.join(","),
        data(&lines.join("\n"))
    )
}

/// Escapes the text after the last `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use provlock::diagnostic::{Diagnostic, Location, SourceFile};
    use provlock::project::{Coverage, VerifiedRoot};

    use super::*;
    use crate::cli::render::help::Invocation;
    use crate::cli::render::repository_paths::RepositoryPaths;
    use crate::cli::render::run_facts::tests::OFFLINE;
    use crate::cli::render::verify::tests::root;

    fn written(root: VerifiedRoot, errors: &[Diagnostic]) -> String {
        annotations(Verification {
            roots: &[root],
            findings: &[],
            errors,
            coverage: &Coverage::default(),
            paths: RepositoryPaths {
                current_directory: Path::new("/nowhere"),
                top: None,
            },
            run: &OFFLINE,
            invocation: &Invocation::new(None),
            at_top: &Invocation::new(None),
        })
    }

    #[test]
    fn of_too_many_the_worst_are_shown() {
        let unsorted =
            (0..30).map(|number| Diagnostic::error(Code::NoHashes, format!("no hash {number}")));
        let other = Diagnostic::error(Code::LockFileMissing, "missing");
        let forged = Diagnostic::error(Code::HashNotPublished, "forged");
        let root = VerifiedRoot {
            lock_path: "a/.terraform.lock.hcl".into(),
            findings: unsorted.chain([other, forged]).collect(),
            ..root(None, 1)
        };
        let failure = Diagnostic::error(Code::Io, "not read");
        let text = written(root, &[failure]);
        let lines: Vec<_> = text
            .lines()
            .map(|line| line.rsplit("::").next().unwrap())
            .collect();
        assert_eq!(
            lines[..5],
            ["forged", "not read", "no hash 0", "missing", "no hash 1"]
        );
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[10], "23 more errors: the job summary has all causes");
    }

    #[test]
    fn text_of_a_finding_neither_ends_nor_starts_a_command() {
        let file = SourceFile::new("a,b:c/.terraform.lock.hcl", "x\n  y\n");
        let finding = Diagnostic::warning(Code::Downgrade, "50% off\r\n::error::boo")
            .at_location(Location::new(&file, 4..5))
            .help("run this");
        let root = VerifiedRoot {
            lock_path: "a,b:c/.terraform.lock.hcl".into(),
            findings: vec![finding],
            ..root(None, 1)
        };
        let text = written(root, &[]);
        let expected = "::warning file=a%2Cb%3Ac/.terraform.lock.hcl,line=2,col=3,title=downgrade\
                        ::50%25 off\\r\\n::error::boo%0Ahelp: run this\n";
        assert_eq!(text, expected);
    }
}
