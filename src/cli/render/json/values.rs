//! Paths, places and the target tool, as JSON.

use std::path::Path;

use provlock::diagnostic::Location;
use provlock::provider;
use serde::Serialize;

/// A path as text; what JSON cannot hold of it is replaced.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A place in a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "place", deny_unknown_fields))]
pub(crate) struct Place {
    file: String,
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
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

impl From<&Location> for Place {
    fn from(location: &Location) -> Self {
        let (line, column) = location.line_column();
        Self { file: shown(location.path()), line, column }
    }
}
