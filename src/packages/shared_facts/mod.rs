//! Facts about releases that others have published in an OCI registry. A run can do without them, so it asks for them
//! in the background, does not wait long for a slow registry or a registry that is down, and warns once why it did not
//! use some.

pub(super) mod envelope;
mod patience;
mod publish;
pub(super) mod release;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use envelope::Envelope;
pub use publish::PublishedRelease;
pub(super) use publish::publish;
pub use release::ReleaseFacts;

use super::oci::OciRegistries;
use super::oci::facts::{FactsError, ReleaseTag};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::provider::{Hash, OciRepository, ProviderAddress, PublicKey, Version};
use crate::system::lock;
use patience::Patience;

/// How long a run waits for a registry that answers nothing. Requests go out ahead of need, so most have an answer by
/// then.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);
/// How long a run waits for a registry in all.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Consecutive requests without an answer after which the registry is treated as down.
const MOST_FAILURES: usize = 3;
/// Most bytes kept of all answers. An answer about 50 platforms has 20 KB.
const MOST_BYTES: usize = 16 << 20;
/// Requests that are under way at the same time.
const THREADS: usize = 16;

/// The facts published below a repository. Each release is requested once a run.
pub struct SharedFacts {
    registries: Arc<OciRegistries>,
    repository: OciRepository,
    state: Mutex<State>,
    answered: Condvar,
}

struct State {
    releases: HashMap<Release, Lookup>,
    queue: VecDeque<Release>,
    threads: usize,
    patience: Patience,
    /// Requests in a row that had no answer.
    failures: usize,
    /// Bytes that may still be kept.
    room: usize,
    /// Whether the registry is no longer asked.
    is_over: bool,
    /// The first reason not to use something.
    problem: Option<Diagnostic>,
    used: usize,
}

type Release = (ProviderAddress, Version);

enum Lookup {
    Pending,
    Finished(Option<Arc<Envelope>>),
}

impl SharedFacts {
    /// The facts that are published below `repository`.
    pub(super) fn new(registries: Arc<OciRegistries>, repository: OciRepository) -> Self {
        let state = State {
            releases: HashMap::new(),
            queue: VecDeque::new(),
            threads: 0,
            patience: Patience::new(LONGEST_SILENCE, LONGEST_WAIT),
            failures: 0,
            room: MOST_BYTES,
            is_over: false,
            problem: None,
            used: 0,
        };
        Self { registries, repository, state: Mutex::new(state), answered: Condvar::new() }
    }

    /// How many packages were not downloaded because of these facts.
    pub fn used(&self) -> usize {
        lock(&self.state).used
    }

    /// The repository that they are published below.
    pub fn repository(&self) -> &OciRepository {
        &self.repository
    }

    /// Why some of them were not used.
    pub fn warning(&self) -> Option<Diagnostic> {
        let why = lock(&self.state).problem.clone()?;
        let message = format!("not all packages could be looked up in oci://{}: {}", self.repository, why.message);
        let warning = Diagnostic { code: Code::SharedFactsNotUsed, severity: Severity::Warning, message, ..why };
        Some(warning.note("the others were downloaded"))
    }

    /// Asks for the facts about a release, unless that was done before. Does not wait for the answer.
    pub(super) fn request(self: &Arc<Self>, address: &ProviderAddress, version: &Version) {
        let mut state = lock(&self.state);
        if state.is_over {
            return;
        }
        let release = (address.clone(), version.clone());
        let Entry::Vacant(entry) = state.releases.entry(release.clone()) else { return };
        entry.insert(Lookup::Pending);
        state.queue.push_back(release);
        if state.threads < THREADS {
            let shared = Arc::clone(self);
            // A slow request must not hold up the run, so no code joins the thread.
            let thread = thread::Builder::new().name("shared facts".to_owned()).spawn(move || shared.work());
            state.threads += usize::from(thread.is_ok());
        }
    }

    /// The facts about a release, as soon as they have arrived; none where that takes too long.
    fn envelope(self: &Arc<Self>, address: &ProviderAddress, version: &Version) -> Option<Arc<Envelope>> {
        self.request(address, version);
        let release = (address.clone(), version.clone());
        let mut state = lock(&self.state);
        state.patience.begin(Instant::now());
        let envelope = loop {
            match state.releases.get(&release) {
                Some(Lookup::Finished(envelope)) => break envelope.clone(),
                Some(Lookup::Pending) if !state.is_over => {}
                _ => break None,
            }
            let left = state.patience.left(Instant::now());
            if left.is_zero() {
                state.give_up("its registry did not answer in time");
                self.answered.notify_all();
                break None;
            }
            state = self.answered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.patience.end(Instant::now());
        envelope
    }

    /// The hashes of the package whose archive has the hash `zh`, if one of these keys has signed them. The caller must
    /// not use them unless a verified SHA256SUMS lists `zh`.
    pub(super) fn digest(
        self: &Arc<Self>,
        package: &PackageId,
        zh: &Hash,
        trusted_keys: &[PublicKey],
    ) -> Option<PackageDigest> {
        let PackageId { address, version, platform } = package;
        let envelope = self.envelope(address, version)?;
        match envelope.open(trusted_keys, address, version) {
            Ok(facts) => facts.packages.get(platform).filter(|digest| digest.zh == *zh).cloned(),
            Err(why) => {
                lock(&self.state).problem.get_or_insert_with(|| release::unusable(address, version, &why));
                None
            }
        }
    }

    /// Takes note that a package was not downloaded because of [`SharedFacts::digest`].
    pub(super) fn count_use(&self) {
        lock(&self.state).used += 1;
    }

    /// Asks about the releases in the queue until it is empty.
    fn work(&self) {
        while let Some((address, version)) = self.next() {
            let tag = ReleaseTag { repository: &self.repository, address: &address, version: &version };
            let answer = self.registries.facts(&tag);
            let mut state = lock(&self.state);
            state.patience.hear(Instant::now());
            let envelope = state.judge(answer);
            state.releases.insert((address, version), Lookup::Finished(envelope.map(Arc::new)));
            self.answered.notify_all();
        }
    }

    fn next(&self) -> Option<Release> {
        let mut state = lock(&self.state);
        let next = if state.is_over { None } else { state.queue.pop_front() };
        state.threads -= usize::from(next.is_none());
        next
    }
}

impl State {
    /// The usable facts in an answer.
    fn judge(&mut self, answer: Result<Option<Envelope>, FactsError>) -> Option<Envelope> {
        let failures = std::mem::take(&mut self.failures);
        match answer {
            Ok(None) => {}
            Ok(Some(envelope)) => match self.room.checked_sub(envelope.weight()) {
                Some(room) => {
                    self.room = room;
                    return Some(envelope);
                }
                None => self.give_up(&format!("it has more than {} MiB", MOST_BYTES >> 20)),
            },
            Err(FactsError { errors, is_unavailable }) => {
                self.problem = self.problem.take().or_else(|| errors.into_iter().next());
                if is_unavailable {
                    self.failures = failures + 1;
                    self.is_over |= self.failures >= MOST_FAILURES;
                }
            }
        }
        None
    }

    /// Stops asking the registry.
    fn give_up(&mut self, why: &str) {
        self.is_over = true;
        self.problem.get_or_insert_with(|| Diagnostic::warning(Code::SharedFactsNotUsed, why));
    }
}
