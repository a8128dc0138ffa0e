//! The terminal: stdout is data, stderr is status.

use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use provlock::diagnostic::Diagnostic;

use super::OutputArgs;
use super::render::{diagnostics, json};

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Even into a pipe
    Always,
    /// Not at all
    Never,
}

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// Where everything is printed.
pub(crate) struct Ui {
    pub(crate) json: bool,
    pub(crate) verbosity: Verbosity,
    /// Whether stderr is coloured.
    pub(crate) color: bool,
    /// Whether stdout is coloured.
    pub(crate) color_stdout: bool,
}

impl Ui {
    pub(crate) fn new(arguments: &OutputArgs) -> Self {
        let verbosity = match (arguments.quiet, arguments.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        };
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = |terminal: bool| match arguments.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !no_color,
        };
        Self {
            json: arguments.json,
            verbosity,
            color: color(std::io::stderr().is_terminal()),
            color_stdout: color(std::io::stdout().is_terminal()),
        }
    }

    /// Prints data. A reader that closes the pipe early is no error.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// [`Ui::print`] for what may be no text.
    #[allow(clippy::unused_self, reason = "standard output belongs to the `Ui`")]
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }

    /// Prints one line of status.
    pub(crate) fn status(&self, line: &str) {
        if self.verbosity >= Verbosity::Normal {
            eprintln!("{line}");
        }
    }

    /// Shows what the user should know.
    pub(crate) fn warn(&self, warnings: &[Diagnostic]) {
        if self.verbosity >= Verbosity::Normal {
            self.show(warnings);
        }
    }

    /// Shows what stopped a command; with `--json` also as data.
    pub(crate) fn fail(&self, command: &str, errors: &[Diagnostic]) {
        self.show(errors);
        if self.json {
            self.print(&json::failure(command, errors));
        }
    }

    /// Shows diagnostics whatever the verbosity.
    pub(crate) fn show(&self, list: &[Diagnostic]) {
        for diagnostic in list {
            eprintln!("{}", diagnostics::render(diagnostic, self.color));
        }
    }
}
