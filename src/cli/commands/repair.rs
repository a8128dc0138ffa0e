//! `lock --repair`: rewrites values of lock files that are not in canonical form.

use std::path::PathBuf;

use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use provlock::lockfile::Repair;
use provlock::project::{RepairedRoot, Selection};

use crate::cli::args::Targets;
use crate::cli::render::causes::{Many, by_cause, without_repetition};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{RepairedRoot as RepairedJson, Roots};
use crate::cli::render::style::count;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::results::separated;
use crate::cli::run::session::start;
use crate::cli::ui::Ui;

/// Flags of a repair.
#[derive(Clone, Copy)]
pub(super) struct RepairFlags {
    pub(super) check: bool,
    pub(super) dry_run: bool,
}

/// Repairs the lock files of root modules.
pub(super) fn run(
    selection: &Selection,
    targets: &Targets,
    flags: RepairFlags,
    ui: &Ui,
) -> anyhow::Result<Outcome> {
    if let Some(name) = targets.names(true).first() {
        // The providers come first.
        let kind = if targets.providers.is_empty() {
            "a module"
        } else {
            "a provider"
        };
        let message = format!("--repair takes paths of root modules, and {name} is {kind}");
        let error = Diagnostic::error(Code::InvalidArgument, message)
            .help("omit it: a repair changes no version and no hash");
        return Err(Diagnostics::from(error).into());
    }
    let session = start(ui, &selection.paths, |_, options| {
        // A repair rewrites what is in the file, and asks no registry.
        options.offline = true;
        Ok(())
    })?;
    let roots = session.roots(selection)?;
    let is_dry = flags.check || flags.dry_run;
    let report = session.repair(&roots, is_dry);
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }
    let (done, failed) = separated(report.roots);
    let number = show(&done, !failed.is_empty(), flags, ui);
    let failures = failed.iter().map(|(path, error)| (Some(&**path), error));
    let many = Many::of(&roots, selection, &ui.invocation);
    ui.error(&by_cause(failures, many, ui.stderr_style.verbose));
    let errors = without_repetition(failed.iter().map(|(_, error)| error));
    let roots = done
        .iter()
        .map(|(path, repaired)| RepairedJson::new(path, repaired, !is_dry))
        .collect();
    ui.print_json(Roots { roots }, &[], &errors);
    Ok(Outcome::of(!errors.is_empty(), flags.check && number > 0))
}

/// Shows the repaired values, and returns their number.
fn show(
    done: &[(PathBuf, RepairedRoot)],
    has_failures: bool,
    flags: RepairFlags,
    ui: &Ui,
) -> usize {
    // Root modules may share a lock file.
    let mut repairs: Vec<&Repair> = Vec::new();
    for repair in done.iter().flat_map(|(_, repaired)| &repaired.repairs) {
        if !repairs.contains(&repair) {
            repairs.push(repair);
        }
    }
    if flags.dry_run && !ui.is_json() {
        ui.print_changes(done.iter().flat_map(|(_, repaired)| &repaired.files));
    } else {
        let lines: Vec<_> = repairs.iter().map(|repair| line(repair)).collect();
        ui.status_lines(&lines);
    }
    let verb = if flags.check || flags.dry_run {
        "Would repair"
    } else {
        "Repaired"
    };
    match repairs.len() {
        // With failures it is not known whether every value is canonical.
        0 if has_failures => {}
        0 => ui.status("Nothing to repair"),
        number => ui.status(&format!("{verb} {}", count(number, "value"))),
    }
    repairs.len()
}

/// `  ~ .terraform.lock.hcl:6   the constraints of acme/gamma: ">=1.0" → ">= 1.0"`
fn line(repair: &Repair) -> String {
    let path = repair.location.path().display();
    let (line, _) = repair.location.line_column();
    format!("  ~ {path}:{line}   {}", repair.change)
}
