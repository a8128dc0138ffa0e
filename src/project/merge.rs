//! Resolving the conflicts of a merge: the providers that both sides changed are locked again.

use super::Workspace;
use super::many::Member;
use super::options::LockOptions;
use crate::configuration::ModuleCache;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockFile;
use crate::lockfile::merge::Conflict;
use crate::packages::{ProgressSink, Source};
use crate::project::plan::{self, LockOutcome};

impl Workspace {
    /// Locks the providers in conflict as the configuration requires, at versions of any age; `lock_file` has no entries for
    /// them, and all others. A provider that the configuration does not require gets no entry. Nothing is written.
    ///
    /// # Errors
    /// The configuration cannot be read, or a provider cannot be locked.
    pub fn resolve_conflicts(
        self,
        lock_file: LockFile,
        conflicts: &[Conflict],
        source: &Source,
        options: &LockOptions,
        progress: ProgressSink<'_>,
    ) -> Result<LockOutcome> {
        let mut member = Member::new(self, lock_file, options, &ModuleCache::default())?;
        let required = &member.requirements.providers;
        let (only, left_out): (Vec<_>, Vec<_>) = conflicts
            .iter()
            .map(|conflict| conflict.address.clone())
            .partition(|address| required.contains_key(address));
        let warnings = left_out.iter().map(|address| {
            let name = address.short(member.workspace.dialect);
            let message = format!("the configuration does not require {name}; it has no entry");
            Diagnostic::warning(Code::ProviderNotRequired, message)
        });
        let mut warnings: Vec<_> = warnings.collect();
        if only.is_empty() {
            return Ok(LockOutcome {
                locks: member.lock_file.locks().clone(),
                providers: Vec::new(),
                warnings,
                unpublished_hashes: 0,
            });
        }
        member.only = only;
        let outcome = plan::lock(&member.request_of_any_age(options), source, progress)?;
        warnings.extend(outcome.warnings);
        Ok(LockOutcome { warnings, ..outcome })
    }
}
