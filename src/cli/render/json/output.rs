//! The one object that a command prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::ValueEnum;
use provlock::cli_config::CredentialsOrigin;
use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use provlock::project::plan::UpgradePlan;
use provlock::project::{Locked, RootModule};
use provlock::provider::Hostname;
use serde::Serialize;
use serde_json::json;

use super::credentials::Credentials;
use super::diagnostic::{Finding, Notice};
use super::explanation::Explanation;
use super::integration::{Cache, Completions, GitSetup};
use super::mirror::Mirror;
use super::published::{PublishedFacts, SigningKeyFile};
use super::root::{ComparedRoot, FailedRoot, LockedRoot, Root, VerifiedRoot};
use super::tree::TreeRoot;
use crate::cli::render::causes::Distinct;
use crate::cli::render::diff::FileDiff;
use crate::cli::render::foreign::clean;
use crate::cli::render::help::Invocation;
use crate::cli::render::tree::ProviderTree;
use crate::cli::render::verify::Found;

/// The version of the schema. It grows when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Every command prints one object on stdout. The number in `schema` grows when a field is removed or changes its meaning;
/// fields may be added without that.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Output of provlock --json", deny_unknown_fields))]
struct Output {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: u32,
    command: CommandName,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Credentials"))]
    credentials: Option<Credentials>,
    /// Of `explain`: what codes mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<Explanation>"))]
    explanations: Vec<Explanation>,
    /// Of `setup git`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "GitSetup"))]
    git: Option<GitSetup>,
    /// Of `cache dir` and `cache clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Cache"))]
    cache: Option<Cache>,
    /// Of `mirror`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Mirror"))]
    mirror: Option<Mirror>,
    /// Of `cache push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "PublishedFacts"))]
    published: Option<PublishedFacts>,
    /// Of `cache keygen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "SigningKeyFile"))]
    signing_key: Option<SigningKeyFile>,
    /// Of `completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Completions"))]
    completions: Option<Completions>,
    roots: Vec<Root>,
    /// Of `verify`: what concerns no single root module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<Finding>"))]
    findings: Vec<Finding>,
    warnings: Vec<Notice>,
    errors: Vec<Notice>,
}

/// The command that printed the result.
#[derive(Clone, Copy, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "command"))]
pub(crate) enum CommandName {
    /// None: the command line names no command.
    Provlock,
    Lock,
    Upgrade,
    Verify,
    Diff,
    Explain,
    Tree,
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
    done: Vec<Root>,
    failed: Vec<Root>,
    warnings: Distinct,
    errors: Distinct,
}

impl Roots {
    /// Adds a root module that was locked.
    pub(crate) fn add_locked(&mut self, locked: &Locked<'_>) {
        self.done.push(Root::Locked(LockedRoot::new(locked)));
    }

    /// Adds a root module that was upgraded.
    pub(crate) fn add_upgraded(&mut self, locked: &Locked<'_>, plan: &UpgradePlan) {
        self.done.push(Root::Locked(LockedRoot::upgraded(locked, plan)));
    }

    /// Adds a root module for which nothing is to be written.
    pub(crate) fn add_planned(&mut self, root: &RootModule, plan: &UpgradePlan) {
        self.done.push(Root::Locked(LockedRoot::planned(root, plan)));
    }

    /// Adds a root module that failed.
    pub(crate) fn add_failed(&mut self, path: &Path, errors: &Diagnostics, invocation: &Invocation) {
        self.failed.push(Root::Failed(FailedRoot::new(path, errors, invocation)));
        errors.iter().for_each(|error| self.errors.add(error));
    }

    /// Adds what the user should know.
    pub(crate) fn add_warning(&mut self, warning: &Diagnostic) {
        self.warnings.add(warning);
    }

    /// The result of `lock` or `upgrade`: what was done, and what stopped it elsewhere.
    pub(crate) fn text(self, command: CommandName, invocation: &Invocation) -> String {
        let roots = self.done.into_iter().chain(self.failed);
        Output::new(command, roots, self.warnings.as_slice(), self.errors.as_slice(), invocation).print(invocation)
    }
}

/// The result of `verify`: the roots that were verified, and those of many that could not be.
pub(crate) fn verify(Found { roots, findings, errors }: Found<'_>, invocation: &Invocation) -> String {
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
    let output = Output::new(CommandName::Verify, roots.chain(failed), &[], errors, invocation);
    Output { findings, ..output }.print(invocation)
}

/// The result of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn diff(files: &[FileDiff], mut warnings: Vec<Diagnostic>, invocation: &Invocation) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    let roots = files.iter().map(|file| Root::Compared(ComparedRoot::new(file)));
    Output::new(CommandName::Diff, roots, &warnings, &[], invocation).print(invocation)
}

