//! What is known when a configuration was read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Location};
use crate::modules::fetched::ModuleRequest;
use crate::provider::{ConstraintList, ProviderAddress};

/// What a configuration requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The providers that can be locked, with what is asked of their versions.
    pub providers: BTreeMap<ProviderAddress, Requirement>,
    /// Whether called modules are missing, so that more may be required than is known.
    pub is_incomplete: bool,
    /// What the user should know although nothing stops.
    pub warnings: Vec<Diagnostic>,
    /// The module directories that were read, the root module first, each once.
    pub modules: Vec<ModuleDirectory>,
    /// The calls of modules, each followed by those of the module that it calls; no more than are followed in all.
    pub tree: Vec<CalledModule>,
    /// The user's own calls of modules that are neither in the caller's directory nor its package, each once.
    pub(crate) calls: Vec<ModuleCall>,
}

/// A call of a module, by the root module or by a module that another one calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledModule {
    /// As in the address of a resource: `module.network.module.flow_logs`; after `test.FILE` where a test calls it.
    pub address: String,
    /// The place in the tree of the call that leads to this one; none if the root module makes it.
    pub parent: Option<usize>,
    /// The module's directory, absolute and without symlinks.
    pub directory: PathBuf,
    /// Where it is called.
    pub location: Location,
    /// Whether the calls of the module are not repeated, because they are those that an earlier call of it led to.
    pub is_repeated: bool,
}

/// A call of a module that lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleCall {
    /// What to call it in a message: `module "network"`.
    pub name: String,
    /// What it asks for.
    pub request: ModuleRequest,
    /// Its source.
    pub location: Location,
}

/// A module directory that takes part in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleDirectory {
    /// As the user knows it.
    pub path: PathBuf,
    /// Absolute, without symlinks.
    pub canonical: PathBuf,
    /// Whether only local calls lead to it, so that it is the user's own to edit.
    pub local: bool,
}

/// What is required of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The constraints of all declarations together.
    pub constraints: ConstraintList,
    /// The places that require it, in the order of the modules, at least one.
    pub declarations: Vec<Declaration>,
}

/// A place that requires a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The version string with its quotes if there is one, else the source, the name or the block's label.
    pub location: Location,
    /// The value of `source` with its quotes, if that names the provider.
    pub source: Option<Location>,
    /// The value of `version` as it is written, quotes included; an expression need not be a string.
    pub version: Option<Location>,
    /// What it asks of the version.
    pub constraints: ConstraintList,
    /// What kind of place it is.
    pub kind: DeclarationKind,
    /// The module's directory as the user knows it.
    pub module: PathBuf,
    /// Whether the module is the user's own: only local calls lead to it.
    pub local: bool,
}

/// What kind of place requires a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    /// An entry of a `required_providers` block.
    RequiredProviders,
    /// A `provider` block of a module or a test.
    ProviderBlock,
    /// A resource, an import or the state store; of several in a module the first.
    Implied,
}
