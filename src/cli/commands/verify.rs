//! `verify`: the check that CI and pre-commit run.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum as _, ValueHint};
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use provlock::diagnostic::{Code, Diagnostic, Result, Severity};
use provlock::project::verify::{CODES, Tracking};
use provlock::project::{
    Baseline, OnlineOptions, Repositories, RootSelection, Tracked, VerifiedRoot, VerifyOptions, verify_all,
};
use provlock::settings::{Denied, Levels};
use provlock::system::files;
use provlock::system::{Boundary, Environment};

use super::messages::{Said, no_root_module, show_origin, show_shared_facts};
use super::outcome::Outcome;
use super::rules::Rules;
use crate::cli::args::{
    ARGUMENTS, FormatArgs, GlobalArgs, ModuleArgs, OnlineArgs, OutputFormat, PlatformArgs, candidates,
};
use crate::cli::environment::environment;
use crate::cli::git::Repository;
use crate::cli::render::causes::{Many, by_cause, without_repetition};
use crate::cli::render::style::{TextStyle, count};
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
    /// Treat as errors; `warnings` means all
    #[arg(long, value_name = "CODE", value_parser = str::parse::<Denied>, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    deny: Vec<Denied>,
    /// Treat as warnings
    #[arg(long, value_name = "CODE", value_parser = Code::finding, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    warn: Vec<Code>,
    /// Suppress
    #[arg(long, value_name = "CODE", value_parser = Code::finding, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(codes))]
    allow: Vec<Code>,
    /// Suppress the findings that FILE lists
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    baseline: Option<PathBuf>,
    /// Write all findings to the file of --baseline
    #[arg(long, requires = "baseline", conflicts_with = "base", help_heading = "Output", hide_short_help = true)]
    write_baseline: bool,
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
    /// With --online, believe hashes that a key in `trusted-keys` of provlock.toml has signed
    #[arg(long, requires = "online", help_heading = "Network", hide_short_help = true)]
    trust_shared: bool,
    /// Compare the packages in .terraform/providers with the lock file
    #[arg(long)]
    installed: bool,
    /// Also check the changes since REV
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Ignore what only test files require
    #[arg(long, hide_short_help = true)]
    no_tests: bool,
    /// Also read what a link, or a path in the configuration, leads to outside of the repository
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    modules: ModuleArgs,
}

fn codes() -> Vec<CompletionCandidate> {
    candidates::codes(CODES)
}

pub(crate) fn run(arguments: &VerifyArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let environment = environment(&ui.invocation.secrets);
    let repository = Repository::around(&environment.current_directory);
    let (base, baseline) = (arguments.what.base.as_deref(), arguments.baseline.as_deref());
    let rules = Rules::read(base, baseline, arguments.write_baseline, global, &environment, repository.as_ref())?;
    let levels = arguments.levels();
    let connections = arguments.source.connections(&environment, None, ui.request_observer())?;
    let connections = connections.without_remembered_hashes();
    if arguments.what.online {
        show_origin(&arguments.source.origin(), &environment, ui);
    }
    let downloads = ui.progress(None);
    let progress = |package: &_, progress| downloads.note(package, progress);
    let boundary = if arguments.what.allow_outside { Boundary::default() } else { ui.invocation.boundary().clone() };
    let modules = arguments.what.modules.modules(&connections, &environment, !arguments.what.online).within(boundary);
    let selection = RootSelection {
        paths: &arguments.what.paths,
        recursive: arguments.what.recursive,
        dialect: global.dialect,
        environment: &environment,
        modules: &modules,
        repositories: &Repositories::default(),
        change: rules.change.as_ref(),
        settings: rules.settings.as_ref(),
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
            levels: &levels,
            baseline: rules.baseline.as_ref(),
            online: arguments.what.online.then_some(OnlineOptions {
                connections: &connections,
                trust_shared: arguments.what.trust_shared,
                progress: &progress,
            }),
        },
    )?;
    let mut said = Said::default();
    said.show_modules(&modules, ui);
    said.show_configurations(&connections, ui);
    show_shared_facts(&connections, ui);
    ui.warn(repository.as_ref().and_then(Repository::warning).as_slice());
    if arguments.what.recursive && results.is_empty() {
        ui.status(&no_root_module(&arguments.what.paths));
    }
    let WhatArgs { paths, recursive, .. } = &arguments.what;
    let many = (*recursive || results.len() != 1).then_some(Many { paths, recursive: *recursive });
    let all = results.len();
    let (roots, failures) = separated(results);
    let report = Report {
        roots: &roots,
        failed: all - roots.len(),
        failures: &failures,
        errors: &without_repetition(failures.iter()),
        many,
        paths: repository_paths(&environment, repository.as_ref()),
        online: arguments.what.online,
        ui,
    };
    report.show();
    report.write(&arguments.report)?;
    if ui.format == OutputFormat::Github {
        report.append_summary(environment.path_variable("GITHUB_STEP_SUMMARY"))?;
    }
    arguments.write_baseline(&roots, &failures, ui)?;
    let found = roots.iter().flat_map(|root| &root.findings).any(|finding| finding.severity == Severity::Error);
    Ok(match (failures.is_empty(), found) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Found,
        (true, false) => Outcome::Done,
    })
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
    /// The paths that are named.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.what.paths
    }

    fn levels(&self) -> Levels {
        Levels { deny: self.deny.clone(), warn: self.warn.clone(), allow: self.allow.clone() }
    }

    /// Writes the findings that were put off to the file of `--baseline`. Where something could not be checked, they are not all.
    fn write_baseline(&self, roots: &[VerifiedRoot], errors: &[Diagnostic], ui: &Ui) -> anyhow::Result<()> {
        let Some(path) = self.baseline.as_ref().filter(|_| self.write_baseline) else { return Ok(()) };
        if !errors.is_empty() {
            ui.status(&format!("{} was not written, since not everything could be checked", path.display()));
            return Ok(());
        }
        let findings: Vec<_> = roots.iter().flat_map(|root| root.suppressed.baseline.clone()).collect();
        let number = count(findings.len(), "finding");
        let old = path.exists().then(|| Baseline::read(path)).transpose()?;
        let text = Baseline::text(findings);
        if old.as_deref() != Some(text.as_bytes()) {
            files::write(path, old.as_deref(), text.as_bytes())?;
        }
        ui.status(&format!("Wrote {number} to {}", path.display()));
        Ok(())
    }
}

