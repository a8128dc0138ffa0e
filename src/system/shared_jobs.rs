//! Jobs that several threads wait for. A job runs once at a time, even if several threads request
//! it, and every group of jobs gets its share of a limited number of threads.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use crate::system::lock;

/// Jobs of one kind, run by threads that start when they are needed.
///
/// The next job comes from the group with the fewest running jobs, so a slow host does not delay
/// others. Within a group, jobs start in the order in which they were requested.
pub(crate) struct SharedJobs<'a, G, J> {
    queue: &'a Queue<G, J>,
    /// Starts one more thread.
    start: &'a (dyn Fn() + Sync),
}

struct Queue<G, J> {
    state: Mutex<State<G, J>>,
    changed: Condvar,
}

struct State<G, J> {
    groups: BTreeMap<G, Group<J>>,
    /// Threads that wait for each job.
    waiting: HashMap<J, Vec<Waiting>>,
    /// Number of threads that may still be started.
    startable: usize,
    /// Number of threads without a job.
    idle: usize,
    is_closed: bool,
}

struct Group<J> {
    jobs: VecDeque<J>,
    running: usize,
}

/// A thread that waits for jobs. It continues when the last sender is dropped.
#[derive(Clone)]
struct Waiting {
    _done: mpsc::Sender<Infallible>,
    has_failed: Arc<AtomicBool>,
}

/// Runs `body`, and the jobs that it requests on up to `threads` threads. `work` returns `false` if
/// a job fails.
pub(crate) fn with_shared_jobs<G: Ord + Clone + Send, J: Hash + Eq + Clone + Send, R>(
    threads: usize,
    work: impl Fn(&J) -> bool + Sync,
    body: impl FnOnce(&SharedJobs<'_, G, J>) -> R,
) -> R {
    /// Ends the threads, even after a panic.
    struct Closing<'a, G, J>(&'a Queue<G, J>);
    impl<G, J> Drop for Closing<'_, G, J> {
        fn drop(&mut self) {
            lock(&self.0.state).is_closed = true;
            self.0.changed.notify_all();
        }
    }
    let queue = Queue::new(threads);
    std::thread::scope(|scope| {
        let _closing = Closing(&queue);
        let start = || _ = scope.spawn(|| queue.run(&work));
        body(&SharedJobs {
            queue: &queue,
            start: &start,
        })
    })
}

impl<G: Ord + Clone, J: Hash + Eq + Clone> SharedJobs<'_, G, J> {
    /// Waits until all these jobs have run. Returns `false` if one has failed; jobs that no other
    /// thread waits for are then omitted.
    pub(crate) fn wait_for(&self, jobs: impl IntoIterator<Item = (G, J)>) -> bool {
        let (done, all_done) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let waiting = Waiting {
            _done: done,
            has_failed: Arc::clone(&has_failed),
        };
        for _ in 0..self.queue.add(jobs, &waiting) {
            (self.start)();
        }
        drop(waiting);
        // Nothing is sent: this fails when the last job drops its sender.
        let _ = all_done.recv();
        !has_failed.load(Ordering::Relaxed)
    }
}

