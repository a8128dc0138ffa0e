//! Resolving the conflicts of a merge: the providers that both sides changed are locked again.

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockFile;
use crate::lockfile::merge::Conflict;
use crate::project::event::Event;
use crate::project::options::LockOptions;
use crate::project::plan::prepared::Prepared;
use crate::project::plan::{LockOutcome, UnconfirmedHashes};
use crate::project::root_module::RootModule;
use crate::project::session::Session;
use crate::provider::ConstraintList;

/// Result of resolving conflicts.
#[non_exhaustive]
pub struct Resolved {
    /// The new lock file and its changes.
    pub outcome: LockOutcome,
    /// Conflicts that the user must resolve, because it is unknown whether the configuration
    /// requires their providers.
    pub unresolved: Vec<Conflict>,
}

impl Session<'_> {
    /// Locks the providers in conflict as [`Session::lock`] does, for the platforms that either
    /// side covers unless the options name some. `lock_file` contains all other entries. A provider
    /// that the configuration certainly does not require gets no entry. Nothing is written.
    ///
    /// # Errors
    /// The configuration cannot be read, or a provider cannot be locked.
    pub fn resolve_conflicts(
        &self,
        root: RootModule,
        lock_file: LockFile,
        conflicts: Vec<Conflict>,
        options: &LockOptions,
    ) -> Result<Resolved> {
        // 1. Read what the configuration requires.
        self.notify(Event::Reading);
        let prepared = self.prepare_with_lock_file(root, lock_file, options, None);
        self.notify_sources_read();
        let mut prepared = prepared?;

        // 2. Select the providers that are locked again.
        let is_incomplete = prepared.requirements.is_incomplete;
        let mut warnings = Vec::new();
        let mut unresolved = Vec::new();
        for conflict in conflicts {
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

        // 3. Lock them.
        let mut outcome = if prepared.named_providers.is_empty() {
            LockOutcome {
                locks: prepared.lock_file.locks().clone(),
                providers: Vec::new(),
                warnings: prepared.requirements.warnings.clone(),
                counts: UnconfirmedHashes::default(),
            }
        } else {
            let root = &prepared.root;
            let result = self.lock_conflicting(&prepared, &unresolved, options);
            result.map_err(|errors| {
                if root.found.linked_lock_file.is_some() {
                    root.with_all_sharing_root_modules(errors)
                } else {
                    errors.map(|error| root.in_dialect(error))
                }
            })?
        };
        // Warnings about providers without an entry come first.
        outcome.warnings.splice(0..0, warnings);
        self.notify_at_end();
        Ok(Resolved {
            outcome,
            unresolved,
        })
    }

    /// Locks the providers in conflict. Offline, only the versions of both sides are known.
    fn lock_conflicting(
        &self,
        prepared: &Prepared,
        unresolved: &[Conflict],
        options: &LockOptions,
    ) -> Result<LockOutcome> {
        let mut offline_source = None;
        if self.options.offline {
            // The versions that either side or the merged lock file has.
            let mut known: Vec<_> = prepared.lock_file.locks().iter().collect();
            for (address, sides) in &prepared.conflict_sides {
                known.extend(sides.iter().map(|side| (address, side)));
            }
            for conflict in unresolved {
                for side in conflict.ours.iter().chain(&conflict.theirs) {
                    known.push((&conflict.address, side));
                }
            }
            let versions = known
                .into_iter()
                .map(|(address, entry)| (address, &entry.version));
            offline_source = Some(Arc::new(self.connections.offline(versions)));
        }
        self.with_pipeline(options, None, offline_source, |pipeline| {
            pipeline.outcome(prepared)
        })
    }
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
