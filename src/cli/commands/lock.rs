//! `lock`: writes the lock file that the configuration asks for.

use clap::Args;
use provlock::project::RootOutcome;

use super::repair::{self, RepairFlags};
use crate::cli::args::{AgeArgs, FormatArgs, SelectionArgs, SourceArgs, TargetArgs};
use crate::cli::render::hints::lock_hints;
use crate::cli::render::lock::KnownRows;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::results::{Kept, Results, RootResult};
use crate::cli::run::session::start_locking_session;
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  # The platforms of your team and of CI
  provlock lock -p linux_amd64,darwin_arm64
  # Every platform that the registry lists
  provlock lock -p all
  # In CI: exit 1 if the file would change
  provlock lock --check
  # Every root module below
  provlock lock -r
  # What a bot has left in a form that init refuses
  provlock lock --repair";

/// Lock every required provider, with hashes for the requested platforms
///
/// Reads the configuration and the modules that it calls, keeps locked versions, selects the newest
/// allowed version for each other provider, verifies signatures and checksums, and edits the lock
/// file in place. Each package is fetched once, in parallel. `init`, `tofu` and `terraform` are not
/// needed.
///
/// Without -p, hashes are added for the platforms of provlock.toml, or else for the platforms that
/// the lock file covers, or else for the current one. An entry whose hashes do not match the
/// published release is refused.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock lock -p linux_amd64,darwin_arm64", before_long_help = EXAMPLES)]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check: the file would change or has a hash that was never \
    published, 2 failed"
)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Also lock the modules; the default with .modules.lock.hcl
    #[arg(long = "modules", help_heading = "Selection")]
    with_modules: bool,
    /// Only rewrite values that are not in canonical form
    ///
    /// Constraints, versions and addresses, and hashes that are unsorted or repeated. Other tools
    /// leave such values, which OpenTofu and Terraform refuse or rewrite. No version and no hash
    /// changes. Reads neither the configuration nor a registry.
    #[arg(
        long,
        help_heading = "Selection",
        hide_short_help = true,
        conflicts_with_all = ["with_modules", "platforms", "prune", "min_age", "accept_changed_hashes"]
    )]
    repair: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if the lock file would change or has a hash that is known to be
    /// unpublished
    ///
    /// Downloads only packages that lock needs and the cache does not contain. Compares each `zh:`
    /// with SHA256SUMS, and each `h1:` with the known packages, if all are known; with --offline,
    /// both with the cache. Prints the number of hashes that could not be compared; verify --online
    /// compares all.
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Locks the requirements of the selected root modules, or repairs their lock files. A root module
/// that fails does not stop the others.
pub(crate) fn run(arguments: &LockArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let LockArgs {
        selection,
        age,
        source,
        ..
    } = arguments;
    let (mut selected, targets) = arguments.targets.selection_and_names()?;
    selected.with_modules = arguments.with_modules;
    if arguments.repair {
        let flags = RepairFlags {
            check: arguments.check,
            dry_run: arguments.dry_run,
        };
        return repair::run(&selected, &targets, flags, ui);
    }
    targets.refuse_modules_and_versions()?;
    ui.invocation.set_names("lock", &targets);
    let mut options = selection.lock_options(targets.providers, age.min_age);
    options.dry_run = arguments.check || arguments.dry_run;
    options.modules = arguments.with_modules;
    let session = start_locking_session(ui, &selected.paths, &selection.modules, age, source)?;
    let roots = session.roots(&selected)?;
    // The contents of files are kept only if their diffs are printed.
    let with_files = arguments.dry_run && !ui.is_json();
    let mut kept = Kept {
        may_be_several: roots.may_be_several(),
        with_files,
        is_offline: source.offline,
        rows: KnownRows::default(),
    };
    let report = session.lock(&roots, &options, |outcome| {
        let mut result = RootResult::new(&outcome, &mut kept, ui);
        if let RootOutcome::Locked(locked) = &outcome {
            result.hints.extend(lock_hints(locked, arguments.check));
        }
        result
    })?;
    // This clears the progress from the terminal.
    drop(session);
    ui.print_changes(
        report
            .roots
            .iter()
            .flat_map(|(_, root)| root)
            .flat_map(|root| &root.files),
    );
    let results = Results::new(ui, &roots, &selected, report)?;
    results.show_warnings();
    let verb = if options.dry_run {
        "Would lock"
    } else {
        "Locked"
    };
    results.show_entries_and_summary(&[], results.summary(verb).as_slice());
    let would_change = results.locked().any(|(_, text)| text.is_changed);
    let has_found = arguments.check && (would_change || results.has_unpublished());
    let outcome = Outcome::failed_if(results.has_failures()).or_found_if(has_found);
    results.show_hints_and_json(arguments.check);
    Ok(outcome)
}
