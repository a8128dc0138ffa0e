//! Pinning: rewriting the calls of modules, so that they name a commit or a version that cannot move.

use std::path::PathBuf;

use super::coverage::Coverage;
use super::event::Report;
use super::rewrites::{self, Rewrites};
use super::root_module::RootModule;
use super::roots::Roots;
use super::session::Session;
use crate::configuration::rewrite::ConstraintEdit;
use crate::configuration::{LockingMode, ModuleLocking};
use crate::diagnostic::{Diagnostic, Result};
use crate::system::files::Replacement;

/// What is pinned, and how.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PinOptions {
    /// Whether modules of registries are pinned to the locked version, too.
    pub registry: bool,
    /// Whether the test files of root modules are left out.
    pub ignore_tests: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// What became of the calls of a root module.
#[derive(Debug)]
#[non_exhaustive]
pub struct PinnedModules {
    /// The edits of the configuration.
    pub edits: Vec<ConstraintEdit>,
    /// Warnings about calls that are not pinned, and about the lock file.
    pub warnings: Vec<Diagnostic>,
    /// The lock file of modules before and after, if it changes.
    pub lock_file: Option<(PathBuf, Vec<u8>, Vec<u8>)>,
}

impl Session<'_> {
    /// Pins the modules that root modules call, and that are neither local nor in a called package. One that fails does
    /// not stop the others, and stays as it was.
    pub fn pin(&self, roots: &Roots, options: PinOptions) -> Report<PinnedModules> {
        let planned = self.each_root(roots, |_, root| self.plan_pins(root, options));
        let (paths, mut plans): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
        let roots: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
        rewrites::agree(&mut plans, &roots, |plan: &PinnedModules| plan.edits.clone());
        let rewrites = Rewrites::new(plans.iter().flatten().flat_map(|plan| &plan.edits));
        let carry_out = |plan: Result<PinnedModules>| {
            let plan = plan?;
            let lock_file = plan.lock_file.iter();
            let lock_file = lock_file.map(|(path, old, new)| Replacement { path, old: Some(old), new });
            if !options.dry_run {
                rewrites.write(&plan.edits, &lock_file.collect::<Vec<_>>())?;
            }
            Ok(plan)
        };
        let roots = paths.into_iter().zip(plans.into_iter().map(carry_out)).collect();
        self.announce();
        Report { roots, findings: Vec::new(), coverage: Coverage::default() }
    }

    fn plan_pins(&self, root: RootModule, options: PinOptions) -> Result<PinnedModules> {
        let (lock_file, mut warnings) = root.module_lock_file()?;
        let mode = LockingMode::Pin { with_registry: options.registry };
        let locking = ModuleLocking { locks: lock_file.locks().clone(), mode, upgrades: None };
        let read = root.requirements_with(&self.modules, options.ignore_tests, false, Some(&locking))?;
        let mut locks = lock_file.locks().clone();
        locks.extend(read.locked.locks);
        let old = root.module_lock_bytes.filter(|_| locks != *lock_file.locks());
        let lock_file = match old {
            Some(old) => Some((root.module_lock_path, old, lock_file.edit(&locks)?)),
            None => None,
        };
        warnings.extend(read.warnings);
        Ok(PinnedModules { edits: read.locked.plan.edits, warnings, lock_file })
    }
}
