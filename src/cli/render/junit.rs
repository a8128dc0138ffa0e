//! Findings as the XML of `JUnit`, which most CI systems show as failed tests
//! (<https://github.com/testmoapp/junitxml>).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use provlock::diagnostic::{Diagnostic, Severity};
use provlock::project::VerifiedRoot;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::foreign::{printable, printable_lines};
use super::issue::{Issue, Position};
use super::run_facts::VERSION;
use super::verify::Verification;

/// Element of a passed test with output.
const PASSED: &str = "system-out";

/// Suite of a root module, or of issues about no single one.
struct Suite<'a> {
    path: &'a Path,
    issues: Vec<Issue>,
    /// Reason why the suite must not look as if everything had passed.
    skipped: Option<&'static str>,
}

/// Returns a suite for each root module, with a test for each finding and failure. Two more suites
/// are for issues about no single root module, and for what was not checked.
///
/// Warnings are passed tests with output. A root module without issues has one test, which passes
/// only if everything was checked.
pub(crate) fn report(verification: Verification<'_>) -> String {
    let mut suites: Vec<_> = verification
        .roots
        .iter()
        .map(|root| suite_of_root(root, verification))
        .collect();
    suites.extend(other_suites(verification));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let written = writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
    written.expect("a vector takes all bytes");
    let time = verification.run.time();
    let element = writer
        .create_element("testsuites")
        .with_attributes([("name", "provlock verify"), ("timestamp", &*time)]);
    let written = element.write_inner_content(|writer| {
        for suite in suites {
            write_suite(writer, &suite, &printable(&verification.path(suite.path)))?;
        }
        write_suite_about_run(writer, verification)
    });
    written.expect("a vector takes all bytes");
    String::from_utf8_lossy(&writer.into_inner()).into_owned() + "\n"
}

/// Writes the suite with the facts about the run as properties, and a skipped test for each part
/// that was not checked.
fn write_suite_about_run(
    writer: &mut Writer<Vec<u8>>,
    verification: Verification<'_>,
) -> io::Result<()> {
    const NAME: &str = "not checked";
    let not_checked = verification.lines_about_not_checked();
    let number = not_checked.len().to_string();
    let run = verification.run;
    let mut properties = vec![
        ("version", VERSION.to_owned()),
        ("network", run.network().to_owned()),
    ];
    properties.extend(run.commit.iter().map(|commit| ("commit", commit.clone())));
    properties.extend(run.base.iter().map(|base| ("base", base.clone())));

    let element = writer.create_element("testsuite").with_attributes([
        ("name", NAME),
        ("tests", &*number),
        ("failures", "0"),
        ("errors", "0"),
        ("skipped", &*number),
    ]);
    let written = element.write_inner_content(|writer| {
        let element = writer.create_element("properties");
        element.write_inner_content(|writer| {
            for (name, value) in &properties {
                let attributes = [("name", *name), ("value", &*printable(value))];
                let property = writer.create_element("property");
                property.with_attributes(attributes).write_empty()?;
            }
            Ok(())
        })?;
        for line in &not_checked {
            let line = printable(line);
            let attributes = [("classname", NAME), ("name", &*line)];
            let case = writer
                .create_element("testcase")
                .with_attributes(attributes);
            case.write_inner_content(|writer| write_skipped(writer, &line))?;
        }
        Ok(())
    });
    written.map(drop)
}

fn write_skipped(writer: &mut Writer<Vec<u8>>, reason: &str) -> io::Result<()> {
    let element = writer.create_element("skipped");
    element
        .with_attribute(("message", reason))
        .write_empty()
        .map(drop)
}

/// The suite of a root module: its findings and the checks that failed.
fn suite_of_root<'a>(root: &'a VerifiedRoot, verification: Verification<'a>) -> Suite<'a> {
    let mut issues = Vec::new();
    for finding in &root.findings {
        issues.push(Issue::in_report_by_root(finding, Some(root), verification));
    }
    for error in &root.errors {
        issues.push(issue_of_failure(error, verification));
    }
    let mut skipped = None;
    // A test with an error shows that something was not checked.
    if root.errors.is_empty() {
        if root.is_partly_checked() {
            skipped = Some("partly checked");
        } else if !root.has_lock_file && root.needs_lock_file {
            skipped = Some("without a lock file");
        }
    }
    Suite {
        path: &root.path,
        issues,
        skipped,
    }
}

