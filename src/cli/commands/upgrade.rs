//! `upgrade`: upgrades providers and modules to newer versions, or shows the possible upgrades.

use std::collections::BTreeSet;

use clap::Args;
use provlock::configuration::rewrite;
use provlock::project::UpgradeOptions;

use crate::cli::args::{
    AgeArgs, FormatArgs, OutputFormat, SelectionArgs, SourceArgs, TargetArgs, Targets,
};
use crate::cli::render::foreign::printable;
use crate::cli::render::lock::KnownRows;
use crate::cli::render::markdown;
use crate::cli::render::upgrade::{self as table, MoveGroup};
use crate::cli::run::choice::{check_terminal, choose_moves};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::results::{Kept, Results, RootResult};
use crate::cli::run::session::start_locking_session;
use crate::cli::ui::{Ui, table_columns};

const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Json,
    OutputFormat::Markdown,
];

const TARGETS: &str = "PROVIDER[@VERSION]|MODULE[@VERSION]|PATH";
const TARGETS_HELP: &str = "Only these providers or modules (module.NAME) [default: all providers], and root modules by path [default: .]";
const TARGETS_LONG_HELP: &str = "\
    Only these providers or modules (module.NAME) [default: all providers], and root modules by path [default: .]\n\n\
    Each moves to its newest version, or to the given one. A path is a directory, or a file in it.";

const EXAMPLES: &str = "Examples:
  # What could move, and what holds it back
  provlock upgrade --check
  # The same, and the change as a diff
  provlock upgrade --dry-run
  # Every provider, to the newest allowed version
  provlock upgrade
  # This provider, to this version
  provlock upgrade hashicorp/aws@5.80.0
  # Choose what moves
  provlock upgrade -i
  # Also rewrite version constraints
  provlock upgrade --constraints
  # Providers and modules
  provlock upgrade --modules
  # This module, to this version
  provlock upgrade module.network@5.14.0";

/// Move providers and modules to newer versions
///
/// Each provider moves to the newest version that the constraints, the policy and --min-age allow,
/// with hashes for the requested platforms; other entries stay as they are. --constraints also
/// rewrites constraints in the configuration that do not allow the newest version.
///
/// Modules move with --modules, or if you name them by the addresses of their calls: a registry's
/// module to the newest version that its constraint allows, a branch to its newest commit.
/// --constraints also replaces a tag in `?ref=` or `?tag=` by the newest tag of the same form, and
/// a commit or digest with a tag in a comment beside it by the commit or digest of that tag.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock upgrade hashicorp/aws hashicorp/random@3.6.3", before_long_help = EXAMPLES)]
#[command(
    after_help = "Exit codes: 0 done, 1 --check: can move or has an unpublished hash, 2 failed"
)]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
#[command(mut_arg("targets", |targets| targets.value_name(TARGETS).help(TARGETS_HELP).long_help(TARGETS_LONG_HELP)))]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Also move the modules, and lock them
    #[arg(long = "modules", help_heading = "Selection")]
    with_modules: bool,
    /// Also rewrite constraints and refs
    #[arg(long, help_heading = "Selection")]
    constraints: bool,
    /// Include prereleases; only a constraint that names one exactly allows it
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    pre: bool,
    /// Allow a lower version even if the constraints allow the locked one
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    allow_downgrade: bool,
    /// Choose the providers and modules on a terminal
    ///
    /// Lists the possible moves with numbers; the same move in many root modules is listed once. A
    /// module moves in all root modules that call it by that name.
    #[arg(short, long, help_heading = "Selection", conflicts_with = "check")]
    interactive: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if something can move
    ///
    /// Prints a table of possible and blocked moves, without downloading packages. Also exits with
    /// 1 if an entry that stays has a hash that is known to be unpublished, compared as by lock
    /// --check. Prints the number of hashes that could not be compared; verify --online compares
    /// all.
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    ///
    /// Also prints the table of --check. Packages are downloaded and checked as usual.
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Upgrades the selected root modules, after the user has chosen among the possible moves if the
/// run is interactive.
pub(crate) fn run(arguments: &UpgradeArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let UpgradeArgs {
        selection,
        age,
        source,
        ..
    } = arguments;
    if arguments.interactive {
        check_terminal()?;
    }
    let (mut selected, targets) = arguments.targets.selection_and_names()?;
    selected.with_modules = arguments.with_modules;
    ui.invocation.set_names("upgrade", &targets);
    let Targets {
        providers, modules, ..
    } = targets;
    let mut options = UpgradeOptions::default();
    options.lock = selection.lock_options(providers, age.min_age);
    options.lock.dry_run = arguments.check || arguments.dry_run;
    // A check needs the plan alone; a dry run shows the new files, too.
    options.plan_only = arguments.check && !arguments.dry_run;
    options.compare_hashes = options.plan_only;
    options.prereleases = arguments.pre;
    // Dates and pages of releases cost requests, and only these outputs show them.
    options.release_info =
        options.lock.dry_run || arguments.interactive || ui.format != OutputFormat::Text;
    options.allow_downgrade = arguments.allow_downgrade;
    options.rewrite_constraints = arguments.constraints;
    options.modules = arguments.with_modules;
    options.calls = modules;
    let session = start_locking_session(ui, &selected.paths, &selection.modules, age, source)?;
    let roots = session.roots(&selected)?;
    let with_files = options.lock.dry_run && ui.format == OutputFormat::Text;
    let mut kept = Kept {
        may_be_several: roots.may_be_several(),
        with_files,
        is_offline: source.offline,
        rows: KnownRows::default(),
    };
    // First everything is planned. The choice then narrows the run that writes.
    if arguments.interactive {
        let mut planned = options.clone();
        planned.plan_only = true;
        let report = session.upgrade(&roots, &planned, |outcome| {
            RootResult::new(&outcome, &mut kept, ui)
        })?;
        let mut plans = Vec::new();
        for (path, result) in &report.roots {
            if let Ok(root) = result
                && let Some(plan) = &root.plan
            {
                plans.push((path.as_path(), plan));
            }
        }
        if !choose_moves(&table::group_moves(plans.into_iter()), &mut options, ui) {
            ui.status("Nothing was chosen: no file was changed");
            return Ok(Outcome::Done);
        }
    }
    let report = session.upgrade(&roots, &options, |outcome| {
        RootResult::new(&outcome, &mut kept, ui)
    })?;
    drop(session);
    let results = Results::new(ui, &roots, &selected, report)?;
    let has_found = results.plans().any(|(_, plan)| plan.has_changes) || results.has_unpublished();
    let outcome =
        Outcome::failed_if(results.has_failures()).or_found_if(arguments.check && has_found);
    show_results(&results, &options, arguments.check, ui);
    Ok(outcome)
}

