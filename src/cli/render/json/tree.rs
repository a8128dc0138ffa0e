//! Modules that require each provider, as JSON.

use std::path::PathBuf;

use provlock::configuration::{Declaration, Requirer};
use provlock::project::RootModule;
use provlock::provider::{Dialect, Version};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::{Place, shown};
use crate::cli::render::tree::ProviderTree;

/// One root module with everything that it requires.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "tree_root", deny_unknown_fields))]
pub(crate) struct TreeRoot {
    path: String,
    lock_file: String,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// The required or locked providers.
    requirements: Vec<RequiredProvider>,
}

/// A provider with the modules that require it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "required_provider", deny_unknown_fields))]
struct RequiredProvider {
    /// The full address, with the host.
    address: String,
    /// The locked version; null without an entry.
    locked: Option<String>,
    /// The fingerprint of the key that signed that version, from an earlier run; omitted if it is not in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    /// All constraints together; null if nothing requires the provider.
    constraints: Option<String>,
    /// The root module first, then each module after its caller.
    required_by: Vec<RequiringModule>,
}

/// A module that requires a provider.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "requiring_module", deny_unknown_fields))]
struct RequiringModule {
    /// Address in the form of a resource's address, such as `module.network.module.flow_logs`; null for the root
    /// module.
    module: Option<String>,
    /// The locked version of the module, or else its locked commit; null if it is not locked.
    locked: Option<String>,
    /// Position of the call; null for the root module.
    called_at: Option<Place>,
    /// Position of the requirement; null if only modules that it calls require the provider.
    required_at: Option<Place>,
    /// Its version constraints; null if there are none.
    constraints: Option<String>,
    /// Whether modules that it calls require the provider, and are listed at an earlier call of it.
    repeated: bool,
}

/// A provider with its versions in the lock files of root modules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "provider_use", deny_unknown_fields))]
pub(crate) struct ProviderUse {
    /// The address without default parts of the dialect.
    #[serde(skip)]
    pub(crate) name: String,
    /// The full address, with the host.
    pub(crate) address: String,
    /// Versions, the newest first.
    pub(crate) versions: Vec<VersionUse>,
}

/// A version with the root modules that lock it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "version_use", deny_unknown_fields))]
pub(crate) struct VersionUse {
    pub(crate) version: String,
    /// Paths of the root modules.
    pub(crate) root_modules: Vec<String>,
}

impl VersionUse {
    pub(crate) fn new(version: &Version, root_modules: &[PathBuf]) -> Self {
        Self { version: version.to_string(), root_modules: root_modules.iter().map(|path| shown(path)).collect() }
    }
}

impl TreeRoot {
    pub(crate) fn new(root: &RootModule, trees: &[ProviderTree<'_>]) -> Self {
        Self {
            path: shown(root.path()),
            lock_file: shown(&root.lock_path),
            dialect: root.dialect,
            requirements: trees.iter().map(RequiredProvider::from).collect(),
        }
    }
}

impl From<&ProviderTree<'_>> for RequiredProvider {
    fn from(tree: &ProviderTree<'_>) -> Self {
        Self {
            address: tree.address.to_string(),
            locked: tree.locked.map(ToString::to_string),
            signed_by: tree.signer.clone(),
            constraints: tree.constraints.map(ToString::to_string),
            required_by: tree.requirers.iter().map(|requirer| RequiringModule::new(tree, requirer)).collect(),
        }
    }
}

impl RequiringModule {
    fn new(tree: &ProviderTree<'_>, requirer: &Requirer<'_>) -> Self {
        let declaration = requirer.declaration;
        let required_at = declaration.map(Declaration::version_place);
        let constraints = declaration.filter(|declaration| !declaration.constraints.is_empty());
        Self {
            module: requirer.call.map(|call| call.address.clone()),
            locked: requirer.call.and_then(|call| tree.locked_module(call)),
            called_at: requirer.call.map(|call| Place::from(&call.location)),
            required_at: required_at.map(Place::from),
            constraints: constraints.map(|declaration| declaration.constraints.to_string()),
            repeated: requirer.is_repeated,
        }
    }
}
