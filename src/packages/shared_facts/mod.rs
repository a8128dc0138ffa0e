//! Facts about releases that others have published in an OCI registry. A run can do without them: they are asked for in the
//! background, a registry that is slow or away holds up nobody for long, and one warning says why some were not used.

mod envelope;
mod patience;
mod publish;
mod release;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use envelope::{Envelope, EnvelopeError};
pub use publish::{PublishedRelease, publish};
pub use release::{ReleaseFacts, ReleaseFactsError};

use super::oci::OciRegistries;
use super::oci::facts::{FactsError, Place};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::provider::{Hash, OciRepository, ProviderAddress, PublicKey, SharedCache, Version};
use patience::Patience;

/// How long a run waits for a registry that answers nothing. Requests go out ahead of need, so that most have an answer by then.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);
/// How long a run waits for a registry in all.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// So many requests without an answer mean that there is no registry.
const MOST_FAILURES: usize = 3;
/// What is kept of all answers may have so many bytes. One about 50 platforms has 20 KB.
const MOST_BYTES: usize = 16 << 20;
/// Requests that are under way at the same time.
const THREADS: usize = 16;

/// What is published at a place, asked for once a run. Clones share it.
#[derive(Clone)]
pub struct SharedFacts(Arc<Shared>);

/// What is published at a place, as far as one of these keys has signed it.
pub struct TrustedFacts {
    facts: SharedFacts,
    keys: Vec<PublicKey>,
}

struct Shared {
    registries: Arc<OciRegistries>,
    repository: OciRepository,
    state: Mutex<State>,
    answered: Condvar,
}

struct State {
    releases: HashMap<Release, Answer>,
    queue: VecDeque<Release>,
    threads: usize,
    patience: Patience,
    /// Requests in a row that had no answer.
    failures: usize,
    /// Bytes that may still be kept.
    room: usize,
    /// Whether nothing is asked for any more.
    is_over: bool,
    /// The first reason not to use something.
    problem: Option<Diagnostic>,
    used: usize,
}

type Release = (ProviderAddress, Version);

enum Answer {
    Awaited,
    Is(Option<Arc<Envelope>>),
}

impl SharedFacts {
    /// What is published below `repository`.
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
        Self(Arc::new(Shared { registries, repository, state: Mutex::new(state), answered: Condvar::new() }))
    }

    /// How many packages were not downloaded because of it.
    pub fn used(&self) -> usize {
        self.0.lock().used
    }

    /// Where it is.
    pub fn repository(&self) -> &OciRepository {
        &self.0.repository
    }

    /// Why some of it was not used, if it was not.
    pub fn warning(&self) -> Option<Diagnostic> {
        self.0.lock().problem.clone()
    }

    /// Asks for what is published of a release, unless that was done before. Nobody waits for the answer here.
    fn request(&self, address: &ProviderAddress, version: &Version) {
        let mut state = self.0.lock();
        if state.is_over {
            return;
        }
        let release = (address.clone(), version.clone());
        let Entry::Vacant(entry) = state.releases.entry(release.clone()) else { return };
        entry.insert(Answer::Awaited);
        state.queue.push_back(release);
        if state.threads < THREADS {
            let shared = Arc::clone(&self.0);
            // A request that takes long must not hold up the run, so nobody waits for the thread.
            let thread = thread::Builder::new().name("shared facts".to_owned()).spawn(move || shared.work());
            state.threads += usize::from(thread.is_ok());
        }
    }

    /// What is published of a release, as soon as it is known; none where that takes too long.
    fn envelope(&self, address: &ProviderAddress, version: &Version) -> Option<Arc<Envelope>> {
        self.request(address, version);
        let release = (address.clone(), version.clone());
        let mut state = self.0.lock();
        state.patience.begin(Instant::now());
        let answer = loop {
            match state.releases.get(&release) {
                Some(Answer::Is(answer)) => break answer.clone(),
                Some(Answer::Awaited) if !state.is_over => {}
                _ => break None,
            }
            let left = state.patience.left(Instant::now());
            if left.is_zero() {
                state.give_up(&self.0.repository, "its registry did not answer in time".to_owned());
                self.0.answered.notify_all();
                break None;
            }
            state = self.0.answered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.patience.end(Instant::now());
        answer
    }
}

