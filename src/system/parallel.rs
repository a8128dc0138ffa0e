//! Runs independent pieces of work in parallel.

use std::sync::{Condvar, LazyLock, Mutex, PoisonError, mpsc};

use crate::system::lock;

/// Most requests that wait for an answer at the same time. Waiting needs no processor core, so this
/// does not depend on their number. Hashing has its own limit.
pub(crate) const WAITING_REQUESTS: usize = 64;

/// Number of processor cores available to this process, cached because querying it reads several
/// files.
pub fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}

/// Applies `work` to every item on up to `threads` threads, one of them the caller's, and returns
/// the results in the order of the items.
pub fn map<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().map(work).collect();
    }

    // A promise for each item, as `in_order` makes it, takes longer than the work on small items:
    // `verify -r` over 1,000 root modules took 1.14 times as long.
    let queue = Mutex::new(items.into_iter().enumerate());
    let mut results = std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 1..threads {
            workers.push(scope.spawn(|| work_off(&queue, &work)));
        }
        let mut results = work_off(&queue, &work);
        for worker in workers {
            match worker.join() {
                Ok(others) => results.extend(others),
                // A panic must not look like fewer results.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Applies `work` to items of a queue until it is empty, and returns the results with the numbers
/// of their items.
fn work_off<T, R>(
    queue: &Mutex<impl Iterator<Item = (usize, T)>>,
    work: &impl Fn(T) -> R,
) -> Vec<(usize, R)> {
    let mut results = Vec::new();
    loop {
        // The queue is free during the work.
        let next = lock(queue).next();
        let Some((index, item)) = next else {
            return results;
        };
        results.push((index, work(item)));
    }
}

/// Applies `work` to every item on up to `threads` threads, and passes the results to `consume` in
/// the order of the items, while others are made. Up to `ahead` results wait for `consume`, which
/// runs on the caller's thread; `work` does, too, if one thread is enough.
pub(crate) fn in_order<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    threads: usize,
    ahead: usize,
    work: impl Fn(T) -> R + Sync,
    mut consume: impl FnMut(R),
) {
    let threads = threads.min(items.len());
    if threads <= 1 {
        for item in items {
            consume(work(item));
        }
        return;
    }

    let (results, promised) = mpsc::sync_channel(ahead);
    let queue = Mutex::new(Some(Promises { items, results }));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((item, promise)) = next_promise(&queue) {
                    // After a panic, the result is not needed any more.
                    _ = promise.send(work(item));
                }
            });
        }
        for result in promised {
            // Only a panic of `work` drops a promise.
            let Ok(result) = result.recv() else { break };
            consume(result);
        }
    });
}

/// Items, and a channel to which the result of each is promised in their order.
struct Promises<I, R> {
    items: I,
    results: mpsc::SyncSender<mpsc::Receiver<R>>,
}

/// The next item, and a channel for its result. After the last item the queue is removed, which
/// ends the results.
fn next_promise<T, R>(
    queue: &Mutex<Option<Promises<impl Iterator<Item = T>, R>>>,
) -> Option<(T, mpsc::SyncSender<R>)> {
    let mut queue = lock(queue);
    let Promises { items, results } = queue.as_mut()?;
    let (promise, result) = mpsc::sync_channel(1);
    let item = items.next();
    // The channel is closed after a panic.
    if item.is_none() || results.send(result).is_err() {
        *queue = None;
        return None;
    }
    Some((item?, promise))
}

/// Runs two functions at the same time, and returns both results. The first one runs on a thread of
/// its own.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(one);
        let other = other();
        match thread.join() {
            Ok(one) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Permits that threads take before they use a core or memory.
#[derive(Debug)]
pub(crate) struct Permits {
    free: Mutex<u64>,
    returned: Condvar,
}

/// Permits that one thread has taken. They are returned when this is dropped, even by a panic.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    permits: &'a Permits,
    pub(crate) count: u64,
}

impl Permits {
    pub(crate) fn new(count: u64) -> Self {
        Self {
            free: Mutex::new(count),
            returned: Condvar::new(),
        }
    }

