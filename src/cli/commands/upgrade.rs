//! `upgrade`: moves providers and modules to newer versions, or shows where they could move.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use provlock::configuration::rewrite::{self, ConstraintEdit, FileRewrite};
use provlock::diagnostic::Result;
use provlock::project::{Event, Locked, RootModule, Selection, UpgradeOptions, UpgradePlan};

use crate::cli::args::{AgeArgs, FormatArgs, OutputFormat, SelectionArgs, SourceArgs, TargetArgs, Targets};
use crate::cli::render::foreign::printable;
use crate::cli::render::held_back;
use crate::cli::render::markdown;
use crate::cli::render::upgrade::{self as table, Moving, Outlooks};
use crate::cli::run::choice::{check_terminal, choose};
use crate::cli::run::collected::Collected;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_locking;
use crate::cli::ui::{Ui, table_columns};

const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Markdown];

const TARGETS: &str = "PROVIDER[@VERSION]|MODULE[@VERSION]|PATH";
const TARGETS_HELP: &str =
    "Only these providers or modules (module.NAME) [default: all providers], and root modules by path [default: .]";
const TARGETS_LONG_HELP: &str = "\
    Only these providers or modules (module.NAME) [default: all providers], and root modules by path [default: .]\n\n\
    Each moves to its newest version, or to the one that is named. A path is a directory, or a file in it.";

const EXAMPLES: &str = "Examples:
  provlock upgrade --check                # a table: locked, allowed, newest, and what holds it back
  provlock upgrade --dry-run              # the same, and the change as a diff
  provlock upgrade                        # every provider, to the newest allowed version
  provlock upgrade hashicorp/aws@5.80.0   # this provider, to this version
  provlock upgrade -i                     # choose what moves
  provlock upgrade --constraints          # also rewrite version constraints in the configuration
  provlock upgrade --modules              # providers and modules
  provlock upgrade module.network@5.14.0  # this module, to this version";

/// Move providers and modules to newer versions
///
/// Each provider moves to the newest version that the constraints, the policy and --min-age allow, with hashes for the
/// requested platforms; every other entry stays as it is. With --constraints the constraints in the configuration
/// are rewritten where they do not allow the newest version.
///
/// Modules move with --modules, or where one is named by the address of its call: a registry's module to the newest
/// version that its constraint allows, a branch to its newest commit. With --constraints, a tag in `?ref=` makes room
/// for the newest tag of the same form, and a commit with a tag in a comment beside it for the commit of that tag.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock upgrade hashicorp/aws hashicorp/random@3.6.3", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done, 1 --check: can move or has an unpublished hash, 2 failed")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
#[command(mut_arg("targets", |targets| targets.value_name(TARGETS).help(TARGETS_HELP).long_help(TARGETS_LONG_HELP)))]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Move the modules, too, and lock them
    #[arg(long = "modules", help_heading = "Selection")]
    with_modules: bool,
    /// Rewrite constraints and refs, too
    #[arg(long, help_heading = "Selection")]
    constraints: bool,
    /// Include prereleases; only a constraint that names one exactly allows it
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    pre: bool,
    /// Allow a lower version although the constraints allow the locked one
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    allow_downgrade: bool,
    /// Choose what moves, on a terminal
    ///
    /// What can move is listed with numbers, the same in many root modules once. A module moves in all root modules
    /// that call it by that name.
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
    /// Prints a table of what can move and what cannot; no package is downloaded. It also exits with 1 if an entry that
    /// stays has a hash that is known to be unpublished; hashes are compared as lock --check compares them. How many
    /// could not be compared is said; verify --online compares all.
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    ///
    /// Then the table of --check. Packages are downloaded, and looked at, as without it.
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

pub(crate) fn run(arguments: &UpgradeArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let UpgradeArgs { selection, age, source, .. } = arguments;
    if arguments.interactive {
        check_terminal()?;
    }
    let (named, Targets { providers, modules, .. }) = arguments.targets.read(arguments.with_modules)?;
    let mut options = UpgradeOptions::default();
    options.lock = selection.lock_options(providers, age.min_age);
    options.lock.dry_run = arguments.check || arguments.dry_run;
    options.plan_only = arguments.check && !arguments.dry_run;
    options.compare_hashes = options.plan_only;
    options.prereleases = arguments.pre;
    options.release_info = options.lock.dry_run || arguments.interactive || ui.format != OutputFormat::Text;
    options.allow_downgrade = arguments.allow_downgrade;
    options.rewrite_constraints = arguments.constraints;
    (options.modules, options.calls) = (arguments.with_modules, modules);
    let mut upgraded = Upgraded::new(&named, &options, arguments.check, ui);
    upgraded.is_offline = source.offline;
    let outlooks = Mutex::new(Outlooks::default());
    let mut session = start_locking(ui, &named.paths, (&selection.modules, age, source))?;
    let roots = session.roots(&named)?;
    if arguments.interactive {
        session = session.observed_by(|event| {
            if let Event::Planned(prepared, plan) = event {
                outlooks.lock().unwrap_or_else(PoisonError::into_inner).add(&prepared.root, plan);
            }
        });
        let mut planned = options.clone();
        planned.plan_only = true;
        session.upgrade(&roots, &planned)?;
        if !choose(&outlooks.lock().unwrap_or_else(PoisonError::into_inner), &mut options, ui) {
            ui.status("Nothing was chosen: no file was changed");
            return Ok(Outcome::Done);
        }
    }
    let session = session.observed_by(|event| upgraded.add(event));
    session.upgrade(&roots, &options)?;
    drop(session);
    let has_failures = upgraded.collected.failed() > 0;
    let has_found = upgraded.moving.any() || upgraded.collected.unpublished > 0;
    upgraded.show()?;
    Ok(Outcome::of(has_failures, arguments.check && has_found))
}

