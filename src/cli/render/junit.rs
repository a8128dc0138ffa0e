//! Findings as the XML of `JUnit`, which most CI systems show as failed tests
//! (<https://github.com/testmoapp/junitxml>).

use std::io;
use std::path::Path;

use provlock::diagnostic::{Diagnostic, Severity};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::foreign::{printable, printable_lines, shown};
use super::help::Invocation;
use super::verify::{Found, RepositoryPaths};

/// A test of the report.
struct Test<'a> {
    /// What is wrong, or what could not be checked; nothing in a root module that is in order.
    finding: Option<&'a Diagnostic>,
    /// Whether it was checked.
    is_finding: bool,
}

/// A suite for each root module, with a test for each finding, or one test if there is none; and one suite for what
/// concerns no single root module and for what could not be checked. Warnings are tests that pass and say something.
pub(crate) fn report(found: Found<'_>, paths: &RepositoryPaths<'_>, invocation: &Invocation) -> String {
    let finding = |finding| Test { finding: Some(finding), is_finding: true };
    let of_roots = found.roots.iter().map(|root| {
        let tests: Vec<_> = match &root.findings[..] {
            [] => vec![Test { finding: None, is_finding: true }],
            findings => findings.iter().map(finding).collect(),
        };
        (root.path.as_path(), tests)
    });
    let errors = found.errors.iter().map(|error| Test { finding: Some(error), is_finding: false });
    let others: Vec<_> = found.findings.iter().map(finding).chain(errors).collect();
    let others = (!others.is_empty()).then_some((Path::new("provlock"), others));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    written.expect("a vector takes all bytes");
    let suites = writer.create_element("testsuites").with_attribute(("name", "provlock verify"));
    let written = suites.write_inner_content(|writer| {
        of_roots.chain(others).try_for_each(|(path, tests)| suite(writer, path, &tests, paths, invocation))
    });
    written.expect("a vector takes all bytes");
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    path: &Path,
    tests: &[Test<'_>],
    paths: &RepositoryPaths<'_>,
    invocation: &Invocation,
) -> io::Result<()> {
    let number = |wanted: &dyn Fn(&&Test<'_>) -> bool| tests.iter().filter(wanted).count().to_string();
    let name = printable(&invocation.secrets.redact(&paths.shown(path)));
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", name.as_str()),
        ("tests", &tests.len().to_string()),
        ("failures", &number(&|test| test.is_failure())),
        ("errors", &number(&|test| !test.is_finding)),
    ]);
    let written = suite
        .write_inner_content(|writer| tests.iter().try_for_each(|test| case(writer, test, &name, paths, invocation)));
    written.map(drop)
}

fn case(
    writer: &mut Writer<Vec<u8>>,
    test: &Test<'_>,
    root: &str,
    paths: &RepositoryPaths<'_>,
    invocation: &Invocation,
) -> io::Result<()> {
    let case = writer.create_element("testcase").with_attribute(("classname", root));
    let Some(finding) = test.finding else { return case.with_attribute(("name", "verify")).write_empty().map(drop) };
    let finding = &shown(finding, invocation);
    let message = printable(&finding.message);
    let mut case = case.with_attribute(("name", format!("{}: {message}", finding.code).as_str()));
    let mut output = printable_lines(&invocation.secrets.redact(&invocation.lines(finding).join("\n")));
    if let Some(label) = finding.labels.first() {
        let file = printable(&invocation.secrets.redact(&paths.shown(label.location.path())));
        let (line, column) = label.location.line_column();
        output = format!("{file}:{line}:{column}\n{output}");
        case = case.with_attributes([("file", file.as_str()), ("line", &line.to_string())]);
    }
    let element = match test {
        Test { is_finding: false, .. } => "error",
        test if test.is_failure() => "failure",
        _ => "system-out",
    };
    let written = case.write_inner_content(|writer| {
        let element = match element {
            "system-out" => writer.create_element(element),
            _ => writer
                .create_element(element)
                .with_attributes([("type", finding.code.as_str()), ("message", message.as_str())]),
        };
        element.write_text_content(BytesText::new(&output)).map(drop)
    });
    written.map(drop)
}

impl Test<'_> {
    fn is_failure(&self) -> bool {
        self.is_finding && self.finding.is_some_and(|finding| finding.severity == Severity::Error)
    }
}
