//! Locking: computing and writing the lock files of root modules.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::batches::{Batch, Batches};
use super::event::{Event, Report};
use super::locked::{Locked, LockedRoot};
use super::options::LockOptions;
use super::plan::{self, LockOutcome, LockRequest};
use super::prepared::Prepared;
use super::roots::Roots;
use super::session::Session;
use crate::diagnostic::Result;
use crate::lockfile::CanonicalBlocks;
use crate::packages::Source;
use crate::system::files::{self, Replacement};

/// Writes the lock file of the root module with this index if it changes, and what belongs to it.
type Write<'a> = &'a (dyn Fn(usize, Option<Replacement<'_>>) -> Result<()> + Sync);

/// What became of root modules, as it is told and reported in the order of their paths.
#[derive(Default)]
pub(super) struct Results(Mutex<Vec<(PathBuf, Result<LockedRoot>)>>);

impl Session<'_> {
    /// Locks every required provider in root modules, and writes the lock files that change. One that fails does not stop the
    /// others, and stays as it was.
    ///
    /// # Errors
    /// The options name a provider that no root module requires. What is wrong with a single root module is in the report.
    pub fn lock(&self, roots: &Roots, options: &LockOptions) -> Result<Report<LockedRoot>> {
        let results = Results::default();
        Batches::open(self, roots, options, false)?.for_each(|batch, turn| {
            let locked = self.lock_batch(batch, options);
            turn.wait();
            for (index, locked) in locked.into_iter().enumerate() {
                match locked {
                    Ok(locked) => results.add_locked(self, &locked, None),
                    Err(errors) => results.add_failed(self, batch, index, errors),
                }
            }
        });
        self.finish();
        Ok(results.report())
    }

    /// Locks the root modules of a batch, each with a result of its own. A lock file is written as soon as it is known, if it
    /// changes.
    fn lock_batch<'a>(&self, batch: &'a Batch, options: &LockOptions) -> Vec<Result<Locked<'a>>> {
        let write = |_, lock_file: Option<Replacement<'_>>| {
            if options.dry_run { Ok(()) } else { files::write_all(lock_file.as_slice()) }
        };
        let (groups, mut refused) = batch.by_source(self);
        let mut results = Vec::new();
        for (source, roots) in &groups {
            let mut requests = Vec::new();
            for (index, prepared) in roots {
                match self.lock_request(prepared, options, LockRequest::new_providers) {
                    Ok(request) => requests.push((*index, *prepared, request)),
                    Err(errors) => refused.push((*index, errors)),
                }
            }
            results.extend(self.lock_requests(requests, source, &write, !options.dry_run));
        }
        batch.results(results, refused)
    }

    /// Locks root modules that are locked from the same source.
    pub(super) fn lock_requests<'a>(
        &self,
        requests: Vec<(usize, &'a Prepared, LockRequest<'_>)>,
        source: &Source,
        write: Write<'_>,
        written: bool,
    ) -> Vec<(usize, Result<Locked<'a>>)> {
        let roots: Vec<_> = requests.iter().map(|(index, prepared, _)| (*index, *prepared)).collect();
        let requests: Vec<_> = requests.into_iter().map(|(_, _, request)| request).collect();
        let blocks = CanonicalBlocks::default();
        let conclude = |place: usize, mut outcome: LockOutcome| {
            let (index, prepared) = roots[place];
            let old = prepared.root.lock_bytes.as_deref();
            let bytes = prepared.lock_file.edit_with(&outcome.locks, &blocks)?;
            // An empty lock file would say that nothing is required, and that is not known.
            let is_pointless = old.is_none() && outcome.locks.is_empty() && prepared.requirements.is_incomplete;
            let changed = old != Some(bytes.as_slice()) && !is_pointless;
            let lock_file = Replacement { path: &prepared.root.lock_path, old, new: &bytes };
            write(index, changed.then_some(lock_file))?;
            outcome.warnings.extend(files::read_only(&prepared.root.lock_path).filter(|_| changed && written));
            Ok(Locked { prepared, outcome, bytes, changed, written })
        };
        let progress = |package: &_, progress| self.note_progress(package, progress);
        let results = plan::lock_all(&requests, source, &progress, conclude);
        roots.iter().map(|(index, _)| *index).zip(results).collect()
    }
}

impl Results {
    pub(super) fn add_locked(&self, session: &Session<'_>, locked: &Locked<'_>, plan: Option<&plan::UpgradePlan>) {
        session.notify(Event::Locked(locked, plan));
        self.add(locked.prepared.root.path.clone(), Ok(LockedRoot { changed: locked.changed }));
    }

    pub(super) fn add_planned(&self, session: &Session<'_>, prepared: &Prepared, plan: &plan::UpgradePlan) {
        session.notify(Event::Planned(prepared, plan));
        self.add(prepared.root.path.clone(), Ok(LockedRoot { changed: plan.moves() }));
    }

    pub(super) fn add_failed(
        &self,
        session: &Session<'_>,
        batch: &Batch,
        index: usize,
        errors: crate::diagnostic::Diagnostics,
    ) {
        let path = batch.path(index);
        session.notify(Event::Failed(path, &errors));
        self.add(path.to_owned(), Err(errors));
    }

    fn add(&self, path: PathBuf, result: Result<LockedRoot>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((path, result));
    }

    pub(super) fn report(self) -> Report<LockedRoot> {
        Report { roots: self.0.into_inner().unwrap_or_else(PoisonError::into_inner), findings: Vec::new() }
    }
}
