//! Runs independent pieces of work in parallel.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError, mpsc};

use crate::system::lock;

/// How many requests may wait for an answer at the same time. Waiting needs no processor core, so this does not depend
/// on their number. Hashing has its own limit.
pub(crate) const WAITING_REQUESTS: usize = 64;

/// How many processor cores there are for this program. To ask the system takes reading several files.
pub fn cores() -> usize {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    *CORES
}

/// Applies `work` to every item on up to `threads` threads, and returns the results in the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || lock(&queue).next();
    let worker = || std::iter::from_fn(next).map(|(index, item)| (index, work(item))).collect::<Vec<_>>();
    let mut results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.flat_map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Applies `work` to every item on `threads` threads, at least one, and gives the results to `consume` in the order of
/// the items. Up to `ahead` results may wait for `consume`.
pub(crate) fn in_order<T: Send, R: Send, C>(
    items: impl Iterator<Item = T> + Send,
    (threads, ahead): (usize, usize),
    work: impl Fn(T) -> R + Sync,
    consume: impl FnOnce(&mut (dyn Iterator<Item = R> + Send)) -> C,
) -> C {
    let (sender, promised) = mpsc::sync_channel::<mpsc::Receiver<R>>(ahead);
    let queue = Mutex::new(Some((items, sender)));
    let next = || {
        let mut queue = lock(&queue);
        let (items, sender) = queue.as_mut()?;
        let (promise, result) = mpsc::sync_channel(1);
        // The receiver is gone if `consume` has returned.
        let item = items.next().filter(|_| sender.send(result).is_ok());
        if item.is_none() {
            *queue = None;
        }
        Some((item?, promise))
    };
    let worker = || std::iter::from_fn(next).for_each(|(item, promise)| _ = promise.send(work(item)));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(worker);
        }
        // Only a panic drops a promise.
        consume(&mut promised.into_iter().map_while(|result| result.recv().ok()))
    })
}

/// Runs `work` on up to `count` items at a time. The iterator makes the next item only when a thread is free for it.
pub(crate) fn in_turn<T: Send>(items: impl Iterator<Item = T> + Send, count: usize, work: impl Fn(T, Turn<'_>) + Sync) {
    let queue = Mutex::new(items.enumerate());
    let next = || lock(&queue).next();
    let turns = Turns::default();
    let worker = || std::iter::from_fn(next).for_each(|(number, item)| work(item, Turn { number, turns: &turns }));
    std::thread::scope(|scope| {
        for _ in 1..count {
            scope.spawn(worker);
        }
        worker();
    });
}

/// The item whose turn it is.
#[derive(Default)]
struct Turns {
    /// The number of the first item whose turn has not ended.
    next: Mutex<usize>,
    changed: Condvar,
}

/// The turn of an item. It ends when this is dropped, even by a panic, so no thread waits for it forever.
pub struct Turn<'a> {
    number: usize,
    turns: &'a Turns,
}

impl Turn<'_> {
    /// Waits until the turns of all earlier items have ended.
    pub fn wait(&self) {
        let next = lock(&self.turns.next);
        let is_early = |next: &mut usize| *next < self.number;
        drop(self.turns.changed.wait_while(next, is_early).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.wait();
        *lock(&self.turns.next) = self.number + 1;
        self.turns.changed.notify_all();
    }
}

/// Lets one thread for each core through at a time, for work that takes much memory and waits for nothing.
#[derive(Debug)]
pub(crate) struct Gate {
    free: Mutex<usize>,
    changed: Condvar,
}

impl Default for Gate {
    fn default() -> Self {
        Self { free: Mutex::new(cores()), changed: Condvar::new() }
    }
}

impl Gate {
    /// Works when the gate is free.
    pub(crate) fn pass<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Frees the gate, even when the work panics.
        struct Passage<'a>(&'a Gate);
        impl Drop for Passage<'_> {
            fn drop(&mut self) {
                *lock(&self.0.free) += 1;
                self.0.changed.notify_one();
            }
        }
        let is_taken = |free: &mut usize| *free == 0;
        *self.changed.wait_while(lock(&self.free), is_taken).unwrap_or_else(PoisonError::into_inner) -= 1;
        let _passage = Passage(self);
        work()
    }
}

/// Runs all `jobs`, and the jobs that they return, on up to `threads` threads.
///
/// A job that sends a request to a host is in that host's group. The next job comes from the group with the fewest
/// running jobs, so a slow host does not delay others. Within a group, jobs start in their order. Jobs without a group
/// wait for no host and come first.
pub(crate) fn run<G: Ord + Clone + Send, J: Send>(
    jobs: impl IntoIterator<Item = (Option<G>, J)>,
    threads: usize,
    work: impl Fn(J) -> Vec<(Option<G>, J)> + Sync,
) {
    let queue = Queue::default();
    queue.add(jobs);
    let worker = || {
        while let Some((job, _at_work)) = queue.next() {
            queue.add(work(job));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
}

/// The jobs that wait, and the number of running jobs.
struct Queue<G, J> {
    groups: Mutex<BTreeMap<Option<G>, Group<J>>>,
    changed: Condvar,
}

struct Group<J> {
    waiting: VecDeque<J>,
    at_work: usize,
}

/// Counts a job as running until it is dropped, even by a panic, so no thread waits for it forever.
struct AtWork<'a, G: Ord, J> {
    queue: &'a Queue<G, J>,
    group: Option<G>,
}

impl<G: Ord + Clone, J> Queue<G, J> {
    fn add(&self, jobs: impl IntoIterator<Item = (Option<G>, J)>) {
        let mut groups = lock(&self.groups);
        for (group, job) in jobs {
            groups.entry(group).or_default().waiting.push_back(job);
            self.changed.notify_one();
        }
    }

    /// The next job; none when all are done. Waits as long as running jobs may return more.
    fn next(&self) -> Option<(J, AtWork<'_, G, J>)> {
        let mut groups = lock(&self.groups);
        loop {
            let waiting = groups.iter_mut().filter(|(_, group)| !group.waiting.is_empty());
            let next = waiting.min_by_key(|(name, group)| (name.is_some(), group.at_work));
            if let Some((name, group)) = next
                && let Some(job) = group.waiting.pop_front()
            {
                group.at_work += 1;
                return Some((job, AtWork { queue: self, group: name.clone() }));
            }
            if groups.values().all(|group| group.at_work == 0) {
                return None;
            }
            groups = self.changed.wait(groups).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<G, J> Default for Queue<G, J> {
    fn default() -> Self {
        Self { groups: Mutex::default(), changed: Condvar::new() }
    }
}

impl<J> Default for Group<J> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), at_work: 0 }
    }
}

