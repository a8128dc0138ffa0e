//! Flags of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::dialect::Dialect;

use super::candidates;

/// Flags of every command.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// Change to DIR before doing anything
    #[arg(short = 'C', long = "chdir", value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) chdir: Option<PathBuf>,
    /// Target tool: tofu or terraform [default: detected from the files]
    #[arg(long, value_name = "DIALECT", global = true, env = "PROVLOCK_DIALECT", hide_env_values = true)]
    #[arg(add = ArgValueCandidates::new(candidates::dialects))]
    pub(crate) dialect: Option<Dialect>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How results and messages are shown.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Same as --format json: print the result as one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// More detail
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colour; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto, hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

impl OutputArgs {
    /// How much is said on stderr.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        }
    }
}

/// When to use colour: `auto` means on a terminal, unless `NO_COLOR` is set.
// The variants have no documentation, so that `--help` lists them on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}
