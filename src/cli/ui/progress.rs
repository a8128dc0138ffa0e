//! Progress on a terminal: words about what the run waits for until the first download, then the downloads.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use provlock::packages::Progress;
use provlock::packages::archive::PackageId;
use terminal_size::{Height, Width};

use super::frame::{Transfer, Transfers};

/// How often what moves is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The size of a terminal that does not say how large it is.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// What stands at the bottom of the terminal. All text that is printed meanwhile goes above it.
#[derive(Clone)]
pub(super) struct Display {
    /// Draws, and draws again.
    bar: ProgressBar,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What is waited for until the first download.
    waiting_for: Option<String>,
    /// When the first download started.
    started: Option<Instant>,
    transfers: Transfers,
}

impl Display {
    /// A display that shows what the run waits for, or nothing at all if it is `hidden`.
    pub(super) fn new(waiting_for: Option<&str>, hidden: bool) -> Self {
        let terminal = || ProgressDrawTarget::term_like_with_hz(Box::new(Terminal(Term::buffered_stderr())), 20);
        let target = if hidden { ProgressDrawTarget::hidden() } else { terminal() };
        let state = Arc::new(Mutex::new(State { waiting_for: waiting_for.map(str::to_owned), ..State::default() }));
        let drawn = Arc::clone(&state);
        let draw = move |bar: &ProgressState, out: &mut dyn std::fmt::Write| {
            // Only a string is written to.
            let _ = out.write_str(&lock(&drawn).lines(bar.elapsed()).join("\n"));
        };
        let style = ProgressStyle::with_template("{lines}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(None, target).with_style(style.with_key("lines", draw));
        if !hidden {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, state }
    }

    /// Prints something above what is shown.
    pub(super) fn print(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Shows what happened to the download of a package.
    pub(super) fn note(&self, package: &PackageId, progress: Progress) {
        let State { started, transfers: Transfers { active, done, received }, .. } = &mut *lock(&self.state);
        let place = active.iter().position(|transfer| transfer.package == *package);
        match (progress, place) {
            (Progress::Started(length), _) => {
                started.get_or_insert_with(Instant::now);
                let transfer = Transfer { package: package.clone(), length, received: 0 };
                match place {
                    Some(again) => active[again] = transfer,
                    None => active.push(transfer),
                }
            }
            (Progress::Received(count), place) => {
                *received += count;
                if let Some(place) = place {
                    active[place].received += count;
                }
            }
            (Progress::Finished, Some(place)) => {
                active.remove(place);
                *done += 1;
            }
            (Progress::Finished, None) => {}
        }
    }

    /// Ends the display, and returns the number of unfinished downloads.
    pub(super) fn clear(&self) -> usize {
        self.bar.finish_and_clear();
        lock(&self.state).transfers.active.len()
    }
}

/// A terminal whose cursor stands at the start of the last line after drawing. At its end, the `^C` that a terminal
/// echoes would begin another line, and clearing would miss the first.
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

impl State {
    /// What is shown after some time.
    fn lines(&self, shown: Duration) -> Vec<String> {
        match (self.started, &self.waiting_for) {
            (Some(started), _) => {
                let size = terminal_size::terminal_size_of(std::io::stderr());
                let size = size.map(|(Width(width), Height(height))| (width.into(), height.into()));
                let (width, height) = size.filter(|size| *size != (0, 0)).unwrap_or(USUAL_SIZE);
                self.transfers.lines(started.elapsed(), width, height)
            }
            (None, Some(what)) => {
                let frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
                let turns = usize::try_from(shown.as_millis() / TICK.as_millis()).unwrap_or_default();
                vec![format!("{} {what}", frames[turns % frames.len()])]
            }
            (None, None) => Vec::new(),
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
