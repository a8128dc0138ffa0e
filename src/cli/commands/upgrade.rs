//! `upgrade`: moves providers to newer versions, or shows where they could move.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::{Diagnostic, Result};
use provlock::ops::UpgradePlan;
use provlock::requirements::rewrite::{self, FileRewrite};
use provlock::workspace::{LockOptions, Locked, Member, UpgradeOptions, Workspace, Workspaces};

use super::messages::{
    errors, failures, first_failure, no_root_module, show_configurations, show_decisions, show_default_dialect,
    show_modules, show_origin, show_shared_facts, show_stale_caches,
};
use super::outcome::Outcome;
use crate::cli::args::{AgeArgs, FormatArgs, GlobalArgs, OutputFormat, SelectionArgs, SourceArgs, Targets, candidates};
use crate::cli::environment::environment;
use crate::cli::render::causes::{Many, by_cause, without_repetition};
use crate::cli::render::foreign::printable;
use crate::cli::render::lock::{self as text, Report};
use crate::cli::render::{json, markdown, upgrade as table};
use crate::cli::ui::Ui;

const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Markdown];

const EXAMPLES: &str = "Examples:
  provlock upgrade --dry-run              # a table: locked, allowed, newest, and what holds it back
  provlock upgrade                        # every provider, to the newest allowed version
  provlock upgrade hashicorp/aws@5.80.0   # this provider, to this version
  provlock upgrade --constraints          # also rewrite version constraints in the configuration";

/// Move providers to newer versions
///
/// Each provider moves to the newest version that the constraints, the policy and --min-age allow, with hashes for the
/// requested platforms; every other entry stays as it is. With --constraints the constraints in the configuration
/// are rewritten where they do not allow the newest version.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock upgrade hashicorp/aws hashicorp/random@3.6.3", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done or up to date, 1 --check: something can move, 2 failed")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
pub(crate) struct UpgradeArgs {
    /// Only these providers, each to its newest version or to the one named [default: all]; and root modules, by a directory
    /// or a file in it [default: .]
    #[arg(value_name = "PROVIDER[@VERSION]|PATH", value_hint = ValueHint::AnyPath)]
    #[arg(add = ArgValueCandidates::new(candidates::providers))]
    targets: Vec<OsString>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Rewrite version constraints in the configuration so that they allow the newest version
    #[arg(long, help_heading = "Selection")]
    constraints: bool,
    /// Include prereleases; only a constraint that names one exactly allows it
    #[arg(long, help_heading = "Selection")]
    pre: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Write nothing; exit with 1 if something can move
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; show what can move, and what holds the rest back
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

impl UpgradeArgs {
    /// What is named: paths, and names of providers, which lie in no other repository as paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.targets.iter().map(PathBuf::from)
    }
}

pub(crate) fn run(arguments: &UpgradeArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let UpgradeArgs { selection, age, source, .. } = arguments;
    let environment = environment(&ui.invocation.secrets);
    let Targets { providers, paths } = Targets::read(&arguments.targets)?;
    let lock = selection.lock_options(&providers, source, &environment);
    let options = UpgradeOptions {
        lock: LockOptions { min_age: age.min_age, ..lock },
        prereleases: arguments.pre,
        rewrite_constraints: arguments.constraints,
    };
    let connections = source.connections(&environment, Some(age.services()), ui.request_observer())?;
    show_origin(&source.origin(), &environment, ui);
    let modules = selection.modules.modules(&connections, &environment, source.offline);
    let waiting = ui.progress(Some("fetching modules"));
    let workspaces = selection.open(&paths, &options.lock, global, &environment, &modules);
    drop(waiting);
    show_modules(&modules, ui);
    let workspaces = workspaces?;
    show_decisions(&workspaces, ui);
    let supplies = workspaces.supplies(&connections, &options.lock);
    show_configurations(&connections, ui);
    let supplies = supplies?;
    let waiting = ui.progress(source.asked(workspaces.members().flat_map(|(_, member)| member.providers())).as_deref());
    let plans = workspaces.plan_upgrades(&supplies, &options);
    drop(waiting);
    let many = workspaces.are_many().then_some(Many { paths: &paths, recursive: selection.recursive });
    if many.is_none() {
        first_failure(&plans)?;
    }
    if arguments.check || arguments.dry_run {
        show(&workspaces, &plans, many, ui);
        return Ok(match plans.iter().all(Result::is_ok) {
            true if arguments.check && plans.iter().flatten().any(UpgradePlan::moves) => Outcome::Found,
            true => Outcome::Done,
            false => Outcome::Failed,
        });
    }
    let downloads = ui.progress(None);
    let results =
        workspaces.upgrade(&supplies, &options, &plans, &|package, progress| downloads.note(package, progress));
    drop(downloads);
    let shared = show_shared_facts(&connections, ui);
    if many.is_none() {
        first_failure(&results)?;
    }
    tell(&workspaces, &plans, &results, &shared, many, ui);
    Ok(if results.iter().all(Result::is_ok) { Outcome::Done } else { Outcome::Failed })
}

