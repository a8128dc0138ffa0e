//! The commands, a file each: its flags, what it does with the library, and what it shows.

mod cache;
mod completions;
mod diff;
mod lock;
mod login;
mod merge;
mod outcome;
mod setup;
mod upgrade;
mod verify;

#[cfg(test)]
mod tests;

use std::path::Path;

use clap::{CommandFactory as _, Parser, Subcommand};
use provlock::diagnostic::{Diagnostic, Result};

pub(crate) use outcome::Outcome;

use super::args::GlobalArgs;
use super::interrupt;
use super::ui::Ui;

/// Locks, verifies, upgrades and compares the dependency lock files of OpenTofu and Terraform
#[derive(Parser)]
#[command(name = "provlock", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 nothing to report, 1 differences or findings, 2 could not do it")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lock every required provider, with its hashes for the platforms asked for
    Lock(lock::LockArgs),
    /// Show or empty the cache of package hashes
    Cache(cache::CacheArgs),
    /// Check that the lock file fits its configuration, the policy and what is published
    Verify(verify::VerifyArgs),
    /// Compare two lock files, provider by provider
    Diff(diff::DiffArgs),
    /// Merge lock files, or mend one that holds conflict markers
    Merge(merge::MergeArgs),
    /// Connect provlock with other programs
    #[command(subcommand)]
    Setup(setup::SetupCommand),
    /// Move providers to newer versions
    Upgrade(upgrade::UpgradeArgs),
    /// Store the token of a registry or mirror, read without echo or from stdin
    Login(login::LoginArgs),
    /// Remove the token of a registry or mirror
    Logout(login::LogoutArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// Runs a command and shows what stopped it.
pub(crate) fn run(cli: Cli) -> Outcome {
    let json = cli.global.output.json || matches!(&cli.command, Command::Verify(arguments) if arguments.wants_json());
    let output = &cli.global.output;
    let ui = Ui::new(output.verbosity(), output.color, json);
    interrupt::arrange();
    let (name, result) = match cli.command {
        Command::Lock(arguments) => ("lock", enter(&cli.global).and_then(|()| lock::run(&arguments, &cli.global, &ui))),
        Command::Cache(arguments) => ("cache", enter(&cli.global).and_then(|()| cache::run(&arguments, &ui))),
        Command::Verify(arguments) => {
            ("verify", enter(&cli.global).and_then(|()| verify::run(&arguments, &cli.global, &ui)))
        }
        Command::Diff(arguments) => ("diff", enter(&cli.global).and_then(|()| diff::run(&arguments, &cli.global, &ui))),
        Command::Merge(arguments) => {
            ("merge", enter(&cli.global).and_then(|()| merge::run(&arguments, &cli.global, &ui)))
        }
        Command::Setup(arguments) => ("setup", enter(&cli.global).and_then(|()| setup::run(&arguments, &ui))),
        Command::Upgrade(arguments) => {
            ("upgrade", enter(&cli.global).and_then(|()| upgrade::run(&arguments, &cli.global, &ui)))
        }
        Command::Login(arguments) => {
            ("login", enter(&cli.global).and_then(|()| login::login(&arguments, &cli.global, &ui)))
        }
        Command::Logout(arguments) => {
            ("logout", enter(&cli.global).and_then(|()| login::logout(&arguments, &cli.global, &ui)))
        }
        Command::Completions(arguments) => ("completions", Ok(completions::run(&arguments, &mut Cli::command(), &ui))),
    };
    let outcome = result.unwrap_or_else(|errors| {
        let directory = cli.global.chdir.as_deref().unwrap_or(Path::new("."));
        let errors = errors.map(|error| error.in_directory(directory));
        ui.fail(name, &errors);
        Outcome::Failed
    });
    match ui.unprinted() {
        Some(error) => {
            ui.complain(&[error]);
            Outcome::Failed
        }
        None => outcome,
    }
}

/// Changes to the directory of `-C`, as git does, so that every other path is relative to it.
fn enter(global: &GlobalArgs) -> Result<()> {
    match &global.chdir {
        Some(directory) => std::env::set_current_dir(directory)
            .map_err(|error| Diagnostic::io("change to the directory", directory, &error).into()),
        None => Ok(()),
    }
}
