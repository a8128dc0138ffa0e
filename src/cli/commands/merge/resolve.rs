//! `merge --resolve`: the providers in conflict are locked again.

use clap::Args;
use provlock::diagnostic::Result;
use provlock::lockfile::merge::Conflict;
use provlock::lockfile::{LockFile, Locks};
use provlock::project::plan::LockOutcome;
use provlock::project::{LockOptions, Workspace};

use crate::cli::args::{PlatformArgs, SourceArgs};
use crate::cli::commands::messages::{Said, show_shared_facts};
use crate::cli::environment::environment;
use crate::cli::ui::Ui;

#[derive(Args)]
pub(crate) struct ResolveArgs {
    /// Lock the providers in conflict again, as `provlock lock` does, instead of leaving conflicts
    #[arg(long)]
    resolve: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    #[command(flatten)]
    source: SourceArgs,
}

impl ResolveArgs {
    /// Whether `--resolve` was given.
    pub(crate) fn is_wanted(&self) -> bool {
        self.resolve
    }

    /// Locks the providers of `conflicts`, none of which `lock_file` holds, as the configuration of `workspace` requires.
    /// Offline the versions of both `sides` are known.
    pub(crate) fn resolve(
        &self,
        workspace: Workspace,
        lock_file: LockFile,
        conflicts: &[Conflict],
        sides: [&Locks; 2],
        ui: &Ui,
    ) -> Result<LockOutcome> {
        let environment = environment(&ui.invocation.secrets);
        let dialect = workspace.dialect;
        let options = LockOptions {
            platforms: self.platforms.named(),
            cache: self.source.cache(&environment),
            ..LockOptions::default()
        };
        let connections = self.source.connections(&environment, None, ui.request_observer())?;
        let source = if self.source.offline {
            connections.offline(sides.into_iter().flatten().map(|(address, locked)| (address, &locked.version)))
        } else {
            let source = connections.source_with(dialect, workspace.settings.shared_cache());
            Said::default().show_configurations(&connections, ui);
            source?
        };
        let downloads = ui.progress(self.source.asked(conflicts.iter().map(|conflict| &conflict.address)).as_deref());
        let progress = |package: &_, progress| downloads.note(package, progress);
        let outcome = workspace.resolve_conflicts(lock_file, conflicts, &source, &options, &progress);
        drop(downloads);
        show_shared_facts(&connections, ui);
        outcome
    }
}
