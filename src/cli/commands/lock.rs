//! `lock`: writes the lock file that the configuration asks for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::project::{Batches, LockOptions, Locked, Repositories, RootSelection, Supplies, Workspaces};

use super::collected::Collected;
use super::messages::{Said, show_decisions, show_origin, show_shared_facts};
use super::outcome::Outcome;
use crate::cli::args::{AgeArgs, FormatArgs, GlobalArgs, SelectionArgs, SourceArgs, Targets, candidates};
use crate::cli::environment::environment;
use crate::cli::render::causes::Many;
use crate::cli::render::json::CommandName;
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
    let (settings, repositories) = (global.settings(&environment)?, Repositories::default());
    let roots = RootSelection {
        recursive: selection.recursive,
        dialect: global.dialect,
        settings: settings.as_ref(),
        ..RootSelection::new(&paths, &environment, &modules, &repositories)
    };
    let waiting = ui.progress(Some("fetching modules"));
    let batches = Batches::open(&roots, &options);
    drop(waiting);
    let mut said = Said::default();
    said.show_modules(&modules, ui);
    let batches = batches?;
    let many = batches.are_many().then_some(Many { paths: &paths, recursive: selection.recursive });
    let results = Mutex::new((Collected::new(many, ui), Hints::default()));
    let mut supplies = Supplies::new(&batches);
    let downloads = ui.progress(source.asked(batches.first_providers()).as_deref());
    let prepare = |batch: &Workspaces| {
        show_decisions(batch, ui);
        let supplies = supplies.provide(batch, &connections, &options);
        said.show_configurations(&connections, ui);
        supplies
    };
    batches.for_each(prepare, |batch, supplies, turn| {
        let all_locked = batch.lock(&supplies, &options, &|package, progress| downloads.note(package, progress));
        turn.wait();
        let (collected, hints) = &mut *results.lock().unwrap_or_else(PoisonError::into_inner);
        for locked in all_locked.iter().flatten() {
            hints.add(locked);
            collected.add(locked, None);
            if arguments.dry_run && locked.changed && !ui.is_json() {
                let workspace = &locked.member.workspace;
                ui.print_change(&workspace.lock_path, workspace.lock_bytes.as_deref(), &locked.bytes);
            }
        }
        collected.add_failures(batch, &all_locked);
    });
    let (mut collected, hints) = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    drop(downloads);
    said.show_modules(&modules, ui);
    collected.add_shown(&show_shared_facts(&connections, ui));
    let has_failures = collected.failed() > 0;
    collected.show_warnings()?;
    collected.show(&[], |tally| many.map(|_| tally.summary(["Locked", "Would lock"])).into_iter().collect());
    hints.show(arguments.check, ui);
    collected.finish(CommandName::Lock);
    Ok(match has_failures {
        true => Outcome::Failed,
        false if arguments.check && hints.is_wrong => Outcome::Found,
        false => Outcome::Done,
    })
}

/// What is said once of all root modules.
#[derive(Default)]
struct Hints {
    /// Whether a lock file would change or has a hash that was never published.
    is_wrong: bool,
    /// Whether an entry was written that can only be sure to fit the platform of this machine, which nobody named.
    is_for_one_platform: bool,
    /// Which platforms were not looked at, where nobody names any.
    looked_at_one: Option<String>,
    /// Which platforms of the settings were not looked at.
    not_looked_at: Option<String>,
}

impl Hints {
    fn add(&mut self, locked: &Locked<'_>) {
        let is_default = locked.member.has_default_platform;
        self.is_wrong |= locked.changed || locked.outcome.unpublished_hashes > 0;
        self.is_for_one_platform |= is_default && Report(locked).has_written_for_one_platform();
        let not_looked_at = if is_default { &mut self.looked_at_one } else { &mut self.not_looked_at };
        if not_looked_at.is_none() {
            *not_looked_at = text::not_looked_at(locked);
        }
    }

    fn show(&self, check: bool, ui: &Ui) {
        if self.is_for_one_platform {
            ui.status("Other platforms: provlock lock -p all, or set platforms in provlock.toml");
        }
        if let Some(line) = self.looked_at_one.as_ref().or(self.not_looked_at.as_ref()).filter(|_| check) {
            ui.status(line);
        }
    }
}
