//! Resolving the conflicts of a merge: the providers that both sides changed are locked again.

use std::sync::Arc;

use super::event::Event;
use super::options::LockOptions;
use super::plan::{LockOutcome, UnconfirmedHashes};
use super::prepared::Prepared;
use super::root_module::RootModule;
use super::session::Session;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockFile;
use crate::lockfile::merge::Conflict;
use crate::provider::ConstraintList;

/// Result of resolving conflicts.
#[non_exhaustive]
pub struct Resolved {
    /// The new lock file and its changes.
    pub outcome: LockOutcome,
    /// Conflicts that the user must resolve, because it is unknown whether the configuration
    /// requires their providers.
    pub left: Vec<Conflict>,
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
        self.notify(Event::Reading);
        let prepared = self.prepare_with(root, lock_file, options, None);
        self.announce();
        let mut prepared = prepared?;
        let mut warnings = Vec::new();
        let mut left = Vec::new();
        for conflict in conflicts {
            let address = &conflict.address;
            let is_incomplete = prepared.requirements.is_incomplete;
            if let Some(requirement) = prepared.requirements.providers.get_mut(address) {
                prepared.only.push(address.clone());
                let sides: Vec<_> = conflict.ours.into_iter().chain(conflict.theirs).collect();
                if is_incomplete {
                    let recorded = sides.iter().map(|side| &side.constraints);
                    requirement.constraints =
                        ConstraintList::merge(recorded.chain([&requirement.constraints]));
                }
                let RootModule {
                    settings, dialect, ..
                } = &prepared.root;
                let mut newest = None;
                for side in &sides {
                    let version = &side.version;
                    let against = settings.policy.against_version(address, *dialect, version);
                    if requirement.constraints.allows(version) && against.is_empty() {
                        newest = newest.max(Some(version));
                    }
                }
                if let Some(version) = newest {
                    prepared.versions.insert(address.clone(), version.clone());
                }
                prepared.replaced.insert(conflict.address, sides);
            } else if is_incomplete {
                left.push(conflict);
            } else {
                let message = format!(
                    "the configuration does not require {}; it has no entry",
                    address.short(prepared.root.dialect)
                );
                warnings.push(Diagnostic::warning(Code::ProviderNotRequired, message));
            }
        }
        let outcome = if prepared.only.is_empty() {
            warnings.extend(prepared.requirements.warnings.iter().cloned());
            let locks = prepared.lock_file.locks().clone();
            LockOutcome {
                locks,
                providers: Vec::new(),
                warnings,
                counts: UnconfirmedHashes::default(),
            }
        } else {
            let locked = self.resolve(&prepared, &left, options);
            let root = &prepared.root;
            let outcome = locked.map_err(|errors| {
                if root.found.linked_lock_file.is_some() {
                    root.name_sharing(errors)
                } else {
                    errors.map(|error| root.in_dialect(error))
                }
            })?;
            warnings.extend(outcome.warnings);
            LockOutcome {
                warnings,
                ..outcome
            }
        };
        self.finish();
        Ok(Resolved { outcome, left })
    }

    fn resolve(
        &self,
        prepared: &Prepared,
        left: &[Conflict],
        options: &LockOptions,
    ) -> Result<LockOutcome> {
        let mut offline = None;
        if self.options.offline {
            // The versions that either side or the merged lock file has.
            let mut known: Vec<_> = prepared.lock_file.locks().iter().collect();
            for (address, sides) in &prepared.replaced {
                known.extend(sides.iter().map(|side| (address, side)));
            }
            for conflict in left {
                for side in conflict.ours.iter().chain(&conflict.theirs) {
                    known.push((&conflict.address, side));
                }
            }
            let versions = known
                .into_iter()
                .map(|(address, entry)| (address, &entry.version));
            offline = Some(Arc::new(self.connections.offline(versions)));
        }
        self.with_pipeline(options, None, offline, |pipeline| {
            pipeline.outcome(prepared)
        })
    }
}
