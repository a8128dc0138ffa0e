//! The two programs whose lock files are managed.

use std::str::FromStr;

use serde::Serialize;

/// Tool whose rules apply.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    derive_more::Display,
)]
#[serde(rename_all = "lowercase")]
#[display("{}", self.name())]
pub enum Dialect {
    /// OpenTofu.
    #[default]
    Tofu,
    /// Terraform.
    Terraform,
}

/// The text is not the name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a dialect; write \"tofu\" or \"terraform\"")]
pub struct DialectError(pub String);

impl Dialect {
    /// The host of the registry that an address without a host belongs to.
    pub fn default_host_name(self) -> &'static str {
        match self {
            Self::Tofu => "registry.opentofu.org",
            Self::Terraform => "registry.terraform.io",
        }
    }

    /// The other dialect.
    #[must_use]
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Tofu => Self::Terraform,
            Self::Terraform => Self::Tofu,
        }
    }

    /// `tofu` or `terraform`: the value of the setting and the name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tofu => "tofu",
            Self::Terraform => "terraform",
        }
    }

    /// Returns the only dialect that fulfils a condition.
    pub(crate) fn only_one_where(is: impl Fn(Self) -> bool) -> Option<Self> {
        match (is(Self::Tofu), is(Self::Terraform)) {
            (true, false) => Some(Self::Tofu),
            (false, true) => Some(Self::Terraform),
            _ => None,
        }
    }
}

impl FromStr for Dialect {
    type Err = DialectError;

    fn from_str(text: &str) -> Result<Self, DialectError> {
        match text {
            "tofu" | "opentofu" => Ok(Self::Tofu),
            "terraform" => Ok(Self::Terraform),
            _ => Err(DialectError(text.to_owned())),
        }
    }
}
