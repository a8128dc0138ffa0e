//! `sbom`: a bill of materials of locked providers and modules.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::Args;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::system::{Environment, canonicalize, repository};

use crate::cli::args::{CacheArgs, ModuleArgs, NoRequestsArgs, OutputFormat, RootArgs};
use crate::cli::environment::source_date;
use crate::cli::git;
use crate::cli::render::causes::{Many, by_cause};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::repository_paths::RepositoryPaths;
use crate::cli::render::sbom::snapshot::{Submission, snapshot};
use crate::cli::render::sbom::{Bill, cyclonedx, spdx};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start;
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

pub(crate) fn run(arguments: &SbomArgs, ui: &Ui) -> Result<Outcome> {
    let SbomArgs {
        roots,
        modules,
        cache,
        format,
        name,
        ..
    } = arguments;
    let selection = roots.selection(true);
    let session = start(ui, &selection.paths, |environment, options| {
        options.offline = true;
        cache.add_to(environment, options);
        modules.add_to(environment, options, true);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let (materials, errors) = session.bill_of_materials(&roots);
    let environment = session.environment().clone();
    drop(session);
    // An incomplete snapshot would remove root modules from the dependency graph.
    if materials.is_empty() || *format == OutputFormat::GithubSnapshot {
        errors.clone().into_result(())?;
    }
    if materials.is_empty() {
        return Err(Diagnostic::error(
            Code::NoConfiguration,
            no_root_module(&roots, &ui.invocation),
        )
        .into());
    }
    let warnings = materials.iter().flat_map(|root| {
        root.warnings
            .iter()
            .map(|warning| (Some(&*root.path), warning))
    });
    ui.warn(&by_cause(
        warnings,
        Many::of(&roots, &selection, &ui.invocation),
        ui.stderr_style.verbose,
    ));
    let current_directory = canonicalize(&environment.current_directory)
        .context("cannot open the current directory")?;
    let top = repository::top(&current_directory);
    let directory = top.as_deref().unwrap_or(&current_directory);
    let name = name
        .clone()
        .or_else(|| Some(directory.file_name()?.to_string_lossy().into_owned()));
    let repository_paths = RepositoryPaths {
        current_directory: &current_directory,
        top: top.as_deref(),
    };
    let name = name.as_deref().unwrap_or("project");
    let mut bill = Bill::new(
        name,
        source_date(&environment)?,
        &materials,
        &repository_paths,
        &environment.secrets,
    );
    bill.lacks_roots = !errors.is_empty();
    ui.print(&match format {
        OutputFormat::Spdx => spdx::document(&bill),
        OutputFormat::GithubSnapshot => snapshot(&bill, &submission(directory, &environment)?),
        _ => cyclonedx::document(&bill),
    });
    let errors_of_roots = errors.iter().map(|error| (error.root(), error));
    ui.error(&by_cause(
        errors_of_roots,
        Many::of(&roots, &selection, &ui.invocation),
        ui.stderr_style.verbose,
    ));
    if !errors.is_empty() {
        ui.status("The document is incomplete: root modules with errors are missing");
    }
    Ok(Outcome::of(!errors.is_empty(), false))
}

/// Returns the commit and the job of the running workflow, or else the checked out commit.
fn submission(directory: &Path, environment: &Environment) -> Result<Submission> {
    let variable = |name| environment.variable(name).map(str::to_owned);
    let (sha, reference) = match variable("GITHUB_SHA").zip(variable("GITHUB_REF")) {
        Some((sha, reference)) => (Some(sha), Some(reference)),
        None => (
            git::resolve(directory, "HEAD^{commit}")?,
            git::branch(directory)?,
        ),
    };
    let Some((sha, reference)) = sha.zip(reference) else {
        let error = Diagnostic::error(
            Code::InvalidArgument,
            "a snapshot is of a commit on a branch, and none is checked out",
        );
        return Err(error
            .help("check out a branch, or set GITHUB_SHA and GITHUB_REF")
            .into());
    };
    let workflow = variable("GITHUB_WORKFLOW").zip(variable("GITHUB_JOB"));
    Ok(Submission {
        sha,
        reference,
        job: variable("GITHUB_RUN_ID").unwrap_or_else(|| "local".to_owned()),
        correlator: workflow.map_or_else(
            || "provlock".to_owned(),
            |(workflow, job)| format!("{workflow} {job}"),
        ),
    })
}
