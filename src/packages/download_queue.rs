//! Order of downloads: a fair share for each host, and the largest package first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::provider::ProviderAddress;
use crate::system::lock;

/// A limit on the number of packages that are downloaded at the same time, for the few threads that
/// download. Finding the next download takes time in proportion to the waiting ones, because sizes
/// become known while they wait. The thousands of jobs in [`crate::system::shared_jobs`] need an
/// order that is known from the start.
///
/// The next download is from the host with the fewest downloads, so that a slow host does not delay
/// others. Among these, the provider with the largest packages comes first, so that a large package
/// does not remain alone at the end.
pub(super) struct DownloadQueue {
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    free_places: usize,
    /// The number of running downloads, by host.
    running: BTreeMap<String, usize>,
    /// The host and the provider of each waiting download, in the order of their arrival.
    waiting: BTreeMap<u64, (String, ProviderAddress)>,
    /// The number of tickets so far; the next ticket has it.
    issued_tickets: u64,
    /// The largest known package of each provider, in bytes.
    largest_size: HashMap<ProviderAddress, u64>,
}

/// The right to download one package, given back when dropped.
pub(super) struct Permit<'a> {
    download_queue: &'a DownloadQueue,
    host: String,
}

impl DownloadQueue {
    /// A queue with `free_places` downloads at the same time.
    pub(super) fn new(free_places: usize) -> Self {
        Self {
            state: Mutex::new(State {
                free_places,
                running: BTreeMap::new(),
                waiting: BTreeMap::new(),
                issued_tickets: 0,
                largest_size: HashMap::new(),
            }),
            freed: Condvar::new(),
        }
    }

    /// Stores the size of one of a provider's packages, if it is known. Its packages for other
    /// platforms have about the same size.
    pub(super) fn learn_size(&self, provider: &ProviderAddress, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            let mut state = lock(&self.state);
            let largest = state.largest_size.entry(provider.clone()).or_default();
            *largest = bytes.max(*largest);
        }
    }

    /// Waits for the right to download one of a provider's packages from `host`.
    pub(super) fn wait_for_permit(&self, host: &str, provider: &ProviderAddress) -> Permit<'_> {
        let mut state = lock(&self.state);
        let ticket = state.issued_tickets;
        state.issued_tickets += 1;
        state
            .waiting
            .insert(ticket, (host.to_owned(), provider.clone()));
        // The order is decided again at each turn, because sizes become known while downloads wait.
        while state.free_places == 0 || state.next_ticket() != Some(ticket) {
            state = self
                .freed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&ticket);
        state.free_places -= 1;
        *state.running.entry(host.to_owned()).or_default() += 1;
        // Another download may be able to start, too.
        self.freed.notify_all();
        Permit {
            download_queue: self,
            host: host.to_owned(),
        }
    }
}

impl State {
    /// The ticket of the next download: of the least busy host, then of the largest package, then
    /// the oldest.
    fn next_ticket(&self) -> Option<u64> {
        self.waiting
            .keys()
            .copied()
            .min_by_key(|ticket| self.rank(*ticket))
    }

    /// Is least for the download that starts next.
    fn rank(&self, ticket: u64) -> impl Ord {
        let (host, provider) = &self.waiting[&ticket];
        let running = self.running.get(host).copied().unwrap_or_default();
        let size = self.largest_size.get(provider).copied().unwrap_or_default();
        (running, std::cmp::Reverse(size), ticket)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.download_queue.state);
        state.free_places += 1;
        if let Some(running) = state.running.get_mut(&self.host) {
            *running -= 1;
        }
        self.download_queue.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::provider::Dialect;

    fn provider(name: &str) -> ProviderAddress {
        ProviderAddress::parse(&format!("acme/{name}"), Dialect::Tofu).unwrap()
    }

    /// The order in which waiting downloads get the only place.
    fn order(
        download_queue: &DownloadQueue,
        waiting: &[(&'static str, &'static str)],
    ) -> Vec<(&'static str, &'static str)> {
        let (sender, receiver) = mpsc::channel();
        let held = download_queue.wait_for_permit("elsewhere.test", &provider("other"));
        std::thread::scope(|scope| {
            for (index, (host, name)) in waiting.iter().enumerate() {
                let sender = sender.clone();
                scope.spawn(move || {
                    let _permit = download_queue.wait_for_permit(host, &provider(name));
                    sender.send((*host, *name)).unwrap();
                });
                // So that they come in this order.
                while lock(&download_queue.state).waiting.len() <= index {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        drop(sender);
        receiver.iter().collect()
    }

    #[test]
    fn unknown_downloads_keep_their_order() {
        let waiting = [("a.test", "one"), ("a.test", "two"), ("b.test", "three")];
        assert_eq!(order(&DownloadQueue::new(1), &waiting), waiting);
    }

    #[test]
    fn the_largest_comes_first() {
        let download_queue = DownloadQueue::new(1);
        download_queue.learn_size(&provider("large"), Some(3));
        download_queue.learn_size(&provider("large"), Some(2));
        download_queue.learn_size(&provider("middling"), Some(2));
        let waiting = [
            ("a.test", "unknown"),
            ("a.test", "middling"),
            ("a.test", "large"),
        ];
        assert_eq!(
            order(&download_queue, &waiting),
            [waiting[2], waiting[1], waiting[0]]
        );
    }

    #[test]
    fn a_busy_host_lets_other_hosts_go_first() {
        let download_queue = DownloadQueue::new(2);
        download_queue.learn_size(&provider("large"), Some(3));
        let _slow = download_queue.wait_for_permit("slow.test", &provider("large"));
        let waiting = [
            ("slow.test", "large"),
            ("swift.test", "small"),
            ("swift.test", "tiny"),
        ];
        assert_eq!(
            order(&download_queue, &waiting),
            [waiting[1], waiting[2], waiting[0]]
        );
    }
}
