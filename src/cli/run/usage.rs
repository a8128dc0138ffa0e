//! Invalid command lines, and requests for help.

use std::io::{ErrorKind, Write as _};

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use provlock::diagnostic::{Code, Diagnostic};
use serde_json::json;

use super::outcome::{Outcome, stdout_error};
use crate::cli::args::{ColorChoice, Verbosity};
use crate::cli::render::diagnostics::render_all;
use crate::cli::render::foreign::{escape_hidden, escape_hidden_in_json, is_harmless};
use crate::cli::render::help::Invocation;
use crate::cli::render::json::output_line;
use crate::cli::ui::stderr_text_style;

/// Maximum number of possible values in a message; users do not read more.
const MOST_VALUES: usize = 20;

/// Prints the error of a command line, or the requested help.
pub(crate) fn show_error_or_help(mut error: clap::Error, program: &Command) -> Outcome {
    if !error.use_stderr() {
        return show_help(&error);
    }
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut is_all_harmless = words.iter().all(|word| is_harmless(word));
    for (name, value) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PROVLOCK_") {
            is_all_harmless &= is_harmless(&value.to_string_lossy());
        }
    }

    // A list of all values would hide the message itself.
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && values.len() > MOST_VALUES
    {
        error.remove(ContextKind::ValidValue);
    }
    let message = error.render();
    let style = stderr_text_style(ColorChoice::Auto, Verbosity::Normal);
    let text = if !is_all_harmless {
        // The styles of the message cannot be distinguished from those in the user's text.
        escape_hidden(&message.to_string().replace('\r', "\\r"), false)
    } else if style.color {
        message.ansi().to_string()
    } else {
        message.to_string()
    };
    let shown = text.replace(
        "For more information, try",
        "help: for more information, try",
    );
    let _ = std::io::stderr().write_all(shown.as_bytes());

    if asks_for_json(&words) {
        let invocation = Invocation::new(None);
        let command = words.iter().find_map(|word| program.find_subcommand(word));
        let name = match command {
            Some(command) => command.get_name(),
            None => "provlock",
        };
        let output = output_line(name, json!({}), &[], &[diagnostic(&error)], &invocation);
        let _ = std::io::stdout().write_all(escape_hidden_in_json(&output).as_bytes());
    }
    Outcome::Failed
}

/// Prints the requested help or version. A closed output is not an error.
fn show_help(help: &clap::Error) -> Outcome {
    let Err(error) = help.print().and_then(|()| std::io::stdout().flush()) else {
        return Outcome::Done;
    };
    if error.kind() == ErrorKind::BrokenPipe {
        return Outcome::Done;
    }
    let style = stderr_text_style(ColorChoice::Auto, Verbosity::Normal);
    for text in render_all(&stdout_error(error), &Invocation::new(None), style) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    Outcome::Failed
}

/// Whether an invalid command line requests JSON.
fn asks_for_json(words: &[String]) -> bool {
    let mut previous = "";
    for word in words {
        if word == "--" {
            return false;
        }
        if word == "--json" || word == "--format=json" || (previous == "--format" && word == "json")
        {
            return true;
        }
        previous = word;
    }
    false
}

/// The error as a diagnostic: the first paragraph is the message, and a tip is help.
fn diagnostic(error: &clap::Error) -> Diagnostic {
    let text = error.render().to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let words: Vec<&str> = message.split_whitespace().collect();
    let tips: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "))
        .collect();
    let diagnostic = Diagnostic::error(Code::InvalidArgument, words.join(" "));
    if tips.is_empty() {
        diagnostic
    } else {
        diagnostic.help(tips.join("; "))
    }
}
