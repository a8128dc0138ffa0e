//! A map whose values are computed once, even if several threads request them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock};

use crate::system::lock;

/// Values by key. While one thread computes a value, other threads that request it wait.
#[derive(Debug)]
pub(crate) struct OnceMap<K, V> {
    cells: Mutex<HashMap<K, Arc<OnceLock<V>>>>,
}

impl<K: Hash + Eq, V: Clone> OnceMap<K, V> {
    /// The value of `key`, if it has been computed.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let cells = lock(&self.cells);
        cells.get(key)?.get().cloned()
    }

    /// The values that have been computed, in any order.
    pub(crate) fn values(&self) -> Vec<V> {
        let cells = lock(&self.cells);
        cells
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect()
    }

    /// The value of `key`, computed by the first caller.
    pub(crate) fn get_or_compute(&self, key: &K, compute: impl FnOnce() -> V) -> V
    where
        K: Clone,
    {
        let cell = Arc::clone(lock(&self.cells).entry(key.clone()).or_default());
        cell.get_or_init(compute).clone()
    }

    /// Forgets all values. The next callers compute them again.
    pub(crate) fn forget_all(&self) {
        lock(&self.cells).clear();
    }

    /// Forgets the value of `key`. The next caller computes it again.
    pub(crate) fn remove(&self, key: &K) {
        lock(&self.cells).remove(key);
    }
}

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self {
            cells: Mutex::new(HashMap::new()),
        }
    }
}
