//! Findings and locked versions as one page of HTML for people: it makes no requests, and can be
//! read without its script.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use provlock::diagnostic::{Diagnostic, RootModules, Severity};
use quick_xml::escape::escape;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use super::coverage;
use super::foreign::printable;
use super::help::Invocation;
use super::issue::Issue;
use super::json::ProviderUse;
use super::style::count;
use super::table::unfolding_names;
use super::verify::Verification;
use super::versions;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Returns the page of `verify`. `causes` are the findings and failures, each with the names of all
/// its root modules.
pub(crate) fn verification_page(
    causes: &[Diagnostic],
    verification: Verification<'_>,
    uses: &[ProviderUse<'_>],
) -> String {
    let invocation = verification.invocation;
    let mut numbers = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let number = verification.number_of(severity);
        let class = if number == 0 {
            "none".to_owned()
        } else {
            severity.to_string()
        };
        let words = count(number, &severity.to_string());
        numbers.push(format!("<li class=\"{class}\">{words}</li>\n"));
    }
    if !verification.errors.is_empty() {
        let failures = count(verification.errors.len(), "failed check");
        numbers.push(format!("<li class=\"error\">{failures}</li>\n"));
    }
    let mut lines = vec![verification.run.line()];
    lines.extend(coverage::lines_by_kind(verification.coverage));
    lines.extend(verification.lines_about_not_checked());
    let mut paragraphs = Vec::new();
    for line in lines {
        paragraphs.push(format!("<p>{}</p>\n", escape_text(&line, invocation)));
    }
    let findings = match causes {
        [] => "<p>Nothing was found.</p>\n".to_owned(),
        causes => causes
            .iter()
            .map(|cause| article(cause, verification))
            .collect(),
    };
    let body = format!(
        "<ul class=\"numbers\">\n{}</ul>\n{}<div id=\"filter\"></div>\n<h2>Findings</h2>\n{findings}\
         <h2>Locked versions</h2>\n{}",
        numbers.concat(),
        paragraphs.concat(),
        versions::table(uses).html(|part| escape_text(part, invocation)),
    );
    page_with_body("provlock verify", &body)
}

/// Returns the page of `tree --recursive`: locked versions and their root modules.
pub(crate) fn tree_page(uses: &[ProviderUse<'_>], invocation: &Invocation) -> String {
    let table = versions::table(uses).html(|part| escape_text(part, invocation));
    page_with_body(
        "provlock tree",
        &format!("<div id=\"filter\"></div>\n{table}"),
    )
}

fn page_with_body(title: &str, body: &str) -> String {
    // Only these two scripts run, and the page makes no requests (https://www.w3.org/TR/CSP3/).
    let style = content_hash(STYLE);
    let script = content_hash(SCRIPT);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {style}; \
         script-src {script}; base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width\"/>\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}<script>{SCRIPT}</script>\n\
         </body>\n</html>\n"
    )
}

/// The source of a script or style in a content security policy.
fn content_hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// Returns the article of a finding or failure with its positions, notes and help.
fn article(cause: &Diagnostic, verification: Verification<'_>) -> String {
    let invocation = verification.invocation;
    let mut cause = cause.clone();
    let mut roots = String::new();
    if let Some(RootModules::Selected { directories, .. }) = cause.root_modules.as_deref() {
        // The last note contains their names in a sentence.
        cause.notes.pop();
        roots = unfolding_names(
            directories
                .iter()
                .map(|path| escape_text(&verification.path(path), invocation)),
        );
    }

    let issue = Issue::in_report_by_root(&cause, None, verification);
    let mut paragraphs = Vec::new();
    for position in issue.positions.iter().chain(&issue.fetched) {
        let place = format!("{}:{}", position.path, position.start.0);
        paragraphs.push(format!(
            "<code>{}</code> {}",
            escape_text(&place, invocation),
            escape_text(&position.text, invocation)
        ));
    }
    paragraphs.extend(issue.notes.iter().map(|note| escape_text(note, invocation)));
    if let Some(help) = &issue.help {
        paragraphs.push(format!("<b>help:</b> {}", escape_text(help, invocation)));
    }
    let mut parts = String::new();
    for paragraph in paragraphs {
        let _ = writeln!(parts, "<p>{paragraph}</p>");
    }
    let severity = issue.severity;
    format!(
        "<article class=\"{severity}\">\n<h3>{}</h3>\n<p><span>{severity}</span> {}</p>\n\
         {parts}{roots}</article>\n",
        escape_text(&issue.message, invocation),
        issue.code
    )
}

/// Text without secrets that is neither markup nor the end of an attribute.
fn escape_text(text: &str, invocation: &Invocation) -> String {
    escape(printable(&invocation.secrets.redact(text))).into_owned()
}
