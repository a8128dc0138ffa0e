//! The commands, one file for each: its flags, its use of the library, and its output.

mod cache;
mod completions;
mod diff;
mod explain;
mod get;
mod init;
mod lock;
mod login;
mod merge;
mod mirror;
mod pin;
mod repair;
mod sbom;
mod setup;
mod tree;
mod upgrade;
mod verify;
mod words;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{ArgMatches, CommandFactory as _, Parser, Subcommand};

use provlock::diagnostic::{Code, Diagnostic};
use provlock::system::Secrets;
use serde_json::json;

use super::args::{self, GlobalArgs, OutputFormat};
use super::environment::read_environment;
use super::interrupt;
use super::render::help::Invocation;
use super::render::remedy::repeated_flags;
use super::run::outcome::{Outcome, diagnostics, stdout_error};
use super::run::usage;
use super::ui::Ui;

/// Output of `--version`: the version, then the commit of a release build and the target.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PROVLOCK_BUILD"), ")");

/// Locks, verifies, upgrades and compares the dependency lock files of OpenTofu and Terraform
#[derive(Parser)]
#[command(name = "provlock", bin_name = "provlock", version, long_version = BUILD, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 nothing to report, 1 differences or findings, 2 failed")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands in the order of their use. The help of each is in the file with its flags.
#[derive(Subcommand)]
pub(crate) enum Command {
    Init(init::InitArgs),
    Lock(lock::LockArgs),
    Get(get::GetArgs),
    Verify(verify::VerifyArgs),
    Upgrade(upgrade::UpgradeArgs),
    Pin(pin::PinArgs),
    Diff(diff::DiffArgs),
    Tree(tree::TreeArgs),
    Sbom(sbom::SbomArgs),
    Merge(merge::MergeArgs),
    Mirror(mirror::MirrorArgs),
    Explain(explain::ExplainArgs),
    #[command(subcommand)]
    Setup(setup::SetupCommand),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    Cache(cache::CacheCommand),
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Whether the command has a result for `--json`.
    fn has_json(&self) -> bool {
        match self {
            Self::Setup(_) | Self::Login(_) | Self::Logout(_) | Self::Completions(_) => false,
            Self::Cache(arguments) => arguments.has_json(),
            _ => true,
        }
    }

    fn run(self, ui: &Ui) -> Result<Outcome> {
        match self {
            Self::Init(arguments) => init::run(&arguments, ui),
            Self::Lock(arguments) => lock::run(&arguments, ui),
            Self::Get(arguments) => get::run(&arguments, ui),
            Self::Verify(arguments) => verify::run(&arguments, ui),
            Self::Upgrade(arguments) => upgrade::run(&arguments, ui),
            Self::Pin(arguments) => pin::run(&arguments, ui),
            Self::Diff(arguments) => diff::run(&arguments, ui),
            Self::Tree(arguments) => tree::run(&arguments, ui),
            Self::Sbom(arguments) => sbom::run(&arguments, ui),
            Self::Merge(arguments) => merge::run(&arguments, ui),
            Self::Mirror(arguments) => mirror::run(&arguments, ui),
            Self::Explain(arguments) => Ok(explain::run(&arguments, ui)),
            Self::Setup(arguments) => setup::run(&arguments, ui),
            Self::Login(arguments) => login::login(&arguments, ui),
            Self::Logout(arguments) => login::logout(&arguments, ui),
            Self::Cache(arguments) => cache::run(&arguments, ui),
            Self::Completions(arguments) => completions::run(&arguments, ui),
        }
    }
}

/// Runs the command line, or answers a shell that asks for completions.
pub(crate) fn run() -> Outcome {
    completions::answer(program);
    match args::parse(program) {
        Ok((cli, matches)) => run_and_report(cli, &matches),
        Err(error) => usage::show_error_or_help(error, &program()),
    }
}

/// The command line as help, manuals and completions show it.
pub(crate) fn program() -> clap::Command {
    let mut program = Cli::command();
    // Copies the flags of every command to each of them.
    program.build();
    words::for_users(program)
}

/// Runs a command, and shows the error if it fails.
fn run_and_report(cli: Cli, matches: &ArgMatches) -> Outcome {
    let Cli {
        mut global,
        command,
    } = cli;
    global.started_in = std::env::current_dir().unwrap_or_default();
    let (name, arguments) = matches.subcommand().unwrap_or(("provlock", matches));
    let format = match arguments.try_get_one("format") {
        Ok(Some(format)) => *format,
        _ if global.output.json => OutputFormat::Json,
        _ => OutputFormat::Text,
    };
    let environment = read_environment(&Secrets::default());
    let mut invocation = Invocation::new(global.chdir.as_deref());
    invocation.secrets = environment.secrets.clone();
    invocation.data_directory = environment.path_variable("TF_DATA_DIR");
    invocation.repeated = repeated_flags(&mut Cli::command(), name, arguments);
    let mut ui = Ui::new(name.to_owned(), format, global, invocation);
    // From here on, a signal waits until no file is half replaced.
    interrupt::handle_signals(ui.interruption_report());
    ui.warn(&environment.warnings());
    let outcome = match run_in_directory(command, &ui) {
        Ok(outcome) => outcome,
        Err(error) => {
            let errors = diagnostics(error);
            ui.error(&errors);
            ui.print_json(json!({}), &[], &errors);
            Outcome::Failed
        }
    };
    // Output that was lost, as on a full disk, must not look like success.
    if let Some(error) = ui.take_stdout_error() {
        ui.error(&stdout_error(error));
        return Outcome::Failed;
    }
    outcome
}

/// Runs a command in the directory of `-C`.
fn run_in_directory(command: Command, ui: &Ui) -> anyhow::Result<Outcome> {
    if ui.is_json() && !command.has_json() {
        let message = "this command prints no JSON";
        return Err(Diagnostic::error(Code::InvalidArgument, message).into());
    }
    change_directory(ui.global.chdir.as_deref())?;
    match (command.run(ui), &ui.global.chdir) {
        (Err(error), Some(directory)) => {
            let errors = diagnostics(error).map(|error| about_directory(error, directory));
            Err(errors.into())
        }
        (result, _) => result,
    }
}

/// Adds the directory of `-C` to an error that shows no file in it.
fn about_directory(error: Diagnostic, directory: &Path) -> Diagnostic {
    if error.labels.is_empty() {
        error.note(format!("in {}", directory.display()))
    } else {
        error
    }
}

/// Changes to the directory of `-C`, as git does, so that every other path is relative to it.
fn change_directory(directory: Option<&Path>) -> Result<()> {
    let Some(directory) = directory else {
        return Ok(());
    };
    std::env::set_current_dir(directory)
        .with_context(|| format!("cannot change to the directory {}", directory.display()))
}