impl<G: Ord + Clone, J: Hash + Eq + Clone> Queue<G, J> {
    fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State {
                groups: BTreeMap::new(),
                waiting: HashMap::new(),
                startable: threads,
                idle: 0,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds jobs for which a thread waits, and returns the number of threads to start for them.
    fn add(&self, jobs: impl IntoIterator<Item = (G, J)>, waiting: &Waiting) -> usize {
        let mut state = lock(&self.state);
        let mut added = 0_usize;
        for (group, job) in jobs {
            let waiting_threads = state.waiting.entry(job.clone()).or_default();
            waiting_threads.push(waiting.clone());
            // If a different thread has requested the job already, this one waits for the same
            // result.
            if waiting_threads.len() == 1 {
                state.groups.entry(group).or_default().jobs.push_back(job);
                added += 1;
            }
        }
        // A woken thread is treated as idle until it takes a job, so include all queued jobs.
        let queued: usize = state.groups.values().map(|group| group.jobs.len()).sum();
        let started = queued.saturating_sub(state.idle).min(state.startable);
        state.startable -= started;
        for _ in 0..added {
            self.changed.notify_one();
        }
        started
    }

    /// Runs jobs until the queue is closed.
    fn run(&self, work: impl Fn(&J) -> bool) {
        while let Some(running) = self.next_job() {
            running
                .has_succeeded
                .store(work(&running.job), Ordering::Relaxed);
        }
    }

    /// Waits for the next job; `None` when the queue is closed.
    fn next_job(&self) -> Option<Running<'_, G, J>> {
        let mut state = lock(&self.state);
        state.idle += 1;
        let running = loop {
            if state.is_closed {
                break None;
            }
            if let Some((group, job)) = state.take_needed_job() {
                break Some(Running {
                    queue: self,
                    group,
                    job,
                    has_succeeded: AtomicBool::new(true),
                });
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.idle -= 1;
        running
    }
}

impl<G: Ord + Clone, J: Hash + Eq> State<G, J> {
    /// Takes the first job that is still needed from the group with the fewest running jobs; `None`
    /// if no job waits.
    fn take_needed_job(&mut self) -> Option<(G, J)> {
        loop {
            let (name, group) = self
                .groups
                .iter_mut()
                .filter(|(_, group)| !group.jobs.is_empty())
                .min_by_key(|(_, group)| group.running)?;
            let job = group.jobs.pop_front()?;
            // Every thread that waits for the job may have failed in the meantime.
            let is_needed = self.waiting.get(&job).is_some_and(|threads| {
                threads
                    .iter()
                    .any(|waiting| !waiting.has_failed.load(Ordering::Relaxed))
            });
            if is_needed {
                group.running += 1;
                return Some((name.clone(), job));
            }
            self.waiting.remove(&job);
        }
    }
}

/// A job that is treated as running until this is dropped, even by a panic, so no thread waits for
/// it forever.
struct Running<'a, G: Ord, J: Hash + Eq> {
    queue: &'a Queue<G, J>,
    group: G,
    job: J,
    has_succeeded: AtomicBool,
}

impl<G: Ord, J: Hash + Eq> Drop for Running<'_, G, J> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        if let Some(group) = state.groups.get_mut(&self.group) {
            group.running -= 1;
        }
        let threads = state.waiting.remove(&self.job).unwrap_or_default();
        if !*self.has_succeeded.get_mut() {
            for waiting in &threads {
                waiting.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl<J> Default for Group<J> {
    fn default() -> Self {
        Self {
            jobs: VecDeque::new(),
            running: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn all_jobs_run_before_the_wait_ends() {
        let runs = AtomicUsize::new(0);
        let work = |job: &usize| {
            runs.fetch_add(1, Ordering::SeqCst);
            *job != 999
        };
        with_shared_jobs(8, work, |jobs: &SharedJobs<'_, &str, usize>| {
            assert!(jobs.wait_for((0..100).map(|job| ("a", job))));
            assert_eq!(runs.load(Ordering::SeqCst), 100);
            assert!(jobs.wait_for([]));
            assert!(!jobs.wait_for([("a", 999)]));
        });
    }

    #[test]
    fn a_job_that_two_threads_wait_for_is_queued_once() {
        let (queue, _) = queue(&[("a", 1), ("a", 2), ("a", 1)]);
        queue.add(
            [("a", 2)],
            &Waiting {
                _done: mpsc::channel().0,
                has_failed: Arc::default(),
            },
        );
        let jobs: Vec<_> = std::iter::from_fn(|| lock(&queue.state).take_needed_job()).collect();
        assert_eq!(jobs, [("a", 1), ("a", 2)]);
    }

    /// A queue without threads, and whether the thread that waits for its jobs has failed.
    fn queue(jobs: &[(&'static str, u32)]) -> (Queue<&'static str, u32>, Arc<AtomicBool>) {
        let (queue, has_failed) = (Queue::new(0), Arc::new(AtomicBool::new(false)));
        let waiting = Waiting {
            _done: mpsc::channel().0,
            has_failed: Arc::clone(&has_failed),
        };
        assert_eq!(queue.add(jobs.iter().copied(), &waiting), 0);
        (queue, has_failed)
    }

    #[test]
    fn a_slow_group_gets_no_more_than_its_share() {
        let (queue, _) = queue(&[
            ("slow", 1),
            ("slow", 2),
            ("slow", 3),
            ("swift", 4),
            ("swift", 5),
            ("swift", 6),
        ]);
        let slow = queue.next_job().unwrap();
        assert_eq!(slow.job, 1);
        for expected in 4..=6 {
            assert_eq!(
                queue.next_job().unwrap().job,
                expected,
                "because none of them runs any more"
            );
        }
        assert_eq!(
            queue.next_job().unwrap().job,
            2,
            "because nothing else is left"
        );
    }

    #[test]
    fn jobs_of_a_thread_that_has_failed_run_only_for_others() {
        let (queue, has_failed) = queue(&[("a", 1), ("a", 2), ("a", 3)]);
        let other = Waiting {
            _done: mpsc::channel().0,
            has_failed: Arc::default(),
        };
        queue.add([("a", 3)], &other);
        *queue.next_job().unwrap().has_succeeded.get_mut() = false;
        assert!(has_failed.load(Ordering::SeqCst));
        assert_eq!(queue.next_job().unwrap().job, 3);
    }

    #[test]
    fn a_panicking_job_does_not_block_others() {
        let outcome = std::panic::catch_unwind(|| {
            let work = |job: &u32| {
                assert_ne!(*job, 0, "as it should");
                true
            };
            with_shared_jobs(4, work, |jobs| jobs.wait_for([("a", 0), ("a", 1)]));
        });
        assert!(outcome.is_err());
    }
}
