//! A limit on the memory that all answers take together, for any number of requests and hosts.

use std::sync::Mutex;

use super::error::RequestErrorKind;
use crate::system::lock;
use crate::system::parallel::{Permit, Permits};

/// Size of an answer that is read without waiting for memory, in bytes. Nearly all answers are
/// smaller.
pub(super) const SMALL: u64 = 256 << 10;
/// Maximum total size of larger answers that are being read and decoded, in bytes.
const READING: u64 = 36 << 20;
/// Maximum total size of the data that is kept of all answers until the end of the run, in bytes. A
/// large provider takes some hundred KiB.
const KEPT: u64 = 48 << 20;
/// Memory of a document while it is decoded, as a multiple of its size.
const DECODING: u64 = 3;

/// Memory that is left for answers.
#[derive(Debug)]
pub(super) struct Memory {
    reading: Permits,
    kept: Mutex<u64>,
}

impl Memory {
    /// Waits until there is room for an answer of at most `limit` bytes to be read and decoded. An
    /// answer that needs more than there is gets all of it. A thread that has room never waits for
    /// more, so that all get it in the end.
    pub(super) fn reserve(&self, limit: u64) -> Permit<'_> {
        self.reading
            .take(limit.saturating_mul(DECODING).min(READING))
    }

    /// Counts the bytes of an answer that are kept until the end of the run. An error if the
    /// answers of the run take too much together.
    pub(super) fn count_kept(&self, bytes: usize) -> Result<(), RequestErrorKind> {
        let mut left = lock(&self.kept);
        *left = left
            .checked_sub(bytes as u64)
            .ok_or(RequestErrorKind::TooMuchInAll { limit: KEPT })?;
        Ok(())
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            reading: Permits::new(READING),
            kept: Mutex::new(KEPT),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn large_answers_wait_for_room_and_all_get_it() {
        let (memory, taken) = (Memory::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for limit in (0..64).map(|number| (number % 4) << 23) {
                let (memory, taken) = (&memory, &taken);
                scope.spawn(move || {
                    let reserved = memory.reserve(limit);
                    let sum = taken.fetch_add(reserved.count, Ordering::SeqCst) + reserved.count;
                    assert!(sum <= READING, "{sum}");
                    std::thread::yield_now();
                    taken.fetch_sub(reserved.count, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(
            memory.reserve(u64::MAX).count,
            READING,
            "everything was given back"
        );
    }

    #[test]
    fn the_kept_answers_have_a_limit() {
        let memory = Memory::default();
        assert_eq!(
            memory.count_kept(usize::try_from(KEPT).unwrap() - 1),
            Ok(())
        );
        assert_eq!(
            memory.count_kept(2),
            Err(RequestErrorKind::TooMuchInAll { limit: KEPT })
        );
        assert_eq!(memory.count_kept(1), Ok(()));
    }
}
