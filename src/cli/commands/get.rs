//! `get`: installs the modules that lock files record.

use std::collections::HashMap;
use std::path::Path;

use clap::Args;
use provlock::diagnostic::Diagnostics;
use provlock::diagnostic::words::few;
use provlock::project::{GetOptions, InstalledModules};

use crate::cli::args::{FormatArgs, OfflineArgs, RootArgs};
use crate::cli::render::causes::{Many, by_cause};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{InstalledRoot, Output, Root};
use crate::cli::render::style::count;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start;
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  provlock get && tofu init -lockfile=readonly    # in CI: init fetches no module
  provlock get -r live                            # the modules of all root modules below live
  provlock get --check                            # exit 1 if something else is installed";

/// Install the modules that .modules.lock.hcl records
///
/// Puts the locked packages below `.terraform/modules`, or `TF_DATA_DIR`, as `tofu get` and `terraform get` lay them
/// out, so that `init` fetches no module. Each package is compared with the hashes in the lock file before anything is
/// put in place. What is installed as it is locked stays, and needs no network; neither does what is in the cache.
///
/// `provlock lock --modules` makes the lock file. Modules of git repositories come without a .git directory, unless
/// --with-git is given.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(before_help = "Example: provlock get && tofu init", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done or up to date, 1 --check: something else is installed, 2 failed")]
#[command(mut_arg("no_fetch_modules", |flag| flag.hide(true)))]
pub(crate) struct GetArgs {
    #[command(flatten)]
    roots: RootArgs,
    /// Install modules of git repositories with a .git directory, for modules that call git on themselves
    ///
    /// It holds the locked commit without its history, and the tag that the source names.
    #[arg(long, help_heading = "Modules")]
    with_git: bool,
    /// Leave out the modules of test files
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    source: OfflineArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if something else than what is locked is installed
    #[arg(long, help_heading = "Output")]
    check: bool,
}

pub(crate) fn run(arguments: &GetArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let GetArgs { roots, source, check, .. } = arguments;
    let selection = roots.selection(false);
    let session = start(ui, &selection.paths, |environment, options| {
        source.add_to(environment, options);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = GetOptions::default();
    (options.check, options.ignore_tests, options.with_git) = (*check, arguments.no_tests, arguments.with_git);
    let report = session.get(&roots, options);
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots));
    }
    let (mut failed, mut differed, mut done) = (Vec::new(), false, Vec::new());
    let mut warnings = Diagnostics::default();
    let mut lines = Lines::default();
    for (path, installed) in report.roots {
        match installed {
            Ok(installed) => {
                warnings.extend(installed.warnings.iter().cloned());
                done.push(Root::Installed(InstalledRoot::new(&path, &installed)));
                differed |= installed.differed();
                lines.add(&path, summary(&installed, *check), ui.stderr_style.verbose);
            }
            Err(more) => failed.extend(more.into_iter().map(|error| (path.clone(), error))),
        }
    }
    let warnings = warnings.merged();
    ui.warn(&warnings);
    for line in lines.shown(roots.may_be_several()) {
        ui.status(&line);
    }
    let causes = failed.iter().map(|(path, error)| (Some(&**path), error));
    ui.error(&by_cause(causes, Many::of(&roots, &selection), ui.stderr_style.verbose));
    let errors: Diagnostics = failed.into_iter().map(|(_, error)| error).collect();
    ui.print_json(&Output { roots: done, ..ui.output(&warnings, &errors) });
    Ok(Outcome::of(!errors.is_empty(), check & differed))
}

/// The result of each root module; the same result of several is one line.
#[derive(Default)]
struct Lines {
    list: Vec<(Vec<String>, String)>,
    known: HashMap<String, usize>,
}

impl Lines {
    /// Adds a root module, on a line of its own if all are to be listed.
    fn add(&mut self, path: &Path, summary: String, all: bool) {
        let next = self.list.len();
        let line = if all { next } else { *self.known.entry(summary.clone()).or_insert(next) };
        if line == next {
            self.list.push((Vec::new(), summary));
        }
        self.list[line].0.push(path.display().to_string());
    }

    /// `live/a, live/b, live/c and 7 more: 2 modules up to date`
    fn shown(&self, are_many: bool) -> Vec<String> {
        let line = |(paths, summary): &(Vec<String>, String)| {
            if are_many { format!("{}: {summary}", few(paths)) } else { summary.clone() }
        };
        self.list.iter().map(line).collect()
    }
}

/// `Installed 2 modules: network, site; 3 were up to date`.
fn summary(installed: &InstalledModules, check: bool) -> String {
    let verb = if check { "Not installed as locked:" } else { "Installed" };
    let kept = installed.kept;
    if installed.is_unit {
        return "Nothing to install: Terragrunt copies the modules of its units itself".to_owned();
    }
    if installed.installed.is_empty() {
        return match (installed.is_list_written, check) {
            (true, true) if installed.listed_otherwise.is_empty() => {
                "modules.json, the list of installed modules, is not as provlock get writes it".to_owned()
            }
            (true, true) => {
                let names = few(&installed.listed_otherwise);
                let number = count(installed.listed_otherwise.len(), "module");
                format!(
                    "modules.json, the list of installed modules, differs from what is locked for {number}: {names}"
                )
            }
            (true, false) => format!("Wrote modules.json; {} up to date", count(kept, "module")),
            (false, _) => format!("{} up to date", count(kept, "module")),
        };
    }
    let names = installed.installed.join(", ");
    let number = count(installed.installed.len(), "module");
    let rest = if kept == 0 { String::new() } else { format!("; {kept} up to date") };
    format!("{verb} {number}: {names}{rest}")
}