    /// Takes permits as soon as so many are free.
    pub(crate) fn take(&self, count: u64) -> Permit<'_> {
        let free = self
            .returned
            .wait_while(lock(&self.free), |free| *free < count);
        *free.unwrap_or_else(PoisonError::into_inner) -= count;
        Permit {
            permits: self,
            count,
        }
    }

    /// Takes as many permits as are free, at most `count`, without waiting.
    pub(crate) fn take_free(&self, count: u64) -> Permit<'_> {
        let mut free = lock(&self.free);
        let count = count.min(*free);
        *free -= count;
        Permit {
            permits: self,
            count,
        }
    }
}

impl Permit<'_> {
    /// The number of threads, if a permit is for one.
    pub(crate) fn threads(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }
}

/// One for each core.
impl Default for Permits {
    fn default() -> Self {
        Self::new(cores() as u64)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *lock(&self.permits.free) += self.count;
        self.permits.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_and_every_item_once() {
        let squares = map((0..1000u64).collect(), 8, |n| n * n);
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        assert!(map(Vec::<u8>::new(), 8, |n| n).is_empty());
    }

    #[test]
    fn results_are_given_in_the_order_of_the_items_while_others_are_made() {
        let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |n: u32| {
            let taken = taken.load(Ordering::SeqCst);
            let waiting = made.fetch_add(1, Ordering::SeqCst) - taken;
            assert!(waiting < 4 + 8 + 2, "{waiting} results wait");
            n * n
        };
        let mut squares = Vec::new();
        in_order(0..1000_u32, 4, 8, work, |square| {
            taken.fetch_add(1, Ordering::SeqCst);
            squares.push(square);
        });
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        in_order(0..0_u32, 0, 8, work, |_| unreachable!("without items"));
    }

    #[test]
    fn a_slow_item_delays_results_but_not_the_work_on_the_items_ahead() {
        let made = AtomicUsize::new(0);
        let work = |n: usize| {
            // The first item ends when as many results as may wait are made.
            while n == 0 && made.load(Ordering::SeqCst) < 8 {
                std::thread::yield_now();
            }
            made.fetch_add(1, Ordering::SeqCst);
            n
        };
        let mut results = Vec::new();
        in_order(0..100, 4, 8, work, |n| results.push(n));
        assert_eq!(results, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn as_many_threads_work_as_there_are_permits() {
        let cores = cores();
        let (permits, inside) = (Permits::default(), AtomicUsize::new(0));
        let most = map(vec![(); 1000], 4 * cores + 8, |()| {
            let _permit = permits.take(1);
            let most = inside.fetch_add(1, Ordering::SeqCst) + 1;
            std::thread::yield_now();
            inside.fetch_sub(1, Ordering::SeqCst);
            most
        });
        assert!(most.into_iter().max() <= Some(cores));
        let panics = || {
            let _permit = permits.take(1);
            panic!("as it may");
        };
        for _ in 0..=cores {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
        }
        assert_eq!(permits.take(cores as u64).count, cores as u64);
    }

    #[test]
    fn permits_that_are_free_are_taken_without_waiting() {
        let permits = Permits::new(5);
        let first = permits.take_free(3);
        let rest = permits.take_free(3);
        let none = permits.take_free(3);
        assert_eq!([first.count, rest.count, none.count], [3, 2, 0]);
        drop(first);
        assert_eq!(permits.take_free(9).count, 3);
    }

    #[test]
    fn work_ends_after_a_panic_of_the_work_or_of_what_gets_the_results() {
        let made = AtomicUsize::new(0);
        let fails_at_once = || {
            let work = |n: u32| {
                made.fetch_add(1, Ordering::SeqCst);
                assert_ne!(n, 0, "as it may");
            };
            in_order(0..1000_u32, 4, 8, work, |()| {
                unreachable!("before the first")
            });
        };
        let is_not_consumed = || {
            let work = |_| _ = made.fetch_add(1, Ordering::SeqCst);
            in_order(0..1000_u32, 4, 8, work, |()| panic!("as it may"));
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails_at_once)).unwrap_err();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(is_not_consumed)).unwrap_err();
        assert!(made.into_inner() < 40);
    }
}
