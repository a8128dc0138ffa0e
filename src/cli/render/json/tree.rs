//! Modules that require each provider, as JSON.

use std::borrow::Cow;

use provlock::configuration::Requirer;
use provlock::project::RootModule;
use provlock::provider::{ConstraintList, Dialect, ProviderAddress, Version};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::{AsText, Place};
use crate::cli::render::tree::ProviderTree;

/// One root module with everything that it requires.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "tree_root", deny_unknown_fields))]
pub(crate) struct TreeRoot<'a> {
    path: Cow<'a, str>,
    lock_file: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// The required or locked providers.
    requirements: Vec<RequiredProvider<'a>>,
}

/// A provider with the modules that require it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "required_provider", deny_unknown_fields))]
struct RequiredProvider<'a> {
    /// The full address, with the host.
    address: AsText<&'a ProviderAddress>,
    /// The locked version; null without an entry.
    locked: Option<AsText<&'a Version>>,
    /// The fingerprint of the key that signed that version, from an earlier run; omitted if it is not in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
    /// All constraints together; null if nothing requires the provider.
    constraints: Option<AsText<&'a ConstraintList>>,
    /// The root module first, then each module after its caller.
    required_by: Vec<RequiringModule<'a>>,
}

/// A module that requires a provider.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "requiring_module", deny_unknown_fields))]
struct RequiringModule<'a> {
    /// Address in the form of a resource's address, such as `module.network.module.flow_logs`; null for the root
    /// module.
    module: Option<&'a str>,
    /// The locked version of the module, or else its locked commit; null if it is not locked.
    locked: Option<String>,
    /// Position of the call; null for the root module.
    called_at: Option<Place>,
    /// Position of the requirement; null if only modules that it calls require the provider.
    required_at: Option<Place>,
    /// Its version constraints; null if there are none.
    constraints: Option<AsText<&'a ConstraintList>>,
    /// Whether modules that it calls require the provider, and are listed at an earlier call of it.
    repeated: bool,
}

/// A provider with its versions in the lock files of root modules.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "provider_use", deny_unknown_fields))]
pub(crate) struct ProviderUse<'a> {
    /// The address without default parts of the dialect.
    #[serde(skip)]
    pub(crate) name: String,
    /// The full address, with the host.
    pub(crate) address: AsText<&'a ProviderAddress>,
    /// Versions, the newest first.
    pub(crate) versions: Vec<VersionUse<'a>>,
}

/// A version with the root modules that lock it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "version_use", deny_unknown_fields))]
pub(crate) struct VersionUse<'a> {
    pub(crate) version: AsText<&'a Version>,
    /// Paths of the root modules.
    pub(crate) root_modules: Vec<Cow<'a, str>>,
}

impl<'a> TreeRoot<'a> {
    pub(crate) fn new(root: &'a RootModule, trees: &'a [ProviderTree<'_>]) -> Self {
        let requirements = trees.iter().map(|tree| RequiredProvider {
            address: AsText(tree.address),
            locked: tree.locked.map(AsText),
            signed_by: tree.signer.as_deref(),
            constraints: tree.constraints.map(AsText),
            required_by: tree.requirers.iter().map(|requirer| RequiringModule::new(tree, requirer)).collect(),
        });
        Self {
            path: root.path().to_string_lossy(),
            lock_file: root.lock_path.to_string_lossy(),
            dialect: root.dialect,
            requirements: requirements.collect(),
        }
    }
}

impl<'a> RequiringModule<'a> {
    fn new(tree: &ProviderTree<'_>, requirer: &Requirer<'a>) -> Self {
        let declaration = requirer.declaration;
        let constraints = declaration.map(|declaration| &declaration.constraints);
        Self {
            module: requirer.call.map(|call| &*call.address),
            locked: requirer.call.and_then(|call| tree.locked_module(call)),
            called_at: requirer.call.map(|call| Place::from(&call.location)),
            required_at: declaration.map(|declaration| Place::from(declaration.version_place())),
            constraints: constraints.filter(|constraints| !constraints.is_empty()).map(AsText),
            repeated: requirer.is_repeated,
        }
    }
}