/// Maximum number of lines about what holds providers back.
const MOST_REASONS: usize = 10;

/// What became of root modules, or what would.
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
struct Upgraded<'a> {
    ui: &'a Ui,
    /// Whether nothing is written.
    is_dry: bool,
    is_check: bool,
    is_offline: bool,
    /// Whether no package was looked at either.
    is_planned: bool,
    collected: Collected<'a>,
    moving: Moving,
    outlooks: Outlooks,
    held_back: BTreeSet<String>,
    /// The providers and modules that are held back by constraints which --constraints could rewrite.
    constrained: BTreeSet<String>,
    /// Whether constraints are rewritten.
    rewrites: bool,
    /// Whether lines say what holds providers back: the user named these, and no table shows it.
    shows_reasons: bool,
    /// The constraints that are rewritten; one that root modules share is rewritten once.
    edited: BTreeSet<table::Edited>,
    edits: Vec<ConstraintEdit>,
    /// What would move in the only root module.
    table: String,
    /// What is said of it.
    summary: Vec<String>,
}

impl<'a> Upgraded<'a> {
    fn new(selection: &'a Selection, options: &UpgradeOptions, is_check: bool, ui: &'a Ui) -> Self {
        Self {
            ui,
            is_dry: options.lock.dry_run,
            is_check,
            is_offline: false,
            is_planned: options.plan_only,
            collected: Collected::new(selection, ui),
            moving: Moving::default(),
            outlooks: Outlooks::default(),
            held_back: BTreeSet::new(),
            constrained: BTreeSet::new(),
            rewrites: options.rewrite_constraints,
            shows_reasons: !options.lock.dry_run && !options.lock.providers.is_empty(),
            edited: BTreeSet::new(),
            edits: Vec::new(),
            table: String::new(),
            summary: Vec::new(),
        }
    }

    /// Adds what became of a root module. Prints what would move in one for which nothing is to be written, if that is
    /// to be shown.
    fn add(&mut self, event: Event<'_>) {
        self.collected.add(event);
        match event {
            Event::Locked(locked @ Locked { plan: Some(plan), .. }) => {
                if self.is_dry && self.ui.format == OutputFormat::Text {
                    self.ui.print_changes(locked);
                }
                self.add_plan(&locked.prepared.root, plan);
            }
            Event::Planned(prepared, plan) => {
                self.add_plan(&prepared.root, plan);
                self.summary = table::summary(plan);
            }
            _ => {}
        }
    }

    fn add_plan(&mut self, root: &RootModule, plan: &UpgradePlan) {
        if self.is_dry && self.ui.format == OutputFormat::Text {
            self.add_table(root, plan);
            self.edits.extend(plan.edits.iter().cloned());
        }
        self.moving.add(plan);
        self.outlooks.add(root, plan);
        self.held_back.extend(held_back::held_back(plan));
        self.constrained.extend(held_back::constrained(plan));
        self.edited.extend(table::edited(&plan.edits));
    }

    /// Shows what would move in a root module, if each has a table of its own.
    fn add_table(&mut self, root: &RootModule, plan: &UpgradePlan) {
        if self.collected.many.is_none() {
            self.table = table::table(root, plan, table_columns());
        } else if self.ui.stdout_style.verbose {
            let distance = if self.moving.is_empty() { "" } else { "\n" };
            self.ui.print(&format!("{distance}{}:\n", printable(&root.path().display().to_string())));
            self.ui.print_fitted(&table::table(root, plan, table_columns()));
        }
    }

    fn show(mut self) -> Result<()> {
        self.collected.show_warnings()?;
        let ui = self.ui;
        if self.is_dry {
            self.print();
        }
        let edits: Vec<_> =
            if self.is_dry { Vec::new() } else { self.edited.iter().map(table::Edited::text).collect() };
        let (moving, one, many) = (&self.moving, &self.summary, self.collected.many);
        self.collected.show(&edits, |tally| match many {
            Some(many) if self.is_planned => vec![moving.summary(tally.failed, many.noun())],
            Some(_) => vec![tally.summary(["Upgraded", "Would upgrade"])],
            None => one.clone(),
        });
        let recursive = many.is_some_and(|many| many.selection.recursive);
        let reasons = if self.shows_reasons { self.outlooks.reasons() } else { Vec::new() };
        ui.status_lines(&reasons[..reasons.len().min(MOST_REASONS)]);
        let hint = if self.is_dry {
            held_back::constraints_can_change(&self.constrained, recursive).filter(|_| !self.rewrites)
        } else {
            held_back::more_is_possible(&self.held_back, recursive)
        };
        if let Some(hint) = hint {
            ui.status(&hint);
        }
        self.collected.show_incomplete(self.is_offline);
        if !self.is_dry {
            self.print();
        }
        self.collected.finish(self.is_check);
        Ok(())
    }

    /// Prints the result for all root modules, unless it is JSON.
    fn print(&self) {
        match self.ui.format {
            OutputFormat::Markdown => {
                self.ui.print(&markdown::upgrade(&self.outlooks, &self.edited, self.collected.many.is_some()));
            }
            OutputFormat::Text if self.is_dry => {
                for FileRewrite { path, old, new } in rewrite::files(&self.edits) {
                    self.ui.print_change(&path, Some(old.as_bytes()), new.as_bytes());
                }
                if self.moving.any() && !self.is_planned {
                    self.ui.print("\n");
                }
                match self.collected.many {
                    None => self.ui.print_fitted(&self.table),
                    Some(_) if self.ui.stdout_style.verbose => {}
                    Some(_) => self.ui.print_fitted(&self.outlooks.table(table_columns())),
                }
            }
            _ => {}
        }
    }
}
