//! Facts about releases that other machines have published in an OCI registry. A run can do without
//! them, so a slow or unavailable registry is given up, and one warning says why some facts were
//! not used.

pub(super) mod envelope;
mod publish;
pub(super) mod release;

use std::sync::{Arc, Mutex};
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
use crate::system::{OnceMap, lock};

/// Time limit of one request.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of all requests of a run. Time in which several requests wait is counted once.
const TIME_LIMIT_OF_ALL: Duration = Duration::from_secs(30);
/// Number of failed requests in a row after which the registry is treated as unavailable.
const MOST_FAILURES: usize = 3;
/// Largest size of all facts in memory in bytes. The facts about 50 platforms take 20 KB.
const MOST_BYTES: usize = 16 << 20;

/// Facts that are published below a repository. Each release is requested once per run.
pub struct SharedFacts {
    registries: Arc<OciRegistries>,
    repository: OciRepository,
    releases: OnceMap<(ProviderAddress, Version), Option<Arc<Envelope>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of requests that wait for an answer, and when the first of them was sent.
    waiting: usize,
    waiting_since: Option<Instant>,
    /// Time that requests have waited, without the time since then.
    waited: Duration,
    /// Number of failed requests in a row.
    failures: usize,
    /// Size of all facts in memory.
    bytes: usize,
    is_given_up: bool,
    /// The first reason not to use some facts.
    problem: Option<Diagnostic>,
    used: usize,
}

impl SharedFacts {
    /// The facts that are published below `repository`.
    pub(super) fn new(registries: Arc<OciRegistries>, repository: OciRepository) -> Self {
        Self {
            registries,
            repository,
            releases: OnceMap::default(),
            state: Mutex::default(),
        }
    }

    /// Number of packages that were not downloaded because of these facts.
    pub fn used(&self) -> usize {
        lock(&self.state).used
    }

    /// The repository that they are published below.
    pub fn repository(&self) -> &OciRepository {
        &self.repository
    }

    /// Returns the warning that some of them were not used, with the reason.
    pub fn warning(&self) -> Option<Diagnostic> {
        let why = lock(&self.state).problem.clone()?;
        let message = format!(
            "not all packages could be looked up in oci://{}: {}",
            self.repository, why.message
        );
        let warning = Diagnostic {
            code: Code::SharedFactsNotUsed,
            severity: Severity::Warning,
            message,
            ..why
        };
        Some(warning.note("the others were downloaded"))
    }

    /// Requests the facts about a release; `None` if there are none, or if the registry was given
    /// up.
    pub(super) fn request_envelope(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<Arc<Envelope>> {
        self.releases
            .get_or_compute(&(address.clone(), version.clone()), || {
                let time_limit = lock(&self.state).begin_request(Instant::now())?;
                let tag = ReleaseTag {
                    repository: &self.repository,
                    address,
                    version,
                };
                let answer = self.registries.published_facts(&tag, time_limit);
                lock(&self.state)
                    .end_request(Instant::now(), answer)
                    .map(Arc::new)
            })
    }

    /// The hashes of the package whose archive has the hash `zh`, if they are published and one of
    /// these keys has signed them. The caller must not use them unless a verified SHA256SUMS lists
    /// `zh`.
    pub(super) fn signed_digest(
        &self,
        package: &PackageId,
        zh: &Hash,
        trusted_keys: &[PublicKey],
    ) -> Option<PackageDigest> {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        let envelope = self.request_envelope(address, version)?;
        match envelope.open(trusted_keys, address, version) {
            Ok(facts) => facts
                .packages
                .get(platform)
                // A package that was published anew under the same version has other hashes.
                .filter(|digest| digest.zh == *zh)
                .cloned(),
            Err(why) => {
                lock(&self.state)
                    .problem
                    .get_or_insert_with(|| release::unusable_warning(address, version, &why));
                None
            }
        }
    }

    /// Takes note that a package was not downloaded because of [`SharedFacts::signed_digest`].
    pub(super) fn count_use(&self) {
        lock(&self.state).used += 1;
    }
}

impl State {
    /// Returns the time limit of a new request; `None` if the registry was given up.
    fn begin_request(&mut self, now: Instant) -> Option<Duration> {
        if self.is_given_up {
            return None;
        }
        self.waiting += 1;
        self.waiting_since.get_or_insert(now);
        Some(TIME_LIMIT.min(TIME_LIMIT_OF_ALL.saturating_sub(self.total_wait_until(now))))
    }

