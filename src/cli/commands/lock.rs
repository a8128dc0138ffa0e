//! `lock`: writes the lock file that the configuration asks for.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::{Diagnostic, Result};
use provlock::workspace::{LockOptions, Locked, Workspaces};

use super::messages::{
    errors, failures, first_failure, no_root_module, show_configurations, show_decisions, show_default_dialect,
    show_modules, show_origin, show_shared_facts, show_stale_caches,
};
use super::outcome::Outcome;
use crate::cli::args::{AgeArgs, FormatArgs, GlobalArgs, SelectionArgs, SourceArgs, Targets, candidates};
use crate::cli::environment::environment;
use crate::cli::render::causes::{Many, by_cause, without_repetition};
use crate::cli::render::json;
use crate::cli::render::lock::{self as text, Report};
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  provlock lock -p linux_amd64,darwin_arm64   # the platforms of your team and of CI
  provlock lock -p all                        # every platform that the registry lists
  provlock lock --check                       # in CI: exit 1 if the file would change
  provlock lock -r                            # every root module below";

/// Lock every required provider, with hashes for the requested platforms
///
/// Reads the configuration and the modules that it calls, keeps the versions that are locked, selects the newest allowed
/// version for each other provider, verifies signatures and checksums, and edits the lock file in place. Everything is
/// fetched in parallel and nothing twice. Neither `init` nor `tofu` or `terraform` is needed.
///
/// Without -p, hashes are added for the platforms of provlock.toml, else only for the current one. An entry whose hashes
/// do not match the published release is refused.
#[derive(Args)]
#[command(before_help = "Example: provlock lock -p linux_amd64,darwin_arm64", before_long_help = EXAMPLES)]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check: the file would change or has a hash that was never published, 2 failed"
)]
pub(crate) struct LockArgs {
    /// Only these providers [default: all that are required]; and root modules, by a directory or a file in it [default: .]
    #[arg(value_name = "PROVIDER|PATH", value_hint = ValueHint::AnyPath)]
    #[arg(add = ArgValueCandidates::new(candidates::providers))]
    targets: Vec<OsString>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    pub(super) format: FormatArgs,
    /// Write nothing; exit with 1 if the lock file would change or has a `zh:` that was never published
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

impl LockArgs {
    /// What is named: paths, and names of providers, which lie in no other repository as paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.targets.iter().map(PathBuf::from)
    }
}

pub(crate) fn run(arguments: &LockArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let LockArgs { selection, age, source, .. } = arguments;
    let environment = environment(&ui.invocation.secrets);
    let Targets { providers, paths } = Targets::without_versions(&arguments.targets)?;
    let options = LockOptions {
        min_age: age.min_age,
        dry_run: arguments.check || arguments.dry_run,
        ..selection.lock_options(&providers, source, &environment)
    };
    let connections = source.connections(&environment, Some(age.services()), ui.request_observer())?;
    show_origin(&source.origin(), &environment, ui);
    let modules = selection.modules.modules(&connections, &environment, source.offline);
    let waiting = ui.progress(Some("fetching modules"));
    let workspaces = selection.open(&paths, &options, global, &environment, &modules);
    drop(waiting);
    show_modules(&modules, ui);
    let workspaces = workspaces?;
    show_decisions(&workspaces, ui);
    let supplies = workspaces.supplies(&connections, &options);
    show_configurations(&connections, ui);
    let downloads =
        ui.progress(source.asked(workspaces.members().flat_map(|(_, member)| member.providers())).as_deref());
    let results = workspaces.lock(&supplies?, &options, &|package, progress| downloads.note(package, progress));
    drop(downloads);
    let shared = show_shared_facts(&connections, ui);
    let many = workspaces.are_many().then_some(Many { paths: &paths, recursive: selection.recursive });
    if many.is_none() {
        first_failure(&results)?;
    }
    show(&workspaces, &results, &shared, many, arguments, ui);
    let is_wrong = |locked: &Locked<'_>| locked.changed || locked.outcome.unpublished_hashes > 0;
    Ok(match results.iter().all(Result::is_ok) {
        true if arguments.check && results.iter().flatten().any(is_wrong) => Outcome::Found,
        true => Outcome::Done,
        false => Outcome::Failed,
    })
}

/// Shows what became of every root module. The warnings in `shown` have been shown already, but for JSON.
fn show(
    workspaces: &Workspaces,
    results: &[Result<Locked<'_>>],
    shown: &[Diagnostic],
    many: Option<Many<'_>>,
    arguments: &LockArgs,
    ui: &Ui,
) {
    let locked: Vec<&Locked<'_>> = results.iter().flatten().collect();
    let warnings = locked.iter().flat_map(|locked| {
        let warnings = locked.member.warnings.iter().chain(&locked.outcome.warnings);
        warnings.map(|warning| (Some(locked.member.workspace.root.as_path()), warning))
    });
    let warnings: Vec<_> = warnings.collect();
    ui.warn(&by_cause(warnings.iter().copied(), many, ui.stderr_style.verbose));
    match many {
        Some(_) => ui.status_lines(&text::lines_of_many(&locked, ui.stderr_style)),
        None => locked.iter().for_each(|locked| ui.status_lines(&Report(locked).lines(ui.stderr_style))),
    }
    ui.error(&by_cause(failures(results), many, ui.stderr_style.verbose));
    match many {
        Some(many) if results.is_empty() => ui.status(&no_root_module(many.paths)),
        Some(_) => ui.status(&text::summary_of_many(["Locked", "Would lock"], &locked, results.len() - locked.len())),
        None => {}
    }
    if locked.iter().any(|locked| locked.member.has_default_platform && Report(locked).has_written_for_one_platform()) {
        ui.status("Other platforms: provlock lock -p all, or set platforms in provlock.toml");
    }
    if arguments.check {
        ui.status_lines(&text::not_looked_at(&locked).into_iter().collect::<Vec<_>>());
    }
    show_default_dialect(locked.iter().copied(), ui);
    show_stale_caches(locked.iter().copied(), ui);
    if ui.is_json() {
        let warnings = without_repetition(shown.iter().chain(warnings.into_iter().map(|(_, warning)| warning)));
        let failed: Vec<_> = workspaces.failures(results).collect();
        ui.print(&json::lock(&locked, &failed, &warnings, &errors(results), &ui.invocation));
    } else if arguments.dry_run {
        for Locked { member, bytes, .. } in locked.iter().filter(|locked| locked.changed) {
            let old = member.workspace.lock_bytes.as_deref();
            ui.print_change(&member.workspace.lock_path, old, bytes);
        }
    }
}
