//! The target tool, as JSON.

use provlock::dialect;
use serde::Serialize;

/// The tool that a lock file is for.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "dialect"))]
pub(crate) enum Dialect {
    Tofu,
    Terraform,
}

impl From<dialect::Dialect> for Dialect {
    fn from(dialect: dialect::Dialect) -> Self {
        match dialect {
            dialect::Dialect::Tofu => Self::Tofu,
            dialect::Dialect::Terraform => Self::Terraform,
        }
    }
}
