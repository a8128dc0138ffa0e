//! Flags of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};
use provlock::dialect::Dialect;

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
    /// Print the result as one JSON object on stdout, as --format json does
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colour; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
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
