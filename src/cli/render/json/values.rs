//! Paths and positions as JSON.

use std::path::Path;

use provlock::diagnostic::Location;
use serde::Serialize;

/// A path as text; bytes that JSON cannot represent are replaced.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A position in a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "place", deny_unknown_fields))]
pub(crate) struct Place {
    file: String,
    /// Line number, from 1.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
}

impl From<&Location> for Place {
    fn from(location: &Location) -> Self {
        let (line, column) = location.line_column();
        Self { file: shown(location.path()), line, column }
    }
}
