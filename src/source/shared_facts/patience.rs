//! How long a run waits for a registry in all.

use std::time::{Duration, Instant};

/// What is left of a span of time that goes by while anybody waits, however many do.
#[derive(Debug)]
pub(super) struct Patience {
    left: Duration,
    waiting: usize,
    since: Option<Instant>,
}

impl Patience {
    pub(super) fn new(left: Duration) -> Self {
        Self { left, waiting: 0, since: None }
    }

    /// Somebody begins to wait.
    pub(super) fn begin(&mut self, now: Instant) {
        self.waiting += 1;
        self.since.get_or_insert(now);
    }

    /// Somebody waits no more.
    pub(super) fn end(&mut self, now: Instant) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.left = self.left(now);
            self.since = None;
        }
    }

    /// How much longer those who wait may do so.
    pub(super) fn left(&self, now: Instant) -> Duration {
        let waited = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.left.saturating_sub(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_by_once_for_all_who_wait_and_not_between() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let left = |patience: &Patience, seconds| patience.left(at(seconds)).as_secs();
        let mut patience = Patience::new(Duration::from_secs(10));
        patience.begin(at(0));
        patience.begin(at(1));
        assert_eq!(left(&patience, 3), 7);
        patience.end(at(3));
        assert_eq!(left(&patience, 4), 6);
        patience.end(at(4));
        assert_eq!((left(&patience, 4), left(&patience, 100)), (6, 6));
        patience.begin(at(100));
        assert_eq!((left(&patience, 105), left(&patience, 110)), (1, 0));
        patience.end(at(110));
        assert_eq!(left(&patience, 200), 0);
    }
}
