//! Locking: computing and writing the lock files of root modules.

use super::batches::{Batch, Batches};
use super::event::{Locked, LockedRoot, Report, RootOutcome};
use super::options::LockOptions;
use super::plan::{self, LockOutcome, LockRequest};
use super::prepared::Prepared;
use super::roots::Roots;
use super::session::Session;
use crate::diagnostic::Result;
use crate::lockfile::{self, CanonicalBlocks};
use crate::packages::Source;
use crate::system::files::{self, Replacement};

/// Writes the lock files of the root module with this index that change, and what belongs to them.
type Write<'a> = &'a (dyn Fn(usize, &[Replacement<'_>]) -> Result<()> + Sync);

impl Session<'_> {
    /// Locks every required provider in root modules, and writes the lock files that change. One that fails does not
    /// stop the others, and stays as it was.
    ///
    /// # Errors
    /// The options name a provider that no root module requires. What is wrong with a single root module is in the
    /// report.
    pub fn lock(&self, roots: &Roots, options: &LockOptions) -> Result<Report<LockedRoot>> {
        Ok(Batches::open(self, roots, options, false)?.for_each(|batch| self.lock_batch(batch, options)))
    }

    /// Locks the root modules of a batch, each with a result of its own. A lock file is written as soon as it is known,
    /// if it changes.
    fn lock_batch<'a>(&self, batch: &'a Batch, options: &LockOptions) -> Vec<Result<RootOutcome<'a>>> {
        let write = |_, lock_files: &[Replacement<'_>]| {
            if options.dry_run { Ok(()) } else { files::write_all(lock_files) }
        };
        let (groups, mut refused) = batch.by_source(self);
        let mut results = Vec::new();
        for (source, roots) in &groups {
            let requests = self.lock_requests_of(roots, options, LockRequest::new_providers, &mut refused);
            results.extend(self.lock_requests(requests, source, &write));
        }
        let results = batch.results(results, refused).into_iter();
        results.map(|locked| Ok(RootOutcome::Locked(locked?, None))).collect()
    }

    /// Locks root modules that are locked from the same source.
    pub(super) fn lock_requests<'a>(
        &self,
        requests: Vec<(usize, &'a Prepared, LockRequest<'_>)>,
        source: &Source,
        write: Write<'_>,
    ) -> Vec<(usize, Result<Locked<'a>>)> {
        let (roots, requests): (Vec<_>, Vec<_>) =
            requests.into_iter().map(|(index, prepared, request)| ((index, prepared), request)).unzip();
        let blocks = CanonicalBlocks::default();
        let conclude = |place: usize, mut outcome: LockOutcome| {
            let (index, prepared) = roots[place];
            let written = !requests[place].options.dry_run;
            let old = prepared.root.lock_bytes.as_deref();
            let bytes = prepared.lock_file.edit_with(&outcome.locks, &blocks)?;
            // An empty lock file would say that nothing is required, and that is not known.
            let is_pointless = old.is_none() && outcome.locks.is_empty() && prepared.requirements.is_incomplete;
            let changed = old != Some(bytes.as_slice()) && !is_pointless;
            let lock_file = Replacement { path: &prepared.root.lock_path, old, new: &bytes };
            let module_lock_file = prepared.module_lock_file.as_ref();
            let module_locks = &prepared.module_locks;
            let modules = module_lock_file.map(|file| file.edit(module_locks)).transpose()?;
            let module_changes = module_lock_file.map(|file| lockfile::diff(file.locks(), module_locks).entries);
            let module_changes = module_changes.unwrap_or_default();
            let old_modules = prepared.root.module_lock_bytes.as_deref();
            let modules = modules.filter(|bytes| old_modules != Some(bytes.as_slice()));
            let module_lock_file = modules.as_ref().map(|new| Replacement {
                path: &prepared.root.module_lock_path,
                old: old_modules,
                new,
            });
            let replacements: Vec<_> = changed.then_some(lock_file).into_iter().chain(module_lock_file).collect();
            write(index, &replacements)?;
            if written && replacements.is_empty() {
                files::remove_left_over(&prepared.root.lock_path);
            }
            let changed = !replacements.is_empty();
            outcome.warnings.extend(files::read_only(&prepared.root.lock_path).filter(|_| changed && written));
            Ok(Locked { prepared, outcome, bytes, modules, module_changes, changed, written })
        };
        let progress = |package: &_, progress| self.note_progress(package, progress);
        let results = plan::lock_all(&requests, source, &progress, conclude);
        roots.iter().map(|(index, _)| *index).zip(results).collect()
    }
}
