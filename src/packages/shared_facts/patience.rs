//! How long a run waits for a registry.

use std::time::{Duration, Instant};

/// Two limits: on the time without any answer, for a registry that hangs, and on the time in all, for a registry that
/// answers slowly. Only time in which at least one thread waits is counted, and only once.
#[derive(Debug)]
pub(super) struct Patience {
    silence: Duration,
    left: Duration,
    waiting: usize,
    since: Option<Instant>,
    heard: Option<Instant>,
}

impl Patience {
    /// Limits on the time without an answer, and on the time in all.
    pub(super) fn new(silence: Duration, left: Duration) -> Self {
        Self { silence, left, waiting: 0, since: None, heard: None }
    }

    /// A thread begins to wait.
    pub(super) fn begin(&mut self, now: Instant) {
        self.waiting += 1;
        self.since.get_or_insert(now);
    }

    /// An answer has arrived.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// A thread stops waiting.
    pub(super) fn end(&mut self, now: Instant) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.left = self.left.saturating_sub(passed(self.since, now));
            self.since = None;
        }
    }

    /// How much longer threads may wait, unless an answer arrives.
    pub(super) fn left(&self, now: Instant) -> Duration {
        let silent = passed(self.since.max(self.heard.filter(|_| self.since.is_some())), now);
        self.silence.saturating_sub(silent).min(self.left.saturating_sub(passed(self.since, now)))
    }
}

fn passed(since: Option<Instant>, now: Instant) -> Duration {
    since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_by_once_for_all_who_wait_and_not_between() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let left = |patience: &Patience, seconds| patience.left(at(seconds)).as_secs();
        let mut patience = Patience::new(Duration::from_secs(3), Duration::from_secs(10));
        patience.begin(at(0));
        patience.begin(at(1));
        assert_eq!((left(&patience, 1), left(&patience, 3)), (2, 0));
        patience.hear(at(2));
        assert_eq!(left(&patience, 3), 2);
        patience.hear(at(4));
        patience.end(at(4));
        patience.end(at(4));
        // No request waits, and six seconds are left in all.
        assert_eq!(left(&patience, 100), 3);
        patience.begin(at(100));
        assert_eq!((left(&patience, 100), left(&patience, 102)), (3, 1));
        patience.hear(at(102));
        patience.hear(at(104));
        assert_eq!((left(&patience, 104), left(&patience, 105), left(&patience, 106)), (2, 1, 0));
        patience.end(at(106));
        assert_eq!(left(&patience, 200), 0);
    }
}
