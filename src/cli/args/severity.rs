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
        let deny = flags.deny.into_iter().map(LevelOverride::Deny);
        let warn = flags.warn.into_iter().map(LevelOverride::Warn);
        let allow = flags.allow.into_iter().map(LevelOverride::Allow);

        // Each value of a list has a position of its own.
        let mut positioned = Vec::new();
        positioned.extend(positions(matches, "deny").zip(deny));
        positioned.extend(positions(matches, "warn").zip(warn));
        positioned.extend(positions(matches, "allow").zip(allow));
        positioned.sort_by_key(|(position, _)| *position);

        let overrides = positioned.into_iter().map(|(_, one)| one);
        Ok(Self {
            levels: Levels(overrides.collect()),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The positions of a flag's values on the command line.
fn positions(matches: &ArgMatches, flag: &str) -> impl Iterator<Item = usize> {
    matches.indices_of(flag).into_iter().flatten()
}
