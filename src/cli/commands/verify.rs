//! `verify`: the check that CI and pre-commit run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::{Args, ValueHint};
use provlock::cli_config::Environment;
use provlock::diagnostic::{Code, Diagnostic, Diagnostics, Result, Severity};
use provlock::dialect::Dialect;
use provlock::ops::verify::{CODES, Online, Tracking, Verified};
use provlock::package::HashCache;
use provlock::parallel;
use provlock::requirements::ModuleCache;
use provlock::settings::PlatformSelection;
use provlock::source::Source;
use provlock::source::from_config::Connections;
use provlock::workspace::{RootSelection, VerifyOptions, Workspace};

use super::messages::show_configurations;
use super::outcome::{Outcome, diagnostics};
use crate::cli::args::{FormatArgs, GlobalArgs, OnlineArgs, OutputFormat, PlatformArgs};
use crate::cli::environment::environment;
use crate::cli::git::Repository;
use crate::cli::render::verify::{self as text, CheckedRoot, RepositoryPaths};
use crate::cli::render::{github, json, sarif};
use crate::cli::ui::{Downloads, Ui};

/// How many root modules are checked at a time when most of the time is spent waiting for a registry.
const ROOTS_ONLINE: usize = 8;

const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Github, OutputFormat::Sarif];

#[derive(Args)]
#[command(before_help = "Example: provlock verify --recursive --online")]
#[command(after_help = "Exit codes: 0 no errors, 1 errors found, 2 could not check. Codes: see docs/findings.md")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    source: OnlineArgs,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Take this finding for an error
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    deny: Vec<Code>,
    /// Take this finding for a warning
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    warn: Vec<Code>,
    /// Leave this finding out
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Output")]
    allow: Vec<Code>,
}

/// Here it is no use to fall back on the current platform.
const PLATFORMS_HELP: &str = "Platforms that must be covered, or `all` [default: those of provlock.toml]";

/// What is to be checked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "What")]
#[command(mut_arg("platforms", |platforms| platforms.help(PLATFORMS_HELP)))]
struct WhatArgs {
    /// Root modules, or files in them [default: .]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Check every root module below
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    /// Ask the registries whether every hash is one that was published
    #[arg(long)]
    online: bool,
    /// Compare the packages in .terraform/providers with the lock file
    #[arg(long)]
    installed: bool,
    /// Judge the change since this commit
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Do not count what only test files require
    #[arg(long)]
    no_tests: bool,
}

fn code(text: &str) -> std::result::Result<Code, String> {
    let code = CODES.iter().find(|code| code.as_str() == text);
    code.copied().ok_or_else(|| "there is no such finding; docs/findings.md lists them".to_owned())
}

pub(crate) fn run(arguments: &VerifyArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let environment = &environment();
    let repository = Repository::around(&environment.current_directory);
    let run = Run {
        arguments,
        dialect: global.dialect,
        base: base(arguments.what.base.as_deref(), repository.as_ref())?,
        repository,
        cache: arguments.source.cache(environment),
        environment,
        modules: ModuleCache::default(),
        connections: arguments.source.connections(environment, None),
        sources: Sources::default(),
        downloads: ui.progress(None),
    };
    let roots = RootSelection {
        paths: &arguments.what.paths,
        recursive: arguments.what.recursive,
        dialect: global.dialect,
        environment,
        modules: &run.modules,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if arguments.what.online { ROOTS_ONLINE } else { cores };
    let checked = parallel::map(roots.roots()?, threads, |root| run.check(&root));
    let (mut roots, mut errors) = (Vec::new(), Vec::new());
    for (root, could_not) in checked {
        roots.extend(root);
        errors.extend(could_not);
    }
    errors.dedup();
    show_configurations(&run.connections, ui);
    let top = run.repository.as_ref().map(Repository::top);
    report(&roots, &errors, &RepositoryPaths { current_directory: &environment.current_directory, top }, ui);
    let found = roots.iter().flat_map(|root| &root.findings).any(|finding| finding.severity == Severity::Error);
    Ok(match (errors.is_empty(), found) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Found,
        (true, false) => Outcome::Done,
    })
}

