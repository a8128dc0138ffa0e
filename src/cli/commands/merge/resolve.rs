//! `merge --resolve`: the entries in conflict are locked again.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use provlock::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy};
use provlock::lockfile::merge::{Conflict, Merged};
use provlock::lockfile::{LockFile, LockFileOf, Locked, LockedModule, LockedProvider};
use provlock::project::LockOptions;
use provlock::provider::Dialect;

use crate::cli::args::{AgeArgs, ModuleArgs, PlatformArgs, SourceArgs};
use crate::cli::run::session::start_locking;
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

/// What is merged after the entries in conflict were locked again, and warnings.
type Resolved<T> = Result<(Merged<T>, Vec<Diagnostic>)>;

/// What to do about a conflict of such entries.
pub(crate) trait Resolve: Locked {
    /// Locks the entries of `conflicts` again, none of which `lock_file` holds, as the configuration in a directory
    /// requires.
    fn resolve(
        arguments: &ResolveArgs,
        root: (&Path, Dialect),
        lock_file: LockFileOf<Self>,
        conflicts: Vec<Conflict<Self>>,
        ui: &Ui,
    ) -> Resolved<Self>;

    /// What to do where conflicts remain in a file.
    fn help(file: &Path) -> Help;

    /// What removes entries that nothing requires.
    fn prune() -> Remedy;
}

impl Resolve for LockedProvider {
    fn resolve(
        arguments: &ResolveArgs,
        (directory, dialect): (&Path, Dialect),
        lock_file: LockFile,
        conflicts: Vec<Conflict>,
        ui: &Ui,
    ) -> Resolved<Self> {
        let mut options = LockOptions::default();
        options.platforms = arguments.platforms.named();
        options.min_age = arguments.age.min_age;
        let session = start_locking(ui, &[], (&arguments.modules, &arguments.age, &arguments.source))?;
        let root = session.open_as(directory, dialect)?;
        let resolved = session.resolve_conflicts(root, lock_file, conflicts, &options)?;
        let merged = Merged { locks: resolved.outcome.locks, conflicts: resolved.left };
        Ok((merged, resolved.outcome.warnings))
    }

    fn help(file: &Path) -> Help {
        Help::text(format!("choose a side of each conflict in {}, or run: ", file.display()))
            .and(Remedy::Merge { file: file.to_owned(), resolve: true })
    }

    fn prune() -> Remedy {
        LockRemedy { prune: true, ..LockRemedy::default() }.into()
    }
}

/// A package is chosen where the configuration's modules are locked, once a side was chosen for each conflict.
impl Resolve for LockedModule {
    fn resolve(
        _: &ResolveArgs,
        _: (&Path, Dialect),
        _: LockFileOf<Self>,
        _: Vec<Conflict<Self>>,
        _: &Ui,
    ) -> Resolved<Self> {
        let message = "--resolve locks providers again, not modules";
        Err(Diagnostic::error(Code::InvalidArgument, message).into())
    }

    fn help(file: &Path) -> Help {
        Help::text(format!("choose a side of each conflict in {}, then run: ", file.display())).and(Self::prune())
    }

    fn prune() -> Remedy {
        Remedy::LockModules
    }
}
