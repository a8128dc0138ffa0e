//! Resolving the conflicts of a merge: the providers that both sides changed are locked again.

use std::path::PathBuf;
use std::sync::Arc;

use super::pipeline::{Pipeline, SIDE_BY_SIDE};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockFile;
use crate::lockfile::merge::Conflict;
use crate::packages::Source;
use crate::project::event::Event;
use crate::project::options::LockOptions;
use crate::project::plan::prepared::Prepared;
use crate::project::plan::{LockOutcome, UnconfirmedHashes};
use crate::project::session::Session;
use crate::provider::{ConstraintList, Dialect};
use crate::system::parallel;

/// A merged lock file with conflicts.
pub struct InConflict {
    /// Path of the lock file. It may belong to a root module elsewhere, which has a link to it.
    pub path: PathBuf,
    /// The dialect of the lock file.
    pub dialect: Dialect,
    /// All entries but those in conflict.
    pub lock_file: LockFile,
    /// The providers in conflict.
    pub conflicts: Vec<Conflict>,
}

/// Result of resolving the conflicts of a lock file.
#[non_exhaustive]
pub struct Resolved {
    /// The new lock file and its changes.
    pub outcome: LockOutcome,
    /// Conflicts that the user must resolve, because it is unknown whether the configuration
    /// requires their providers.
    pub unresolved: Vec<Conflict>,
}

/// A lock file whose providers that are locked again are selected.
struct ToLock {
    prepared: Prepared,
    unresolved: Vec<Conflict>,
    warnings: Vec<Diagnostic>,
}

impl Session<'_> {
    /// Locks the providers in conflict as [`Session::lock`] does, for the platforms that either
    /// side covers unless the options name some. A provider that the configuration certainly does
    /// not require gets no entry. Nothing is written. The results have the order of the lock files.
    ///
    /// A result is an error if the configuration cannot be read, or a provider cannot be locked.
    pub fn resolve_conflicts(
        &self,
        files: Vec<InConflict>,
        options: &LockOptions,
    ) -> Vec<Result<Resolved>> {
        // 1. Read what the configurations require, and select the providers that are locked again.
        self.notify(Event::Reading);
        let selected = parallel::map(files, SIDE_BY_SIDE, |file| self.select(file, options));
        self.notify_sources_read();

        // 2. Lock them.
        let mut offline_source = None;
        if self.options.offline {
            offline_source = Some(self.source_of_sides(&selected));
        }
        let resolved = self.with_pipeline(options, None, offline_source, |pipeline| {
            parallel::map(selected, SIDE_BY_SIDE, |selected| {
                resolve(selected?, pipeline)
            })
        });
        self.notify_at_end();
        resolved
    }

    /// Reads what the configuration requires that uses a lock file, and selects the providers that
    /// are locked again.
    fn select(&self, file: InConflict, options: &LockOptions) -> Result<ToLock> {
        let directory = self.root_of_lock_file(&file.path);
        let root = self.open_as(&directory, file.dialect)?;
        let mut prepared = self.prepare_with_lock_file(root, file.lock_file, options, None)?;
        let is_incomplete = prepared.requirements.is_incomplete;
        let mut warnings = Vec::new();
        let mut unresolved = Vec::new();
        for conflict in file.conflicts {
            let address = &conflict.address;
            if prepared.requirements.providers.contains_key(address) {
                lock_again(&mut prepared, conflict);
            } else if is_incomplete {
                // A module that is not known may require it, so that the conflict stays for the
                // user.
                unresolved.push(conflict);
            } else {
                let message = format!(
                    "the configuration does not require {}; it has no entry",
                    address.short(prepared.root.dialect)
                );
                warnings.push(Diagnostic::warning(Code::ProviderNotRequired, message));
            }
        }
        Ok(ToLock {
            prepared,
            unresolved,
            warnings,
        })
    }

    /// The source of an offline run: it knows the versions that either side or a merged lock file
    /// has.
    fn source_of_sides(&self, files: &[Result<ToLock>]) -> Arc<Source> {
        let mut known = Vec::new();
        for file in files.iter().flatten() {
            known.extend(file.prepared.lock_file.locks());
            for (address, sides) in &file.prepared.conflict_sides {
                known.extend(sides.iter().map(|side| (address, side)));
            }
            for conflict in &file.unresolved {
                for side in conflict.ours.iter().chain(&conflict.theirs) {
                    known.push((&conflict.address, side));
                }
            }
        }
        let versions = known
            .into_iter()
            .map(|(address, entry)| (address, &entry.version));
        Arc::new(self.connections.offline(versions))
    }
}

/// Locks the selected providers of a lock file.
fn resolve(
    ToLock {
        prepared,
        unresolved,
        warnings,
    }: ToLock,
    pipeline: &Pipeline<'_, '_>,
) -> Result<Resolved> {
    let mut outcome = if prepared.named_providers.is_empty() {
        LockOutcome {
            locks: prepared.lock_file.locks().clone(),
            providers: Vec::new(),
            warnings: prepared.requirements.warnings.clone(),
            counts: UnconfirmedHashes::default(),
        }
    } else {
        let root = &prepared.root;
        pipeline.outcome(&prepared).map_err(|errors| {
            if root.found.linked_lock_file.is_some() {
                root.with_all_sharing_root_modules(errors)
            } else {
                errors.map(|error| root.in_dialect(error))
            }
        })?
    };
    // Warnings about providers without an entry come first.
    outcome.warnings.splice(0..0, warnings);
    Ok(Resolved {
        outcome,
        unresolved,
    })
}

/// Adds a provider in conflict to the ones that are locked, at the newer version of the two sides
/// that the constraints and the policy allow. If they allow neither, a version is selected as for a
/// new provider.
fn lock_again(prepared: &mut Prepared, conflict: Conflict) {
    let is_incomplete = prepared.requirements.is_incomplete;
    let address = conflict.address;
    let Some(requirement) = prepared.requirements.providers.get_mut(&address) else {
        return;
    };
    let mut sides = Vec::new();
    sides.extend(conflict.ours);
    sides.extend(conflict.theirs);
    if is_incomplete {
        // A module that is not known may have the recorded constraints.
        let recorded = sides.iter().map(|side| &side.constraints);
        requirement.constraints = ConstraintList::merge(recorded.chain([&requirement.constraints]));
    }

    let root = &prepared.root;
    let mut newest = None;
    for side in &sides {
        let version = &side.version;
        let policy = &root.settings.policy;
        let violations = policy.against_version(&address, root.dialect, version);
        if requirement.constraints.allows(version) && violations.is_empty() {
            newest = newest.max(Some(version));
        }
    }
    if let Some(version) = newest {
        prepared
            .requested_versions
            .insert(address.clone(), version.clone());
    }
    prepared.named_providers.push(address.clone());
    prepared.conflict_sides.insert(address, sides);
}