impl TrustedFacts {
    /// What counts of `facts` for who has these settings.
    pub(super) fn new(facts: SharedFacts, settings: &SharedCache) -> Self {
        Self { facts, keys: settings.trusted_keys.clone() }
    }

    /// Asks for what is published of a release, so that [`TrustedFacts::digest`] need not wait for it.
    pub(super) fn request(&self, address: &ProviderAddress, version: &Version) {
        self.facts.request(address, version);
    }

    /// What a trusted key has signed about the package whose archive has the hash `zh`. It counts only if a verified SHA256SUMS
    /// lists that hash.
    pub(super) fn digest(&self, package: &PackageId, zh: &Hash) -> Option<PackageDigest> {
        let PackageId { address, version, platform } = package;
        let envelope = self.facts.envelope(address, version)?;
        match envelope.open(&self.keys, address, version) {
            Ok(facts) => facts.packages.get(platform).filter(|digest| digest.zh == *zh).cloned(),
            Err(error) => {
                let shared = &self.facts.0;
                shared.lock().complain(&shared.repository, invalid(address, version, &error.to_string()));
                None
            }
        }
    }

    /// Takes note that a package was not downloaded because of what [`TrustedFacts::digest`] said.
    pub(super) fn used(&self) {
        self.facts.0.lock().used += 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for what others have put into the queue.
    fn work(&self) {
        while let Some((address, version)) = self.next() {
            let place = Place { repository: &self.repository, address: &address, version: &version };
            let answer = self.registries.facts(&place);
            let mut state = self.lock();
            state.patience.hear(Instant::now());
            let envelope = state.judge(&self.repository, answer, &address, &version);
            state.releases.insert((address, version), Answer::Is(envelope.map(Arc::new)));
            self.answered.notify_all();
        }
    }

    fn next(&self) -> Option<Release> {
        let mut state = self.lock();
        let next = if state.is_over { None } else { state.queue.pop_front() };
        state.threads -= usize::from(next.is_none());
        next
    }
}

impl State {
    /// What there is to use of an answer.
    fn judge(
        &mut self,
        repository: &OciRepository,
        answer: Result<Option<Envelope>, FactsError>,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<Envelope> {
        let failures = std::mem::take(&mut self.failures);
        match answer {
            Ok(None) => {}
            Ok(Some(envelope)) => match self.room.checked_sub(envelope.weight()) {
                Some(room) => {
                    self.room = room;
                    return Some(envelope);
                }
                None => self.give_up(repository, format!("it has more than {} MiB", MOST_BYTES >> 20)),
            },
            Err(FactsError::Invalid(problem)) => self.complain(repository, invalid(address, version, &problem)),
            Err(FactsError::Login(errors)) => errors.into_iter().for_each(|error| self.complain(repository, error)),
            Err(FactsError::Registry(errors)) => {
                errors.into_iter().for_each(|error| self.complain(repository, error));
                self.failures = failures + 1;
                self.is_over |= self.failures >= MOST_FAILURES;
            }
        }
        None
    }

    fn give_up(&mut self, repository: &OciRepository, why: String) {
        self.is_over = true;
        self.complain(repository, Diagnostic::warning(Code::SharedFactsNotUsed, why));
    }

    /// Takes note of why something was not used, unless there is a reason already.
    fn complain(&mut self, repository: &OciRepository, why: Diagnostic) {
        self.problem.get_or_insert_with(|| {
            let message = format!("not all packages could be looked up in oci://{repository}: {}", why.message);
            let warning = Diagnostic { code: Code::SharedFactsNotUsed, severity: Severity::Warning, message, ..why };
            warning.note("the others were downloaded")
        });
    }
}

/// The warning about facts that do not count.
fn invalid(address: &ProviderAddress, version: &Version, why: &str) -> Diagnostic {
    let message = format!("what is there about {address} {version} does not count: {why}");
    Diagnostic::warning(Code::SharedFactsNotUsed, message)
}
