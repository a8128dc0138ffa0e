//! Locking one root module or many: everything is asked for once, for all of them.
//!
//! Two things decide about order. Here, what is asked next: one queue over all hosts, whose jobs wait for answers. In
//! the source's download queue, whose bytes come next: how large a package is, and whether it must be downloaded at all
//! or is in the cache, is known only in the midst of its job, so the queue of jobs cannot order downloads by size.
//!
//! First the version lists of all providers, and what is signed about the packages that are locked already, since their
//! versions are known; then, in one queue, the packages that any root needs. A root is finished by whoever fetches the
//! last of its packages.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use super::lock::{CarriedOver, LockOutcome, LockRequest, Plan, Supplied};
use super::lock::{assemble, candidates_of, carry_over, plan};
use super::needed::{Needed, Package};
use super::select::Candidate;
use crate::diagnostic::{Diagnostic, Diagnostics, Merged, Result};
use crate::packages::archive::PackageId;
use crate::packages::{ProgressSink, Source};
use crate::provider::{Hostname, ProviderAddress, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Number of threads that finish root modules when only the disk is waited for.
const WITHOUT_WAITING: usize = 4;

/// Computes the lock file that meets the configuration. Nothing is written; all errors are collected.
pub(crate) fn lock(request: &LockRequest<'_>, source: &Source, progress: ProgressSink<'_>) -> Result<LockOutcome> {
    lock_all(std::slice::from_ref(request), source, progress, |_, outcome| Ok(outcome)).remove(0)
}

/// Computes the lock files of many root modules, and applies `conclude` to each, with its index, as soon as it is
/// complete, on several threads. The results come in the order of the requests. One that fails does not stop the
/// others; what only it needs is not fetched any more.
pub(crate) fn lock_all<T: Send + Sync>(
    requests: &[LockRequest<'_>],
    source: &Source,
    progress: ProgressSink<'_>,
    conclude: impl Fn(usize, LockOutcome) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let old: Vec<_> = requests.iter().map(carry_over).collect();
    let (to_lock, mut overridden) = candidates_of(requests.iter().zip(&old), source);
    let results: Vec<OnceLock<Result<T>>> = requests.iter().map(|_| OnceLock::new()).collect();
    let (planned_roots, asking) = plan_all(to_lock, requests, source, progress);
    let mut planned = Vec::new();
    for (index, plans) in planned_roots.into_iter().enumerate() {
        match plans {
            Ok(plans) => planned.push((index, plans)),
            Err(errors) => _ = results[index].set(Err(errors)),
        }
    }
    let mut needed = Needed::default();
    let mut roots = Vec::new();
    for (index, plans) in &planned {
        let entries = needed.by(roots.len(), plans, &old[*index].0);
        let overridden = std::mem::take(&mut overridden[*index]);
        roots.push(Root::new(&requests[*index], &old[*index], plans, &needed, entries, overridden));
    }
    let fetch = |package: &Package<'_>| {
        let is_needed = package.waiting.iter().any(|root| !roots[*root].has_failed.load(Ordering::Relaxed));
        let fetched = is_needed.then(|| source.package(&package.id(), progress));
        let has_failed = matches!(fetched, Some(Err(_)));
        let _ = package.fetched.set(fetched);
        let complete = package.waiting.iter().filter(|root| roots[**root].arrived(has_failed));
        complete.map(|root| (None, Job::Conclude(*root))).collect()
    };
    let unknown = needed.packages.iter().filter(|package| !source.knows_package(&package.id())).count();
    // Others may ask while nothing but files is written.
    let _asking = (unknown > 0).then(|| asking.unwrap_or_else(|| source.batch_permit()));
    let threads = WAITING_REQUESTS.min(unknown + WITHOUT_WAITING.min(roots.len()));
    parallel::run(jobs(&needed, &roots), threads, |job| match job {
        Job::Fetch(package) => fetch(&needed.packages[package]),
        Job::Conclude(root) => {
            let index = planned[root].0;
            let outcome = roots[root].outcome(&needed, source, progress);
            let _ = results[index].set(outcome.and_then(|outcome| conclude(index, outcome)));
            Vec::new()
        }
    });
    // Each has a result: it could not be planned, or was concluded when its last package had come.
    results.into_iter().map(|result| result.into_inner().unwrap_or_else(|| Err(Diagnostics::default()))).collect()
}

/// Plans what is locked in each root module, after asking for everything that is known to be needed. If anybody had to
/// be asked, the plans come with the right to go on asking alone.
fn plan_all<'a, 'b>(
    to_lock: Vec<Result<Vec<Candidate<'a>>>>,
    requests: &'a [LockRequest<'a>],
    source: &'b Source,
    progress: ProgressSink<'_>,
) -> (Vec<Result<Vec<Plan<'a>>>>, Option<MutexGuard<'b, ()>>) {
    let known: Vec<_> = to_lock.iter().flatten().flatten().collect();
    let mut prefetches = prefetches(&known, requests);
    prefetches.retain(|job| !job.is_known(source));
    let asks_while_selecting = requests.iter().any(LockRequest::asks_while_selecting);
    let asking = (asks_while_selecting || !prefetches.is_empty()).then(|| source.batch_permit());
    // Others may have asked for the same until now.
    prefetches.retain(|job| !job.is_known(source));
    // Where nobody is waited for, others plan their root modules beside this.
    let threads = if asks_while_selecting || !prefetches.is_empty() { WAITING_REQUESTS } else { 1 };
    ask(prefetches, source);
    let plan = |index: usize, candidate| plan(candidate, &requests[index], source, progress);
    (each_candidate(to_lock, threads, plan), asking)
}

