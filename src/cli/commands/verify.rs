//! `verify`: the check that CI and pre-commit run.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum as _, ValueHint};
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use provlock::cli_config::Environment;
use provlock::diagnostic::{Code, Diagnostic, Result, Severity};
use provlock::ops::verify::{CODES, Tracking};
use provlock::workspace::{
    Change, OnlineOptions, Repositories, RootSelection, Tracked, VerifiedRoot, VerifyOptions, verify_all,
};

use super::messages::{no_root_module, show_configurations, show_modules, without_repetition};
use super::outcome::Outcome;
use crate::cli::args::{
    ARGUMENTS, FormatArgs, GlobalArgs, ModuleArgs, OnlineArgs, OutputFormat, PlatformArgs, candidates,
};
use crate::cli::environment::environment;
use crate::cli::git::Repository;
use crate::cli::render::causes::{Many, by_cause};
use crate::cli::render::style::TextStyle;
use crate::cli::render::verify::{self as text, RepositoryPaths};
use crate::cli::render::{github, json, markdown, sarif};
use crate::cli::ui::Ui;

const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Github, OutputFormat::Sarif];

const EXAMPLES: &str = "Examples:
  provlock verify                           # offline; silent when all is well
  provlock verify -r --online               # all root modules below, compared with the registries
  provlock verify -r --base origin/main     # in CI: also check what a branch changes
  provlock verify --allow unsorted-hashes   # without this finding";

/// Check the lock file against its configuration, the policy and what is published
///
/// Finds what makes `init -lockfile=readonly` fail, what cannot be trusted and what the policy in provlock.toml forbids.
/// Each finding has a code, a place and the command that fixes it; `provlock explain CODE` says more about it.
///
/// Makes no network requests unless --online is given, and writes nothing.
#[derive(Args)]
#[command(before_help = "Example: provlock verify --recursive --online", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 no errors, 1 errors found, 2 failed")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    source: OnlineArgs,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Also write the result to a file, such as sarif=provlock.sarif
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::parse)]
    #[arg(help_heading = "Output", hide_short_help = true)]
    report: Vec<ReportFile>,
    /// Treat as an error
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    deny: Vec<Code>,
    /// Treat as a warning
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    warn: Vec<Code>,
    /// Suppress
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    allow: Vec<Code>,
}

/// A file that the result is written to besides stdout.
#[derive(Clone)]
struct ReportFile {
    format: OutputFormat,
    path: PathBuf,
}

impl ReportFile {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let usage = || "write it as FORMAT=FILE, where FORMAT is text, json, github or sarif".to_owned();
        let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(usage)?;
        let format = OutputFormat::from_str(format, false).ok().filter(|format| FORMATS.contains(format));
        Ok(Self { format: format.ok_or_else(usage)?, path: path.into() })
    }
}

/// Here it is no use to fall back on the current platform.
const PLATFORMS_HELP: &str = "Platforms that must be covered, or `all` [default: platforms of provlock.toml]";

/// What is to be checked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "Selection")]
#[command(mut_arg("platforms", |platforms| platforms.help(PLATFORMS_HELP)))]
struct WhatArgs {
    /// Root modules, or files in them [default: .]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = ARGUMENTS)]
    paths: Vec<PathBuf>,
    /// Check every root module below
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    /// Ask the registries whether every hash was published
    #[arg(long, help_heading = "Network")]
    online: bool,
    /// Compare the packages in .terraform/providers with the lock file
    #[arg(long)]
    installed: bool,
    /// Also check the changes since REV
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Ignore what only test files require
    #[arg(long, hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    modules: ModuleArgs,
}

fn codes() -> Vec<CompletionCandidate> {
    candidates::codes(CODES)
}

fn code(text: &str) -> std::result::Result<Code, String> {
    let code = CODES.iter().find(|code| code.as_str() == text);
    code.copied().ok_or_else(|| "unknown finding; provlock explain lists all codes".to_owned())
}

pub(crate) fn run(arguments: &VerifyArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let environment = environment();
    let repository = Repository::around(&environment.current_directory);
    let change = change(arguments.what.base.as_deref(), repository.as_ref())?;
    let connections = arguments.source.connections(&environment, None)?.without_remembered_hashes();
    let downloads = ui.progress(None);
    let progress = |package: &_, progress| downloads.note(package, progress);
    let modules = arguments.what.modules.modules(&connections, &environment, !arguments.what.online);
    let selection = RootSelection {
        paths: &arguments.what.paths,
        recursive: arguments.what.recursive,
        dialect: global.dialect,
        environment: &environment,
        modules: &modules,
        repositories: &Repositories::default(),
        change: change.as_ref(),
    };
    let results = verify_all(
        &selection,
        &VerifyOptions {
            platforms: arguments.what.platforms.named(),
            ignore_tests: arguments.what.no_tests,
            check_installed: arguments.what.installed,
            cache: arguments.source.cache(&environment),
            tracked: &|root| tracked(root, repository.as_ref()),
            ignore_rules: &|roots| {
                repository.as_ref().map_or_else(Vec::new, |repository| repository.ignore_rules(roots))
            },
            online: arguments.what.online.then_some(OnlineOptions { connections: &connections, progress: &progress }),
        },
    )?;
    show_modules(&modules, ui);
    show_configurations(&connections, ui);
    ui.warn(repository.as_ref().and_then(Repository::warning).as_slice());
    if arguments.what.recursive && results.is_empty() {
        ui.status(&no_root_module(&arguments.what.paths));
    }
    let WhatArgs { paths, recursive, .. } = &arguments.what;
    let many = (*recursive || results.len() != 1).then_some(Many { paths, recursive: *recursive });
    let all = results.len();
    let (roots, failures) = arguments.levelled(results);
    let report = Report {
        roots: &roots,
        failed: all - roots.len(),
        failures: &failures,
        errors: &without_repetition(failures.iter()),
        many,
        paths: repository_paths(&environment, repository.as_ref()),
        ui,
    };
    report.show();
    report.write(&arguments.report)?;
    if ui.format == OutputFormat::Github {
        report.append_summary(environment.variable("GITHUB_STEP_SUMMARY"))?;
    }
    let found = roots.iter().flat_map(|root| &root.findings).any(|finding| finding.severity == Severity::Error);
    Ok(match (failures.is_empty(), found) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Found,
        (true, false) => Outcome::Done,
    })
}

