//! The one object that a command prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::ValueEnum;
use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use serde::Serialize;
use serde_json::json;

use super::counts::Counts;
use super::diagnostic::{Finding, Notice};
use super::mirror::Mirror;
use super::reports::{
    Cache, Completions, Credentials, Explanation, GitSetup, PublishedFacts, SettingsFile, SigningKeyFile,
};
use super::root::{ComparedRoot, FailedRoot, Root, VerifiedRoot};
use super::tree::ProviderUse;
use crate::cli::render::causes::Distinct;
use crate::cli::render::diff::FileDiff;
use crate::cli::render::foreign::clean;
use crate::cli::render::help::Invocation;
use crate::cli::render::verify::Found;

/// The version of the schema. It grows when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Every command prints one object on stdout. The number in `schema` grows when a field is removed or changes its
/// meaning; fields may be added without that.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Output of provlock --json", deny_unknown_fields))]
pub(crate) struct Output {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub(crate) schema: u32,
    pub(crate) command: CommandName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) credentials: Option<Credentials>,
    /// Of `explain`: what codes mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) explanations: Vec<Explanation>,
    /// Of `setup git`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) git: Option<GitSetup>,
    /// Of `init`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<SettingsFile>,
    /// Of `cache dir` and `cache clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<Cache>,
    /// Of `mirror`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mirror: Option<Mirror>,
    /// Of `cache push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<PublishedFacts>,
    /// Of `cache keygen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signing_key: Option<SigningKeyFile>,
    /// Of `completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completions: Option<Completions>,
    pub(crate) roots: Vec<Root>,
    /// Of `tree --recursive`: which versions are locked, and where.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) providers: Vec<ProviderUse>,
    /// Of `verify`: what was looked at, and what was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<Counts>,
    /// Of `verify`: what concerns no single root module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<Finding>,
    pub(crate) warnings: Vec<Notice>,
    pub(crate) errors: Vec<Notice>,
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

/// What became of root modules, collected one by one.
#[derive(Default)]
pub(crate) struct Roots {
    pub(crate) done: Vec<Root>,
    pub(crate) failed: Vec<Root>,
    pub(crate) warnings: Distinct,
    pub(crate) errors: Distinct,
}

/// The result of `verify`: the roots that were verified, and those of many that could not be.
pub(crate) fn verify(Found { roots, findings, errors, coverage, invocation, .. }: Found<'_>) -> String {
    let verified: BTreeSet<&Path> = roots.iter().map(|root| root.path.as_path()).collect();
    let mut failed: BTreeMap<&Path, Diagnostics> = BTreeMap::new();
    for error in errors {
        if let Some(root) = error.root().filter(|root| !verified.contains(root)) {
            failed.entry(root).or_default().push(error.clone());
        }
    }
    let failed = failed.iter().map(|(root, errors)| Root::Failed(FailedRoot::new(root, errors, invocation)));
    let roots = roots.iter().map(|root| Root::Verified(VerifiedRoot::new(root, invocation)));
    let findings = findings.iter().map(|finding| Finding::new(finding, invocation)).collect();
    let output = Output::new(CommandName::Verify, &[], errors, invocation);
    let counts = Some(Counts::from(coverage));
    Output { roots: roots.chain(failed).collect(), counts, findings, ..output }.text(invocation)
}

/// The result of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn diff(files: &[FileDiff], mut warnings: Vec<Diagnostic>, invocation: &Invocation) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    let roots = files.iter().map(|file| Root::Compared(ComparedRoot::new(file))).collect();
    Output { roots, ..Output::new(CommandName::Diff, &warnings, &[], invocation) }.text(invocation)
}

fn replaced_hashes(file: &FileDiff) -> impl Iterator<Item = Diagnostic> {
    file.rows.iter().filter_map(|row| {
        let version = row.version.new.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let message = format!("{}: {}{version}: {}", file.path.display(), row.name, row.replaced.as_ref()?);
        Some(Diagnostic::warning(Code::HashesReplaced, message))
    })
}

impl Output {
    /// What every command says: its name, warnings and errors.
    pub(crate) fn new(
        command: CommandName,
        warnings: &[Diagnostic],
        errors: &[Diagnostic],
        invocation: &Invocation,
    ) -> Self {
        let (warnings, errors) = (Notice::all(warnings, invocation), Notice::all(errors, invocation));
        Self { schema: SCHEMA, command, warnings, errors, ..Self::default() }
    }

    /// The line that is printed.
    pub(crate) fn text(&self, invocation: &Invocation) -> String {
        let mut object = json!(self);
        clean(&mut object, &invocation.secrets);
        format!("{object}\n")
    }
}
