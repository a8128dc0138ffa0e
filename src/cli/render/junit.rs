//! Findings as the XML of `JUnit`, which most CI systems show as failed tests
//! (<https://github.com/testmoapp/junitxml>).

use std::io;
use std::path::Path;

use provlock::diagnostic::{Diagnostic, Severity};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::foreign::{printable, printable_lines};
use super::issue::{Issue, Position};
use super::verify::Verification;

/// Element of a passed test with output.
const PASSED: &str = "system-out";

/// Returns a suite for each root module, with a test for each finding, or one test if there is none, and a skipped one
/// if the root module was checked in part; and one suite for findings about no single root module and for failures.
/// Warnings are passed tests with output.
pub(crate) fn report(found: Verification<'_>) -> String {
    let issue = |finding: &Diagnostic| Issue::new(finding, None, found);
    let of_roots = found.roots.iter().map(|root| Suite {
        path: &root.path,
        issues: root.findings.iter().map(issue).collect(),
        is_partly_checked: root.is_partly_checked(),
    });
    let failures = found.errors.iter().map(|error| Issue { is_failure: true, ..issue(error) });
    let others: Vec<_> = found.findings.iter().map(issue).chain(failures).collect();
    let others = Suite { path: Path::new("provlock"), issues: others, is_partly_checked: false };
    let others = (!others.issues.is_empty()).then_some(others);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    written.expect("a vector takes all bytes");
    let suites = writer.create_element("testsuites").with_attribute(("name", "provlock verify"));
    let written =
        suites.write_inner_content(|writer| of_roots.chain(others).try_for_each(|suite| suite.write(writer, found)));
    written.expect("a vector takes all bytes");
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

fn element(issue: &Issue) -> &'static str {
    match issue.severity {
        _ if issue.is_failure => "error",
        Severity::Error => "failure",
        _ => PASSED,
    }
}

/// Tests of one root module.
struct Suite<'a> {
    path: &'a Path,
    issues: Vec<Issue>,
    /// Whether the test without a finding is skipped instead of passed.
    is_partly_checked: bool,
}

impl Suite<'_> {
    fn write(&self, writer: &mut Writer<Vec<u8>>, found: Verification<'_>) -> io::Result<()> {
        let Self { path, issues, is_partly_checked } = self;
        let number = |name| issues.iter().filter(|issue| element(issue) == name).count().to_string();
        let name = printable(&found.path(path));
        let has_own_test = issues.is_empty() || *is_partly_checked;
        let suite = writer.create_element("testsuite").with_attributes([
            ("name", name.as_str()),
            ("tests", &(issues.len() + usize::from(has_own_test)).to_string()),
            ("failures", &number("failure")),
            ("errors", &number("error")),
            ("skipped", if *is_partly_checked { "1" } else { "0" }),
        ]);
        let written = suite.write_inner_content(|writer| {
            if has_own_test {
                let case = writer.create_element("testcase").with_attribute(("classname", name.as_str()));
                let case = case.with_attribute(("name", "verify"));
                if *is_partly_checked {
                    case.write_inner_content(|writer| {
                        let skipped = writer.create_element("skipped");
                        skipped.with_attribute(("message", "partly checked")).write_empty().map(drop)
                    })?;
                } else {
                    case.write_empty()?;
                }
            }
            issues.iter().try_for_each(|issue| case(writer, issue, &name))
        });
        written.map(drop)
    }
}

fn case(writer: &mut Writer<Vec<u8>>, issue: &Issue, root: &str) -> io::Result<()> {
    let message = printable(&issue.message);
    let name = format!("{}: {message}", issue.code);
    let mut case = writer.create_element("testcase").with_attributes([("classname", root), ("name", &name)]);
    let mut output = printable_lines(&issue.lines().join("\n"));
    if let Some(Position { path, start: (line, column), .. }) = issue.positions.first() {
        let file = printable(path);
        output = format!("{file}:{line}:{column}\n{output}");
        case = case.with_attributes([("file", file.as_str()), ("line", &line.to_string())]);
    }
    let written = case.write_inner_content(|writer| {
        let element = match element(issue) {
            PASSED => writer.create_element(PASSED),
            name => {
                let attributes = [("type", issue.code.as_str()), ("message", message.as_str())];
                writer.create_element(name).with_attributes(attributes)
            }
        };
        element.write_text_content(BytesText::new(&output)).map(drop)
    });
    written.map(drop)
}