    fn total_wait_until(&self, now: Instant) -> Duration {
        self.waited
            + self
                .waiting_since
                .map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Notes that a request has ended, and returns the facts in its answer, if they are used. The
    /// registry is given up if it is slow, fails several times in a row, or sends too much.
    fn end_request(
        &mut self,
        now: Instant,
        answer: Result<Option<Envelope>, FactsError>,
    ) -> Option<Envelope> {
        let total_wait = self.total_wait_until(now);
        self.waiting -= 1;
        if self.waiting == 0 {
            self.waited = total_wait;
            self.waiting_since = None;
        }
        if total_wait >= TIME_LIMIT_OF_ALL || matches!(answer, Err(FactsError::Late)) {
            self.give_up("its registry did not answer in time");
        }
        // Failures in a row mean that the registry is down. A single one may pass.
        let is_unavailable = matches!(answer, Err(FactsError::Unavailable(_)));
        self.failures = if is_unavailable { self.failures + 1 } else { 0 };
        self.is_given_up |= self.failures >= MOST_FAILURES;
        match answer {
            Ok(Some(envelope)) if self.bytes + envelope.weight() <= MOST_BYTES => {
                self.bytes += envelope.weight();
                return Some(envelope);
            }
            Ok(Some(_)) => self.give_up(&format!("it has more than {} MiB", MOST_BYTES >> 20)),
            Err(FactsError::Unusable(errors) | FactsError::Unavailable(errors)) => {
                self.problem = self.problem.take().or_else(|| errors.into_iter().next());
            }
            Ok(None) | Err(FactsError::Late) => {}
        }
        None
    }

    /// Makes no further requests.
    fn give_up(&mut self, why: &str) {
        self.is_given_up = true;
        self.problem
            .get_or_insert_with(|| Diagnostic::warning(Code::SharedFactsNotUsed, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Result<Option<Envelope>, FactsError> {
        Err(FactsError::Unavailable(
            Diagnostic::warning(Code::SharedFactsNotUsed, "away").into(),
        ))
    }

    fn problem(state: &State) -> Option<&str> {
        state
            .problem
            .as_ref()
            .map(|problem| problem.message.as_str())
    }

    #[test]
    fn time_passes_once_for_all_requests_and_not_between_them() {
        let (mut state, start) = (State::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(
            [state.begin_request(at(0)), state.begin_request(at(1))],
            [Some(TIME_LIMIT); 2]
        );
        state.end_request(at(2), Ok(None));
        state.end_request(at(4), Ok(None));
        // 26 seconds are left.
        state.begin_request(at(100)).unwrap();
        for second in 101..124 {
            state.begin_request(at(second)).unwrap();
            state.end_request(at(second), Ok(None));
        }
        assert_eq!(
            (state.begin_request(at(124)), problem(&state)),
            (Some(Duration::from_secs(2)), None)
        );
        state.end_request(at(126), Ok(None));
        assert_eq!(
            (state.begin_request(at(126)), problem(&state)),
            (None, Some("its registry did not answer in time"))
        );
    }

    #[test]
    fn a_registry_that_fails_is_given_up() {
        let (mut state, now) = (State::default(), Instant::now());
        for (answer, is_given_up) in [
            (failure(), false),
            (failure(), false),
            (Ok(None), false),
            (failure(), false),
            (failure(), false),
            (failure(), true),
        ] {
            state.begin_request(now).unwrap();
            state.end_request(now, answer);
            assert_eq!(state.is_given_up, is_given_up);
        }
        assert_eq!(
            (state.begin_request(now), problem(&state)),
            (None, Some("away"))
        );
        let mut state = State::default();
        state.begin_request(now).unwrap();
        state.end_request(now, Err(FactsError::Late));
        assert_eq!(
            (state.begin_request(now), problem(&state)),
            (None, Some("its registry did not answer in time"))
        );
    }
}
