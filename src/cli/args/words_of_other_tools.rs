//! Words that users know from other tools, and the commands of this program for them.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// Commands of other tools, and what does the same here.
const COMMANDS: [(&str, &str); 12] = [
    (
        "add",
        "to lock what the configuration requires: provlock lock",
    ),
    ("audit", "to check lock files: provlock verify"),
    ("check", "to check lock files: provlock verify"),
    (
        "install",
        "to install locked modules: provlock get; providers are installed by init",
    ),
    (
        "outdated",
        "to list newer versions: provlock upgrade --check",
    ),
    ("plan", "to list newer versions: provlock upgrade --check"),
    (
        "providers",
        "to lock providers: provlock lock; to list them: provlock tree",
    ),
    ("status", "to check lock files: provlock verify"),
    (
        "sync",
        "to lock what the configuration requires: provlock lock",
    ),
    ("validate", "to check lock files: provlock verify"),
    ("version", "to print the version: provlock --version"),
    (
        "why",
        "to show what requires a provider: provlock tree PROVIDER",
    ),
];

/// Flags of other tools, and what does the same here.
const FLAGS: [(&str, &str); 5] = [
    (
        "frozen",
        "to fail if the lock file would change: provlock lock --check",
    ),
    (
        "lockfile",
        "to fail if the lock file would change: provlock lock --check",
    ),
    ("no-color", "to print no colours: --color never"),
    ("update", "to move to newer versions: provlock upgrade"),
    ("upgrade", "to move to newer versions: provlock upgrade"),
];

/// Returns the error about a flag or command that users know from other tools, in place of `error`;
/// `error` itself for other mistakes. `command` is built, and `words` are the words of the command
/// line before `--`.
pub(super) fn explain_word_of_other_tool(
    error: Error,
    command: &Command,
    words: &[String],
) -> Error {
    if error.kind() == ErrorKind::InvalidSubcommand {
        return explain_command_of_other_tool(error);
    }
    let command = words
        .iter()
        .find_map(|word| command.find_subcommand(word))
        .unwrap_or(command);
    for word in words {
        let Some(flag) = word.strip_prefix('-') else {
            continue;
        };
        let has_one_dash = !flag.starts_with('-');
        let flag = flag.strip_prefix('-').unwrap_or(flag);
        let name = flag.split('=').next().unwrap_or_default();
        // A letter after one dash is a flag of this program.
        if name.chars().count() < 2 {
            continue;
        }
        let is_flag = command
            .get_arguments()
            .any(|argument: &Arg| argument.get_long() == Some(name));
        if is_flag && has_one_dash {
            let mut unknown = unexpected_argument_error(word, command);
            let flag = ContextValue::String(format!("--{name}"));
            unknown.insert(ContextKind::SuggestedArg, flag);
            return unknown;
        }
        let meaning = FLAGS.iter().find(|(flag, _)| *flag == name);
        if let Some((_, meaning)) = meaning
            && !is_flag
        {
            return with_tip(unexpected_argument_error(word, command), meaning);
        }
        // Without the whole word an error would be about one of its letters.
        if has_one_dash && !is_flag && is_about_letter(&error, name) {
            return unexpected_argument_error(word, command);
        }
    }
    error
}

/// Whether an error is about a letter of a word that begins with one dash.
fn is_about_letter(error: &Error, name: &str) -> bool {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return false;
    };
    error.kind() == ErrorKind::UnknownArgument
        && argument
            .strip_prefix('-')
            .is_some_and(|letter| letter.chars().count() == 1 && name.contains(letter))
}

/// Returns the error about a command that does not exist, with a tip if other tools have it.
fn explain_command_of_other_tool(mut error: Error) -> Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let meaning = COMMANDS.iter().find(|(command, _)| command == name);
    match meaning {
        Some((_, meaning)) => {
            error.remove(ContextKind::SuggestedSubcommand);
            with_tip(error, meaning)
        }
        None => error,
    }
}

fn unexpected_argument_error(word: &str, command: &Command) -> Error {
    let mut error = Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    let word = ContextValue::String(word.to_owned());
    error.insert(ContextKind::InvalidArg, word);
    let usage = command.clone().render_usage();
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    error
}

fn with_tip(mut error: Error, tip: &'static str) -> Error {
    let tips = vec![StyledStr::from(tip)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}
