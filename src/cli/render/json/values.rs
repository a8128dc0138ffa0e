//! Paths and the target tool, as JSON.

use std::path::Path;

use provlock::provider;
use serde::Serialize;

/// A path as text; what JSON cannot hold of it is replaced.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The tool that a lock file is for.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "dialect"))]
pub(crate) enum Dialect {
    Tofu,
    Terraform,
}

impl From<provider::Dialect> for Dialect {
    fn from(dialect: provider::Dialect) -> Self {
        match dialect {
            provider::Dialect::Tofu => Self::Tofu,
            provider::Dialect::Terraform => Self::Terraform,
        }
    }
}