/// The commit that `--base` names.
fn base(revision: Option<&str>, repository: Option<&Repository>) -> Result<Option<String>> {
    let Some(revision) = revision else { return Ok(None) };
    let commit = repository.and_then(|repository| repository.commit(revision));
    let unknown =
        || Diagnostic::error(Code::InvalidArgument, format!("--base {revision}: git knows no such commit here"));
    let help = "fetch it first; a shallow clone has only the last commit";
    commit.map(Some).ok_or_else(|| unknown().help(help).into())
}

impl VerifyArgs {
    /// The findings at the levels that the flags give them; `--deny` wins over `--warn`, and that over `--allow`.
    fn levelled(&self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
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

fn report(roots: &[CheckedRoot], errors: &[Diagnostic], paths: &RepositoryPaths<'_>, ui: &Ui) {
    for root in roots {
        ui.verbose(&text::checked(root));
    }
    ui.error(errors);
    ui.print(&match ui.format {
        OutputFormat::Json => json::verify(roots, errors, &ui.invocation),
        OutputFormat::Github => github::annotations(roots, errors, paths, &ui.invocation),
        OutputFormat::Sarif => sarif::log(roots, errors, paths, &ui.invocation),
        _ => text::findings(roots, &ui.invocation, ui.stdout_style),
    });
    if let Some(summary) = text::summary(roots) {
        ui.status(&summary);
    }
}

/// What all root modules of a run share.
struct Run<'a> {
    arguments: &'a VerifyArgs,
    dialect: Option<Dialect>,
    base: Option<String>,
    repository: Option<Repository>,
    cache: Option<HashCache>,
    environment: &'a Environment,
    modules: ModuleCache,
    connections: Connections<'a>,
    sources: Sources,
    downloads: Downloads,
}

/// One source for each dialect, made when a root module needs it.
#[derive(Default)]
struct Sources {
    tofu: OnceLock<Result<Source>>,
    terraform: OnceLock<Result<Source>>,
}

impl Run<'_> {
    /// Checks one root module. What could not be checked comes along.
    fn check(&self, root: &Path) -> (Option<CheckedRoot>, Diagnostics) {
        match self.verify(root) {
            Ok((workspace, verified)) => {
                let findings = self.arguments.levelled(verified.findings);
                let platforms = self.platforms(&workspace);
                let Workspace { root: path, lock_path, dialect, dialect_reason, .. } = workspace;
                let entries = verified.entries;
                let root = CheckedRoot { path, lock_path, dialect, findings, entries, platforms, dialect_reason };
                (Some(root), verified.errors.into())
            }
            Err(errors) => (None, errors),
        }
    }

    fn verify(&self, root: &Path) -> Result<(Workspace, Verified)> {
        let what = &self.arguments.what;
        let workspace = Workspace::open_as(root, self.dialect, self.environment)?;
        let source = what.online.then(|| self.source(workspace.dialect)).transpose()?;
        let progress = |wanted: &_, progress| self.downloads.note(wanted, progress);
        let repository = self.repository.as_ref();
        let before =
            |(commit, repository): (&String, &Repository)| repository.lock_file_in(commit, root).map_err(diagnostics);
        let options = VerifyOptions {
            platforms: self.platforms(&workspace),
            ignore_tests: what.no_tests,
            check_installed: what.installed,
            cache: self.cache.as_ref(),
            tracking: repository.map_or(Tracking::Unknown, |repository| repository.tracking(root)),
            base: self.base.as_ref().zip(repository).map(before).transpose()?.flatten(),
            online: source.map(|source| Online { source, progress: &progress }),
        };
        let verified = workspace.verify(&options, &self.modules)?;
        Ok((workspace, verified))
    }

    /// The platforms that must be covered: those of the flag, else of the settings.
    fn platforms(&self, workspace: &Workspace) -> Option<PlatformSelection> {
        self.arguments.what.platforms.named().or_else(|| workspace.settings.platforms.clone())
    }

    fn source(&self, dialect: Dialect) -> Result<&Source> {
        let slot = match dialect {
            Dialect::Tofu => &self.sources.tofu,
            Dialect::Terraform => &self.sources.terraform,
        };
        let source = slot.get_or_init(|| self.connections.source(dialect));
        source.as_ref().map_err(Clone::clone)
    }
}
