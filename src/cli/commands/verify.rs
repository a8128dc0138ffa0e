//! `verify`: the check that CI and pre-commit run.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};
use jiff::Timestamp;
use provlock::diagnostic::{Diagnostic, Severity};
use provlock::project::{OnlineOptions, SessionOptions, VerifyOptions, VersionControl};
use provlock::system::{Boundary, Environment, parallel};

use crate::cli::args::{
    DateArgs, FormatArgs, ModuleArgs, OnlineArgs, OutputFormat, PlatformArgs, RootArgs,
    SeverityArgs,
};
use crate::cli::environment::source_date;
use crate::cli::git::{Repositories, Repository};
use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics, one_per_cause, with_roots};
use crate::cli::render::coverage::{self, no_root_module};
use crate::cli::render::json::ProviderUse;
use crate::cli::render::repository_paths::RepositoryPaths;
use crate::cli::render::run_facts::RunFacts;
use crate::cli::render::style::TextStyle;
use crate::cli::render::verify::{self as text, Verification};
use crate::cli::render::versions::group_by_provider;
use crate::cli::render::{github, gitlab, html, json, junit, markdown, sarif};
use crate::cli::run::base::set_base;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::report_paths;
use crate::cli::run::session::{show_package_origin, start_session};
use crate::cli::ui::Ui;

const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Github,
    OutputFormat::Sarif,
    OutputFormat::Gitlab,
    OutputFormat::Junit,
    OutputFormat::Html,
];

const EXAMPLES: &str = "Examples:
  # Offline
  provlock verify
  # All root modules below, and the registries
  provlock verify -r --online
  # Also check what a branch changes
  provlock verify -r --base origin/main
  # Without this finding
  provlock verify --allow unsorted-hashes";

/// Help of the flag in commands that record nothing.
pub(super) const TRUST_REGISTRY: &str = "Trust the hashes that a registry reports for its packages, once they match the signed checksums";

/// Check the lock file against its configuration, the policy and the registries
///
/// Reports everything that makes `init -lockfile=readonly` fail, that cannot be trusted, or that
/// the policy in provlock.toml forbids. Each finding has a code, a position and the command that
/// fixes it; `provlock explain CODE` explains it.
///
/// Makes no network requests without --online, and writes nothing.
#[derive(Args)]
#[command(before_help = "Example: provlock verify --recursive --online", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 no errors, 1 errors found, 2 failed")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
#[command(mut_arg("trust_registry", |flag| flag.help(TRUST_REGISTRY)))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    source: OnlineArgs,
    /// Ask the registries whether every hash was published
    #[arg(long, help_heading = "Network")]
    online: bool,
    /// Make no network requests; the default
    #[arg(long = "offline", conflicts_with = "online", help_heading = "Network")]
    #[arg(hide_short_help = true)]
    _offline: bool,
    /// With --online, trust hashes signed by a key in `trusted-keys` of provlock.toml
    #[arg(
        long,
        requires = "online",
        help_heading = "Network",
        hide_short_help = true
    )]
    trust_shared: bool,
    #[command(flatten)]
    dates: DateArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Also write the result to a file, such as sarif=provlock.sarif
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::parse)]
    #[arg(help_heading = "Output")]
    report: Vec<ReportFile>,
    #[command(flatten)]
    severity: SeverityArgs,
}

/// A file for the result, in addition to stdout.
#[derive(Clone)]
struct ReportFile {
    format: OutputFormat,
    path: PathBuf,
}

impl ReportFile {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        if let Some((format, path)) = text.split_once('=')
            && !path.is_empty()
            && let Ok(format) = OutputFormat::from_str(format, false)
            && FORMATS.contains(&format)
        {
            return Ok(Self {
                format,
                path: path.into(),
            });
        }
        Err("write it as FORMAT=FILE, where FORMAT is text, json, github, sarif, gitlab, junit or html".to_owned())
    }
}

/// The current platform is not the default here.
const PLATFORMS_HELP: &str =
    "Platforms that must be covered, or `all` [default: platforms of provlock.toml]";