fn replaced_hashes(file: &FileDiff) -> impl Iterator<Item = Diagnostic> {
    file.rows().filter_map(|row| {
        let message = format!("{}: {} {}: {}", file.path.display(), row.name, row.version.new?, row.replaced?);
        Some(Diagnostic::warning(Code::HashesReplaced, message))
    })
}

/// The result of `tree`.
pub(crate) fn tree(
    root: &RootModule,
    trees: &[ProviderTree<'_>],
    warnings: &[Diagnostic],
    invocation: &Invocation,
) -> String {
    let root = Root::Tree(TreeRoot::new(root, trees));
    Output::new(CommandName::Tree, [root], warnings, &[], invocation).print(invocation)
}

/// The result of `merge`: conflicts are among its errors.
pub(crate) fn merge(warnings: &[Diagnostic], errors: &[Diagnostic], invocation: &Invocation) -> String {
    Output::new(CommandName::Merge, [], warnings, errors, invocation).print(invocation)
}

/// The result of `login` and `logout`: where the token of a host is, or was, without the token.
pub(crate) fn login(
    command: CommandName,
    host: &Hostname,
    origin: Option<&CredentialsOrigin>,
    warnings: &[Diagnostic],
    invocation: &Invocation,
) -> String {
    let credentials = Some(Credentials::new(host, origin));
    Output { credentials, ..Output::new(command, [], warnings, &[], invocation) }.print(invocation)
}

/// The pages of codes, for `explain`.
pub(crate) fn explain(codes: &[Code], invocation: &Invocation) -> String {
    let explanations = codes.iter().map(|code| Explanation::new(*code)).collect();
    Output { explanations, ..Output::new(CommandName::Explain, [], &[], &[], invocation) }.print(invocation)
}

/// The result of `setup git`.
pub(crate) fn git_setup(setup: GitSetup, invocation: &Invocation) -> String {
    Output { git: Some(setup), ..Output::new(CommandName::Setup, [], &[], &[], invocation) }.print(invocation)
}

/// The result of `cache`.
pub(crate) fn cache(cache: Cache, invocation: &Invocation) -> String {
    Output { cache: Some(cache), ..Output::new(CommandName::Cache, [], &[], &[], invocation) }.print(invocation)
}

/// The result of `mirror`.
pub(crate) fn mirror(
    mirror: Mirror,
    warnings: &[Diagnostic],
    errors: &[Diagnostic],
    invocation: &Invocation,
) -> String {
    Output { mirror: Some(mirror), ..Output::new(CommandName::Mirror, [], warnings, errors, invocation) }
        .print(invocation)
}

/// The result of `cache push`.
pub(crate) fn publish(published: PublishedFacts, errors: &[Diagnostic], invocation: &Invocation) -> String {
    Output { published: Some(published), ..Output::new(CommandName::Cache, [], &[], errors, invocation) }
        .print(invocation)
}

/// The result of `cache keygen`.
pub(crate) fn keygen(file: SigningKeyFile, invocation: &Invocation) -> String {
    Output { signing_key: Some(file), ..Output::new(CommandName::Cache, [], &[], &[], invocation) }.print(invocation)
}

/// The result of `completions`.
pub(crate) fn completions(completions: Completions, invocation: &Invocation) -> String {
    Output { completions: Some(completions), ..Output::new(CommandName::Completions, [], &[], &[], invocation) }
        .print(invocation)
}

/// The result of a command that could not do what it was asked for.
pub(crate) fn failure(command: CommandName, errors: &[Diagnostic], invocation: &Invocation) -> String {
    Output::new(command, [], &[], errors, invocation).print(invocation)
}

impl Output {
    fn new(
        command: CommandName,
        roots: impl IntoIterator<Item = Root>,
        warnings: &[Diagnostic],
        errors: &[Diagnostic],
        invocation: &Invocation,
    ) -> Self {
        Self {
            schema: SCHEMA,
            command,
            credentials: None,
            explanations: Vec::new(),
            git: None,
            cache: None,
            mirror: None,
            published: None,
            signing_key: None,
            completions: None,
            roots: roots.into_iter().collect(),
            findings: Vec::new(),
            warnings: Notice::all(warnings, invocation),
            errors: Notice::all(errors, invocation),
        }
    }

    fn print(&self, invocation: &Invocation) -> String {
        let mut object = json!(self);
        clean(&mut object, &invocation.secrets);
        format!("{object}\n")
    }
}

/// The schema of what every command prints.
#[cfg(test)]
pub(crate) fn schema() -> schemars::Schema {
    /// Puts the lines of a comment after one another.
    fn join_lines(schema: &mut schemars::Schema) {
        if let Some(serde_json::Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
    }
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(schemars::transform::RecursiveTransform(join_lines));
    settings.into_generator().into_root_schema_for::<Output>()
}
