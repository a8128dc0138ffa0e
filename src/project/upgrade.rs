//! Upgrading: where the providers of root modules can move, and moving them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::batches::{Batch, Batches};
use super::event::{LockedRoot, Report, RootOutcome};
use super::module_plan::ModulePlan;
use super::options::UpgradeOptions;
use super::plan::{self, LockRequest, UpgradePlan};
use super::rewrites::{self, Rewrites};
use super::roots::Roots;
use super::session::{ModuleFetching, Session};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::{Locked as _, LockedModule};
use crate::provider::Dialect;
use crate::system::files::Replacement;
use crate::system::lock;

impl Session<'_> {
    /// Moves the providers of root modules, or their modules, to newer versions.
    ///
    /// Root modules that share a constraint fail if they need different texts of it.
    ///
    /// # Errors
    /// The options name a provider that no root module requires, or a call that there is in none. What is wrong with a
    /// single root module is in the report.
    pub fn upgrade(&self, roots: &Roots, options: &UpgradeOptions) -> Result<Report<LockedRoot>> {
        let options = &options.completed();
        if options.moves_modules() && (self.options.offline || self.options.modules != ModuleFetching::Fetch) {
            let message = "modules cannot move, because nobody is asked which versions there are";
            let help = Help::text("omit ").and(Remedy::Offline);
            return Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into());
        }
        // Root modules that share a constraint must agree on it before the first is changed.
        let batches = Batches::open(self, roots, &options.lock, options.rewrite_constraints)?;
        let unknown = Mutex::new(options.calls.keys().collect::<BTreeSet<_>>());
        let report = batches.for_each(|batch| {
            let mut plans = self.plan_upgrades(batch, options);
            for (_, prepared) in batch.prepared() {
                let called: BTreeSet<_> = prepared.requirements.package_calls().map(|call| &call.key).collect();
                lock(&unknown).retain(|key| !called.contains(*key));
            }
            if let Some(error) = no_such_call(&unknown).filter(|_| !roots.are_many()) {
                plans.iter_mut().filter(|plan| plan.is_ok()).for_each(|plan| *plan = Err(error.clone().into()));
            }
            if !options.plan_only {
                return self.carry_out(batch, options, plans);
            }
            let planned = plans.into_iter().zip(&batch.roots);
            planned
                .map(|(plan, (_, root))| Ok(RootOutcome::Planned(root.as_ref().map_err(Clone::clone)?, plan?)))
                .collect()
        });
        let has_failures = report.roots.iter().any(|(_, done)| done.is_err());
        match no_such_call(&unknown).filter(|_| !has_failures) {
            Some(error) => Err(error.into()),
            None => Ok(report),
        }
    }

    /// Where the providers and modules of the root modules can move, each with a result of its own. Nothing is written.
    fn plan_upgrades(&self, batch: &Batch, options: &UpgradeOptions) -> Vec<Result<UpgradePlan>> {
        let (groups, mut refused) = batch.by_source(self);
        let mut results = Vec::new();
        let choosing = if options.moves_providers() { LockRequest::providers } else { LockRequest::new_providers };
        for (source, roots) in &groups {
            let requests = self.lock_requests_of(roots, &options.lock, choosing, &mut refused);
            let (indices, requests): (Vec<_>, Vec<_>) =
                requests.into_iter().map(|(index, _, request)| (index, request)).unzip();
            let dialect = roots.first().map(|(_, prepared)| prepared.root.dialect).filter(|_| options.release_info);
            let dates = dialect.and_then(|dialect| self.publication_dates(dialect).ok().flatten());
            let plans = if options.moves_providers() {
                plan::plan_upgrades(&requests, options, source, self.options.offline, dates)
            } else {
                requests.iter().map(|request| Ok(UpgradePlan::new(request, Vec::new()))).collect()
            };
            results.extend(indices.into_iter().zip(plans));
        }
        let mut plans = batch.results(results, refused);
        for (index, prepared) in batch.prepared() {
            let ModulePlan { modules, edits } = prepared.module_plan.clone();
            if let Ok(plan) = &mut plans[index] {
                plan.modules = modules;
                plan.edits.extend(edits);
            }
        }
        if plans.iter().flatten().any(|plan| !plan.edits.is_empty()) {
            let paths: Vec<_> = batch.roots.iter().map(|(root, _)| root.path.as_path()).collect();
            rewrites::agree(&mut plans, &paths, UpgradePlan::shared_texts);
        }
        plans
    }

    /// Carries the plans out: locks the versions that they choose, and writes the constraints that they change together
    /// with the lock file that needs them. One result for each root module.
    fn carry_out<'a>(
        &self,
        batch: &'a Batch,
        options: &UpgradeOptions,
        plans: Vec<Result<UpgradePlan>>,
    ) -> Vec<Result<RootOutcome<'a>>> {
        let edits = |index: usize| plans[index].iter().flat_map(|plan: &UpgradePlan| &plan.edits);
        let rewrites = Rewrites::new((0..plans.len()).flat_map(edits));
        let mut results = Vec::new();
        // Those that cannot be locked have no plan.
        let (groups, _) = batch.by_source(self);
        for (source, roots) in &groups {
            let requests = roots.iter().filter_map(|(index, prepared)| {
                let plan = plans[*index].as_ref().ok()?;
                let request = if options.moves_providers() {
                    self.lock_request_of_any_age(prepared, &options.lock)
                } else {
                    // The ages of new providers were looked at when it was planned.
                    self.lock_request(prepared, &options.lock, LockRequest::new_providers).ok()?
                };
                Some((*index, *prepared, plan.lock_request(request)))
            });
            let is_dry = options.lock.dry_run;
            let write = |index, lock_files: &[Replacement<'_>]| {
                if is_dry { Ok(()) } else { rewrites.write(edits(index), lock_files) }
            };
            results.extend(self.lock_requests(requests.collect(), source, &write));
        }
        let results = batch.results(results, Vec::new()).into_iter().zip(plans);
        results.map(|(locked, plan)| plan.and_then(|plan| Ok(RootOutcome::Locked(locked?, Some(plan))))).collect()
    }
}

/// The error for calls that are to move and are in no root module.
fn no_such_call(unknown: &Mutex<BTreeSet<&String>>) -> Option<Diagnostic> {
    let unknown = lock(unknown);
    let names = unknown.iter().map(|key| LockedModule::name(key, Dialect::default())).collect::<Vec<_>>();
    let message = format!("there is no call {} of a module that could be locked", few(&names));
    let error = Diagnostic::error(Code::InvalidArgument, message);
    (!names.is_empty()).then(|| error.help("a call in a called module has the names of both: module.network.endpoints"))
}
