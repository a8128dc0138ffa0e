//! The terminal: stdout is data, stderr is status.

mod progress;
mod terminal;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{BufRead as _, ErrorKind, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use provlock::diagnostic::{Diagnostic, Severity};
use provlock::packages::Progress;
use provlock::packages::archive::PackageId;
use provlock::packages::connections::RequestObserver;
use provlock::project::Selection;
use provlock::system::Secrets;
use provlock::system::files::{self, FileChange, canonical_or_given};
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

use self::progress::ProgressDisplay;
use super::args::{ColorChoice, Escaping, GlobalArgs, OutputFormat, Verbosity};
use super::render::causes::{SeveralRoots, one_per_cause};
use super::render::foreign::{escape_hidden, escape_hidden_in_json, printable};
use super::render::help::Invocation;
use super::render::style::{TextStyle, count};
use super::render::{diagnostics, diff, json, request};

/// Maximum width of prose, as in help, on wide terminals and without a terminal.
const MOST_COLUMNS: usize = 100;

/// Maximum size of an answer in bytes.
const LONGEST_ANSWER: u64 = 4096;

/// The width of a table without a terminal.
const TABLE_COLUMNS: usize = 80;

pub(crate) struct Ui {
    /// Name of the command.
    command: String,
    pub(crate) format: OutputFormat,
    /// The flags of every command.
    pub(crate) global: GlobalArgs,
    /// Start of the program, which commands in help repeat.
    pub(crate) invocation: Invocation,
    pub(crate) stdout_style: TextStyle,
    pub(crate) stderr_style: TextStyle,
    verbosity: Verbosity,
    stderr: Stderr,
    /// First error of a write to stdout.
    stdout_error: OnceLock<std::io::Error>,
}

/// Writes the lines of stderr above the progress that is drawn there. Clones share the progress.
#[derive(Clone)]
struct Stderr {
    progress: Arc<Mutex<Option<ProgressDisplay>>>,
    secrets: Secrets,
    style: TextStyle,
}

impl Ui {
    pub(crate) fn new(
        command: String,
        format: OutputFormat,
        global: GlobalArgs,
        invocation: Invocation,
    ) -> Self {
        let color = global.output.color;
        let verbosity = global.output.verbosity();
        let stdout = std::io::stdout();
        // Each stream may be a terminal, or not, and have a width of its own.
        let stdout_style = text_style(
            color,
            verbosity,
            stdout.is_terminal(),
            terminal_size_of(&stdout),
        );
        let stderr_style = stderr_text_style(color, verbosity);
        let stderr = Stderr {
            progress: Arc::default(),
            secrets: invocation.secrets.clone(),
            style: stderr_style,
        };
        Self {
            command,
            format,
            global,
            invocation,
            stdout_style,
            stderr_style,
            verbosity,
            stderr,
            stdout_error: OnceLock::new(),
        }
    }

    /// Whether the result, and an error that ends the command, is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }

    /// Prints a result in the format of the command. [`Ui::take_stdout_error`] returns a failure at
    /// the end.
    pub(crate) fn print(&self, text: &str) {
        self.print_bytes(self.safe(text, self.format).as_bytes());
    }

    /// Prints the fields of a result, with warnings and errors, if it is to be JSON.
    pub(crate) fn print_json(
        &self,
        result: impl Serialize,
        warnings: &[Diagnostic],
        errors: &[Diagnostic],
    ) {
        if self.is_json() {
            self.print(&json::output_line(
                &self.command,
                result,
                warnings,
                errors,
                &self.invocation,
            ));
        }
    }

    /// Prints the changes of files as diffs, but not of files outside of the repository. The change
    /// of a file to which several paths lead is printed once.
    pub(crate) fn print_changes<'a>(&self, changes: impl IntoIterator<Item = &'a FileChange>) {
        let mut printed = BTreeSet::new();
        for FileChange { path, old, new } in changes {
            if !printed.insert((canonical_or_given(path), new)) {
                continue;
            }
            if self.invocation.boundary().is_outside(path) {
                self.status(&format!(
                    "{} leads out of the repository, so its diff is not shown",
                    path.display()
                ));
            } else {
                self.print(&diff::unified_diff(
                    path,
                    old.as_deref(),
                    Some(new),
                    self.stdout_style.color,
                ));
            }
        }
    }