/// Shows what would move, and how the configuration would change.
fn show(workspaces: &Workspaces, plans: &[Result<UpgradePlan>], many: Option<Many<'_>>, ui: &Ui) {
    let members = workspaces.members().filter_map(|(index, member)| Some((member, plans[index].as_ref().ok()?)));
    let members: Vec<(&Member, &UpgradePlan)> = members.collect();
    let warnings = members.iter().flat_map(|(member, plan)| {
        let warnings = member.warnings.iter().chain(&plan.warnings).chain(&member.requirements.warnings);
        warnings.map(|warning| (Some(member.workspace.root.as_path()), warning))
    });
    let warnings: Vec<_> = warnings.collect();
    ui.warn(&by_cause(warnings.iter().copied(), many, ui.stderr_style.verbose));
    let shown: Vec<(&Workspace, &UpgradePlan)> =
        members.into_iter().map(|(member, plan)| (&member.workspace, plan)).collect();
    match ui.format {
        OutputFormat::Json => {
            let warnings = without_repetition(warnings.into_iter().map(|(_, warning)| warning));
            let failed: Vec<_> = workspaces.failures(plans).collect();
            ui.print(&json::plans(&shown, &failed, &warnings, &errors(plans), &ui.invocation));
        }
        OutputFormat::Markdown => ui.print(&markdown::upgrade(&shown, many.is_some())),
        _ => print_tables(&shown, many, ui),
    }
    ui.error(&by_cause(failures(plans), many, ui.stderr_style.verbose));
    let failed = plans.len() - shown.len();
    let shown: Vec<_> = shown.into_iter().map(|(_, plan)| plan).collect();
    let summary = match many {
        Some(many) if plans.is_empty() => vec![no_root_module(many.paths)],
        Some(_) => vec![table::summary_of_many(&shown, failed)],
        None => shown.into_iter().flat_map(table::summary).collect(),
    };
    ui.status_lines(&summary);
}

/// Prints what would move: of many root modules what they have in common, or if more is to be said each for itself.
fn print_tables(shown: &[(&Workspace, &UpgradePlan)], many: Option<Many<'_>>, ui: &Ui) {
    if many.is_some() && !ui.stdout_style.verbose {
        ui.print(&table::table_of_many(shown));
    } else {
        for (place, (workspace, plan)) in shown.iter().enumerate() {
            if many.is_some() {
                let distance = if place == 0 { "" } else { "\n" };
                ui.print(&format!("{distance}{}:\n", printable(&workspace.root.display().to_string())));
            }
            ui.print(&table::table(workspace, plan));
        }
    }
    for FileRewrite { path, old, new } in rewrite::files(shown.iter().flat_map(|(_, plan)| &plan.edits)) {
        ui.print_change(&path, Some(old.as_bytes()), new.as_bytes());
    }
}

/// Tells what was written. The warnings in `shown` have been shown already, but for JSON.
fn tell(
    workspaces: &Workspaces,
    plans: &[Result<UpgradePlan>],
    results: &[Result<Locked<'_>>],
    shown: &[Diagnostic],
    many: Option<Many<'_>>,
    ui: &Ui,
) {
    let upgraded =
        results.iter().zip(plans).filter_map(|(locked, plan)| Some((locked.as_ref().ok()?, plan.as_ref().ok()?)));
    let upgraded: Vec<(&Locked<'_>, &UpgradePlan)> = upgraded.collect();
    let warnings = upgraded.iter().flat_map(|(locked, plan)| {
        let warnings = locked.member.warnings.iter().chain(&plan.warnings).chain(&locked.outcome.warnings);
        warnings.map(|warning| (Some(locked.member.workspace.root.as_path()), warning))
    });
    let warnings: Vec<_> = warnings.collect();
    ui.warn(&by_cause(warnings.iter().copied(), many, ui.stderr_style.verbose));
    let locked: Vec<&Locked<'_>> = upgraded.iter().map(|(locked, _)| *locked).collect();
    match many {
        Some(_) => ui.status_lines(&text::lines_of_many(&locked, ui.stderr_style)),
        None => locked.iter().for_each(|locked| ui.status_lines(&Report(locked).lines(ui.stderr_style))),
    }
    // A constraint that root modules share is rewritten once.
    let edits: BTreeSet<String> = upgraded.iter().flat_map(|(_, plan)| table::edits(plan)).collect();
    ui.status_lines(&edits.into_iter().collect::<Vec<_>>());
    ui.error(&by_cause(failures(results), many, ui.stderr_style.verbose));
    match many {
        Some(many) if results.is_empty() => ui.status(&no_root_module(many.paths)),
        Some(_) => {
            ui.status(&text::summary_of_many(["Upgraded", "Would upgrade"], &locked, results.len() - locked.len()));
        }
        None => {}
    }
    let carried_out: Vec<_> = upgraded.iter().map(|(_, plan)| *plan).collect();
    if let Some(hint) = table::held_back(&carried_out, many.is_some_and(|many| many.recursive)) {
        ui.status(&hint);
    }
    show_default_dialect(locked.iter().copied(), ui);
    show_stale_caches(locked.iter().copied(), ui);
    match ui.format {
        OutputFormat::Json => {
            let warnings = without_repetition(shown.iter().chain(warnings.into_iter().map(|(_, warning)| warning)));
            let failed: Vec<_> = workspaces.failures(results).collect();
            ui.print(&json::upgrade(&upgraded, &failed, &warnings, &errors(results), &ui.invocation));
        }
        OutputFormat::Markdown => {
            let plans: Vec<_> = upgraded.iter().map(|(locked, plan)| (&locked.member.workspace, *plan)).collect();
            ui.print(&markdown::upgrade(&plans, many.is_some()));
        }
        _ => {}
    }
}
