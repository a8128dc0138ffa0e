//! A limit on the memory that all answers take together, for any number of requests and hosts.

use std::sync::{Condvar, Mutex, PoisonError};

use super::error::RequestErrorKind;

use crate::system::lock;

/// Size of an answer that is read without waiting for memory, in bytes. Nearly all answers are smaller.
pub(super) const SMALL: u64 = 256 << 10;
/// Memory for all larger answers that are being read and decoded, in bytes.
const AT_WORK: u64 = 36 << 20;
/// Memory for everything that is kept of answers until the end of the run, in bytes. A large provider takes several
/// hundred KiB.
const KEPT: u64 = 48 << 20;
/// Memory of a document while it is decoded, as a multiple of its size.
const DECODING: u64 = 3;

/// The memory that is left for answers.
#[derive(Debug)]
pub(super) struct Memory {
    left: Mutex<Left>,
    freed: Condvar,
}

#[derive(Debug)]
struct Left {
    at_work: u64,
    kept: u64,
}

/// The right to read and decode a large answer, given back when dropped.
#[derive(Debug)]
pub(super) struct Reserved<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Memory {
    /// Waits until there is room for an answer of at most `limit` bytes. A thread that has room never waits for more,
    /// so each waiting thread gets room in the end; an answer larger than all of the room gets all of it.
    pub(super) fn reserve(&self, limit: u64) -> Reserved<'_> {
        let bytes = limit.saturating_mul(DECODING).min(AT_WORK);
        let left = self.freed.wait_while(lock(&self.left), |left| left.at_work < bytes);
        left.unwrap_or_else(PoisonError::into_inner).at_work -= bytes;
        Reserved { memory: self, bytes }
    }

    /// Counts bytes that are kept of an answer until the end of the run.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), RequestErrorKind> {
        let mut left = lock(&self.left);
        let rest = left.kept.checked_sub(bytes as u64);
        left.kept = rest.ok_or(RequestErrorKind::TooMuchInAll { limit: KEPT })?;
        Ok(())
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self { left: Mutex::new(Left { at_work: AT_WORK, kept: KEPT }), freed: Condvar::new() }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        lock(&self.memory.left).at_work += self.bytes;
        self.memory.freed.notify_all();
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
                    let sum = taken.fetch_add(reserved.bytes, Ordering::SeqCst) + reserved.bytes;
                    assert!(sum <= AT_WORK, "{sum}");
                    std::thread::yield_now();
                    taken.fetch_sub(reserved.bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(memory.reserve(u64::MAX).bytes, AT_WORK, "everything was given back");
    }

    #[test]
    fn the_kept_answers_have_a_limit() {
        let memory = Memory::default();
        assert_eq!(memory.keep(usize::try_from(KEPT).unwrap() - 1), Ok(()));
        assert_eq!(memory.keep(2), Err(RequestErrorKind::TooMuchInAll { limit: KEPT }));
        assert_eq!(memory.keep(1), Ok(()));
    }
}