    /// Returns a command for root modules that a user can paste.
    pub(crate) fn suggest(&self, words: &[&str], selection: &Selection) -> String {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        self.invocation
            .suggest(words, selection, self.global.dialect)
    }

    /// Returns a result without secrets, and without commands for the program that reads the log.
    pub(crate) fn safe(&self, text: &str, format: OutputFormat) -> String {
        let redacted = || self.invocation.secrets.redact(text);
        match format.escaping() {
            Escaping::Text => escape_hidden(&redacted(), self.stdout_style.has_escapes()),
            Escaping::Page => escape_hidden(text, false),
            Escaping::Commands => redacted(),
            Escaping::Json => escape_hidden_in_json(text),
        }
    }

    /// [`Ui::print`] for output that may not be text.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        self.stderr.print_above_progress(|| {
            let mut stdout = std::io::stdout().lock();
            if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
                let _ = self.stdout_error.set(error);
            }
        });
    }

    /// Returns the error of a write to stdout. A closed pipe is not an error: the reader has seen
    /// enough.
    pub(crate) fn take_stdout_error(&mut self) -> Option<std::io::Error> {
        self.stdout_error
            .take()
            .filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }

    pub(crate) fn status(&self, line: &str) {
        self.status_lines(&[printable(line)]);
    }

    /// [`Ui::status`] for each sentence.
    pub(crate) fn statuses<T: AsRef<str>>(&self, sentences: impl IntoIterator<Item = T>) {
        for sentence in sentences {
            self.status(sentence.as_ref());
        }
    }

    pub(crate) fn status_lines<T: Borrow<str>>(&self, lines: &[T]) {
        if self.verbosity >= Verbosity::Normal {
            self.stderr.print(lines);
        }
    }

    /// Prints one line of status if more detail was asked for.
    pub(crate) fn verbose(&self, line: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.stderr.print(&[printable(line)]);
        }
    }

    pub(crate) fn least_severity(&self) -> Severity {
        if self.verbosity == Verbosity::Quiet {
            Severity::Error
        } else {
            Severity::Note
        }
    }

    /// Shows warnings unless the run is quiet.
    pub(crate) fn warn(&self, warnings: &[Diagnostic]) {
        if self.verbosity >= Verbosity::Normal {
            self.error(warnings);
        }
    }

    /// Shows errors, whatever the verbosity. Blank lines separate errors of several lines.
    pub(crate) fn error(&self, errors: &[Diagnostic]) {
        let texts = diagnostics::render_all(errors, &self.invocation, self.stderr_style);
        let is_long = |text: &String| text.contains('\n');
        let separator = if texts.iter().any(is_long) {
            "\n\n"
        } else {
            "\n"
        };
        if !texts.is_empty() {
            self.stderr.print(&[texts.join(separator)]);
        }
    }

    /// [`Ui::warn`] with each cause once, for warnings with the root modules that they are about.
    pub(crate) fn warn_by_cause<'a>(
        &self,
        warnings: impl IntoIterator<Item = (Option<&'a Path>, &'a Diagnostic)>,
        several: Option<SeveralRoots<'_>>,
    ) {
        self.warn(&one_per_cause(warnings, several, self.stderr_style.verbose));
    }

    /// [`Ui::error`] with each cause once, for errors with the root modules that they are about.
    pub(crate) fn error_by_cause<'a>(
        &self,
        errors: impl IntoIterator<Item = (Option<&'a Path>, &'a Diagnostic)>,
        several: Option<SeveralRoots<'_>>,
    ) {
        self.error(&one_per_cause(errors, several, self.stderr_style.verbose));
    }

    /// Shows a text whatever the verbosity, instead of the progress, and reads the line that the
    /// user types after it; `None` without a line.
    pub(crate) fn ask(&self, text: &str) -> Option<String> {
        self.clear_progress();
        self.stderr.write(text);
        let mut answer = String::new();
        let read = std::io::stdin()
            .lock()
            .take(LONGEST_ANSWER)
            .read_line(&mut answer);
        read.is_ok_and(|length| length > 0).then_some(answer)
    }

    /// Draws progress, on a terminal only: the words in `waiting_for` until the first download,
    /// then the downloads.
    pub(crate) fn show_progress(&self, waiting_for: Option<&str>) {
        self.clear_progress();
        let can_redraw = terminal::can_redraw(std::io::stderr().is_terminal(), &variable);
        let hidden = self.verbosity == Verbosity::Quiet || !can_redraw;
        *self.stderr.progress() = Some(ProgressDisplay::new(waiting_for, hidden));
    }

    /// Draws what happened to the download of a package.
    pub(crate) fn show_download(&self, package: &PackageId, progress: Progress) {
        if self.stderr.progress().is_none() {
            self.show_progress(None);
        }
        if let Some(display) = &*self.stderr.progress() {
            display.note_download(package, progress);
        }
    }

    /// Clears the progress.
    pub(crate) fn clear_progress(&self) {
        let display = self.stderr.progress().take();
        if let Some(display) = display {
            display.clear();
        }
    }

    /// Shows each request if the verbosity asks for that.
    pub(crate) fn request_observer(&self) -> RequestObserver {
        if self.verbosity < Verbosity::Debug {
            return RequestObserver::default();
        }
        let stderr = self.stderr.clone();
        RequestObserver::new(move |answer| stderr.print(&[request::line(answer)]))
    }

    /// Returns the last action before a signal ends the program, while no file is being replaced:
    /// it restores the terminal, and reports the written files and the unfinished downloads. Before
    /// the first progress and the first file there is nothing to report.
    pub(crate) fn interruption_report(&self) -> impl Fn() + Send + 'static {
        let stderr = self.stderr.clone();
        let verbosity = self.verbosity;
        move || {
            // The progress stays cleared, so that nothing is drawn again.
            let unfinished = stderr.progress().as_ref().map(ProgressDisplay::clear);
            let files = match files::number_replaced() {
                0 if unfinished.is_none() => return,
                0 => "no file was changed".to_owned(),
                1 => "1 file was written".to_owned(),
                number => format!("{number} files were written"),
            };
            let downloads = match unfinished {
                None | Some(0) => String::new(),
                Some(number) => format!("; {} not finished", count(number, "download")),
            };
            if verbosity >= Verbosity::Normal {
                stderr.print(&[format!("Interrupted: {files}{downloads}")]);
            }
        }
    }
}

