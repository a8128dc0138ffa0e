//! `--format`; `--json` is short for one of its values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// Format of the result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// One JSON object, as with --json
    Json,
    /// A table for a comment on a pull request
    Markdown,
    /// Line by line, as `diff -u` does
    Unified,
    /// Annotations of a GitHub workflow
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// A Code Quality report of GitLab
    Gitlab,
    /// XML of `JUnit`, for tools that show tests
    Junit,
    /// A page for people, without network requests
    Html,
    /// `CycloneDX` 1.6 JSON
    Cyclonedx,
    /// SPDX 2.3 JSON
    Spdx,
    /// A snapshot for GitHub's dependency submission
    GithubSnapshot,
}

/// Escaping that makes a result safe for its reader: a terminal, a log, a browser or a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// Secrets and control characters are replaced.
    Text,
    /// Control characters are replaced; the renderer has redacted the values, and its own words
    /// must stay.
    Page,
    /// Secrets are replaced; the renderer has escaped everything else in its commands.
    Commands,
    /// Control characters are escaped as JSON; the renderer has redacted the values.
    Json,
}

impl OutputFormat {
    /// Returns the escaping of output in this format.
    pub(crate) fn escaping(self) -> Escaping {
        match self {
            Self::Text | Self::Markdown | Self::Unified | Self::Junit => Escaping::Text,
            Self::Html => Escaping::Page,
            Self::Github => Escaping::Commands,
            Self::Json
            | Self::Sarif
            | Self::Gitlab
            | Self::Cyclonedx
            | Self::Spdx
            | Self::GithubSnapshot => Escaping::Json,
        }
    }

    /// Reads one of the formats that a command has.
    pub(crate) fn one_of(formats: &'static [Self]) -> impl TypedValueParser<Value = Self> {
        let values = formats
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .map(without_marks);
        PossibleValuesParser::new(values).try_map(|name| Self::from_str(&name, false))
    }
}

/// A value whose help has no marks of code.
fn without_marks(value: PossibleValue) -> PossibleValue {
    let help = value
        .get_help()
        .map(|help| help.to_string().replace('`', ""));
    match help {
        Some(help) => value.help(help),
        None => value,
    }
}

/// The format of a command's result: text or JSON, unless the command says that it has others.
#[derive(Args)]
pub(crate) struct FormatArgs {
    /// Output format [default: text]
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Output",
        conflicts_with = "json"
    )]
    #[arg(value_parser = OutputFormat::one_of(&[OutputFormat::Text, OutputFormat::Json]))]
    pub(crate) format: Option<OutputFormat>,
}
