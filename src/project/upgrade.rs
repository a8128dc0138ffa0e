//! Upgrading: where the providers of root modules can move, and moving them.

use super::lock::{Locked, lock_requests};
use super::many::{Member, Workspaces};
use super::options::LockOptions;
use super::rewrites::Rewrites;
use super::supplies::BatchSupplies;
use crate::diagnostic::Result;
use crate::packages::ProgressSink;
use crate::project::plan::{self, ConstraintConflict, UpgradePlan, UpgradeRequest};
use crate::system::files::Replacement;

/// What is upgraded, and how far.
#[derive(Clone, Default)]
pub struct UpgradeOptions {
    /// What is locked, and how. Providers with a version move to it, others to the newest that is allowed.
    pub lock: LockOptions,
    /// Whether prereleases count as the newest version.
    pub prereleases: bool,
    /// Whether constraints are rewritten so that the newest version is allowed.
    pub rewrite_constraints: bool,
}

impl Workspaces {
    /// Where the providers of all root modules can move, each with a result of its own. Nothing is written.
    ///
    /// Root modules that share a constraint get the same rewrite of it; where that is not possible, they fail.
    pub fn plan_upgrades(&self, supplies: &BatchSupplies, options: &UpgradeOptions) -> Vec<Result<UpgradePlan>> {
        let (mut results, mut refused) = (Vec::new(), supplies.refused.clone());
        for supply in &supplies.made {
            let (mut indices, mut requests) = (Vec::new(), Vec::new());
            for (index, member) in self.of_kind(supply.kind()) {
                match member.request(supply.dates.get(), &options.lock, |_| member.providers().collect()) {
                    Ok(lock) => {
                        indices.push(index);
                        requests.push(UpgradeRequest {
                            lock,
                            prereleases: options.prereleases,
                            rewrite_constraints: options.rewrite_constraints,
                            only_complete: options.lock.offline,
                        });
                    }
                    Err(errors) => refused.push((index, errors)),
                }
            }
            results.extend(indices.into_iter().zip(plan::plan_upgrades(&requests, &supply.source)));
        }
        let mut plans = self.results(results, refused);
        self.agree(&mut plans);
        plans
    }

    /// Makes the root modules agree on the constraints that they share. Those that cannot fail.
    fn agree(&self, plans: &mut [Result<UpgradePlan>]) {
        let members = self.members().filter_map(|(index, member)| plans[index].is_ok().then_some((index, member)));
        let members: Vec<(usize, &Member)> = members.collect();
        let sharing = plans.iter_mut().filter_map(|plan| plan.as_mut().ok());
        let paths = members.iter().map(|(_, member)| member.workspace.root.as_path());
        let mut sharing: Vec<_> = paths.zip(sharing).collect();
        for ConstraintConflict { roots, error } in plan::agree(&mut sharing) {
            for root in roots {
                match &mut plans[members[root].0] {
                    Err(errors) => errors.push(error.clone()),
                    plan => *plan = Err(error.clone().into()),
                }
            }
        }
    }

    /// Carries the plans out: locks the versions that they choose, and writes the constraints that they change together with
    /// the lock file that needs them. One result for each root module.
    pub fn upgrade(
        &self,
        supplies: &BatchSupplies,
        options: &UpgradeOptions,
        plans: &[Result<UpgradePlan>],
        progress: ProgressSink<'_>,
    ) -> Vec<Result<Locked<'_>>> {
        let edits = |index: usize| plans[index].iter().flat_map(|plan: &UpgradePlan| &plan.edits);
        let rewrites = Rewrites::new((0..plans.len()).flat_map(edits));
        let mut results = Vec::new();
        for supply in &supplies.made {
            let requests = self.of_kind(supply.kind()).filter_map(|(index, member)| {
                let plan = plans[index].as_ref().ok()?;
                Some((index, member, plan.lock_request(member.request_of_any_age(&options.lock))))
            });
            let requests = requests.collect();
            let write = |index, lock_file: Option<Replacement<'_>>| rewrites.write(edits(index), lock_file);
            results.extend(lock_requests(requests, &supply.source, &write, true, progress));
        }
        let results = self.results(results, Vec::new()).into_iter().zip(plans);
        results.map(|(result, plan)| plan.as_ref().map_err(Clone::clone).and(result)).collect()
    }
}