/// Maximum number of lines about providers that are held back.
const MOST_LINES_ABOUT_HELD_BACK: usize = 10;

/// Prints the result, and shows the upgrades, made or possible, and what holds others back.
/// `is_check` is `--check`: it and `--dry-run` write nothing, and it alone only plans.
fn show_results(results: &Results<'_>, options: &UpgradeOptions, is_check: bool, ui: &Ui) {
    let is_dry = options.lock.dry_run;
    let groups = table::group_moves(results.plans());
    let mut edited = BTreeSet::new();
    for (_, plan) in results.plans() {
        edited.extend(table::texts_of_edits(&plan.edits));
    }
    results.show_warnings();
    match ui.format {
        OutputFormat::Markdown => {
            ui.print(&markdown::pull_request_text(
                &groups,
                &edited,
                results.several.is_some(),
            ));
        }
        OutputFormat::Text if is_dry => {
            print_diffs_and_tables(results, &groups, options.plan_only, ui);
        }
        _ => {}
    }
    let summary = match results.several {
        Some(several) if options.plan_only => {
            vec![results.counts().in_words("can move", several.noun())]
        }
        Some(_) if is_dry => results.summary("Would upgrade").into_iter().collect(),
        Some(_) => results.summary("Upgraded").into_iter().collect(),
        None if options.plan_only => results
            .plans()
            .flat_map(|(_, plan)| &plan.summary)
            .cloned()
            .collect(),
        None => Vec::new(),
    };
    let edits: Vec<_> = if is_dry {
        Vec::new()
    } else {
        edited.iter().map(table::EditText::text).collect()
    };
    results.show_entries_and_summary(&edits, &summary);
    if !is_dry && !options.lock.providers.is_empty() {
        let lines = table::lines_about_held_back_providers(&groups);
        ui.statuses(lines.iter().take(MOST_LINES_ABOUT_HELD_BACK));
    }
    // Constraints that were rewritten hold nothing back.
    let may_be_held_back = !is_dry || !options.rewrite_constraints;
    if may_be_held_back && let Some(held_back) = table::count_held_back(&groups, is_dry) {
        let numbers = held_back.numbers;
        let mut words = vec!["upgrade"];
        if held_back.has_modules {
            words.push("--modules");
        }
        words.push(if is_dry { "--constraints" } else { "--check" });
        let upgrade = results.suggest(&words);
        ui.status(&if is_dry {
            format!("Constraints hold back {numbers}; to change them, too: {upgrade}")
        } else {
            format!("{numbers} held back from the newest version; see: {upgrade}")
        });
    }
    results.show_hints_and_json(is_check);
}

/// Prints the changes as diffs and the moves as tables.
fn print_diffs_and_tables(
    results: &Results<'_>,
    groups: &[MoveGroup<'_>],
    is_planned: bool,
    ui: &Ui,
) {
    let is_single = results.several.is_none();
    let width = table_columns();
    let has_table_of_each = !is_single && ui.stdout_style.verbose;
    for (index, root) in results.done.iter().enumerate() {
        ui.print_changes(&root.files);
        if has_table_of_each && let Some(plan) = &root.plan {
            let distance = if index == 0 { "" } else { "\n" };
            ui.print(&format!(
                "{distance}{}:\n",
                printable(&root.path.display().to_string())
            ));
            ui.print(&plan.table(&root.path, width));
        }
    }
    ui.print_changes(&rewrite::files(
        results.plans().flat_map(|(_, plan)| &plan.edits),
    ));
    if !is_planned && results.plans().any(|(_, plan)| plan.has_changes) {
        ui.print("\n");
    }
    if is_single {
        for (path, plan) in results.plans() {
            ui.print(&plan.table(path, width));
        }
    } else if !has_table_of_each {
        ui.print(&table::table(groups, width));
    }
}
