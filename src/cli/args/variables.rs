//! The arguments, and the environment variables that replace some of them.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgMatches, Command, Parser};

use super::foreign_words::explained;

/// Flags of Terraform's `providers lock` that provlock has, too. Terraform's users type them with
/// one dash.
const TERRAFORM_FLAGS: [&str; 4] = ["-platform", "-fs-mirror", "-net-mirror", "-chdir"];

/// Reads the command line of a program that was built.
///
/// # Errors
/// The command line is invalid, or requests help.
pub(crate) fn parse<T: Parser>(program: fn() -> Command) -> Result<(T, ArgMatches), clap::Error> {
    let read = |command: Command| {
        let matches = command.try_get_matches_from(with_two_dashes(std::env::args_os()))?;
        Ok((T::from_arg_matches(&matches)?, matches))
    };
    read(with_variables(program(), &|_| true)).map_err(|mut error: clap::Error| {
        let command = program();
        let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
        if let Some(variable) = argument
            .as_deref()
            .and_then(|argument| variable_of(&command, argument))
        {
            // Without the variable there is a different error or none, if the variable is the
            // cause.
            let others = with_variables(program(), &|name| name != variable);
            let without = read(others)
                .err()
                .and_then(|error| error.get(ContextKind::InvalidArg).map(ToString::to_string));
            if without != argument {
                error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
            }
        }
        let words = std::env::args_os().skip(1).take_while(|word| word != "--");
        let words: Vec<_> = words
            .filter(|word| !is_flag_of_terraform(word))
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        explained(error, &command, &words)
    })
}

/// The words with [`TERRAFORM_FLAGS`] as provlock has them: `-platform=linux_amd64` as
/// `--platform=linux_amd64`.
fn with_two_dashes(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut only_values_follow = false;
    let with_two_dashes = |word: OsString| {
        only_values_follow |= word == "--";
        if !only_values_follow && is_flag_of_terraform(&word) {
            [OsStr::new("-"), &word].into_iter().collect()
        } else {
            word
        }
    };
    words.map(with_two_dashes).collect()
}

/// Whether a word is one of [`TERRAFORM_FLAGS`], with a value or without.
fn is_flag_of_terraform(word: &OsStr) -> bool {
    let name = word
        .as_encoded_bytes()
        .split(|byte| *byte == b'=')
        .next()
        .unwrap_or_default();
    TERRAFORM_FLAGS.iter().any(|flag| flag.as_bytes() == name)
}

/// A command whose arguments take the value of a variable only if that is not empty and `counts`
/// returns true.
fn with_variables(command: Command, counts: &dyn Fn(&str) -> bool) -> Command {
    let choose = |argument: Arg| {
        let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
        let counts = |name: &OsStr| counts(&name.to_string_lossy()) && !is_empty(name);
        if argument.get_env().is_none_or(counts) {
            argument
        } else {
            argument.env(None)
        }
    };
    command
        .mut_args(choose)
        .mut_subcommands(|subcommand| with_variables(subcommand, counts))
}

/// The variable for an argument of a command that was built; the argument is given as errors show
/// it.
fn variable_of(command: &Command, shown: &str) -> Option<String> {
    let arguments = command
        .get_arguments()
        .filter(|argument| argument.to_string() == shown);
    let mut names =
        arguments.filter_map(|argument| Some(argument.get_env()?.to_string_lossy().into_owned()));
    names.next().or_else(|| {
        command
            .get_subcommands()
            .find_map(|subcommand| variable_of(subcommand, shown))
    })
}
