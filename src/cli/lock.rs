//! `lock`: writes the lock file that the configuration asks for.

use std::path::Path;

use clap::Args;
use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::diagnostic::Diagnostic;
use provlock::dialect::Dialect;
use provlock::lockfile;
use provlock::ops::{self, LockOutcome, LockRequest};
use provlock::requirements;

use super::project::Project;
use super::render::{diff, json, lock as text};
use super::source::SourceArgs;
use super::ui::Ui;
use super::{Failure, GlobalArgs, Outcome, environment::environment, invalid_argument};

#[derive(Args)]
#[command(before_help = "Example: provlock lock -p linux_amd64,darwin_arm64")]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check found that the file would change, 2 could not do it"
)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Write nothing; exit with 1 if the lock file would change
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// What is to be locked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "What")]
pub(crate) struct WhatArgs {
    /// Only these providers [default: all that the configuration requires]
    #[arg(value_name = "PROVIDER")]
    providers: Vec<String>,
    /// Platforms such as `linux_amd64`, or `all` [default: those of provlock.toml, else the current one]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        env = "PROVLOCK_PLATFORMS",
        hide_env_values = true
    )]
    platforms: Vec<String>,
    /// Remove entries that the configuration does not require
    #[arg(long)]
    prune: bool,
    /// Replace hashes that are not those of the published release
    #[arg(long)]
    accept_changed_hashes: bool,
    /// Go on without modules that are not installed
    #[arg(long)]
    allow_missing_modules: bool,
    /// Do not count what only test files require
    #[arg(long)]
    no_tests: bool,
}

pub(crate) fn run(arguments: &LockArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome, Failure> {
    let environment = environment();
    let project = Project::open(Path::new("."), global.dialect, &environment)?;
    ui.detail(&format!("dialect {} ({})", project.dialect, project.dialect_reason));
    let (document, mut warnings) = project.document()?;
    let outcome = arguments.what.lock(&project, &document, &arguments.source, &environment, ui)?;
    warnings.extend(outcome.warnings.iter().cloned());

    let old = project.lock_bytes.as_deref();
    let new = document.edit(&outcome.locks).map_err(|error| vec![*error])?;
    let changed = old != Some(new.as_slice());
    if changed && !arguments.check && !arguments.dry_run {
        lockfile::file::write(&project.lock_path, old, &new).map_err(|error| vec![*error])?;
    }
    ui.warn(&warnings);
    let report =
        text::Report { project: &project, outcome: &outcome, changed, written: !arguments.check && !arguments.dry_run };
    for line in report.lines(ui) {
        ui.status(&line);
    }
    if ui.json {
        ui.print(&json::lock(&report, &warnings));
    } else if arguments.dry_run && changed {
        ui.print(&diff::unified(&project.lock_path, old, Some(&new), ui.stdout_color));
    }
    Ok(if arguments.check && changed { Outcome::Found } else { Outcome::Done })
}

impl WhatArgs {
    fn lock(
        &self,
        project: &Project,
        document: &lockfile::Document,
        source: &SourceArgs,
        environment: &Environment,
        ui: &Ui,
    ) -> Result<LockOutcome, Failure> {
        let platforms = project.platforms(&self.platforms)?;
        let only = self.addresses(project.dialect)?;
        let options = project.requirements_options(environment, !self.no_tests, self.allow_missing_modules);
        let requirements = requirements::read(&project.root, &options)?;
        let request = LockRequest {
            requirements: &requirements,
            document,
            dialect: project.dialect,
            platforms: &platforms,
            only: &only,
            prune: self.prune,
            accept_changed_hashes: self.accept_changed_hashes,
        };
        let source = source.source(project.dialect, environment, ui)?;
        let downloads = ui.downloads();
        ops::lock(&request, &source, &|wanted, progress| downloads.note(wanted, progress))
    }

    fn addresses(&self, dialect: Dialect) -> Result<Vec<ProviderAddress>, Vec<Diagnostic>> {
        let address = |text: &String| {
            ProviderAddress::parse(text, dialect).map_err(|error| vec![invalid_argument(format!("{text:?}: {error}"))])
        };
        self.providers.iter().map(address).collect()
    }
}
