//! `upgrade`: moves providers to newer versions, or shows where they could move.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use provlock::diagnostic::Result;
use provlock::dialect::Dialect;
use provlock::ops::{self, ConstraintConflict, LockRequest, UpgradePlan, UpgradeRequest};
use provlock::provider_spec::ProviderSpec;
use provlock::requirements::rewrite::{self, FileRewrite};
use provlock::source::Source;

use super::outcome::Outcome;
use crate::cli::age::{AgeArgs, Ages};
use crate::cli::args::GlobalArgs;
use crate::cli::batch::{Batch, Done, Results, Root};
use crate::cli::environment::environment;
use crate::cli::project::Project;
use crate::cli::render::{diff, json, lock as text, upgrade as table};
use crate::cli::rewrites::Rewrites;
use crate::cli::source::SourceArgs;
use crate::cli::ui::Ui;
use crate::cli::what::{self, WhatArgs};

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock upgrade hashicorp/aws hashicorp/random@3.6.3")]
#[command(after_help = "Exit codes: 0 done or up to date, 1 --check found that something can move, 2 could not do it")]
pub(crate) struct UpgradeArgs {
    /// Only these providers, each to its newest version or to the one named [default: all]
    #[arg(value_name = "PROVIDER[@VERSION]", value_parser = what::provider_at_version)]
    #[arg(help_heading = "What", display_order = 0)]
    providers: Vec<ProviderSpec>,
    #[command(flatten)]
    what: WhatArgs,
    /// Rewrite version constraints in the configuration so that they allow the newest version
    #[arg(long, help_heading = "What")]
    constraints: bool,
    /// Count prereleases as newer versions; only a constraint that names one exactly allows it
    #[arg(long, help_heading = "What")]
    pre: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Write nothing; exit with 1 if something can move
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; show what can move, and what holds the rest back
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// What each root could move to; none for those that failed.
type Surveys = Vec<Option<UpgradePlan>>;

pub(crate) fn run(arguments: &UpgradeArgs, global: &GlobalArgs, ui: &Ui) -> Result<Outcome> {
    let environment = environment();
    let mut batch = Batch::open(&arguments.what, &arguments.source, &arguments.providers, global, &environment)?;
    batch.tell_dialects(ui);
    let connections = arguments.source.connections(&environment, ui);
    let sources = batch.sources(&arguments.source, &connections)?;
    let ages = arguments.age.ages(&batch, arguments.source.offline, &connections)?;
    if arguments.source.offline {
        ages.refuse(&mut batch, |root, _| root.providers().collect());
    }
    let waiting = ui.progress(arguments.source.asked(batch.providers()).as_deref());
    let results = arguments.plan(&batch, &sources, &ages);
    drop(waiting);
    let mut plans = batch.note(results);
    if batch.is_recursive() {
        agree(&mut batch, &mut plans);
    }
    if batch.failed() > 0 && !batch.is_recursive() {
        return Err(batch.errors().into());
    }
    if arguments.check || arguments.dry_run {
        show(&batch, &plans, ui);
        return Ok(match batch.failed() {
            0 if arguments.check && plans.iter().flatten().any(UpgradePlan::moves) => Outcome::Found,
            0 => Outcome::Done,
            _ => Outcome::Failed,
        });
    }
    let rewrites = Rewrites::new(plans.iter().flatten().flat_map(|plan| &plan.edits));
    let results = batch.lock(
        &sources,
        |index, root| {
            let request = batch.request(root);
            plans[index].as_ref().map_or(request, |plan| plan.lock_request(request))
        },
        &|index, lock_file| rewrites.write(plans[index].iter().flat_map(|plan| &plan.edits), lock_file),
        &ui.progress(None),
    );
    let done = batch.note(results);
    if batch.failed() > 0 && !batch.is_recursive() {
        return Err(batch.errors().into());
    }
    tell(&batch, &plans, &done, ui);
    Ok(if batch.failed() == 0 { Outcome::Done } else { Outcome::Failed })
}

/// Makes the roots agree on the constraints that they share. Those that cannot fail.
fn agree(batch: &mut Batch<'_>, plans: &mut Surveys) {
    let roots: BTreeMap<usize, &Root> = batch.readable().collect();
    let (indices, mut sharing): (Vec<usize>, Vec<(&Path, &mut UpgradePlan)>) = plans
        .iter_mut()
        .enumerate()
        .filter_map(|(index, plan)| Some((index, (roots.get(&index)?.project.root.as_path(), plan.as_mut()?))))
        .unzip();
    let conflicts = ops::agree(&mut sharing);
    for ConstraintConflict { roots, error } in conflicts {
        let failed: Vec<usize> = roots.into_iter().map(|root| indices[root]).collect();
        batch.fail(&failed, &error);
        for index in failed {
            plans[index] = None;
        }
    }
}

/// Shows what would move, and how the configuration would change.
fn show(batch: &Batch<'_>, plans: &Surveys, ui: &Ui) {
    let shown: Vec<(&Project, &UpgradePlan)> =
        batch.readable().filter_map(|(index, root)| Some((&root.project, plans[index].as_ref()?))).collect();
    let required = batch.readable().flat_map(|(_, root)| &root.requirements.warnings);
    let surveyed = shown.iter().flat_map(|(_, plan)| &plan.warnings);
    let (warnings, errors) = (batch.warnings(surveyed.chain(required)), batch.errors());
    ui.warn(&warnings);
    if ui.json {
        ui.print(&json::plans(&shown, &warnings, &errors));
    } else {
        for (place, (project, plan)) in shown.iter().enumerate() {
            if batch.is_recursive() {
                let distance = if place == 0 { "" } else { "\n" };
                ui.print(&format!("{distance}{}:\n", project.root.display()));
            }
            ui.print(&table::table(plan, project.dialect));
        }
        for FileRewrite { path, old, new } in rewrite::files(shown.iter().flat_map(|(_, plan)| &plan.edits)) {
            ui.print(&diff::unified(&path, Some(old.as_bytes()), Some(new.as_bytes()), ui.stdout_color));
        }
    }
    ui.show(&errors);
    let shown: Vec<_> = shown.into_iter().map(|(_, plan)| plan).collect();
    let summary = if batch.is_recursive() {
        vec![table::summary_of_many(&shown, batch.failed())]
    } else {
        shown.into_iter().flat_map(table::summary).collect()
    };
    ui.status_lines(&summary);
}

/// Tells what was written.
fn tell(batch: &Batch<'_>, plans: &Surveys, done: &[Option<Done>], ui: &Ui) {
    let locked = done.iter().flatten().flat_map(|done| &done.outcome.warnings);
    let surveyed = batch.readable().filter_map(|(index, _)| plans[index].as_ref());
    let surveyed: Vec<_> = surveyed.collect();
    let (warnings, errors) =
        (batch.warnings(surveyed.iter().flat_map(|plan| &plan.warnings).chain(locked)), batch.errors());
    ui.warn(&warnings);
    let reports = batch.reports(done, true);
    for (index, report) in &reports {
        let mut lines = if batch.is_recursive() { report.lines_of_many(ui) } else { report.lines(ui) };
        lines.extend(plans[*index].iter().flat_map(table::edits));
        ui.status_lines(&lines);
    }
    ui.show(&errors);
    if batch.is_recursive() {
        let reports: Vec<_> = reports.iter().map(|(_, report)| report).collect();
        ui.status(&text::summary_of_many(["Upgraded", "Would upgrade"], &reports, batch.failed()));
    }
    if let Some(hint) = table::held_back(&surveyed, batch.is_recursive()) {
        ui.status(&hint);
    }
    if ui.json {
        let reports: Vec<_> =
            reports.iter().filter_map(|(index, report)| Some((report, plans[*index].as_ref()?))).collect();
        ui.print(&json::upgrade(&reports, &warnings, &errors));
    }
}

impl UpgradeArgs {
    /// Looks at the versions that the roots could move to, those of a dialect together.
    fn plan(&self, batch: &Batch<'_>, sources: &[(Dialect, Source)], ages: &Ages) -> Results<UpgradePlan> {
        let mut results: Results<UpgradePlan> = (0..batch.len()).map(|_| None).collect();
        for (dialect, source) in sources {
            let group = batch.of_dialect(*dialect);
            let requests = group.iter().map(|(_, root)| UpgradeRequest {
                lock: LockRequest { minimum_age: ages.of(root), ..batch.request(root) },
                prereleases: self.pre,
                rewrite_constraints: self.constraints,
                only_complete: self.source.offline,
            });
            let requests: Vec<_> = requests.collect();
            for ((index, _), plan) in group.iter().zip(ops::plan_upgrades(&requests, source)) {
                results[*index] = Some(plan);
            }
        }
        results
    }
}
