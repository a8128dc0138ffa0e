//! The one object that a command prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::counts::Counts;
use super::diagnostic::{Finding, ListedFinding, Notice};
use super::root::{ComparedRoot, FailedRoot, VerifiedRoot};
use super::run::Run;
use crate::cli::render::diff::FileDiff;
use crate::cli::render::foreign::redact_texts;
use crate::cli::render::help::Invocation;
use crate::cli::render::identity::compute_identities;
use crate::cli::render::verify::Verification;

/// The version of the schema. It increases when a field is removed or changes its meaning.
pub(super) const SCHEMA: u32 = 1;

/// Output of a command: its own fields, and the fields of all commands.
#[derive(Serialize)]
struct Output<'a, T> {
    schema: u32,
    /// Name of the command; `provlock` if the command line contains none.
    command: &'a str,
    #[serde(flatten)]
    result: T,
    warnings: Vec<Notice>,
    errors: Vec<Notice>,
}

/// Returns the one line of JSON that a command prints. The fields of `result` are among the fields
/// of all commands.
pub(crate) fn output_line(
    command: &str,
    result: impl Serialize,
    warnings: &[Diagnostic],
    errors: &[Diagnostic],
    invocation: &Invocation,
) -> String {
    let mut object = json!(Output {
        schema: SCHEMA,
        command,
        result,
        warnings: Notice::all(warnings, invocation),
        errors: Notice::all(errors, invocation)
    });
    if let Value::Object(fields) = &mut object {
        // Scripts can rely on the list of root modules, even if a command has none.
        fields.entry("roots").or_insert_with(|| json!([]));
    }
    // Last of all, so that no field is forgotten.
    redact_texts(&mut object, &invocation.secrets);
    format!("{object}\n")
}

/// Returns the JSON of a result that is printed after its sources are dropped.
pub(crate) fn raw(result: &impl Serialize) -> Box<RawValue> {
    to_raw_value(result).expect("the keys of objects are texts")
}

/// The root modules of a result.
#[derive(Serialize)]
pub(crate) struct Roots<T> {
    pub(crate) roots: Vec<T>,
}

/// Root module that was locked, upgraded or checked, or that failed.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum DoneOrFailed<'a, T> {
    Done(T),
    Failed(FailedRoot<'a>),
}

/// Result of `verify`.
#[derive(Serialize)]
struct Verified<'a> {
    run: Run<'a>,
    #[serde(flatten)]
    roots: Roots<DoneOrFailed<'a, VerifiedRoot<'a>>>,
    counts: Counts,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    findings: &'a [Finding<'a>],
    all_findings: Vec<ListedFinding<'a>>,
}

/// Returns the fields of `verify`: the root modules that were checked, and the ones that could not
/// be checked.
pub(crate) fn verify(verification: Verification<'_>) -> String {
    let Verification {
        roots,
        errors,
        coverage,
        run,
        invocation,
        ..
    } = verification;
    let verified: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
    let mut failed: BTreeMap<&Path, Diagnostics> = BTreeMap::new();
    for error in errors {
        if let Some(root) = error.root().filter(|root| !verified.contains(root)) {
            failed.entry(root).or_default().push(error.clone());
        }
    }
    // The findings about no root module come first, then the findings of each root module.
    let mut paths = Vec::new();
    let mut findings = Vec::new();
    for ((root, finding), identity) in verification
        .all_findings()
        .zip(compute_identities(verification))
    {
        paths.push(root.map(|root| root.path.to_string_lossy()));
        findings.push(Finding::new(finding, identity, invocation));
    }
    let (of_change, mut rest) = findings.split_at(verification.findings.len());
    let mut done_or_failed = Vec::new();
    for root in roots {
        let (own, others) = rest.split_at(root.findings.len());
        rest = others;
        let root = VerifiedRoot::new(root, own, run.is_online);
        done_or_failed.push(DoneOrFailed::Done(root));
    }
    for (root, errors) in &failed {
        let root = FailedRoot::new(root, errors, invocation);
        done_or_failed.push(DoneOrFailed::Failed(root));
    }
    let mut all_findings = Vec::new();
    for (root, finding) in paths.into_iter().zip(&findings) {
        all_findings.push(ListedFinding { root, finding });
    }

    let result = Verified {
        run: Run::new(run, verification.lines_about_not_checked()),
        roots: Roots {
            roots: done_or_failed,
        },
        counts: Counts::from(coverage),
        findings: of_change,
        all_findings,
    };
    output_line("verify", result, &[], errors, invocation)
}

/// Returns the output of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn diff(
    files: Vec<FileDiff<'_>>,
    mut warnings: Vec<Diagnostic>,
    invocation: &Invocation,
) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    let roots = Roots {
        roots: files.into_iter().map(ComparedRoot::from).collect(),
    };
    output_line("diff", roots, &warnings, &[], invocation)
}

fn replaced_hashes(file: &FileDiff<'_>) -> impl Iterator<Item = Diagnostic> {
    file.rows.iter().filter_map(|row| {
        let version = row
            .version
            .new
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        let message = format!(
            "{}: {}{version}: {}",
            file.path.display(),
            row.name,
            row.warning_if_replaced()?
        );
        Some(Diagnostic::warning(Code::HashesReplaced, message))
    })
}
