//! States in files beside a configuration that keeps its state elsewhere, or that Terragrunt runs.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::base::BaseFacts;
use super::file_effect::{Effect, MAX_SIZE};
use crate::configuration::Backend;
use crate::configuration::terragrunt::{self, UnitSource};
use crate::project::root_module::unit::TerragruntUnit;
use crate::provider::Dialect;
use crate::system::Tree;

/// Directory with a directory for each workspace but the default one.
const WORKSPACES: &str = "terraform.tfstate.d";

/// A state, as far as it decides what is installed.
#[derive(Deserialize)]
struct State {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    provider: String,
}

/// The effect of a changed state: `init` offers to copy a state that it finds beside a
/// configuration with a backend elsewhere, and then installs its providers. Terragrunt runs `init`
/// in the directory of a unit, or in a copy of it and of its module. `None` if the state needs no
/// other providers than at the base, or belongs to a local backend, for which it is read.
pub(super) fn effect(facts: &BaseFacts<'_>, units: &[&Path], path: &Path) -> Option<Effect> {
    let base = Tree::Revision(Arc::clone(&facts.change.base));
    // A state that cannot be read may need any provider.
    if let Some(now) = providers(&Tree::Work, path)
        && let Some(before) = providers(&base, path)
        && now.is_subset(&before)
    {
        return None;
    }
    let root = root_of_state(path)?;
    if is_run_by_terragrunt(facts, units, root) {
        let effect = "is a state in the working directory of a Terragrunt unit, whose providers init may install";
        return Some(Effect::needs_owner(effect));
    }
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let module = facts.module_cache.canonical_module(root, root, dialect);
        if let Some(Backend::Remote(_)) = module.backend {
            let effect = "is a state that init offers to copy to the backend";
            return Some(Effect::needs_owner(effect));
        }
    }
    None
}

/// Whether a directory is that of a unit, or of the module of one of the `units`.
fn is_run_by_terragrunt(facts: &BaseFacts<'_>, units: &[&Path], directory: &Path) -> bool {
    if terragrunt::is_unit(&Tree::Work, directory) {
        return true;
    }
    for unit in units {
        let opened = TerragruntUnit::open(&Tree::Work, unit, unit, facts.environment);
        if let Some(unit) = opened
            && let Ok(UnitSource::Local(module)) = &unit.read.source
            && module == directory
        {
            return true;
        }
    }
    false
}

/// The providers of the resources in a state, none if there is no file; `None` if it cannot be
/// read.
fn providers(tree: &Tree, path: &Path) -> Option<BTreeSet<String>> {
    let bytes = match tree.read(path, MAX_SIZE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(BTreeSet::new()),
        Err(_) => return None,
    };
    let state: State = serde_json::from_slice(&bytes).ok()?;
    let mut providers = BTreeSet::new();
    for resource in state.resources {
        providers.insert(resource.provider);
    }
    Some(providers)
}

/// The root module whose state is in a file, which may be that of a workspace.
fn root_of_state(path: &Path) -> Option<&Path> {
    let directory = path.parent()?;
    match directory.parent() {
        Some(workspaces) if workspaces.ends_with(WORKSPACES) => workspaces.parent(),
        _ => Some(directory),
    }
}