/// Selects what is checked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "Selection")]
#[command(mut_arg("platforms", |platforms| platforms.help(PLATFORMS_HELP)))]
struct WhatArgs {
    #[command(flatten)]
    roots: RootArgs,
    #[command(flatten)]
    platforms: PlatformArgs,
    /// Compare the providers and modules in .terraform with the lock files
    #[arg(long)]
    installed: bool,
    /// Also check the changes since REV
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// With --base, omit findings that REV has, too
    #[arg(long, requires = "base")]
    new: bool,
    /// Ignore requirements of test files
    #[arg(long, hide_short_help = true)]
    no_tests: bool,
    /// Also read files outside of the repository, which a symbolic link or a path in the
    /// configuration leads to
    #[arg(long, hide_short_help = true)]
    allow_outside: bool,
    #[command(flatten)]
    modules: ModuleArgs,
}

/// Checks the selected root modules, with `--base` also the change since a revision, and reports
/// the findings on stdout and in files.
pub(crate) fn run(arguments: &VerifyArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let started = Timestamp::now();
    let selection = arguments.what.roots.selection();
    let current_directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let repositories = Repositories::new(&current_directory, ui.invocation.data_directory.clone());
    let repository = repositories.current();
    let options = arguments.options(&repositories);
    let mut base_tree = None;
    let mut base_commit = None;
    let session = start_session(ui, &selection.paths, |environment, session| {
        if let Some(revision) = &arguments.what.base {
            set_base(session, revision, environment, repository, ui)?;
        }
        arguments.add_to_session(session, environment, ui);
        if let Some(change) = &session.change {
            base_tree = Some(Arc::clone(&change.base));
            base_commit = Some(change.commit.clone());
        }
        let reports = arguments.report.iter().map(|report| report.path.as_path());
        report_paths::refuse_unsafe_paths(reports, &environment.current_directory)?;
        Ok(())
    })?;
    // git lists the tracked files, which are needed later, while the search runs.
    let ((), roots) = parallel::both(
        || repository.into_iter().for_each(Repository::list_tracked),
        || session.roots(&selection),
    );
    let roots = roots?;
    let mut verified = session.verify(&roots, &options)?;
    if arguments.what.new
        && let Some(base_tree) = &base_tree
        && let Some(repository) = repository
    {
        let at_base = repository.at_base(base_tree);
        session.remove_known(&mut verified, &selection, &arguments.options(&at_base))?;
    }
    verified.fold();
    let job_summary = session.environment().path_variable("GITHUB_STEP_SUMMARY");
    let facts = RunFacts {
        time: source_date(session.environment())?.unwrap_or(started),
        commit: arguments.commit_for_reports(repository, job_summary.is_some(), ui),
        base: base_commit,
        is_online: arguments.online,
        levels: arguments.severity.levels.clone(),
    };
    let versions = if arguments.writes(OutputFormat::Html, ui) {
        Some(session.locked_versions(&roots))
    } else {
        None
    };
    // This clears the progress from the terminal.
    drop(session);
    if roots.is_empty() && verified.coverage.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }
    let errors = distinct_diagnostics(verified.roots.iter().flat_map(|(_, result)| match result {
        Ok(root) => &root.errors[..],
        Err(errors) => errors,
    }));
    // The warning may be an error of each root module already.
    if let Some(warning) = repository.and_then(Repository::warning)
        && !errors.iter().any(|error| error.message == warning.message)
    {
        ui.warn(&[warning]);
    }
    let checked: Vec<_> = verified
        .roots
        .into_iter()
        .filter_map(|(_, result)| result.ok())
        .collect();
    let paths = RepositoryPaths {
        current_directory: &current_directory,
        top: repository.map(Repository::top),
    };
    let report = VerifyReport {
        verification: Verification {
            roots: &checked,
            findings: &verified.findings,
            errors: &errors,
            coverage: &verified.coverage,
            paths,
            run: &facts,
            invocation: &ui.invocation,
            at_top: &ui.invocation.started_at_top(&paths),
        },
        several: SeveralRoots::unless_single(&roots, &selection, &ui.invocation)
            .map(|several| several.with_needs_of(&checked)),
        uses: versions.as_ref().map(group_by_provider).unwrap_or_default(),
        unrecognised: if roots.is_empty() {
            Vec::new()
        } else {
            coverage::lines_about_unrecognised(&roots, ui.stderr_style.verbose)
        },
        ui,
    };
    report.show();
    report.write(&arguments.report)?;
    if ui.format == OutputFormat::Github {
        report.append_summary(job_summary)?;
    }
    Ok(Outcome::failed_if(!errors.is_empty()).or_found_if(report.has_error()))
}

