//! `sbom`: a bill of materials of locked providers and modules.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Args;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::system::{Environment, canonicalize, repository};

use crate::cli::args::{CacheArgs, ModuleArgs, NoRequestsArgs, OutputFormat, RootArgs};
use crate::cli::environment::source_date;
use crate::cli::git;
use crate::cli::render::causes::{SeveralRoots, with_roots};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::repository_paths::RepositoryPaths;
use crate::cli::render::sbom::snapshot::{Submission, snapshot};
use crate::cli::render::sbom::{Bill, cyclonedx, spdx};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

const FORMATS: &[OutputFormat] = &[
    OutputFormat::Cyclonedx,
    OutputFormat::Spdx,
    OutputFormat::GithubSnapshot,
];

const EXAMPLES: &str = "Examples:
  # CycloneDX, of the root module here
  provlock sbom > bom.json
  # SPDX, of all root modules below
  provlock sbom -r --format spdx > sbom.json
  # For GitHub's dependency graph
  provlock sbom -r --format github-snapshot";

/// Print a bill of materials of the locked providers and modules
///
/// Lists the providers and modules that lock files record, with their hashes and dependencies.
/// Packages that several root modules lock are listed once.
///
/// Makes no network requests, and writes nothing. With --no-cache and a time in
/// `SOURCE_DATE_EPOCH`, the same lock files give the same document; the cache may contain signing
/// keys.
#[derive(Args)]
#[command(before_help = "Example: provlock sbom --recursive > bom.json", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done, 2 failed")]
pub(crate) struct SbomArgs {
    #[command(flatten)]
    roots: RootArgs,
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    _offline: NoRequestsArgs,
    /// Output format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "cyclonedx",
        help_heading = "Output",
        conflicts_with = "json"
    )]
    #[arg(value_parser = OutputFormat::one_of(FORMATS))]
    format: OutputFormat,
    /// Name of the project [default: the directory of the repository]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    name: Option<String>,
}

/// Prints a bill of materials of the selected root modules, without the root modules that fail.
pub(crate) fn run(arguments: &SbomArgs, ui: &Ui) -> Result<Outcome> {
    let selection = arguments.roots.selection_with_modules();
    let session = start_session(ui, &selection.paths, |environment, options| {
        // A bill of materials lists what is locked, for which no request is needed.
        options.offline = true;
        arguments.cache.add_to(environment, options);
        let is_offline = options.offline;
        arguments.modules.add_to(environment, options, is_offline);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let (materials, errors) = session.bill_of_materials(&roots);
    let environment = session.environment().clone();
    // This clears the progress from the terminal.
    drop(session);

    // An incomplete snapshot would remove root modules from the dependency graph.
    let format = arguments.format;
    if materials.is_empty() || format == OutputFormat::GithubSnapshot {
        errors.clone().into_result(())?;
    }
    if materials.is_empty() {
        return Err(Diagnostic::error(
            Code::NoConfiguration,
            no_root_module(&roots, &ui.invocation),
        )
        .into());
    }
    let several = SeveralRoots::unless_single(&roots, &selection, &ui.invocation);
    let mut warnings = Vec::new();
    for root in &materials {
        for warning in &root.warnings {
            warnings.push((Some(&*root.path), warning));
        }
    }
    ui.warn_by_cause(warnings, several);

    let current_directory = canonicalize(&environment.current_directory)
        .context("cannot open the current directory")?;
    let top = repository::top(&current_directory);
    let directory = top.as_deref().unwrap_or(&current_directory);
    let repository_paths = RepositoryPaths {
        current_directory: &current_directory,
        top: top.as_deref(),
    };
    let mut project = "project".to_owned();
    if let Some(name) = &arguments.name {
        project.clone_from(name);
    } else if let Some(name) = directory.file_name() {
        project = name.to_string_lossy().into_owned();
    }
    let mut bill = Bill::new(
        &project,
        source_date(&environment)?,
        &materials,
        &repository_paths,
        &environment.secrets,
    );
    bill.has_failed_roots = !errors.is_empty();
    ui.print(&match format {
        OutputFormat::Spdx => spdx::document(&bill),
        OutputFormat::GithubSnapshot => snapshot(&bill, &find_submission(directory, &environment)?),
        _ => cyclonedx::document(&bill),
    });
    ui.error_by_cause(with_roots(&errors), several);
    if !errors.is_empty() {
        ui.status("The document is incomplete: root modules with errors are missing");
    }
    Ok(Outcome::failed_if(!errors.is_empty()))
}

/// Returns the commit and the job of the running workflow, or else the checked out commit.
fn find_submission(directory: &Path, environment: &Environment) -> Result<Submission> {
    let Some((sha, reference)) = find_commit_and_reference(directory, environment)? else {
        let error = Diagnostic::error(
            Code::InvalidArgument,
            "a snapshot is of a commit on a branch, and none is checked out",
        );
        return Err(error
            .help("check out a branch, or set GITHUB_SHA and GITHUB_REF")
            .into());
    };
    let run_id = environment.variable("GITHUB_RUN_ID").unwrap_or("local");
    // A snapshot replaces the earlier one with the same correlator.
    let mut correlator = "provlock".to_owned();
    if let Some(workflow) = environment.variable("GITHUB_WORKFLOW")
        && let Some(job) = environment.variable("GITHUB_JOB")
    {
        correlator = format!("{workflow} {job}");
    }
    Ok(Submission {
        sha,
        reference,
        run_id: run_id.to_owned(),
        correlator,
    })
}

/// Returns the commit and the branch of the running workflow, or else the checked out ones; `None`
/// without a checked out branch.
fn find_commit_and_reference(
    directory: &Path,
    environment: &Environment,
) -> Result<Option<(String, String)>> {
    // A workflow for a pull request has no branch checked out.
    if let Some(sha) = environment.variable("GITHUB_SHA")
        && let Some(reference) = environment.variable("GITHUB_REF")
    {
        return Ok(Some((sha.to_owned(), reference.to_owned())));
    }
    let sha = git::resolve(directory, "HEAD^{commit}")?;
    let branch = git::current_branch(directory)?;
    match (sha, branch) {
        (Some(sha), Some(branch)) => Ok(Some((sha, branch))),
        _ => Ok(None),
    }
}
