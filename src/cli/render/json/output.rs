//! The one object that a command prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::ValueEnum;
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

/// The version of the schema. It grows when a field is removed or changes its meaning.
pub(super) const SCHEMA: u32 = 1;

/// Output of a command: its own fields, and those that all commands have.
#[derive(Serialize)]
pub(crate) struct Output<T> {
    schema: u32,
    command: CommandName,
    #[serde(flatten)]
    result: T,
    warnings: Vec<Notice>,
    errors: Vec<Notice>,
}

/// The command that printed the result.
#[derive(Clone, Copy, Default, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "command"))]
pub(crate) enum CommandName {
    /// None: the command line names no command.
    #[default]
    Provlock,
    Init,
    Lock,
    Get,
    Upgrade,
    Pin,
    Verify,
    Diff,
    Explain,
    Tree,
    Sbom,
    Merge,
    Mirror,
    Setup,
    Login,
    Logout,
    Cache,
    Completions,
}

/// Returns the fields of `verify`: the root modules that were verified, and those of many that could not be.
pub(crate) fn verify(Found { roots, findings, errors, coverage, invocation, .. }: Found<'_>) -> String {
    let verified: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
    let mut failed: BTreeMap<&Path, Diagnostics> = BTreeMap::new();
    for error in errors {
        if let Some(root) = error.root().filter(|root| !verified.contains(root)) {
            failed.entry(root).or_default().push(error.clone());
        }
    }
    let failed = failed.iter().map(|(root, errors)| json!(FailedRoot::new(root, errors, invocation)));
    let roots: Vec<_> = roots.iter().map(|root| json!(VerifiedRoot::new(root, invocation))).chain(failed).collect();
    let mut result = json!({ "roots": roots, "counts": Counts::from(coverage) });
    if !findings.is_empty() {
        result["findings"] = findings.iter().map(|finding| json!(Finding::new(finding, invocation))).collect();
    }
    Output::new(CommandName::Verify, result, &[], errors, invocation).text(invocation)
}

/// Returns the output of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn diff(files: &[FileDiff], mut warnings: Vec<Diagnostic>, invocation: &Invocation) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    let roots: Vec<_> = files.iter().map(ComparedRoot::new).collect();
    Output::new(CommandName::Diff, json!({ "roots": roots }), &warnings, &[], invocation).text(invocation)
}

fn replaced_hashes(file: &FileDiff) -> impl Iterator<Item = Diagnostic> {
    file.rows.iter().filter_map(|row| {
        let version = row.version.new.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let message = format!("{}: {}{version}: {}", file.path.display(), row.name, row.replaced.as_ref()?);
        Some(Diagnostic::warning(Code::HashesReplaced, message))
    })
}

impl<T: Serialize> Output<T> {
    pub(crate) fn new(
        command: CommandName,
        result: T,
        warnings: &[Diagnostic],
        errors: &[Diagnostic],
        invocation: &Invocation,
    ) -> Self {
        let (warnings, errors) = (Notice::all(warnings, invocation), Notice::all(errors, invocation));
        Self { schema: SCHEMA, command, result, warnings, errors }
    }

    /// Returns the line that is printed.
    pub(crate) fn text(&self, invocation: &Invocation) -> String {
        let mut object = json!(self);
        if let Value::Object(fields) = &mut object {
            fields.entry("roots").or_insert_with(|| json!([]));
        }
        clean(&mut object, &invocation.secrets);
        format!("{object}\n")
    }
}
