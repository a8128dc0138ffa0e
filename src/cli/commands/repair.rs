//! `lock --repair`: rewrites values of lock files that are not in canonical form.

use std::path::PathBuf;

use provlock::diagnostic::{Code, Diagnostic, Diagnostics};
use provlock::lockfile::Repair;
use provlock::project::{RepairedRoot, Selection};

use crate::cli::args::Targets;
use crate::cli::render::causes::SeveralRoots;
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::{RepairedRoot as RepairedJson, Roots};
use crate::cli::render::style::count;
use crate::cli::run::failures::split_failures;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
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
    if let Some(name) = targets.names_with_versions().first() {
        // Names of providers precede names of modules.
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
    let session = start_session(ui, &selection.paths, |_, options| {
        // A repair rewrites what is in the file, and asks no registry.
        options.offline = true;
        Ok(())
    })?;
    let roots = session.roots(selection)?;
    let is_dry = flags.check || flags.dry_run;
    let report = session.repair(&roots, is_dry);
    // This clears the progress from the terminal.
    drop(session);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    }

    let (done, failures) = split_failures(report.roots);
    let number_repaired = show_repaired_values(&done, !failures.is_empty(), flags, ui);
    failures.show(
        SeveralRoots::unless_single(&roots, selection, &ui.invocation),
        ui,
    );
    let mut repaired_roots = Vec::new();
    for (path, repaired) in &done {
        repaired_roots.push(RepairedJson::new(path, repaired, !is_dry));
    }
    // A repair has no warnings.
    ui.print_json(
        Roots {
            roots: repaired_roots,
        },
        &[],
        &failures.distinct_errors(),
    );
    Ok(Outcome::failed_if(!failures.is_empty()).or_found_if(flags.check && number_repaired > 0))
}

/// Shows the values that were repaired, or would be, and returns their number.
fn show_repaired_values(
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
        let lines: Vec<_> = repairs.iter().map(|repair| repair_line(repair)).collect();
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
fn repair_line(repair: &Repair) -> String {
    let path = repair.location.path().display();
    let (line, _) = repair.location.line_column();
    format!("  ~ {path}:{line}   {}", repair.change)
}
