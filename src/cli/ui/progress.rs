//! Progress on a terminal: words about what the run waits for until the first download, then the
//! downloads.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use provlock::packages::Progress;
use provlock::packages::archive::PackageId;

use crate::cli::render::style::count;

/// Interval between two frames while nothing else changes.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of frames per second.
const FRAMES_PER_SECOND: u8 = 20;

/// Maximum number of downloads with a row of their own. Users cannot read more while they change.
const MOST_ROWS: usize = 8;

const WAITING: &str = "{spinner} {msg}";
const TOTAL: &str = "{binary_bytes}  {binary_bytes_per_sec}  {wide_msg}";
const DOWNLOAD: &str = "{bar:12}  {binary_total_bytes:>10}  {wide_msg}";
/// A download whose size the server does not send.
const UNSIZED: &str = "{spinner:12}  {binary_bytes:>10}  {wide_msg}";

/// The lines at the bottom of the terminal. Other text is printed above them.
#[derive(Clone)]
pub(super) struct ProgressDisplay {
    bars: MultiProgress,
    total: ProgressBar,
    downloads: Arc<Mutex<Downloads>>,
}

#[derive(Default)]
struct Downloads {
    /// Unfinished downloads, in the order in which they started.
    active: Vec<(PackageId, ProgressBar)>,
    /// Number of finished downloads.
    done: usize,
}

impl ProgressDisplay {
    /// A display that shows what the run waits for, or nothing at all if it is `hidden`.
    pub(super) fn new(waiting_for: Option<&str>, hidden: bool) -> Self {
        let target = if hidden {
            ProgressDrawTarget::hidden()
        } else {
            let terminal = Box::new(Terminal(Term::buffered_stderr()));
            ProgressDrawTarget::term_like_with_hz(terminal, FRAMES_PER_SECOND)
        };
        let bars = MultiProgress::with_draw_target(target);
        let total = bars.add(ProgressBar::no_length());
        if let Some(words) = waiting_for {
            total.set_style(bar_style(WAITING));
            total.set_message(words.to_owned());
            total.enable_steady_tick(TICK);
        }
        Self {
            bars,
            total,
            downloads: Arc::default(),
        }
    }

    /// Prints something above what is shown.
    pub(super) fn print(&self, print: impl FnOnce()) {
        self.bars.suspend(print);
    }

    /// Shows what happened to the download of a package: a row for each unfinished download, and
    /// the numbers of finished and unfinished ones.
    pub(super) fn note_download(&self, package: &PackageId, progress: Progress) {
        let Downloads { active, done } = &mut *self
            .downloads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let index = active.iter().position(|(other, _)| other == package);
        if let Progress::Received(bytes) = progress {
            self.total.inc(bytes);
            if let Some(index) = index {
                active[index].1.inc(bytes);
            }
            return;
        }
        // A download that starts again gets a new row.
        if let Some(index) = index {
            let (_, row) = active.remove(index);
            self.bars.remove(&row);
        }
        let is_first = active.is_empty() && *done == 0;
        let mut unfinished = active.len();
        if matches!(progress, Progress::Started(_)) {
            unfinished += 1;
        } else if index.is_some() {
            *done += 1;
        }
        // The numbers are drawn before the row, so that no frame shows a row that they lack.
        self.total.set_message(format!(
            "{} downloaded, {unfinished} on the way",
            count(*done, "package")
        ));
        let Progress::Started(length) = progress else {
            return;
        };
        let is_shown = active.len() < MOST_ROWS;
        let row = self.add_row(package, length, is_shown);
        active.push((package.clone(), row));
        // The first download replaces the words about waiting.
        if is_first {
            self.total.reset();
            self.total.set_style(bar_style(TOTAL));
            self.total.enable_steady_tick(TICK);
        }
    }

    /// Adds the row of a download, which is drawn only if it `is_shown`.
    fn add_row(&self, package: &PackageId, length: Option<u64>, is_shown: bool) -> ProgressBar {
        let row = if is_shown {
            self.bars.add(ProgressBar::no_length())
        } else {
            ProgressBar::hidden()
        };
        // Without a length there is no bar, only the number of bytes.
        row.set_style(bar_style(if length.is_some() { DOWNLOAD } else { UNSIZED }));
        if let Some(length) = length {
            row.set_length(length);
        }
        let PackageId {
            address,
            version,
            platform,
        } = package;
        row.set_message(format!(
            "{}/{} {version} {platform}",
            address.namespace, address.name
        ));
        row
    }

    /// Ends the display, and returns the number of unfinished downloads.
    pub(super) fn clear(&self) -> usize {
        let downloads = self
            .downloads
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        downloads
            .active
            .iter()
            .for_each(|(_, row)| row.finish_and_clear());
        self.total.finish_and_clear();
        downloads.active.len()
    }
}

fn bar_style(template: &str) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style
        .progress_chars("━╸─")
        .tick_strings(&["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏", " "])
}

/// A terminal whose cursor is at the start of the last line after drawing. At the end of that line,
/// the `^C` that a terminal echoes would begin another line, and clearing would miss the first.
#[derive(Debug)]
struct Terminal(Term);

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.0.size().1
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.write_str("\r")?;
        self.0.flush()
    }
}
