//! What an interrupt has to wait for: files that are being replaced, whose temporary files would stay otherwise.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Shared by whatever must not be interrupted, held alone by what is about to end the program.
static UNINTERRUPTED: RwLock<()> = RwLock::new(());

/// As long as the result lives, [`wait`] does not return. What it is held for is short, and does not call this again.
pub(crate) fn hold_off() -> RwLockReadGuard<'static, ()> {
    UNINTERRUPTED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no file is being replaced, for a program that was told to stop. As long as the result lives, no other is.
pub fn wait() -> RwLockWriteGuard<'static, ()> {
    UNINTERRUPTED.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn waits_for_all_that_is_begun() {
        let (first, second) = (hold_off(), hold_off());
        let (sender, receiver) = mpsc::channel();
        let waiting = thread::spawn(move || {
            let _alone = wait();
            sender.send(()).unwrap();
        });
        drop(first);
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it has not waited for the second");
        drop(second);
        receiver.recv().unwrap();
        waiting.join().unwrap();
    }
}
