//! The terminal: stdout is data, stderr is status.

mod progress;
mod terminal;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::{BufRead as _, ErrorKind, IsTerminal as _, Read as _, Write as _};
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

use self::progress::Display;
use super::args::{ColorChoice, Escaping, GlobalArgs, OutputFormat, Verbosity};
use super::render::foreign::{harmless, harmless_json, printable};
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

/// Writes the lines of stderr above the progress that is drawn there. Clones share it.
#[derive(Clone)]
struct Stderr {
    drawn: Arc<Mutex<Option<Display>>>,
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
        let stdout_style = style(
            color,
            verbosity,
            stdout.is_terminal(),
            terminal_size_of(&stdout),
        );
        let stderr_style = choose_stderr_style(color, verbosity);
        let stderr = Stderr {
            drawn: Arc::default(),
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
            self.print(&json::document(
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
                self.print(&diff::unified(
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
            Escaping::Text => harmless(&redacted(), self.stdout_style.has_escapes()),
            Escaping::Page => harmless(text, false),
            Escaping::Commands => redacted(),
            Escaping::Json => harmless_json(text),
        }
    }

    /// [`Ui::print`] for output that may not be text.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) {
        self.stderr.above(|| {
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

    /// Shows a text whatever the verbosity, instead of the progress, and reads the line that the
    /// user types after it; `None` without a line.
    pub(crate) fn ask(&self, text: &str) -> Option<String> {
        self.clear();
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
    pub(crate) fn progress(&self, waiting_for: Option<&str>) {
        self.clear();
        let can_redraw = terminal::can_redraw(std::io::stderr().is_terminal(), &variable);
        let hidden = self.verbosity == Verbosity::Quiet || !can_redraw;
        *self.stderr.drawn() = Some(Display::new(waiting_for, hidden));
    }

    /// Draws what happened to the download of a package.
    pub(crate) fn download(&self, package: &PackageId, progress: Progress) {
        if self.stderr.drawn().is_none() {
            self.progress(None);
        }
        if let Some(display) = &*self.stderr.drawn() {
            display.note(package, progress);
        }
    }

    /// Clears the progress.
    pub(crate) fn clear(&self) {
        let drawn = self.stderr.drawn().take();
        if let Some(display) = drawn {
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

    /// The last actions before a signal ends the program, while no file is being replaced: they
    /// restore the terminal and report the unfinished work.
    pub(crate) fn on_interrupt(&self) -> impl Fn() + Send + 'static {
        let (stderr, verbosity) = (self.stderr.clone(), self.verbosity);
        move || {
            // The progress stays cleared, so that nothing is drawn again.
            let downloads = stderr.drawn().as_ref().map(Display::clear);
            let files = match files::replaced() {
                0 if downloads.is_none() => return,
                0 => "no file was changed".to_owned(),
                1 => "1 file was written".to_owned(),
                number => format!("{number} files were written"),
            };
            let downloads = match downloads {
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
        let text = harmless(&self.secrets.redact(text), self.style.has_escapes());
        self.above(|| drop(std::io::stderr().write_all(text.as_bytes())));
    }

    fn above(&self, print: impl FnOnce()) {
        let drawn = self.drawn().clone();
        match drawn {
            Some(display) => display.print(print),
            None => print(),
        }
    }

    fn drawn(&self) -> MutexGuard<'_, Option<Display>> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the style of text on stderr.
pub(crate) fn choose_stderr_style(color: ColorChoice, verbosity: Verbosity) -> TextStyle {
    let stderr = std::io::stderr();
    style(
        color,
        verbosity,
        stderr.is_terminal(),
        terminal_size_of(&stderr),
    )
}

fn style(
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
            width(size)
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
pub(crate) fn columns() -> usize {
    width(terminal_size_of(std::io::stdout()))
        .map_or(MOST_COLUMNS, |columns| columns.min(MOST_COLUMNS))
}

/// Returns the width of a table on stdout: that of the terminal, or the most common one.
pub(crate) fn table_columns() -> usize {
    width(terminal_size_of(std::io::stdout())).unwrap_or(TABLE_COLUMNS)
}

/// Terminals that do not know their width report zero.
fn width(size: Option<(Width, Height)>) -> Option<usize> {
    size.map(|(Width(columns), _)| columns.into())
        .filter(|columns| *columns > 0)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