/// A job after the versions are selected.
enum Job {
    /// Fetch a package.
    Fetch(usize),
    /// Finish a root module whose packages have all been fetched.
    Conclude(usize),
}

/// What is to be done first, each job with the host that it asks. The first platform of every provider comes before the
/// second of any, so that it is soon known which providers are large.
fn jobs<'a>(needed: &Needed<'a>, roots: &[Root<'_>]) -> Vec<(Option<&'a Hostname>, Job)> {
    let mut order: Vec<_> = needed.packages.iter().enumerate().collect();
    order.sort_by_key(|(_, package)| package.place);
    let fetch = order.into_iter().map(|(index, package)| (Some(&package.address.hostname), Job::Fetch(index)));
    let complete = roots.iter().enumerate().filter(|(_, root)| root.entries.is_empty());
    fetch.chain(complete.map(|(index, _)| (None, Job::Conclude(index)))).collect()
}

/// A root module whose packages are being fetched.
struct Root<'a> {
    request: &'a LockRequest<'a>,
    old: &'a CarriedOver,
    plans: &'a [Plan<'a>],
    /// Indices of the entries of the plans, in their order.
    entries: Vec<usize>,
    /// Warnings about providers that are left out.
    overridden: Vec<Diagnostic>,
    /// Number of packages that are not fetched yet.
    awaited: AtomicUsize,
    has_failed: AtomicBool,
}

impl<'a> Root<'a> {
    fn new(
        request: &'a LockRequest<'a>,
        old: &'a CarriedOver,
        plans: &'a [Plan<'a>],
        needed: &Needed<'_>,
        entries: Vec<usize>,
        overridden: Vec<Diagnostic>,
    ) -> Self {
        let packages = entries.iter().map(|entry| needed.entries[*entry].packages.len()).sum();
        let (awaited, has_failed) = (AtomicUsize::new(packages), AtomicBool::new(false));
        Self { request, old, plans, entries, overridden, awaited, has_failed }
    }

    /// Counts a package that was fetched or has failed. Returns `true` for the last one.
    fn arrived(&self, has_failed: bool) -> bool {
        if has_failed {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        // The last must see what was stored with all others.
        self.awaited.fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn outcome(&self, needed: &Needed<'_>, source: &Source, progress: ProgressSink<'_>) -> Result<LockOutcome> {
        let (mut supplied, mut errors) = (Vec::with_capacity(self.plans.len()), Merged::default());
        for (plan, entry) in self.plans.iter().zip(&self.entries) {
            match needed.supplied(*entry) {
                Ok(packages) => {
                    let (packages, entry) = (Arc::clone(packages), &needed.entries[*entry].recorded);
                    supplied.push(Supplied { plan, packages, entry });
                }
                Err(more) => more.iter().for_each(|error| errors.merge(error.clone())),
            }
        }
        errors.into_result(())?;
        let mut outcome = assemble(self.request, self.old, supplied, source, progress)?;
        outcome.warnings.extend(self.overridden.iter().cloned());
        Ok(outcome)
    }
}

/// A request that is certain to be needed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prefetch<'a> {
    /// The list of versions.
    Versions(&'a ProviderAddress),
    /// The signed checksums of a version.
    Release(&'a ProviderAddress, &'a Version),
    /// The metadata of a package.
    Package(PackageId),
}

impl Prefetch<'_> {
    /// Whether the source has the answer already.
    fn is_known(&self, source: &Source) -> bool {
        match self {
            Self::Versions(address) | Self::Release(address, _) => source.knows_versions(address),
            Self::Package(package) => source.knows_package(package),
        }
    }

    fn host(&self) -> &Hostname {
        match self {
            Self::Versions(address) | Self::Release(address, _) => &address.hostname,
            Self::Package(package) => &package.address.hostname,
        }
    }
}

