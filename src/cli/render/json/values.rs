//! Values and positions as JSON.

use std::fmt::Display;

use provlock::diagnostic::Location;
use serde::{Serialize, Serializer};

/// A value that is serialized as its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub(crate) struct AsText<T>(pub(crate) T);

impl<T: Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A position in a file.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "place", deny_unknown_fields)
)]
pub(crate) struct Place {
    pub(crate) file: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Column, from 1, in characters.
    column: usize,
}

impl From<&Location> for Place {
    fn from(location: &Location) -> Self {
        let (line, column) = location.line_column();
        Self {
            file: location.path().to_string_lossy().into_owned(),
            line,
            column,
        }
    }
}
