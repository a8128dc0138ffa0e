//! The terminal: stdout is data, stderr is status.

mod pager;
mod progress;

use std::borrow::Borrow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::OnceLock;

use provlock::diagnostic::{Diagnostic, Severity};

pub(crate) use progress::Downloads;

use super::args::{ColorChoice, OutputFormat, Verbosity};
use super::render::diagnostics;
use super::render::help::Invocation;
use super::render::style::TextStyle;

/// Where everything is printed.
pub(crate) struct Ui {
    /// How the result is printed.
    pub(crate) format: OutputFormat,
    /// What commands in help repeat.
    pub(crate) invocation: Invocation,
    /// How text on stdout looks.
    pub(crate) stdout_style: TextStyle,
    /// How text on stderr looks.
    pub(crate) stderr_style: TextStyle,
    verbosity: Verbosity,
    /// Why something could not be printed on stdout.
    stdout_error: OnceLock<std::io::Error>,
}

impl Ui {
    pub(crate) fn new(verbosity: Verbosity, color: ColorChoice, format: OutputFormat, invocation: Invocation) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let style = |is_terminal: bool| TextStyle {
            color: match color {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => is_terminal && !no_color,
            },
            verbose: verbosity >= Verbosity::Verbose,
        };
        Self {
            format,
            invocation,
            stdout_style: style(std::io::stdout().is_terminal()),
            stderr_style: style(std::io::stderr().is_terminal()),
            verbosity,
            stdout_error: OnceLock::new(),
        }
    }

    /// Whether the result, and what stops a command, is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Prints data. Whether that failed is found by [`Ui::take_stdout_error`] in the end.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(text.as_bytes());
    }

    /// [`Ui::print`] for what people read: on a terminal by their pager.
    pub(crate) fn page(&self, text: &str) {
        if text.is_empty() || !std::io::stdout().is_terminal() || !pager::show(text) {
            self.print(text);
        }
    }

    /// [`Ui::print`] for what may not be text.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            let _ = self.stdout_error.set(error);
        }
    }

    /// The error when data could not be printed. A reader that closed the pipe has seen enough; that is none.
    pub(crate) fn take_stdout_error(&mut self) -> Option<std::io::Error> {
        self.stdout_error.take().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    /// Whether status is read by somebody at a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        self.verbosity >= Verbosity::Normal && std::io::stderr().is_terminal()
    }

    /// Prints one line of status.
    pub(crate) fn status(&self, line: &str) {
        self.status_lines(&[line]);
    }

    /// Prints lines of status that belong together.
    pub(crate) fn status_lines<T: Borrow<str>>(&self, lines: &[T]) {
        if self.verbosity >= Verbosity::Normal {
            print_lines(lines);
        }
    }

    /// Prints one line of status that only those who ask for it see.
    pub(crate) fn verbose(&self, line: &str) {
        if self.verbosity >= Verbosity::Verbose {
            print_lines(&[line]);
        }
    }

    /// The least severity that is shown.
    pub(crate) fn least_severity(&self) -> Severity {
        if self.verbosity == Verbosity::Quiet { Severity::Error } else { Severity::Warning }
    }

    /// Shows what the user should know.
    pub(crate) fn warn(&self, warnings: &[Diagnostic]) {
        if self.verbosity >= Verbosity::Normal {
            self.error(warnings);
        }
    }

    /// Shows what could not be done, whatever the verbosity. Several are set apart by blank lines.
    pub(crate) fn error(&self, errors: &[Diagnostic]) {
        let texts = diagnostics::render_all(errors, &self.invocation, self.stderr_style);
        let is_long = |text: &String| text.contains('\n');
        let separator = if texts.iter().any(is_long) { "\n\n" } else { "\n" };
        if !texts.is_empty() {
            print_lines(&[texts.join(separator)]);
        }
    }

    /// Progress on a terminal, nothing elsewhere: what is waited for until the first download, then bars.
    pub(crate) fn progress(&self, waiting_for: Option<&str>) -> Downloads {
        let hidden = self.verbosity == Verbosity::Quiet || !std::io::stderr().is_terminal();
        Downloads::new(waiting_for, hidden)
    }
}

/// Prints lines on stderr in one go: a program that runs for a thousand root modules says a lot. When nobody is there to
/// read them, that is no error.
fn print_lines<T: Borrow<str>>(lines: &[T]) {
    if !lines.is_empty() {
        let text = lines.join("\n") + "\n";
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
