//! The terminal: stdout is data, stderr is status.

mod progress;

use std::borrow::Borrow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::OnceLock;

use clap::ValueEnum;
use provlock::diagnostic::{Code, Diagnostic};

pub(crate) use progress::Downloads;

use super::render::{diagnostics, json};

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

/// Where everything is printed.
pub(crate) struct Ui {
    pub(crate) json: bool,
    pub(crate) verbosity: Verbosity,
    /// Whether stderr is coloured.
    pub(crate) color: bool,
    /// Whether text on stdout is coloured.
    pub(crate) stdout_color: bool,
    /// Why something could not be printed on stdout.
    unprinted: OnceLock<std::io::Error>,
}

impl Ui {
    /// `json` says whether errors, too, are data.
    pub(crate) fn new(verbosity: Verbosity, color: ColorChoice, json: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_colored = |terminal: bool| match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color,
        };
        Self {
            json,
            verbosity,
            color: is_colored(std::io::stderr().is_terminal()),
            stdout_color: is_colored(std::io::stdout().is_terminal()),
            unprinted: OnceLock::new(),
        }
    }

    /// Prints data. Whether that failed is found by [`Ui::unprinted`] in the end.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// [`Ui::print`] for what may be no text.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            let _ = self.unprinted.set(error);
        }
    }

    /// The error when data could not be printed. A reader that closed the pipe has seen enough; that is none.
    pub(crate) fn unprinted(&self) -> Option<Diagnostic> {
        let error = self.unprinted.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
        Some(Diagnostic::error(Code::Io, format!("cannot write to stdout: {error}")))
    }

    /// Prints one line of status.
    pub(crate) fn status(&self, line: &str) {
        self.status_lines(&[line]);
    }

    /// Prints lines of status that belong together.
    pub(crate) fn status_lines<T: Borrow<str>>(&self, lines: &[T]) {
        if self.verbosity >= Verbosity::Normal {
            print_status(lines);
        }
    }

    /// Prints one line of status that only those who ask for it see.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbosity >= Verbosity::Verbose {
            print_status(&[line]);
        }
    }

    /// Shows what the user should know.
    pub(crate) fn warn(&self, warnings: &[Diagnostic]) {
        if self.verbosity >= Verbosity::Normal {
            self.show(warnings);
        }
    }

    /// Shows what could not be done.
    pub(crate) fn complain(&self, errors: &[Diagnostic]) {
        self.show(errors);
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
        print_status(&diagnostics::render_all(list, self.color));
    }

    /// Progress on a terminal, nothing elsewhere: what is waited for until the first download, then bars.
    pub(crate) fn progress(&self, waiting_for: Option<&str>) -> Downloads {
        let hidden = self.verbosity == Verbosity::Quiet || !std::io::stderr().is_terminal();
        Downloads::new(waiting_for, hidden)
    }
}

/// Prints lines on stderr in one go: a program that runs for a thousand root modules says a lot. Who is not there to read
/// them is told nothing.
fn print_status<T: Borrow<str>>(lines: &[T]) {
    if !lines.is_empty() {
        let text = lines.join("\n") + "\n";
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
