//! Findings as the XML of `JUnit`, which most CI systems show as failed tests
//! (<https://github.com/testmoapp/junitxml>).

use std::io;
use std::path::Path;

use provlock::diagnostic::{Diagnostic, Severity};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::foreign::{printable, printable_lines, shown};
use super::verify::Found;

/// A test of the report.
struct Test<'a> {
    /// What is wrong, or what could not be checked; nothing in a root module that is in order.
    finding: Option<&'a Diagnostic>,
    /// The element that says so.
    element: &'static str,
}

impl<'a> Test<'a> {
    fn of(finding: &'a Diagnostic) -> Self {
        let element = if finding.severity == Severity::Error { "failure" } else { PASSED };
        Self { finding: Some(finding), element }
    }
}

/// The element of a test that passes and says something.
const PASSED: &str = "system-out";

/// A suite for each root module, with a test for each finding, or one test if there is none; and one suite for what
/// concerns no single root module and for what could not be checked. Warnings are tests that pass and say something.
pub(crate) fn report(found: Found<'_>) -> String {
    let of_roots = found.roots.iter().map(|root| {
        let tests: Vec<_> = match &root.findings[..] {
            [] => vec![Test { finding: None, element: PASSED }],
            findings => findings.iter().map(Test::of).collect(),
        };
        (root.path.as_path(), tests)
    });
    let errors = found.errors.iter().map(|error| Test { finding: Some(error), element: "error" });
    let others: Vec<_> = found.findings.iter().map(Test::of).chain(errors).collect();
    let others = (!others.is_empty()).then_some((Path::new("provlock"), others));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    written.expect("a vector takes all bytes");
    let suites = writer.create_element("testsuites").with_attribute(("name", "provlock verify"));
    let written = suites.write_inner_content(|writer| {
        of_roots.chain(others).try_for_each(|(path, tests)| suite(writer, path, &tests, found))
    });
    written.expect("a vector takes all bytes");
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

fn suite(writer: &mut Writer<Vec<u8>>, path: &Path, tests: &[Test<'_>], found: Found<'_>) -> io::Result<()> {
    let number = |element| tests.iter().filter(|test| test.element == element).count().to_string();
    let name = printable(&found.path(path));
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("tests", &tests.len().to_string()),
        ("failures", &number("failure")),
        ("errors", &number("error")),
    ]);
    let written =
        suite.write_inner_content(|writer| tests.iter().try_for_each(|test| case(writer, test, &name, found)));
    written.map(drop)
}

fn case(writer: &mut Writer<Vec<u8>>, test: &Test<'_>, root: &str, found: Found<'_>) -> io::Result<()> {
    let case = writer.create_element("testcase").with_attribute(("classname", root));
    let Some(finding) = test.finding else { return case.with_attribute(("name", "verify")).write_empty().map(drop) };
    let finding = &shown(finding, found.invocation);
    let message = printable(&finding.message);
    let mut case = case.with_attribute(("name", format!("{}: {message}", finding.code).as_str()));
    let lines = found.invocation.lines(finding).join("\n");
    let mut output = printable_lines(&found.invocation.secrets.redact(&lines));
    if let Some(label) = finding.labels.first() {
        let file = printable(&found.path(label.location.path()));
        let (line, column) = label.location.line_column();
        output = format!("{file}:{line}:{column}\n{output}");
        case = case.with_attributes([("file", file.as_str()), ("line", &line.to_string())]);
    }
    let written = case.write_inner_content(|writer| {
        let element = writer.create_element(test.element);
        let element = match test.element {
            PASSED => element,
            _ => element.with_attributes([("type", finding.code.as_str()), ("message", message.as_str())]),
        };
        element.write_text_content(BytesText::new(&output)).map(drop)
    });
    written.map(drop)
}
