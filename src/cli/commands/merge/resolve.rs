//! `merge --resolve`: the providers in conflict are locked again.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use provlock::diagnostic;
use provlock::project::{InConflict, LockOptions, Resolved, Session};

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
    /// Starts the session in which entries are locked again.
    pub(super) fn start_session<'a>(&self, paths: &[PathBuf], ui: &'a Ui) -> Result<Session<'a>> {
        start_locking_session(ui, paths, &self.modules, &self.age, &self.source)
    }

    /// Locks the entries in conflict of lock files again, as the configurations require that use
    /// them. Starts a session if there is none.
    pub(super) fn lock_again(
        &self,
        files: Vec<InConflict>,
        session: Option<&Session>,
        ui: &Ui,
    ) -> Result<Vec<diagnostic::Result<Resolved>>> {
        let mut options = LockOptions::default();
        options.platforms = self.platforms.named();
        options.min_age = self.age.min_age;
        if let Some(session) = session {
            return Ok(session.resolve_conflicts(files, &options));
        }
        let session = self.start_session(&[], ui)?;
        Ok(session.resolve_conflicts(files, &options))
    }
}