impl<G: Ord, J> Drop for AtWork<'_, G, J> {
    fn drop(&mut self) {
        let mut groups = lock(&self.queue.groups);
        if let Some(group) = groups.get_mut(&self.group) {
            group.at_work -= 1;
        }
        if groups.values().all(|group| group.at_work == 0) {
            self.queue.changed.notify_all();
        }
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
        let work = |n: u64| {
            let taken = taken.load(Ordering::SeqCst);
            let waiting = made.fetch_add(1, Ordering::SeqCst) - taken;
            assert!(waiting < 4 + 8 + 2, "{waiting} results wait");
            n * n
        };
        let squares = in_order(0..1000, (4, 8), work, |results| {
            results.inspect(|_| _ = taken.fetch_add(1, Ordering::SeqCst)).collect::<Vec<_>>()
        });
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        assert_eq!(in_order(0..0u64, (0, 8), work, |results| results.count()), 0);
    }

    #[test]
    fn a_gate_lets_as_many_through_as_there_are_cores() {
        let cores = cores();
        let (gate, inside) = (Gate::default(), AtomicUsize::new(0));
        let most = map(vec![(); 1000], 4 * cores + 8, |()| {
            gate.pass(|| {
                let most = inside.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                most
            })
        });
        assert!(most.into_iter().max() <= Some(cores));
        let panics = || gate.pass(|| panic!("as it may"));
        for _ in 0..=cores {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
        }
        gate.pass(|| ());
    }

    #[test]
    fn work_ends_when_nobody_takes_results_any_more() {
        let made = AtomicUsize::new(0);
        let first = in_order(0..1000, (4, 8), |n| (n, made.fetch_add(1, Ordering::SeqCst)).0, |results| results.next());
        assert_eq!(first, Some(0));
        assert!(made.into_inner() < 20);
    }

    #[test]
    fn items_are_worked_at_together_and_take_turns_in_their_order() {
        let (made, ended, in_order) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let items = (1..=50).inspect(|_| _ = made.fetch_add(1, Ordering::SeqCst));
        in_turn(items, 3, |item, turn| {
            let at_work = made.load(Ordering::SeqCst) - ended.load(Ordering::SeqCst);
            assert!(at_work <= 3, "{at_work} items are made and not done");
            turn.wait();
            in_order.lock().unwrap().push(item);
            ended.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(in_order.into_inner().unwrap(), (1..=50).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_ends_a_turn() {
        let outcome = std::panic::catch_unwind(|| {
            in_turn(0..4, 2, |item, turn| {
                assert_ne!(item, 0, "as it should");
                turn.wait();
            });
        });
        assert!(outcome.is_err());
    }

    /// The order in which one thread does jobs of these groups.
    fn order(jobs: &[(Option<&'static str>, u32)]) -> Vec<u32> {
        let done = Mutex::new(Vec::new());
        run(jobs.iter().copied(), 1, |job| {
            done.lock().unwrap().push(job);
            if job == 1 { vec![(Some("a"), 7), (None, 8)] } else { Vec::new() }
        });
        done.into_inner().unwrap()
    }

    #[test]
    fn jobs_without_a_group_come_first_and_what_jobs_lead_to_is_done() {
        assert_eq!(order(&[(Some("a"), 1), (Some("a"), 2), (None, 3)]), [3, 1, 8, 2, 7]);
        assert_eq!(order(&[]), [0; 0]);
    }

    #[test]
    fn a_slow_group_gets_no_more_than_its_share() {
        let queue = Queue::default();
        queue.add((0..3).flat_map(|_| [(Some("slow"), "slow"), (Some("swift"), "swift")]));
        let (job, slow) = queue.next().unwrap();
        assert_eq!(job, "slow");
        for _ in 0..3 {
            let (job, _swift) = queue.next().unwrap();
            assert_eq!(job, "swift", "because none of them is at work any more");
        }
        let (job, _also_slow) = queue.next().unwrap();
        assert_eq!(job, "slow", "because nothing else is left");
        drop(slow);
    }

    #[test]
    fn a_job_that_panics_keeps_nobody_waiting() {
        let outcome = std::panic::catch_unwind(|| {
            run([(Some("a"), 0), (Some("a"), 1)], 4, |job| {
                assert_ne!(job, 0, "as it should");
                Vec::new()
            });
        });
        assert!(outcome.is_err());
    }
}
