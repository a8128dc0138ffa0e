//! `merge --resolve`: the providers in conflict are locked again.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use provlock::diagnostic::Diagnostic;
use provlock::lockfile::LockFile;
use provlock::lockfile::merge::{Conflict, Merged};
use provlock::project::LockOptions;
use provlock::provider::Dialect;

use crate::cli::args::{AgeArgs, ModuleArgs, PlatformArgs, SourceArgs};
use crate::cli::run::session::start_locking_session;
use crate::cli::ui::Ui;

#[derive(Args)]
pub(crate) struct ResolveArgs {
    /// Lock the providers in conflict again, as `provlock lock` does, instead of marking conflicts
    #[arg(long)]
    pub(crate) resolve: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    #[command(flatten)]
    age: AgeArgs,
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl ResolveArgs {
    /// Locks the entries of `conflicts` again, as the configurations require that use the lock file
    /// with the path `file`. `lock_file` must not contain them. Returns the merged entries and
    /// warnings.
    pub(super) fn lock_again(
        &self,
        file: &Path,
        dialect: Dialect,
        lock_file: LockFile,
        conflicts: Vec<Conflict>,
        ui: &Ui,
    ) -> Result<(Merged, Vec<Diagnostic>)> {
        let mut options = LockOptions::default();
        options.platforms = self.platforms.named();
        options.min_age = self.age.min_age;
        let session = start_locking_session(ui, &[], &self.modules, &self.age, &self.source)?;
        // The file may belong to a root module elsewhere, which has a link to it.
        let directory = session.root_of_lock_file(file);
        let root = session.open_as(&directory, dialect)?;
        let resolved = session.resolve_conflicts(root, lock_file, conflicts, &options)?;
        let merged = Merged {
            locks: resolved.outcome.locks,
            conflicts: resolved.unresolved,
        };
        Ok((merged, resolved.outcome.warnings))
    }
}
