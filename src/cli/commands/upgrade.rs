//! `upgrade`: moves providers to newer versions, or shows where they could move.

use clap::Args;
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::Result;
use provlock::ops::UpgradePlan;
use provlock::provider_spec::ProviderSpec;
use provlock::requirements::rewrite::{self, FileRewrite};
use provlock::workspace::{LockOptions, Locked, Member, UpgradeOptions, Workspace, Workspaces};

use super::messages::{
    errors, first_failure, no_root_module, show_configurations, show_default_dialect, show_dialects, show_modules,
    show_stale_caches, without_repetition,
};
use super::outcome::Outcome;
use crate::cli::args::{self, AgeArgs, FormatArgs, GlobalArgs, SelectionArgs, SourceArgs, candidates};
use crate::cli::environment::environment;
use crate::cli::render::lock::{self as text, Report};
use crate::cli::render::{diff, json, upgrade as table};
use crate::cli::ui::Ui;

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
pub(crate) struct UpgradeArgs {
    /// Only these providers, each to its newest version or to the one named [default: all]
    #[arg(value_name = "PROVIDER[@VERSION]", value_parser = args::provider_at_version)]
    #[arg(add = ArgValueCandidates::new(candidates::providers))]
    providers: Vec<ProviderSpec>,
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

pub(crate) fn run(arguments: &UpgradeArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let UpgradeArgs { selection, age, source, .. } = arguments;
    let environment = environment();
    let lock = selection.lock_options(&arguments.providers, source, &environment);
    let options = UpgradeOptions {
        lock: LockOptions { min_age: age.min_age, ..lock },
        prereleases: arguments.pre,
        rewrite_constraints: arguments.constraints,
    };
    let connections = source.connections(&environment, Some(age.services()))?;
    let modules = selection.modules.modules(&connections, &environment, source.offline);
    let waiting = ui.progress(Some("fetching modules"));
    let workspaces = selection.open(&options.lock, global, &environment, &modules);
    drop(waiting);
    show_modules(&modules, ui);
    let workspaces = workspaces?;
    show_dialects(&workspaces, ui);
    let supplies = workspaces.supplies(&connections, &options.lock);
    show_configurations(&connections, ui);
    let supplies = supplies?;
    let waiting = ui.progress(source.asked(workspaces.members().flat_map(|(_, member)| member.providers())).as_deref());
    let plans = workspaces.plan_upgrades(&supplies, &options);
    drop(waiting);
    if !selection.is_recursive() {
        first_failure(&plans)?;
    }
    if arguments.check || arguments.dry_run {
        show(&workspaces, &plans, arguments, ui);
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
    if !selection.is_recursive() {
        first_failure(&results)?;
    }
    tell(&plans, &results, arguments, ui);
    Ok(if results.iter().all(Result::is_ok) { Outcome::Done } else { Outcome::Failed })
}

/// Shows what would move, and how the configuration would change.
fn show(workspaces: &Workspaces, plans: &[Result<UpgradePlan>], arguments: &UpgradeArgs, ui: &Ui) {
    let is_recursive = arguments.selection.is_recursive();
    let members = workspaces.members().filter_map(|(index, member)| Some((member, plans[index].as_ref().ok()?)));
    let members: Vec<(&Member, &UpgradePlan)> = members.collect();
    let of_lock_files = members.iter().flat_map(|(member, _)| &member.warnings);
    let of_plans = members.iter().flat_map(|(_, plan)| &plan.warnings);
    let of_configurations = members.iter().flat_map(|(member, _)| &member.requirements.warnings);
    let warnings = without_repetition(of_lock_files.chain(of_plans).chain(of_configurations));
    let errors = errors(plans);
    ui.warn(&warnings);
    let shown: Vec<(&Workspace, &UpgradePlan)> =
        members.into_iter().map(|(member, plan)| (&member.workspace, plan)).collect();
    if ui.is_json() {
        ui.print(&json::plans(&shown, &warnings, &errors, &ui.invocation));
    } else {
        for (place, (workspace, plan)) in shown.iter().enumerate() {
            if is_recursive {
                let distance = if place == 0 { "" } else { "\n" };
                ui.print(&format!("{distance}{}:\n", workspace.root.display()));
            }
            ui.print(&table::table(plan, workspace.dialect));
        }
        for FileRewrite { path, old, new } in rewrite::files(shown.iter().flat_map(|(_, plan)| &plan.edits)) {
            ui.print(&diff::unified(&path, Some(old.as_bytes()), Some(new.as_bytes()), ui.stdout_style.color));
        }
    }
    ui.error(&errors);
    let shown: Vec<_> = shown.into_iter().map(|(_, plan)| plan).collect();
    let summary = if is_recursive && plans.is_empty() {
        vec![no_root_module(arguments.selection.directories())]
    } else if is_recursive {
        vec![table::summary_of_many(&shown, plans.len() - shown.len())]
    } else {
        shown.into_iter().flat_map(table::summary).collect()
    };
    ui.status_lines(&summary);
}

/// Tells what was written.
fn tell(plans: &[Result<UpgradePlan>], results: &[Result<Locked<'_>>], arguments: &UpgradeArgs, ui: &Ui) {
    let is_recursive = arguments.selection.is_recursive();
    let upgraded =
        results.iter().zip(plans).filter_map(|(locked, plan)| Some((locked.as_ref().ok()?, plan.as_ref().ok()?)));
    let upgraded: Vec<(&Locked<'_>, &UpgradePlan)> = upgraded.collect();
    let of_lock_files = upgraded.iter().flat_map(|(locked, _)| &locked.member.warnings);
    let of_plans = upgraded.iter().flat_map(|(_, plan)| &plan.warnings);
    let of_outcomes = upgraded.iter().flat_map(|(locked, _)| &locked.outcome.warnings);
    let warnings = without_repetition(of_lock_files.chain(of_plans).chain(of_outcomes));
    let errors = errors(results);
    ui.warn(&warnings);
    for (locked, plan) in &upgraded {
        let report = Report(locked);
        let mut lines =
            if is_recursive { report.lines_of_many(ui.stderr_style) } else { report.lines(ui.stderr_style) };
        lines.extend(table::edits(plan));
        ui.status_lines(&lines);
    }
    ui.error(&errors);
    if is_recursive && results.is_empty() {
        ui.status(&no_root_module(arguments.selection.directories()));
    } else if is_recursive {
        let locked: Vec<_> = upgraded.iter().map(|(locked, _)| *locked).collect();
        ui.status(&text::summary_of_many(["Upgraded", "Would upgrade"], &locked, results.len() - locked.len()));
    }
    let carried_out: Vec<_> = upgraded.iter().map(|(_, plan)| *plan).collect();
    if let Some(hint) = table::held_back(&carried_out, is_recursive) {
        ui.status(&hint);
    }
    show_default_dialect(upgraded.iter().map(|(locked, _)| *locked), ui);
    show_stale_caches(upgraded.iter().map(|(locked, _)| *locked), ui);
    if ui.is_json() {
        ui.print(&json::upgrade(&upgraded, &warnings, &errors, &ui.invocation));
    }
}