impl VerifyArgs {
    /// The commit that is checked out. `None` if only text is written, which does not name it: git
    /// need not start once more.
    fn commit_for_reports(
        &self,
        repository: Option<&Repository>,
        writes_summary: bool,
        ui: &Ui,
    ) -> Option<String> {
        if ui.format == OutputFormat::Text && self.report.is_empty() && !writes_summary {
            return None;
        }
        repository?.head()
    }

    /// Whether stdout or a file has the result in a format.
    fn writes(&self, format: OutputFormat, ui: &Ui) -> bool {
        ui.format == format || self.report.iter().any(|file| file.format == format)
    }

    /// Returns the options for the library.
    fn options<'a>(&self, version_control: &'a dyn VersionControl) -> VerifyOptions<'a> {
        let WhatArgs {
            platforms,
            installed,
            no_tests,
            ..
        } = &self.what;
        let mut options = VerifyOptions::default();
        options.platforms = platforms.named();
        options.ignore_tests = *no_tests;
        options.check_installed = *installed;
        options.version_control = Some(version_control);
        options.levels = self.severity.levels.clone();
        options.online = self.online.then_some(OnlineOptions {
            trust_shared: self.trust_shared,
        });
        options
    }

    /// Adds these flags to the options of a session.
    fn add_to_session(&self, options: &mut SessionOptions, environment: &Environment, ui: &Ui) {
        let WhatArgs {
            modules,
            allow_outside,
            ..
        } = &self.what;
        self.source.add_to(environment, options);
        self.dates.add_to(options);
        options.sources.distrusts_cache = true;
        modules.add_to(environment, options, !self.online);
        options.boundary = if *allow_outside {
            Boundary::default()
        } else {
            ui.invocation.boundary().clone()
        };
        if self.online {
            show_package_origin(ui, environment, options);
        }
    }
}

/// Report of a run.
struct VerifyReport<'a> {
    verification: Verification<'a>,
    /// Selection and number of the root modules, if there may be several.
    several: Option<SeveralRoots<'a>>,
    /// The locked versions, if a format shows them. Unreadable files are among the failures.
    uses: Vec<ProviderUse<'a>>,
    /// Lines about directories that are not checked, because nothing shows that they are root
    /// modules.
    unrecognised: Vec<String>,
    ui: &'a Ui,
}

