//! The command line: raw arguments to validated requests, reports to text or JSON, outcomes to exit codes.

mod age;
mod arguments;
mod batch;
mod cache;
mod completions;
mod connections;
mod diff;
mod environment;
mod git;
mod installation;
mod interrupt;
mod lock;
mod login;
mod merge;
mod platforms;
mod project;
mod render;
mod repository;
mod resolve;
mod rewrites;
mod roots;
mod setup;
mod source;
mod ui;
mod upgrade;
mod verify;
mod what;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueHint};
use provlock::diagnostic::{Diagnostic, Result};
use provlock::dialect::Dialect;

pub(crate) use arguments::parse;
use ui::Ui;

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

/// Flags of every command.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// Run as if started in DIR
    #[arg(short = 'C', long = "chdir", value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) chdir: Option<PathBuf>,
    /// Whose rules apply: tofu or terraform [default: detected from the files]
    #[arg(long, value_name = "DIALECT", global = true, env = "PROVLOCK_DIALECT", hide_env_values = true)]
    pub(crate) dialect: Option<Dialect>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How results and messages are shown.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the result as one JSON object on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to use colour; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ui::Color::Auto)]
    pub(crate) color: ui::Color,
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

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done, and nothing to report.
    Done,
    /// There are differences or findings.
    Found,
    /// It could not be done.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Found => Self::from(1),
            Outcome::Failed => Self::from(2),
        }
    }
}

/// Runs a command and shows what stopped it.
pub(crate) fn run(cli: Cli) -> Outcome {
    let json = cli.global.output.json || matches!(&cli.command, Command::Verify(arguments) if arguments.wants_json());
    let ui = Ui::new(&cli.global.output, json);
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
        Command::Completions(arguments) => ("completions", Ok(completions::run(&arguments, &ui))),
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

/// The error for an argument that cannot be understood.
fn invalid_argument(message: String) -> Diagnostic {
    Diagnostic::error(provlock::diagnostic::Code::InvalidArgument, message)
}
