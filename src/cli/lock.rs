//! `lock`: writes the lock file that the configuration asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueHint};
use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::diagnostic::Diagnostic;
use provlock::dialect::Dialect;
use provlock::lockfile::{self, Document};
use provlock::ops::{self, LockOutcome, LockRequest, Locked, parallel};
use provlock::requirements::{self, ModuleCache, Requirements};
use provlock::settings::PlatformSelection;
use provlock::version::Version;

use super::project::Project;
use super::render::{diff, json, lock as text};
use super::roots::RootArguments;
use super::source::SourceArgs;
use super::ui::Ui;
use super::{Failure, GlobalArgs, Outcome, environment::environment, invalid_argument};

#[derive(Args)]
#[command(before_help = "Example: provlock lock -p linux_amd64,darwin_arm64")]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check found that the file would change, 2 could not do it"
)]
pub(crate) struct LockArgs {
    /// Only these providers [default: all that the configuration requires]
    #[arg(value_name = "PROVIDER", help_heading = "What")]
    providers: Vec<String>,
    /// Every root module below the PATHs [default: .]; what `.gitignore` names is left out
    #[arg(short, long, value_name = "PATH", num_args(0..), value_hint = ValueHint::DirPath, help_heading = "What")]
    recursive: Option<Vec<PathBuf>>,
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Ask no host; use the lock file and the cache, and say what is missing
    #[arg(long, conflicts_with_all = ["instead", "trust_registry", "no_cache"], help_heading = "From where")]
    offline: bool,
    /// Write nothing; exit with 1 if the lock file would change
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// What is to be locked, of `lock` and `upgrade`.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "What")]
pub(crate) struct WhatArgs {
    /// Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        env = "PROVLOCK_PLATFORMS",
        hide_env_values = true
    )]
    pub(crate) platforms: Vec<String>,
    /// Remove entries that the configuration does not require
    #[arg(long)]
    pub(crate) prune: bool,
    /// Replace hashes that are not those of the published release
    #[arg(long)]
    pub(crate) accept_changed_hashes: bool,
    /// Go on without modules that are not installed
    #[arg(long)]
    allow_missing_modules: bool,
    /// Do not count what only test files require
    #[arg(long)]
    no_tests: bool,
}

/// A root module that is to be locked.
struct Root {
    project: Project,
    document: Document,
    requirements: Requirements,
    platforms: PlatformSelection,
    only: Vec<ProviderAddress>,
    warnings: Vec<Diagnostic>,
}

/// A root module that was locked.
struct Done {
    outcome: LockOutcome,
    /// The lock file's new bytes.
    new: Vec<u8>,
    changed: bool,
}

/// What became of all roots.
#[derive(Default)]
struct Summary<'a> {
    reports: Vec<(text::Report<'a>, &'a Done)>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
    failed: usize,
}

/// None for those that were not locked because they could not be read.
type Results = Vec<Option<Result<Done, Failure>>>;

