//! Upgrading: where the providers of root modules can move, and moving them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::batches::{Batch, Batches};
use super::event::{Done, LockedRoot, Report};
use super::options::UpgradeOptions;
use super::plan::{self, ConstraintConflict, LockRequest, UpgradePlan};
use super::prepared::Prepared;
use super::roots::Roots;
use super::session::Session;
use crate::configuration::rewrite::{self, ConstraintEdit, FileRewrite};
use crate::diagnostic::Result;
use crate::system::files::{self, Replacement, canonical_or_given};
use crate::system::lock;

impl Session<'_> {
    /// Moves the providers of root modules to newer versions; with `dry_run` it is only found out where they can move.
    ///
    /// Root modules that share a constraint get the same rewrite of it; where that is not possible, they fail.
    ///
    /// # Errors
    /// The options name a provider that no root module requires. What is wrong with a single root module is in the
    /// report.
    pub fn upgrade(&self, roots: &Roots, options: &UpgradeOptions) -> Result<Report<LockedRoot>> {
        // Root modules that share a constraint must agree on it before the first is changed.
        let batches = Batches::open(self, roots, &options.lock, options.rewrite_constraints)?;
        Ok(batches.for_each(|batch| {
            let plans = self.plan_upgrades(batch, options);
            if !options.lock.dry_run {
                return self.carry_out(batch, options, plans);
            }
            let planned = plans.into_iter().zip(&batch.roots);
            planned.map(|(plan, (_, root))| Ok(Done::Planned(root.as_ref().map_err(Clone::clone)?, plan?))).collect()
        }))
    }

    /// Where the providers of the root modules can move, each with a result of its own. Nothing is written.
    fn plan_upgrades(&self, batch: &Batch, options: &UpgradeOptions) -> Vec<Result<UpgradePlan>> {
        let (groups, mut refused) = batch.by_source(self);
        let mut results = Vec::new();
        for (source, roots) in &groups {
            let requests = self.lock_requests_of(roots, &options.lock, LockRequest::providers, &mut refused);
            let (indices, requests): (Vec<_>, Vec<_>) =
                requests.into_iter().map(|(index, _, request)| (index, request)).unzip();
            let plans = plan::plan_upgrades(&requests, options, source, self.options.offline);
            results.extend(indices.into_iter().zip(plans));
        }
        let mut plans = batch.results(results, refused);
        agree(batch, &mut plans);
        plans
    }

    /// Carries the plans out: locks the versions that they choose, and writes the constraints that they change together
    /// with the lock file that needs them. One result for each root module.
    fn carry_out<'a>(
        &self,
        batch: &'a Batch,
        options: &UpgradeOptions,
        plans: Vec<Result<UpgradePlan>>,
    ) -> Vec<Result<Done<'a>>> {
        let edits = |index: usize| plans[index].iter().flat_map(|plan: &UpgradePlan| &plan.edits);
        let rewrites = Rewrites::new((0..plans.len()).flat_map(edits));
        let mut results = Vec::new();
        // Those that cannot be locked have no plan.
        let (groups, _) = batch.by_source(self);
        for (source, roots) in &groups {
            let requests = roots.iter().filter_map(|(index, prepared)| {
                let plan = plans[*index].as_ref().ok()?;
                Some((*index, *prepared, plan.lock_request(self.lock_request_of_any_age(prepared, &options.lock))))
            });
            let write = |index, lock_files: &[Replacement<'_>]| rewrites.write(edits(index), lock_files);
            results.extend(self.lock_requests(requests.collect(), source, &write));
        }
        let results = batch.results(results, Vec::new()).into_iter().zip(plans);
        results.map(|(locked, plan)| plan.and_then(|plan| Ok(Done::Locked(locked?, Some(plan))))).collect()
    }
}

/// Makes the root modules agree on the constraints that they share. Those that cannot fail.
fn agree(batch: &Batch, plans: &mut [Result<UpgradePlan>]) {
    let prepared = batch.prepared().filter_map(|(index, prepared)| plans[index].is_ok().then_some((index, prepared)));
    let prepared: Vec<(usize, &Prepared)> = prepared.collect();
    let sharing = plans.iter_mut().filter_map(|plan| plan.as_mut().ok());
    let paths = prepared.iter().map(|(_, prepared)| prepared.root.path.as_path());
    let mut sharing: Vec<_> = paths.zip(sharing).collect();
    for ConstraintConflict { roots, error } in plan::agree(&mut sharing) {
        for root in roots {
            match &mut plans[prepared[root].0] {
                Err(errors) => errors.push(error.clone()),
                plan => *plan = Err(error.clone().into()),
            }
        }
    }
}

/// Files with new constraints that are not written yet, each with its path without symlinks.
struct Rewrites(Mutex<Vec<(PathBuf, FileRewrite)>>);

impl Rewrites {
    /// What all edits of all roots come to. Edits of one constraint must be the same in every root.
    fn new<'a>(edits: impl IntoIterator<Item = &'a ConstraintEdit>) -> Self {
        let files = rewrite::files(edits).into_iter();
        Self(Mutex::new(files.map(|rewrite| (canonical_or_given(&rewrite.path), rewrite)).collect()))
    }

    /// Writes the files of a root module's edits that no other root has written, then its lock files that change: all
    /// or nothing.
    fn write<'a>(
        &self,
        edits: impl IntoIterator<Item = &'a ConstraintEdit>,
        lock_files: &[Replacement<'_>],
    ) -> Result<()> {
        let paths: BTreeSet<&Path> = edits.into_iter().map(|edit| edit.location.path()).collect();
        if paths.is_empty() {
            return files::write_all(lock_files);
        }
        let paths: BTreeSet<PathBuf> = paths.into_iter().map(canonical_or_given).collect();
        let mut unwritten = lock(&self.0);
        let files = unwritten.iter().filter(|(canonical, _)| paths.contains(canonical));
        let replacements = files.map(|(_, FileRewrite { path, old, new })| Replacement {
            path,
            old: Some(old.as_bytes()),
            new: new.as_bytes(),
        });
        files::write_all(&replacements.chain(lock_files.iter().copied()).collect::<Vec<_>>())?;
        unwritten.retain(|(canonical, _)| !paths.contains(canonical));
        Ok(())
    }
}
