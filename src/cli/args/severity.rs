//! Flags that change the severity of findings.

use std::str::FromStr;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::Code;
use provlock::settings::{Denied, LevelOverride, Levels};

use super::candidates;

/// The flags, as clap reads them.
#[derive(Args)]
struct SeverityFlags {
    /// Treat as errors; `warnings` means all
    ///
    /// Of several --deny, --warn and --allow for a code, the last applies.
    #[arg(long, value_name = "CODE", value_parser = finding::<Denied>, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(candidates::findings))]
    deny: Vec<Denied>,
    /// Treat as warnings
    #[arg(long, value_name = "CODE", value_parser = finding::<Code>, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(candidates::findings))]
    warn: Vec<Code>,
    /// Suppress
    #[arg(long, value_name = "CODE", value_parser = finding::<Code>, value_delimiter = ',', help_heading = "Output")]
    #[arg(add = ArgValueCandidates::new(candidates::findings))]
    allow: Vec<Code>,
}

/// Severity overrides of the command line, in its order.
pub(crate) struct SeverityArgs {
    pub(crate) levels: Levels,
}

/// Reads the code of a finding.
fn finding<T: FromStr<Err = &'static str>>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error| format!("{error}; provlock explain lists all codes"))
}

impl Args for SeverityArgs {
    fn augment_args(command: Command) -> Command {
        SeverityFlags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SeverityFlags::augment_args_for_update(command)
    }
}

impl FromArgMatches for SeverityArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let flags = SeverityFlags::from_arg_matches(matches)?;

        // Each value of a list has a position of its own.
        let mut positioned = Vec::new();
        for (position, code) in positions_on_command_line(matches, "deny").zip(flags.deny) {
            positioned.push((position, LevelOverride::Deny(code)));
        }
        for (position, code) in positions_on_command_line(matches, "warn").zip(flags.warn) {
            positioned.push((position, LevelOverride::Warn(code)));
        }
        for (position, code) in positions_on_command_line(matches, "allow").zip(flags.allow) {
            positioned.push((position, LevelOverride::Allow(code)));
        }
        positioned.sort_by_key(|(position, _)| *position);

        let levels = positioned.into_iter().map(|(_, level)| level).collect();
        Ok(Self {
            levels: Levels(levels),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The positions of a flag's values on the command line.
pub(super) fn positions_on_command_line(
    matches: &ArgMatches,
    flag: &str,
) -> impl Iterator<Item = usize> {
    matches.indices_of(flag).into_iter().flatten()
}
