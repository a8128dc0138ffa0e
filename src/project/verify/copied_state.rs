//! States in files beside a configuration that keeps its state elsewhere, or that Terragrunt runs.

use std::path::Path;
use std::sync::Arc;

use super::base::BaseFacts;
use super::file_effect::Effect;
use super::unit_locks::{UnitLocks, locked_in};
use crate::configuration::{Backend, providers_in_state};
use crate::provider::Dialect;
use crate::system::Tree;

/// Directory with a directory for each workspace but the default one.
const WORKSPACES: &str = "terraform.tfstate.d";

/// The effect of a changed state: `init` offers to copy a state that it finds beside a
/// configuration with a backend elsewhere, and then installs its providers. Terragrunt runs `init`
/// in the directory of a unit, or in a copy of it and of its module. `None` if the state needs only
/// providers that it needed at the base, or that are locked; and if it belongs to a local backend,
/// for which it is read.
pub(super) fn effect(
    facts: &BaseFacts<'_>,
    unit_locks: &UnitLocks<'_>,
    path: &Path,
) -> Option<Effect> {
    let boundary = &facts.module_cache.boundary;
    let at_base = Tree::Revision(Arc::clone(&facts.change.base));
    let before = providers_in_state(path, &boundary.clone().of(at_base));
    let now = providers_in_state(path, boundary);
    if let Some(now) = &now
        && let Some(before) = &before
        && now.is_subset(before)
    {
        return None;
    }

    let root = root_of_state(path)?;
    let of_units = unit_locks.locked_by_units_at(root);
    let effect = if of_units.is_some() {
        "is a state in the working directory of a Terragrunt unit, whose providers init may install"
    } else if has_backend_elsewhere(facts, root) {
        "is a state that init offers to copy to the backend"
    } else {
        return None;
    };
    let Some(now) = now else {
        // It may need any provider. An encrypted state of the base did, too.
        return Some(match before {
            Some(_) => Effect::needs_owner(effect),
            None => Effect::note(effect),
        });
    };
    // `init` installs locked providers with their hashes.
    let locked = of_units.unwrap_or_else(|| locked_in(root));
    let needed_before = before.unwrap_or_default();
    for provider in &now {
        if !needed_before.contains(provider) && !locked.contains(provider) {
            return Some(Effect::needs_owner(effect));
        }
    }
    None
}

/// Whether the configuration in a directory keeps its state elsewhere, in one of the dialects.
fn has_backend_elsewhere(facts: &BaseFacts<'_>, directory: &Path) -> bool {
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let module = facts
            .module_cache
            .canonical_module(directory, directory, dialect);
        if let Some(Backend::Remote(_)) = module.backend {
            return true;
        }
    }
    false
}

/// The root module whose state is in a file, which may be that of a workspace.
fn root_of_state(path: &Path) -> Option<&Path> {
    let directory = path.parent()?;
    match directory.parent() {
        Some(workspaces) if workspaces.ends_with(WORKSPACES) => workspaces.parent(),
        _ => Some(directory),
    }
}
