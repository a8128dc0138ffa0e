//! The arguments, and the environment variables that replace some of them.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, Parser};

use super::words_of_other_tools::explain_word_of_other_tool;

/// Flags of Terraform's `providers lock` that provlock has, too. Terraform's users type them with
/// one dash.
const TERRAFORM_FLAGS: [&str; 4] = ["-platform", "-fs-mirror", "-net-mirror", "-chdir"];

/// Parses the command line of a program that was built. The error names the variable of the
/// environment that is its cause, or explains a word that users know from other tools.
///
/// # Errors
/// The command line is invalid, or requests help.
pub(crate) fn parse<T: Parser>(program: fn() -> Command) -> Result<(T, ArgMatches), clap::Error> {
    let mut error = match parse_arguments(with_variables(program(), &|_| true)) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };

    let command = program();
    let argument = invalid_argument(&error);
    if let Some(shown) = &argument
        && let Some(variable) = variable_of_argument(&command, shown)
    {
        // Without the variable there is a different error or none, if the variable is the cause.
        let others = with_variables(program(), &|name| name != variable);
        let argument_without = match parse_arguments::<T>(others) {
            Ok(_) => None,
            Err(error) => invalid_argument(&error),
        };
        if argument_without != argument {
            error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
        }
    }
    let mut words = Vec::new();
    for word in std::env::args_os().skip(1) {
        if word == "--" {
            break;
        }
        if !is_flag_of_terraform(&word) {
            words.push(word.to_string_lossy().into_owned());
        }
    }
    Err(explain_word_of_other_tool(error, &command, &words))
}

fn parse_arguments<T: Parser>(command: Command) -> Result<(T, ArgMatches), clap::Error> {
    let matches = command.try_get_matches_from(with_two_dashes(std::env::args_os()))?;
    Ok((T::from_arg_matches(&matches)?, matches))
}

fn invalid_argument(error: &clap::Error) -> Option<String> {
    error.get(ContextKind::InvalidArg).map(ToString::to_string)
}

/// The words with [`TERRAFORM_FLAGS`] as provlock has them: `-platform=linux_amd64` as
/// `--platform=linux_amd64`.
fn with_two_dashes(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut spelled = Vec::new();
    let mut only_values_follow = false;
    for word in words {
        // After `--` a word is a value, even if it begins like a flag.
        only_values_follow |= word == "--";
        if !only_values_follow && is_flag_of_terraform(&word) {
            let mut flag = OsString::from("-");
            flag.push(&word);
            spelled.push(flag);
        } else {
            spelled.push(word);
        }
    }
    spelled
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

/// A command whose arguments take the value of a variable only if that is not empty and `is_used`
/// returns true.
fn with_variables(command: Command, is_used: &dyn Fn(&str) -> bool) -> Command {
    command
        .mut_args(|argument| {
            let Some(variable) = argument.get_env() else {
                return argument;
            };
            // CI systems set a variable to nothing where its value is left out.
            let is_empty = std::env::var_os(variable).is_some_and(|value| value.is_empty());
            if !is_empty && is_used(&variable.to_string_lossy()) {
                argument
            } else {
                argument.env(None)
            }
        })
        .mut_subcommands(|subcommand| with_variables(subcommand, is_used))
}

/// The variable for an argument of a command that was built; the argument is given as errors show
/// it.
fn variable_of_argument(command: &Command, shown: &str) -> Option<String> {
    for argument in command.get_arguments() {
        if argument.to_string() == shown
            && let Some(variable) = argument.get_env()
        {
            return Some(variable.to_string_lossy().into_owned());
        }
    }
    command
        .get_subcommands()
        .find_map(|subcommand| variable_of_argument(subcommand, shown))
}
