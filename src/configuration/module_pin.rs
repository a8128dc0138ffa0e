//! Pins the module of a call: git to a commit, a registry's module to the locked version.

use std::sync::Arc;

use super::moving_call::{MovingCall, Rewritten};
use super::tree::Walk;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy};
use crate::lockfile::LockedModule;
use crate::modules::{ModuleSource, Releases, RemoteSource, Revision};
use crate::modules::{locked, registry};

/// What a comment calls the default branch.
pub(super) const HEAD: &str = "HEAD";

impl Walk<'_> {
    /// Plans the edit that pins the module of a call, and what its entry in the lock file records then. The locked
    /// commit counts; of a call that is not locked it is the one that the repository has now.
    pub(super) fn pin(&mut self, moving: &MovingCall<'_>, with_registry: bool) {
        if moving.calling.caller.entry.is_some() {
            return;
        }
        let known = moving.known.filter(|known| moving.wanted.is_locked(known));
        let pinned = match &moving.wanted.source {
            ModuleSource::Registry(_) if with_registry => self.pinned_version(moving, known),
            ModuleSource::Remote(source) => self.pinned_commit(moving, source, known),
            _ => None,
        };
        let rewritten = match pinned {
            None => return,
            Some(Ok(rewritten)) => rewritten,
            Some(Err(why)) => {
                let message = format!("{} is not pinned: {why}", moving.name());
                let warning = Diagnostic::warning(Code::ModuleRefFloating, message);
                return self.warnings.push(moving.calling.located(warning));
            }
        };
        let Rewritten { edit, wanted } = rewritten;
        if let Some(known) = known {
            let (source, constraints) = (wanted.source.recorded(), wanted.constraints);
            let entry = LockedModule { source, constraints, ..LockedModule::clone(known) };
            self.locked.locks.insert(moving.calling.key.to_owned(), Arc::new(entry));
        }
        if !self.locked.plan.edits.contains(&edit) {
            self.locked.plan.edits.push(edit);
        }
    }

    fn pinned_version(
        &mut self,
        moving: &MovingCall<'_>,
        known: Option<&Arc<LockedModule>>,
    ) -> Option<Result<Rewritten, &'static str>> {
        let Some(version) = known.and_then(|known| known.version.as_ref()) else {
            let message = format!("{} is not pinned, because it is not locked", moving.name());
            let warning = Diagnostic::warning(Code::ModuleRefFloating, message);
            let help = Help::text("lock it with ").and(Remedy::LockModules);
            self.warnings.push(moving.calling.located(warning).help(help));
            return None;
        };
        let is_pinned = registry::pinned(&moving.wanted.constraints) == Some(version);
        (!is_pinned).then(|| moving.with_version(|_| Some(version.to_string()), version))
    }

    fn pinned_commit(
        &mut self,
        moving: &MovingCall<'_>,
        source: &RemoteSource,
        known: Option<&Arc<LockedModule>>,
    ) -> Option<Result<Rewritten, &'static str>> {
        let name = match Revision::of(source)? {
            Revision::Commit(_) => return None,
            Revision::Expression(_) => return Some(Err("its ref is neither a branch nor a tag")),
            Revision::Head => None,
            Revision::Name(name) => Some(name),
        };
        let written = match moving.written() {
            Ok(written) => written,
            Err(why) => return Some(Err(why)),
        };
        let mut commit = known.and_then(|known| locked::commit(known));
        if commit.is_none() {
            let Releases::References(references) = self.releases(moving)? else { return None };
            let found = name.as_deref().map_or_else(|| references.head(), |name| references.commit(name));
            commit = found.map(str::to_owned);
        }
        let Some(commit) = commit else { return Some(Err("its repository has no such branch or tag")) };
        Some(moving.with_reference(&written, &commit, Some(name.as_deref().unwrap_or(HEAD))))
    }
}