impl VerifyReport<'_> {
    /// Prints the findings in the chosen format; failures and a summary are status.
    fn show(&self) {
        let Self {
            verification, ui, ..
        } = self;
        for line in verification.roots.iter().flat_map(text::lines_about_checks) {
            ui.verbose(&line);
        }
        let failures = self.failures(ui.stderr_style.verbose);
        ui.error(&failures);
        if ui.format == OutputFormat::Text
            && !failures.is_empty()
            && verification.all_findings().next().is_some()
        {
            ui.status("");
        }
        ui.print(&self.render(ui.format, ui.stdout_style));
        for line in self.summary_lines() {
            ui.status(&line);
        }
    }

    /// Returns a summary of the checks and their results.
    fn summary_lines(&self) -> Vec<String> {
        let Self {
            verification,
            several,
            ..
        } = self;
        let mut lines = Vec::new();

        // A note says nothing against a lock file.
        let has_problems = verification
            .all_findings()
            .any(|(_, finding)| finding.severity > Severity::Note);
        let has_suppressed = verification
            .roots
            .iter()
            .any(|root| root.suppressed.base > 0);
        let mut is_ok = false;
        if verification.errors.is_empty() && !has_problems && !has_suppressed {
            if let Some(ok_lines) = text::lines_if_ok(verification.roots) {
                is_ok = true;
                lines.extend(ok_lines);
            }
            lines.extend(text::line_about_published(
                verification.roots,
                verification.run.is_online,
            ));
        }
        // After an error, the part that was not checked does not matter.
        if !self.has_failed() {
            lines.extend(text::lines_about_not_checked(
                verification.roots,
                verification.run.is_online,
            ));
        }

        let is_single = several.is_none()
            || (verification.roots.len() == 1 && verification.coverage.len() == 1);
        let total = text::summary_line(*verification);
        // Root modules are not counted if the other lines or the failures show which ones there
        // are.
        let is_coverage_clear = if is_ok {
            coverage::is_one_kind_and_ok(verification.coverage)
        } else if total.is_some() {
            is_single
        } else {
            several.is_none() && !verification.errors.is_empty()
        };
        lines.extend(total);
        if !is_coverage_clear {
            lines.extend(coverage::lines_by_kind(verification.coverage));
        }
        if !is_single {
            lines.extend(text::line_about_change(verification.findings));
        }
        lines.extend(self.unrecognised.iter().cloned());
        lines.extend(text::line_about_exempted(verification.roots));
        lines.extend(text::line_about_suppressed(verification.roots));
        lines
    }

    /// Whether something could not be checked, or a finding is an error.
    fn has_failed(&self) -> bool {
        !self.verification.errors.is_empty() || self.has_error()
    }

    fn has_error(&self) -> bool {
        let mut findings = self.verification.all_findings();
        findings.any(|(_, finding)| finding.severity == Severity::Error)
    }

    /// Adds the findings by cause to the summary of a job, if the runner has a file for it.
    fn append_summary(&self, path: Option<PathBuf>) -> anyhow::Result<()> {
        let Some(path) = path else { return Ok(()) };
        let summary = markdown::job_summary(&self.causes(false), self.verification);
        let summary = self.ui.safe(&summary, OutputFormat::Markdown);
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path);
        let written = file.and_then(|mut file| file.write_all(summary.as_bytes()));
        written.with_context(|| format!("cannot write the job summary {}", path.display()))
    }

    /// Returns the reasons why something was not checked, by cause.
    fn failures(&self, names_all_roots: bool) -> Vec<Diagnostic> {
        one_per_cause(
            with_roots(self.verification.errors),
            self.several,
            names_all_roots,
        )
    }

    /// Returns the failures by cause, then the findings. Names of root modules are cut to a few
    /// unless all of them are requested.
    fn causes(&self, names_all_roots: bool) -> Vec<Diagnostic> {
        let findings = text::findings_by_cause(
            self.verification,
            Severity::Note,
            self.several,
            names_all_roots,
        );
        let mut causes = self.failures(names_all_roots);
        causes.extend(findings);
        causes
    }

    fn write(&self, files: &[ReportFile]) -> anyhow::Result<()> {
        for ReportFile { format, path } in files {
            let style = TextStyle {
                color: false,
                hyperlinks: false,
                columns: None,
                ..self.ui.stdout_style
            };
            let attempt = || format!("cannot write the report {}", path.display());
            let text = self.ui.safe(&self.render(*format, style), *format);
            // A pull request may have put a link there, which leads to any file.
            report_paths::refuse_links(path)?;
            std::fs::write(path, text).with_context(attempt)?;
        }
        Ok(())
    }

    fn render(&self, format: OutputFormat, style: TextStyle) -> String {
        let verification = self.verification;
        match format {
            OutputFormat::Json => json::verify(verification),
            OutputFormat::Github => github::annotations(verification),
            OutputFormat::Sarif => sarif::log(verification),
            OutputFormat::Gitlab => gitlab::report(verification),
            OutputFormat::Html => {
                html::verification_page(&self.causes(true), verification, &self.uses)
            }
            OutputFormat::Junit => junit::report(verification),
            _ => {
                text::findings_as_text(verification, self.ui.least_severity(), self.several, style)
            }
        }
    }
}