impl Stderr {
    /// Prints lines in one write, because a run for a thousand root modules prints many. A closed
    /// stderr is not an error.
    fn print<T: Borrow<str>>(&self, lines: &[T]) {
        if !lines.is_empty() {
            self.write(&(lines.join("\n") + "\n"));
        }
    }

    fn write(&self, text: &str) {
        let text = escape_hidden(&self.secrets.redact(text), self.style.has_escapes());
        self.print_above_progress(|| drop(std::io::stderr().write_all(text.as_bytes())));
    }

    fn print_above_progress(&self, print: impl FnOnce()) {
        let display = self.progress().clone();
        match display {
            Some(display) => display.print(print),
            None => print(),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Option<ProgressDisplay>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the style of text on stderr.
pub(crate) fn stderr_text_style(color: ColorChoice, verbosity: Verbosity) -> TextStyle {
    let stderr = std::io::stderr();
    text_style(
        color,
        verbosity,
        stderr.is_terminal(),
        terminal_size_of(&stderr),
    )
}

fn text_style(
    color: ColorChoice,
    verbosity: Verbosity,
    is_terminal: bool,
    size: Option<(Width, Height)>,
) -> TextStyle {
    TextStyle {
        color: terminal::has_color(color, is_terminal, &variable),
        hyperlinks: terminal::has_hyperlinks(is_terminal, &variable),
        // Programs that read the lines of a terminal set `TERM=dumb`.
        columns: if terminal::can_redraw(is_terminal, &variable) {
            known_width(size)
        } else {
            None
        },
        verbose: verbosity >= Verbosity::Verbose,
    }
}

/// Whether stdin and stderr are a terminal.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Returns the width of prose on stdout: that of the terminal, but not more than is easy to read.
pub(crate) fn prose_columns() -> usize {
    known_width(terminal_size_of(std::io::stdout()))
        .map_or(MOST_COLUMNS, |columns| columns.min(MOST_COLUMNS))
}

/// Returns the width of a table on stdout: that of the terminal, or the most common one.
pub(crate) fn table_columns() -> usize {
    known_width(terminal_size_of(std::io::stdout())).unwrap_or(TABLE_COLUMNS)
}

/// Returns the width of a terminal; `None` if it does not know its width, and reports zero.
fn known_width(size: Option<(Width, Height)>) -> Option<usize> {
    size.map(|(Width(columns), _)| columns.into())
        .filter(|columns| *columns > 0)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