/// The root modules that were checked, and what could not be checked.
fn separated(results: Vec<Result<VerifiedRoot>>) -> (Vec<VerifiedRoot>, Vec<Diagnostic>) {
    let (mut roots, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(root) => {
                errors.extend(root.errors.iter().cloned());
                roots.push(root);
            }
            Err(failure) => errors.extend(failure),
        }
    }
    (roots, errors)
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
    /// Whether what is published was asked for.
    online: bool,
    ui: &'a Ui,
}

impl Report<'_> {
    fn show(&self) {
        let Self { roots, failed, failures, many, ui, .. } = self;
        for root in *roots {
            ui.verbose(&text::checked(root));
        }
        let failures = failures.iter().map(|failure| (failure.root(), failure));
        let failures = by_cause(failures, *many, ui.stderr_style.verbose);
        ui.error(&failures);
        let has_findings = roots.iter().any(|root| !root.findings.is_empty());
        if ui.format == OutputFormat::Text && !failures.is_empty() && has_findings {
            ui.status("");
        }
        ui.print(&self.rendered(ui.format, ui.stdout_style));
        let summary = if many.is_some() { text::summary_of_many(roots, *failed) } else { text::summary(roots) };
        let lines = [summary, text::suppressed(roots), self.all_is_well()];
        lines.iter().flatten().for_each(|line| ui.status(line));
    }

    /// What was checked, where nothing is wrong and somebody is there to read it.
    fn all_is_well(&self) -> Option<String> {
        let Self { roots, failures, ui, .. } = self;
        let is_well = failures.is_empty() && roots.iter().all(|root| root.findings.is_empty());
        (is_well && ui.format == OutputFormat::Text && ui.is_watched()).then(|| text::well(roots, self.online))?
    }

    /// Adds the findings by cause to the summary of a job, if the runner has a file for it.
    fn append_summary(&self, path: Option<PathBuf>) -> anyhow::Result<()> {
        let Some(path) = path else { return Ok(()) };
        let causes = text::causes(self.roots, Severity::Warning, self.many, false);
        let failures = self.failures.iter().map(|failure| (failure.root(), failure));
        let failures = by_cause(failures, self.many, false);
        let summary = markdown::findings(failures.iter().chain(&causes), &self.paths, &self.ui.invocation);
        let summary = self.ui.safe(&summary, OutputFormat::Markdown);
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(summary.as_bytes()));
        written.with_context(|| format!("cannot write the job summary {}", path.display()))
    }

    fn write(&self, files: &[ReportFile]) -> anyhow::Result<()> {
        for ReportFile { format, path } in files {
            let style = TextStyle { color: false, hyperlinks: false, ..self.ui.stdout_style };
            let attempt = || format!("cannot write the report {}", path.display());
            let text = self.ui.safe(&self.rendered(*format, style), *format);
            std::fs::write(path, text).with_context(attempt)?;
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
