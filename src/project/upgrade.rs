//! Upgrading: where the providers of root modules can move, and moving them.

use super::batches::{Batch, Batches};
use super::event::Report;
use super::lock::Results;
use super::locked::{Locked, LockedRoot};
use super::options::LockOptions;
use super::plan::{self, ConstraintConflict, UpgradePlan, UpgradeRequest};
use super::prepared::Prepared;
use super::rewrites::Rewrites;
use super::roots::Roots;
use super::session::Session;
use crate::diagnostic::Result;
use crate::system::files::Replacement;

/// What is upgraded, and how far.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct UpgradeOptions {
    /// What is locked, and how. Providers with a version move to it, others to the newest that is allowed.
    pub lock: LockOptions,
    /// Whether prereleases count as the newest version.
    pub prereleases: bool,
    /// Whether constraints are rewritten so that the newest version is allowed.
    pub rewrite_constraints: bool,
}

impl Session<'_> {
    /// Moves the providers of root modules to newer versions; with `dry_run` it is only found out where they can move.
    ///
    /// Root modules that share a constraint get the same rewrite of it; where that is not possible, they fail.
    ///
    /// # Errors
    /// The options name a provider that no root module requires. What is wrong with a single root module is in the report.
    pub fn upgrade(&self, roots: &Roots, options: &UpgradeOptions) -> Result<Report<LockedRoot>> {
        let results = Results::default();
        // Root modules that share a constraint must agree on it before the first is changed.
        let batches = Batches::open(self, roots, &options.lock, options.rewrite_constraints)?;
        batches.for_each(|batch, turn| {
            let plans = self.plan_upgrades(batch, options);
            if options.lock.dry_run {
                turn.wait();
                let mut prepared = batch.prepared().peekable();
                for (index, plan) in plans.into_iter().enumerate() {
                    let root = prepared.next_if(|(of, _)| *of == index);
                    match (plan, root) {
                        (Ok(plan), Some((_, prepared))) => results.add_planned(self, prepared, &plan),
                        (Ok(_), None) => {}
                        (Err(errors), _) => results.add_failed(self, batch, index, errors),
                    }
                }
                return;
            }
            let upgraded = self.carry_out(batch, options, &plans);
            turn.wait();
            for (index, (upgraded, plan)) in upgraded.into_iter().zip(&plans).enumerate() {
                match upgraded {
                    Ok(locked) => results.add_locked(self, &locked, plan.as_ref().ok()),
                    Err(errors) => results.add_failed(self, batch, index, errors),
                }
            }
        });
        self.finish();
        Ok(results.report())
    }

    /// Where the providers of the root modules can move, each with a result of its own. Nothing is written.
    fn plan_upgrades(&self, batch: &Batch, options: &UpgradeOptions) -> Vec<Result<UpgradePlan>> {
        let (groups, mut refused) = batch.by_source(self);
        let mut results = Vec::new();
        for (source, roots) in &groups {
            let (mut indices, mut requests) = (Vec::new(), Vec::new());
            for (index, prepared) in roots {
                match self.lock_request(prepared, &options.lock, |_| prepared.providers().collect()) {
                    Ok(lock) => {
                        indices.push(*index);
                        requests.push(UpgradeRequest {
                            lock,
                            prereleases: options.prereleases,
                            rewrite_constraints: options.rewrite_constraints,
                            only_complete: self.offline,
                        });
                    }
                    Err(errors) => refused.push((*index, errors)),
                }
            }
            results.extend(indices.into_iter().zip(plan::plan_upgrades(&requests, source)));
        }
        let mut plans = batch.results(results, refused);
        agree(batch, &mut plans);
        plans
    }

    /// Carries the plans out: locks the versions that they choose, and writes the constraints that they change together with
    /// the lock file that needs them. One result for each root module.
    fn carry_out<'a>(
        &self,
        batch: &'a Batch,
        options: &UpgradeOptions,
        plans: &[Result<UpgradePlan>],
    ) -> Vec<Result<Locked<'a>>> {
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
            let write = |index, lock_file: Option<Replacement<'_>>| rewrites.write(edits(index), lock_file);
            results.extend(self.lock_requests(requests.collect(), source, &write, true));
        }
        let results = batch.results(results, Vec::new()).into_iter().zip(plans);
        results.map(|(result, plan)| plan.as_ref().map_err(Clone::clone).and(result)).collect()
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
