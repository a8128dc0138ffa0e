//! `init`: writes the first `provlock.toml`.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::project::{Inventory, Selection};
use provlock::settings::{self, FILE_NAME};
use provlock::system::files;

use super::outcome::Outcome;
use super::watch::{no_root_module, show_origin, start};
use crate::cli::args::{FormatArgs, ModuleArgs, SourceArgs};
use crate::cli::render::json::{Output, SettingsFile};
use crate::cli::render::style::{count, enumerate};
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  provlock init             # in the directory that all root modules are below
  provlock init --dry-run   # print what it would write
  provlock init --offline   # without the keys that sign what is locked";

/// Write provlock.toml from what is locked today
///
/// Reads every root module below, asks the registries which keys sign what is locked, and writes the settings by which
/// another host, namespace or key is an error of `verify` from now on. Review the file and commit it.
#[derive(Args)]
#[command(before_help = "Example: provlock init", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done, 2 failed")]
pub(crate) struct InitArgs {
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Replace the file that is there
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Write nothing; print the file
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

pub(crate) fn run(arguments: &InitArgs, ui: &Ui) -> Result<Outcome> {
    let InitArgs { modules, source, force, dry_run, .. } = arguments;
    let path = Path::new(FILE_NAME);
    let is_there = path.symlink_metadata().is_ok();
    if is_there && !force && !dry_run {
        let error = Diagnostic::error(Code::InvalidArgument, format!("{FILE_NAME} is there already"));
        return Err(error.help("compare it with what --dry-run prints, or replace it with --force").into());
    }
    let old = is_there.then(|| settings::read(path)).transpose();
    let old = old.map_err(|error| Diagnostic::io("read", path, &error))?;
    let session = start(ui, Some(source), |environment, options| {
        source.sources(environment, options);
        modules.add_to(options, environment, source.offline);
        show_origin(&source.origin(), environment, ui);
        Ok(())
    })?;
    let roots = session.roots(&Selection::recursive("."))?;
    if roots.is_empty() {
        return Err(Diagnostic::error(Code::NoConfiguration, no_root_module(&[])).into());
    }
    let inventory = session.inventory(&roots)?;
    drop(session);
    let text = inventory.settings();
    if !ui.is_json() {
        ui.print(&text);
    }
    ui.status(&found(&inventory));
    if !dry_run {
        files::write(path, old.as_deref(), text.as_bytes())?;
        let news = if inventory.keys().is_empty() { "host or namespace" } else { "host, namespace or key" };
        ui.status(&format!(
            "Wrote {FILE_NAME}. From now on a new {news} is an error of verify. Review the file and commit it"
        ));
    }
    let settings = Some(SettingsFile { path: FILE_NAME.to_owned(), text, written: !dry_run });
    ui.print_json(&Output { settings, ..ui.output(&[], &[]) });
    Ok(Outcome::Done)
}

/// `Found 300 root modules for terraform, 2 platforms, 3 hosts, 5 namespaces and 7 signing keys`
fn found(inventory: &Inventory) -> String {
    let roots = count(inventory.root_modules, "root module");
    let dialect = inventory.dialect.map(|dialect| format!(" for {dialect}")).unwrap_or_default();
    let numbers = [
        (inventory.platforms.len(), "platform"),
        (inventory.hosts().len(), "host"),
        (inventory.namespaces().len(), "namespace"),
        (inventory.keys().len(), "signing key"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun));
    format!("Found {}", enumerate(std::iter::once(format!("{roots}{dialect}")).chain(numbers)))
}
