//! `get`: installs the modules that lock files record.

use clap::Args;
use provlock::diagnostic::words::few;
use provlock::project::{GetOptions, InstalledModules};

use crate::cli::args::{FormatArgs, OfflineArgs, RootArgs};
use crate::cli::render::causes::{Many, by_cause, without_repetition};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{InstalledRoot, Roots};
use crate::cli::render::style::{count, group_by};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::results::separated;
use crate::cli::run::session::start;
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  # In CI: init fetches no module
  provlock get && tofu init -lockfile=readonly
  # All root modules below live
  provlock get -r live
  # Exit 1 if the installed modules differ
  provlock get --check";

/// Install the modules that .modules.lock.hcl records
///
/// Writes the locked packages to `.terraform/modules`, or below `TF_DATA_DIR`, as `tofu get` and
/// `terraform get` do, so that `init` fetches no module. All packages are compared with the hashes
/// in the lock file before the first is written. Modules that are installed correctly stay.
/// Installed and cached modules need no network.
///
/// `provlock lock --modules` writes the lock file. Modules of git repositories have no .git
/// directory without --with-git.
#[derive(Args)]
#[command(before_help = "Example: provlock get && tofu init", before_long_help = EXAMPLES)]
#[command(
    after_help = "Exit codes: 0 done or up to date, 1 --check: the installed modules differ, 2 failed"
)]
#[command(mut_arg("no_fetch_modules", |flag| flag.hide(true)))]
pub(crate) struct GetArgs {
    #[command(flatten)]
    roots: RootArgs,
    /// Install modules of git repositories with a .git directory, for modules that run git in it
    ///
    /// It contains the locked commit without its history, and the tag in the source.
    #[arg(long, help_heading = "Modules")]
    with_git: bool,
    /// Skip the modules of test files
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    source: OfflineArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write nothing; exit with 1 if the installed modules differ from the lock file
    #[arg(long, help_heading = "Output")]
    check: bool,
}

pub(crate) fn run(arguments: &GetArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let GetArgs {
        roots,
        source,
        check,
        ..
    } = arguments;
    let selection = roots.selection(false);
    let session = start(ui, &selection.paths, |environment, options| {
        source.add_to(environment, options);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = GetOptions::default();
    (options.check, options.ignore_tests, options.with_git) =
        (*check, arguments.no_tests, arguments.with_git);
    let report = session.get(&roots, options);
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }
    let (done, failed) = separated(report.roots);
    let warnings = done
        .iter()
        .flat_map(|(path, installed)| installed.warnings.iter().map(|one| (Some(&**path), one)));
    let (many, all) = (
        Many::of(&roots, &selection, &ui.invocation),
        ui.stderr_style.verbose,
    );
    ui.warn(&by_cause(warnings.clone(), many, all));
    let texts = done.iter().enumerate().map(|(index, (path, installed))| {
        // With `-v`, each root module has a line of its own.
        (
            (
                summary(installed, *check),
                ui.stderr_style.verbose.then_some(index),
            ),
            path.display(),
        )
    });
    for ((summary, _), paths) in group_by(texts) {
        ui.status(&if roots.may_be_several() {
            format!("{}: {summary}", few(paths))
        } else {
            summary
        });
    }
    ui.error(&by_cause(
        failed.iter().map(|(path, error)| (Some(&**path), error)),
        many,
        all,
    ));
    let roots_done = done
        .iter()
        .map(|(path, installed)| InstalledRoot::new(path, installed))
        .collect();
    let warnings = without_repetition(warnings.map(|(_, warning)| warning));
    let errors = without_repetition(failed.iter().map(|(_, error)| error));
    ui.print_json(Roots { roots: roots_done }, &warnings, &errors);
    Ok(Outcome::of(
        !errors.is_empty(),
        *check && done.iter().any(|(_, installed)| installed.differed()),
    ))
}

/// `Installed 2 modules: network, site; 3 up to date`
fn summary(installed: &InstalledModules, check: bool) -> String {
    let InstalledModules {
        is_unit,
        is_list_written,
        listed_otherwise,
        kept,
        ..
    } = installed;
    let (names, up_to_date) = (
        installed.installed.join(", "),
        match kept {
            0 => "no module of a different package is called".to_owned(),
            kept => format!("{} up to date", count(*kept, "module")),
        },
    );
    if *is_unit {
        "Nothing to install: Terragrunt copies the modules of its units itself".to_owned()
    } else if !installed.installed.is_empty() {
        let verb = if check {
            "Not installed as locked:"
        } else {
            "Installed"
        };
        let rest = if *kept == 0 {
            String::new()
        } else {
            format!("; {kept} up to date")
        };
        format!(
            "{verb} {}: {names}{rest}",
            count(installed.installed.len(), "module")
        )
    } else if !is_list_written {
        up_to_date
    } else if !check {
        format!("Wrote modules.json; {up_to_date}")
    } else if listed_otherwise.is_empty() {
        "modules.json, the list of installed modules, differs from what provlock get writes"
            .to_owned()
    } else {
        let (number, names) = (
            count(listed_otherwise.len(), "module"),
            few(listed_otherwise),
        );
        format!(
            "modules.json, the list of installed modules, differs from the lock file for {number}: {names}"
        )
    }
}
