//! Locking: computing and writing the lock files of root modules.

use super::Workspace;
use super::many::{Member, Workspaces};
use super::options::LockOptions;
use super::supplies::BatchSupplies;
use crate::configuration::ModuleCache;
use crate::diagnostic::Result;
use crate::lockfile::CanonicalBlocks;
use crate::packages::{ProgressSink, Source};
use crate::project::plan::{self, LockOutcome, LockRequest};
use crate::system::files::{self, Replacement};

/// A root module that was locked.
pub struct Locked<'a> {
    /// The root module.
    pub member: &'a Member,
    /// What the lock file holds now, and how that came about.
    pub outcome: LockOutcome,
    /// The lock file's bytes.
    pub bytes: Vec<u8>,
    /// Whether they differ from those before.
    pub changed: bool,
    /// Whether a difference was written.
    pub written: bool,
}

/// Writes the lock file of the root module with this index if it changes, and what belongs to it.
pub(super) type Write<'a> = &'a (dyn Fn(usize, Option<Replacement<'_>>) -> Result<()> + Sync);

impl Workspace {
    /// Locks every required provider and writes the lock file if it changes. Versions are of any age.
    ///
    /// # Errors
    /// Everything that is wrong; the lock file is then as it was.
    pub fn lock(self, source: Source, options: &LockOptions) -> Result<LockOutcome> {
        let supplies = BatchSupplies::only((self.dialect, self.settings.shared_cache()), source);
        let workspaces = Workspaces::one(self, options, &ModuleCache::default())?;
        let locked = workspaces.lock(&supplies, options, &|_, _| {});
        locked.into_iter().map(|locked| Ok(locked?.outcome)).collect::<Result<Vec<_>>>().map(|mut all| all.remove(0))
    }
}

impl Workspaces {
    /// Locks all root modules, each with a result of its own. A lock file is written as soon as it is known, if it changes.
    pub fn lock(
        &self,
        supplies: &BatchSupplies,
        options: &LockOptions,
        progress: ProgressSink<'_>,
    ) -> Vec<Result<Locked<'_>>> {
        let write = |_, lock_file: Option<Replacement<'_>>| {
            if options.dry_run { Ok(()) } else { files::write_all(lock_file.as_slice()) }
        };
        let (mut results, mut refused) = (Vec::new(), supplies.refused.clone());
        for supply in &supplies.made {
            let mut requests = Vec::new();
            for (index, member) in self.of_kind(supply.kind()) {
                match member.request(supply.dates.get(), options, LockRequest::new_providers) {
                    Ok(request) => requests.push((index, member, request)),
                    Err(errors) => refused.push((index, errors)),
                }
            }
            results.extend(lock_requests(requests, &supply.source, &write, !options.dry_run, progress));
        }
        self.results(results, refused)
    }
}

/// Locks root modules of one dialect.
pub(super) fn lock_requests<'a>(
    requests: Vec<(usize, &'a Member, LockRequest<'_>)>,
    source: &Source,
    write: Write<'_>,
    written: bool,
    progress: ProgressSink<'_>,
) -> Vec<(usize, Result<Locked<'a>>)> {
    let roots: Vec<_> = requests.iter().map(|(index, member, _)| (*index, *member)).collect();
    let requests: Vec<_> = requests.into_iter().map(|(_, _, request)| request).collect();
    let blocks = CanonicalBlocks::default();
    let conclude = |place: usize, mut outcome: LockOutcome| {
        let (index, member) = roots[place];
        let old = member.workspace.lock_bytes.as_deref();
        let bytes = member.lock_file.edit_with(&outcome.locks, &blocks)?;
        let changed = old != Some(bytes.as_slice());
        let lock_file = Replacement { path: &member.workspace.lock_path, old, new: &bytes };
        write(index, changed.then_some(lock_file))?;
        outcome.warnings.extend(files::read_only(&member.workspace.lock_path).filter(|_| changed && written));
        Ok(Locked { member, outcome, bytes, changed, written })
    };
    let results = plan::lock_all(&requests, source, progress, conclude);
    roots.iter().map(|(index, _)| *index).zip(results).collect()
}
