//! `merge --resolve`: the providers in conflict are locked again.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use provlock::address::ProviderAddress;
use provlock::diagnostic::{Code, Diagnostic, Result};
use provlock::dialect::Dialect;
use provlock::lockfile::merge::Conflict;
use provlock::lockfile::{LockFile, Locks};
use provlock::ops::{self, LockRequest};
use provlock::platform::Platform;
use provlock::requirements::ModuleCache;
use provlock::settings::PlatformSelection;
use provlock::workspace::Workspace;

use crate::cli::args::{PlatformArgs, SourceArgs};
use crate::cli::commands::messages::show_configurations;
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

/// Locks that have no conflict any more, and what the user should know about them.
pub(crate) struct Resolved {
    pub(crate) locks: Locks,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl ResolveArgs {
    /// Locks the providers of `conflicts`, none of which `lock_file` holds, as the configuration beside `path` requires.
    /// Offline the versions of both `sides` are known.
    ///
    /// A provider that the configuration does not require gets no entry. None unless `--resolve` was given.
    pub(crate) fn resolve(
        &self,
        path: &Path,
        lock_file: &LockFile,
        dialect: Dialect,
        conflicts: &[Conflict],
        sides: [&Locks; 2],
        ui: &Ui,
    ) -> Result<Option<Resolved>> {
        if !self.resolve || conflicts.is_empty() {
            return Ok(None);
        }
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let environment = environment();
        let workspace = Workspace::open_as(root, Some(dialect), &environment)?;
        let platforms = self.platforms.named().or_else(|| workspace.settings.platforms.clone());
        let platforms = platforms.unwrap_or_else(|| PlatformSelection::These(vec![Platform::current()]));
        let requirements = workspace.requirements(false, false, &ModuleCache::default())?;
        let (required, left_out): (Vec<ProviderAddress>, Vec<_>) = conflicts
            .iter()
            .map(|conflict| conflict.address.clone())
            .partition(|address| requirements.providers.contains_key(address));
        let warning = |address: &ProviderAddress| {
            let message = format!("the configuration does not require {}; it has no entry", address.short(dialect));
            Diagnostic::warning(Code::ProviderNotRequired, message)
        };
        let mut warnings: Vec<_> = left_out.iter().map(warning).collect();
        if required.is_empty() {
            return Ok(Some(Resolved { locks: lock_file.locks().clone(), warnings }));
        }
        let request = LockRequest {
            requirements: &requirements,
            lock_file,
            dialect,
            platforms: &platforms,
            // There is no entry whose platforms could be kept.
            platforms_are_named: true,
            cache: None,
            only: &required,
            versions: &BTreeMap::new(),
            minimum_age: None,
            policy: &workspace.settings.policy,
            prune: false,
            accept_changed_hashes: false,
        };
        let connections = self.source.connections(&environment, None);
        let source = if self.source.offline {
            connections.offline(sides.into_iter().flatten().map(|(address, locked)| (address, &locked.version)))
        } else {
            let source = connections.source(dialect);
            show_configurations(&connections, ui);
            source?
        };
        let downloads = ui.progress(self.source.asked(required.iter()).as_deref());
        let outcome = ops::lock(&request, &source, &|wanted, progress| downloads.note(wanted, progress))?;
        warnings.extend(outcome.warnings);
        Ok(Some(Resolved { locks: outcome.locks, warnings }))
    }
}
