//! `lock`: writes the lock file that the configuration asks for.

use clap::Args;
use provlock::project::{Event, Locked};

use crate::cli::args::{AgeArgs, FormatArgs, SelectionArgs, SourceArgs, TargetArgs};
use crate::cli::render::lock::{self as text, Report};
use crate::cli::run::collected::Collected;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_locking;
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  provlock lock -p linux_amd64,darwin_arm64   # the platforms of your team and of CI
  provlock lock -p all                        # every platform that the registry lists
  provlock lock --check                       # in CI: exit 1 if the file would change
  provlock lock -r                            # every root module below";

/// Lock every required provider, with hashes for the requested platforms
///
/// Reads the configuration and the modules that it calls, keeps the versions that are locked, selects the newest
/// allowed version for each other provider, verifies signatures and checksums, and edits the lock file in place.
/// Everything is fetched in parallel and nothing twice. Neither `init` nor `tofu` or `terraform` is needed.
///
/// Without -p, hashes are added for the platforms of provlock.toml, else for those that the lock file covers, else for
/// the current one. An entry whose hashes do not match the published release is refused.
#[derive(Args)]
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
    /// Lock the modules, too; the default with .modules.lock.hcl
    #[arg(long = "modules", help_heading = "Selection")]
    with_modules: bool,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if the lock file would change or has a hash that is known to be unpublished
    ///
    /// The packages that lock needs are downloaded, unless the cache knows them, and no others: a `zh:` is compared
    /// with SHA256SUMS, an `h1:` with the packages that are known, if these are all there are; with --offline both with
    /// what the cache knows. How many hashes could not be compared is said; verify --online compares all.
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Write nothing; print the change as a diff
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

pub(crate) fn run(arguments: &LockArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let LockArgs { selection, age, source, .. } = arguments;
    let (named, targets) = arguments.targets.read(arguments.with_modules)?;
    targets.refuse_versions()?;
    let mut options = selection.lock_options(targets.providers, age.min_age);
    options.dry_run = arguments.check || arguments.dry_run;
    options.modules = arguments.with_modules;
    let (mut collected, mut hints) = (Collected::new(&named, ui), Hints::default());
    let session = start_locking(ui, &named.paths, (&selection.modules, age, source))?;
    let roots = session.roots(&named)?;
    let session = session.observed_by(|event| {
        collected.add(event);
        if let Event::Locked(locked) = event {
            hints.add(locked);
            if arguments.dry_run && !ui.is_json() {
                ui.print_changes(locked);
            }
        }
    });
    session.lock(&roots, &options)?;
    drop(session);
    let (has_failures, has_unpublished) = (collected.failed() > 0, collected.unpublished > 0);
    collected.show_warnings()?;
    let are_many = collected.many.is_some();
    collected.show(&[], |tally| are_many.then(|| tally.summary(["Locked", "Would lock"])).into_iter().collect());
    collected.show_incomplete(source.offline);
    hints.show(arguments.check, ui);
    collected.finish(arguments.check);
    Ok(Outcome::of(has_failures, arguments.check && (hints.would_change || has_unpublished)))
}

/// What is said once of all root modules.
#[derive(Default)]
struct Hints {
    /// Whether a lock file would change.
    would_change: bool,
    /// Whether an entry was written that is sure to fit only the platform of this machine, and no platform was named.
    is_for_one_platform: bool,
    /// The platform of this machine, if a lock file covers others only.
    not_covered: Option<String>,
    /// The platforms that were not looked at where none is named.
    looked_at_one: Option<String>,
    /// Which platforms of the settings were not looked at.
    not_looked_at: Option<String>,
}

impl Hints {
    fn add(&mut self, locked: &Locked) {
        let is_default = !locked.prepared.platforms_are_named;
        self.would_change |= locked.changed;
        self.is_for_one_platform |= is_default && Report(locked).has_written_for_one_platform();
        self.not_covered = self.not_covered.take().or_else(|| Report(locked).not_covered().map(ToString::to_string));
        let not_looked_at = if is_default { &mut self.looked_at_one } else { &mut self.not_looked_at };
        if not_looked_at.is_none() {
            *not_looked_at = text::not_looked_at(locked);
        }
    }

    fn show(&self, check: bool, ui: &Ui) {
        if self.is_for_one_platform {
            ui.status("Other platforms: in provlock.toml, platforms = [\"linux_amd64\", \"darwin_arm64\"]");
        }
        if let Some(platform) = &self.not_covered {
            ui.status(&format!("The lock file does not cover {platform}; to add it: provlock lock -p {platform}"));
        }
        if let Some(line) = self.looked_at_one.as_ref().or(self.not_looked_at.as_ref()).filter(|_| check) {
            ui.status(line);
        }
    }
}
