//! Independent pieces of work side by side.

use std::sync::Mutex;
use std::sync::PoisonError;

/// How many requests may wait for an answer at the same time. Waiting needs no core, so this does not depend on how
/// many there are; what needs one is limited where packages are hashed.
pub(crate) const WAITING_REQUESTS: usize = 64;

/// Applies `work` to every item on up to `threads` threads, and returns the results in the order of the items.
pub fn map<T: Send, R: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = items.len();
    if threads.min(count) <= 1 {
        return items.into_iter().map(work).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((index, item)) = next else { break };
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_items_and_every_item_once() {
        let squares = super::map((0..1000u64).collect(), 8, |n| n * n);
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        assert!(super::map(Vec::<u8>::new(), 8, |n| n).is_empty());
    }
}
