//! Messages that several commands show.

use std::collections::BTreeSet;
use std::path::PathBuf;

use provlock::configuration::ModuleCache;
use provlock::diagnostic::Diagnostic;
use provlock::packages::SharedFacts;
use provlock::packages::connections::Connections;
use provlock::project::{Member, Workspace, Workspaces};
use provlock::provider::Dialect;
use provlock::system::Environment;

use crate::cli::environment::proxies;
use crate::cli::render::foreign::printable;
use crate::cli::render::style::{count, enumerate};
use crate::cli::render::verify::{names, reason};
use crate::cli::ui::Ui;

/// Says that there is no root module below directories; below the current one if there are none.
pub(super) fn no_root_module(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| printable(&path.display().to_string())).collect();
    let places = if paths.is_empty() { ".".to_owned() } else { enumerate(&paths) };
    format!(
        "No root module in {places} or below: none has a backend, a lock file, or providers that it configures and uses; \
        to use one anyway, name its directory here or in [roots] of provlock.toml"
    )
}

/// Shows what was decided about each root module, and by what.
pub(super) fn show_decisions(workspaces: &Workspaces, ui: &Ui) {
    for (_, Member { workspace, platforms, has_default_platform, .. }) in workspaces.members() {
        let Workspace { root, settings, dialect, dialect_reason, .. } = workspace;
        let named_by = match &settings.platforms {
            _ if *has_default_platform => "this machine",
            Some(set) if set == platforms => "provlock.toml",
            _ => "the flag or PROVLOCK_PLATFORMS",
        };
        let (root, reason, platforms) = (root.display(), reason(*dialect_reason), names(platforms));
        ui.verbose(&format!("{root}: dialect {dialect} ({reason}); {platforms} ({named_by})"));
        for path in &settings.paths {
            ui.verbose(&format!("{root}: settings of {}", path.display()));
        }
    }
}

/// Shows where packages come from, and through which proxies of the environment; the system may have others.
pub(super) fn show_origin(origin: &str, environment: &Environment, ui: &Ui) {
    ui.verbose(&format!("packages from {origin}"));
    for (variable, value) in proxies(environment) {
        ui.verbose(&format!("{variable} is {value}"));
    }
}

/// What has been said of what root modules share.
#[derive(Default)]
pub(super) struct Said {
    modules: BTreeSet<String>,
    configurations: BTreeSet<Dialect>,
}

impl Said {
    /// Shows which packages of modules were read, and where they came from.
    pub(super) fn show_modules(&mut self, modules: &ModuleCache, ui: &Ui) {
        for (name, origin) in modules.packages() {
            if self.modules.insert(name.clone()) {
                ui.verbose(&format!("module {name}: {origin}"));
            }
        }
    }

    /// Shows what the user should know of the CLI configurations that were read.
    pub(super) fn show_configurations(&mut self, connections: &Connections, ui: &Ui) {
        for (dialect, config) in connections.configurations() {
            if self.configurations.insert(dialect) {
                ui.warn(&config.warnings);
                config.debug.iter().for_each(|line| ui.verbose(line));
            }
        }
    }
}

/// Shows what was looked up in what others share, and why that was not all. The warnings are returned for JSON.
pub(super) fn show_shared_facts(connections: &Connections, ui: &Ui) -> Vec<Diagnostic> {
    let facts = connections.shared_facts();
    for facts in &facts {
        let used = count(facts.used(), "package");
        ui.verbose(&format!("{used} looked up in oci://{}", facts.repository()));
    }
    let warnings: Vec<_> = facts.iter().filter_map(SharedFacts::warning).collect();
    ui.warn(&warnings);
    warnings
}
