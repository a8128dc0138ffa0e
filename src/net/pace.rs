//! The minimum rate of a download.

use std::time::{Duration, Instant};

use super::error::RequestErrorKind;
use super::retry::Failure;

/// Time over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(30);

/// The minimum rate within [`WINDOW`], and the time limit of the whole body.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Bytes per second.
    minimum_rate: u64,
    /// End and length of the time limit.
    deadline: Option<(Instant, Duration)>,
    /// Time spent waiting for data since the window began, without the time to process it.
    waited: Duration,
    /// Bytes received in that time.
    received: u64,
}

impl Pace {
    /// At least `minimum_rate` bytes per second, and all of them within `time_limit` from now.
    pub(super) fn new(minimum_rate: u64, time_limit: Duration) -> Self {
        let deadline = Instant::now()
            .checked_add(time_limit)
            .map(|end| (end, time_limit));
        Self {
            minimum_rate,
            deadline,
            waited: Duration::ZERO,
            received: 0,
        }
    }

    /// The same pace for another body.
    pub(super) fn restarted(&self) -> Self {
        Self {
            waited: Duration::ZERO,
            received: 0,
            ..self.clone()
        }
    }

    /// Counts `count` bytes that arrived after a wait. Fails after the deadline of the download, or
    /// if fewer bytes arrived in a window of time than the minimum rate demands.
    pub(super) fn count_and_check(&mut self, waited: Duration, count: u64) -> Result<(), Failure> {
        if let Some((end, time_limit)) = self.deadline
            && Instant::now() >= end
        {
            // Further attempts have the same deadline.
            return Err(Failure::permanent(RequestErrorKind::TooLong { time_limit }));
        }
        self.waited += waited;
        self.received += count;
        // Short pauses are normal, so only the rate over a whole window is limited.
        if self.waited < WINDOW {
            return Ok(());
        }
        let rate = u128::from(self.received) * 1000 / self.waited.as_millis();
        self.waited = Duration::ZERO;
        self.received = 0;
        if rate < u128::from(self.minimum_rate) {
            return Err(Failure::temporary(RequestErrorKind::TooSlow {
                minimum_rate: self.minimum_rate,
            }));
        }
        Ok(())
    }
}

/// A pace of at least 1 KiB per second, without a time limit.
impl Default for Pace {
    fn default() -> Self {
        Self {
            minimum_rate: 1 << 10,
            deadline: None,
            waited: Duration::ZERO,
            received: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn a_server_may_be_slow_for_half_a_minute() {
        let second = Duration::from_secs(1);
        let failure_after = |rate: u64| {
            let mut pace = Pace::new(16 << 10, HOUR);
            (1..=90)
                .find_map(|seconds| Some((seconds, pace.count_and_check(second, rate).err()?.kind)))
        };
        assert_eq!(failure_after(16 << 10), None);
        assert_eq!(
            failure_after((16 << 10) - 1),
            Some((
                30,
                RequestErrorKind::TooSlow {
                    minimum_rate: 16 << 10
                }
            ))
        );
        // A fast start does not make up for slow data later.
        let mut pace = Pace::new(16 << 10, HOUR);
        pace.count_and_check(WINDOW, 100 << 20).unwrap();
        assert!(pace.count_and_check(WINDOW, 100 << 10).is_err());
    }

    #[test]
    fn a_body_that_takes_too_long_is_an_error() {
        let failure = Pace::new(0, Duration::ZERO)
            .count_and_check(Duration::ZERO, 1 << 30)
            .unwrap_err();
        assert_eq!(
            failure.kind,
            RequestErrorKind::TooLong {
                time_limit: Duration::ZERO
            }
        );
        assert!(Pace::new(0, Duration::MAX).count_and_check(HOUR, 1).is_ok());
        assert!(Pace::default().count_and_check(HOUR, 3600 << 10).is_ok());
    }
}
