//! Progress on a terminal: what is waited for until the first download, then a bar for each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use provlock::package::PackageId;
use provlock::source::Progress;

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
    /// Shows nothing yet but what is waited for. What is `hidden` shows nothing at all.
    pub(super) fn new(waiting_for: Option<&str>, hidden: bool) -> Self {
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bars = MultiProgress::with_draw_target(target);
        let waiting = waiting_for.filter(|_| !hidden).map(|text| {
            let spinner = bars.add(ProgressBar::new_spinner().with_message(text.to_owned()));
            spinner.enable_steady_tick(TICK);
            spinner
        });
        Self { bars, active: Mutex::default(), waiting: Mutex::new(waiting) }
    }

    /// Takes note of what happened to the download of a package.
    pub(crate) fn note(&self, package: &PackageId, progress: Progress) {
        if self.bars.is_hidden() {
            return;
        }
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Started(length) => {
                self.stop_waiting();
                let bar = active.entry(package.clone()).or_insert_with(|| self.new_bar(package, length));
                bar.reset();
                bar.set_style(style(length));
                bar.set_length(length.unwrap_or(0));
            }
            Progress::Received(count) => {
                if let Some(bar) = active.get(package) {
                    bar.inc(count);
                }
            }
            Progress::Finished => {
                if let Some(bar) = active.remove(package) {
                    bar.finish_and_clear();
                }
            }
        }
    }

    fn new_bar(&self, package: &PackageId, length: Option<u64>) -> ProgressBar {
        let PackageId { address, version, platform } = package;
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