/// Returns all requests that are certain to be needed before a version is selected.
fn prefetches<'a>(candidates: &[&'a Candidate<'a>], requests: &[LockRequest<'_>]) -> BTreeSet<Prefetch<'a>> {
    let platforms: BTreeSet<_> = requests
        .iter()
        .filter_map(|request| match &request.prepared.platforms {
            PlatformSelection::These(platforms) => Some(platforms),
            PlatformSelection::All => None,
        })
        .flatten()
        .collect();
    // A thousand roots name the same providers; those are dropped before anything is sorted.
    let addresses: HashSet<_> = candidates.iter().map(|candidate| candidate.address).collect();
    let versions = addresses.into_iter().map(Prefetch::Versions);
    let kept = candidates.iter().filter_map(|candidate| Some((candidate.address, candidate.kept_version()?)));
    let kept: HashSet<_> = kept.collect();
    let releases = kept.iter().map(|(address, version)| Prefetch::Release(address, version));
    let packages = kept.iter().flat_map(|&(address, version)| {
        platforms.iter().map(|platform| Prefetch::Package(PackageId::new(address, version, platform)))
    });
    versions.chain(releases).chain(packages).collect()
}

/// Makes each request once, so that no thread waits for the answer to a request of a different thread. Errors are
/// returned again when the answer is used.
pub(super) fn ask(prefetches: BTreeSet<Prefetch<'_>>, source: &Source) {
    let threads = WAITING_REQUESTS.min(prefetches.len());
    parallel::run(prefetches.into_iter().map(|job| (Some(job.host().clone()), job)), threads, |job| {
        match job {
            Prefetch::Versions(address) => drop(source.versions(address)),
            Prefetch::Release(address, version) => source.prepare_release(address, version),
            Prefetch::Package(package) => source.prepare(&package),
        }
        Vec::new()
    });
}

/// Applies `work` to every candidate of every root module, with the module's index, on up to `threads` threads. All
/// errors of a root module are collected, and do not stop the others.
pub(super) fn each_candidate<'a, T: Send>(
    candidates: Vec<Result<Vec<Candidate<'a>>>>,
    threads: usize,
    work: impl Fn(usize, Candidate<'a>) -> Result<T> + Sync,
) -> Vec<Result<Vec<T>>> {
    let mut roots = Vec::new();
    let mut all = Vec::new();
    for (index, candidates) in candidates.into_iter().enumerate() {
        let values = candidates.map(|candidates| {
            all.extend(candidates.into_iter().map(|candidate| (index, candidate)));
            Vec::new()
        });
        roots.push((values, Merged::default()));
    }
    let results = parallel::map(all, threads, |(index, candidate)| (index, work(index, candidate)));
    for (index, result) in results {
        let (values, errors) = &mut roots[index];
        match result {
            Ok(value) => _ = values.as_mut().map(|values| values.push(value)),
            Err(more) => more.into_iter().for_each(|error| errors.merge(error)),
        }
    }
    roots.into_iter().map(|(values, errors)| errors.into_result(values?)).collect()
}