/// Suites of root modules that could not be checked at all, then one for issues about no single
/// root module, if there are any.
fn other_suites(verification: Verification<'_>) -> Vec<Suite<'_>> {
    let mut of_unchecked_root: BTreeMap<&Path, Vec<Issue>> = BTreeMap::new();
    let mut of_no_root = Vec::new();
    for finding in verification.findings {
        of_no_root.push(Issue::in_report_by_root(finding, None, verification));
    }
    // The suite of a root module that was checked has its errors.
    for error in verification.errors_outside_checked_roots() {
        let issues_of_suite = match error.root() {
            Some(path) => of_unchecked_root.entry(path).or_default(),
            None => &mut of_no_root,
        };
        issues_of_suite.push(issue_of_failure(error, verification));
    }

    let mut suites = Vec::new();
    for (path, issues) in of_unchecked_root {
        suites.push(Suite {
            path,
            issues,
            skipped: None,
        });
    }
    if !of_no_root.is_empty() {
        suites.push(Suite {
            path: Path::new("provlock"),
            issues: of_no_root,
            skipped: None,
        });
    }
    suites
}

fn issue_of_failure(error: &Diagnostic, verification: Verification<'_>) -> Issue {
    Issue {
        is_failure: true,
        ..Issue::in_report_by_root(error, None, verification)
    }
}

fn element_name(issue: &Issue) -> &'static str {
    // JUnit's errors are checks that failed, and its failures are findings.
    if issue.is_failure {
        return "error";
    }
    match issue.severity {
        Severity::Error => "failure",
        _ => PASSED,
    }
}

/// Writes a suite with a case for each issue, and one for the suite itself if it was skipped or has
/// no issue.
fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite<'_>, name: &str) -> io::Result<()> {
    let Suite {
        issues, skipped, ..
    } = suite;
    let mut failures = 0;
    let mut errors = 0;
    for issue in issues {
        match element_name(issue) {
            "failure" => failures += 1,
            "error" => errors += 1,
            _ => {}
        }
    }
    // A root module without findings is listed as one passed test.
    let tests = issues.len() + usize::from(issues.is_empty() || skipped.is_some());
    let element = writer.create_element("testsuite").with_attributes([
        ("name", name),
        ("tests", &tests.to_string()),
        ("failures", &failures.to_string()),
        ("errors", &errors.to_string()),
    ]);
    let element = match skipped {
        Some(_) => element.with_attribute(("skipped", "1")),
        None => element,
    };
    let written = element.write_inner_content(|writer| {
        // The test that stands for the suite itself.
        let attributes = [("classname", name), ("name", "verify")];
        if let Some(reason) = skipped {
            writer
                .create_element("testcase")
                .with_attributes(attributes)
                .write_inner_content(|writer| write_skipped(writer, reason))?;
        } else if issues.is_empty() {
            writer
                .create_element("testcase")
                .with_attributes(attributes)
                .write_empty()?;
        }
        issues
            .iter()
            .try_for_each(|issue| write_case(writer, issue, name))
    });
    written.map(drop)
}

/// Writes the case of an issue.
fn write_case(writer: &mut Writer<Vec<u8>>, issue: &Issue, root: &str) -> io::Result<()> {
    let message = printable(&issue.message);
    let name = format!("{}: {message}", issue.code);
    let mut case = writer
        .create_element("testcase")
        .with_attributes([("classname", root), ("name", &name)]);
    let mut output = printable_lines(&issue.lines().join("\n"));
    if let Some(Position {
        path,
        start: (line, column),
        ..
    }) = issue.positions.first()
    {
        let file = printable(path);
        output = format!("{file}:{line}:{column}\n{output}");
        case = case.with_attributes([("file", file.as_str()), ("line", &line.to_string())]);
    }
    let written = case.write_inner_content(|writer| {
        let element = match element_name(issue) {
            PASSED => writer.create_element(PASSED),
            name => {
                let attributes = [("type", issue.code.as_str()), ("message", message.as_str())];
                writer.create_element(name).with_attributes(attributes)
            }
        };
        element
            .write_text_content(BytesText::new(&output))
            .map(drop)
    });
    written.map(drop)
}
