//! Messages that several commands show.

use std::path::{Path, PathBuf};

use provlock::cli_config::Environment;
use provlock::diagnostic::{Diagnostic, Result};
use provlock::dialect::Dialect;
use provlock::requirements::ModuleCache;
use provlock::source::SharedFacts;
use provlock::source::from_config::Connections;
use provlock::workspace::{DialectReason, Locked, Member, Workspace, Workspaces};

use crate::cli::environment::proxies;
use crate::cli::render::causes::without_repetition;
use crate::cli::render::foreign::printable;
use crate::cli::render::style::{count, enumerate};
use crate::cli::render::verify::{names, reason};
use crate::cli::ui::Ui;

/// What is wrong with the first root module that failed, if one did.
pub(super) fn first_failure<T>(results: &[Result<T>]) -> Result<()> {
    results.iter().find_map(|result| result.as_ref().err()).map_or(Ok(()), |errors| Err(errors.clone()))
}

/// What is wrong with the root modules that failed, each with its root module if it is one of many.
pub(super) fn failures<T>(results: &[Result<T>]) -> impl Iterator<Item = (Option<&Path>, &Diagnostic)> {
    let errors = results.iter().filter_map(|result| result.as_ref().err()).flatten();
    errors.map(|error| (error.root.as_deref(), error))
}

/// What is wrong with those of many root modules that failed, each thing once.
pub(super) fn errors<T>(results: &[Result<T>]) -> Vec<Diagnostic> {
    without_repetition(results.iter().filter_map(|result| result.as_ref().err()).flatten())
}

/// Says where Terragrunt would use an older lock file than one that was written.
pub(super) fn show_stale_caches<'a>(locked: impl Iterator<Item = &'a Locked<'a>>, ui: &Ui) {
    let written = locked.filter(|locked| locked.changed && locked.written);
    let caches: Vec<_> = written.filter_map(|locked| locked.member.workspace.stale_cache()).collect();
    let caches: Vec<_> = caches.iter().map(|cache| cache.display().to_string()).collect();
    if !caches.is_empty() {
        let caches = enumerate(&caches);
        ui.status(&format!(
            "Terragrunt would keep using the older lock file in {caches}: delete that directory, or run Terragrunt with --source-update"
        ));
    }
}

/// Says that there is no root module below directories; below the current one if there are none.
pub(super) fn no_root_module(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| printable(&path.display().to_string())).collect();
    let places = if paths.is_empty() { ".".to_owned() } else { enumerate(&paths) };
    format!(
        "No root module in {places} or below: none has a backend, a lock file, or providers that it configures and uses; \
        to use one anyway, name its directory here or in [roots] of provlock.toml"
    )
}

/// Says of new lock files whose dialect nothing has decided how to get another one.
pub(super) fn show_default_dialect<'a>(mut locked: impl Iterator<Item = &'a Locked<'a>>, ui: &Ui) {
    let is_guessed = |locked: &Locked<'_>| {
        let Workspace { dialect_reason, lock_bytes, .. } = &locked.member.workspace;
        locked.written && lock_bytes.is_none() && *dialect_reason == DialectReason::Default
    };
    if locked.any(is_guessed) {
        let host = Dialect::default().default_host_name();
        ui.status(&format!(
            "Locked for OpenTofu ({host}), since nothing here says Terraform; --dialect terraform changes that"
        ));
    }
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

/// Shows which packages of modules were read, and where they came from.
pub(super) fn show_modules(modules: &ModuleCache, ui: &Ui) {
    for (name, origin) in modules.packages() {
        ui.verbose(&format!("module {name}: {origin}"));
    }
}

/// Shows what the user should know of the CLI configurations that were read.
pub(super) fn show_configurations(connections: &Connections, ui: &Ui) {
    for config in connections.configurations() {
        ui.warn(&config.warnings);
        config.debug.iter().for_each(|line| ui.verbose(line));
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
