//! Locking one root module or many: everything is asked for once, for all of them.
//!
//! First the version lists of all providers, and what is signed about the packages that are locked already, since their
//! versions are known; then, in one queue, the packages that any root needs. A root is finished by whoever fetches the
//! last of its packages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::lock::{LockOutcome, LockRequest, Packages, Plan};
use super::lock::{add_error, assemble, candidates, plan, take_over, without_overridden};
use super::parallel::{self, WAITING_REQUESTS};
use super::select::Candidate;
use crate::address::ProviderAddress;
use crate::diagnostic::{Diagnostic, Result};
use crate::lockfile::Locks;
use crate::settings::PlatformSelection;
use crate::source::{Fetched, ProgressSink, Source, Wanted};
use crate::version::Version;

/// What a root module came to: its new lock file, or all that is wrong.
pub type Locked = std::result::Result<LockOutcome, Vec<Diagnostic>>;

/// Computes the lock file that meets the configuration. Nothing is written; all errors are collected.
pub fn lock(request: &LockRequest<'_>, source: &Source, progress: ProgressSink<'_>) -> Locked {
    let outcome = Mutex::new(Err(Vec::new()));
    lock_all(std::slice::from_ref(request), source, progress, &|_, locked| {
        *outcome.lock().unwrap_or_else(PoisonError::into_inner) = locked;
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Computes the lock files of many root modules. `finished` is called once for each, with its index, as soon as it is
/// complete, from several threads. One that fails does not stop the others; what only it needs is not fetched any more.
pub fn lock_all(
    requests: &[LockRequest<'_>],
    source: &Source,
    progress: ProgressSink<'_>,
    finished: &(dyn Fn(usize, Locked) + Sync),
) {
    let old: Vec<_> = requests.iter().map(|request| take_over(request.document.locks(), request.dialect)).collect();
    let mut overridden = Vec::new();
    let mut to_lock = Vec::new();
    for (request, (locks, _)) in requests.iter().zip(&old) {
        let mut candidates = candidates(request, locks);
        overridden.push(candidates.as_mut().map(|list| without_overridden(list, source)).unwrap_or_default());
        to_lock.push(candidates);
    }
    let known: Vec<_> = to_lock.iter().flatten().flatten().collect();
    ask_ahead(&known, requests, source);
    let mut roots = Vec::new();
    let mut needed: BTreeMap<Wanted, Vec<usize>> = BTreeMap::new();
    for (index, planned) in plan_all(to_lock, requests, source).into_iter().enumerate() {
        match planned {
            Ok(plans) => {
                let wanted: BTreeSet<Wanted> = plans.iter().flat_map(Plan::wanted).collect();
                let awaited = wanted.len();
                for wanted in wanted {
                    needed.entry(wanted).or_default().push(roots.len());
                }
                roots.push(Root {
                    index,
                    overridden: std::mem::take(&mut overridden[index]),
                    request: &requests[index],
                    old: &old[index],
                    plans,
                    state: State::new(awaited),
                });
            }
            Err(errors) => finished(index, Err(errors)),
        }
    }
    for root in roots.iter().filter(|root| root.plans.is_empty()) {
        finished(root.index, root.outcome(Packages::new(), Vec::new()));
    }
    parallel::map(needed.into_iter().collect(), WAITING_REQUESTS, |(wanted, waiting)| {
        let is_needed = waiting.iter().any(|root| !roots[*root].has_failed());
        let fetched = is_needed.then(|| source.package(&wanted, progress));
        let complete = waiting.into_iter().filter_map(|root| {
            let (packages, errors) = roots[root].arrived(&wanted, fetched.as_ref())?;
            Some((&roots[root], packages, errors))
        });
        // Side by side, because one package may complete many roots, and writing a file is waiting for a disk.
        parallel::map(complete.collect(), WAITING_REQUESTS, |(root, packages, errors)| {
            finished(root.index, root.outcome(packages, errors));
        });
    });
}

/// A root module whose packages are being fetched.
struct Root<'a> {
    index: usize,
    request: &'a LockRequest<'a>,
    old: &'a (Locks, BTreeMap<ProviderAddress, ProviderAddress>),
    plans: Vec<Plan<'a>>,
    /// What there is to say of providers that are left out.
    overridden: Vec<Diagnostic>,
    state: Mutex<State>,
}

/// What has arrived for a root.
#[derive(Default)]
struct State {
    awaited: usize,
    packages: Packages,
    errors: Vec<Diagnostic>,
}

impl State {
    fn new(awaited: usize) -> Mutex<Self> {
        Mutex::new(Self { awaited, ..Self::default() })
    }
}

impl Root<'_> {
    fn has_failed(&self) -> bool {
        !self.state.lock().unwrap_or_else(PoisonError::into_inner).errors.is_empty()
    }

    /// Takes a package, or that it was not fetched; returns everything when it is the last.
    fn arrived(&self, wanted: &Wanted, fetched: Option<&Result<Arc<Fetched>>>) -> Option<(Packages, Vec<Diagnostic>)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match fetched {
            Some(Ok(fetched)) => {
                let packages = state.packages.entry(wanted.address.clone()).or_default();
                packages.insert(wanted.platform.clone(), Arc::clone(fetched));
            }
            Some(Err(error)) => add_error(&mut state.errors, (**error).clone()),
            None => {}
        }
        state.awaited -= 1;
        let State { awaited, packages, errors } = &mut *state;
        (*awaited == 0).then(|| (std::mem::take(packages), std::mem::take(errors)))
    }

    fn outcome(&self, packages: Packages, errors: Vec<Diagnostic>) -> Locked {
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut outcome = assemble(self.request, self.old, &self.plans, packages)?;
        outcome.warnings.extend(self.overridden.iter().cloned());
        Ok(outcome)
    }
}

/// Something that is sure to be needed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Ahead<'a> {
    Versions(&'a ProviderAddress),
    Release(&'a ProviderAddress, &'a Version),
    Package(Wanted),
}

/// Asks for everything that is known to be needed before any version is selected. What goes wrong is met again by whoever
/// needs the answer.
fn ask_ahead(candidates: &[&Candidate<'_>], requests: &[LockRequest<'_>], source: &Source) {
    let platforms: BTreeSet<_> = requests
        .iter()
        .filter_map(|request| match request.platforms {
            PlatformSelection::These(platforms) => Some(platforms),
            PlatformSelection::All => None,
        })
        .flatten()
        .collect();
    let versions = candidates.iter().map(|candidate| Ahead::Versions(candidate.address));
    let kept = candidates.iter().filter_map(|candidate| Some((candidate.address, candidate.kept_version()?)));
    let kept: BTreeSet<_> = kept.collect();
    let releases = kept.iter().map(|(address, version)| Ahead::Release(address, version));
    let packages = kept.iter().flat_map(|&(address, version)| {
        platforms.iter().map(|platform| {
            Ahead::Package(Wanted { address: address.clone(), version: version.clone(), platform: (*platform).clone() })
        })
    });
    let jobs: BTreeSet<_> = versions.chain(releases).chain(packages).collect();
    parallel::map(jobs.into_iter().collect(), WAITING_REQUESTS, |job| match job {
        Ahead::Versions(address) => drop(source.versions(address)),
        Ahead::Release(address, version) => source.prepare_release(address, version),
        Ahead::Package(wanted) => source.prepare(&wanted),
    });
}

/// Selects the versions for every root; all its errors, if there are any.
fn plan_all<'a>(
    candidates: Vec<std::result::Result<Vec<Candidate<'a>>, Vec<Diagnostic>>>,
    requests: &[LockRequest<'_>],
    source: &Source,
) -> Vec<std::result::Result<Vec<Plan<'a>>, Vec<Diagnostic>>> {
    let mut planned = Vec::new();
    let mut all = Vec::new();
    for (index, candidates) in candidates.into_iter().enumerate() {
        planned.push(candidates.map(|candidates| all.extend(candidates.into_iter().map(|c| (index, c)))));
    }
    let mut planned: Vec<_> = planned.into_iter().map(|root| root.map(|()| Vec::new())).collect();
    let plans =
        parallel::map(all, WAITING_REQUESTS, |(index, candidate)| (index, plan(candidate, &requests[index], source)));
    for (index, plan) in plans {
        match (&mut planned[index], plan) {
            (Ok(plans), Ok(plan)) => plans.push(plan),
            (root @ Ok(_), Err(error)) => *root = Err(vec![*error]),
            (Err(errors), Err(error)) => add_error(errors, *error),
            (Err(_), Ok(_)) => {}
        }
    }
    planned
}