pub(crate) fn run(arguments: &LockArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome, Failure> {
    let environment = environment();
    let modules = ModuleCache::default();
    let paths = match &arguments.recursive {
        Some(paths) => {
            let dialect = global.dialect;
            RootArguments { paths, recursive: true, dialect, environment: &environment, modules: &modules }.roots()?
        }
        None => vec![PathBuf::from(".")],
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut roots = parallel::map(paths, cores, |path| {
        let opened = Root::open(&path, arguments, global.dialect, &environment, &modules);
        opened.map_err(|errors| arguments.failed(&path, errors))
    });
    for root in roots.iter().flatten() {
        let Project { root, dialect, dialect_reason, .. } = &root.project;
        ui.detail(&format!("{}: dialect {dialect} ({dialect_reason})", root.display()));
    }
    if arguments.is_recursive() && !arguments.providers.is_empty() {
        arguments.leave_out_others(&mut roots)?;
    }
    let results = arguments.lock(&roots, &environment, ui)?;
    let summary = Summary::new(&roots, &results, arguments.writes());
    if summary.failed > 0 && !arguments.is_recursive() {
        return Err(summary.errors);
    }
    arguments.show(&summary, ui);
    let changed = summary.reports.iter().any(|(report, _)| report.changed);
    Ok(match summary.failed {
        0 if arguments.check && changed => Outcome::Found,
        0 => Outcome::Done,
        _ => Outcome::Failed,
    })
}

impl<'a> Summary<'a> {
    fn new(roots: &'a [Result<Root, Failure>], results: &'a Results, written: bool) -> Self {
        let mut summary = Self::default();
        for (root, result) in roots.iter().zip(results) {
            match (root, result) {
                (Ok(root), Some(Ok(done))) => {
                    let warnings = root.warnings.iter().chain(&done.outcome.warnings);
                    add_new(&mut summary.warnings, warnings);
                    let Done { outcome, changed, .. } = done;
                    summary
                        .reports
                        .push((text::Report { project: &root.project, outcome, changed: *changed, written }, done));
                }
                (Ok(_), Some(Err(errors))) | (Err(errors), _) => {
                    summary.failed += 1;
                    add_new(&mut summary.errors, errors);
                }
                (Ok(_), None) => {}
            }
        }
        summary
    }
}

impl LockArgs {
    /// Locks all roots that could be read; those of a dialect together.
    fn lock(&self, roots: &[Result<Root, Failure>], environment: &Environment, ui: &Ui) -> Result<Results, Failure> {
        let results = Mutex::new(roots.iter().map(|_| None).collect::<Vec<_>>());
        let downloads = ui.downloads();
        let none_chosen = BTreeMap::new();
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            let readable = roots.iter().enumerate().filter_map(|(index, root)| Some((index, root.as_ref().ok()?)));
            let group: Vec<_> = readable.filter(|(_, root)| root.project.dialect == dialect).collect();
            if group.is_empty() {
                continue;
            }
            let source = if self.offline {
                self.source.offline(environment, group.iter().map(|(_, root)| root.document.locks()))
            } else {
                self.source.source(dialect, environment, ui)?
            };
            let requests: Vec<_> = group.iter().map(|(_, root)| root.request(self, &none_chosen)).collect();
            let finished = |index: usize, locked: Locked| {
                let (index, root) = group[index];
                let result = locked.and_then(|outcome| root.conclude(outcome, self));
                let result = result.map_err(|errors| self.failed(&root.project.root, errors));
                results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
            };
            ops::lock_all(&requests, &source, &|wanted, progress| downloads.note(wanted, progress), &finished);
        }
        Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows what became of every root, in the order of their paths.
    fn show(&self, summary: &Summary<'_>, ui: &Ui) {
        ui.warn(&summary.warnings);
        for (report, _) in &summary.reports {
            let lines = if self.is_recursive() { report.lines_of_many(ui) } else { report.lines(ui) };
            for line in lines {
                ui.status(&line);
            }
        }
        ui.show(&summary.errors);
        if self.is_recursive() {
            ui.status(&text::summary_of_many(summary.reports.iter().map(|(report, _)| report), summary.failed));
        }
        if ui.json {
            let reports: Vec<_> = summary.reports.iter().map(|(report, _)| report).collect();
            ui.print(&json::lock(&reports, &summary.warnings, &summary.errors));
        } else if self.dry_run {
            for (report, done) in summary.reports.iter().filter(|(report, _)| report.changed) {
                let old = report.project.lock_bytes.as_deref();
                ui.print(&diff::unified(&report.project.lock_path, old, Some(&done.new), ui.stdout_color));
            }
        }
    }

    /// Leaves out the roots that require none of the named providers. Each must be required by some root.
    fn leave_out_others(&self, roots: &mut Vec<Result<Root, Failure>>) -> Result<(), Failure> {
        let required: BTreeSet<_> = roots.iter().flatten().flat_map(|root| root.only.iter().cloned()).collect();
        for text in &self.providers {
            let is_required = [Dialect::Tofu, Dialect::Terraform]
                .into_iter()
                .any(|dialect| ProviderAddress::parse(text, dialect).is_ok_and(|address| required.contains(&address)));
            if !is_required && roots.iter().all(Result::is_ok) {
                return Err(vec![invalid_argument(format!("no root module requires {text}"))]);
            }
        }
        roots.retain(|root| root.as_ref().map_or(true, |root| !root.only.is_empty()));
        Ok(())
    }

    fn is_recursive(&self) -> bool {
        self.recursive.is_some()
    }

    fn writes(&self) -> bool {
        !self.check && !self.dry_run
    }

    /// The errors of a root module; when there are many, with its name.
    fn failed(&self, root: &Path, errors: Failure) -> Failure {
        if !self.is_recursive() {
            return errors;
        }
        errors.into_iter().map(|error| error.note(format!("root module: {}", root.display()))).collect()
    }
}

impl Root {
    fn open(
        path: &Path,
        arguments: &LockArgs,
        dialect: Option<Dialect>,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Self, Failure> {
        let what = &arguments.what;
        let project = Project::open(path, dialect, environment)?;
        let (document, warnings) = project.document()?;
        let platforms = project.platforms(&what.platforms)?;
        let mut only = addresses(&arguments.providers, project.dialect)?;
        let requirements = what.requirements(&project, environment, modules)?;
        if arguments.is_recursive() {
            only.retain(|address| requirements.providers.contains_key(address));
        }
        Ok(Self { project, document, requirements, platforms, only, warnings })
    }

    fn request<'a>(
        &'a self,
        arguments: &LockArgs,
        versions: &'a BTreeMap<ProviderAddress, Version>,
    ) -> LockRequest<'a> {
        LockRequest {
            requirements: &self.requirements,
            document: &self.document,
            dialect: self.project.dialect,
            platforms: &self.platforms,
            only: &self.only,
            versions,
            prune: arguments.what.prune,
            accept_changed_hashes: arguments.what.accept_changed_hashes,
        }
    }

    /// Writes the lock file if it changes and may be written.
    fn conclude(&self, outcome: LockOutcome, arguments: &LockArgs) -> Result<Done, Failure> {
        let old = self.project.lock_bytes.as_deref();
        let new = self.document.edit(&outcome.locks).map_err(|error| vec![*error])?;
        let changed = old != Some(new.as_slice());
        if changed && arguments.writes() {
            lockfile::file::write(&self.project.lock_path, old, &new).map_err(|error| vec![*error])?;
        }
        Ok(Done { outcome, new, changed })
    }
}

impl WhatArgs {
    /// What the configuration requires.
    pub(crate) fn requirements(
        &self,
        project: &Project,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Requirements, Failure> {
        let options = project.requirements_options(environment, !self.no_tests, self.allow_missing_modules);
        requirements::read_with_cache(&project.root, &options, modules)
    }
}

/// Reads the addresses of providers.
pub(crate) fn addresses(texts: &[String], dialect: Dialect) -> Result<Vec<ProviderAddress>, Failure> {
    let address = |text: &String| {
        ProviderAddress::parse(text, dialect).map_err(|error| vec![invalid_argument(format!("{text:?}: {error}"))])
    };
    texts.iter().map(address).collect()
}

/// Adds those that are not there yet: the same warning comes from every root that has the cause.
fn add_new<'a>(list: &mut Vec<Diagnostic>, more: impl IntoIterator<Item = &'a Diagnostic>) {
    for diagnostic in more {
        if !list.contains(diagnostic) {
            list.push(diagnostic.clone());
        }
    }
}
