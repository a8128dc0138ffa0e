//! `get`: installs the modules that lock files record.

use clap::Args;
use provlock::diagnostic::words::first_few;
use provlock::project::{GetOptions, InstalledModules};

use crate::cli::args::{FormatArgs, OfflineArgs, RootArgs};
use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{InstalledRoot, Roots};
use crate::cli::render::style::{count, group_by_key};
use crate::cli::run::failures::split_failures;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
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

/// Installs the locked modules of the selected root modules. A root module that fails does not stop
/// the others.
pub(crate) fn run(arguments: &GetArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let selection = arguments.roots.selection();
    let session = start_session(ui, &selection.paths, |environment, options| {
        arguments.source.add_to(environment, options);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = GetOptions::default();
    options.check = arguments.check;
    options.ignore_tests = arguments.no_tests;
    options.with_git = arguments.with_git;
    let report = session.get(&roots, options);
    // This clears the progress from the terminal.
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }

    let (done, failures) = split_failures(report.roots);
    let mut warnings = Vec::new();
    let mut summaries = Vec::new();
    let mut installed_roots = Vec::new();
    let mut has_differences = false;
    for (index, (path, installed)) in done.iter().enumerate() {
        for warning in &installed.warnings {
            warnings.push((Some(&**path), warning));
        }
        // With `-v`, each root module has a line of its own.
        let group = if ui.stderr_style.verbose {
            Some(index)
        } else {
            None
        };
        let summary = summarize_installation(installed, arguments.check);
        summaries.push(((summary, group), path.display()));
        installed_roots.push(InstalledRoot::new(path, installed));
        has_differences |= installed.differed();
    }

    let several = SeveralRoots::unless_single(&roots, &selection, &ui.invocation);
    ui.warn_by_cause(warnings.iter().copied(), several);
    for ((summary, _), paths) in group_by_key(summaries) {
        ui.status(&if roots.may_be_several() {
            format!("{}: {summary}", first_few(paths))
        } else {
            summary
        });
    }
    failures.show(several, ui);
    ui.print_json(
        Roots {
            roots: installed_roots,
        },
        &distinct_diagnostics(warnings.iter().map(|(_, warning)| *warning)),
        &failures.distinct_errors(),
    );
    Ok(Outcome::failed_if(!failures.is_empty()).or_found_if(arguments.check && has_differences))
}

/// `Installed 2 modules: network, site; 3 up to date`
fn summarize_installation(installed: &InstalledModules, check: bool) -> String {
    let InstalledModules {
        is_unit,
        is_list_written,
        listed_otherwise,
        kept,
        ..
    } = installed;
    if *is_unit {
        return "Nothing to install: Terragrunt copies the modules of its units itself".to_owned();
    }
    if !installed.installed.is_empty() {
        let verb = if check {
            "Not installed as locked:"
        } else {
            "Installed"
        };
        let number = count(installed.installed.len(), "module");
        let names = installed.installed.join(", ");
        return match kept {
            0 => format!("{verb} {number}: {names}"),
            kept => format!("{verb} {number}: {names}; {kept} up to date"),
        };
    }

    // All modules are as locked; `modules.json` may differ.
    let up_to_date = match kept {
        0 => "no module of a different package is called".to_owned(),
        kept => format!("{} up to date", count(*kept, "module")),
    };
    if !is_list_written {
        return up_to_date;
    }
    if !check {
        return format!("Wrote modules.json; {up_to_date}");
    }
    let list = "modules.json, the list of installed modules,";
    if listed_otherwise.is_empty() {
        return format!("{list} differs from what provlock get writes");
    }
    let number = count(listed_otherwise.len(), "module");
    let names = first_few(listed_otherwise);
    format!("{list} differs from the lock file for {number}: {names}")
}
