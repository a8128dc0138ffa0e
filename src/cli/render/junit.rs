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

/// Returns a suite for each root module, with a test for each finding, or one test if there is none; and one suite for
/// findings about no single root module and for failures. Warnings are passed tests with output.
pub(crate) fn report(found: Verification<'_>) -> String {
    let issue = |finding: &Diagnostic| Issue::new(finding, None, found);
    let of_roots = found.roots.iter().map(|root| (root.path.as_path(), root.findings.iter().map(issue).collect()));
    let failures = found.errors.iter().map(|error| Issue { is_failure: true, ..issue(error) });
    let others: Vec<_> = found.findings.iter().map(issue).chain(failures).collect();
    let others = (!others.is_empty()).then_some((Path::new("provlock"), others));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    written.expect("a vector takes all bytes");
    let suites = writer.create_element("testsuites").with_attribute(("name", "provlock verify"));
    let written = suites.write_inner_content(|writer| {
        of_roots.chain(others).try_for_each(|(path, issues): (_, Vec<_>)| suite(writer, path, &issues, found))
    });
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

fn suite(writer: &mut Writer<Vec<u8>>, path: &Path, issues: &[Issue], found: Verification<'_>) -> io::Result<()> {
    let number = |name| issues.iter().filter(|issue| element(issue) == name).count().to_string();
    let name = printable(&found.path(path));
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("tests", &issues.len().max(1).to_string()),
        ("failures", &number("failure")),
        ("errors", &number("error")),
    ]);
    let written = suite.write_inner_content(|writer| {
        if issues.is_empty() {
            let case = writer.create_element("testcase").with_attribute(("classname", name.as_str()));
            case.with_attribute(("name", "verify")).write_empty()?;
        }
        issues.iter().try_for_each(|issue| case(writer, issue, &name))
    });
    written.map(drop)
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
