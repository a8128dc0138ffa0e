//! Blocks of a configuration, before local names are resolved (OpenTofu's `internal/configs`).

use std::path::PathBuf;

use crate::diagnostic::Location;
use crate::provider::ProviderAddress;

use super::requirement::Declaration;
use super::syntax::Attribute;

/// Storage of the state of a root module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `backend "local"`: in files beside the configuration; `None` if a path is not a constant.
    Local(Option<StatePaths>),
    /// Elsewhere: any other `backend` block, a `cloud` block, or a `state_store` block, an
    /// experiment of Terraform 1.15. The text is the start of the block, such as `backend "s3"`.
    Remote(String),
}

/// The `hostname` of a `cloud` block or of `backend "remote"`, for which the name
/// `localterraform.com` stands in addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloudHost {
    Literal(String),
    /// A `cloud` block without a hostname.
    Default,
    /// It is not a constant, or a flag of `init` may set it.
    Unknown,
}

impl Backend {
    /// Whether HCP Terraform or Terraform Enterprise runs the root module.
    pub(crate) fn runs_remotely(&self) -> bool {
        match self {
            Self::Local(_) => false,
            Self::Remote(name) => name.starts_with("cloud") || name == "backend \"remote\"",
        }
    }
}

/// Paths of the state of the local backend, relative to the root module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePaths {
    /// The state file of the default workspace.
    pub state: PathBuf,
    /// The directory with a directory for each other workspace.
    pub workspaces: PathBuf,
}

impl Default for StatePaths {
    fn default() -> Self {
        Self {
            state: "terraform.tfstate".into(),
            workspaces: "terraform.tfstate.d".into(),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct RequiredProvider {
    pub local_name: String,
    pub address: ProviderAddress,
    pub declaration: Declaration,
    /// Whether it has `configuration_aliases`, which only a caller can provide.
    pub has_aliases: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ProviderBlock {
    pub local_name: String,
    pub alias: Option<String>,
    pub label: Location,
    pub declaration: Declaration,
}

#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub kind: &'static str,
    pub type_name: String,
    pub name: String,
    pub label: Location,
    pub provider: Option<ProviderReference>,
}

/// An `import` block: the resource that it imports to.
#[derive(Clone, Debug)]
pub(super) struct Import {
    pub type_name: String,
    pub name: String,
    /// Whether the resource is in a called module.
    pub in_module: bool,
    pub location: Location,
    pub provider: Option<ProviderReference>,
}

/// The local name that a `provider` meta-argument refers to.
#[derive(Clone, Debug)]
pub(super) struct ProviderReference {
    pub local_name: String,
    pub location: Location,
}

/// A `module` block, or a `run` block's `module`.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub name: String,
    pub source: CallSource,
    /// Versions of a registry's module that the call accepts.
    pub version: Option<Attribute>,
    /// The value of `source`, or else the block's label.
    pub location: Location,
    /// All arguments, including variables that the call sets. The last of two with the same name
    /// applies.
    pub arguments: Vec<Attribute>,
}

#[derive(Clone, Debug)]
pub(super) enum CallSource {
    /// A module address.
    Constant(String),
    /// Something that depends on variables.
    Expression(Attribute),
    /// The call has no source, as in an override file.
    Missing,
}

impl Call {
    pub(super) fn constant_source(&self) -> Option<&str> {
        match &self.source {
            CallSource::Constant(source) => Some(source),
            CallSource::Expression(_) | CallSource::Missing => None,
        }
    }
}
