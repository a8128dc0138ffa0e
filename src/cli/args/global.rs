//! Flags of every command.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::{Diagnostic, Result};
use provlock::provider::Dialect;
use provlock::settings::{self, Settings};
use provlock::system::Environment;
use provlock::system::files::canonical_or_given;
use provlock::system::variables;

use super::candidates;

/// Heading of the flags of every command, which come after the ones of the command itself.
pub(crate) const GLOBAL: &str = "Global options";

/// Flags of every command.
#[derive(Args)]
#[command(next_help_heading = GLOBAL)]
pub(crate) struct GlobalArgs {
    /// Change to DIR before doing anything
    #[arg(short = 'C', long = "chdir", value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) chdir: Option<PathBuf>,

    /// Directory in which the program was started, before it enters that of `-C`
    #[arg(skip)]
    pub(crate) started_in: PathBuf,
    /// Target tool: tofu or terraform [default: detected from the files]
    #[arg(long, value_name = "DIALECT", global = true, env = variables::DIALECT, hide_env_values = true)]
    #[arg(add = ArgValueCandidates::new(candidates::dialects))]
    pub(crate) dialect: Option<Dialect>,
    /// Settings file, instead of searching for provlock.toml
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl GlobalArgs {
    /// The settings of the file in `--config`. Globs in it are relative to the current directory.
    pub(crate) fn settings(&self, environment: &Environment) -> Result<Option<Settings>> {
        let Some(path) = &self.config else {
            return Ok(None);
        };
        let bytes = settings::read(path).map_err(|error| Diagnostic::io("read", path, &error))?;
        settings_of(path, bytes, environment).map(Some)
    }
}

/// Reads the settings file that a flag names.
pub(crate) fn settings_of(
    path: &Path,
    bytes: Vec<u8>,
    environment: &Environment,
) -> Result<Settings> {
    let current = &environment.current_directory;
    Settings::named(path, bytes, &canonical_or_given(current))
}

/// Format of results and messages.
#[derive(Args)]
#[command(next_help_heading = GLOBAL)]
pub(crate) struct OutputArgs {
    /// Same as --format json: print the result as one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// More detail; twice, also each request
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colour; auto: on a terminal, unless `NO_COLOR` is set, and elsewhere if
    /// `FORCE_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    #[arg(hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

impl OutputArgs {
    /// Returns the detail of messages on stderr.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        }
    }
}

/// When to use colour. `auto` follows `NO_COLOR`, `FORCE_COLOR` and `CLICOLOR_FORCE`, and otherwise
/// uses colour on a terminal.
// The variants have no documentation, so that `--help` lists them on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// Detail of messages on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
    /// Also each request.
    Debug,
}
