//! `pin`: rewrites the sources of modules to commits and digests.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use provlock::configuration::rewrite;
use provlock::project::{PinOptions, PinnedModules};

use crate::cli::args::{FormatArgs, OfflineArgs, RootArgs};
use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{PinnedRoot, Roots};
use crate::cli::render::style::count;
use crate::cli::render::upgrade;
use crate::cli::run::failures::split_failures;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  # Git sources: the commit, and the tag as a comment
  provlock pin
  # Also versions of registries, to the locked ones
  provlock pin --registry
  # In CI: exit 1 if a call could be pinned
  provlock pin --check -r";

/// Pin modules to commits and digests in the configuration
///
/// Replaces the tag or branch in git sources of your own calls by its commit, and the tag of an OCI
/// registry by its digest, and keeps the name as a comment, which `provlock upgrade --constraints`
/// reads. The commit or digest comes from .modules.lock.hcl, or for a call that is not locked from
/// the repository or the registry. Every other byte stays, and the entries of .modules.lock.hcl
/// change with the calls.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock pin", before_long_help = EXAMPLES)]
#[command(
    after_help = "Exit codes: 0 done or pinned already, 1 --check: a call could be pinned, 2 failed"
)]
#[command(mut_arg("no_fetch_modules", |flag| flag.hide(true)))]
pub(crate) struct PinArgs {
    #[command(flatten)]
    roots: RootArgs,
    /// Also pin modules of registries, to the locked version
    #[arg(long, help_heading = "Selection")]
    registry: bool,
    /// Skip the modules of test files
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    source: OfflineArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if a call could be pinned
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Pins the module calls of the selected root modules. A root module that fails does not stop the
/// others.
pub(crate) fn run(arguments: &PinArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let selection = arguments.roots.selection_with_modules();
    let session = start_session(ui, &selection.paths, |environment, options| {
        arguments.source.add_to(environment, options);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = PinOptions::default();
    options.registry = arguments.registry;
    options.ignore_tests = arguments.no_tests;
    options.dry_run = arguments.check || arguments.dry_run;
    let report = session.pin(&roots, options);
    // This clears the progress from the terminal.
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }

    let (done, failures) = split_failures(report.roots);
    let mut warnings = Vec::new();
    let mut pinned_roots = Vec::new();
    for (path, pinned) in &done {
        for warning in &pinned.warnings {
            warnings.push((Some(&**path), warning));
        }
        pinned_roots.push(PinnedRoot::new(path, pinned, !options.dry_run));
    }
    let several = SeveralRoots::unless_single(&roots, &selection, &ui.invocation);
    ui.warn_by_cause(warnings.iter().copied(), several);
    let number_pinned = show_pinned_calls(&done, !failures.is_empty(), arguments, ui);
    failures.show(several, ui);
    ui.print_json(
        Roots {
            roots: pinned_roots,
        },
        &distinct_diagnostics(warnings.iter().map(|(_, warning)| *warning)),
        &failures.distinct_errors(),
    );
    Ok(Outcome::failed_if(!failures.is_empty()).or_found_if(arguments.check && number_pinned > 0))
}

/// Shows the calls that were pinned, or would be, and returns their number.
fn show_pinned_calls(
    done: &[(PathBuf, PinnedModules)],
    has_failures: bool,
    arguments: &PinArgs,
    ui: &Ui,
) -> usize {
    // Root modules may share a module, whose call is edited once.
    let mut edited = BTreeSet::new();
    for (_, pinned) in done {
        edited.extend(upgrade::texts_of_edits(&pinned.edits));
    }
    if arguments.dry_run && !ui.is_json() {
        ui.print_changes(&rewrite::files(
            done.iter().flat_map(|(_, pinned)| &pinned.edits),
        ));
        ui.print_changes(
            done.iter()
                .filter_map(|(_, pinned)| pinned.lock_file.as_ref()),
        );
    } else {
        let lines: Vec<_> = edited.iter().map(upgrade::EditText::text).collect();
        ui.status_lines(&lines);
    }
    let verb = if arguments.check || arguments.dry_run {
        "Would pin"
    } else {
        "Pinned"
    };
    match edited.len() {
        // With failures it is not known whether every call is pinned.
        0 if has_failures => {}
        0 => ui.status("Nothing to pin"),
        number => ui.status(&format!("{verb} {}", count(number, "call"))),
    }
    edited.len()
}
