//! Findings as annotations of a GitHub workflow: commands that the runner reads from the output of a step.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use provlock::diagnostic::{Code, Diagnostic, Severity, Threat};

use super::foreign::{printable, shown};
use super::style::{count, enumerate};
use super::verify::Found;

/// How many annotations of a level GitHub shows of a step; it drops what comes after
/// (<https://docs.github.com/en/rest/checks/runs>).
const MOST_OF_A_LEVEL: usize = 10;

/// One line for each finding, and for each thing that could not be checked; of more than GitHub shows the worst, and
/// how many more there are.
pub(crate) fn annotations(found: Found<'_>) -> String {
    // A finding about no root module is shown at the top of the repository.
    let findings = found
        .all()
        .map(|(root, finding)| (finding, Some(root.map_or(Path::new("."), |root| root.lock_path.as_path()))));
    let all: Vec<_> = findings.chain(found.errors.iter().map(|error| (error, None))).collect();
    let (mut text, mut more) = (String::new(), Vec::new());
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let noun = &format!("more {severity}");
        let of_level = all.iter().copied().filter(|(finding, _)| finding.severity == severity);
        let of_level = worst_first(of_level.collect());
        let shown = of_level.iter().take(MOST_OF_A_LEVEL);
        text.extend(shown.map(|(finding, path)| annotation(finding, *path, found)));
        more.extend((of_level.len() > MOST_OF_A_LEVEL).then(|| count(of_level.len() - MOST_OF_A_LEVEL, noun)));
    }
    if !more.is_empty() {
        text.extend(["::notice title=provlock::", &enumerate(&more), ": the job summary has all causes\n"]);
    }
    text
}

/// A finding with the file that stands for it where it has no place.
type Placed<'a> = (&'a Diagnostic, Option<&'a Path>);

/// Sorts findings by weight: what cannot be trusted, failed checks, then the rest. The first finding of each code comes
/// before the second of any code, so that many findings of one code do not hide others.
fn worst_first(all: Vec<Placed<'_>>) -> Vec<Placed<'_>> {
    let mut numbers: HashMap<Code, usize> = HashMap::new();
    let ranked = all.into_iter().map(|(finding, path)| {
        let threat = finding.code.rule().map_or(Threat::None, |rule| rule.threat);
        let is_failure = path.is_none();
        let number = numbers.entry(finding.code).or_default();
        *number += 1;
        ((*number, Reverse(threat >= Threat::Substitution), Reverse(is_failure), Reverse(threat)), (finding, path))
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, placed)| placed).collect()
}

/// `path` is the file that stands for a finding without a place.
fn annotation(finding: &Diagnostic, path: Option<&Path>, found: Found<'_>) -> String {
    let finding = &shown(finding, found.invocation);
    let place = finding.labels.first().map(|label| &label.location);
    let mut properties = Vec::new();
    if let Some(path) = place.map(provlock::diagnostic::Location::path).or(path) {
        properties.push(("file", found.path(path)));
    }
    if let Some(place) = place {
        let (line, column) = place.line_column();
        properties.extend([("line", line.to_string()), ("col", column.to_string())]);
    }
    properties.push(("title", finding.code.to_string()));
    let properties: Vec<_> =
        properties.iter().map(|(key, value)| format!("{key}={}", property(&printable(value)))).collect();
    let lines: Vec<_> = found.invocation.lines(finding).iter().map(|line| printable(line)).collect();
    let level = if finding.severity == Severity::Note { "notice".to_owned() } else { finding.severity.to_string() };
    format!("::{level} {}::{}\n", properties.join(","), data(&lines.join("\n")))
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
    use provlock::diagnostic::{Location, SourceFile};
    use provlock::project::{Coverage, VerifiedRoot};

    use super::*;
    use crate::cli::render::help::Invocation;
    use crate::cli::render::verify::RepositoryPaths;
    use crate::cli::render::verify::tests::root;

    fn written(root: VerifiedRoot, errors: &[Diagnostic]) -> String {
        annotations(Found {
            roots: &[root],
            findings: &[],
            errors,
            coverage: &Coverage::default(),
            paths: RepositoryPaths { current_directory: Path::new("/nowhere"), top: None },
            invocation: &Invocation::new(None),
        })
    }

    #[test]
    fn of_too_many_the_worst_are_shown() {
        let unsorted = (0..30).map(|number| Diagnostic::error(Code::NoHashes, format!("no hash {number}")));
        let other = Diagnostic::error(Code::LockFileMissing, "missing");
        let forged = Diagnostic::error(Code::HashNotPublished, "forged");
        let root = VerifiedRoot {
            lock_path: "a/.terraform.lock.hcl".into(),
            findings: unsorted.chain([other, forged]).collect(),
            ..root(None, 1)
        };
        let failure = Diagnostic::error(Code::Io, "not read");
        let text = written(root, &[failure]);
        let lines: Vec<_> = text.lines().map(|line| line.rsplit("::").next().unwrap()).collect();
        assert_eq!(lines[..5], ["forged", "not read", "no hash 0", "missing", "no hash 1"]);
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[10], "23 more errors: the job summary has all causes");
    }

    #[test]
    fn text_of_a_finding_neither_ends_nor_starts_a_command() {
        let file = SourceFile::new("a,b:c/.terraform.lock.hcl", "x\n  y\n");
        let finding = Diagnostic::warning(Code::Downgrade, "50% off\r\n::error::boo")
            .at(Location::new(&file, 4..5), "")
            .help("run this");
        let root =
            VerifiedRoot { lock_path: "a,b:c/.terraform.lock.hcl".into(), findings: vec![finding], ..root(None, 1) };
        let text = written(root, &[]);
        let expected = "::warning file=a%2Cb%3Ac/.terraform.lock.hcl,line=2,col=3,title=downgrade\
                        ::50%25 off\\r\\n::error::boo%0Ahelp: run this\n";
        assert_eq!(text, expected);
    }
}
