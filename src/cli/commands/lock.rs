//! `lock`: writes the lock file that the configuration asks for.

use clap::Args;
use provlock::diagnostic::Result;
use provlock::files::{self, Replacement};
use provlock::ops::LockRequest;
use provlock::provider_spec::ProviderSpec;

use super::outcome::Outcome;
use crate::cli::age::AgeArgs;
use crate::cli::args::GlobalArgs;
use crate::cli::batch::{Batch, Done};
use crate::cli::environment::environment;
use crate::cli::render::{diff, json, lock as text};
use crate::cli::source::SourceArgs;
use crate::cli::ui::Ui;
use crate::cli::what::{self, WhatArgs};

#[derive(Args)]
#[command(before_help = "Example: provlock lock -p linux_amd64,darwin_arm64")]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check found that the file would change, 2 could not do it"
)]
pub(crate) struct LockArgs {
    /// Only these providers [default: all that the configuration requires]
    #[arg(value_name = "PROVIDER", value_parser = what::provider, help_heading = "What")]
    providers: Vec<ProviderSpec>,
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Write nothing; exit with 1 if the lock file would change
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

pub(crate) fn run(arguments: &LockArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome> {
    let environment = environment();
    let mut batch = Batch::open(&arguments.what, &arguments.source, &arguments.providers, global, &environment)?;
    batch.tell_dialects(ui);
    let connections = arguments.source.connections(&environment, ui);
    let sources = batch.sources(&arguments.source, &connections)?;
    let ages = arguments.age.ages(&batch, arguments.source.offline, &connections)?;
    if arguments.source.offline {
        ages.refuse(&mut batch, |_, request| request.new_providers());
    }
    let writes = !arguments.check && !arguments.dry_run;
    let write =
        |_, lock_file: Option<Replacement<'_>>| if writes { files::write_all(lock_file.as_slice()) } else { Ok(()) };
    let request = |_, root| LockRequest { minimum_age: ages.of(root), ..batch.request(root) };
    let downloads = ui.progress(arguments.source.asked(batch.providers()).as_deref());
    let results = batch.lock(&sources, request, &write, &downloads);
    drop(downloads);
    let done = batch.note(results);
    if batch.failed() > 0 && !batch.is_recursive() {
        return Err(batch.errors().into());
    }
    show(&batch, &done, arguments, ui);
    Ok(match batch.failed() {
        0 if arguments.check && done.iter().flatten().any(|done| done.changed) => Outcome::Found,
        0 => Outcome::Done,
        _ => Outcome::Failed,
    })
}

/// Shows what became of every root.
fn show(batch: &Batch<'_>, done: &[Option<Done>], arguments: &LockArgs, ui: &Ui) {
    let (warnings, errors) = (batch.warnings(done.iter().flatten().flat_map(|d| &d.outcome.warnings)), batch.errors());
    let reports = batch.reports(done, !arguments.check && !arguments.dry_run);
    ui.warn(&warnings);
    for (_, report) in &reports {
        ui.status_lines(&if batch.is_recursive() { report.lines_of_many(ui) } else { report.lines(ui) });
    }
    ui.show(&errors);
    let shown: Vec<_> = reports.iter().map(|(_, report)| report).collect();
    if batch.is_recursive() {
        ui.status(&text::summary_of_many(["Locked", "Would lock"], &shown, batch.failed()));
    }
    let by_default: Vec<_> =
        batch.readable().filter(|(_, root)| root.has_default_platform).map(|(index, _)| index).collect();
    if reports.iter().any(|(index, report)| by_default.contains(index) && report.has_written_for_one_platform()) {
        ui.status("Other platforms: provlock lock -p all, or set platforms in provlock.toml");
    }
    if ui.json {
        ui.print(&json::lock(&shown, &warnings, &errors));
    } else if arguments.dry_run {
        for (index, report) in reports.iter().filter(|(_, report)| report.changed) {
            let old = report.project.lock_bytes.as_deref();
            let new = done[*index].as_ref().map(|done| done.new.as_slice());
            ui.print(&diff::unified(&report.project.lock_path, old, new, ui.stdout_color));
        }
    }
}
