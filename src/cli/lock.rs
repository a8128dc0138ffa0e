//! `lock`: writes the lock file that the configuration asks for.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::dialect::Dialect;
use provlock::lockfile;
use provlock::ops::{self, LockRequest};
use provlock::requirements::{self, Requirements};

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
    /// Only these providers [default: all that the configuration requires]
    #[arg(value_name = "PROVIDER", help_heading = "What")]
    providers: Vec<String>,
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

pub(crate) fn run(arguments: &LockArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome, Failure> {
    let environment = environment();
    let project = Project::open(Path::new("."), global.dialect, &environment)?;
    ui.detail(&format!("dialect {} ({})", project.dialect, project.dialect_reason));
    let (document, mut warnings) = project.document()?;
    let requirements = arguments.what.requirements(&project, &environment)?;
    let request = LockRequest {
        requirements: &requirements,
        document: &document,
        dialect: project.dialect,
        platforms: &project.platforms(&arguments.what.platforms)?,
        only: &addresses(&arguments.providers, project.dialect)?,
        versions: &BTreeMap::new(),
        prune: arguments.what.prune,
        accept_changed_hashes: arguments.what.accept_changed_hashes,
    };
    let source = arguments.source.source(project.dialect, &environment, ui)?;
    let downloads = ui.downloads();
    let outcome = ops::lock(&request, &source, &|wanted, progress| downloads.note(wanted, progress))?;
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
    /// What the configuration requires.
    pub(crate) fn requirements(&self, project: &Project, environment: &Environment) -> Result<Requirements, Failure> {
        let options = project.requirements_options(environment, !self.no_tests, self.allow_missing_modules);
        requirements::read(&project.root, &options)
    }
}

/// Reads the addresses of providers.
pub(crate) fn addresses(texts: &[String], dialect: Dialect) -> Result<Vec<ProviderAddress>, Failure> {
    let address = |text: &String| {
        ProviderAddress::parse(text, dialect).map_err(|error| vec![invalid_argument(format!("{text:?}: {error}"))])
    };
    texts.iter().map(address).collect()
}
