//! `merge --resolve`: the providers in conflict are locked again.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use provlock::lockfile::LockFile;
use provlock::lockfile::merge::Conflict;
use provlock::project::{LockOptions, Resolved};
use provlock::provider::Dialect;

use crate::cli::args::{AgeArgs, GlobalArgs, ModuleArgs, PlatformArgs, SourceArgs};
use crate::cli::commands::watch::{Watch, start_locking};
use crate::cli::ui::Ui;

#[derive(Args)]
pub(crate) struct ResolveArgs {
    /// Lock the providers in conflict again, as `provlock lock` does, instead of leaving conflicts
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
    /// Locks the providers of `conflicts`, none of which `lock_file` holds, as the configuration in `directory`
    /// requires.
    pub(crate) fn resolve(
        &self,
        (directory, dialect): (&Path, Dialect),
        lock_file: LockFile,
        conflicts: Vec<Conflict>,
        global: &GlobalArgs,
        ui: &Ui,
    ) -> Result<Resolved> {
        let mut options = LockOptions::default();
        options.platforms = self.platforms.named();
        options.min_age = self.age.min_age;
        let mut watch = Watch::new(ui, Some(&self.source));
        let session = start_locking((&self.modules, &self.age, &self.source), global, ui)?;
        let session = session.observed_by(|event| watch.show(&event));
        let root = session.open_as(directory, dialect)?;
        Ok(session.resolve_conflicts(root, lock_file, conflicts, &options)?)
    }
}