/// The change since the commit that `--base` names.
fn change(revision: Option<&str>, repository: Option<&Repository>) -> anyhow::Result<Option<Change>> {
    let Some(revision) = revision else { return Ok(None) };
    let unknown = || {
        let error = Diagnostic::error(Code::InvalidArgument, format!("--base {revision}: unknown git commit"));
        error.help("fetch it first; a shallow clone has only the last commit")
    };
    let repository = repository.ok_or_else(unknown)?;
    let commit = repository.commit(revision)?.ok_or_else(unknown)?;
    repository.change_since(&commit).map(Some)
}

/// What git knows of the files of a root module.
fn tracked(root: &Path, repository: Option<&Repository>) -> Tracked {
    let Some(repository) = repository else { return Tracked { lock_file: Tracking::Unknown, data_files: Vec::new() } };
    Tracked { lock_file: repository.tracking(root), data_files: repository.data_files(root) }
}

fn repository_paths<'a>(environment: &'a Environment, repository: Option<&'a Repository>) -> RepositoryPaths<'a> {
    RepositoryPaths { current_directory: &environment.current_directory, top: repository.map(Repository::top) }
}

impl VerifyArgs {
    /// The root modules that were checked, with findings at the levels of the flags, and what could not be checked.
    fn levelled(&self, results: Vec<Result<VerifiedRoot>>) -> (Vec<VerifiedRoot>, Vec<Diagnostic>) {
        let (mut roots, mut errors) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(mut root) => {
                    root.findings = self.with_levels(root.findings);
                    errors.extend(root.errors.iter().cloned());
                    roots.push(root);
                }
                Err(failure) => errors.extend(failure),
            }
        }
        (roots, errors)
    }

    /// The findings at the levels that the flags give them; `--deny` wins over `--warn`, and that over `--allow`.
    fn with_levels(&self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let level = |mut finding: Diagnostic| {
            if self.deny.contains(&finding.code) {
                finding.severity = Severity::Error;
            } else if self.warn.contains(&finding.code) {
                finding.severity = Severity::Warning;
            } else if self.allow.contains(&finding.code) {
                return None;
            }
            Some(finding)
        };
        findings.into_iter().filter_map(level).collect()
    }
}

/// What was found, and what could not be checked.
struct Report<'a> {
    roots: &'a [VerifiedRoot],
    /// How many root modules could not be checked at all.
    failed: usize,
    /// Why something could not be checked.
    failures: &'a [Diagnostic],
    /// The same, each thing once.
    errors: &'a [Diagnostic],
    /// How the root modules were selected, if there may be several.
    many: Option<Many<'a>>,
    paths: RepositoryPaths<'a>,
    ui: &'a Ui,
}

impl Report<'_> {
    fn show(&self) {
        let Self { roots, failed, failures, many, ui, .. } = self;
        for root in *roots {
            ui.verbose(&text::checked(root));
        }
        let failures = failures.iter().map(|failure| (failure.root.as_deref(), failure));
        let failures = by_cause(failures, *many, ui.stderr_style.verbose);
        ui.error(&failures);
        let has_findings = roots.iter().any(|root| !root.findings.is_empty());
        if ui.format == OutputFormat::Text && !failures.is_empty() && has_findings {
            ui.status("");
        }
        ui.print(&self.rendered(ui.format, ui.stdout_style));
        let summary = if many.is_some() { text::summary_of_many(roots, *failed) } else { text::summary(roots) };
        if let Some(summary) = summary {
            ui.status(&summary);
        }
    }

    /// Adds the findings by cause to the summary of a job, if the runner has a file for it.
    fn append_summary(&self, path: Option<&str>) -> anyhow::Result<()> {
        let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(()) };
        let causes = text::causes(self.roots, Severity::Warning, self.many, false);
        let failures = self.failures.iter().map(|failure| (failure.root.as_deref(), failure));
        let failures = by_cause(failures, self.many, false);
        let summary = markdown::findings(failures.iter().chain(&causes), &self.paths);
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(summary.as_bytes()));
        written.with_context(|| format!("cannot write the job summary {path}"))
    }

    fn write(&self, files: &[ReportFile]) -> anyhow::Result<()> {
        for ReportFile { format, path } in files {
            let style = TextStyle { color: false, ..self.ui.stdout_style };
            let attempt = || format!("cannot write the report {}", path.display());
            std::fs::write(path, self.rendered(*format, style)).with_context(attempt)?;
        }
        Ok(())
    }

    fn rendered(&self, format: OutputFormat, style: TextStyle) -> String {
        let Self { roots, errors, many, paths, ui, .. } = self;
        match format {
            OutputFormat::Json => json::verify(roots, errors, &ui.invocation),
            OutputFormat::Github => github::annotations(roots, errors, paths, &ui.invocation),
            OutputFormat::Sarif => sarif::log(roots, errors, paths, &ui.invocation),
            _ => text::findings(roots, ui.least_severity(), *many, &ui.invocation, style),
        }
    }
}
