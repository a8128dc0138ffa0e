//! Help as users read it: flags of every command last, only flags that a command accepts, and no
//! marks of Markdown.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::cli::args::GLOBAL;

/// Changes the help of a command that was built, and of its subcommands.
pub(super) fn for_users(command: Command) -> Command {
    with_plain_help(command, true)
}

/// [`for_users`] for a subcommand, whose parent may have a result for `--json`.
fn with_plain_help(command: Command, parent_has_json: bool) -> Command {
    let has_json = match command.get_name() {
        "setup" | "login" | "logout" | "completions" | "cache" => false,
        // The only one of `cache`.
        "push" => true,
        _ => parent_has_json,
    };
    let mut command = command.mut_args(|argument| argument_for_users(argument, has_json));
    if let Some(about) = command.get_about().map(plain) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().map(plain) {
        command = command.long_about(about);
    }
    if let Some(after) = command.get_after_help().map(plain) {
        command = command.after_help(after);
    }
    command.mut_subcommands(|subcommand| with_plain_help(subcommand, has_json))
}

fn argument_for_users(mut argument: Arg, has_json: bool) -> Arg {
    if let Some(help) = argument.get_help().map(plain) {
        argument = argument.help(help);
    }
    if let Some(help) = argument.get_long_help().map(plain) {
        argument = argument.long_help(help);
    }
    match argument.get_id().as_str() {
        "help" | "version" => argument.help_heading(GLOBAL),
        "json" if !has_json => argument.hide(true),
        _ => argument,
    }
}

/// Text without the backticks that mark code in the documentation of Rust.
fn plain(text: &StyledStr) -> String {
    text.to_string().replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::super::{Cli, program};
    use clap::Parser as _;

    /// Help of a command, as text.
    fn help(command: &clap::Command) -> String {
        command.clone().render_long_help().to_string()
    }

    fn all(command: &clap::Command, visit: &mut impl FnMut(&clap::Command)) {
        visit(command);
        for subcommand in command.get_subcommands() {
            if subcommand.get_name() != "help" {
                all(subcommand, visit);
            }
        }
    }

    #[test]
    fn help_has_no_marks_of_markdown() {
        all(&program(), &mut |command| {
            let text = help(command);
            assert!(!text.contains('`'), "{text}");
        });
    }

    #[test]
    fn json_is_listed_where_it_is_accepted() {
        for (arguments, has_json) in [
            (&["provlock", "setup", "git", "--json"][..], false),
            (&["provlock", "login", "h.test", "--json"], false),
            (&["provlock", "logout", "h.test", "--json"], false),
            (&["provlock", "completions", "bash", "--json"], false),
            (&["provlock", "cache", "dir", "--json"], false),
            (&["provlock", "cache", "clean", "--json"], false),
            (&["provlock", "cache", "keygen", "k", "--json"], false),
            (
                &["provlock", "cache", "push", "--signing-key", "k", "--json"],
                true,
            ),
            (&["provlock", "lock", "--json"], true),
            (&["provlock", "explain", "io", "--json"], true),
        ] {
            let accepted = Cli::try_parse_from(arguments).unwrap().command.has_json();
            assert_eq!(accepted, has_json, "{arguments:?}");
            let mut command = &program();
            for word in &arguments[1..] {
                command = command.find_subcommand(word).unwrap_or(command);
            }
            assert_eq!(help(command).contains("--json"), has_json, "{arguments:?}");
        }
    }

    /// A terminal of 60 columns breaks no line, so that each can be pasted.
    #[test]
    fn examples_fit_a_narrow_terminal_and_are_accepted() {
        all(&program(), &mut |command| {
            let examples = command.get_before_long_help().or(command.get_before_help());
            let examples = examples.map(ToString::to_string).unwrap_or_default();
            for line in examples.lines() {
                assert!(line.chars().count() <= 60, "{line}");
                let Some(line) = line
                    .trim_start_matches("Example: ")
                    .trim()
                    .strip_prefix("provlock ")
                else {
                    continue;
                };
                assert!(!line.contains(" # "), "{line}");
                let words = line.split([' ']).map(|word| word.trim_matches('\''));
                let words = words.take_while(|word| !["&&", "|", ">", "<"].contains(word));
                let parsed = Cli::try_parse_from(std::iter::once("provlock").chain(words));
                assert!(parsed.is_ok(), "{line}");
            }
        });
    }
}
