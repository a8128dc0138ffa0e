//! The one object that a command prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use serde::Serialize;
use serde_json::{Value, json};

use super::counts::Counts;
use super::diagnostic::{Finding, Notice};
use super::root::{ComparedRoot, FailedRoot, VerifiedRoot};
use crate::cli::render::diff::FileDiff;
use crate::cli::render::foreign::clean;
use crate::cli::render::help::Invocation;
use crate::cli::render::verify::Found;

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

/// Returns the line that a command prints.
pub(crate) fn document(
    command: &str,
    result: impl Serialize,
    warnings: &[Diagnostic],
    errors: &[Diagnostic],
    invocation: &Invocation,
) -> String {
    let (warnings, errors) = (Notice::all(warnings, invocation), Notice::all(errors, invocation));
    let mut object = json!(Output { schema: SCHEMA, command, result, warnings, errors });
    if let Value::Object(fields) = &mut object {
        fields.entry("roots").or_insert_with(|| json!([]));
    }
    clean(&mut object, &invocation.secrets);
    format!("{object}\n")
}

/// The root modules of a result.
#[derive(Serialize)]
pub(crate) struct Roots<T> {
    pub(crate) roots: Vec<T>,
}

/// Root module that was locked, upgraded or checked, or that failed.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum DoneOrFailed<T> {
    Done(T),
    Failed(FailedRoot),
}

/// Result of `verify`.
#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    roots: Roots<DoneOrFailed<VerifiedRoot>>,
    counts: Counts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
}

/// Returns the fields of `verify`: the root modules that were checked, and the ones that could not be checked.
pub(crate) fn verify(Found { roots, findings, errors, coverage, invocation, .. }: Found<'_>) -> String {
    let verified: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
    let mut failed: BTreeMap<&Path, Diagnostics> = BTreeMap::new();
    for error in errors {
        if let Some(root) = error.root().filter(|root| !verified.contains(root)) {
            failed.entry(root).or_default().push(error.clone());
        }
    }
    let failed = failed.iter().map(|(root, errors)| DoneOrFailed::Failed(FailedRoot::new(root, errors, invocation)));
    let done = roots.iter().map(|root| DoneOrFailed::Done(VerifiedRoot::new(root, invocation)));
    let roots = Roots { roots: done.chain(failed).collect() };
    let findings = findings.iter().map(|finding| Finding::new(finding, invocation)).collect();
    let result = Verified { roots, counts: Counts::from(coverage), findings };
    document("verify", result, &[], errors, invocation)
}

/// Returns the output of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn diff(files: &[FileDiff], mut warnings: Vec<Diagnostic>, invocation: &Invocation) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    let roots = Roots { roots: files.iter().map(ComparedRoot::new).collect() };
    document("diff", roots, &warnings, &[], invocation)
}

fn replaced_hashes(file: &FileDiff) -> impl Iterator<Item = Diagnostic> {
    file.rows.iter().filter_map(|row| {
        let version = row.version.new.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let message = format!("{}: {}{version}: {}", file.path.display(), row.name, row.replaced.as_ref()?);
        Some(Diagnostic::warning(Code::HashesReplaced, message))
    })
}
