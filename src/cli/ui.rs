//! The terminal: stdout is data, stderr is status.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::source::{PackageId, Progress};

use super::OutputArgs;
use super::render::{diagnostics, json};

/// When to use colour: `auto` means on a terminal, unless `NO_COLOR` is set.
// The variants have no documentation, so that `--help` lists them on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
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
    pub(crate) fn new(arguments: &OutputArgs, json: bool) -> Self {
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
            json,
            verbosity,
            color: color(std::io::stderr().is_terminal()),
            stdout_color: color(std::io::stdout().is_terminal()),
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
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bars = MultiProgress::with_draw_target(target);
        let waiting = waiting_for.filter(|_| !hidden).map(|text| {
            let spinner = bars.add(ProgressBar::new_spinner().with_message(text.to_owned()));
            spinner.enable_steady_tick(TICK);
            spinner
        });
        Downloads { bars, active: Mutex::default(), waiting: Mutex::new(waiting) }
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

/// How often what moves is drawn.
const TICK: Duration = Duration::from_millis(100);

/// One progress bar for each package that is being downloaded.
pub(crate) struct Downloads {
    bars: MultiProgress,
    active: Mutex<HashMap<PackageId, ProgressBar>>,
    /// The line that is shown until the first download.
    waiting: Mutex<Option<ProgressBar>>,
}

impl Downloads {
    pub(crate) fn note(&self, wanted: &PackageId, progress: Progress) {
        if self.bars.is_hidden() {
            return;
        }
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Started(length) => {
                self.stop_waiting();
                let bar = active.entry(wanted.clone()).or_insert_with(|| self.new_bar(wanted, length));
                bar.reset();
                bar.set_style(style(length));
                bar.set_length(length.unwrap_or(0));
            }
            Progress::Received(count) => {
                if let Some(bar) = active.get(wanted) {
                    bar.inc(count);
                }
            }
            Progress::Finished => {
                if let Some(bar) = active.remove(wanted) {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

impl Downloads {
    fn new_bar(&self, wanted: &PackageId, length: Option<u64>) -> ProgressBar {
        let PackageId { address, version, platform } = wanted;
        // It is not drawn before it has its place among the others.
        let bar = self.bars.add(ProgressBar::new(length.unwrap_or(0)).with_style(style(length)));
        bar.set_message(format!("{}/{} {version} {platform}", address.namespace, address.name));
        bar.enable_steady_tick(TICK);
        bar
    }

    fn stop_waiting(&self) {
        if let Some(line) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() {
            line.finish_and_clear();
        }
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.stop_waiting();
    }
}

/// How a download of so many bytes is shown; where nobody knows how many, only what has come.
fn style(length: Option<u64>) -> ProgressStyle {
    let template = match length {
        Some(_) => "{msg:40!}  {bar:25.cyan}  {bytes:>10}/{total_bytes:10}  {bytes_per_sec}",
        None => "{msg:40!}  {bytes:>10}  {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━╸─")
}
