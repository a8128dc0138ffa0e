//! Modules that require each provider, as JSON.

use std::borrow::Cow;

use provlock::configuration::{Requirements, Requirer};
use provlock::lockfile::{Locks, ModuleLocks};
use provlock::modules::{commit_of, digest_of};
use provlock::project::RootModule;
use provlock::provider::{ConstraintList, Dialect, ProviderAddress, Version};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::{AsText, Place};

/// One root module with everything that it requires.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "tree_root", deny_unknown_fields)
)]
pub(crate) struct TreeRoot<'a> {
    path: Cow<'a, str>,
    lock_file: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// The required or locked providers.
    requirements: &'a [RequiredProvider<'a>],
}

/// A provider with the modules that require it.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "required_provider", deny_unknown_fields)
)]
pub(crate) struct RequiredProvider<'a> {
    /// The full address, with the host.
    pub(crate) address: AsText<&'a ProviderAddress>,
    /// The locked version; null without an entry.
    pub(crate) locked: Option<AsText<&'a Version>>,
    /// The fingerprint of the key that signed that version, from an earlier run; omitted if it is
    /// not in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signed_by: Option<String>,
    /// All constraints together; null if nothing requires the provider.
    pub(crate) constraints: Option<AsText<&'a ConstraintList>>,
    /// The root module first, then each module after its caller.
    pub(crate) required_by: Vec<RequiringModule<'a>>,
}

/// A module that requires a provider.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "requiring_module", deny_unknown_fields)
)]
pub(crate) struct RequiringModule<'a> {
    /// Number of the calls that lead to the module and are in the list, too.
    #[serde(skip)]
    pub(crate) depth: usize,
    /// Address in the form of a resource's address, such as `module.network.module.flow_logs`; null
    /// for the root module.
    pub(crate) module: Option<&'a str>,
    /// The locked version of the module, or else its locked commit or digest; null if there is
    /// none.
    pub(crate) locked: Option<String>,
    /// Position of the call; null for the root module.
    called_at: Option<Place>,
    /// Position of the requirement; null if only modules that it calls require the provider.
    pub(crate) required_at: Option<Place>,
    /// Its version constraints; null if there are none.
    pub(crate) constraints: Option<AsText<&'a ConstraintList>>,
    /// Whether modules that it calls require the provider, and are listed at an earlier call of it.
    pub(crate) repeated: bool,
}

/// A provider with its versions in the lock files of root modules.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "provider_use", deny_unknown_fields)
)]
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
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "version_use", deny_unknown_fields)
)]
pub(crate) struct VersionUse<'a> {
    pub(crate) version: AsText<&'a Version>,
    /// Paths of the root modules.
    pub(crate) root_modules: Vec<Cow<'a, str>>,
}

impl<'a> TreeRoot<'a> {
    pub(crate) fn new(root: &'a RootModule, requirements: &'a [RequiredProvider<'a>]) -> Self {
        Self {
            path: root.path().to_string_lossy(),
            lock_file: root.lock_path.to_string_lossy(),
            dialect: root.dialect,
            requirements,
        }
    }
}

impl<'a> RequiredProvider<'a> {
    pub(crate) fn new(
        address: &'a ProviderAddress,
        requirements: &'a Requirements,
        locks: &'a Locks,
        modules: &ModuleLocks,
    ) -> Self {
        Self {
            address: AsText(address),
            locked: locks.get(address).map(|locked| AsText(&locked.version)),
            signed_by: None,
            constraints: requirements
                .providers
                .get(address)
                .map(|requirement| AsText(&requirement.constraints)),
            required_by: requirements
                .requirers(address)
                .into_iter()
                .map(|requirer| RequiringModule::new(&requirer, modules))
                .collect(),
        }
    }
}

impl<'a> RequiringModule<'a> {
    fn new(requirer: &Requirer<'a>, locks: &ModuleLocks) -> Self {
        let mut json = Self {
            depth: requirer.depth,
            module: None,
            locked: None,
            called_at: None,
            required_at: None,
            constraints: None,
            repeated: requirer.is_repeated,
        };
        if let Some(call) = requirer.call {
            json.module = Some(&*call.address);
            json.called_at = Some(Place::from(&call.location));
            if let Some(locked) = locks.get(&call.key) {
                json.locked = match &locked.version {
                    Some(version) => Some(version.to_string()),
                    None => commit_of(locked).or_else(|| digest_of(locked)),
                };
            }
        }
        if let Some(declaration) = requirer.declaration {
            json.required_at = Some(Place::from(declaration.version_place()));
            if !declaration.constraints.is_empty() {
                json.constraints = Some(AsText(&declaration.constraints));
            }
        }
        json
    }
}
